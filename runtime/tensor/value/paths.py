"""Views as paths: how a part is found in a whole, in arrays and in graphs, and how it is put back.

A step is ("reshape", shape), ("transpose", axes), ("slice", start, step, shape) or ("spread", shape, axes),
with the meaning of the primitive of that name, or ("diagonal", offset): of the last two axes, or
("unfold", axis, size, step): windows, which become the last axis, or ("strided", shape, strides, offset) of a whole.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ....compiler.ir.graph import Builder, Value
from ....compiler.ir.types import Type
from ....compiler.ops import elementwise as E
from ....compiler.ops import shape as S
from ....compiler.ops.elementwise import select
from ....compiler.ops.index import scatter_add
from ....compiler.ops.index import take as take_rows
from ....compiler.ops.reduce import spread
from ....compiler.ops.source import iota, number
from . import symbolic_paths

Step = tuple[Any, ...]
Path = tuple[Step, ...]


def part_of(array: np.ndarray, path: Path) -> np.ndarray:
    """The part of `array` as a NumPy view of it; ValueError where only a copy could be."""
    for name, *attrs in path:
        if name == "reshape":
            array = np.reshape(array, attrs[0], copy=False)
        elif name == "transpose":
            array = array.transpose(attrs[0])
        elif name == "slice":
            array = array[_slices(*attrs)]
        elif name == "diagonal":
            array = _diagonal_of(array, *attrs)
        elif name == "unfold":
            array = _windows_of(array, *attrs)
        elif name == "strided":
            array = _strided_of(array, *attrs)
        else:
            shape, axes = attrs
            wide = tuple(slice(None) if a in axes else None for a in range(len(shape)))
            array = np.broadcast_to(array[wide], shape)
    return array


def _diagonal_of(array: np.ndarray, offset: int) -> np.ndarray:
    """np.diagonal of the last two axes, which can be written to."""
    found = np.diagonal(array, offset, -2, -1)
    found.flags.writeable = array.flags.writeable
    return found


def _windows_of(array: np.ndarray, axis: int, size: int, step: int) -> np.ndarray:
    made = np.lib.stride_tricks.sliding_window_view(array, size, axis, writeable=array.flags.writeable)
    return made[(*(slice(None),) * axis, slice(None, None, step))]


def _strided_of(array: np.ndarray, shape: Any, strides: Any, offset: int) -> np.ndarray:
    flat = np.reshape(array, -1, copy=False)[offset:]
    size = array.itemsize
    return np.lib.stride_tricks.as_strided(flat, shape, [s * size for s in strides], writeable=flat.flags.writeable)


def _places(b: Builder, whole: Value, name: str, attrs: Any) -> tuple[Value, int]:
    """Where the elements of windows, or of what strides give, lie along an axis; and the axis."""
    if name == "unfold":
        axis, size, step = attrs
        shape, factors, offset = ((whole.type.static_shape()[axis] - size) // step + 1, size), (step, 1), 0
    else:
        axis, (shape, factors, offset) = 0, attrs
    index = Type("i64", tuple(shape))
    place = number(b, offset, index)
    for a, factor in enumerate(factors):
        place = E.add(b, place, E.mul(b, iota(b, axis=a, type=index), number(b, factor, index)))
    return place, axis


def _looked_up(b: Builder, whole: Value, name: str, attrs: Any) -> Value:
    """Windows, or what strides give, as copies."""
    place, axis = _places(b, whole, name, attrs)
    if name == "strided":
        return take_rows(b, S.reshape(b, whole, shape=(whole.type.size,)), place, axis=0)
    rank = whole.type.rank
    made = take_rows(b, whole, place, axis=axis)
    return S.transpose(b, made, axes=(*range(axis + 1), *range(axis + 2, rank + 1), axis + 1))


def _placed(b: Builder, whole: Value, part: Value, name: str, attrs: Any) -> Value:
    """`whole` with the elements of `part`, of which none lies where another does, in their places."""
    place, axis = _places(b, whole, name, attrs)
    have = whole
    if name == "strided":
        have = S.reshape(b, whole, shape=(whole.type.size,))
    else:
        rank = whole.type.rank
        part = S.transpose(b, part, axes=(*range(axis + 1), rank, *range(axis + 1, rank)))
    count = have.type.with_dtype("i64")
    ones = number(b, 1, part.type.with_dtype("i64"))
    hit = E.ne(b, scatter_add(b, number(b, 0, count), place, ones, axis=axis), number(b, 0, count))
    if have.type.dtype == "bool":
        moved = scatter_add(b, number(b, 0, count), place, E.cast(b, part, dtype="i64"), axis=axis)
        moved = E.ne(b, moved, number(b, 0, count))
    else:
        moved = scatter_add(b, number(b, 0, have.type), place, part, axis=axis)
    return S.reshape(b, select(b, hit, moved, have), shape=whole.type.shape)


def _plain(path: Path, shape: tuple[int, ...]) -> Path:
    """The path with a diagonal at its start as the steps of which it consists, in a value of this shape."""
    if not path or path[0][0] != "diagonal":
        return path
    *lead, n, m = shape
    offset = path[0][1]
    start, length = (offset, min(n, m - offset)) if offset >= 0 else (-offset * m, min(n + offset, m))
    whole = (*lead, n * m)
    zeros, ones = (0,) * len(lead), (1,) * len(lead)
    part = ("slice", (*zeros, start if length > 0 else 0), (*ones, m + 1), (*lead, max(length, 0)))
    return ("reshape", whole), part, *path[1:]


def _slices(start: Any, step: Any, shape: Any) -> tuple[slice, ...]:
    ends = [s + n * k for s, k, n in zip(start, step, shape, strict=True)]
    return tuple(
        slice(s, e if e >= 0 else None, k) if n else slice(0, 0)
        for s, e, k, n in zip(start, ends, step, shape, strict=True)
    )


@lru_cache(maxsize=4096)
def strided(shape: tuple[int, ...], path: Path = ()) -> np.ndarray:
    """An array of bytes with the layout of the part; its elements must not be touched."""
    strides, size = [], 1
    for n in reversed(shape):
        strides.append(size)
        size *= max(n, 1)
    one = np.zeros((), np.uint8)
    base = np.lib.stride_tricks.as_strided(one, shape, tuple(reversed(strides)))
    return part_of(base, path)


def is_dense(shape: tuple[int, ...], path: Path) -> bool:
    """Whether the elements of the part follow each other in memory."""
    try:
        return _is_dense(shape, path)
    except TypeError:  # SymInts are in no table
        return symbolic_paths.is_dense(shape, path)


@lru_cache(maxsize=4096)
def _is_dense(shape: tuple[int, ...], path: Path) -> bool:
    return strided(shape, path).flags.c_contiguous


@lru_cache(maxsize=4096)
def overlap(shape: tuple[int, ...], a: Path, b: Path, even_equal: bool = False) -> bool:
    """Whether two parts that are dense in memory share elements; the same part twice counts only if `even_equal`."""
    base = strided(shape)
    spans = []
    for part in (part_of(base, a), part_of(base, b)):
        low, high = np.lib.array_utils.byte_bounds(part)
        if part.size != high - low:
            return False
        spans.append((low, high, part.strides))
    (low, high, _), (start, end, _) = spans
    return (even_equal or spans[0] != spans[1]) and max(low, start) < min(high, end)


def can_view(shape: tuple[int, ...], path: Path, step: Step) -> bool:
    """Whether a further step gives a view, where elements need not move."""
    try:
        strided(shape, (*path, step))
    except ValueError:
        return False
    except TypeError:  # SymInts are in no table
        return symbolic_paths.can_view(shape, path, step)
    return True


def take(b: Builder, value: Value, path: Path) -> Value:
    """Emit the steps."""
    for name, *attrs in path:
        if name == "diagonal":
            value = take(b, value, _plain(((name, *attrs),), value.type.static_shape()))
        elif name in ("unfold", "strided"):
            value = _looked_up(b, value, name, attrs)
        elif name == "reshape":
            value = S.reshape(b, value, shape=attrs[0])
        elif name == "transpose":
            value = S.transpose(b, value, axes=attrs[0])
        elif name == "slice":
            value = S.slice_(b, value, start=attrs[0], step=attrs[1], shape=attrs[2])
        else:
            value = spread(b, value, shape=attrs[0], axes=attrs[1])
    return value


def put(b: Builder, whole: Value, part: Value, path: Path) -> Value:
    """Emit `whole` with `part` written where `path` leads, where no two elements of it lie in one place."""
    if not path:
        return part
    if any(name == "spread" and prod(attrs[0]) > prod([attrs[0][a] for a in attrs[1]]) for name, *attrs in path):
        base = strided(whole.type.static_shape())
        view = part_of(base, path)  # a part of what a step repeats: a row of a matrix of which all rows are one
        return _placed(b, whole, part, "strided", (view.shape, view.strides, view.ctypes.data - base.ctypes.data))
    wholes = [whole]
    for step in path[:-1]:
        wholes.append(take(b, wholes[-1], (step,)))
    for outer, (name, *attrs) in zip(reversed(wholes), reversed(path), strict=True):
        if name == "diagonal":
            part = put(b, outer, part, _plain(((name, *attrs),), outer.type.static_shape()))
        elif name in ("unfold", "strided"):
            part = _placed(b, outer, part, name, attrs)
        elif name in ("reshape", "spread"):
            part = S.reshape(b, part, shape=outer.type.shape)
        elif name == "transpose":
            part = S.transpose(b, part, axes=S.inverse(attrs[0]))
        else:
            shape = outer.type.static_shape()
            if prod(part.type.static_shape()) == prod(shape) and all(k == 1 for k in attrs[1]):
                continue
            place = {"start": attrs[0], "step": attrs[1], "shape": shape}
            inside = S.pad(b, number(b, True, Type("bool", part.type.shape)), **place)
            part = select(b, inside, S.pad(b, part, **place), outer)
    return part
