"""How often values come: bincount and histograms."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np

from ...reverse.nodes import UNKNOWN
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.found import returned
from ..arranging.creation import constant
from ..arranging.shapes import shape_of
from ..matrices.outside import computed, outside


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number comes, or the sum of the `weights` of its places."""
    array = input._array()
    if array.dtype.kind not in "iu":
        raise NotImplementedError(f"bincount only supports 1-d non-negative integral inputs, got {input.dtype}")
    if index(minlength) < 0:
        raise RuntimeError("minlength should be >= 0")
    if array.ndim != 1 or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return constant(np.bincount(array, minlength=minlength).astype(np.int64))
    if shape_of(weights) != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    kind = np.float32 if weights._kind_of().dtype == "f32" else np.float64
    return constant(np.bincount(array, weights._array(), minlength).astype(kind))


def _span(array: np.ndarray, low: float, high: float, apart: float = 1.0) -> tuple[float, float]:
    """The ends of a histogram: those of the data if both are the same, and apart if those are."""
    if not array.size and low == high:
        return 0.0, 2 * apart
    if low == high:
        low, high = float(array.min()), float(array.max())
    if low == high:
        low, high = low - apart, high + apart
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    return low, high


def _histc(m: Any, x: Any, bins: int, low: float, high: float) -> Any:
    return outside(m, "histc", (x,), [x.value.type.with_shape((bins,))], bins, low, high)[0]


def _in_bins(array: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    start, end = _span(array, low, high)
    inside = array[(array >= start) & (array <= end)].astype(np.float64)
    places = np.minimum(((inside - start) * bins / (end - start)).astype(np.int64), bins - 1)
    return np.bincount(places.ravel(), minlength=bins)


computed("histc", _in_bins)


HISTC = Operation("histc", UNKNOWN, _histc)


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal parts of min .. max, or of all the elements' range."""
    if index(bins) <= 0:
        raise RuntimeError("bins must be > 0")
    if not input._kind_of().is_float:
        raise NotImplementedError(f"histc: expected a floating point tensor, got {input.dtype}")
    if max < min:
        raise RuntimeError("max must be larger than min")
    low, high = _as_float(min), _as_float(max)
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low == high:
        _span(input._array(), low, high)
    return apply(HISTC, (input,), (index(bins), low, high))


def _as_float(value: Any) -> float:
    return float(value._array()) if isinstance(value, Core) else float(value)


histogram_values = returned("histogram", "hist", "bin_edges")
histogramdd_values = returned("histogramdd", "hist", "bin_edges")


def histogram(
    input: Core, bins: Any, *, range: Any = None, weight: Core | None = None, density: bool = False
) -> Any:
    """How many elements (or what weight) lie between edges, which are given or `bins` + 1 in equal steps."""
    flat = input.reshape(-1, 1)
    if weight is not None and shape_of(weight) != shape_of(input):
        raise RuntimeError(
            "histogram(): if weight tensor is provided it should have the same shape as the input tensor excluding its"
            f" innermost dimension, got {list(shape_of(weight))} and {list(shape_of(input))}"
        )
    weights = None if weight is None else weight.reshape(-1)
    hist, edges = _histogram("histogram", flat, [bins], range, weights, density)
    return histogram_values(hist, edges[0])


def histogramdd(
    input: Core, bins: Any, *, range: Any = None, weight: Core | None = None, density: bool = False
) -> Any:
    """The same of points, the rows of `input`, in a grid."""
    shape = shape_of(input)
    if len(shape) < 2:
        raise RuntimeError(f"histogramdd(): The input tensor should have at least 2 dimensions, got {len(shape)}")
    n = shape[-1]
    given = [bins] * n if isinstance(bins, int) else list(bins)
    if len(given) != n:
        raise RuntimeError(f"histogramdd(): The size of bins must equal the innermost dimension of the input, {n}")
    flat = None if weight is None else weight.reshape(-1)
    return histogramdd_values(*_histogram("histogramdd", input.reshape(-1, n), given, range, flat, density))


def _histogram(name: str, points: Core, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    array = points._array()
    if array.dtype.kind != "f":
        raise RuntimeError(f"{name}: expected a floating point tensor, got {points.dtype}")
    if weight is not None and shape_of(weight)[0] != len(array):
        raise RuntimeError(f"{name}(): if weight tensor is provided it should have the same shape as the input tensor")
    if range is not None and len(range) != 2 * len(bins):
        raise RuntimeError(f"{name}(): range should be a sequence of {2 * len(bins)} numbers, got {len(range)}")
    ends = [(0.0, 0.0)] * len(bins) if range is None else list(zip(range[::2], range[1::2], strict=True))
    edges = [_edges(name, b, array[:, k], *ends[k]) for k, b in enumerate(bins)]
    made = _counted(array, edges, None if weight is None else weight._array())
    if density:
        made = made / made.sum()
        for k, e in enumerate(edges):
            made = made / np.diff(e).reshape([-1 if a == k else 1 for a, _ in enumerate(edges)])
    return constant(made.astype(array.dtype)), tuple([constant(e) for e in edges])


def _counted(points: np.ndarray, edges: list[np.ndarray], weights: np.ndarray | None) -> np.ndarray:
    """How many points (or what weight) lie in each cell; the last edge belongs to the last cell."""
    inside, places = np.ones(len(points), bool), []
    for k, e in enumerate(edges):
        x = points[:, k]
        inside &= (x >= e[0]) & (x <= e[-1])
        places.append(np.minimum(_above(e, x) - 1, len(e) - 2))
    shape = tuple(len(e) - 1 for e in edges)
    flat = np.ravel_multi_index([p[inside] for p in places], shape, mode="clip")
    made = np.bincount(flat, None if weights is None else weights[inside], prod(shape))
    return made.astype(points.dtype).reshape(shape)


def _above(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The first edge above each value, by C++'s upper_bound: what it finds where edges are out of order is its own."""
    first, count = np.zeros(len(values), np.int64), np.full(len(values), len(edges))
    while count.any():
        half = count // 2
        middle = np.minimum(first + half, len(edges) - 1)
        right = (count > 0) & ~(values < edges[middle])
        first = np.where(right, middle + 1, first)
        count = np.where(right, count - half - 1, half)
    return first


def _edges(name: str, bins: Any, array: np.ndarray, low: float, high: float) -> np.ndarray:
    if isinstance(bins, Core):
        if len(shape_of(bins)) != 1 or bins._kind_of().dtype != ("f32" if array.dtype == np.float32 else "f64"):
            raise RuntimeError(f"{name}(): bins tensors must be vectors of the dtype of the input")
        return bins._array()
    if index(bins) <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    if low > high:
        raise RuntimeError(f"{name}(): min should not exceed max, but got range [{low}, {high}]")
    return np.linspace(*_span(array, low, high, 0.5), index(bins) + 1, dtype=array.dtype)
