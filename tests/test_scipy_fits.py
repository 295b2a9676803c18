"""`fit` of scipy.stats' distributions to traced data: SciPy's parameters, slopes those of the largest likelihood."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from pullback import grad, hessian, jacobian, jit

stats: Any = scipy.stats
opt: Any = scipy.optimize
RNG = np.random.default_rng(7)
ALONG = RNG.normal(size=40)

CASES: dict[str, tuple[str, tuple[float, ...], dict[str, Any]]] = {
    "mean and spread": ("norm", (1.0, 2.0), {}),
    "a spread alone": ("norm", (1.0, 2.0), {"floc": 0.5}),
    "a median": ("laplace", (1.0, 2.0), {}),
    "a location at the least datum": ("expon", (1.0, 2.0), {}),
    "both ends": ("uniform", (1.0, 2.0), {}),
    "a shape and a scale": ("gamma", (2.0, 0.0, 1.5), {"floc": 0}),
    "a scale at the largest datum": ("powerlaw", (2.0, 0.0, 3.0), {"floc": 0}),
    "a scale at the least datum": ("pareto", (2.5, 0.0, 1.0), {"floc": 0}),
    "two shapes": ("beta", (2.0, 3.0, 0.0, 1.0), {"floc": 0, "fscale": 1}),
    "a location inside": ("gumbel_r", (1.0, 2.0), {}),
    "a shape that is fixed": ("weibull_min", (1.7, 0.0, 2.0), {"f0": 1.5, "floc": 0}),
    "an early end of SciPy's": ("weibull_min", (1.7, 0.0, 2.0), {"floc": 0}),
    "three parameters": ("t", (4.0, 1.0, 2.0), {}),
}

EARLY = ("an early end of SciPy's", "three parameters", "a shape that is fixed")
"""Fits of SciPy's that are off by some 1e-5, so that differences of them are noise."""


def largest(distribution: Any, x: np.ndarray, free: list[int], fitted: np.ndarray) -> np.ndarray:
    """The parameters of the largest likelihood, by a search that goes on where SciPy's stops."""

    def unlikely(theta: Any) -> Any:
        all_of = fitted.copy()
        all_of[free] = theta
        return distribution._penalized_nnlf(all_of, x)

    made, theta = fitted.copy(), fitted[free]
    for _ in range(3):
        theta = opt.fmin(unlikely, theta, xtol=1e-11, ftol=1e-13, disp=0, maxfun=4000, maxiter=4000)
    made[free] = theta
    return made


@pytest.mark.parametrize("name", CASES)
def test_parameters(name: str) -> None:
    kind, parameters, held = CASES[name]
    distribution = getattr(stats, kind)
    x = distribution.rvs(*parameters, size=40, random_state=3)
    f = lambda x: distribution.fit(x, **held)  # noqa: E731
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-14)
    moved = lambda x: np.stack(f(x))  # noqa: E731
    of = lambda x: moved(x) @ np.arange(1.0, 1.0 + len(parameters))  # noqa: E731
    h = 1e-4
    sides = [np.array(f(x + step * ALONG)) for step in (h, -h)]
    if name in EARLY:
        free = [k for k in range(len(parameters)) if sides[0][k] != sides[1][k]]
        sides = [largest(distribution, x + s * ALONG, free, fitted) for s, fitted in zip((h, -h), sides, strict=True)]
    slope = (sides[0] - sides[1]) / (2 * h)
    np.testing.assert_allclose(jacobian(moved)(x) @ ALONG, slope, rtol=1e-3, atol=1e-3)
    slope_of = grad(of)
    second = (slope_of(x + h * ALONG) - slope_of(x - h * ALONG)) @ ALONG / (2 * h)
    np.testing.assert_allclose(hessian(of)(x) @ ALONG @ ALONG, second, rtol=1e-4, atol=1e-5)


def test_a_traced_location_and_the_data_that_it_moves() -> None:
    x = stats.gamma.rvs(2.0, 0.0, 1.5, size=30, random_state=3)
    scale = lambda low: stats.gamma.fit(x, floc=low)[2]  # noqa: E731
    np.testing.assert_allclose(grad(scale)(-0.3), (scale(-0.3 + 1e-5) - scale(-0.3 - 1e-5)) / 2e-5, rtol=1e-5)
    with_guess = lambda x: stats.t.fit(x, 4.0, loc=1.0, scale=2.0)[0]  # noqa: E731
    np.testing.assert_array_equal(jit(with_guess)(x), with_guess(x))


REFUSALS: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "moments": (lambda x: stats.gamma.fit(x, method="MM"), TypeError, "leave method out"),
    "a density that turns": (lambda x: stats.dgamma.fit(x), TypeError, "fix the location"),
    "nothing to fit": (lambda x: stats.norm.fit(x, floc=0, fscale=1), RuntimeError, "All parameters fixed"),
    "one twice": (lambda x: stats.gamma.fit(x, f0=1, fa=1), ValueError, "same fixed parameter a"),
    "unknown": (lambda x: stats.studentized_range.fit(x), TypeError, "not supported"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    f, kind, said = REFUSALS[name]
    with pytest.raises(kind, match=said):
        jit(f)(np.arange(1.0, 5.0))


def test_a_peak_that_is_at_a_datum_has_values_and_refuses_slopes() -> None:
    x = stats.triang.rvs(0.3, size=20, random_state=0)
    assert jit(lambda x: stats.triang.fit(x))(x) == stats.triang.fit(x)
    with pytest.raises(TypeError, match=r"triang.fit .its peak is at a datum. is differentiated"):
        grad(lambda x: stats.triang.fit(x)[0])(x)
