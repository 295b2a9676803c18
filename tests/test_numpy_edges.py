"""NumPy's functions at their edges: masks as indices, NaN in empty sets, axes that do not fit, perfect correlation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.special

from pullback import grad, hessian, jit

NAN = np.array([1.0, np.nan, 3.0, -np.inf, np.inf, -0.0])
MASK, M = np.array([True, False, True]), np.arange(6.0).reshape(2, 3)
P, Q = np.array([0.5, -2.0]), np.array([[1.0, 3.0], [2.0, -1.0]])

VALUES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "take by bools, which are numbers": (lambda x, m: np.take(x, m), (np.array([5.0, 6.0, 7.0]), MASK)),
    "take by bools along an axis": (lambda x: np.take(x, MASK, axis=1), (M,)),
    "isin nothing": (lambda x: np.isin(x, []), (NAN,)),
    "not isin nothing": (lambda x: np.isin(x, [], invert=True), (NAN,)),
    "setdiff1d of nothing": (lambda x: np.setdiff1d(x, []), (NAN,)),
    "sort_complex of bools": (lambda x: np.sort_complex(x), (MASK,)),
    "sort_complex of short floats": (lambda x: np.sort_complex(x), (NAN.astype(np.float32),)),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name: str) -> None:
    f, given = VALUES[name]
    made, want = np.asarray(jit(f)(*given)), np.asarray(f(*given))
    assert made.dtype == want.dtype
    np.testing.assert_array_equal(made, want)


def path(x: Any, rate: Any = None, **more: Any) -> Any:
    return scipy.integrate.solve_ivp(rate or (lambda t, y: -y * x[0]), (0, 1), [1.0], **more).y[0, -1]


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "vecdot": (np.vecdot, (M, np.array([4.0]))),
    "vecdot of numbers": (np.vecdot, (np.float64(2.0), M)),
    "linalg.vecdot of complex numbers": (np.linalg.vecdot, (M + 1j, np.array([4.0 + 0j]))),
    "matvec": (np.matvec, (M[0], M[0])),
    "vecmat": (np.vecmat, (M[0], M[0])),
    "gradient of bools": (np.gradient, (MASK,)),
    "ediff1d of bools": (np.ediff1d, (MASK,)),
    "an axis": (lambda x: np.sum(x, axis=2), (M,)),
    "axes": (lambda x: np.transpose(x, (0, 1)), (P,)),
    "an axis to change": (lambda x: np.swapaxes(x, 0, 1), (P,)),
    "an axis to insert": (lambda x: np.expand_dims(x, 5), (P,)),
    "an axis of logsumexp": (lambda x: scipy.special.logsumexp(x, axis=3), (P,)),
    "one choice": (lambda x: np.where(x > 0, x), (P,)),
    "negative repeats": (lambda x: np.tile(x, -1), (P,)),
    "a choice beyond the last": (lambda x: np.choose([3], [x, x]), (P,)),
    "t_eval": (lambda x: path(x, t_eval=[0, 2]), (P,)),
    "t_eval out of order": (lambda x: path(x, t_eval=[0.5, 0.2]), (P,)),
    "a method": (lambda x: path(x, method="Euler"), (P,)),
    "two slopes of one number": (lambda x: path(x, rate=lambda t, y: x), (P,)),
    "a place beyond the last": (lambda x: scipy.interpolate.interp1d([0, 1], x)(7.0), (P,)),
    "logm of a vector": (lambda x: scipy.linalg.logm(x), (P,)),
    "Stein's equation": (lambda x: scipy.linalg.solve_discrete_lyapunov(np.eye(2) * x, Q), (np.ones(2),)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name: str) -> None:
    f, given = REFUSED[name]
    with pytest.raises((ValueError, TypeError, IndexError, np.linalg.LinAlgError)) as theirs:
        f(*given)
    with pytest.raises(theirs.type):
        jit(lambda *x: f(*x))(*given)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_cross_products_of_two_elements() -> None:
    plane = lambda p, q: np.cross(p, q)  # noqa: E731
    np.testing.assert_allclose(jit(plane)(P, Q), np.cross(P, Q))
    np.testing.assert_allclose(jit(plane)(P, M), np.cross(P, M))
    np.testing.assert_allclose(grad(lambda p: np.sum(np.cross(p, Q) ** 2))(P), [14.0, -21.0])


def test_perfect_correlation_is_no_kink() -> None:
    line, bow = np.array([0.0, 1.0, 2.0]), np.array([1.0, -2.0, 1.0])

    def correlation(t: Any) -> Any:
        return np.corrcoef(line, line + t * bow)[0, 1]

    assert correlation(0.0) == 1.0
    h = 1e-3
    curvature = (correlation(h) - 2 * correlation(0.0) + correlation(-h)) / h**2
    assert grad(grad(correlation))(0.0) == pytest.approx(curvature, rel=1e-4)


def test_vectors_of_one_eigenvalue_beside_equal_ones() -> None:
    def f(p: Any) -> Any:
        matrix = np.diag([1.0, 2.0, 3.0, 3.0, 3.0]) * p[0] + p[1] * np.outer([1, 1, 0, 0, 0], [1, 1, 0, 0, 0])
        w, v = np.linalg.eigh(matrix)
        return w[0] ** 2 + np.sum(v[:, 0] ** 4)

    x, h = np.array([1.2, 0.3]), 1e-5
    for of, made in ((f, grad(f)(x)), (grad(f), hessian(f)(x))):
        slopes = [(of(x + h * e) - of(x - h * e)) / (2 * h) for e in np.eye(2)]
        np.testing.assert_allclose(made, slopes, rtol=1e-7)
    assert np.isnan(grad(lambda t: np.linalg.eigh(np.diag([1.0, 1.0]) * t)[1][0, 1])(2.0))
