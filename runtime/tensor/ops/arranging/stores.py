"""Writes by index into known memory: a tensor, a key and a value go in, and the elements are written by NumPy at once.

    memory[step] = observation      a few elements of a large buffer, written where they lie

Nothing is recorded and nothing else is copied, as long as nobody else holds what the buffer was: a trace that reads it
later, a node that has saved it, and a view that was read keep their values, and the buffer gets other memory then.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from sys import getrefcount
from typing import Any

import numpy as np

from ...reverse.modes import mode, watch
from ...trace.crowd import crowd
from ...trace.first_time import leaves_history
from ...trace.tape import tapes
from ...value.cells import Cell, shown
from ...value.core import Core, number_of, requires
from ...value.memory import has_history, leave
from ...value.numbers import FLOAT_MAX
from ...value.slots import LEAF, PART, SPECIAL, VIEWED
from ...value.views import may_cut
from ...value.writing import overwrite_whole
from .cuts import PLAIN_BOUNDS

NUMBERED = "f32", "f64", "i64", "i32"
"""The dtypes that Python's numbers are written to by NumPy as PyTorch does it."""


def store(x: Any, key: Any, value: Any) -> bool:
    """x[key] = value, if all of it is known and no gradient is kept; whether that was done."""
    if not may_cut() or not _is_plain(x) or (isinstance(value, Core) and not _is_apart(value, x)):
        return False
    place = _as_numpy(key)
    if place is None or not _is_known(x):
        return False
    given = _given(value, x._cell.kind)
    if given is None or tapes.tape.number_of(x._cell) is not None:
        return False
    if x._storage is not None or not (sole := _is_sole(x)):
        tapes.tape.catch_up()  # the trace may have read a part: its nodes are to know of the write, and its backward
        tapes.tape.blur()
        sole = _is_sole(x)
    kind = x._cell.kind
    cell = Cell(kind, x._cell.array if sole else x._cell.array.copy())
    try:
        shown(cell)[place] = given
    except (IndexError, ValueError, OverflowError, TypeError):
        return False  # which the other way finds as well, in PyTorch's words
    if sole and x._storage is None and x._counter is None:  # nobody asks what was there before
        x._cell, x._serial = cell, 0
        x._written += 1
    else:
        overwrite_whole(x, cell)
    return True


def _is_plain(x: Any) -> bool:
    """Whether a tensor is all of its memory, whose values are its own, and behaves like any other."""
    if watch.duals or watch.lanes or crowd.on or x._inference or x._flags & (SPECIAL | PART):
        return False
    if has_history(x) or (mode.enabled and x._flags & LEAF):
        return False
    if x._flags & VIEWED:
        leave(x, tapes.tape)
    storage = x._storage
    whole = storage is None or (storage.array is None and not x._path and x._base is None)
    return whole and not x._flags & VIEWED


def _is_apart(value: Any, x: Any) -> bool:
    """Whether a value has no history that is kept, and lies in other memory."""
    return not (mode.enabled and requires(value)) and (value._storage is None or value._storage is not x._storage)


def _is_known(x: Any) -> bool:
    """Whether the values of a tensor are there, after the trace has run where that costs no nodes."""
    tape = tapes.tape
    if x._is_late or x._read().array is None or tape.number_of(x._cell) is not None:
        if x._is_late and x._serial != tape.serial:
            return False
        if tape.count and leaves_history(tape):
            return False
        tape.flush()
        x._read()
    return type(x._cell) is Cell and x._cell.array is not None


def _is_sole(x: Any) -> bool:
    """Whether nobody but the tensor holds its values."""
    array = x._cell.array
    if array.base is not None or not array.flags.c_contiguous or not array.flags.writeable:
        return False
    del array
    shared = x._storage is not None and x._storage.cell is x._cell
    # The references are: the tensor's or the cell's, the tuple's and the call's, and that of what is shared.
    cells, arrays = map(getrefcount, (x._cell, x._cell.array))
    return cells <= 3 + shared and arrays <= 3


def _as_numpy(key: Any) -> Any:
    """The key as NumPy's; None where it has parts that mean something else, or are not known."""
    several = key if type(key) is tuple else (key,)
    made = []
    for k in several:
        cls = type(k)
        if cls is int or k is None or k is Ellipsis or (cls is slice and _is_plain_slice(k)):
            made.append(k)
        elif isinstance(k, Core) and (array := _index(k)) is not None:
            made.append(array if array.shape else array.item())  # which is a view for both
        else:
            return None
    return tuple(made)


def _is_plain_slice(k: slice) -> bool:
    return {type(k.start), type(k.stop), type(k.step)} <= PLAIN_BOUNDS and (k.step is None or k.step > 0)


def _index(k: Any) -> np.ndarray | None:
    """The values of a tensor of indices, or of a mask, if they are there."""
    cell = k._read()
    allowed = ("i64", "i32", "bool") if cell.kind.shape else ("i64", "i32")
    return cell.array if type(cell) is Cell and cell.kind.dtype in allowed else None


def _given(value: Any, kind: Any) -> Any:
    """The numbers that are written; None where NumPy would convert them otherwise than PyTorch."""
    if isinstance(value, Core):
        if type(value._read()) is not Cell:
            return None
        array = value._array()
        fits = array.dtype == kind.numpy or np.can_cast(array.dtype, kind.numpy, "same_kind")
        return array if fits else None
    number = number_of(value)
    if kind.dtype not in NUMBERED or type(number) not in _fitting(kind):
        return None
    return None if type(number) is float and FLOAT_MAX <= abs(number) < inf else number


def _fitting(kind: Any) -> Iterable[type]:
    """The classes of numbers that elements of a kind can be."""
    return (int, bool, float) if kind.is_float else (int, bool)


__all__ = ["store"]
