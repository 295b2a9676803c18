"""scipy.integrate's functions of sampled values on traced arguments: sums with weights, in NumPy's functions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...array import FUNCTIONS
from ...patched.recoded import recode
from ..reductions import traced
from .special.functions import as_float, given


def _last(y: Any, axis: Any) -> Any:
    """Samples along the last axis."""
    return np.moveaxis(as_float(traced(y)[1]), given("scipy.integrate", "axis", axis), -1)


def _steps(x: Any, dx: Any, axis: Any, y: Any) -> Any:
    """The distances of the samples."""
    if x is None:
        return dx
    x = as_float(traced(x)[1])
    return np.diff(x if x.ndim == 1 else _last(x, axis), axis=-1)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return FUNCTIONS[np.trapezoid](y, x, dx, axis)


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    if initial is not None and given("scipy.integrate.cumulative_trapezoid", "initial", initial) != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    rows = _last(y, axis)
    made = np.cumsum((rows[..., 1:] + rows[..., :-1]) * (_steps(x, dx, axis, rows) / 2.0), axis=-1)
    if initial is not None:
        made = np.concatenate([0.0 * made[..., :1], made], axis=-1)
    return np.moveaxis(made, -1, axis)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Parabolas through three samples at a time; of an even number, the last interval has the last three's."""
    rows = _last(y, axis)
    n = rows.shape[-1]
    h = _steps(x, dx, axis, rows)
    h = np.broadcast_to(h, (*np.shape(h)[:-1], n - 1)) if np.ndim(h) else np.full((n - 1,), 1.0) * h
    if n < 3:
        return np.sum(0.5 * h * (rows[..., 1:] + rows[..., :-1]), axis=-1)
    end = n if n % 2 else n - 1
    total = np.sum(_parabolas(rows[..., :end], h[..., : end - 1]), axis=-1)
    if n % 2:
        return total
    a, b = h[..., -2], h[..., -1]
    last = (2 * b**2 + 3 * a * b) / (6 * (a + b)) * rows[..., -1]
    return total + last + (b**2 + 3 * a * b) / (6 * a) * rows[..., -2] - b**3 / (6 * a * (a + b)) * rows[..., -3]


def _parabolas(rows: Any, h: Any) -> Any:
    """Integrals over pairs of intervals of any lengths."""
    a, b = h[..., ::2], h[..., 1::2]
    first, middle, last = rows[..., :-2:2], rows[..., 1:-1:2], rows[..., 2::2]
    return (a + b) / 6.0 * (first * (2.0 - b / a) + middle * ((a + b) ** 2 / (a * b)) + last * (2.0 - a / b))


def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Of each interval the parabola's part through its ends and the next sample; of the last one, the one before."""
    rows = _last(y, axis)
    n = rows.shape[-1]
    h = _steps(x, dx, axis, rows)
    h = np.broadcast_to(h, rows[..., 1:].shape)
    if n < 3:
        made = np.cumsum(0.5 * h * (rows[..., 1:] + rows[..., :-1]), axis=-1)
    else:
        first = _one_side(rows, h)
        last = _one_side(rows[..., ::-1], h[..., ::-1])[..., ::-1]
        parts = [last[..., (k - 1) : k] if k % 2 else first[..., k : k + 1] for k in range(n - 1)]
        parts[-1] = last[..., -1:]
        made = np.cumsum(np.concatenate(parts, axis=-1), axis=-1)
    if initial is not None:
        start = np.moveaxis(as_float(traced(initial)[1]), axis, -1) if np.ndim(initial) else initial
        made = np.concatenate([0.0 * made[..., :1], made], axis=-1) + start
    return np.moveaxis(made, -1, axis)


def _one_side(rows: Any, h: Any) -> Any:
    """The integrals over the first of two intervals, for each three samples."""
    a, b = h[..., :-1], h[..., 1:]
    first, middle, last = rows[..., :-2], rows[..., 1:-1], rows[..., 2:]
    ratio = a / (a + b)
    return a / 6.0 * (first * (3.0 - ratio) + middle * (3.0 + ratio * a / b + ratio) - last * (ratio * a / b))


def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Romberg's extrapolation of trapezoids over 2^k + 1 samples."""
    rows = _last(y, axis)
    n = rows.shape[-1] - 1
    k = n.bit_length() - 1
    if n < 1 or 1 << k != n:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    table = []
    for level in range(k + 1):
        step = n >> level
        inner = np.sum(rows[..., step:n:step], axis=-1) if level else 0.0
        table.append(dx * step * (0.5 * (rows[..., 0] + rows[..., -1]) + inner))
    for order in range(1, k + 1):
        table = [b + (b - a) / (4.0**order - 1.0) for a, b in itertools.pairwise(table)]
    return table[0]


recode("scipy.integrate", {
    "trapezoid": trapezoid, "cumulative_trapezoid": cumulative_trapezoid, "simpson": simpson,
    "cumulative_simpson": cumulative_simpson, "romb": romb,
})  # fmt: skip

__all__ = ["cumulative_trapezoid", "romb", "simpson", "trapezoid"]
