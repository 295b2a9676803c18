"""quad, dblquad and fixed_quad of scipy.integrate with traced parameters: values, and derivatives to second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.stats

from pullback import jvp
from pullback.runtime.transforms import grad, jit
from pullback.runtime.vmap import vmap

S: Any = scipy.integrate
stats: Any = scipy.stats
A, STEP = 0.7, 1e-3

CASES: dict[str, Callable[..., Any]] = {
    "parameters": lambda a: S.quad(lambda x: np.exp(-a * x * x), 0, 1)[0],
    "arguments": lambda a: S.quad(lambda x, a, b: np.exp(-a * b * x), 0, 1, args=(a, 2.0))[0],
    "ends": lambda a: S.quad(lambda x: np.sin(x * a), a, 3 * a)[0],
    "ends the other way": lambda a: S.quad(lambda x: np.sin(x * a), 3 * a, a)[0],
    "no range": lambda a: S.quad(lambda x: np.sin(x * a), a, a)[0] + a * a,
    "a peak": lambda a: S.quad(lambda x: 1 / (1e-3 + (x - a) ** 2), 0, 1)[0],
    "up to infinity": lambda a: S.quad(lambda x: np.exp(-a * x), a, np.inf)[0],
    "from infinity": lambda a: S.quad(lambda x: np.exp(a * x), -np.inf, a)[0],
    "down from infinity": lambda a: S.quad(lambda x: np.exp(-a * x), np.inf, a)[0],
    "all numbers": lambda a: S.quad(lambda x: np.exp(-a * (x - a) ** 2), -np.inf, np.inf)[0],
    "all numbers back": lambda a: S.quad(lambda x: np.exp(-a * (x - a) ** 2), np.inf, -np.inf)[0],
    "an infinite end": lambda a: S.quad(lambda x: x ** (a - 1), 0, 1)[0],
    "points": lambda a: S.quad(lambda x: abs(x - 0.3) * a**2, 0, 1, points=[0.3])[0],
    "a kink": lambda a: S.quad(lambda x: a if x < 0.4 else a * a * x, 0, 1, points=[0.4])[0],
    "two variables": lambda a: S.dblquad(lambda y, x: np.exp(-a * x * y), 0, a, 0, lambda x: x + a)[0],
    "fixed_quad": lambda a: S.fixed_quad(lambda x: np.exp(-a * x), 0.0, a, n=8)[0],
    "three variables": lambda a: S.tplquad(lambda z, y, x: np.exp(-a * x * y * z), 0, 1, 0, 1, 0, lambda x, y: x)[0],
    "nested": lambda a: S.nquad(lambda x, y: np.exp(-a * x * y), [lambda y: (0, y + a), (0, 1)])[0],
    "of vectors": lambda a: np.sum(S.quad_vec(lambda x: np.sin(x * a) * np.arange(1.0, 3.0), 0, a)[0]),
    "expect": lambda a: stats.norm.expect(lambda x: np.cos(a * x), loc=a, scale=1 + a * a),
    "expect within": lambda a: stats.gamma(2.0 + a).expect(np.log, lb=0.1, ub=3.0, conditional=True),
    "expect of counts": lambda a: stats.binom.expect(np.sqrt, args=(7, 0.5 * a)),
    "trapezoid": lambda a: S.trapezoid(np.exp(-a * np.arange(4)), dx=a),
}


def difference(f: Callable[..., Any], a: float) -> float:
    return (8 * (f(a + STEP) - f(a - STEP)) - (f(a + 2 * STEP) - f(a - 2 * STEP))) / (12 * STEP)


@pytest.mark.parametrize("name", CASES)
def test_values_and_two_derivatives(name: str) -> None:
    f = CASES[name]
    assert jit(f)(A) == pytest.approx(f(A), rel=1e-13)
    slope = grad(f)
    assert slope(A) == pytest.approx(difference(f, A), rel=2e-8, abs=1e-10)
    assert grad(slope)(A) == pytest.approx(difference(slope, A), rel=1e-7, abs=1e-9)
    assert jvp(f, (A,), (2.0,))[1] == pytest.approx(2 * slope(A), rel=1e-12)


def test_batches_and_loops() -> None:
    each = np.array([0.3, 0.5, 0.9])
    np.testing.assert_allclose(vmap(CASES["a peak"])(each), [CASES["a peak"](a) for a in each], rtol=1e-13)

    def f(a: Any) -> Any:
        total = 0.0
        for k in range(3):
            part = S.quad(lambda x, k=k: np.exp(-a[k] * x), 0, 1)[0]
            total = total + part if part > 0.7 else total - part
        return total

    slopes = [difference(lambda t: (1 - np.exp(-t)) / t, a) for a in each]
    np.testing.assert_allclose(grad(f)(each), np.array(slopes) * [1, 1, -1], rtol=1e-9)


def test_kinks_of_what_is_expected_stay_where_they_are() -> None:
    """The price of an option: Black's formula, its slope and its curvature in the mean."""
    price = lambda s: stats.lognorm.expect(lambda x: np.maximum(x - 1.0, 0.0), args=(0.4,), scale=s)  # noqa: E731
    far = np.log(1.2) / 0.4 + 0.4
    slope = np.exp(0.08) * stats.norm.cdf(far)
    assert grad(price)(1.2) == pytest.approx(slope, rel=1e-8)
    assert grad(grad(price))(1.2) == pytest.approx(np.exp(0.08) * stats.norm.pdf(far) / 0.4 / 1.2, rel=1e-6)


def _ramps(a: Any) -> Any:
    strikes = np.array([0.2, 0.5, 1.1]) * a
    return S.quad(lambda x: np.sum(np.maximum(x - strikes, 0.0)), 0.0, 1.0)[0]


MOVING: dict[str, tuple[Callable[..., Any], Callable[..., tuple[float, ...]]]] = {
    "a kink": (
        lambda a: S.quad(lambda x: np.maximum(x - a, 0.0) * np.exp(-x), 0, 3)[0],
        lambda a: (np.exp(-a) - (4 - a) * np.exp(-3), np.exp(-3) - np.exp(-a), np.exp(-a)),
    ),
    "a kink of Python's": (
        lambda a: S.quad(lambda x: max(x - a, 0.0), 0, 1)[0],
        lambda a: ((1 - a) ** 2 / 2, a - 1, 1.0),
    ),
    "a jump": (
        lambda a: S.quad(lambda x: np.where(x < a * a, np.exp(x), 2.0), 0, 1)[0],
        lambda a: (
            np.exp(a * a) + 1 - 2 * a * a, 2 * a * np.exp(a * a) - 4 * a,
            (2 + 4 * a * a) * np.exp(a * a) - 4,
        ),
    ),
    "branches in a branch": (
        lambda a: S.quad(lambda x: 1.0 if x < a * a else (2.0 if x < a else 4.0), 0, 1)[0],
        lambda a: (4 - 2 * a - a * a, -2 - 2 * a, -2.0),
    ),
    "an end that moves, and a kink that does not": (
        lambda a: S.quad(lambda x: abs(x - 0.4), 0, a, points=[0.4])[0],
        lambda a: (0.08 + (a - 0.4) ** 2 / 2, a - 0.4, 1.0),
    ),
    "all numbers": (
        lambda a: S.quad(lambda x: np.maximum(x - a, 0.0) * np.exp(-x * x / 2), -np.inf, np.inf)[0],
        lambda a: (
            np.exp(-a * a / 2) - a * np.sqrt(2 * np.pi) * stats.norm.sf(a),
            -np.sqrt(2 * np.pi) * stats.norm.sf(a), np.exp(-a * a / 2),
        ),
    ),
    "down from infinity": (
        lambda a: S.quad(lambda x: np.maximum(x - a, 0.0) * np.exp(-x), np.inf, 0)[0],
        lambda a: (-np.exp(-a), np.exp(-a), -np.exp(-a)),
    ),
    "knots": (
        lambda a: S.quad(lambda x: np.interp(x, [0, a, 1], [0, 1, 0.5 * a]), 0, 1)[0],
        lambda a: (0.5 + 0.25 * a * (1 - a), 0.25 - 0.5 * a, -0.5),
    ),
    "steps": (
        lambda a: S.quad(lambda x: np.floor(3 * x / a) + np.rint(x / a), 0, 2, limit=200)[0],
        lambda a: (22 - 16.5 * a, -16.5, 0.0),
    ),
    "a saw": (
        lambda a: S.quad(lambda x: x % a, 0, 1, limit=200)[0],
        lambda a: (a * a / 2 + (1 - a) ** 2 / 2, 2 * a - 1, 2.0),
    ),
    "the larger of three": (
        lambda a: S.quad(lambda x: np.max(np.array([x, a * x + 0.2, 0.5])), 0, 1)[0],
        lambda a: (
            0.15 / a + (a / 2 * (1 / 9 * 4 - 0.09 / a**2) + 0.2 * (2 / 3 - 0.3 / a)) + (1 - 4 / 9) / 2, np.nan, np.nan,
        ),
    ),
    "several": (
        _ramps,
        lambda a: (
            sum((1 - k * a) ** 2 / 2 for k in (0.2, 0.5, 1.1)), -sum((1 - k * a) * k for k in (0.2, 0.5, 1.1)), 1.5,
        ),
    ),
    "two variables": (
        lambda a: S.dblquad(lambda y, x: np.maximum(x + y - a, 0.0), 0, 1, 0, 1)[0],
        lambda a: (1 - a + a**3 / 6, a * a / 2 - 1, a),
    ),
    "a payoff's strike": (
        lambda a: stats.norm.expect(lambda x: np.maximum(x - a, 0.0)),
        lambda a: (stats.norm.pdf(a) - a * stats.norm.sf(a), -stats.norm.sf(a), stats.norm.pdf(a)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVING)
def test_jumps_and_kinks_whose_places_parameters_move(name: str) -> None:
    """SciPy's own value is what it is to some 1e-9; the integral of the pieces is exact, and so are its derivatives."""
    f, known = MOVING[name]
    value, slope, curvature = known(A)
    made = jit(f)(A), grad(f)(A), grad(grad(f))(A)
    if name == "the larger of three":
        slope, curvature = difference(jit(f), A), difference(grad(f), A)
        a, (low, high) = A, (0.3 / A, 0.2 / (1 - A))
        value = 0.5 * low + a / 2 * (high**2 - low**2) + 0.2 * (high - low) + (1 - high**2) / 2
    assert made == pytest.approx((value, slope, curvature), rel=2e-8, abs=1e-9)
    assert f(A) == pytest.approx(value, abs=1e-3)


def test_third_derivatives_of_a_kink_and_lanes() -> None:
    f, known = MOVING["a kink"]
    assert grad(grad(grad(f)))(A) == pytest.approx(-np.exp(-A), rel=1e-9)
    each = np.array([0.3, 0.9, 2.0])
    np.testing.assert_allclose(vmap(grad(f))(each), [known(a)[1] for a in each], rtol=1e-9)


def test_more_changes_than_a_derivative_can_have() -> None:
    f = lambda a: S.quad(lambda x: np.floor(300.0 * x * a), 0, 1)[0]  # noqa: E731
    with pytest.raises(ValueError, match="64 are the most for a derivative: split the range"):
        jit(f)(A)
    knots = np.linspace(0, 1, 90)
    curve = scipy.interpolate.CubicSpline(knots, np.sin(5 * knots))
    smooth = lambda a: S.quad(lambda x: a * curve(x), 0, 1)[0]  # noqa: E731
    assert grad(smooth)(A) == pytest.approx(smooth(1.0), rel=1e-9)


def test_the_error_is_quadpacks() -> None:
    f = lambda a: S.quad(lambda x: np.exp(-a * x * x), 0, 1)[1]  # noqa: E731
    assert jit(f)(A) == pytest.approx(f(A), rel=1e-13)  # of which NumPy's exp has the last bit


REFUSALS: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "too singular": (lambda a: S.quad(lambda x: x ** (a - 0.65), 0, 1)[0], ValueError, "split the range"),
    "weights": (lambda a: S.quad(lambda x: a * x, 0, 1, weight="cos", wvar=2.0)[0], TypeError, "leave weight out"),
    "arrays": (lambda a: S.quad(lambda x: a * x * np.ones(2), 0, 1)[0], TypeError, "return a number"),
    "more output": (lambda a: S.quad(lambda x: a * x, 0, 1, full_output=1)[0], TypeError, "leave full_output out"),
    "tolerances": (lambda a: S.quad(lambda x: a * x, 0, 1, epsabs=a)[0], TypeError, "traced epsabs"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    f, kind, said = REFUSALS[name]
    with pytest.raises(kind, match=said):
        grad(f)(-0.3)
