"""scipy.optimize's fits with traced data: what is fitted, its covariance, and their derivatives to second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from pullback import hessian
from pullback.runtime.transforms import grad, jit
from pullback.runtime.vmap import vmap
from tests.test_scipy_solvers import differences

opt: Any = scipy.optimize
T = np.arange(5.0)
Y = np.array([2.0, 1.2, 0.8, 0.4, 0.3])
ERRORS = np.array([0.1, 0.2, 0.1, 0.3, 0.2])
TIGHT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}


def decay(t: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * t)


def exact(y: np.ndarray, t: np.ndarray = T, sigma: Any = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """By Newton's steps to the last digit: the parameters and (J^T J)^-1."""
    p = np.array([2.0, 0.5])
    for _ in range(12):
        e = np.exp(-p[1] * t)
        j = np.stack([e, -p[0] * t * e]).T / np.reshape(sigma, (-1, 1))
        r = (p[0] * e - y) / sigma
        mixed, own = np.sum(r / sigma * -t * e), np.sum(r / sigma * p[0] * t * t * e)
        bend = np.array([[0.0, mixed], [mixed, own]])
        p = p - np.linalg.solve(j.T @ j + bend, j.T @ r)
    return p, np.linalg.inv(j.T @ j)


def _variance(y: np.ndarray, t: np.ndarray = T) -> float:
    p, _ = exact(y, t)
    return np.sum((decay(t, *p) - y) ** 2) / 3


FITS: dict[str, tuple[Callable[..., Any], Callable[..., Any], np.ndarray]] = {
    "parameters": (lambda y: np.prod(opt.curve_fit(decay, T, y, **TIGHT)[0]), lambda y: np.prod(exact(y)[0]), Y),
    "places": (lambda t: np.prod(opt.curve_fit(decay, t, Y, (1.0, 0.1), **TIGHT)[0]),
               lambda t: np.prod(exact(Y, t)[0]), T),
    "covariance": (lambda y: np.sqrt(np.diag(opt.curve_fit(decay, T, y, [1.0, 0.1], **TIGHT)[1])).sum(),
                   lambda y: np.sqrt(np.diag(exact(y)[1] * _variance(y))).sum(), Y),
    "errors": (lambda y: opt.curve_fit(decay, T, y, [1.0, 0.1], ERRORS, True, **TIGHT)[1].sum(),
               lambda y: exact(y, T, ERRORS)[1].sum(), Y),
    "of errors": (lambda s: opt.curve_fit(decay, T, Y, [1.0, 0.1], s, **TIGHT)[0].sum(),
                  lambda s: exact(Y, T, s)[0].sum(), ERRORS),
    "correlated errors": (lambda y: opt.curve_fit(decay, T, y, [1.0, 0.1], np.diag(ERRORS**2), **TIGHT)[0].sum(),
                          lambda y: exact(y, T, ERRORS)[0].sum(), Y),
    "bounds": (lambda y: opt.curve_fit(decay, T, y, bounds=(0.0, [5.0, 0.9]), **TIGHT)[0].sum(),
               lambda y: exact(y)[0].sum(), Y),
    "at a bound": (lambda y: opt.curve_fit(decay, T, y, bounds=([0.0, 0.0], [5.0, 0.4]), **TIGHT)[0].sum(),
                   lambda y: np.sum(y * np.exp(-0.4 * T)) / np.sum(np.exp(-0.8 * T)) + 0.4, Y),
    "least_squares at a bound": (
        lambda y: opt.least_squares(lambda p: decay(T, *p) - y, [1.0, 0.1], bounds=(0.0, [5.0, 0.4]), **TIGHT).x[0],
        lambda y: np.sum(y * np.exp(-0.4 * T)) / np.sum(np.exp(-0.8 * T)), Y),
    "leastsq": (lambda y: opt.leastsq(lambda p: decay(T, p[0], p[1]) - y, [1.0, 0.1], **TIGHT)[0].sum(),
                lambda y: exact(y)[0].sum(), Y),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_fits(name: str) -> None:
    fit, known, at = FITS[name]
    assert jit(fit)(at) == pytest.approx(fit(at), rel=1e-7) == known(at)
    np.testing.assert_allclose(grad(fit)(at), differences(known, at, 1e-3), rtol=1e-5, atol=1e-7)
    bends = differences(lambda y: differences(known, y, 1e-3), at, 1e-3)
    np.testing.assert_allclose(hessian(fit)(at), bends, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(vmap(fit)(np.stack([at, 1.01 * at])), [fit(at), fit(1.01 * at)], rtol=1e-7)


@pytest.mark.parametrize(
    ("function", "error", "said"),
    [
        (lambda y: opt.curve_fit(lambda t: t, T, y)[0][0], ValueError, "number of fit parameters"),
        (lambda y: opt.curve_fit(decay, T, y, sigma=np.ones(3))[0][0], ValueError, "incorrect shape"),
        (lambda y: opt.curve_fit(decay, T, y, bounds=(0, 1), method="lm")[0][0], ValueError, "unconstrained"),
        (lambda y: opt.curve_fit(decay, T, y, full_output=True)[0][0], TypeError, "full_output"),
        (lambda y: opt.curve_fit(decay, T, y, ftol=y[0])[0][0], TypeError, "traced ftol"),
    ],
)
def test_refusals_of_fits(function: Callable[..., Any], error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        grad(function)(Y)
