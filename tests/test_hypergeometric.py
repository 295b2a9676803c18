"""Hypergeometric and Meijer's functions of SymPy's: values and derivatives to second order against mpmath."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

from pullback import grad, lambdify, vmap
from pullback.compiler.ops.scipy.hypergeometric import parameters_of, spelled

x, y = sp.symbols("x y")
half, third = sp.Rational(1, 2), sp.Rational(1, 3)

HYPER = [
    ([1, 2, half], [3, 4], 0.3), ([1, 2, half], [3, 4], -13.3), ([1, 1, 1], [2, 2], 0.0), ([1, 1], [2, 2], -2.5),
    ([half], [3 * half, 3 * half], -20.3), ([third, 1], [sp.sqrt(2), 2], 1.5), ([], [half, third], 2.0),
    ([0, 1], [2, 2], 0.7), ([-2, 1, 1], [2, 3], 5.0),
]  # fmt: skip
MEIJER = [
    ([[1], []], [[half], [0]], 0.7), ([[], [1, 2]], [[0, half, third], []], 0.7), ([[half], [1]], [[0], [third]], 0.4),
    ([[], []], [[0, third], []], 2.5), ([[1, 1], []], [[1], [0]], 1.7),
]  # fmt: skip


def agrees(e: Any, exact: Any, at: float) -> None:
    f = lambdify(x, e)
    with mpmath.workdps(40):
        wanted = [float(mpmath.diff(exact, at, n)) for n in range(3)]
    assert [f(at), grad(f)(at), grad(grad(f))(at)] == pytest.approx(wanted, rel=1e-13, abs=1e-14)
    for d in (grad(f), grad(grad(f))):
        assert not np.isnan(d(at))
    np.testing.assert_array_equal(f(np.array([at, np.nan])), [f(at), np.nan])
    np.testing.assert_array_equal(vmap(grad(f))(np.array([at, at])), [grad(f)(at)] * 2)
    assert sp.N(f.sympy(at).subs(x, at)) == pytest.approx(f(at), rel=1e-13)


@pytest.mark.parametrize(("upper", "lower", "at"), HYPER)
def test_hypergeometric_functions(upper: Any, lower: Any, at: float) -> None:
    def exact(z: Any) -> Any:
        return mpmath.hyper(*[[mpmath.mpf(str(sp.N(p, 40))) for p in each] for each in (upper, lower)], z)

    agrees(sp.hyper(upper, lower, x), exact, at)


@pytest.mark.parametrize(("upper", "lower", "at"), MEIJER)
def test_functions_of_meijer(upper: Any, lower: Any, at: float) -> None:
    def number(lists: Any) -> Any:
        return [[mpmath.mpf(str(sp.N(p, 40))) for p in each] for each in lists]

    agrees(sp.meijerg(upper, lower, x), lambda z: mpmath.meijerg(number(upper), number(lower), z), at)


def test_of_an_expression_and_in_a_case_that_is_not_taken() -> None:
    f = lambdify([x, y], y * sp.hyper([1, 1], [2, 2], -x * y))
    e = y * sp.hyper([1, 1], [2, 2], -x * y)
    want = [float(e.diff(s).subs({x: 2.3, y: 1.1}).evalf()) for s in (x, y)]
    assert grad(f, argnums=(0, 1))(2.3, 1.1) == pytest.approx(want, rel=1e-13)
    g = lambdify(x, sp.Piecewise((sp.meijerg([[1], []], [[half], [0]], x), x > 0), (x, True)))
    assert (g(-1.0), grad(g)(-1.0)) == (-1.0, 1.0)


def test_complex_values_are_nan() -> None:
    assert np.isnan(lambdify(x, sp.hyper([1, 2, half], [3, 4], x))(3.0))
    assert np.isnan(lambdify(x, sp.meijerg([[], []], [[0, half, third], []], x))(-0.7))


def test_parameters_that_are_no_numbers_are_expanded_or_refused() -> None:
    f = lambdify([x, y], sp.meijerg([[], []], [[x], []], y))
    assert f(1.3, 0.7) == pytest.approx(0.7**1.3 * np.exp(-0.7), rel=1e-14)
    with pytest.raises(TypeError, match=r"hyper has 2 and 2 parameters.*no real numbers.*hyperexpand"):
        lambdify([x, y], sp.hyper([1, 2], [3, x], y))
    with pytest.raises(TypeError, match=r"meijerg.*no real numbers"):
        lambdify([x, y], sp.meijerg([[], [1, 2]], [[0, x, third], []], y))
    with pytest.raises(TypeError, match="without dtype=complex"):
        lambdify(x, sp.hyper([1, 2, half], [3, 4], x), dtype=complex)


def test_an_angle_of_the_argument_is_of_no_account_within_the_circle() -> None:
    turned = lambdify(x, sp.hyper([1, 2], [3], x * sp.exp_polar(2 * sp.I * sp.pi)))
    plain = lambdify(x, sp.hyper([1, 2], [3], x))
    assert turned(0.3) == plain(0.3)
    assert np.isnan(turned(-1.3))
    assert lambdify(x, sp.hyper([1, 2], [3], x * sp.exp_polar(sp.I * sp.pi)))(5.3) == plain(-5.3)
    with pytest.raises(TypeError, match=r"another sheet.*unpolarify"):
        lambdify(x, x * sp.exp_polar(2 * sp.I * sp.pi))
    assert lambdify(x, x * sp.exp_polar(sp.I * sp.pi))(2.0) == -2.0


def test_parameters_are_spelled_and_read() -> None:
    lists = [[Fraction(1), Fraction(-1, 3)], [], [Fraction(5, 2)]]
    assert parameters_of(spelled(lists)) == lists
