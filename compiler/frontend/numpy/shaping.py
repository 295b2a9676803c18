"""NumPy's functions that move, repeat and join elements, on traced arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops import shape as prims
from ..array import Array, here, implements
from ..errors import TraceError, TraceValueError, message
from ..promotion import as_operand, broadcast, conform, result_dtype, shape_of
from ..sizes import Length, broadcast_shapes, product
from ..tracing import Tracing, user_line
from .reductions import axes_of, normal_axis, traced


def view(of: Array, now: Tracing, value: Any) -> Array:
    """An array that in NumPy shares memory with another: neither may be updated in place."""
    of.shared = True
    return Array(now, value, of.weak and value.type.rank == 0, shared=True)


def sizes(shape: Any) -> tuple[Any, ...]:
    """A shape as a tuple of numbers and lengths."""
    given = tuple(shape) if isinstance(shape, (tuple, list, range, np.ndarray)) else (shape,)
    return tuple(n if isinstance(n, Length) else n.__index__() for n in given)


@implements(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None) -> Array:
    now, x = _source(a)
    if order == "F":
        return reshape(x.T, sizes(shape)[::-1]).T
    to = list(sizes(shape if newshape is None else newshape))
    rest = product(n for n in to if n >= 0)
    open_ = [k for k, n in enumerate(to) if isinstance(n, int) and n == -1]
    if len(open_) == 1 and rest and x.size % rest == 0:
        to[open_[0]] = x.size // rest
    if any(n < 0 for n in to) or product(to) != x.size:
        verdict = f"cannot reshape array of size {x.size} into shape {tuple(sizes(shape))}"
        raise TraceValueError(message(verdict, user_line(), "sizes must multiply to the same number"))
    if tuple(to) == x.shape:
        return view(x, now, x.value)
    return view(x, now, now.emit(prims.reshape, x.value, shape=tuple(to)))


def _source(a: Any) -> tuple[Tracing, Array]:
    """Like `traced`, but an Array of this very trace stays the same object, for views to mark."""
    if isinstance(a, Array) and a.tracing is here(a):
        return a.tracing, a
    return traced(a)


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Array:
    return reshape(a, -1, order)


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
    now, x = traced(a)
    return Array(now, x.value)


@implements(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Sequence[int] | None = None) -> Array:
    now, x = _source(a)
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(normal_axis(k, x.ndim) for k in axes)
    if sorted(order) != list(range(x.ndim)):
        raise TraceValueError(message(f"axes {axes} don't match array {x.type}", user_line()))
    if list(order) == sorted(order):
        return view(x, now, x.value)
    return view(x, now, now.emit(prims.transpose, x.value, axes=order))


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    order = list(range(a.ndim))
    i, j = normal_axis(axis1, a.ndim), normal_axis(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


@implements(np.matrix_transpose)
def matrix_transpose(a: Any) -> Array:
    return swapaxes(a, -1, -2)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    _now, x = _source(a)
    start = [normal_axis(k, x.ndim) for k in sizes(source)]
    end = [normal_axis(k, x.ndim) for k in sizes(destination)]
    order = [k for k in range(x.ndim) if k not in start]
    for to, at in sorted(zip(end, start, strict=True)):
        order.insert(to, at)
    return transpose(x, order)


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Array:
    _now, x = _source(a)
    gone = [k for k, n in enumerate(x.shape) if n == 1] if axis is None else axes_of(axis, x.ndim)
    if any(x.shape[k] != 1 for k in gone):
        raise TraceValueError(message(f"cannot squeeze axis {axis} of {x.type}", user_line()))
    return reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in gone))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Array:
    _now, x = _source(a)
    given = sizes(axis)
    new = axes_of(given, x.ndim + len(given))
    rest = iter(x.shape)
    return reshape(x, tuple(1 if k in new else next(rest) for k in range(x.ndim + len(new))))


@implements(np.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    made = [_at_least(a, 1) for a in arrays]
    return made[0] if len(made) == 1 else tuple(made)


@implements(np.atleast_2d)
def atleast_2d(*arrays: Any) -> Any:
    made = [_at_least(a, 2) for a in arrays]
    return made[0] if len(made) == 1 else tuple(made)


def _at_least(a: Any, rank: int) -> Array:
    _now, x = _source(as_operand(a))
    return x if x.ndim >= rank else reshape(x, ((1,) * (rank - x.ndim)) + x.shape)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any) -> Array:
    now, x = _source(array)
    to = sizes(shape)
    fits = len(to) >= x.ndim and all(m in (1, n) for m, n in zip(x.shape[::-1], to[::-1], strict=False))
    if not fits:
        raise TraceValueError(message(f"cannot broadcast {x.type} to shape {to}", user_line()))
    return view(x, now, broadcast(now, x.value, to))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> tuple[Array, ...]:
    to = broadcast_shapes(*map(shape_of, args))
    return tuple(broadcast_to(a, to) for a in args)


# ---- joining and repeating


def _are_rows(arrays: Any, dtype: Any) -> bool:
    """Whether arrays to be joined are the rows of one: it is moved as a whole, not taken apart."""
    return isinstance(arrays, Array) and arrays.ndim > 0 and dtype is None and arrays.shape[0] > 0


def _side_by_side(rows: Array, axis: int | None) -> Array:
    """The rows of an array one after the other along an axis of each."""
    if axis is None:
        return reshape(rows, -1).copy()
    if rows.ndim == 1:
        raise TraceValueError(message("zero-dimensional arrays cannot be concatenated", user_line(), "use np.stack"))
    place = normal_axis(axis, rows.ndim - 1)
    n, row = rows.shape[0], rows.shape[1:]
    return reshape(moveaxis(rows, 0, place), (*row[:place], n * row[place], *row[place + 1 :])).copy()


@implements(np.concatenate, np.concat)
def concatenate(arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    if _are_rows(arrays, dtype):
        return _side_by_side(arrays, axis)
    parts = [as_operand(a) for a in arrays]
    to = np.dtype(dtype) if dtype is not None else result_dtype(*parts)  # here a number of Python's is one yet
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    now, rank = here(*parts), len(shape_of(parts[0]))
    for kind in {result_dtype(p) for p in parts}:
        if not np.can_cast(kind, to, casting):  # type: ignore[arg-type]
            text = f"Cannot cast array data from {kind!r} to {to!r} according to the rule {casting!r}"
            raise TraceError(message(text, user_line(), "cast the arrays first"))
    if rank == 0:
        raise TraceValueError(message("zero-dimensional arrays cannot be concatenated", user_line(), "use np.stack"))
    place = normal_axis(axis, rank)
    shapes = [shape_of(p) for p in parts]
    if any(len(s) != rank or s[:place] + s[place + 1 :] != shapes[0][:place] + shapes[0][place + 1 :] for s in shapes):
        listed = ", ".join(map(str, shapes))
        raise TraceValueError(message(f"shapes {listed} do not join along axis {axis}", user_line()))
    values = [conform(now, p, to, s) for p, s in zip(parts, shapes, strict=True)]
    return Array(now, now.emit(prims.concatenate, *values, axis=place))


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    if _are_rows(arrays, dtype):
        return moveaxis(arrays, 0, normal_axis(axis, arrays.ndim)).copy()
    parts = [as_operand(a) for a in arrays]
    shapes = {shape_of(p) for p in parts}
    if len(shapes) != 1:
        listed = ", ".join(map(str, sorted(shapes)))
        raise TraceValueError(message(f"np.stack needs arrays of one shape, got {listed}", user_line()))
    place = normal_axis(axis, len(next(iter(shapes))) + 1)
    return concatenate([_thickened(p, place) for p in parts], place, dtype=dtype, casting=casting)


def _thickened(x: Any, place: int) -> Any:
    """`expand_dims` at one place; a stack of many numbers takes most of its time here."""
    if not isinstance(x, Array) or x.tracing is not here(x):
        return expand_dims(x, place)
    shape = x.shape
    return Array(x.tracing, x.tracing.emit(prims.reshape, x.value, shape=(*shape[:place], 1, *shape[place:])))


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    if _are_rows(tup, dtype) and tup.ndim < 3:
        return reshape(tup, (tup.shape[0], -1)).copy()
    parts = tup if _are_rows(tup, dtype) else [_at_least(a, 2) for a in tup]
    return concatenate(parts, 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    if _are_rows(tup, dtype):
        return _side_by_side(tup, 1 if tup.ndim > 2 else 0) if tup.ndim > 1 else tup.copy()
    parts = [_at_least(a, 1) for a in tup]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.column_stack)
def column_stack(tup: Any) -> Array:
    if _are_rows(tup, None):
        return _side_by_side(tup, 1) if tup.ndim > 2 else reshape(tup, (tup.shape[0], -1)).T.copy()
    parts = [_at_least(a, 1) for a in tup]
    return concatenate([p if p.ndim > 1 else expand_dims(p, 1) for p in parts], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    return concatenate([arr, values], axis)


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Array:
    _now, x = _source(m)
    gone = axes_of(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if k in gone else slice(None) for k in range(x.ndim))]


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    _now, x = _source(a)
    if axis is None:
        return reshape(roll(reshape(x, -1), shift, 0), x.shape)
    places = sizes(axis)
    for by, place in zip(np.broadcast_to(sizes(shift), len(places)), places, strict=True):
        k = normal_axis(place, x.ndim)
        n, by = x.shape[k], int(by)
        cut = (n - by if 0 <= by < n else -by if 0 < -by <= n else n - by % n) if n else 0
        front = [slice(None)] * k
        x = concatenate([x[(*front, slice(cut, None))], x[(*front, slice(None, cut))]], k)
    return x


@implements(np.tile)
def tile(A: Any, reps: Any) -> Array:
    _now, x = _source(as_operand(A))
    counts = sizes(reps)
    if any(n < 0 for n in counts):
        raise ValueError("negative dimensions are not allowed")
    rank = max(x.ndim, len(counts))
    counts, own = (1,) * (rank - len(counts)) + counts, (1,) * (rank - x.ndim) + x.shape
    pairs = tuple(n for pair in zip(counts, own, strict=True) for n in pair)
    wide = tuple(n for k in own for n in (1, k))
    made = broadcast_to(reshape(x, wide), pairs)
    return reshape(made, tuple(c * n for c, n in zip(counts, own, strict=True))).copy()


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Array:
    _now, x = _source(as_operand(a))
    if axis is None:
        x, axis = reshape(x, -1), 0
    place = normal_axis(axis, x.ndim)
    if not isinstance(repeats, (int, np.integer)):
        counts = np.broadcast_to(np.asarray(repeats), x.shape[place])
        return x[(*[slice(None)] * place, np.repeat(np.arange(x.shape[place]), counts))]
    if repeats < 0 and x.shape[place] != 0:
        raise ValueError("repeats may not contain negative values.")
    repeats = max(int(repeats), 0)
    wide = (*x.shape[: place + 1], repeats, *x.shape[place + 1 :])
    made = broadcast_to(expand_dims(x, place + 1), wide)
    return reshape(made, (*x.shape[:place], x.shape[place] * repeats, *x.shape[place + 1 :])).copy()


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    _now, x = _source(ary)
    n = x.shape[normal_axis(axis, x.ndim)]
    if isinstance(indices_or_sections, (int, np.integer)) and n % indices_or_sections:
        verdict = "array split does not result in an equal division"
        raise TraceValueError(message(verdict, user_line(), "use np.array_split"))
    return array_split(x, indices_or_sections, axis)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    _now, x = _source(ary)
    place = normal_axis(axis, x.ndim)
    n, given = x.shape[place], indices_or_sections
    if isinstance(given, (int, np.integer)):
        if given <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, more = divmod(n, given)
        given = list(itertools.accumulate(each + (k < more) for k in range(given)))[:-1]
    ends = [0, *(k if isinstance(k, Length) else int(k) for k in given), n]
    front = [slice(None)] * place
    return [x[(*front, slice(a, b))] for a, b in itertools.pairwise(ends)]


def core(name: str, x1: Any, x2: Any, first: Sequence[int], second: Sequence[int]) -> None:
    """ValueError unless the operands have these axes, and the first axis of each, which are summed, one length."""
    one, other = (shape_of(as_operand(x)) for x in (x1, x2))
    if not all(-len(s) <= k < len(s) for s, axes in ((one, first), (other, second)) for k in axes):
        raise ValueError(f"{name}: operands of shapes {one} and {other} do not have enough dimensions")
    if one[first[0]] != other[second[0]]:
        raise ValueError(f"{name}: operands of shapes {one} and {other} have a mismatch in the axis that is summed")
