"""The largest element of every window.

It is found by comparing the elements of a window one after the other, first row first; only a larger one, or a NaN,
replaces what was found, so that its gradient goes to the first of equals, as PyTorch's does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product, repeat
from typing import Any

from .....compiler.ops.shape import reshape, slice_
from .....compiler.ops.source import iota
from ...trace.fragments.fragments import Operation
from ...value.core import Core, apply_all, wrap
from ..arranging.shapes import shape_of, squeeze
from .windows import (
    RANK,
    Window,
    flat,
    picture,
    places_of,
    pool_window,
    row_picture,
    side_by_side,
    sizes_of,
    surrounded,
    tiled,
)


def _elements(m: Any, x: Any, window: Window, places: tuple[int, ...]) -> Iterator[Any]:
    """For each element of a window, that element of the windows at all places."""
    lead, sizes = sizes_of(x, len(places))
    tiles = side_by_side(window, sizes, places)
    x = tiled(m, x, window, places) if tiles else x
    for at in product(*map(range, window.kernel)):
        if tiles:
            start = (*(0 for _ in lead), *(n for k in at for n in (0, k)))
            shape = (*lead, *(n for p in places for n in (p, 1)))
            part = slice_(m.b, x.value, start=start, step=(1,) * len(start), shape=shape)
            yield m(reshape(m.b, part, shape=(*lead, *places)))
        else:
            start = (*(0 for _ in lead), *(k * d for k, d in zip(at, window.dilation, strict=True)))
            step = (*(1 for _ in lead), *window.stride)
            yield m(slice_(m.b, x.value, start=start, step=step, shape=(*lead, *places)))


# ---- the largest


def _largest(m: Any, x: Any, window: Window, places: tuple[int, ...], indices: bool) -> Any:
    """An element outside of the picture never replaces one inside, and any inside replaces one outside."""
    sizes, is_float = sizes_of(x, len(places))[1], x.value.type.is_float
    wide, inside = surrounded(m, x, window, places)
    elements = _elements(m, wide, window, places)
    found = repeat(None) if inside is None else _elements(m, inside, window, places)
    positions = list(product(*map(range, window.kernel)))
    best, known = next(elements), next(found)
    where = _place(m, best, positions[0], window, sizes) if indices else None
    for element, real, at in zip(elements, found, positions[1:], strict=False):
        better = m.gt(element, best)
        if is_float:
            better = m.or_(better, m.ne(element, element))
        if real is not None:
            better = m.and_(real, m.or_(better, m.not_(known)))
            known = m.or_(known, real)
        best = m.select(better, element, best)
        where = m.select(better, _place(m, element, at, window, sizes), where) if indices else None
    return (best, where) if indices else best


def _place(m: Any, element: Any, at: tuple[int, ...], window: Window, sizes: tuple[int, ...]) -> Any:
    """Where in the flat picture the elements numbered `at` of all windows lie."""
    type, rank = element.value.type.with_dtype("i64"), len(sizes)
    place = None
    for k, n in enumerate(sizes):
        along = m(iota(m.b, type=type, axis=type.rank - rank + k)) * window.stride[k]
        along = along + (at[k] * window.dilation[k] - window.padding[k][0])
        place = along if place is None else place * n + along
    return place


MAX = {k: Operation(f"max_pool{k}d", f"MaxPool{k}DWithIndicesBackward0", _largest, lies="format") for k in (2, 3)}


def max_pool2d(
    input: Core,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window, with its place in the picture if `return_indices`."""
    shape = picture("max_pool2d", input)
    window = pool_window("max_pool2d", RANK, kernel_size, stride, padding, dilation)
    return _max_pool(input, shape, window, ceil_mode, return_indices)


def _max_pool(
    input: Core, shape: tuple[int, ...], window: Window, ceil: bool, indices: bool
) -> Any:
    if input._kind_of().dtype == "bool":
        raise RuntimeError('"max_pool2d" not implemented for \'Bool\': convert the tensor first')
    places = places_of(shape, window, ceil)
    (values, *where), node = apply_all(MAX[len(places)], (input,), (window, places, indices))
    return (wrap(values, node), wrap(where[0])) if indices else wrap(values, node)


def max_pool3d(
    input: Core,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of [batch, channels, depth, height, width]."""
    shape = picture("max_pool3d", input, 3)
    window = pool_window("max_pool3d", 3, kernel_size, stride, padding, dilation)
    return _max_pool(input, shape, window, ceil_mode, return_indices)


def max_pool1d(
    input: Core,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window along the last dimension."""
    row = row_picture("max_pool1d", input)
    window = flat(pool_window("max_pool1d", 1, kernel_size, stride, padding, dilation))
    made = _max_pool(row, shape_of(row), window, ceil_mode, return_indices)
    return tuple([squeeze(x, -2) for x in made]) if return_indices else squeeze(made, -2)


__all__ = ["max_pool1d", "max_pool2d", "max_pool3d"]
