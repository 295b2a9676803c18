"""NumPy's functions that turn, split, block and window traced arrays, or apply a function along their axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import Array, implements
from ..errors import TraceError, TraceValueError, message
from ..promotion import as_operand, shape_of
from ..tracing import user_line
from .reductions import normal_axis, traced
from .shaping import (
    _source,
    array_split,
    concatenate,
    expand_dims,
    flip,
    moveaxis,
    reshape,
    roll,
    stack,
    swapaxes,
    transpose,
    view,
)


def _wrong(text: str, fix: str = "") -> TraceValueError:
    return TraceValueError(message(text, user_line(), fix))


# ---- turning


@implements(np.flipud)
def flipud(m: Any) -> Array:
    if not shape_of(m):
        raise _wrong("Input must be >= 1-d.")
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Any) -> Array:
    if len(shape_of(m)) < 2:
        raise _wrong("Input must be >= 2-d.")
    return flip(m, 1)


def _shifted(x: Any, axes: Any, sign: int) -> Array:
    """Rolled along axes by half their length: up, or down where the sign is negative."""
    _now, y = _source(x)
    places = range(y.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    if y.ndim == 0:
        raise ValueError("an array of no dimensions has no frequencies to shift")
    lengths = [y.shape[normal_axis(k, y.ndim)] for k in places]
    return roll(y, tuple(n // 2 if sign > 0 else -(n // 2) for n in lengths), tuple(places))


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Array:
    return _shifted(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Array:
    return _shifted(x, axes, -1)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Array:
    _now, x = _source(m)
    pair = tuple(axes)
    if len(pair) != 2:
        raise _wrong("len(axes) must be 2.")
    if pair[0] == pair[1] or abs(pair[0] - pair[1]) == x.ndim:
        raise _wrong("Axes must be different.")
    i, j = (normal_axis(a, x.ndim) for a in pair)
    turns = k % 4
    if turns in (0, 2):
        return x[...] if turns == 0 else flip(flip(x, i), j)
    return swapaxes(flip(x, j), i, j) if turns == 1 else flip(swapaxes(x, i, j), j)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    _now, x = _source(a)
    place = normal_axis(axis, x.ndim)
    begin = start + x.ndim if start < 0 else start
    if not 0 <= begin <= x.ndim:
        text = f"start arg requires {-x.ndim} <= start < {x.ndim + 1}, but {start} was passed in"
        raise np.exceptions.AxisError(message(f"'start' {text[len('start '):]}", user_line()))
    begin -= place < begin
    order = [k for k in range(x.ndim) if k != place]
    order.insert(begin, place)
    return transpose(x, order)


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    made = tuple(_three(_source(as_operand(a))[1]) for a in arys)
    return made[0] if len(made) == 1 else made


def _three(x: Array) -> Array:
    """A row becomes (1, n, 1), a matrix (m, n, 1)."""
    return x if x.ndim > 2 else reshape(x, {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}[x.ndim])


# ---- splitting and joining


@implements(np.dstack)
def dstack(tup: Any) -> Array:
    if isinstance(tup, Array) and 0 < tup.ndim < 4:
        return _three(moveaxis(tup, 0, -1)) if tup.ndim == 3 else reshape(moveaxis(tup, 0, -1), (1, -1, tup.shape[0]))
    return concatenate([_three(_source(as_operand(a))[1]) for a in tup], 2)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    _now, y = _source(x)
    if not y.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(y, axis, 0))


def _split(name: str, least: int, axis: int) -> Callable[..., Any]:
    def split(ary: Any, indices_or_sections: Any) -> list[Array]:
        _now, x = _source(ary)
        if x.ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        place = axis if x.ndim > 1 else 0
        given = indices_or_sections
        if isinstance(given, (int, np.integer)) and x.shape[place] % given:
            raise _wrong("array split does not result in an equal division", "use np.array_split")
        return array_split(x, given, place)

    split.__name__ = name
    return split


hsplit = implements(np.hsplit)(_split("hsplit", 1, 1))
vsplit = implements(np.vsplit)(_split("vsplit", 2, 0))
dsplit = implements(np.dsplit)(_split("dsplit", 3, 2))


@implements(np.block)
def block(arrays: Any) -> Array:
    deep = _depth(arrays, "arrays")
    rank = max(deep, _widest(arrays))
    return _blocked(arrays, deep, rank).copy()


def _depth(arrays: Any, place: str) -> int:
    """How deep the lists are nested, everywhere."""
    if isinstance(arrays, tuple):
        text = f"{place} is a tuple. Only lists can be used to arrange blocks, and np.block does not allow implicit"
        raise TypeError(f"{text} conversion from tuple to ndarray.")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError(f"List at {place} cannot be empty")
    depths = [_depth(each, f"{place}[{k}]") for k, each in enumerate(arrays)]
    if len(set(depths)) > 1:
        k = next(k for k, d in enumerate(depths) if d != depths[0])
        above = place.count("[") + 1
        text = f"List depths are mismatched. First element was at depth {depths[0] + above}, but there is an element at"
        raise ValueError(f"{text} depth {depths[k] + above} ({place}[{k}]{'[0]' * depths[k]})")
    return depths[0] + 1


def _widest(arrays: Any) -> int:
    return max(map(_widest, arrays)) if isinstance(arrays, list) else len(shape_of(as_operand(arrays)))


def _blocked(arrays: Any, deep: int, rank: int) -> Array:
    """Lists at the innermost level are joined along the last axis, those around them along the one before."""
    if not isinstance(arrays, list):
        _now, x = traced(arrays)
        return reshape(x, (1,) * (rank - x.ndim) + x.shape)
    return concatenate([_blocked(each, deep - 1, rank) for each in arrays], rank - deep)


# ---- windows


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    now, y = _source(x)
    windows = tuple(window_shape) if isinstance(window_shape, (tuple, list, np.ndarray)) else (window_shape,)
    if any(w < 0 for w in windows):
        raise _wrong("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(y.ndim))
        if len(windows) != len(axes):
            text = "Since axis is None, must provide window_shape for all dimensions of `x`; got"
            raise _wrong(f"{text} {len(windows)} window_shape elements and `x.ndim` is {y.ndim}.")
    else:
        axes = tuple(normal_axis(a, y.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
        if len(windows) != len(axes):
            text = "Must provide matching length window_shape and axis; got"
            raise _wrong(f"{text} {len(windows)} window_shape elements and {len(axes)} axes elements.")
    z, rank = y, y.ndim
    for k, w in zip(axes, windows, strict=True):
        if w > z.shape[k]:
            raise _wrong("window shape cannot be larger than input array shape")
        places = np.arange(z.shape[k] - w + 1)[:, None] + np.arange(w)
        z = moveaxis(z[(*[slice(None)] * k, places)], k + 1, -1)
    assert z.ndim == rank + len(axes)
    return view(y, now, z.value)


# ---- functions along axes


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Array:
    """Every row by itself; what is made of it stands where the row was."""
    _now, x = _source(arr)
    place = normal_axis(axis, x.ndim)
    rows = moveaxis(x, place, -1)
    around = rows.shape[:-1]
    if 0 in around:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = [traced(func1d(rows[at], *args, **kwargs))[1] for at in np.ndindex(*around)]
    whole = reshape(stack(made), (*around, *made[0].shape))
    order = list(range(len(around)))
    return transpose(whole, [*order[:place], *range(len(around), whole.ndim), *order[place:]]).copy()


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    _now, x = _source(a)
    rank = x.ndim
    for axis in axes if isinstance(axes, (tuple, list, np.ndarray)) else (axes,):
        place = axis + rank if axis < 0 else axis
        made = func(x, place)
        x = made if made.ndim == x.ndim else expand_dims(made, place)
        if x.ndim != rank:
            raise ValueError("function is not returning an array of the correct shape")
    return x


def vectorized(made: np.vectorize, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an object of np.vectorize makes of traced arrays: its function, called for every element or core array."""
    function = made.pyfunc
    places: list[Any] = [k for k in range(len(args)) if k not in made.excluded]
    places += [name for name in kwargs if name not in made.excluded]
    inputs = [traced(args[k] if isinstance(k, int) else kwargs[k])[1] for k in places]
    signature: Any = getattr(made, "_in_and_out_core_dims", None)
    core = [len(dims) for dims in signature[0]] if signature else [0] * len(inputs)
    if len(core) != len(inputs):
        raise TypeError(f"wrong number of positional arguments: expected {len(core)}, got {len(inputs)}")
    around = np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(inputs, core, strict=True)))
    if 0 in around:
        raise TraceError(message("np.vectorize of an array without elements", user_line(), "check the size before"))
    wide = [x[(None,) * (len(around) - x.ndim + n)] for x, n in zip(inputs, core, strict=True)]

    def at(index: tuple[int, ...], strong: bool) -> tuple[Any, ...]:
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        for k, x in zip(places, wide, strict=True):
            one = x[tuple(0 if n == 1 else i for i, n in zip(index, x.shape, strict=False))]
            given[k] = one if strong or signature else one.item()
        found = function(*(given[k] for k in range(len(args))), **{k: given[k] for k in kwargs})
        return found if isinstance(found, tuple) else (found,)

    kinds = made.otypes and tuple(map(np.dtype, made.otypes))
    if not kinds and not signature:
        kinds = tuple(traced(each)[1].dtype for each in at((0,) * len(around), True))
    rows = [at(index, False) for index in np.ndindex(*around)]
    results = [stack([traced(each)[1] for each in column]) for column in zip(*rows, strict=True)]
    if kinds:
        results = [each.astype(dtype) for each, dtype in zip(results, kinds, strict=True)]
    results = [reshape(each, (*around, *each.shape[1:])).copy() for each in results]
    return tuple(results) if len(results) > 1 else results[0]


__all__ = ["apply_along_axis", "block", "sliding_window_view", "vectorized"]
