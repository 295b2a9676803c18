"""NumPy functions that make arrays of the shape and dtype of a traced one, and evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.require import require
from ..array import Array, find, here, implements
from ..promotion import as_operand, broadcast, common_shape, conform, positions, result_dtype, shape_of
from ..sizes import product
from .averages import as_float
from .products import diag
from .reductions import all_, traced
from .shaping import expand_dims, moveaxis, reshape, sizes, stack
from .ufuncs import elementwise, where


def _like(a: Any, value: Any, dtype: Any, shape: Any) -> Array:
    now, x = traced(a)
    to = x.shape if shape is None else sizes(shape)
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    return Array(now, conform(now, value, wanted, to))


@implements(np.zeros_like, np.empty_like)
def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Array:
    return _like(a, 0, dtype, shape)


@implements(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Array:
    return _like(a, 1, dtype, shape)


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Array:
    return _like(a, as_operand(fill_value), dtype, shape)


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    a, b = as_operand(start), as_operand(stop)
    (num,) = sizes((num,))
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    now, kind = here(a, b), result_dtype(a, b, 1.0)
    shape = common_shape("linspace", a, b)
    count = positions(now, (num, *(1,) * len(shape)), 0)
    parts = num - 1 if endpoint else num
    whole = elementwise(np.subtract, b, a)
    whole = whole if whole.dtype.kind == "f" else whole.astype(kind)
    step = elementwise(np.true_divide, whole, as_float(parts if parts > 0 else 1))
    made = elementwise(np.add, a, elementwise(np.multiply, count.astype(kind), step))
    if endpoint and num > 1:
        made = where(elementwise(np.equal, count, num - 1), b, made)
    wanted = kind if dtype is None else np.dtype(dtype)
    if wanted.kind in "iu":
        made = elementwise(np.floor, made)
    made = moveaxis(made, 0, axis).astype(wanted)
    if not retstep:
        return made
    return made, step if parts > 0 else elementwise(np.multiply, whole, np.nan)


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Array:
    rank = max(len(shape_of(as_operand(x))) for x in (start, stop, base))
    if len(shape_of(as_operand(base))):
        start, stop, base = (_wide(x, rank) for x in (start, stop, base))
        base = expand_dims(base, axis)
    if find([start, stop]) is None:
        places = np.linspace(start, stop, num, endpoint, axis=axis)
    else:
        places = linspace(start, stop, num, endpoint, axis=axis)
    made = elementwise(np.power, base, places)
    return made if dtype is None else made.astype(dtype)


def _wide(x: Any, rank: int) -> Array:
    _now, y = traced(x)
    return reshape(y, (1,) * (rank - y.ndim) + y.shape)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Array:
    a, b = traced(start)[1], traced(stop)[1]
    kind = result_dtype(as_operand(start), as_operand(stop), 1.0, np.zeros((), dtype))
    for each in (a, b):
        each.tracing.emit(
            require, all_(elementwise(np.not_equal, each, 0)).value, error="ValueError",
            text="Geometric sequence cannot include zero",
        )  # fmt: skip
    a, b = a.astype(kind), b.astype(kind)
    sign = elementwise(np.sign, a)
    low, high = (elementwise(np.multiply, x, sign) for x in (a, b))
    made = logspace(*(elementwise(np.log10, x) for x in (low, high)), num, endpoint, 10.0)
    count = positions(here(made), (made.shape[0], *(1,) * (made.ndim - 1)), 0)
    if num > 0:
        made = where(elementwise(np.equal, count, 0), low, made)
    if num > 1 and endpoint:
        made = where(elementwise(np.equal, count, num - 1), high, made)
    made = moveaxis(elementwise(np.multiply, made, sign), 0, axis)
    return made.astype(kind if dtype is None else dtype)


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    _now, y = traced(x)
    if y.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    kind = np.promote_types(y.dtype, int)
    y = y.astype(kind)
    count = y.shape[0].__index__() if N is None else N
    columns = [ones_like(y)]
    for _ in range(count - 1):
        columns.append(y if len(columns) == 1 else elementwise(np.multiply, columns[-1], y))
    columns = columns[:count]
    if not columns:
        return _like(y, 0, kind, (y.shape[0], 0))
    return stack(columns if increasing else columns[::-1], 1)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    return diag(reshape(traced(v)[1], -1), k)


@implements(np.arange)
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
    """How many there are must be known; the numbers themselves may be traced."""
    low, high = (0, start) if stop is None else (start, stop)
    a, b, c = as_operand(low), as_operand(high), as_operand(step)
    span = elementwise(np.true_divide, elementwise(np.subtract, b, a), c)
    count = elementwise(np.ceil, span)
    if isinstance(count, Array):
        count = count.astype(np.int64).number("an index or size", "declare the argument static: static_argnames=('n',)")
    kind = result_dtype(a, b, c)
    places = positions(here(a, b, c), (max(int(count), 0),), 0).astype(kind)
    made = elementwise(np.add, elementwise(np.multiply, places, c), a).astype(kind)
    return made if dtype is None else made.astype(dtype)


@implements(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy") -> tuple[Array, ...]:
    parts = [as_operand(x) for x in xi]
    now = here(*parts)
    sizes_ = [product(shape_of(x)) for x in parts]
    order = [1, 0, *range(2, len(parts))] if indexing == "xy" and len(parts) > 1 else list(range(len(parts)))
    to = tuple(sizes_[k] for k in order)
    made = []
    for k, x in enumerate(parts):
        wide = tuple(sizes_[k] if order[j] == k else 1 for j in range(len(parts)))
        y = traced(x)[1].reshape(wide)
        made.append(Array(now, broadcast(now, y.value, to)))
    return tuple(made)


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return shape_of(a)


@implements(np.ndim)
def ndim(a: Any) -> int:
    return len(shape_of(a))


@implements(np.size)
def size(a: Any, axis: int | None = None) -> int:
    return a.size if axis is None else shape_of(a)[axis]


@implements(np.result_type)
def result_type(*arrays: Any) -> np.dtype:
    return result_dtype(*(np.zeros((), a) if isinstance(a, (np.dtype, type)) else a for a in arrays))


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    return result_dtype(*arrays, np.float64(0) if any(a.dtype.kind != "f" for a in arrays) else arrays[0]).type


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to, casting)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """|a - b| <= atol + rtol |b|, and equal infinities are close."""
    if result_dtype(b).kind != "f":
        b = elementwise(np.true_divide, b, 1.0)
    away = elementwise(np.absolute, elementwise(np.subtract, a, b))
    room = elementwise(np.add, elementwise(np.multiply, elementwise(np.absolute, b), rtol), atol)
    near = elementwise(np.logical_and, elementwise(np.less_equal, away, room), elementwise(np.isfinite, b))
    close = elementwise(np.logical_or, near, elementwise(np.equal, a, b))
    if not equal_nan:
        return close
    return close | elementwise(np.logical_and, elementwise(np.isnan, a), elementwise(np.isnan, b))


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    return isclose(a, b, rtol, atol, equal_nan).all()
