"""NumPy's functions that write into an array: np.put, np.copyto and the like, on arrays that a traced function made.

Such an array gets a new value, which all names of it see. One that the caller or a view shares is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.index import scatter_add
from ..array import FUNCTIONS, Array, find, name_of
from ..errors import TraceError, message
from ..promotion import as_operand, cast, check_ints, constant, positions, shape_of
from ..sizes import product
from ..tracing import user_line
from .indexing import get
from .ordering import along, not_zero, order_of, partition, sort
from .reductions import cumsum, normal_axis, traced
from .shaping import broadcast_to, concatenate
from .ufuncs import elementwise, where

WRITES: dict[Any, Callable[..., Any]] = {}
"""NumPy's function, or the name of a method -> (array, *arguments) -> what the array holds afterwards."""

_FIX = "work on a copy without views of it: x = x.copy(); or use np.where"


def writes(original: Any) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Register what a function that changes its first argument puts there."""
    known = getattr(np.ndarray, original) if isinstance(original, str) else original

    def register(made: Callable[..., Array]) -> Callable[..., Array]:
        def held(x: Any, *args: Any, **kwargs: Any) -> Any:
            if find([x, *args, *kwargs.values()]) is not None:
                return made(traced(x)[1], *args, **kwargs)
            y = np.copy(x)
            known(y, *args, **kwargs)
            return y

        def in_place(x: Any, *args: Any, **kwargs: Any) -> None:
            if not isinstance(x, Array):
                fix = "make the array of a traced one: y = np.zeros_like(x), or x.copy()"
                verdict = f"{name_of(original)} of traced values into a {type(x).__name__}"
                raise TraceError(message(verdict, user_line(), fix))
            x.overwrite(made(x.copy(), *args, **kwargs), name_of(original), _FIX)

        in_place.__name__ = made.__name__
        WRITES[original], FUNCTIONS[original] = held, in_place
        return made

    return register


def _written(x: Array, places: Array, values: Array) -> Array:
    """x, flat, with values at places in range: the last one where several go to one place.

    Sorting the places tells which is the last, and a sum that has one term which value each element gets.
    """
    now = x.tracing
    order = order_of(places, stable=True)
    ordered = along(places, order)
    if places.shape[0] == 0:
        return x
    last = concatenate([elementwise(np.not_equal, ordered[1:], ordered[:-1]), np.ones(1, bool)])
    names = where(last, order + 1, 0)
    zeros = constant(now, 0, np.dtype(np.int64), x.shape)
    writer = Array(now, now.emit(scatter_add, zeros, ordered.value, names.value, axis=0))
    fresh = along(values, elementwise(np.maximum, writer - 1, 0))
    return where(elementwise(np.equal, writer, 0), x, fresh)


def _cast(values: Any, x: Array) -> Array:
    now, y = traced(values)
    check_ints(now, values, x.dtype)
    return Array(now, cast(now, y.value, x.dtype))


def _repeated(values: Array, count: int) -> Array:
    """Values laid flat, from the start again until there are enough."""
    flat = values.reshape(-1)
    return flat if flat.shape[0] == count else flat[np.arange(count) % flat.shape[0]]


def _in_range(places: Any, size: int, mode: str) -> Array:
    now, at = traced(places)
    if mode == "wrap":
        return elementwise(np.remainder, at.astype(np.int64), size)
    if mode == "clip":
        return elementwise(np.minimum, elementwise(np.maximum, at.astype(np.int64), 0), size - 1)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return get(positions(now, (size,), 0), at)


@writes("put")
@writes(np.put)
def put(x: Array, ind: Any, v: Any, mode: str = "raise") -> Array:
    places = _in_range(ind, x.size, mode).reshape(-1)
    values = _cast(v, x)
    if values.size == 0 or places.shape[0] == 0:
        return x
    made = _written(x.reshape(-1), places, _repeated(values, places.shape[0]))
    return made.reshape(x.shape)


@writes(np.put_along_axis)
def put_along_axis(x: Array, indices: Any, values: Any, axis: int | None) -> Array:
    now, at = traced(indices)
    y, place = (x.reshape(-1), 0) if axis is None else (x, normal_axis(axis, x.ndim))
    if at.ndim != y.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    to = tuple(n if k == place else y.shape[k] for k, n in enumerate(at.shape))
    inside = broadcast_to(_in_range(at, y.shape[place], "raise"), to)
    flat, stride = None, 1
    for k in reversed(range(y.ndim)):
        part = (inside if k == place else positions(now, to, k)) * stride
        flat, stride = part if flat is None else flat + part, stride * y.shape[k]
    assert flat is not None
    given = broadcast_to(_cast(values, x), to)
    made = _written(y.reshape(-1), flat.reshape(-1), given.reshape(-1))
    return made.reshape(x.shape)


@writes(np.putmask)
def putmask(x: Array, mask: Any, values: Any) -> Array:
    given = as_operand(mask)
    if product(shape_of(given)) != x.size:
        raise ValueError("putmask: mask and data must be the same size")
    given = traced(not_zero(given))[1].astype(bool)
    fresh = _repeated(_cast(values, x), x.size).reshape(x.shape)
    return where(given.reshape(x.shape), fresh, x)


@writes(np.place)
def place(x: Array, mask: Any, vals: Any) -> Array:
    """The first values go to where the mask holds, one after the other."""
    given = traced(not_zero(as_operand(mask)))[1].astype(bool)
    if given.size != x.size:
        raise ValueError("place: mask and data must be the same size")
    values = _cast(vals, x).reshape(-1)
    if values.shape[0] == 0:
        raise ValueError("Cannot insert from an empty array!")
    flat = given.reshape(-1)
    number = elementwise(np.maximum, cumsum(flat) - 1, 0) % values.shape[0]
    fresh = along(values, number).reshape(x.shape)
    return where(given.reshape(x.shape), fresh, x)


@writes(np.copyto)
def copyto(x: Array, src: Any, casting: Any = "same_kind", where: Any = True) -> Array:
    source = as_operand(src)
    kind = source.dtype if isinstance(source, (Array, np.ndarray, np.generic)) else np.result_type(x.dtype, source)
    if not np.can_cast(kind, x.dtype, casting):
        raise TypeError(f"Cannot cast array data from {kind!r} to {x.dtype!r} according to the rule {casting!r}")
    made = broadcast_to(_cast(source, x), x.shape)
    return made if where is True else _chosen(not_zero(where), made, x)


_chosen = where


@writes(np.fill_diagonal)
def fill_diagonal(x: Array, val: Any, wrap: bool = False) -> Array:
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and len(set(x.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    columns = x.shape[1]
    step = columns + 1 if x.ndim == 2 else 1 + int(np.cumprod(x.shape[:-1]).sum())
    stop = columns * columns if x.ndim == 2 and not wrap else x.size
    at = np.arange(x.size)
    mask = (at % step == 0) & (at < stop)
    fresh = _repeated(_cast(val, x), max(int(mask.sum()), 1))
    number = np.where(mask, np.cumsum(mask) - 1, 0)
    made = fresh[number].reshape(x.shape)
    return where(mask.reshape(x.shape), made, x)


@writes("fill")
def fill(x: Array, value: Any) -> Array:
    return broadcast_to(_cast(value, x), x.shape)


writes("sort")(sort)
writes("partition")(partition)

__all__ = ["WRITES"]
