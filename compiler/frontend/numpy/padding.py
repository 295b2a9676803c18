"""np.pad on traced arrays, in all its modes, axis after axis as NumPy does it.

    np.pad(x, (2, 3), mode="reflect")    takes elements that are there: it is x at places that are known
    np.pad(x, (2, 3), mode="mean")       joins numbers that are made of x to it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops import shape as prims
from ..array import FUNCTIONS, Array, call, here, implements, name_of, unknown
from ..errors import TraceValueError, message
from ..promotion import as_operand, broadcast, conform
from ..tracing import user_line
from .averages import mean
from .reductions import amax, amin
from .shaping import _source, concatenate
from .ufuncs import elementwise

OPTIONS = {
    "constant": ("constant_values",), "edge": (), "linear_ramp": ("end_values",), "wrap": (), "empty": (),
    "maximum": ("stat_length",), "mean": ("stat_length",), "median": ("stat_length",), "minimum": ("stat_length",),
    "reflect": ("reflect_type",), "symmetric": ("reflect_type",),
}  # fmt: skip


FOLDS: dict[str, Callable[..., Array]] = {
    "maximum": lambda x, k: amax(x, k, True), "minimum": lambda x, k: amin(x, k, True),
    "mean": lambda x, k: mean(x, k, None, True),
    "median": lambda x, k: call(np.median, _known(np.median), (x,), {"axis": k, "keepdims": True}),
}  # fmt: skip


def _known(function: Any) -> Callable[..., Array]:
    if function not in FUNCTIONS:
        raise unknown(name_of(function))
    return FUNCTIONS[function]


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    now, x = _source(array)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        fix = "use a mode by name, or np.concatenate"
        raise TraceValueError(message("np.pad with a function as its mode writes into its argument", user_line(), fix))
    if mode not in OPTIONS:
        raise TraceValueError(message(f"mode {mode!r} is not supported", user_line(), f"use {', '.join(OPTIONS)}"))
    wrong = set(kwargs) - set(OPTIONS[mode])
    if wrong:
        raise TraceValueError(message(f"unsupported keyword arguments for mode {mode!r}: {wrong}", user_line()))
    if mode in ("constant", "empty"):
        return _constant(x, widths, kwargs.get("constant_values", 0))
    if not any(n for pair in widths for n in pair):
        return x.copy()
    if mode in ("linear_ramp", *FOLDS):
        return _joined(x, widths, mode, kwargs)
    odd = kwargs.get("reflect_type", "even") == "odd"
    for k, (before, after) in enumerate(widths):
        n = x.shape[k]
        if not n and (before or after):
            text = f"can't extend empty axis {k} using modes other than 'constant' or 'empty'"
            raise TraceValueError(message(text, user_line()))
        x = _odd(x, k, before, after, mode) if odd else _taken(x, k, _places(mode, n.__index__(), before, after))
    return Array(now, x.value)


def _widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * rank
        for axis, width in pad_width.items():
            pairs[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = pairs
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    widths = [(int(low), int(high)) for low, high in np.broadcast_to(given, (rank, 2))]
    if any(n < 0 for pair in widths for n in pair):
        raise TraceValueError(message("index can't contain negative values", user_line()))
    return widths


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """Two values for each axis, of which each may be traced."""
    x = as_operand(given)
    if not isinstance(x, Array):
        return [(low, high) for low, high in np.broadcast_to(np.asarray(x), (rank, 2))]
    now = here(x)
    wide = Array(now, broadcast(now, x.value, (rank, 2)))
    return [(wide[k, 0], wide[k, 1]) for k in range(rank)]


def _constant(x: Array, widths: list[tuple[int, int]], values: Any) -> Array:
    now = here(x)
    pairs = _pairs(values, x.ndim)
    if not any(isinstance(v, Array) or v != 0 or np.signbit(v) for pair in pairs for v in pair):
        start = tuple(low for low, _ in widths)
        to = tuple(n + low + high for n, (low, high) in zip(x.shape, widths, strict=True))
        return Array(now, now.emit(prims.pad, x.value, start=start, step=(1,) * x.ndim, shape=to))
    for k, ((before, after), (low, high)) in enumerate(zip(widths, pairs, strict=True)):
        x = concatenate([_filled(x, k, before, low), x, _filled(x, k, after, high)], k)
    return x


def _filled(x: Array, axis: int, n: int, value: Any) -> Array:
    """n elements along an axis: one value, or what is of size one there."""
    now = here(x)
    to = (*x.shape[:axis], n, *x.shape[axis + 1 :])
    if not isinstance(value, Array):
        value = np.asarray(value).astype(x.dtype).item()
    elif value.dtype != x.dtype:
        value = value.astype(x.dtype)
    return Array(now, conform(now, value, x.dtype, to))


# ---- elements that are there


def _places(mode: str, n: int, before: int, after: int) -> np.ndarray:
    """Which elements of an axis stand where."""
    at = np.arange(-before, n + after)
    if mode == "edge" or n == 1:
        return np.clip(at, 0, n - 1)
    if mode == "wrap":
        return at % n
    if mode == "symmetric":
        return np.minimum(at % (2 * n), 2 * n - 1 - at % (2 * n))
    return np.abs((at + n - 1) % (2 * n - 2) - n + 1)


def _taken(x: Array, axis: int, places: np.ndarray) -> Array:
    """x at places along an axis, as slices where these run on."""
    if len(places) == x.shape[axis]:
        return x
    steps = np.diff(places)
    cuts = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist()]
    front, parts, begin = [slice(None)] * axis, [], 0
    for cut in [*cuts[1:], len(places) - 1]:
        if cut < begin:
            continue
        step = int(places[cut] - places[begin]) // max(cut - begin, 1)
        part = places[begin : cut + 1]
        if step == 0 and len(part) > 1:
            one = x[(*front, slice(int(part[0]), int(part[0]) + 1))]
            parts.append(_filled(x, axis, len(part), one))
        else:
            step, last = step or 1, int(part[-1])
            stop = last + (1 if step > 0 else -1)
            parts.append(x[(*front, slice(int(part[0]), None if stop < 0 else stop, step))])
        begin = cut + 1
    return concatenate(parts, axis)


def _odd(x: Array, axis: int, before: int, after: int, mode: str) -> Array:
    """Reflected at the edge's element, round after round: twice the edge less what is mirrored."""
    front = [slice(None)] * axis
    skip = mode == "reflect"
    if x.shape[axis] == 1:
        return _taken(x, axis, _places("edge", 1, before, after))
    low, high = before, after
    while low or high:
        n = x.shape[axis]
        most = n - skip
        left, right = min(low, most), min(high, most)
        parts: list[Array] = []
        for count, edge, mirrored in (
            (left, slice(0, 1), np.arange(left - 1 + skip, skip - 1, -1)),
            (right, slice(n - 1, n), np.arange(n - 1 - skip, n - 1 - skip - right, -1)),
        ):
            one = elementwise(np.multiply, x[(*front, edge)], 2)
            there = x[(*front, slice(0, 0))] if not count else _taken_of(x, axis, mirrored)
            parts.append(elementwise(np.subtract, one, there) if count else there)
        x = concatenate([parts[0], x, parts[1]], axis)
        low, high = low - left, high - right
    return x


def _taken_of(x: Array, axis: int, places: np.ndarray) -> Array:
    """x backwards, from the first place to the last."""
    first, last = int(places[0]), int(places[-1])
    return x[(*[slice(None)] * axis, slice(first, None if last == 0 else last - 1, -1))]


# ---- numbers made of what is there


def _joined(x: Array, widths: list[tuple[int, int]], mode: str, options: dict[str, Any]) -> Array:
    ends = _pairs(options.get("end_values", 0), x.ndim) if mode == "linear_ramp" else [(0, 0)] * x.ndim
    lengths = _lengths(options.get("stat_length"), x.ndim)
    for k, (before, after) in enumerate(widths):
        front, n = [slice(None)] * k, x.shape[k]
        if not n:
            text = f"can't extend empty axis {k} using modes other than 'constant' or 'empty'"
            raise TraceValueError(message(text, user_line()))
        if mode == "linear_ramp":
            edges = x[(*front, slice(0, 1))], x[(*front, slice(n - 1, n))]
            sides = [_ramp(x, k, w, e, v) for w, e, v in zip((before, after), edges, ends[k], strict=True)]
            x = concatenate([sides[0], x, sides[1][(*front, slice(None, None, -1))]], k)
            continue
        low, high = (n if length is None else min(length, n) for length in lengths[k])
        if mode in ("maximum", "minimum") and 0 in (low, high):
            raise TraceValueError(message("stat_length of 0 yields no value for padding", user_line()))
        whole = FOLDS[mode](x[(*front, slice(0, low))], k), FOLDS[mode](x[(*front, slice(n - high, n))], k)
        if x.dtype.kind not in "fc" and mode in ("mean", "median"):
            whole = elementwise(np.rint, whole[0]), elementwise(np.rint, whole[1])
        x = concatenate([_filled(x, k, before, whole[0]), x, _filled(x, k, after, whole[1])], k)
    return x


def _lengths(given: Any, rank: int) -> list[Any]:
    if given is None:
        return [(None, None)] * rank
    lengths = [(int(low), int(high)) for low, high in np.broadcast_to(np.asarray(given), (rank, 2))]
    if any(n < 0 for pair in lengths for n in pair):
        raise TraceValueError(message("index can't contain negative values", user_line()))
    return lengths


def _ramp(x: Array, axis: int, n: int, edge: Array, end: Any) -> Array:
    """n numbers from `end`, evenly on the way to the edge, which is left out."""
    wide = (1,) * axis + (n,) + (1,) * (x.ndim - axis - 1)
    steps = np.arange(n).reshape(wide) / max(n, 1)
    start = end if isinstance(end, Array) else float(end)
    way = elementwise(np.multiply, elementwise(np.subtract, edge, start), steps)
    made = elementwise(np.add, way, start)
    if x.dtype.kind != "f":
        made = elementwise(np.floor, made)
    return made.astype(x.dtype)


__all__ = ["pad"]
