"""Fits by scipy.optimize with traced data: curve_fit, leastsq, lsq_linear and nnls, and a fit's covariance.

SciPy's method finds the parameters on numbers; the equation that the gradient of the sum of squares is zero there
differentiates them, as that of `minima`. The covariance is of the exact Jacobian, where SciPy's is of differences.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import concrete, recode
from ...derivatives.jacobians import jacobian
from ..closed import Closed, floats, vector
from ..solution import Solved, default
from .minima import sides_of, smallest_rows
from .roots import tupled


def _count(f: Callable[..., Any]) -> int:
    """How many parameters a model has beside the places."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [each for each in inspect.signature(f).parameters.values() if each.kind in kinds]
    if len(found) < 2:
        raise ValueError("Unable to determine number of fit parameters.")
    return len(found) - 1


def _feasible(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Where SciPy starts if it is not told: at 1, or one away from the only bound, or half way between two."""
    below, above = np.isfinite(lower), np.isfinite(upper)
    low, high = np.where(below, lower, 0.0), np.where(above, upper, 0.0)
    one = np.where(below, low + 1.0, np.where(above, high - 1.0, 1.0))
    return np.where(below & above, 0.5 * (low + high), one)


def _scaled(sigma: Any, count: int) -> Callable[[Any], Any]:
    """What divides residuals by errors, or whitens them by the factor of their covariance."""
    if sigma is None:
        return lambda rows: rows
    s = vector(sigma)
    if s.shape in ((count,), (), (1,)):
        return lambda rows: rows / s
    if s.shape != (count, count):
        raise ValueError("`sigma` has incorrect shape.")
    factor = np.linalg.cholesky(s)
    return lambda rows: np.linalg.solve(factor, rows)


def _least(rows: Closed, start: Any, told: dict[str, Any]) -> tuple[Any, ...]:
    """By MINPACK's method, as leastsq: the parameters, the residuals and a number that says how it ended."""
    import scipy.optimize

    def solve(f: Any, x: Any) -> Any:
        found, ending = scipy.optimize.leastsq(f[0], x, **told)
        return np.atleast_1d(np.asarray(found, float)), int(ending)

    return smallest_rows(rows, [start], (int,), solve)


def _bounded(rows: Closed, start: Any, sides: tuple[Any, Any], told: dict[str, Any]) -> tuple[Any, ...]:
    import scipy.optimize

    def solve(f: Any, x: Any, *sides: Any) -> Any:
        made = scipy.optimize.least_squares(f[0], x, bounds=sides, **told)
        if not made.success:
            raise RuntimeError("Optimal parameters not found: " + made.message)
        return np.asarray(made.x, float), int(made.status)

    return smallest_rows(rows, [start, *sides], (int,), solve)


def curve_fit(
    f: Any, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False,
    check_finite: Any = None, bounds: Any = (-np.inf, np.inf), method: Any = None, jac: Any = None, *,
    full_output: bool = False, nan_policy: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    default("curve_fit", full_output=(full_output, False), nan_policy=(nan_policy, None))
    told = {name: given("scipy.optimize.curve_fit", name, x) for name, x in kwargs.items()}
    if told.get("loss", "linear") != "linear":
        R.refuse(f"curve_fit with loss={told['loss']!r:.40} on traced data", "use scipy.optimize.least_squares")
    values, places = vector(ydata), vector(xdata) if isinstance(xdata, (list, tuple)) else xdata
    n = _count(f) if p0 is None else vector(np.atleast_1d(vector(p0))).type.static_shape()[0]
    ends = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)
    free = concrete(ends) and all(np.all(np.isinf(np.asarray(each, float))) for each in ends)
    method = method or ("lm" if free else "trf")
    if p0 is None and not free:
        if not concrete(ends):
            R.refuse("curve_fit with traced bounds and no p0", "pass p0")
        p0 = _feasible(*(np.broadcast_to(np.asarray(each, float), (n,)) for each in ends))
    start = vector(np.ones(n) if p0 is None else np.atleast_1d(vector(p0)))
    scaled = _scaled(sigma, values.shape[0])

    def residual(p: Any) -> Any:
        return scaled(vector(R.call(f, places, *(p[k] for k in range(n)))) - values)

    rows = Closed("curve_fit", residual, floats(n))
    if method == "lm":
        if not free:
            raise ValueError("Method 'lm' only works for unconstrained problems. Use 'trf' or 'dogbox' instead.")
        popt, made, _ = _least(rows, start, told)
    else:
        told["max_nfev"] = told.get("max_nfev", told.pop("maxfev", None))
        popt, made, _ = _bounded(rows, start, sides_of(ends, n), {"method": method, **told})
    return popt, _covariance(rows, popt, made, absolute_sigma)


def _covariance(rows: Closed, x: Any, made: Any, absolute: bool) -> Any:
    """The inverse of J^T J, times the variance of the residuals unless they are in units of their errors."""
    free = made.shape[0] - x.shape[0]
    if not absolute and free <= 0:
        from scipy.optimize import OptimizeWarning

        warnings.warn("Covariance of the parameters could not be estimated", OptimizeWarning, stacklevel=3)
        return np.full((x.shape[0], x.shape[0]), np.inf)
    back = np.linalg.pinv(jacobian(lambda x: rows.traced([x], rows.outside)[0])(x))
    cov = back @ back.T
    return cov if absolute else cov * (np.sum(made**2) / free)


def leastsq(
    func: Any, x0: Any, args: Any = (), Dfun: Any = None, full_output: Any = False, col_deriv: Any = False,
    **options: Any,
) -> Any:  # fmt: skip
    default("leastsq", full_output=(full_output, False))
    told = {name: given("scipy.optimize.leastsq", name, x) for name, x in options.items()}
    args, start = tupled(args), vector(x0).ravel()
    leaf = floats(*start.type.static_shape())
    rows = Closed("leastsq", lambda x: np.atleast_1d(vector(R.call(func, x, *args))), leaf)
    x, _, ending = _least(rows, start, told)
    return x, ending


# ---- linear rows within bounds


def _linear(name: str, A: Any, b: Any) -> tuple[Closed, Any]:
    """The rows A x - b, and where to begin."""
    A, b = vector(A.toarray() if hasattr(A, "toarray") else A), vector(b)
    if A.ndim != 2 or b.shape != A.shape[:1]:
        raise ValueError(f"{name}: A has the shape {tuple(A.shape)} and b {tuple(b.shape)}, expected (m, n) and (m,)")
    n = int(A.shape[1])
    return Closed(name, lambda x: A @ x - b, floats(n)), vector(np.zeros(n))


def lsq_linear(
    A: Any, b: Any, bounds: Any = (-np.inf, np.inf), method: str = "trf", tol: Any = 1e-10, lsq_solver: Any = None,
    lsmr_tol: Any = None, max_iter: Any = None, verbose: int = 0, *, lsmr_maxiter: Any = None,
) -> Any:  # fmt: skip
    import scipy.optimize

    default("lsq_linear", lsq_solver=(lsq_solver, None), lsmr_tol=(lsmr_tol, None), verbose=(verbose, 0))
    options = {"method": method, "tol": tol, "max_iter": max_iter}
    told = {name: given("scipy.optimize.lsq_linear", name, x) for name, x in options.items()}
    rows, start = _linear("lsq_linear", A, b)
    sides = sides_of(bounds, start.shape[0])

    def solve(f: Any, x: Any, *sides: Any) -> Any:
        far = f[0](x)
        matrix = np.column_stack([f[0](e) - far for e in np.eye(x.size)])
        made: Any = scipy.optimize.lsq_linear(matrix, -far, bounds=sides, **told)
        return np.asarray(made.x, float), bool(made.success), int(made.nit), int(made.status)

    x, made, success, nit, status = smallest_rows(rows, [start, *sides], (bool, int, int), solve)
    return Solved(x=x, fun=made, cost=0.5 * np.sum(made**2), success=success, nit=nit, status=status)


def nnls(A: Any, b: Any, maxiter: Any = None, *, atol: Any = None) -> Any:
    import scipy.optimize

    limit = given("scipy.optimize.nnls", "maxiter", maxiter)
    rows, start = _linear("nnls", A, b)
    n = start.shape[0]

    def solve(f: Any, x: Any, *_: Any) -> Any:
        far = f[0](x)
        matrix = np.column_stack([f[0](e) - far for e in np.eye(n)])
        return (np.asarray(scipy.optimize.nnls(matrix, -far, maxiter=limit)[0], float),)

    sides = vector(np.zeros(n)), vector(np.full(n, np.inf))
    x, made = smallest_rows(rows, [start, *sides], (), solve)
    return x, np.sqrt(np.sum(made**2))


recode("scipy.optimize", {"curve_fit": curve_fit, "leastsq": leastsq, "lsq_linear": lsq_linear, "nnls": nnls})

__all__ = ["curve_fit", "leastsq", "lsq_linear", "nnls"]
