"""NumPy's differences, integrals and interpolation along an axis, on traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array, implements
from ..promotion import as_operand, result_dtype, shape_of
from .ordering import along, back, found, lanes, order_of
from .reductions import axes_of, cumsum, diff, normal_axis, sum_, traced
from .shaping import concatenate
from .ufuncs import elementwise, where

NO_DIFFERENCE = (
    "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the "
    "logical_xor function instead."
)


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    _now, x = traced(ary)
    if x.dtype == np.bool_:
        raise TypeError(NO_DIFFERENCE)
    made = diff(x.reshape(-1))
    parts = [] if to_begin is None else [traced(to_begin)[1].reshape(-1)]
    parts += [made] if to_end is None else [made, traced(to_end)[1].reshape(-1)]
    for part, name in zip((to_begin, to_end), ("to_begin", "to_end"), strict=True):
        if part is not None and not np.can_cast(traced(part)[1].dtype, x.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return concatenate([p.astype(x.dtype) for p in parts]) if len(parts) > 1 else made


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    _now, values = traced(y)
    place = normal_axis(axis, values.ndim)
    front = [slice(None)] * place
    wide: Any = dx
    if x is not None:
        _now, points = traced(x)
        wide = diff(points, axis=0 if points.ndim == 1 else place)
        if points.ndim == 1:
            wide = wide.reshape([-1 if k == place else 1 for k in range(values.ndim)])
    pairs = values[(*front, slice(1, None))] + values[(*front, slice(None, -1))]
    return sum_(wide * pairs / 2.0, place)


# ---- numerical gradients


def _spacings(given: tuple[Any, ...], x: Array, axes: tuple[int, ...]) -> list[Any]:
    """For each axis the distance between points, or the distances."""
    if len(given) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    if len(given) == 1 and len(shape_of(as_operand(given[0]))) == 0:
        given *= len(axes)
    if given and len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    found: list[Any] = []
    for h, axis in zip(given or (1.0,) * len(axes), axes, strict=True):
        h = as_operand(h)
        shape = shape_of(h)
        if len(shape) > 1:
            raise ValueError("distances must be either scalars or 1d")
        if shape and shape[0] != x.shape[axis]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        steps = np.diff(h.astype(np.float64) if shape and h.dtype.kind in "biu" else h) if shape else h
        even = shape and not isinstance(steps, Array) and (steps == steps[0]).all()
        found.append(steps[0] if even else steps)
    return found


def _slopes(x: Array, h: Any, edge_order: int) -> Array:
    """Differences along the last axis: central inside, at the ends one-sided."""
    even = not shape_of(as_operand(h))
    before, here, behind = x[..., :-2], x[..., 1:-1], x[..., 2:]
    if even:
        inside = (behind - before) / (2.0 * h)
    else:
        low, high = h[:-1], h[1:]
        inside = before * (-high / (low * (low + high))) + here * ((high - low) / (low * high))
        inside = inside + behind * (low / (high * (low + high)))
    first, last = (h, h) if even else (h[0], h[-1])
    if edge_order == 1:
        ends = (x[..., 1:2] - x[..., :1]) / first, (x[..., -1:] - x[..., -2:-1]) / last
    else:
        inner = (h, h) if even else (h[1], h[-2])
        ends = _end(x[..., :3], first, inner[0]), -_end(x[..., :-4:-1], last, inner[1])
    return concatenate([ends[0], inside, ends[1]], -1)


def _end(x: Array, near: Any, far: Any) -> Array:
    """The slope at the first of three points of which the distances are known."""
    both = near + far
    return (
        x[..., :1] * (-(both + near) / (near * both)) + x[..., 1:2] * (both / (near * far))
        - x[..., 2:3] * (near / (far * both))
    )  # fmt: skip


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    _now, x = traced(f)
    if x.dtype == np.bool_:
        raise TypeError(NO_DIFFERENCE)
    axes = axes_of(None, x.ndim) if axis is None else tuple(
        normal_axis(k, x.ndim) for k in (axis if isinstance(axis, tuple) else (axis,))
    )  # fmt: skip
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    made = []
    for place, h in zip(axes, _spacings(varargs, x, axes), strict=True):
        if x.shape[place] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, "
                "at least (edge_order + 1) elements are required."
            )
        made.append(back(_slopes(lanes(x, place)[1], h, edge_order), place).astype(x.dtype))
    return made[0] if len(made) == 1 else tuple(made)


# ---- interpolation


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    at, points, values = (traced(v)[1].astype(np.float64) for v in (x, xp, fp))
    if points.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if points.shape != values.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not points.shape[0]:
        raise ValueError("array of sample points is empty")
    if period is not None:
        if not isinstance(period, Array) and period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = np.abs(period), None, None
        at, points = at % period, points % period
        order = order_of(points)
        points, values = along(points, order), along(values, order)
        points = concatenate([points[-1:] - period, points, points[:1] + period])
        values = concatenate([values[-1:], values, values[:1]])
    n = points.shape[0]
    flat = at.reshape(-1)
    if n > 1:
        low = elementwise(np.minimum, elementwise(np.maximum, found(points, flat, True) - 1, 0), n - 2)
        x0, x1, y0, y1 = (along(v, k) for v in (points, values) for k in (low, low + 1))
        made = (y1 - y0) / (x1 - x0) * (flat - x0) + y0
    else:
        made = values + flat * 0.0
    made = where(flat < points[0], values[0] if left is None else left, made)
    made = where(flat > points[-1], values[-1] if right is None else right, made)
    return made.astype(np.float64).reshape(at.shape)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Array:
    """Jumps beyond half a period are brought back by whole periods, summed up along the axis."""
    _now, x = traced(p)
    place = normal_axis(axis, x.ndim)
    front = [slice(None)] * place
    steps = diff(x, axis=place)
    kind = result_dtype(steps, period)
    whole = kind.kind in "iu"
    high, ambiguous = (period // 2, period % 2 == 0) if whole else (period / 2, True)
    jump = period / 2 if discont is None else discont
    folded = (steps + high) % period - high
    if ambiguous:
        folded = where((folded == -high) & (steps > 0), high, folded)
    fix = where(np.abs(steps) < jump, 0, folded - steps)
    later = x[(*front, slice(1, None))] + cumsum(fix, place)
    return concatenate([x[(*front, slice(None, 1))].astype(kind), later.astype(kind)], place)


__all__ = ["gradient", "interp", "trapezoid", "unwrap"]
