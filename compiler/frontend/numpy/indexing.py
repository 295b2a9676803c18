"""x[key] on traced arrays: slices and numbers by slicing, integer arrays by take, constant masks by both.

A key is brought to one entry per axis first. Slices, numbers and new axes make a view; the integer arrays that
remain are joined into one linear index along one axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops import index as prims
from ...ops import shape
from ...ops.elementwise import add, lt, mul, select
from ...ops.reduce import spread
from ...ops.source import measure, number
from ..array import FUNCTIONS, HOOKS, Array, find, here, implements, value_of
from ..errors import TraceIndexError, message
from ..promotion import as_operand, broadcast, cast, common_shape, constant, lift, measured, positions
from ..sizes import Length, plain, product
from ..tracing import Tracing, user_line
from .reductions import normal_axis
from .shaping import _source, reshape, transpose, view

ALL = slice(None)
SHORT = 16


def get(x: Array, key: Any) -> Array:
    """x[key], as NumPy does it."""
    now = here(x)
    if x.tracing is not now:
        x = Array(now, value_of(now, x), x.weak)
    place = key[0] if type(key) is tuple and len(key) == 1 else key
    if type(place) is int and now.sizes is None and x.value.type.shape:
        return _single(now, x, place)
    key = key if isinstance(key, tuple) else (key,)
    key = tuple([np.asarray(e, None if e else np.int64) if _is_list(e) else e for e in key])
    listed = [k for k, e in enumerate(key) if _is_short(e)]
    if listed and not any(isinstance(e, (Array, np.ndarray, list)) for e in key[: listed[0]] + key[listed[0] + 1 :]):
        return _listed(x, key, listed[0])
    key = tuple([as_operand(e) if isinstance(e, list) else e for e in key])
    parts = _parts(key, x)
    if not any(map(_is_array, parts)):
        return _basic(now, x, _expanded(parts, x))
    for axis, e in enumerate(e for e in _expanded(parts, x) if e is not None):
        if isinstance(e, (int, Length)):
            place_in(e, axis, x)
    return _advanced(now, x, parts)


def _advanced(now: Tracing, x: Array, parts: list[Any]) -> Array:
    """An index of which some parts are arrays; numbers beside arrays are arrays too."""
    whole = np.dtype(np.int64)
    parts = [measured(e) if isinstance(e, Length) else e for e in parts]
    parts = [Array(now, constant(now, e, whole, ())) if isinstance(e, int) else e for e in parts]
    places = [k for k, e in enumerate(parts) if _is_array(e)]
    together = places[-1] - places[0] + 1 == len(places)
    entries = _expanded(parts, x)
    first = next(k for k, e in enumerate(entries) if _is_array(e))
    at = sum(e is None or isinstance(e, slice) for e in entries[:first]) if together else 0
    gathered = [k for k, e in enumerate(e for e in entries if e is not None) if _is_array(e)]
    indices = [e for e in entries if _is_array(e)]
    y = _basic(now, x, [ALL if _is_array(e) else e for e in entries if e is not None])
    y = _gather(now, y, gathered, indices)
    return _new_axes(y, entries, at, y.ndim - (x.ndim - len(gathered)))


def _is_list(entry: Any) -> bool:
    """Whether a part of a key is a list for NumPy to read, of numbers or of other lists."""
    return isinstance(entry, list) and not _is_short(entry) and find(entry) is None


def _is_short(entry: Any) -> bool:
    """Whether a part of a key is a short list of numbers, which needs no gathering."""
    return isinstance(entry, list) and 0 < len(entry) <= SHORT and all(type(k) is int for k in entry)


def _listed(x: Array, key: tuple[Any, ...], place: int) -> Array:
    """x[..., [i, j, ...], ...] as pieces put together."""
    given = key[:place] + key[place + 1 :]
    if any(isinstance(e, (int, np.integer)) for e in given):  # a number beside a list is a list to NumPy
        return get(x, (*key[:place], np.asarray(key[place]), *key[place + 1 :]))
    skipped = x.ndim - sum(e is not None and e is not Ellipsis for e in key)
    axis = sum(1 if e is not Ellipsis else skipped for e in key[:place])
    pieces = [get(x, (*key[:place], k, *key[place + 1 :])) for k in key[place]]
    return FUNCTIONS[np.stack](pieces, axis)


def _new_axes(y: Array, entries: list[Any], at: int, rank: int) -> Array:
    """Move the gathered axes, which stand first, to where NumPy puts them, among new axes of size one."""
    sizes, rest = list(y.shape), []
    kept = iter(range(rank, y.ndim))
    for e in entries:
        if not _is_array(e):
            rest.append(None if e is None else next(kept))
    order = [*rest[:at], *range(rank), *rest[at:]]
    y = transpose(y, [k for k in order if k is not None])
    made = reshape(y, tuple(1 if k is None else sizes[k] for k in order)) if None in order else y
    return Array(made.tracing, made.value)


def _is_array(entry: Any) -> bool:
    return isinstance(entry, (Array, np.ndarray))


def _parts(key: tuple[Any, ...], x: Array) -> list[Any]:
    """The parts of a key: int, slice, None, Ellipsis, or arrays of indices, which masks become."""
    found: list[Any] = []
    for k, e in enumerate(key):
        if isinstance(e, Array) and e.dtype == bool and e.has_numbers():
            e = np.asarray(e)
        if isinstance(e, np.ndarray) and e.dtype == bool:
            _check_mask(e, key, k, x)
        found += _entry(e, x)
    used = sum(e is not None and e is not Ellipsis for e in found)
    if used > x.ndim:
        raise _refused(f"too many indices: {used} for an array of {x.ndim} axes", x)
    if sum(e is Ellipsis for e in found) > 1:
        raise _refused("an index can only have a single ellipsis ('...')", x)
    return found


def _axes_of(e: Any) -> int:
    """How many axes a part of a key takes."""
    return 0 if e is None or e is Ellipsis else e.ndim if getattr(e, "dtype", None) == np.dtype(bool) else 1


def _check_mask(mask: np.ndarray, key: tuple[Any, ...], place: int, x: Array) -> None:
    """The axes of a mask must have the sizes of those that it stands for."""
    first = sum(map(_axes_of, key[:place]))
    if any(e is Ellipsis for e in key[:place]):
        first = x.ndim - sum(map(_axes_of, key[place:]))
    if mask.shape != x.shape[first : first + mask.ndim]:
        raise _refused(f"a mask of shape {mask.shape} does not fit axis {first}", x, "use a mask of the array's shape")


def _expanded(parts: list[Any], x: Array) -> list[Any]:
    """One entry per axis, and None for new ones."""
    missing = [ALL] * (x.ndim - sum(e is not None and e is not Ellipsis for e in parts))
    dots = next((k for k, e in enumerate(parts) if e is Ellipsis), len(parts))
    return [*parts[:dots], *missing, *parts[dots + 1 :]]


def _entry(e: Any, x: Array) -> list[Any]:
    """What one part of a key stands for: a mask for as many arrays as it has axes."""
    if e is None or e is Ellipsis or isinstance(e, slice):
        return [e]
    if isinstance(e, (bool, np.bool)):
        raise _refused("a bool as an index is not supported", x, "use 0 or 1, or np.where")
    if isinstance(e, (int, np.integer)):
        return [int(e)]
    if isinstance(e, Length):
        return [e]
    if isinstance(e, range):
        return [np.asarray(e, np.int64)]
    if isinstance(e, np.ndarray):
        if e.dtype == bool:
            return list(e.nonzero())
        if e.dtype.kind in "iu":
            return [e if e.dtype in (np.int32, np.int64) else e.astype(np.int64)]
    if isinstance(e, Array) and e.dtype == bool:
        fix = "use np.where(mask, x, 0), which keeps the shape"
        raise _refused("x[mask] with a traced mask has a size that depends on values", x, fix)
    if isinstance(e, Array) and e.dtype.kind in "iu":
        return [e]
    kind = e.type if isinstance(e, Array) else getattr(e, "dtype", type(e).__name__)
    raise _refused(f"arrays used as indices must be of integer or boolean type, got {kind}", x)


def _refused(verdict: str, x: Array, fix: str = "") -> TraceIndexError:
    fix = fix or "index with numbers, slices or integer arrays"
    return TraceIndexError(message(verdict, user_line(), fix, array=x.type))


def _basic(now: Tracing, x: Array, entries: list[Any]) -> Array:
    """Slices and numbers, then the shape without the numbers and with new axes."""
    places, final = [], []
    for e in entries:
        if e is None:
            final.append(1)
            continue
        axis = len(places)
        single = isinstance(e, (int, Length))
        places.append((place_in(e, axis, x), 1, 1) if single else steps_in(e, x.shape[axis]))
        if not single:
            final.append(places[-1][2])
    start, step, count = ([p[k] for p in places] for k in range(3))
    value = x.value
    if tuple(count) != x.shape or any(k != 1 for k in step):
        value = now.emit(shape.slice_, value, start=tuple(start), step=tuple(step), shape=tuple(count))
    if value.type.shape != tuple(final):
        value = now.emit(shape.reshape, value, shape=tuple(final))
    return view(x, now, value) if final else Array(now, value)


def _single(now: Tracing, x: Array, place: int) -> Array:
    """x[place] along the first axis."""
    first, *rest = x.value.type.shape
    value, at, none = x.value, place_in(place, 0, x), (0,) * len(rest)
    if first != 1:
        value = now.emit(shape.slice_, value, start=(at, *none), step=(1,) * (1 + len(rest)), shape=(1, *rest))
    value = now.emit(shape.reshape, value, shape=tuple(rest))
    return view(x, now, value) if rest else Array(now, value)


def place_in(e: Any, axis: int, x: Array) -> Any:
    n = x.shape[axis]
    if not -n <= e < n:
        verdict = f"index {e} is out of bounds for axis {axis} with size {n}"
        raise TraceIndexError(message(verdict, user_line(), f"use an index from {-n} to {n - 1}", array=x.type))
    return e if e >= 0 else e + n


def steps_in(e: slice, n: Any) -> tuple[Any, int, Any]:
    """(start, step, count) of a slice of an axis of n elements."""
    if any(isinstance(k, Length) for k in (n, e.start, e.stop)):
        return _named_steps(e, n)
    places = range(*e.indices(n))
    return (places.start if len(places) else 0, places.step if len(places) else 1, len(places))


def _named_steps(e: slice, n: Any) -> tuple[Any, int, Any]:
    """The same where sizes are known by name."""
    step = 1 if e.step is None else e.step.__index__()
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def place(k: Any, missing: Any) -> Any:
        if k is None:
            return missing
        k = k if isinstance(k, Length) else k.__index__()
        k = k if k >= 0 else k + n
        return low if k < low else k if k < high else high

    start, stop = place(e.start, low if step > 0 else high), place(e.stop, high if step > 0 else low)
    count = -((start - stop) // step) if step > 0 else -((stop - start) // -step)
    return (start, step, count) if count > 0 else (0, 1, 0)


# ---- gathering


def _gather(now: Tracing, x: Array, axes: list[int], indices: list[Any]) -> Array:
    """x at arrays of indices along some axes; the axes of the indices come first."""
    to = common_shape("index", *indices)
    checked = [
        _checked(now, broadcast(now, lift(now, i), to), k, x.shape[k]) for k, i in zip(axes, indices, strict=True)
    ]
    rest = [k for k in range(x.ndim) if k not in axes]
    front = transpose(x, [*axes, *rest])
    rows = reshape(front, (product(x.shape[k] for k in axes), *(x.shape[k] for k in rest)))
    place = checked[0]
    for k, more in zip(axes[1:], checked[1:], strict=True):
        factor = now.emit(mul, place, _everywhere(now, x.shape[k], place))
        place = now.emit(add, factor, more)
    return Array(now, now.emit(prims.take, rows.value, place, axis=0))


def _everywhere(now: Tracing, size: Any, like: Any) -> Any:
    """A size as an i64 in every element of a value's shape."""
    if not isinstance(size, Length):
        return number(now.builder, size, like.type)
    return now.emit(spread, measure(now.builder, plain(size)), shape=like.type.shape, axes=())


def _checked(now: Tracing, value: Any, axis: int, size: Any) -> Any:
    """Indices as i64, negative ones counted from the end, all of them in range."""
    value = cast(now, value, np.dtype(np.int64))
    now.builder.where = user_line()
    below = now.emit(lt, value, number(now.builder, 0, value.type))
    wrapped = now.emit(add, value, _everywhere(now, size, value))
    value = now.emit(select, below, wrapped, value)
    return now.emit(prims.check_indices, value, axis=axis, size=size, wrapped=True)


@implements(np.take)
def take(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Array:
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    _now, x = _source(a)
    if axis is None:
        x, axis = reshape(x, -1), 0
    place = normal_axis(axis, x.ndim)
    key: Any = indices if isinstance(indices, Array) else np.asarray(indices)
    key = key.astype(np.int64) if key.dtype == np.bool_ else key  # numbers here, no mask
    if mode != "raise" and key.size:
        n = x.shape[place]
        if n == 0:
            raise IndexError("cannot do a non-empty take from an empty axes.")
        key = np.mod(key, n) if mode == "wrap" else np.minimum(np.maximum(key, 0), n - 1)
    return get(x, (*[ALL] * place, key))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Array:
    now, x = _source(arr)
    if axis is None:
        x, axis = reshape(x, -1), 0
    place = normal_axis(axis, x.ndim)
    rank = x.ndim
    key: list[Any] = []
    for k, n in enumerate(x.shape):
        if k == place:
            key.append(indices)
        else:
            key.append(positions(now, tuple(n if j == k else 1 for j in range(rank)), k))
    return get(x, tuple(key))


HOOKS["index"] = get

