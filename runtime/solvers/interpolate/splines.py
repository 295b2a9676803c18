"""Interpolation by scipy.interpolate of traced values, or at traced places: cubic splines, Pchip, Akima and interp1d.

A spline that is made of traced values holds its coefficients as values of the graph; a tridiagonal system gives them,
in a loop. Any piecewise polynomial of SciPy's is then evaluated where a traced place falls, by Horner's scheme.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import Array, here, value_of
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.patches import NOT_MINE
from ....compiler.frontend.patched.recoded import concrete, recode
from ....compiler.ops.require import require
from ...control import scan
from ..closed import vector
from .through_points import at_points

ENDS = {"natural": (2, 0.0), "clamped": (1, 0.0)}
"""Conditions at an end: the order of a derivative, and its value."""


def _floats(x: Any) -> Any:
    return vector(x) if not concrete(x) else np.asarray(x, float)


def tridiagonal(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    """x with lower[i] x[i - 1] + diagonal[i] x[i] + upper[i] x[i + 1] = b[i], by elimination without pivots."""

    def down(before: Any, row: Any) -> Any:
        ratio, made = before
        low, middle, up, right = row
        pivot = middle - low * ratio
        after = up / pivot, (right - low * made) / pivot
        return after, after

    def back(x: Any, row: Any) -> Any:
        ratio, made = row
        found = made - ratio * x
        return found, found

    given = tuple(map(vector, (lower, diagonal, upper, b)))
    zero = 0.0 * given[-1][0]
    _, rows = scan(down, (0.0 * given[1][0], zero), given)
    return scan(back, zero, rows, reverse=True)[1]


# ---- slopes at the knots


def cubic_slopes(x: Any, y: Any, slope: Any, conditions: list[Any]) -> Any:
    """Those of the spline whose second derivative is continuous (C. de Boor, A Practical Guide to Splines, IV)."""
    d, n = np.diff(x), x.shape[0]
    if n == 2:
        conditions = [(1, slope[0]) if each in ("not-a-knot", "periodic") else each for each in conditions]
    w = d[:, None]
    middle = 3 * (w[1:] * slope[:-1] + w[:-1] * slope[1:])
    diagonal, upper, lower = 2 * (d[:-1] + d[1:]), d[:-1], d[1:]
    if conditions[0] == "periodic":
        return _periodic_slopes(d, slope)
    if n == 3 and conditions == ["not-a-knot"] * 2:
        s = (w[0] * slope[1] + w[1] * slope[0]) / (w[0] + w[1])
        return np.stack([2 * slope[0] - s, s, 2 * slope[1] - s])
    first = _end(conditions[0], d, slope, 1.0)
    last = _end(conditions[1], d[::-1], slope[::-1], -1.0)
    zero = np.zeros(1)
    return tridiagonal(
        np.concatenate([zero, lower, last[1][None]]), np.concatenate([first[0][None], diagonal, last[0][None]]),
        np.concatenate([first[1][None], upper, zero]), np.concatenate([first[2][None], middle, last[2][None]]),
    )  # fmt: skip


def _end(condition: Any, d: Any, slope: Any, sign: float) -> tuple[Any, Any, Any]:
    """The diagonal, its neighbour and the right-hand side of the row of an end, seen from there."""
    if condition == "not-a-knot":
        two = d[0] + d[1]
        return d[1], two, ((d[0] + 2 * two) * d[1] * slope[0] + d[0] ** 2 * slope[1]) / two
    order, value = condition
    value = np.broadcast_to(np.reshape(_floats(value), (-1,)), slope[0].shape)
    if given("scipy.interpolate.CubicSpline", "bc_type", order) == 1:
        return np.float64(1.0), np.float64(0.0), value
    return 2 * d[0], d[0], 3 * slope[0] * d[0] - sign * 0.5 * value * d[0] ** 2


def _periodic_slopes(d: Any, slope: Any) -> Any:
    """The last unknown apart, so that the rest is tridiagonal; the first slope is the last one's, too."""
    n, w = d.shape[0], d[:, None]
    if n == 2:
        s = np.sum(slope / w, axis=0) / np.sum(1.0 / w, axis=0)
        return np.stack([s, s, s])
    behind, before = np.roll(w, 1, axis=0), np.roll(slope, 1, axis=0)
    b = 3 * (w * before + behind * slope)
    lower, diagonal, upper = d, 2 * (d + np.roll(d, 1)), np.roll(d, 1)
    ends = np.concatenate([-lower[:1], np.zeros(n - 3), -upper[-2:-1]])[:, None] if n > 3 else None
    if ends is None:
        ends = np.stack([-lower[0], -upper[1]])[:, None]
    both = np.concatenate([b[:-1], np.broadcast_to(ends, (n - 1, 1))], axis=1)
    made = tridiagonal(lower[:-1], diagonal[:-1], upper[:-1], both)
    alone, along = made[:, :-1], made[:, -1:]
    rest = b[-1] - upper[-1] * alone[0] - lower[-1] * alone[-1]
    last = rest / (diagonal[-1] + upper[-1] * along[0] + lower[-1] * along[-1])
    inner = alone + last * along
    return np.concatenate([inner, last[None], inner[:1]])


def pchip_slopes(x: Any, y: Any, slope: Any) -> Any:
    """Harmonic means where neighbours have one sign, and else zero (Fritsch & Butland 1984)."""
    if x.shape[0] == 2:
        return np.concatenate([slope, slope])
    h = np.diff(x)[:, None]
    a, b = slope[:-1], slope[1:]
    flat = a * b <= 0
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    mean = w1 / np.where(flat, 1.0, a) + w2 / np.where(flat, 1.0, b)
    inner = np.where(flat, 0.0, (w1 + w2) / np.where(flat, 1.0, mean))
    ends = [_pchip_end(h[0], h[1], slope[0], slope[1]), _pchip_end(h[-1], h[-2], slope[-1], slope[-2])]
    return np.concatenate([ends[0][None], inner, ends[1][None]])


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = np.logical_and(np.sign(m0) != np.sign(m1), np.abs(d) > 3 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3 * m0, d))


def akima_slopes(x: Any, y: Any, slope: Any, method: str) -> Any:
    """Means of the slopes beside a knot, by how much those change (Akima 1970)."""
    if x.shape[0] == 2:
        return np.concatenate([slope, slope])
    left = 2 * slope[0] - slope[1], 2 * slope[-1] - slope[-2]
    beyond = 2 * left[0] - slope[0], 2 * left[1] - slope[-1]
    m = np.concatenate([np.stack([beyond[0], left[0]]), slope, np.stack([left[1], beyond[1]])])
    turns = np.abs(np.diff(m, axis=0))
    f1, f2 = turns[2:], turns[:-2]
    if method == "makima":
        sums = np.abs(m[1:] + m[:-1])
        f1, f2 = f1 + 0.5 * sums[2:], f2 + 0.5 * sums[:-2]
    both = f1 + f2
    known = both > 1e-9 * np.max(both)
    return np.where(known, m[1:-2] + f2 / np.where(known, both, 1.0) * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


# ---- piecewise polynomials


def _prepared(name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """The knots, the values as rows, the slopes between, and the shape of one value."""
    x, y = _floats(x), np.moveaxis(_floats(y), axis, 0)
    if x.ndim != 1 or x.shape[0] < 2 or y.shape[0] != x.shape[0]:
        raise ValueError(f"{name}: x has the shape {x.shape} for {y.shape[0]} values, and needs at least 2 elements")
    if concrete(x) and np.any(np.diff(x) <= 0):
        raise ValueError("`x` must be strictly increasing sequence.")
    rest = tuple(y.shape[1:])
    rows = np.reshape(y, (x.shape[0], -1))
    return x, rows, np.diff(rows, axis=0) / np.diff(x)[:, None], rest


def holding(spline: Any, x: Any, c: Any, rest: tuple[int, ...], axis: int, extrapolate: Any) -> None:
    """Let a PPoly of SciPy's have these coefficients."""
    spline._x, spline._c, spline._asarray = x, np.reshape(c, (*c.shape[:2], *rest)), lambda x: x
    spline.axis, spline.extrapolate = axis, extrapolate


def hermite(spline: Any, name: str, x: Any, y: Any, axis: int, extrapolate: Any, slopes: Any) -> None:
    """The cubic pieces that have the values y, and as slopes at the knots `slopes(x, y, slopes between)`."""
    x, rows, slope, rest = _prepared(name, x, y, axis)
    s, d = slopes(x, rows, slope), np.diff(x)[:, None]
    bend = (s[:-1] + s[1:] - 2 * slope) / d
    c = np.stack([bend / d, (slope - s[:-1]) / d - bend, s[:-1], rows[:-1]])
    holding(spline, x, c, rest, axis % (len(rest) + 1), True if extrapolate is None else extrapolate)


def cubic_spline(
    self: Any, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> None:
    both = [bc_type, bc_type] if isinstance(bc_type, str) else list(bc_type)
    both = [ENDS.get(each, each) if isinstance(each, str) else each for each in both]
    extrapolate = "periodic" if extrapolate is None and both[0] == "periodic" else extrapolate
    hermite(self, "CubicSpline", x, y, axis, extrapolate, lambda x, y, slope: cubic_slopes(x, y, slope, both))


def hermite_spline(self: Any, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
    rows = np.moveaxis(_floats(dydx), axis, 0)
    known = np.reshape(rows, (rows.shape[0], -1))
    hermite(self, "CubicHermiteSpline", x, y, axis, extrapolate, lambda *_: known)


def pchip(self: Any, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
    hermite(self, "PchipInterpolator", x, y, axis, extrapolate, pchip_slopes)


def akima(self: Any, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
    slopes = lambda x, y, slope: akima_slopes(x, y, slope, method)  # noqa: E731
    hermite(self, "Akima1DInterpolator", x, y, axis, bool(extrapolate), slopes)


def evaluated(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A piecewise polynomial, or its derivative of order nu, at any places."""
    nu = given("scipy.interpolate", "nu", nu)
    if nu < 0:
        R.refuse("an antiderivative of a spline on traced values", "integrate with scipy.integrate.quad")
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    knots, c, at = vector(self._x), vector(self._c), vector(x)
    shape, rest = tuple(at.shape), tuple(c.shape[2:])
    flat = np.reshape(at, (-1,))
    inside = np.logical_and(flat >= knots[0], flat <= knots[-1])
    if extrapolate == "periodic":
        flat = knots[0] + (flat - knots[0]) % (knots[-1] - knots[0])
    piece = np.clip(np.searchsorted(knots, flat, side="right") - 1, 0, knots.shape[0] - 2)
    own: Any = np.reshape(c, (*c.shape[:2], -1))
    left, order = (flat - knots[piece])[:, None], own.shape[0] - 1
    made = np.zeros((1, 1))
    for k in range(order + 1 - nu):
        factor = float(np.prod(np.arange(order - k - nu + 1, order - k + 1)))
        made = made * left + factor * own[k][piece]
    if extrapolate is False:
        made = np.where(inside[:, None], made, np.nan)
    made = np.reshape(np.broadcast_to(made, (flat.shape[0], own.shape[2])), (*shape, *rest))
    axes, n = list(range(len(shape) + len(rest))), len(shape)
    return np.transpose(made, axes[n : n + self.axis] + axes[:n] + axes[n + self.axis :]) if self.axis else made


def piecewise(x: Any, y: Any, axis: int, k: Any, bc_type: Any) -> Any:
    """The interpolating spline of degree 1 or 3 as a PPoly."""
    import scipy.interpolate

    made = object.__new__(scipy.interpolate.PPoly)
    if k == 3 and np.shape(_floats(x))[0] > 3:
        cubic_spline(made, x, y, axis, bc_type or "not-a-knot")
    elif k == 1:
        x, rows, slope, rest = _prepared("an interpolation", x, y, axis)
        holding(made, x, np.stack([slope, rows[:-1]]), rest, axis % (len(rest) + 1), True)
    else:
        R.refuse(f"an interpolation of degree {k} on traced values", "use degree 1, or degree 3 of at least 4 values")
    return made


# ---- interp1d

KINDS = {"linear": 1, "slinear": 1, 1: 1, "cubic": 3, 3: 3}


def interp1d(
    self: Any, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: Any = True, bounds_error: Any = None,
    fill_value: Any = np.nan, assume_sorted: bool = False,
) -> None:  # fmt: skip
    if kind not in KINDS:
        R.refuse(f"interp1d of kind {kind!r} on traced values", "use linear or cubic; or np.searchsorted and an index")
    if not assume_sorted and not concrete(x):
        R.refuse("interp1d of traced places that are to be sorted", "sort them, and say assume_sorted=True")
    order = slice(None) if assume_sorted else np.argsort(np.asarray(x), kind="mergesort")
    places, values = _floats(x)[order], np.moveaxis(_floats(y), axis, 0)[order]
    self.__dict__.update(x=places, y=np.moveaxis(values, 0, axis), axis=axis, _kind=kind, _fill=fill_value)
    self.__dict__["_bounds"] = bounds_error


def at_places(self: Any, x: Any) -> Any:
    import scipy.interpolate

    if not isinstance(self, scipy.interpolate.interp1d):  # whose method is that of Krogh's, too
        return at_points(self, x) if isinstance(self, scipy.interpolate.KroghInterpolator) else NOT_MINE
    held = self.__dict__
    fill, bounds = (held[name] if name in held else getattr(self, other) for name, other in NAMES)
    kind = held["_kind"]
    if kind not in KINDS:
        R.refuse(f"interp1d of kind {kind!r} at traced places", "use linear or cubic")
    beyond = isinstance(fill, str)
    spline = piecewise(held["x"], held["y"], held["axis"], KINDS[kind], None)
    at = _floats(x)
    made = evaluated(spline, at)
    if beyond:
        return made
    low, high = at < spline._x[0], at > spline._x[-1]
    if bounds or (bounds is None and np.ndim(fill) == 0 and np.isnan(fill)):
        now = here()
        holds = np.logical_not(np.any(np.logical_or(low, high)))
        text = "A value in x_new is outside the interpolation range."
        if isinstance(holds, Array):
            now.emit(require, value_of(now, holds), error="ValueError", text=text)
        elif not holds:
            R.unfit(text, f"use places from {spline._x[0]:g} to {spline._x[-1]:g}, or give fill_value='extrapolate'")
        return made
    if made.ndim != at.ndim:
        R.refuse("interp1d of several rows with a fill_value on traced values", "np.clip the places")
    below, above = fill if isinstance(fill, tuple) else (fill, fill)
    return np.where(low, below, np.where(high, above, made))


NAMES = (("_fill", "fill_value"), ("_bounds", "bounds_error"))
"""Where a fill value and whether there are errors are held: by ours, and by SciPy's."""

recode("scipy.interpolate", {
    "CubicSpline.__init__": cubic_spline, "CubicHermiteSpline.__init__": hermite_spline,
    "PchipInterpolator.__init__": pchip, "Akima1DInterpolator.__init__": akima, "PPoly.__call__": evaluated,
    "interp1d.__init__": interp1d,
    "interp1d.__call__": at_places,
})  # fmt: skip

__all__ = ["evaluated", "holding", "piecewise", "tridiagonal"]
