"""Formulas of many parts of one shape: what is computed as arrays is what SymPy computes part by part."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp

from pullback import grad, hessian, jacobian, lambdify
from pullback.runtime.symbolic.formulas import alike, vectorized

N = 24
xs: Any = sp.symbols(f"x0:{N}", real=True)
a, b = sp.symbols("a b", real=True)
AT = np.random.default_rng(0).uniform(0.2, 1.5, N)

SUMS: dict[str, Any] = {
    "chain": sum(sp.sin(p * q) ** 2 * sp.exp(-(p**2)) for p, q in pairwise(xs)),
    "ring": sum((xs[k] - xs[(k + 1) % N]) ** 4 / (1 + xs[k] ** 2) for k in range(N)),
    "every second": sum(xs[k] ** 3 * xs[k + 1] for k in range(0, N, 2)),
    "coefficients": sum(sp.Rational(k + 1, 7) * sp.cos(k * xs[k] / 3 + 1) for k in range(N)),
    "signs": sum((-1) ** k * sp.sqrt(1 + xs[k] * a) for k in range(N)),
    "pairs": sum(1 / sp.sqrt((xs[j] - xs[k]) ** 2 + a**2) for j in range(12) for k in range(j)),
    "shuffled": sum(xs[k] * sp.exp(xs[(7 * k + 3) % N]) for k in range(N)),
    "shared": sum(sp.exp(xs[j]) * xs[k] for j in range(4) for k in range(8, N)),
    "two shapes and more": sum(sp.tanh(x) for x in xs) + sum(x**2 * a for x in xs[:18]) + b**3 + xs[0] * xs[23],
    "kinks": sum(sp.Max(x - a, 0) + sp.Abs(x - b) for x in xs),
    "branches": sum(sp.Piecewise((x**2, x < a), (2 * a * x - a**2, True)) for x in xs),
    "powers": sum(2**x + x**b + x ** sp.Rational(3, 2) for x in xs),
    "special": sum(sp.gamma(x + 1) * sp.erf(x / 2) for x in xs),
    "inside": sp.log(1 + sum(sp.exp(x) for x in xs)) * sum(x**2 for x in xs),
    "mean": sum(xs) / N,
}

LISTS: dict[str, list[Any]] = {
    "diffusion": [xs[k - 1] - 2 * xs[k] + xs[(k + 1) % N] - sp.sin(xs[k]) * xs[k] ** 2 for k in range(N)],
    "ends": [xs[0] ** 2, *[(xs[k + 1] - xs[k]) * xs[k] for k in range(1, N - 1)], sp.exp(xs[5])],
    "numbers": [k * xs[3] + k**2 for k in range(1, N)],
    "the same": [sp.sin(xs[0])] * 20,
    "relations": [x > a for x in xs],
    "sums": [sum(sp.exp(-((xs[j] - xs[k]) ** 2)) for k in range(N) if k != j) for j in range(3)],
}


@pytest.mark.parametrize("name", SUMS)
def test_sums(name: str) -> None:
    e, args, given = SUMS[name], [xs, a, b], (AT, 0.7, 0.4)
    f = lambdify(args, e)
    agree(f(*given), float(_theirs(args, e)(*given)), 1e-13)
    slopes = _theirs(args, [sp.diff(e, x) for x in xs])
    agree(grad(f)(*given), slopes(*given), 1e-12)
    ours = hessian(f)(*given)
    for k in (0, 1, 5, N - 1):
        row = _theirs(args, [sp.diff(e, x, xs[k]).replace(sp.DiracDelta, lambda x: 0) for x in xs])
        agree(ours[k], row(*given), 1e-11)


@pytest.mark.parametrize("name", LISTS)
def test_lists_and_matrices(name: str) -> None:
    es, args, given = LISTS[name], [xs, a], (AT, 0.7)
    f, matrix = lambdify(args, es), lambdify(args, sp.Matrix(es) if name != "relations" else es)
    want = np.array(_theirs(args, es)(*given))
    got = f(*given)
    assert type(got) is list and all(np.ndim(x) == 0 for x in got)
    agree(np.array(got), want, 1e-14)
    agree(np.ravel(matrix(*given)), want, 1e-14)
    if name == "relations":
        assert np.asarray(got[0]).dtype == bool
        return
    slopes = np.array([_theirs(args, [sp.diff(e, x) for x in xs])(*given) for e in es])
    agree(jacobian(matrix)(*given)[:, 0], slopes, 1e-13)
    agree(jacobian(lambda x: matrix(x, 0.7)[:, 0], sparse=True)(AT).toarray(), slopes, 1e-13)


def agree(got: Any, want: Any, relative: float) -> None:
    """Alike by the largest of all."""
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), atol=relative * (1e-3 + np.max(np.abs(want))))


def _theirs(args: list[Any], e: Any) -> Callable[..., Any]:
    return sp.lambdify(args, e, ["scipy", "numpy"])


def test_arguments_of_every_form() -> None:
    e = SUMS["ring"]
    want = lambdify([xs], e)(AT)
    agree(lambdify(xs, e)(*AT), want, 1e-14)
    agree(lambdify([xs], e)(list(AT)), want, 1e-14)
    agree(lambdify([sp.Matrix(8, 3, xs)], e)(AT.reshape(8, 3)), want, 1e-14)
    agree(lambdify([sp.Matrix(xs)], e)(AT), want, 1e-14)
    agree(lambdify([xs[:7], xs[7:]], e)(AT[:7], AT[7:]), want, 1e-14)
    agree(lambdify([[*xs[::2]], [*xs[1::2]]], e)(AT[::2], AT[1::2]), want, 1e-14)
    f32 = lambdify([xs], e)(AT.astype(np.float32))
    assert f32.dtype == np.float32 and abs(f32 - want) < 1e-5 * want
    agree(lambdify([xs], e)(np.arange(N)), lambdify([xs], e)(np.arange(N) * 1.0), 1e-15)


def test_batches_are_computed_part_by_part() -> None:
    several = np.random.default_rng(1).uniform(0.2, 1.5, (N, 3))
    for e in (SUMS["chain"], SUMS["coefficients"]):
        f = lambdify([xs], e)
        agree(f(several), [f(column) for column in several.T], 1e-14)
    f = lambdify([xs], sp.Matrix(LISTS["diffusion"]))
    agree(f(several)[:, 0], np.stack([f(column)[:, 0] for column in several.T], axis=1), 1e-14)


def test_the_graph_is_that_of_one_term() -> None:
    def chain(n: int) -> Any:
        return lambdify([xs[:n]], sum(sp.sin(p * q) for p, q in pairwise(xs[:n])))

    short, long = chain(20), chain(N)
    short(AT[:20])
    long(AT)
    lines = [str(f.ir("optimized")).count("\n") for f in (short, long)]
    assert lines[0] == lines[1] < 12


def test_random_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(0)

    def formula(depth: int) -> Callable[[int], Any]:
        if depth == 0:
            shift, step = chance.randrange(N), chance.choice([1, 1, 1, 3])
            kinds = [lambda k: xs[(k * step + shift) % N], lambda k: sp.Rational(k + shift, 11), lambda k: a]
            return chance.choice(kinds)
        inner = [formula(depth - 1) for _ in range(2)]
        kind = chance.randrange(6)
        if kind == 0:
            return lambda k: sp.sin(inner[0](k))
        if kind == 1:
            return lambda k: inner[0](k) ** 2
        if kind == 2:
            return lambda k: sp.exp(-inner[0](k) * inner[1](k))
        if kind == 3:
            return lambda k: sp.Max(inner[0](k), inner[1](k))
        return (lambda k: inner[0](k) * inner[1](k)) if kind == 4 else lambda k: inner[0](k) + inner[1](k)

    for _ in range(15):
        term = formula(3)
        e = sum(term(k) for k in range(20))
        f = lambdify([xs, a], e)
        with monkeypatch.context() as patched:
            for where in (alike, vectorized):
                patched.setattr(where, "FEWEST", 10**9)
            written = grad(lambdify([xs, a], e))(AT, 0.7)
        agree(f(AT, 0.7), float(_theirs([xs, a], e)(AT, 0.7)), 1e-12)
        agree(grad(f)(AT, 0.7), written, 1e-12)
