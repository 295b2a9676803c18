"""NumPy's means, variances and covariances of traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.custom import stop_gradient
from ..array import Array, implements, unknown
from ..errors import TraceValueError, message
from ..promotion import as_operand, cast, conform, measured, shape_of
from ..sizes import Length, product
from ..tracing import user_line
from .complex.complexes import ANY, joined
from .ordering import holds
from .reductions import Axis, axes_of, root, sum_, traced
from .shaping import concatenate, reshape, transpose
from .ufuncs import clip, elementwise


def as_float(count: Any) -> Any:
    """A number of elements as a Python float."""
    if not isinstance(count, Length):
        return float(count)
    number = measured(count)
    return Array(number.tracing, cast(number.tracing, number.value, np.dtype(np.float64)), weak=True)


def _count(x: Array, axis: Axis, mask: Any, keepdims: bool, less: Any = 0, dtype: Any = None) -> Any:
    """How many elements are folded, less degrees of freedom, but not below 0; in the dtype of what is divided by it."""
    if mask is True:
        many = product(x.shape[k] for k in axes_of(axis, x.ndim))
        return as_float(max(many - less, 0) if less else many)
    kind = dtype or (x.dtype if x.dtype.kind in "fc" else np.float64)
    found = sum_(elementwise(np.logical_and, mask, np.ones(x.shape, bool)), axis, kind, keepdims)
    return elementwise(np.maximum, elementwise(np.subtract, found, less), 0) if less else found


def _divided(x: Array, dtype: Any) -> Any:
    return np.float64 if dtype is None and x.dtype.kind in "biu" else dtype


@implements(np.mean)
def mean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, where: Any = True) -> Array:
    _now, x = traced(a)
    half = dtype is None and x.dtype == np.float16  # whose sums soon overflow
    total = sum_(x, axis, np.float32 if half else _divided(x, dtype), keepdims, where=where)
    many = _count(x, axis, where, keepdims, dtype=total.dtype if total.dtype.kind in "fc" else None)
    made = elementwise(np.true_divide, total, many)
    if half:
        return made.astype(np.float16)
    return made if dtype is None or np.dtype(dtype).kind in "fc" else made.astype(np.dtype(dtype))


def kept_real(name: str, dtype: Any) -> None:
    """Refuse to compute squares of distances in whole or in complex numbers, which NumPy does in part."""
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise unknown(name, f" with dtype={np.dtype(dtype)}")


@implements(np.var)
def var(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, *, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Array:  # fmt: skip
    if correction is not None and ddof:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    _now, x = traced(a)
    kept_real("np.var", dtype)
    middle = _mean(x, axis, dtype, True, where=where) if mean is None else mean
    squares = elementwise(np.square, elementwise(np.subtract, x, middle))
    total = sum_(squares, axis, dtype, keepdims, where=where)
    return elementwise(np.true_divide, total, _count(x, axis, where, keepdims, correction or ddof, total.dtype))


_mean = mean


@implements(np.std)
def std(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, *, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Array:  # fmt: skip
    return root(var(a, axis, dtype, ddof, keepdims, where=where, mean=mean, correction=correction))


@implements(np.average)
def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    now, x = traced(a)
    if weights is None:
        made = mean(x, axis, None, keepdims)
        if made.size == 0:
            raise ZeroDivisionError("division by zero")
        count = Array(now, conform(now, _count(x, axis, True, keepdims), made.dtype, made.shape))
        return (made, count) if returned else made
    _now, w = traced(weights)
    if w.shape != x.shape:
        w = _spread_weights(w, x, axis)
    kind = np.result_type(x.dtype, w.dtype, *([np.float64] if x.dtype.kind in "biu" else []))
    x, w = x.astype(kind), w.astype(kind)
    total = sum_(w, axis, None, keepdims)
    holds(elementwise(np.not_equal, total, 0).all(), "Weights sum to zero, can't be normalized", ZeroDivisionError)
    made = elementwise(np.true_divide, sum_(elementwise(np.multiply, x, w), axis, None, keepdims), total)
    return (made, total) if returned else made


def _spread_weights(w: Array, x: Array, axis: Axis) -> Array:
    """Weights of the axes that are averaged over, along all."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = [k % x.ndim for k in given]
    axes_of(axis, x.ndim)
    if w.shape != tuple(x.shape[k] for k in axes):
        raise TraceValueError(
            message("Shape of weights must be consistent with shape of a along specified axis.", user_line())
        )
    w = transpose(w, sorted(range(w.ndim), key=axes.__getitem__))
    return reshape(w, tuple(n if k in axes else 1 for k, n in enumerate(x.shape))) * np.ones(x.shape, w.dtype)


# ---- covariances


def _as_rows(m: Any, rowvar: bool, kind: np.dtype) -> Array:
    _now, x = traced(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = reshape(x, (1, x.size)) if x.ndim < 2 else x if rowvar else transpose(x)
    return x.astype(kind)


def _checked_weights(name: str, w: Any, observations: int) -> Any:
    if w is None:
        return None
    shape = shape_of(as_operand(w))
    if len(shape) > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if shape != (observations,):
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    _now, weights = traced(w)
    if name == "fweights" and weights.dtype.kind not in "iu":
        raise TypeError("fweights must be integer")
    holds(elementwise(np.greater_equal, weights, 0).all(), f"{name} cannot be negative")
    return weights.astype(np.float64)


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Array:  # fmt: skip
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    parts = [m] if y is None else [m, y]
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*(traced(p)[1].dtype for p in parts), np.float64)
    rows = [_as_rows(p, rowvar, kind) for p in parts]
    x = rows[0] if y is None else concatenate(rows, 0)
    free = (0 if bias else 1) if ddof is None else int(ddof)
    if x.shape[0] == 0:
        return traced(np.zeros((0, 0)))[1]
    f, a = (_checked_weights(n, w, x.shape[1]) for n, w in (("fweights", fweights), ("aweights", aweights)))
    w = f if a is None else a if f is None else f * a
    middle, total = average(x, 1, w, True)
    total = float(x.shape[1]) if w is None else total[0]
    count = total - free if a is None or free == 0 else total - free * (w * a).sum() / total
    away = x - middle[:, None]
    other = transpose(away if w is None else (away * w).astype(kind))
    made = away @ (elementwise(np.conjugate, other) if kind.kind == "c" else other)
    count = elementwise(np.maximum, count, 0) if isinstance(count, Array) else max(count, 0.0)
    made = elementwise(np.true_divide, made, count).astype(kind)
    return reshape(made, tuple(n for n in made.shape if n != 1))


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    made = cov(x, y, rowvar, dtype=dtype)
    if made.ndim == 0:
        return made / made
    size = np.sqrt(np.real(np.diagonal(made)))
    made = made / size[:, None] / size[None, :]
    return joined(*map(_within_one, made.parts)) if made.type.is_complex else _within_one(made)


def _within_one(x: Array) -> Array:
    """NumPy's correction of a rounding: what is 1 turns there, and is no kink."""
    now, off = x.tracing, clip(x, -1, 1) - x
    return x + Array(now, now.emit(stop_gradient, off.value))


ANY.update((np.cov, np.corrcoef))

__all__ = ["average", "cov", "mean", "std", "var"]
