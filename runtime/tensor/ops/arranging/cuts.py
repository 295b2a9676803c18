"""Rows of data that is known, in a few microseconds: what loops over batches and over time cut at every step."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...calls.cutting import is_cut
from ...trace.fragments.fragments import Operation
from ...trace.tape import tapes
from ...value.aliases import may_wait, waiting_part, whole_number
from ...value.cells import Cell, Kind, cell_of, kind_of
from ...value.core import Core, wrap
from ...value.memory import tensor_types
from ...value.orders import order_of_part
from ...value.paths import Path
from ...value.slots import LEAF
from ...value.views import cell_in, known, may_cut, placed
from .shapes import SELECT, SLICE, slice_step

ALL = slice(None)
PLAIN_BOUNDS = {int, type(None)}


def part_now(x: Any = None, key: Any = None) -> Any:
    """x[key] where that is known and no part of a trace, else NotImplemented."""
    tape = tapes.tape
    if type(x) not in tensor_types or (tape.count and not is_cut((x, key), tape, "all")):
        return NotImplemented
    found = known_part(x, tuple(map(whole_number, key)) if type(key) is tuple else whole_number(key))
    return NotImplemented if found is None else found


def known_part(x: Core, key: Any) -> Any | None:
    """x[key] where key is a tensor of indices, or of ints and slices that go forward, and x is known; else None."""
    cls = type(key)
    if cls is tuple:
        keys = key
    elif cls is int or cls is slice:
        keys = (key,)
    else:
        return _known_rows(x, key) if isinstance(key, Core) else None
    if any(type(k) in tensor_types for k in keys):
        return _known_places(x, keys)
    for k in keys:
        if type(k) is not int and (type(k) is not slice or (k != ALL and not is_forward(k))):
            return None
    if cls is slice and key == ALL:
        return None
    return _known_cell(x, keys, SLICE if cls is slice else SELECT)


def _known_cell(x: Any, key: tuple[Any, ...], operation: Operation) -> Any | None:
    """x[i, j:k] where x is known; None where it is not, or where that is an error."""
    waits = may_wait(x) and not x._flags & LEAF and not x._is_late and type(x._cell) is Cell
    array = None if not may_cut() else x._cell.array if waits else known(x)
    if array is None:
        return None
    kind = x._cell.kind
    shape = kind.shape
    if len(shape) < len(key):
        return None  # which is an error, found the other way
    spelled = tuple([k.indices(n) if type(k) is slice else k for k, n in zip(key, shape, strict=False)])
    path, its = _place_in(kind, spelled, operation is SLICE)
    if not path:
        return None
    if waits:  # no more than a place until somebody looks, if nobody shares the memory
        return waiting_part(x, its, (*key, ...), path)
    return placed(wrap(cell_in(x, array[(*key, ...)], path)), x, path, operation)


@lru_cache(maxsize=4096)
def _place_in(kind: Kind, key: tuple[Any, ...], always: bool) -> tuple[Path, Kind]:
    """The path to a part, and its kind; `always` one step for rows, even for all of them."""
    path = rows_path(kind.shape, *key[0]) if always else cell_path(kind.shape, key)
    order = order_of_part(kind.shape, kind.order, path)
    return path, kind_of(kind.dtype, path[-1][-1], order) if path else kind


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


def _known_rows(x: Core, index: Core) -> Any | None:
    """x[index] where both are known; None where that is not so, and where it is an error."""
    array = known(x) if may_cut() else None
    if array is None or not array.ndim or (where := _where(index)) is None:
        return None
    try:
        return wrap(cell_of(array[where] if where.dtype == bool else array.take(where, axis=0)))
    except IndexError:
        return None


def _where(index: Any) -> np.ndarray | None:
    """The values of a tensor of indices that is known, or of a mask, which is asked now: it tells a shape."""
    kind = index._kind_of()
    if kind.dtype == "bool" and kind.shape and tapes.tape.mode <= 1:
        return index._array()
    cell = index._read()
    return cell.array if kind.dtype in ("i64", "i32") and kind.shape and type(cell) is Cell else None


def _known_places(x: Core, keys: tuple[Any, ...]) -> Any | None:
    """x[i, j, 0, a:b] with tensors of indices that are known, as x is; None else, and where it is an error."""
    array = known(x) if may_cut() else None
    if array is None:
        return None
    cut: list[Any] = []
    places: list[Any] = []
    for k in keys:
        if type(k) is int:
            cut.append(k)
        elif type(k) is slice and (k == ALL or is_forward(k)):
            cut.append(k)
            places.append(ALL)
        elif type(k) in tensor_types and (where := _where(k)) is not None and where.dtype != bool:
            cut.append(ALL)
            places.append(where)
        else:
            return None
    try:  # ints first, as in PyTorch: for NumPy they are indices like others
        return wrap(cell_of(np.ascontiguousarray(array[tuple(cut)][tuple(places)])))
    except IndexError:
        return None


def known_elements(x: Core, indices: dict[int, Core]) -> Any | None:
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


def path_of_row(shape: tuple[int, ...], index: int, axis: int = 0) -> Path:
    """The path to row `index` of an axis, which disappears."""
    n = shape[axis]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {axis} with size {n}")
    return slice_step(shape, axis, index % n, 1, 1), ("reshape", shape[:axis] + shape[axis + 1 :])


row_path = lru_cache(maxsize=4096)(path_of_row)
"""The same, of what has been asked for before."""


@lru_cache(maxsize=4096)
def rows_path(shape: tuple[int, ...], start: int, stop: int, step: int) -> Path:
    """The path to some of the rows, from one of them forward."""
    return (slice_step(shape, 0, start, step, max(0, -(-(stop - start) // step))),)
