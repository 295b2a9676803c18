"""Views that move or drop axes, and stores through them: in comes a reference to an array, out comes a part of it.

    P.T[i] = x        the rows of what P.T shows are columns of P, which is what changes
    a.flat[k] = x     the element of a that is at place k of all of them in order
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Array
from ...sizes import Length
from ..calls import NATIVE, attribute, call, lower, meaning_of
from ..containers.listed import has_traced
from ..machine import Machine
from ..values import At, Part, Ref, Reshaped, Span, is_array
from .access import get_array, read, set_array, shape_of, view, wrap
from .parts import native


def moved_axes(m: Machine, move: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function of NumPy makes of an array by moving and dropping axes."""
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    if not is_array(x) or has_traced(low) or has_traced(named):
        return NATIVE[0](m, move, [x, *args], kwargs)
    made = _moved(m, x, lambda a: move(a, *low, **named))
    return made if made.path[-1].shape else get_array(m, made, ())


def _moved(m: Machine, ref: Ref, move: Callable[[np.ndarray], np.ndarray]) -> Ref:
    """The view, found by what the function does with an array whose strides tell its axes apart."""
    sizes = shape_of(m, ref)
    marks = tuple(range(8, 8 * len(sizes) + 8, 8))
    numbers = tuple([2 if isinstance(n, Length) and n != 1 else int(n) for n in sizes])  # axes of one may be dropped
    made = native(m, lambda: move(np.lib.stride_tricks.as_strided(np.empty(1), numbers, marks)))
    axes = [mark // 8 - 1 for mark in made.strides]
    entries = tuple([Span(0, 1, n) if k in axes else At(0) for k, n in enumerate(sizes)])
    ranks = {axis: rank for rank, axis in enumerate(sorted(axes))}
    return view(m, ref, Part(entries, tuple([ranks[axis] for axis in axes]), sizes))


for _move in (np.transpose, np.matrix_transpose, np.linalg.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis,
              np.squeeze):
    meaning_of(_move)(lambda m, a, *args, move=_move, **kwargs: moved_axes(m, move, a, *args, **kwargs))


def cut(m: Machine, function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function of NumPy makes of an array by cutting it into spans and turning these: views, one or a list."""
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    made = None if not is_array(x) or has_traced(low) or has_traced(named) else _cut(m, x, function, low, named)
    return NATIVE[0](m, function, [x, *args], kwargs) if made is None else made


def _cut(m: Machine, ref: Ref, function: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> Any:
    """The views; None if they say too little of a size that is a name, or there are more elements than addresses.

    Elements lie in the places that their indices are the digits of, so an address tells where a view begins.
    """
    sizes = shape_of(m, ref)
    numbers = tuple([2 if isinstance(n, Length) else int(n) for n in sizes])
    base = max((*numbers, 2)) + 1
    if base ** len(sizes) > MOST or 0 in numbers:
        return None
    marks = tuple([8 * base**k for k in range(len(sizes))])
    whole = np.lib.stride_tricks.as_strided(np.empty(1), numbers, marks)
    found = native(m, lambda: function(whole, *args, **named))
    origin, views = whole.ctypes.data, found if isinstance(found, list) else [found]
    parts = [_part_at(v, (v.ctypes.data - origin) // 8, sizes, base) for v in views]
    if any(part is None for part in parts):
        return None
    made = tuple([view(m, ref, part) for part in parts if part is not None])
    return m.new("list", made) if isinstance(found, list) else made[0]


def _part_at(v: np.ndarray, offset: int, sizes: tuple[int, ...], base: int) -> Part | None:
    """The part that a view with steps of one is, which begins at an address."""
    axes = [round(np.log(abs(stride) / 8) / np.log(base)) for stride in v.strides]
    entries: list[Span] = []
    for k, size in enumerate(sizes):
        at = axes.index(k)
        entry = Span(offset // base**k % base if v.size else 0, 1 if v.strides[at] > 0 else -1, v.shape[at])
        if isinstance(size, Length):
            if (entry.start, entry.step, entry.count) != (0, 1, 2):
                return None
            entry = Span(0, 1, size)
        entries.append(entry)
    return Part(tuple(entries), tuple(axes), sizes)


MOST = 2**58
"""Elements that have addresses of their own."""

for _cutting in (np.flip, np.fliplr, np.flipud, np.rot90, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit):
    meaning_of(_cutting)(lambda m, x, *args, cutting=_cutting, **kwargs: cut(m, cutting, x, *args, **kwargs))


@meaning_of(np.expand_dims)
def _expanded(m: Machine, a: Any, axis: Any) -> Any:
    """New axes are what `None` is in an index."""
    if not is_array(a):
        return NATIVE[0](m, np.expand_dims, [a, axis], {})
    low = native(m, lambda: np.expand_dims(np.empty((0,) * len(shape_of(m, a))), lower(m, axis)).shape)
    return get_array(m, a, tuple([None if n == 1 else slice(None) for n in low]))


def reshaped(m: Machine, ref: Any, shape: Any) -> Ref | None:
    """An array in another shape, a view; None if it is not known to be one, or to which sizes."""
    if not is_array(ref) or not ref.box.rows or has_traced([shape]):
        return None
    sizes = shape_of(m, ref)
    if any(isinstance(n, Length) for n in (*m.content(ref.box).shape, *sizes)) or 0 in sizes:
        return None
    try:
        made = np.reshape(_laid(m, ref), lower(m, shape), copy=False)
    except (ValueError, TypeError):  # it is a copy, or an error that NumPy's function says
        return None
    return view(m, ref, Reshaped(sizes, made.shape))


def _laid(m: Machine, ref: Ref) -> np.ndarray:
    """An array of bytes whose elements lie as those of a view do, from wherever; they must not be touched."""
    shape = tuple(m.content(ref.box).shape)
    strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    made = np.lib.stride_tricks.as_strided(np.zeros((), np.uint8), shape, strides)
    for part in ref.path:
        if isinstance(part, Reshaped):
            made = np.reshape(made, part.shape, copy=False)
            continue
        index = [0 if isinstance(e, At) else slice(*_span(e)) for e in part.entries]
        made = made[tuple(index)].transpose(part.moved)[tuple([None if k is None else slice(None) for k in part.order])]
    return made


def _span(e: Span) -> tuple[int, int | None, int]:
    """The first elements of an axis that are as far apart as those of a span."""
    return (0, e.count * e.step, e.step) if e.step > 0 else ((e.count - 1) * -e.step, None, e.step)


@meaning_of(np.reshape)
def _reshape(m: Machine, a: Any, *args: Any, **kwargs: Any) -> Any:
    made = reshaped(m, a, args[0]) if len(args) == 1 and not kwargs else None
    return NATIVE[0](m, np.reshape, [a, *args], kwargs) if made is None else made


@meaning_of(np.ravel)
def _ravel(m: Machine, a: Any, *args: Any, **kwargs: Any) -> Any:
    made = None if args or kwargs else reshaped(m, a, -1)
    return NATIVE[0](m, np.ravel, [a, *args], kwargs) if made is None else made


def stored_into(m: Machine, into: ast.expr, set_item: Callable[..., None]) -> tuple[Any, Callable[..., None]]:
    """What `into[key] = value` stores into, and how: of a.flat it is a."""
    if not isinstance(into, ast.Attribute) or into.attr != "flat":
        return m.eval(into), set_item
    base = m.eval(into.value)
    return (base, functools.partial(_set_flat, set_item)) if is_array(base) else (attribute(m, base, "flat"), set_item)


def _set_flat(set_item: Callable[..., None], m: Machine, ref: Ref, key: Any, value: Any) -> None:
    """a.flat[key] = value."""
    x = read(m, ref)
    row = wrap(m, Array(m.now, m.value(x)).reshape(-1) if isinstance(x, Array) else x.reshape(-1).copy())
    set_item(m, row, key, value)
    set_array(m, ref, Ellipsis, call(m, np.reshape, [row, shape_of(m, ref)], {}))


__all__ = ["cut", "moved_axes", "reshaped", "stored_into"]
