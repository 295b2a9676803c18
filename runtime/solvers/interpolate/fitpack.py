"""Splines of scipy.interpolate through traced values at known places: make_interp_spline, UnivariateSpline and splrep.

The coefficients are linear in the values, so SciPy's own spline through each unit value, once, is the matrix that gives
them: for any degree, knots and conditions at the ends. What smooths is not linear, and refused. A spline is evaluated
at traced places by de Boor's recursion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import here, value_of
from ....compiler.frontend.numpy.reductions import traced
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import concrete, recode
from ....compiler.ops.require import require
from ..closed import vector
from .lattices import at_b_spline, made_b_spline
from .splines import piecewise

PLACES = "take the coefficients as unknowns of scipy.interpolate.BSpline, or scipy.interpolate.CubicSpline"
SMOOTH = "pass s=0, or fit the coefficients of scipy.interpolate.BSpline by np.linalg.lstsq"


def _without_values(conditions: Any, n: int) -> Any:
    """Conditions at the ends of n splines, with zeros for the values of derivatives."""
    if conditions is None or isinstance(conditions, str):
        return conditions
    plain = lambda end: end is None or isinstance(end, str)  # noqa: E731
    return tuple(end if plain(end) else [(nu, np.zeros(n)) for nu, _ in end] for end in conditions)


def make_interp_spline(
    x: Any, y: Any, k: Any = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> Any:
    import scipy.interpolate

    name = "scipy.interpolate.make_interp_spline"
    k, bc_type = given(name, "k", k), given(name, "bc_type", bc_type)
    if not concrete([x, t]):
        if t is None and (k == 1 or k == 3):
            return piecewise(x, y, axis, k, bc_type)
        R.refuse(f"an interpolation of degree {k} at traced places", f"use degree 1 or 3 without t; or {PLACES}")
    values: Any = vector(y)
    rows = np.moveaxis(values, axis, 0)
    at, n = np.asarray(x, float), rows.shape[0]
    if at.ndim != 1 or at.size != n:
        raise ValueError(f"Shapes of x {at.shape} and y {tuple(rows.shape)} are incompatible")
    make = scipy.interpolate.make_interp_spline
    unit = make(at, np.eye(n), k, t, _without_values(bc_type, n))
    c = np.tensordot(unit.c, rows, 1)
    if not (bc_type is None or isinstance(bc_type, str)):
        c = c + make(at, np.zeros(tuple(rows.shape)), k, t, bc_type).c
    return _of_rows(unit.t, c, k, axis, rows.ndim, "periodic" if bc_type == "periodic" else True)


def _of_rows(t: Any, c: Any, k: int, axis: int, rank: int, extrapolate: Any = True) -> Any:
    import scipy.interpolate

    made = object.__new__(scipy.interpolate.BSpline)
    made_b_spline(made, t, c, k, extrapolate)
    made.axis = axis % rank
    return made


def make_lsq_spline(
    x: Any, y: Any, t: Any, k: Any = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *, method: str = "qr"
) -> Any:
    import scipy.interpolate

    if not concrete([x, t, w]):
        R.refuse("make_lsq_spline at traced places, knots or weights", f"{PLACES}, and fit by np.linalg.lstsq")
    values: Any = vector(y)
    rows = np.moveaxis(values, axis, 0)
    unit = scipy.interpolate.make_lsq_spline(x, np.eye(rows.shape[0]), t, k, w, method=method)
    return _of_rows(unit.t, np.tensordot(unit.c, rows, 1), unit.k, axis, rows.ndim)


def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    """The values at the places are (I + lam K)^-1 y, and the spline is the natural one through them."""
    import scipy.interpolate

    make = scipy.interpolate.make_smoothing_spline
    if not concrete([x, w]):
        R.refuse("make_smoothing_spline at traced places or with traced weights", PLACES)
    if lam is None:
        R.refuse("make_smoothing_spline without lam on traced values, whose choice follows them", "give lam")
    values: Any = vector(y)
    rows, at = np.moveaxis(values, axis, 0), np.asarray(x, float)
    one = np.eye(rows.shape[0])
    if concrete(lam):
        unit = make(at, one, w, lam)
        return _of_rows(unit.t, np.tensordot(unit.c, rows, 1), 3, axis, rows.ndim)
    unit, some = make(at, one, w, 0.0), np.mean(np.diff(at)) ** 3
    bend = (np.linalg.inv(make(at, one, w, some)(at)) - one) / some
    flat = np.linalg.solve(one + lam * bend, np.reshape(rows, (rows.shape[0], -1)))
    return _of_rows(unit.t, np.tensordot(unit.c, np.reshape(flat, rows.shape), 1), 3, axis, rows.ndim)


# ---- FITPACK's


def _through(x: Any, y: Any, w: Any, bbox: Any, k: int) -> tuple[Any, Any, int]:
    """Knots, coefficients and degree of FITPACK's interpolating spline."""
    import scipy.interpolate

    if not concrete([x, w, bbox]):
        R.refuse("a spline whose places, weights or ends are traced", PLACES)
    rows, make = vector(y), scipy.interpolate.InterpolatedUnivariateSpline
    made = [make(x, unit, w, bbox, k)._eval_args for unit in np.eye(rows.shape[0])]
    return made[0][0], np.stack([c[: rows.shape[0]] for _, c, _ in made], axis=1) @ rows, k


def univariate(
    self: Any, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None, ext: Any = 0,
    check_finite: bool = False,
) -> None:  # fmt: skip
    if not concrete(s) or s is None or s != 0:
        R.refuse("UnivariateSpline of traced values that smooths", SMOOTH)
    self.__dict__.update(_eval_args=_through(x, y, w, list(bbox), given("UnivariateSpline", "k", k)), ext=ext)


def interpolating(
    self: Any, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
    check_finite: bool = False,
) -> None:  # fmt: skip
    univariate(self, x, y, w, bbox, k, 0, ext)


def _at(x: Any, tck: Any, nu: Any, ext: Any) -> Any:
    """FITPACK's spline or its derivative at places, beyond the ends as `ext` says."""
    import scipy.interpolate

    t, c, k = tck
    n = np.shape(t)[0] - k - 1 if concrete(t) else vector(t).shape[0] - k - 1
    spline = object.__new__(scipy.interpolate.BSpline)
    made_b_spline(spline, t, vector(c)[:n], k)
    at, low, high = vector(x), vector(t)[k], vector(t)[n]
    ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
    beyond = np.logical_or(at < low, at > high)
    if ext == 2:
        now, holds = here(at), traced(np.logical_not(np.any(beyond)))[1]
        now.emit(require, value_of(now, holds), error="ValueError", text="Error code returned by splev: 1")
    made = at_b_spline(spline, np.clip(at, low, high) if ext == 3 else at, nu)
    return np.where(beyond, 0.0, made) if ext == 1 else made


def at_univariate(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    return _at(x, self._eval_args, nu, self.ext if ext is None else ext)


def splrep(x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0, s: Any = None,
           t: Any = None, full_output: int = 0, per: int = 0, quiet: int = 1) -> Any:  # fmt: skip
    if task != 0 or t is not None or full_output or per or (w is not None and s is None) or (s is not None and s != 0):
        R.refuse("splrep of traced values that smooths, is periodic or tells more", SMOOTH)
    knots, c, k = _through(x, y, w, [xb, xe], given("scipy.interpolate.splrep", "k", k))
    return knots, np.concatenate([c, np.zeros(k + 1)]), k


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    if not isinstance(tck, tuple):
        return tck(x, der)
    if concrete(tck[1]) and np.ndim(tck[1][0]):
        R.refuse("splev of a curve of several dimensions at traced places", "evaluate its coordinates one by one")
    return _at(x, tck, given("scipy.interpolate.splev", "der", der), ext)


recode("scipy.interpolate", {
    "make_interp_spline": make_interp_spline, "make_lsq_spline": make_lsq_spline,
    "make_smoothing_spline": make_smoothing_spline, "UnivariateSpline.__init__": univariate,
    "InterpolatedUnivariateSpline.__init__": interpolating, "UnivariateSpline.__call__": at_univariate,
    "splrep": splrep, "splev": splev,
})  # fmt: skip

__all__ = ["make_interp_spline", "make_lsq_spline", "make_smoothing_spline", "splev", "splrep"]
