"""Rows of data that is known, in a few microseconds: what loops over batches and over time cut at every step."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...value.cells import cell_of
from ...value.core import Core, wrap
from ...value.paths import Path
from ...value.views import cell_in, known, may_cut, placed
from .shapes import SELECT, SLICE, slice_step

if TYPE_CHECKING:
    from ...face.tensor import Tensor

ALL = slice(None)
PLAIN_BOUNDS = {int, type(None)}


def known_part(x: Core, key: Any) -> Tensor | None:
    """x[key] where key is a tensor of indices, or of ints and slices that go forward, and x is known; else None."""
    if isinstance(key, Core):
        return _known_rows(x, key)
    if type(key) is tuple:
        return _known_cell(x, key)
    if type(key) is not int and not (type(key) is slice and is_forward(key)):
        return None
    array = known(x) if may_cut() else None
    if array is None or not array.ndim:
        return None
    shape = array.shape
    path = rows_path(shape, *key.indices(shape[0])) if isinstance(key, slice) else row_path(shape, key)
    part = array[key, ...]
    made = wrap(cell_in(x, part))
    return placed(made, x, path, SLICE if isinstance(key, slice) else SELECT)


def _known_cell(x: Core, key: tuple[Any, ...]) -> Tensor | None:
    """x[i, j:k] where x is known; None where it is not, or where that is an error."""
    for k in key:
        if type(k) is not int and (type(k) is not slice or (k != ALL and not is_forward(k))):
            return None
    array = known(x) if may_cut() else None
    if array is None or array.ndim < len(key):
        return None  # or an error, which is found the other way
    spelled = tuple([k.indices(n) if type(k) is slice else k for k, n in zip(key, array.shape, strict=False)])
    path = cell_path(array.shape, spelled)
    return placed(wrap(cell_in(x, array[(*key, ...)])), x, path, SELECT) if path else None


@lru_cache(maxsize=4096)
def cell_path(shape: tuple[int, ...], key: tuple[Any, ...]) -> Path:
    """The path along ints and bounds, axis after axis; empty where that is all there is."""
    path, axis, now = (), 0, shape
    for k in key:
        if type(k) is int:
            path += row_path(now, k, axis)
            now = path[-1][1]
        else:
            start, stop, step = k
            count = max(0, -(-(stop - start) // step))
            if count != now[axis]:
                path += (slice_step(now, axis, start, step, count),)
                now = (*now[:axis], count, *now[axis + 1 :])
            axis += 1
    return path


def _known_rows(x: Core, index: Core) -> Tensor | None:
    """x[index] where both are known; None where that is not so, and where it is an error."""
    array = known(x) if may_cut() else None
    if array is None or not array.ndim:
        return None
    cell = index._read()
    if cell.array is None or cell.kind.dtype not in ("i64", "i32") or not cell.kind.shape:
        return None
    try:
        return wrap(cell_of(array.take(cell.array, axis=0)))
    except IndexError:
        return None


def known_elements(x: Core, indices: dict[int, Core]) -> Tensor | None:
    """The elements that indices at axes name, where these and x are known: in memory of their own, without history."""
    array = known(x) if may_cut() else None
    if array is None:
        return None
    key: list[Any] = [ALL] * array.ndim
    for axis, index in indices.items():
        key[axis] = index._read().array
        if key[axis] is None:
            return None
    return wrap(cell_of(np.ascontiguousarray(array[tuple(key)])))


def is_forward(k: slice) -> bool:
    """Whether a slice has plain bounds and a positive step, if any, and is not all there is."""
    plain = {type(k.start), type(k.stop), type(k.step)} <= PLAIN_BOUNDS
    return plain and k != ALL and (k.step is None or k.step > 0)


@lru_cache(maxsize=4096)
def row_path(shape: tuple[int, ...], index: int, axis: int = 0) -> Path:
    """The path to row `index` of an axis, which disappears."""
    n = shape[axis]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {axis} with size {n}")
    return slice_step(shape, axis, index % n, 1, 1), ("reshape", shape[:axis] + shape[axis + 1 :])


@lru_cache(maxsize=4096)
def rows_path(shape: tuple[int, ...], start: int, stop: int, step: int) -> Path:
    """The path to some of the rows, from one of them forward."""
    return (slice_step(shape, 0, start, step, max(0, -(-(stop - start) // step))),)
