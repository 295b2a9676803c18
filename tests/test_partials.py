"""Every derivative has SymPy behind it: derived, or given and checked, and accurate over the whole range."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ops import formula
from pullback.compiler.ops.elementwise import DOMAINS, Elementwise

FLOATING = {name: prim for name, prim in REGISTRY.items() if isinstance(prim, Elementwise) and "f64" in prim.kinds}
SMOOTH = {name: prim for name, prim in FLOATING.items() if prim.result is None}
GIVEN = [name for name, prim in SMOOTH.items() if not prim.derived]
UNARY = [name for name, prim in SMOOTH.items() if prim.arity == 1]

#: rules with a constant that is rounded to f64
ROUNDED = {"erf", "exp2", "log2", "log10"}


#: ulps beyond 4, where NumPy takes a function from the C library that is not rounded correctly (cbrt is squared)
INEXACT = {"cbrt": 2}


def _draws(prim: Elementwise, rng: np.random.Generator, many: int = 25) -> list[list[float]]:
    low, high = DOMAINS[prim.domain]
    return rng.uniform(low, high, (many, prim.arity)).tolist()


def _pulled(rule: Callable[..., Any] | None, prim: Elementwise, at: list[float]) -> Any:
    """A rule's value for the cotangent 1, in mpmath's numbers."""
    m, xs = formula.Numbers(mp), [mp.mpf(x) for x in at]
    return mp.mpf(0) if rule is None else rule(m, mp.mpf(1), *xs, prim.formula(m, *xs))


def test_the_table_is_what_sympy_derives() -> None:
    assert formula.table() == formula.TARGET.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GIVEN)
def test_a_given_rule_is_the_derivative(name: str, rng: np.random.Generator) -> None:
    prim, allowed = SMOOTH[name], mp.mpf(2) ** -52 if name in ROUNDED else mp.mpf(10) ** -38
    points = _draws(prim, rng)
    assert len(prim.rules()) == prim.arity
    with mp.workdps(50):
        for rule, wants in zip(prim.rules(), formula.exact(prim, points), strict=True):
            for at, want in zip(points, wants, strict=True):
                got = _pulled(rule, prim, at)
                assert abs(got - want) <= allowed * abs(want), f"{name}'({at}) = {want}, not {got}"


@pytest.mark.parametrize("wrong", [lambda m, ct, x, r: -ct * m.sech2(x), lambda m, ct, x, r: ct * r])
def test_a_wrong_rule_is_not(wrong: Callable[..., Any]) -> None:
    prim = SMOOTH["tanh"]
    with mp.workdps(50):
        ((want,),) = formula.exact(prim, [[0.3]])
        assert abs(_pulled(wrong, prim, [0.3]) - want) > 0.1


@pytest.mark.parametrize("name", sorted(set(FLOATING) - set(SMOOTH)))
def test_a_truth_has_no_derivative(name: str) -> None:
    assert set(FLOATING[name].rules()) == {None}


def _worst(prim: Elementwise, rule: Callable[..., Any] | None) -> tuple[float, float]:
    """The greatest error of a unary rule evaluated in NumPy, in ulps, and where it is."""
    at = formula.points(prim, 60)
    x = np.array(at)[:, 0]
    with np.errstate(all="ignore"):
        made = rule(formula.Floats(), np.ones_like(x), x, prim.numpy(x)) if rule else 0.0
        got = np.broadcast_to(made, x.shape)
    (want,) = formula.exact(prim, at)
    return max(zip(map(formula.ulps, got.tolist(), want), x.tolist(), strict=True))


@pytest.mark.parametrize("name", UNARY)
def test_a_derivative_is_accurate_over_the_whole_range(name: str) -> None:
    (rule,) = SMOOTH[name].rules()
    worst, where = _worst(SMOOTH[name], rule)
    assert worst <= 4 + INEXACT.get(name, 0), f"{name}' is {worst:.3g} ulps off at {where}"


def test_the_partials_of_arctan2_are_accurate_over_the_whole_plane() -> None:
    prim = SMOOTH["arctan2"]
    at = formula.points(prim)
    y, x = np.array(at).T
    for rule, wants in zip(prim.rules(), formula.exact(prim, at), strict=True):
        assert rule is not None
        with np.errstate(all="ignore"):
            got = rule(formula.Floats(), np.ones_like(x), y, x, prim.numpy(y, x))
        off = list(map(formula.ulps, got.tolist(), wants))
        assert max(off) <= 4, f"{max(off):.3g} ulps off at {at[off.index(max(off))]}"


def test_an_inaccurate_derivative_is_found() -> None:
    worst, _ = _worst(SMOOTH["tanh"], lambda m, ct, x, r: ct * (1 - r * r))
    assert worst > 1e6


@pytest.mark.parametrize("name", FLOATING)
def test_the_formula_is_the_numpy_meaning(name: str, rng: np.random.Generator) -> None:
    """To 2 ulps where NumPy computes it, on draws and around halves and ties."""
    prim = FLOATING[name]
    points = _draws(prim, rng)
    if prim.arity == 2 or prim.domain == "real":
        points += [[k / 2] * prim.arity for k in (1, 3, 4, 5)]
        points += [[-k / 2] * prim.arity for k in (1, 3, 4, 5) if prim.domain == "real"]
    columns = [np.array(c) for c in zip(*points, strict=True)]
    with mp.workdps(50):
        m = formula.Numbers(mp)
        want = [prim.formula(m, *map(mp.mpf, at)) for at in points]
        got = prim.numpy(*columns).tolist()
        off = [formula.ulps(float(g), mp.mpf(w)) for g, w in zip(got, want, strict=True)]
    assert max(off) <= 2, f"{name}{points[off.index(max(off))]}"


def test_ulps() -> None:
    one = mp.mpf(1)
    assert formula.ulps(1.0, one) == 0
    assert formula.ulps(math.nextafter(1.0, 2.0), one) == 1
    assert formula.ulps(5e-324, mp.mpf(0)) == 1
    assert formula.ulps(math.nan, one) == math.inf
    assert formula.ulps(math.inf, one) == math.inf
    assert formula.ulps(math.inf, mp.mpf(10) ** 400) == 0
