"""Where the elements of a part lie, also where sizes are SymInts: (shape, path) -> shape and strides, in elements.

NumPy tells that of numbers (`paths.strided`, `orders.layout`). Its rules are written out here, so that what they ask of
sizes is noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

Step = tuple[Any, ...]
Layout = tuple[list[Any], list[Any]]


def is_dense(shape: tuple[Any, ...], path: tuple[Step, ...]) -> bool:
    """Whether the elements of the part follow each other in memory."""
    sizes, strides = layout(shape, path)
    return any(n == 0 for n in sizes) or _is_dense(sizes, strides)


def can_view(shape: tuple[Any, ...], path: tuple[Step, ...], step: Step) -> bool:
    """Whether a further step gives a view, where elements need not move."""
    return _after(layout(shape, path), step) is not None


def can_lie(shape: tuple[Any, ...], order: Any, path: tuple[Step, ...], step: Step) -> bool:
    """As `orders.can_lie`."""
    return _after(layout(shape, path, order), step) is not None


def layout(shape: Sequence[Any], path: tuple[Step, ...], order: Any = None) -> Layout:
    """The shape and strides of the part of what lies in rows, or in an order.

    What PyTorch would have had to copy, though here it is a part, lies in rows.
    """
    made, moved = ([*shape], _rows(shape, order)), False
    for step in path:
        after = _after(made, step)
        if after is None:
            made, moved = ([*step[1]], _rows(step[1])), True
        else:
            made = after
    return (made[0], _rows(made[0])) if moved else made


def _rows(shape: Sequence[Any], order: Any = None) -> list[Any]:
    """The strides of what lies in rows, or with its axes in an order; 0 along one that is spread."""
    strides, size = [0] * len(shape), 1
    for a in reversed(range(len(shape)) if order is None else order):
        strides[a], size = size, size * shape[a]
    return strides


def _is_dense(sizes: Sequence[Any], strides: Sequence[Any]) -> bool:
    size = 1
    for n, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if n != 1:
            if stride != size:
                return False
            size = size * n
    return True


def _after(layout: Layout, step: Step) -> Layout | None:
    """The layout after a step, None where elements would have to move."""
    (sizes, strides), (name, *attrs) = layout, step
    if name == "transpose":
        return [sizes[a] for a in attrs[0]], [strides[a] for a in attrs[0]]
    if name == "slice":
        _, steps, shape = attrs
        return [*shape], [stride * by for stride, by in zip(strides, steps, strict=True)]
    if name == "spread":
        shape, axes = attrs
        given = dict(zip(axes, strides, strict=True))
        return [*shape], [given[a] if a in given and shape[a] != 1 else 0 for a in range(len(shape))]
    if name != "reshape":
        raise TypeError(f"{name} of SymInts")
    if any(n == 0 for n in sizes):
        return [*attrs[0]], _rows(attrs[0])
    return _reshaped(sizes, strides, attrs[0])


def _reshaped(sizes: Sequence[Any], strides: Sequence[Any], shape: Sequence[Any]) -> Layout | None:
    """As NumPy's reshape: groups of axes with as many elements on both sides, each of which must lie in rows."""
    if list(sizes) == list(shape):
        return [*shape], [*strides]
    if _is_dense(sizes, strides):
        return [*shape], _rows(shape)
    old = [(n, stride) for n, stride in zip(sizes, strides, strict=True) if n != 1]
    made, first, start = [1] * len(shape), 0, 0
    while first < len(old) and start < len(shape):
        have, want, at, new = old[first][0], shape[start], first + 1, start + 1
        while have != want:
            if want < have:
                want, new = want * shape[new], new + 1
            else:
                have, at = have * old[at][0], at + 1
        group = old[first:at]
        if any(a[1] != b[0] * b[1] for a, b in pairwise(group)):
            return None
        stride = group[-1][1]
        for k in reversed(range(start, new)):
            made[k], stride = stride, stride * shape[k]
        first, start = at, new
    for k in range(start, len(shape)):  # of one element
        made[k] = made[start - 1]
    return [*shape], made


__all__ = ["can_lie", "can_view", "is_dense", "layout"]
