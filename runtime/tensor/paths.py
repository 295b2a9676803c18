"""Views as paths: how a part is found in a whole, in arrays and in graphs, and how it is put back.

A step is ("reshape", shape), ("transpose", axes), ("slice", start, step, shape) or ("spread", shape, axes),
with the meaning of the primitive of that name, or ("diagonal", offset): of the last two axes.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...compiler.ir.graph import Builder, Value
from ...compiler.ir.types import Type
from ...compiler.ops import shape as S
from ...compiler.ops.elementwise import select
from ...compiler.ops.reduce import spread
from ...compiler.ops.source import number

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


def strided(shape: tuple[int, ...], path: Path = ()) -> np.ndarray:
    """An array of bytes with the layout of the part; its elements must not be touched."""
    strides, size = [], 1
    for n in reversed(shape):
        strides.append(size)
        size *= max(n, 1)
    one = np.zeros((), np.uint8)
    base = np.lib.stride_tricks.as_strided(one, shape, tuple(reversed(strides)))
    return part_of(base, path)


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
    return True


def take(b: Builder, value: Value, path: Path) -> Value:
    """Emit the steps."""
    for name, *attrs in path:
        if name == "diagonal":
            value = take(b, value, _plain(((name, *attrs),), value.type.static_shape()))
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
    """Emit `whole` with `part` written where `path` leads; no step may be a spread."""
    wholes = [whole]
    for step in path[:-1]:
        wholes.append(take(b, wholes[-1], (step,)))
    for outer, (name, *attrs) in zip(reversed(wholes), reversed(path), strict=True):
        if name == "diagonal":
            part = put(b, outer, part, _plain(((name, *attrs),), outer.type.static_shape()))
        elif name == "reshape":
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
