"""Polynomials through points by scipy.interpolate, of traced values or at traced places: Krogh's, barycentric.

Lagrange's form, its products over all other points by running products from both ends: it divides by nothing that
vanishes at a point, so it has all its derivatives there, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import Array
from ....compiler.frontend.patched.recoded import concrete, making, recode
from ..closed import vector


def _floats(x: Any) -> Any:
    return vector(x) if not concrete(x) else np.asarray(x, float)


def through(xi: Any, rows: Any, x: Any) -> Any:
    """The values at x of the polynomials through (xi, rows), of which rows has one in each column."""
    n = xi.shape[0]
    wide = 4.0 / (np.max(xi) - np.min(xi))
    away = (x[:, None] - xi) * wide
    ones = np.ones((x.shape[0], 1))
    before = np.concatenate([ones, np.cumprod(away[:, :-1], axis=1)], axis=1)
    after = np.concatenate([ones, np.cumprod(away[:, :0:-1], axis=1)], axis=1)[:, ::-1]
    apart = (xi[:, None] - xi) * wide + np.eye(n)
    return (before * after / np.prod(apart, axis=1)) @ rows


def _hold(name: str) -> Any:
    def made(self: Any, xi: Any, yi: Any = None, axis: int = 0, **more: Any) -> None:
        if yi is None or any(each is not None for each in more.values()):
            R.refuse(f"{name} of traced values without yi, or with wi or rng", "give it xi, yi and axis alone")
        xi, yi = _floats(xi), np.moveaxis(_floats(yi), axis, 0)
        if not isinstance(xi, Array) and np.unique(xi).size < xi.size:
            R.refuse(f"{name} of traced values at points that are equal", "give each point once")
        if xi.ndim != 1 or yi.shape[0] != xi.shape[0]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        self.__dict__.update(_x=xi, _rows=yi, _axis=axis)

    return made


def at_points(self: Any, x: Any) -> Any:
    held = self.__dict__
    if "_rows" in held:
        xi, rows, axis = held["_x"], held["_rows"], held["_axis"]
    else:
        xi, axis = np.asarray(self.xi, float), self._y_axis
        rows = np.reshape(self.yi, (xi.size, *self._y_extra_shape))
        if np.unique(xi).size < xi.size:
            R.refuse("KroghInterpolator at traced places, with derivatives given", "use CubicHermiteSpline or BPoly")
    x, rest = _floats(x), rows.shape[1:]
    made = through(xi, np.reshape(rows, (rows.shape[0], -1)), np.reshape(x, (-1,)))
    made = np.reshape(made, (*x.shape, *rest))
    before = axis % (len(rest) + 1)
    places = range(x.ndim)
    return np.moveaxis(made, list(places), [before + k for k in places]) if x.ndim and before else made


def _at_once(xi: Any, yi: Any, x: Any, axis: int = 0, **more: Any) -> Any:
    keeper = _Keeper()
    _hold("barycentric_interpolate")(keeper, xi, yi, axis, **{k: v for k, v in more.items() if k not in ("der", "rng")})
    if more.get("der", 0) not in (0, [0]):
        R.refuse("a derivative of the polynomial through traced values", "differentiate it by pullback.grad")
    return at_points(keeper, x)


class _Keeper:
    """What the points are kept in for one call."""


@making
def _barycentric(original: Any, self: Any, xi: Any, yi: Any = None, axis: int = 0, **more: Any) -> None:
    """One of known values takes its points in an order that is drawn, in every call the same here."""
    if concrete([xi, yi, axis, *more.values()]):
        original(self, xi, yi, axis, **(more or {"rng": 0}))
    else:
        _hold("BarycentricInterpolator")(self, xi, yi, axis, **more)


recode("scipy.interpolate", {
    "BarycentricInterpolator.__init__": _barycentric, "barycentric_interpolate": _at_once,
    "BarycentricInterpolator.__call__": at_points, "KroghInterpolator.__init__": _hold("KroghInterpolator"),
    "krogh_interpolate": lambda xi, yi, x, der=0, axis=0: _at_once(xi, yi, x, axis, der=der),
})  # fmt: skip

__all__ = ["at_points", "through"]
