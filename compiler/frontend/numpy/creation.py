"""NumPy functions that make arrays of the shape and dtype of a traced one, and evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array, here, implements
from ..promotion import as_operand, broadcast, conform, positions, result_dtype, shape_of
from ..sizes import product
from .reductions import traced
from .shaping import sizes
from .ufuncs import elementwise


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
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Array:
    a, b = as_operand(start), as_operand(stop)
    (num,) = sizes((num,))
    now, kind = here(a, b), result_dtype(a, b, 1.0)
    rank = max(len(shape_of(a)), len(shape_of(b)))
    count = positions(now, (num, *(1,) * rank), 0).astype(kind)
    step = elementwise(np.true_divide, elementwise(np.subtract, b, a), float(max(num - bool(endpoint), 1)))
    along = elementwise(np.multiply, count, step)
    made = elementwise(np.add, a, along)
    return made if dtype is None else made.astype(dtype)


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


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return False


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return True


@implements(np.real)
def real(val: Any) -> Any:
    return val


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
