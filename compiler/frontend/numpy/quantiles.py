"""NumPy's medians, quantiles and percentiles of traced arrays, and those that pass over NaN.

A quantile lies between two of the elements in order, at a place that is no whole number: it has their derivatives, and
one in q where NumPy interpolates. The methods are those of Hyndman and Fan, "Sample quantiles in statistical packages"
(1996), and NumPy's own. Where the place is known, the elements are only parted there; else all are put in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import Array, implements
from ..errors import TraceValueError, message
from ..promotion import cast, conform
from ..sizes import product
from ..tracing import user_line
from .averages import mean
from .nans import nanmean
from .ordering import along, found, holds, in_order, order_of, parted
from .reductions import Axis, axes_of, sum_, traced
from .shaping import broadcast_to, moveaxis, transpose
from .ufuncs import elementwise, where


def _at(alpha: float, beta: float) -> Callable[..., Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


_PLACES: dict[str, Callable[..., Any]] = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _at(0, 1),
    "hazen": _at(0.5, 0.5),
    "weibull": _at(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _at(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _at(3 / 8.0, 3 / 8.0),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}
"""Method -> where among n elements in order the quantile q is."""


def _step(place: Any, stays: Callable[[Any, Any], Any]) -> Any:
    """The place before, where it `stays` there, or the one behind; never below 0."""
    low = np.floor(place)
    return np.maximum(np.where(stays(place - low, low), low, low + 1), 0)


_STEPS: dict[str, Callable[..., Any]] = {
    "inverted_cdf": lambda n, q: _step(n * q - 1, lambda gap, low: gap == 0),
    "closest_observation": lambda n, q: _step(n * q - 1.5, lambda gap, low: (gap == 0) & (low % 2 == 1)),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.round((n - 1) * q),
}
"""Method -> the number of the element that is the quantile."""

_GAPS: dict[str, Callable[..., Any]] = {
    "averaged_inverted_cdf": lambda gap, place: np.where(gap == 0, 0.5, 1.0),
    "midpoint": lambda gap, place: np.where(place % 1 == 0, 0.0, 0.5),
}
"""Method -> how far from the element before to the next one, where it is not simply the distance."""


def rows_of(a: Any, axis: Axis) -> tuple[Array, tuple[int, ...], tuple[int, ...]]:
    """An array with the axes laid flat as its last one; its shape, and which axes they were."""
    _now, x = traced(a)
    axes = axes_of(axis, x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    count = product(x.shape[k] for k in axes)
    return transpose(x, [*rest, *axes]).reshape((*(x.shape[k] for k in rest), count)), x.shape, axes


def kept(made: Array, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool, lead: tuple[int, ...]) -> Array:
    """A result of the shape (*lead, *rest), with the axes that are gone put back where asked for."""
    if keepdims:
        made = made.reshape((*lead, *(1 if k in axes else n for k, n in enumerate(shape))))
    return Array(made.tracing, made.value)


# ---- quantiles


def _ask(name: str, q: Any, x: Array, top: int) -> Any:
    """q within 0 and 1, in the dtype in which places are computed: a NumPy array, or traced."""
    text = f"{name} must be in the range [0, {top}]"
    if isinstance(q, Array):
        q = q if q.dtype.kind == "f" else q.astype(np.float64)
        q = q if top == 1 else elementwise(np.true_divide, q, float(top))
        if q.ndim > 1:
            raise ValueError("q must be a scalar or 1d")
        holds((elementwise(np.greater_equal, q, 0) & elementwise(np.less_equal, q, 1)).all(), text)
        return q
    given = np.asarray(q) if top == 1 else np.true_divide(q, top, out=...)
    if given.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError(text)
    return given


def _check_method(method: str, weights: Any) -> None:
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    if method not in _PLACES and method not in _STEPS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {[*_STEPS, *_PLACES]}")


def _picked(rows: Array, lower: Any, upper: Any) -> tuple[Array, Array]:
    """The elements in order of those numbers, q in front: parted at known ones, else all in order."""
    shape = np.shape(lower) if not isinstance(lower, Array) else ()
    if isinstance(lower, Array):
        ordered = in_order(rows)
        picked = [moveaxis(along(ordered, at), -1, 0) for at in (lower, upper)]
        return picked[0], picked[1]
    wanted, at = np.unique(np.concatenate([np.ravel(lower), np.ravel(upper)]), return_inverse=True)
    few = moveaxis(along(rows, parted(rows, wanted.tolist())[..., wanted]), -1, 0)
    parts = [few[k.reshape(shape)] for k in np.split(at, 2)]
    return parts[0], parts[1]


def _between(rows: Array, n: Any, q: Any, method: str, weak: bool) -> Array:
    """The quantiles of the first n elements in order of each row, q in front."""
    last = n - 1
    if method in _STEPS or (method == "linear" and not isinstance(n * q, Array) and np.asarray(q).dtype.kind in "iu"):
        place = _STEPS[method](n, q) if method in _STEPS else (n - 1) * q
        at = _whole(np.minimum(np.maximum(place, 0), np.maximum(last, 0)))
        return _picked(rows, at, at)[0]
    place = _PLACES[method](n, q)
    low = np.floor(place)
    lower, upper = (_whole(np.minimum(np.maximum(k, 0), np.maximum(last, 0))) for k in (low, low + 1))
    gap = _GAPS.get(method, lambda gap, place: gap)(place - low, place)
    before, after = _picked(rows, lower, upper)
    if isinstance(gap, Array):
        gap = moveaxis(gap, -1, 0)
    else:
        gap = np.asarray(gap, np.asarray(place).dtype)
        gap = gap.item() if weak else gap.reshape((*gap.shape, *(1,) * (rows.ndim - 1)))
    wide = after - before
    return where(gap >= 0.5, after - wide * (1 - gap), before + wide * gap)


def _whole(place: Any) -> Any:
    return place.astype(np.int64)


def _quantile(name: str, top: int, skips: bool) -> Callable[..., Any]:
    def function(
        a: Any,
        q: Any,
        axis: Axis = None,
        *,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        weights: Any = None,
    ) -> Array:
        _check_method(method, weights)
        rows, shape, axes = rows_of(a, axis)
        asked, weak = _ask(name, q, rows, top), type(q) in (int, float) or (isinstance(q, Array) and q.weak)
        if skips and 0 in shape:
            return nanmean(a, axis, keepdims=keepdims)
        if rows.shape[-1] == 0:
            fix = "check the size before, or append an element"
            raise TraceValueError(message(f"a quantile of no elements: the shape is {shape}", user_line(), fix))
        lead = np.shape(asked) if not isinstance(asked, Array) else asked.shape
        flat = asked.reshape(-1)
        bad = elementwise(np.isnan, rows) if rows.dtype.kind == "f" else None
        if weights is not None:
            made = _weighted(rows, flat, _weights_of(weights, shape, axis, axes, rows), bad if skips else None)
        elif isinstance(flat, Array) or (skips and bad is not None):
            made = _between(rows, *_counted(rows, flat, bad if skips else None), method, False)
            made = _as_numpy(made, rows, asked, method, weak)
        else:
            made = _between(rows, rows.shape[-1], flat, method, weak)
        made = made.reshape((*lead, *rows.shape[:-1]))
        if bad is not None and not skips:
            made = where(bad.any(-1), np.nan, made)
        return kept(made, shape, axes, keepdims, lead)

    function.__name__ = name
    return function


def _counted(rows: Array, q: Any, bad: Array | None) -> tuple[Any, Any]:
    """How many elements of each row count, and q: an axis for q behind the rows'."""
    kind = q.dtype if q.dtype.kind == "f" else np.dtype(np.float64)
    ones = np.ones((*rows.shape[:-1], 1), kind)
    if bad is None:
        return rows.shape[-1], elementwise(np.multiply, ones, q) if isinstance(q, Array) else ones * q
    count = elementwise(np.subtract, float(rows.shape[-1]), sum_(bad, -1, kind, True))
    wide = broadcast_to(traced(q)[1].astype(kind), (*rows.shape[:-1], q.shape[0]))
    return count, wide


def _as_numpy(made: Array, rows: Array, q: Any, method: str, weak: bool) -> Array:
    """In the dtype that NumPy gives it: that of the elements for a Python number q."""
    if method in _STEPS:
        return made
    kind = rows.dtype if weak and rows.dtype.kind == "f" else np.result_type(rows.dtype, q.dtype, np.float32)
    return Array(made.tracing, cast(made.tracing, made.value, kind)) if kind != made.dtype else made


def _weights_of(weights: Any, shape: tuple[int, ...], axis: Axis, axes: tuple[int, ...], rows: Array) -> Array:
    """Weights of the array's shape, or of its axes', as rows."""
    _now, w = traced(weights)
    if w.shape != shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.shape != tuple(shape[k] for k in axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        return broadcast_to(w.reshape(-1), rows.shape)
    return rows_of(w, axis)[0]


def _weighted(rows: Array, q: Any, weights: Array, bad: Array | None) -> Array:
    """The first elements in order up to which the weights add to the part q of all."""
    if not isinstance(q, Array):
        q = np.asarray(q, np.float64) if q.dtype.kind != "f" else q
    weights = weights if bad is None else where(bad, 0, weights)
    holds(elementwise(np.greater_equal, weights, 0).all(), "Weights must be non-negative.")
    places = order_of(rows)
    ordered, share = along(rows, places), along(weights, places).astype(np.float64)
    share = np.cumsum(share, -1)
    total = share[..., -1:]
    known = elementwise(np.isfinite, total) & (total > 0)
    holds(known.all() if bad is None else (known | bad.all(-1, keepdims=True)).all(),
          "Weights included NaN, inf or were all zero.")  # fmt: skip
    share = (share / total).astype(q.dtype)
    share = where(share == 0, -1, share)
    now = rows.tracing
    wanted = Array(now, conform(now, q, share.dtype, (*rows.shape[:-1], q.shape[0])))
    at = elementwise(np.minimum, found(share, wanted, False), rows.shape[-1] - 1)
    return moveaxis(along(ordered, at), -1, 0)


for _skips, _quantiles, _percentiles in ((False, np.quantile, np.percentile), (True, np.nanquantile, np.nanpercentile)):
    implements(_quantiles)(_quantile("Quantiles", 1, _skips))
    implements(_percentiles)(_quantile("Percentiles", 100, _skips))


# ---- medians


@implements(np.median)
def median(a: Any, axis: Axis = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    rows, shape, axes = rows_of(a, axis)
    n = rows.shape[-1]
    if n == 0:
        return kept(mean(rows, -1), shape, axes, keepdims, ())
    middle = [n // 2] if n % 2 else [n // 2 - 1, n // 2]
    places = parted(rows, middle)[..., middle[0] : middle[-1] + 1]
    made = mean(along(rows, places), -1)
    if rows.dtype.kind == "f":
        made = where(elementwise(np.isnan, rows).any(-1), np.nan, made)
    return kept(made, shape, axes, keepdims, ())


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Axis = None, *, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    rows, shape, axes = rows_of(a, axis)
    if rows.dtype.kind != "f" or rows.shape[-1] == 0:
        return median(a, axis, keepdims=keepdims)
    count = rows.shape[-1] - sum_(elementwise(np.isnan, rows), -1, None, True)
    ordered = in_order(rows)
    low, high = (along(ordered, elementwise(np.maximum, k, 0)) for k in ((count - 1) // 2, count // 2))
    made = where(count % 2 == 1, low, (low + high) / 2)
    made = where(count == 0, np.nan, made)
    return kept(made[..., 0], shape, axes, keepdims, ())


__all__ = ["kept", "median", "rows_of"]
