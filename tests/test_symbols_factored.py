"""Sums whose terms have factors in common: fewer products, and the value and slopes of what SymPy has expanded."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import sympy as sp

from pullback import grad, hessian, lambdify
from pullback.compiler.ops.factors import LARGEST, Common, by_common_factors

a, b, c, d, x, y = SYMBOLS = sp.symbols("a b c d x y")
FACTORS = [*SYMBOLS, sp.sin(x), sp.exp(y), 1 / a, 1 / (1 + b**2), sp.sqrt(c), x**2, sp.Integer(2),
           sp.Rational(-3, 7), sp.Integer(-1), sp.Float(0.3)]  # fmt: skip


def products(e: Any) -> int:
    """How many multiplications the graph of an expression has."""
    args = sorted(e.free_symbols, key=str)
    f = lambdify([args], e)
    f(np.ones(len(args)))
    return f.ir("optimized").count(" = mul ")


@pytest.mark.parametrize("seed", range(12))
def test_random_sums_to_second_order(seed: int) -> None:
    draw, at = random.Random(seed), np.random.default_rng(seed).uniform(0.5, 2, len(SYMBOLS))
    e = sp.Add(*[sp.Mul(*draw.choices(FACTORS, k=draw.randint(1, 5))) for _ in range(draw.randint(2, 14))])
    f = lambdify([SYMBOLS], e)
    exact: Any = dict(zip(SYMBOLS, map(sp.Rational, at), strict=True))
    terms: Any = sp.Add.make_args(e)
    sizes = sum(abs(float(term.xreplace(exact).evalf(30))) for term in terms)
    for made, want in (
        (f(at), e), (grad(f)(at), [e.diff(s) for s in SYMBOLS]), (hessian(f)(at), sp.hessian(e, SYMBOLS).tolist())
    ):  # fmt: skip
        parts: Any = [sp.sympify(each) for each in np.ravel(np.array(want, dtype=object))]
        values = [float(each.xreplace(exact).evalf(30)) for each in parts]
        np.testing.assert_allclose(np.ravel(made), values, rtol=1e-13, atol=1e-12 * (1 + sizes))


def test_what_terms_have_in_common_is_multiplied_once() -> None:
    masses = sp.symbols("m0:6")
    entry = sp.expand(-a * sp.cos(x) * sum(masses))
    assert products(entry) == 2
    assert products(sp.expand(a * b * sum(masses) - c * sp.sin(x) * sum(masses[3:]))) == 4
    assert products(a * x + b * x - 3 * c * y - 3 * d * y) == 3
    assert products(x * sp.sin(x) + x * sp.cos(y)) == 2  # what is left are functions: each has a product of its own


def test_signs_and_coefficients_of_what_is_left() -> None:
    same = [-a * x - b * x, a * x - b * x, -a * x + b * x - c]
    for e in (*same, 2 * a * x + 2 * b * x, a / x - b / x, a * b * x + a * x):
        f = lambdify([SYMBOLS], e)
        at = np.array([0.5, 1.25, -2.0, 3.0, 0.75, 8.0])
        assert f(at) == pytest.approx(float(e.subs(dict(zip(SYMBOLS, at, strict=True)))), rel=1e-15)


def test_long_products_and_long_sums_take_linear_time() -> None:
    many = [tuple(f"x{j}" for j in range(k, k + 3)) for k in range(20_000)]
    found = by_common_factors(many, lambda factor: True)
    assert sum(len(node.numbers) if isinstance(node, Common) else 1 for node in found) == len(many)
    long = [tuple(f"x{j}" for j in range(LARGEST + 1)), tuple(f"x{j}" for j in range(1, LARGEST + 2))]
    assert by_common_factors(long, lambda factor: True) == [0, 1]
