"""NumPy's histograms and counts of traced arrays: sums over bins, with derivatives in the weights and the edges.

Which bin an element is in has no derivative; that of a density passes through the widths of bins that are traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops.index import scatter_add
from ..array import Array, implements
from ..errors import TraceError, TraceValueError, message
from ..promotion import conform, constant
from ..sizes import Length
from ..tracing import user_line
from .creation import linspace
from .ordering import found, holds, selected
from .reductions import amax, amin, diff, sum_, traced
from .shaping import concatenate
from .ufuncs import elementwise, where


def _added(bins: Any, amounts: Array, count: int) -> Array:
    """The sums of the amounts of each bin; a bin that is the number `count` is none."""
    now, at = traced(bins)
    zeros = constant(now, 0, amounts.dtype, (count + 1,))
    made = now.emit(scatter_add, zeros, at.reshape(-1).value, amounts.reshape(-1).value, axis=0)
    return Array(now, made)[:count]


def _ones(x: Array) -> Array:
    return Array(x.tracing, constant(x.tracing, 1, np.dtype(np.int64), x.shape))


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    if isinstance(x, Array):
        fix = "use np.histogram(x, bins=n, range=(0, n)), whose size is known"
        x = selected("np.bincount", x, fix)
    x = np.asarray(x, np.int64 if np.size(x) == 0 else None)
    if x.dtype.kind not in "biu" or x.ndim != 1:
        raise TypeError(f"np.bincount takes whole numbers along one axis, got {x.dtype} of {x.ndim} axes")
    if x.size and x.min() < 0:
        raise ValueError("'list' argument must have no negative elements")
    count = max(int(x.max()) + 1 if x.size else 0, minlength)
    _now, places = traced(x.astype(np.int64))
    if weights is None:
        return _added(places, _ones(places), count)
    _now, amounts = traced(weights)
    if amounts.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    return _added(places, amounts.astype(np.float64), count)


# ---- edges


def _ends(x: Array, range: Any) -> tuple[Any, Any]:
    """The least and the greatest edge."""
    if range is not None:
        low, high = range
        if not isinstance(low, Array) and not isinstance(high, Array):
            if low > high:
                raise ValueError("max must be larger than min in range parameter.")
            if not (np.isfinite(low) and np.isfinite(high)):
                raise ValueError(f"supplied range of [{low}, {high}] is not finite")
            return (low - 0.5, high + 0.5) if low == high else (low, high)
    elif x.size == 0:
        return 0.0, 1.0
    else:
        low, high = amin(x), amax(x)
        finite = elementwise(np.logical_and, elementwise(np.isfinite, low), elementwise(np.isfinite, high))
        holds(finite, "autodetected range of [min, max] is not finite")
    same = elementwise(np.equal, low, high)
    return where(same, low - 0.5, low), where(same, high + 0.5, high)


def _edges(name: str, x: Array, bins: Any, range: Any) -> Array:
    now = x.tracing
    if isinstance(bins, str):
        fix = "say how many bins there are, or where their edges are"
        raise TraceError(message(f"{name} with bins={bins!r} has a size that depends on values", user_line(), fix))
    if isinstance(bins, (int, np.integer, Length)):
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        low, high = _ends(x, range)
        kind = np.result_type(*(e.dtype if isinstance(e, Array) else e for e in (low, high)), x.dtype)
        kind = kind if kind.kind == "f" else np.dtype(np.float64)
        if isinstance(low, Array) or isinstance(high, Array):
            inner = linspace(low, high, int(bins) + 1)[:-1]
            return concatenate([inner, traced(high)[1].reshape(1)]).astype(kind)
        return Array(now, conform(now, np.linspace(low, high, int(bins) + 1, dtype=kind), kind, (int(bins) + 1,)))
    _now, edges = traced(bins)
    if edges.ndim != 1:
        raise TraceValueError(message("`bins` must be 1d, when an array", user_line(), "pass a number or the edges"))
    text = "`bins` must increase monotonically, when an array"
    if not isinstance(bins, Array):
        given = np.asarray(bins)
        if (given[:-1] > given[1:]).any():
            raise ValueError(text)
    else:
        holds(elementwise(np.less_equal, edges[:-1], edges[1:]).all(), text)
    return edges


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    return _edges("np.histogram_bin_edges", traced(a)[1].reshape(-1), bins, range)


# ---- histograms


def _bin(x: Array, edges: Array) -> Array:
    """The number of each element's bin, the last one closed; that of none is the number of bins."""
    count = edges.shape[0] - 1
    kind = np.result_type(x.dtype, edges.dtype)
    x, edges = x.astype(kind), edges.astype(kind)
    at = found(edges, x, True) - 1
    at = where(elementwise(np.equal, x, edges[-1]), count - 1, at)
    return where((at < 0) | (at >= count), count, at)


def _amounts(x: Array, weights: Any) -> Array:
    if weights is None:
        return _ones(x)
    _now, amounts = traced(weights)
    return amounts


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    _now, x = traced(a)
    amounts = _amounts(x, weights)
    if amounts.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")
    x = x.reshape(-1)
    edges = _edges("np.histogram", x, bins, range)
    made = _added(_bin(x, edges), amounts, edges.shape[0] - 1)
    if density:
        made = elementwise(np.true_divide, made, diff(edges).astype(np.float64)) / sum_(made)
    return made, edges


@implements(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    columns = _columns(sample)
    rank = len(columns)
    many = [bins] * rank if isinstance(bins, (int, np.integer)) else list(bins)
    if len(many) != rank:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * rank if range is None else list(range)
    if len(ranges) != rank:
        raise ValueError("range argument must have one entry per dimension")
    edges = [
        _edges("np.histogramdd", x, b, r).astype(np.float64) for x, b, r in zip(columns, many, ranges, strict=True)
    ]
    counts = [e.shape[0] - 1 for e in edges]
    total, place, none = int(np.prod(counts)), None, None
    for x, e, n in zip(columns, edges, counts, strict=True):
        at = _bin(x, e)
        outside = elementwise(np.equal, at, n)
        place = at if place is None else place * n + at
        none = outside if none is None else none | outside
    amounts = _amounts(columns[0], weights).astype(np.float64)
    if amounts.shape != columns[0].shape:
        raise ValueError("The weights and list don't have the same length.")
    made = _added(where(none, total, place), amounts, total).reshape(counts)
    if density:
        for k, e in enumerate(edges):
            made = made / diff(e).reshape([-1 if j == k else 1 for j, _ in enumerate(counts)])
        made = made / _added(where(none, total, place), amounts, total).sum()
    return made, tuple(edges)


def _columns(sample: Any) -> Sequence[Array]:
    if isinstance(sample, (list, tuple)):
        return [traced(x)[1] for x in sample]
    _now, x = traced(sample)
    x = x if x.ndim == 2 else x.reshape((-1, 1))
    return [x[:, k] for k in range(x.shape[1])]


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    shared = not isinstance(bins, (int, np.integer)) and len(bins) not in (1, 2)
    made, edges = histogramdd([x, y], [bins, bins] if shared else bins, range, density, weights)
    return made, edges[0], edges[1]


__all__ = ["histogram"]
