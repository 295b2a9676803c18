"""Splines and grids of scipy.interpolate with traced coefficients or values, or at traced places.

A B-spline is de Boor's recursion at each place; slopes and integrals of piecewise polynomials are others; a regular
grid is read between its points, linearly along every axis or at the nearest point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import Array, here, value_of
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import concrete, recode
from ....compiler.ops.require import require
from ..closed import vector
from .splines import evaluated, holding

# ---- B-splines


def made_b_spline(self: Any, t: Any, c: Any, k: Any, extrapolate: Any = True, axis: int = 0) -> None:
    k = given("scipy.interpolate.BSpline", "k", k)
    t, c = vector(t), vector(c)
    if t.ndim != 1 or t.shape[0] < 2 * k + 2:
        raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}")
    c = np.moveaxis(c, axis, 0)
    if c.shape[0] < t.shape[0] - k - 1:
        raise ValueError(f"Knots, coefficients and degree are inconsistent: {t.shape[0]}, {c.shape[0]}, {k}")
    self.__dict__.update(_t=t, _c=c, _asarray=lambda x: x, k=k, axis=axis % c.ndim, extrapolate=extrapolate)


def at_b_spline(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """The value, or a derivative, by C. de Boor's recursion ("A Practical Guide to Splines", chapter X)."""
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    t, c, k, at = vector(self._t), vector(self._c), self.k, vector(x)
    n = t.shape[0] - k - 1
    rest, shape = tuple(c.shape[1:]), tuple(at.shape)
    rows = np.reshape(c[:n], (n, -1))
    for _ in range(given("scipy.interpolate.BSpline", "nu", nu)):
        rows, t, k, n = _slopes(rows, t, k)
    flat = np.reshape(at, (-1,))
    inside = np.logical_and(flat >= t[k], flat <= t[n])
    if extrapolate == "periodic":
        flat = t[k] + (flat - t[k]) % (t[n] - t[k])
    piece = np.clip(np.searchsorted(t, flat, side="right") - 1, k, n - 1)
    made = [rows[piece - k + j] for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, high = t[j + piece - k], t[j + 1 + piece - r]
            far = ((flat - low) / (high - low))[:, None]
            made[j] = (1.0 - far) * made[j - 1] + far * made[j]
    found = made[k]
    if extrapolate is False:
        found = np.where(inside[:, None], found, np.nan)
    found = np.reshape(found, (*shape, *rest))
    axes, lead = list(range(len(shape) + len(rest))), len(shape)
    order = axes[lead : lead + self.axis] + axes[:lead] + axes[lead + self.axis :]
    return np.transpose(found, order) if self.axis else found


def _slopes(rows: Any, t: Any, k: int) -> tuple[Any, Any, int, int]:
    """The coefficients of the derivative, its knots and its degree."""
    if k == 0:
        return 0.0 * rows, t, 0, rows.shape[0]
    n = rows.shape[0]
    gap = t[k + 1 : n + k] - t[1:n]
    safe = np.where(gap > 0, gap, 1.0)
    made = np.where((gap > 0)[:, None], k * (rows[1:] - rows[:-1]) / safe[:, None], 0.0)
    return made, t[1:-1], k - 1, n - 1


def _b_spline_of(self: Any, t: Any, c: Any, k: int, extrapolate: Any) -> Any:
    import scipy.interpolate

    made = object.__new__(scipy.interpolate.BSpline)
    made_b_spline(made, t, c, k, extrapolate)
    made.__dict__["axis"] = self.axis
    return made


def slope_of_b_spline(self: Any, nu: int = 1) -> Any:
    nu = given("scipy.interpolate.BSpline.derivative", "nu", nu)
    if nu < 0:
        return antiderivative_of_b_spline(self, -nu)
    t, c, k = vector(self._t), vector(self._c), self.k
    if nu > k:
        raise ValueError(f"Order of derivative (n = {nu}) must be <= order of spline (k = {k})")
    n, rest = t.shape[0] - k - 1, tuple(c.shape[1:])
    rows = np.reshape(c[:n], (n, -1))
    for _ in range(nu):
        rows, t, k, n = _slopes(rows, t, k)
    return _b_spline_of(self, t, np.reshape(rows, (n, *rest)), k, self.extrapolate)


def antiderivative_of_b_spline(self: Any, nu: int = 1) -> Any:
    nu = given("scipy.interpolate.BSpline.antiderivative", "nu", nu)
    if nu < 0:
        return slope_of_b_spline(self, -nu)
    t, c, k = vector(self._t), vector(self._c), self.k
    c = c[: t.shape[0] - k - 1]
    for _ in range(nu):
        width = np.reshape(t[k + 1 :] - t[: -k - 1], (-1, *[1] * (c.ndim - 1)))
        c = np.cumsum(c * width, axis=0) / (k + 1)
        c, t, k = np.concatenate([0.0 * c[:1], c]), np.concatenate([t[:1], t, t[-1:]]), k + 1
    extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
    return _b_spline_of(self, t, c, k, extrapolate)


def integral_of_b_spline(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    if extrapolate == "periodic":
        R.refuse("the integral of a periodic spline on traced values", "subtract two values of antiderivative()")
    whole, t, n = antiderivative_of_b_spline(self), vector(self._t), vector(self._t).shape[0] - self.k - 1
    ends = [vector(x) if extrapolate else np.clip(vector(x), t[self.k], t[n]) for x in (a, b)]
    c = whole._c
    made = _b_spline_of(self, whole._t, c, whole.k, True)
    made.__dict__["axis"] = 0
    low, high = (at_b_spline(made, x) for x in ends)
    return high - low


# ---- slopes and integrals of piecewise polynomials


def _another(self: Any, c: Any) -> Any:
    import scipy.interpolate

    made = object.__new__(scipy.interpolate.PPoly)
    holding(made, vector(self._x), c, tuple(c.shape[2:]), self.axis, self.extrapolate)
    return made


def derivative(self: Any, nu: int = 1) -> Any:
    nu = given("scipy.interpolate.PPoly.derivative", "nu", nu)
    if nu < 0:
        return antiderivative(self, -nu)
    c = vector(self._c)
    for _ in range(nu):
        powers = np.arange(c.shape[0] - 1.0, 0.0, -1.0).reshape(-1, *[1] * (c.ndim - 1))
        c = c[:-1] * powers if c.shape[0] > 1 else 0.0 * c
    return _another(self, c)


def antiderivative(self: Any, nu: int = 1) -> Any:
    nu = given("scipy.interpolate.PPoly.antiderivative", "nu", nu)
    if nu <= 0:
        return derivative(self, -nu)
    c, widths = vector(self._c), np.diff(vector(self._x))
    for _ in range(nu):
        powers = np.arange(c.shape[0] * 1.0, 0.0, -1.0).reshape(-1, *[1] * (c.ndim - 1))
        c = c / powers
        width = np.reshape(widths, (-1, *[1] * (c.ndim - 2)))
        piece: Any = 0.0
        for row in range(c.shape[0]):
            piece = (piece + c[row]) * width
        before = np.cumsum(piece, axis=0) - piece
        c = np.concatenate([c, before[None]])
    return _another(self, c)


def integral(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    if extrapolate == "periodic":
        R.refuse("the integral of a periodic spline on traced values", "subtract two values of antiderivative()")
    whole = antiderivative(self)
    ends = np.stack([vector(a), vector(b)])
    low, high = (evaluated(whole, ends[k], 0, extrapolate) for k in range(2))
    return high - low


# ---- grids


def made_grid(
    self: Any, points: Any, values: Any, method: str = "linear", bounds_error: Any = True, fill_value: Any = np.nan,
    **more: Any,
) -> None:  # fmt: skip
    if method not in ("linear", "nearest") or any(each is not None for each in more.values()):
        R.refuse(f"a grid of method {method!r} with traced values", "use method='linear', or scipy.ndimage")
    if not concrete(points):
        R.refuse("a grid whose points are traced", "take the index with np.searchsorted, and weigh the neighbours")
    grid, v = tuple([np.asarray(p, float) for p in points]), vector(values)
    for k, p in enumerate(grid):
        if v.ndim < len(grid) or v.shape[k] != p.size:
            raise ValueError(f"There are {p.size} points and {v.shape[k]} values on dimension {k}")
        if not np.all(np.diff(p) > 0):
            R.refuse(f"a grid whose points do not rise along dimension {k}", "turn it and the values around")
    self.__dict__.update(_grid=grid, _values=v, method=method, bounds_error=bounds_error, fill_value=fill_value)
    self.__dict__.update(_asarray=lambda x: x, _spline=None, _descending_dimensions=())


def at_grid(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    method = self.method if method is None else method
    if method not in ("linear", "nearest") or nu is not None:
        R.refuse(f"a grid of method {method!r} at traced places", "use method='linear'")
    v, at = vector(self._values), _places(self, xi)
    shape, rest = tuple(at.shape[:-1]), tuple(v.shape[len(self._grid) :])
    rows = np.reshape(at, (-1, len(self._grid)))
    outside: Any = False
    indices, weights = [], []
    for k, p in enumerate(self._grid):
        x = rows[:, k]
        outside = np.logical_or(outside, np.logical_or(x < p[0], x > p[-1]))
        cell = np.clip(np.searchsorted(p, x, side="right") - 1, 0, max(p.size - 2, 0))
        above = np.minimum(cell + 1, p.size - 1)
        knots = vector(p)
        far = (x - knots[cell]) / np.where(above > cell, knots[above] - knots[cell], 1.0)
        if method == "nearest":
            indices.append([np.where(far <= 0.5, cell, above)])
            weights.append([1.0])
        else:
            indices.append([cell, above])
            weights.append([1.0 - far, far])
    made: Any = 0.0
    for corner in np.ndindex(tuple(map(len, indices))):
        weight: Any = 1.0
        for each, k in zip(weights, corner, strict=True):
            weight = weight * each[k]
        part = v[tuple([each[k] for each, k in zip(indices, corner, strict=True)])]
        made = made + np.reshape(weight * np.ones(rows.shape[0]), (-1, *[1] * len(rest))) * part
    made = _beyond(self, made, outside)
    return np.reshape(made, (*shape, *rest))


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    import scipy.interpolate

    made = object.__new__(scipy.interpolate.RegularGridInterpolator)
    made_grid(made, points, values, method, bounds_error, fill_value)
    return at_grid(made, xi)


def _places(self: Any, xi: Any) -> Any:
    """Places along the last axis; a tuple gives their coordinates."""
    if isinstance(xi, tuple):
        return np.stack(np.broadcast_arrays(*[vector(x) for x in xi]), axis=-1)
    at = vector(xi)
    if at.ndim == 1:
        at = np.reshape(at, (-1, len(self._grid))) if len(self._grid) == 1 else at[None]
    if at.shape[-1] != len(self._grid):
        raise ValueError(f"The requested sample points xi have dimension {at.shape[-1]} but this has {len(self._grid)}")
    return at


def _beyond(self: Any, made: Any, outside: Any) -> Any:
    """What there is outside of the grid: an error, a number, or the outermost cell's line."""
    if self.bounds_error:
        inside = np.logical_not(np.any(outside))
        if isinstance(inside, Array):
            text = "One of the requested xi is out of bounds"
            here().emit(require, value_of(here(), inside), error="ValueError", text=text)
        return made
    if self.fill_value is None:
        return made
    return np.where(np.reshape(outside, (-1, *[1] * (made.ndim - 1))), self.fill_value, made)


recode("scipy.interpolate", {
    "BSpline.__init__": made_b_spline, "BSpline.__call__": at_b_spline,
    "BSpline.derivative": slope_of_b_spline, "BSpline.antiderivative": antiderivative_of_b_spline,
    "BSpline.integrate": integral_of_b_spline, "PPoly.derivative": derivative,
    "PPoly.antiderivative": antiderivative, "PPoly.integrate": integral, "RegularGridInterpolator.__init__": made_grid,
    "RegularGridInterpolator.__call__": at_grid, "interpn": interpn,
})  # fmt: skip
