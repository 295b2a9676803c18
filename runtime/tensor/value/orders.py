"""In which order the axes of a value lie in memory, as PyTorch has it: of kinds and paths go in, an order comes out.

    order_of_part((2, 3, 4), None, (("transpose", (0, 2, 1)),))                    (0, 2, 1)
    order_of_result((2, 4, 3), (((2, 4, 3), (0, 2, 1)), ((3,), None)))             (0, 2, 1)

Results lie in rows, whatever their kind says: nobody can tell but by strides, by the order of random draws, and by what
can be viewed.  An order is the axes from the one with the longest steps on, without those that are spread, which have
no place of their own; None where that is the axes' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import symbolic_paths
from .paths import Path, Step, part_of, strided

Order = tuple[int, ...] | None


@lru_cache(maxsize=4096)
def layout(whole: tuple[int, ...], order: Order, path: Path = ()) -> np.ndarray:
    """An array of bytes that lies as the part of a whole that lies in this order; its elements must not be touched.

    What PyTorch would have had to copy, though here it is a part, lies in rows.
    """
    if order is None:
        return strided(whole, path)
    steps = _steps(whole, order)
    try:
        return part_of(np.lib.stride_tricks.as_strided(np.zeros((), np.uint8), whole, steps), path)
    except ValueError:
        return strided(strided(whole, path).shape)


def can_lie(whole: tuple[int, ...], order: Order, path: Path, step: Step) -> bool:
    """Whether a further step gives a view of what lies in an order."""
    try:
        return _can_lie(whole, order, path, step)
    except TypeError:  # SymInts are in no table
        return symbolic_paths.can_lie(whole, order, path, step)


@lru_cache(maxsize=4096)
def _can_lie(whole: tuple[int, ...], order: Order, path: Path, step: Step) -> bool:
    try:
        part_of(layout(whole, order, path), (step,))
    except ValueError:
        return False
    return True


def order_of_part(whole: tuple[int, ...], order: Order, path: Path) -> Order:
    """The order of a part of what lies in an order."""
    if order is None and all(step[0] in ("reshape", "slice") for step in path):
        return None
    path = tuple([_from_zero(step) for step in path])
    try:
        return _order_of_part(whole, order, path)
    except TypeError:  # SymInts are in no table
        return _order_of(*symbolic_paths.layout(whole, path, order))


def _from_zero(step: Step) -> Step:
    """The step, of a slice one that lies as it, so that rows of data are found in the cache."""
    if step[0] != "slice" or min(step[2], default=1) < 0:
        return step
    return step[0], (0,) * len(step[1]), *step[2:]


@lru_cache(maxsize=4096)
def _order_of_part(whole: tuple[int, ...], order: Order, path: Path) -> Order:
    part = layout(whole, order, path)
    return _order_of(part.shape, part.strides)


def _order_of(shape: Sequence[int], strides: Sequence[int]) -> Order:
    steps = [abs(s) for s in strides]
    axes = _sorted(shape, [steps])
    return _known([a for a in axes if steps[a] or shape[a] == 1], len(shape))


def order_of_result(shape: tuple[int, ...], arguments: tuple[tuple[tuple[int, ...], Order], ...]) -> Order:
    """The order of what an elementwise function makes of arguments of these shapes and orders."""
    try:
        return _known_order_of_result(shape, arguments)
    except TypeError:  # SymInts are in no table
        return _order_of_result(shape, arguments)


def _order_of_result(shape: tuple[int, ...], arguments: tuple[tuple[tuple[int, ...], Order], ...]) -> Order:
    steps = []
    for have, order in arguments:
        own, lead = _steps(have, order), len(shape) - len(have)
        if lead < 0:
            return None
        steps.append([0] * lead + [0 if n == 1 != shape[lead + a] else own[a] for a, n in enumerate(have)])
    return _known(_sorted(shape, steps), len(shape))


_known_order_of_result = lru_cache(maxsize=4096)(_order_of_result)


def whole_order(shape: tuple[int, ...], order: Order) -> Order:
    """The order of what is made like a value: an axis that is spread has its place where it stands."""
    return order and _known(_sorted(shape, [_steps(shape, order)]), len(shape))


def _known(axes: list[int], rank: int) -> Order:
    return None if axes == list(range(rank)) else tuple(axes)


def _steps(shape: tuple[int, ...], order: Order) -> list[int]:
    """How far the elements of each axis lie apart, where nothing lies between; 0 along one that is spread."""
    steps, size = [0] * len(shape), 1
    for a in reversed(range(len(shape)) if order is None else order):
        steps[a] = size
        size *= max(shape[a], 1)
    return steps


def _sorted(shape: Sequence[int], arguments: list[Any]) -> list[int]:
    """The axes as PyTorch orders them, by steps of the first argument that tells two of them apart."""
    axes = list(range(len(shape)))[::-1]  # the shortest steps first
    for k in range(1, len(axes)):
        here = k
        for n in range(k - 1, -1, -1):
            said = _longer(axes[n], axes[here], shape, arguments)
            if said > 0:
                axes[n], axes[here], here = axes[here], axes[n], n
            elif said < 0:
                break
    return axes[::-1]


def _longer(a: int, b: int, shape: Sequence[int], arguments: list[Any]) -> int:
    """1 if the steps along axis a are the longer ones, -1 if those along b are, 0 if no argument tells."""
    for steps in arguments:
        if not steps[a] or not steps[b]:  # an axis that is spread has no place of its own
            continue
        if steps[a] != steps[b]:
            return 1 if steps[a] > steps[b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0


__all__ = ["Order", "can_lie", "layout", "order_of_part", "order_of_result", "whole_order"]
