"""Writes to plain data: a tensor, values and a place go in, and NumPy has written them into its memory.

    table[i, j] += 1; buffer[step].copy_(row)      no operation, no trace: they go to where the elements lie

Plain is what is known and has no history, all of its memory or a part of it. A cell never changes its meaning, so the
array of one is written to only where nobody else holds it: not a trace that reads it later, not a node that has saved
it, not another view that was read. Else the memory gets a copy first.
"""

from __future__ import annotations

from sys import getrefcount
from threading import get_ident
from typing import Any

import numpy as np

from ..reverse.modes import mode
from ..trace.crowd import crowd
from ..trace.first_time import leaves_history
from ..trace.tape import tapes
from .cells import Cell, shown
from .memory import has_history, leave, stands_in
from .paths import Path, overlap, part_of
from .slots import LEAF, PART, SPECIAL, VIEWED
from .storage import PartHome, Storage, Swapped
from .views import may_cut
from .writing import overwrite_whole

REFUSED = IndexError, ValueError, OverflowError, TypeError
"""What NumPy raises before it writes anything; the way of recorded operations finds it as well, in PyTorch's words."""

REPEATING = {"spread", "strided", "unfold"}
"""Steps by which several elements may lie in one place."""


def is_plain(x: Any) -> bool:
    """Whether no history is kept of a tensor, nor of what it is a part of, and it behaves like any other."""
    if tapes.tape.mode > 1 or crowd.on or not may_cut() or not _is_alone(x):
        return False
    whole = x._whole
    if whole is None:
        return True
    if x._origin and x._flags & LEAF:  # of a leaf, where no gradient was kept
        return False
    return _is_alone(whole) and not any(step[0] in REPEATING for step in x._steps)


def _is_alone(x: Any) -> bool:
    if x._flags & (SPECIAL | PART) or x._inference or x._counter is not None or has_history(x) or stands_in(x):
        return False
    if x._flags & LEAF and mode.enabled:
        return False
    if x._flags & VIEWED:
        leave(x, tapes.tape)
    return not x._flags & VIEWED


def memory_of(x: Any) -> tuple[Any, Path]:
    """What a tensor shares with those that lie in the same memory, and the path to where it lies there."""
    owner = x._owner
    if owner is not None:
        return owner if owner._storage is None else owner._storage, x._key[1] if type(x._key) is tuple else ()
    return (x, ()) if x._storage is None else (x._storage, x._steps)


def meets(memory: Any, path: Path, other: Path) -> bool:
    """Whether two parts of a memory share elements, and are not the same."""
    shape = memory.shape() if isinstance(memory, Storage) else memory._kind_of().shape
    return path != other and overlap(shape, path, other)


def target_of(x: Any) -> tuple[Any, Any]:
    """The tensor whose memory is written to, and where: of an alias or a part that nobody has looked at, its owner."""
    return (x._owner, x._key[0]) if type(x._key) is tuple else (x if x._owner is None else x._owner, ...)


def is_alone(owner: Any) -> bool:
    """Whether what waits to be an alias of a tensor may be written to at once: nothing is recorded that could read it,
    and nobody else holds its values."""
    if tapes.tape.count or owner._is_late or owner._storage is not None:
        return False
    before, mode.enabled = mode.enabled, False
    try:
        return is_plain(owner) and type(owner._cell) is Cell and owner._cell.array is not None and _is_sole(owner)
    finally:
        mode.enabled = before


def touch(x: Any) -> bool:
    """Count a write of what is there already; False if that takes more, as where others share the memory."""
    if x._storage is not None or x._is_late or tapes.tape.number_of(x._cell) is not None or x._cell.home is not None:
        return False
    # The references are: the tensor's, the tuple's and the call's; a node that has saved it is to see the write.
    (references,) = map(getrefcount, (x._cell,))
    if references > 3:
        return False
    x._written += 1
    return True


def write_now(x: Any, values: Any, place: Any = ...) -> bool:
    """Write values to a place in a plain tensor, and note that; False if something else must be done.

    values   numbers that NumPy converts, or a function of the array of the tensor that gives some
    """
    storage = x._storage
    if storage is None:
        return _is_known(x) and _write_own(x, values, place)
    whole = x if x._whole is None else x._whole
    if (x._is_late and not _is_known(x)) or whole._is_late or whole._storage is not storage:
        return False
    storage.settle()
    if not _may_write(storage):
        return False
    try:
        given = values(_part(x, storage)[place]) if callable(values) else values
        while True:  # another thread may export the memory meanwhile, or take it back
            write = _write_cell if storage.array is None else _write_exported
            if write(x, whole, storage, given, place):
                break
    except REFUSED:
        return False
    _count(whole, storage)
    return True


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


def _write_own(x: Any, values: Any, place: Any) -> bool:
    """Write to memory that no other tensor shares."""
    sole = _is_sole(x)
    if not sole:  # a trace may have read it, or a part of it
        tapes.tape.catch_up()
        tapes.tape.blur()
    cell = Cell(x._cell.kind, x._cell.array if sole else x._cell.array.copy())
    try:
        array = shown(cell)
        array[place] = values(array[place]) if callable(values) else values
    except REFUSED:
        return False
    if sole and x._storage is None:  # nobody asks what was there before
        x._cell, x._serial = cell, 0
        x._written += 1
    else:
        overwrite_whole(x, cell)
    return True


def _is_sole(x: Any) -> bool:
    """Whether nobody but the tensor holds its values."""
    if not _is_own(x._cell.array):
        return False
    # The references are: the tensor's or the cell's, the tuple's and the call's.
    cells, arrays = map(getrefcount, (x._cell, x._cell.array))
    return cells <= 3 and arrays <= 3


def _is_own(array: np.ndarray) -> bool:
    """Whether an array is all of its memory, and nothing but that."""
    return array.base is None and array.flags.c_contiguous and array.flags.writeable


def _may_write(storage: Any) -> bool:
    """Whether memory that several tensors share is known, and no trace reads it as a whole."""
    if storage.array is not None:
        return True
    cell = storage.cell
    return type(cell) is Cell and cell.array is not None and tapes.tape.number_of(cell) is None


def _part(x: Any, storage: Any) -> np.ndarray:
    """What lies in memory where a tensor is."""
    array = storage.array
    if array is None and x._seen == storage.edition and x._cell.array is not None:
        return shown(x._cell)
    return part_of(shown(storage.cell) if array is None else array, x._steps)


def _write_exported(x: Any, whole: Any, storage: Any, given: Any, place: Any) -> bool:
    """Write to memory that is NumPy's as well; whether it is so still."""
    array = storage.array
    _tell(storage, (x, whole))
    part_of(array, x._steps)[place] = given
    return storage.array is array


def _write_cell(x: Any, whole: Any, storage: Any, given: Any, place: Any) -> bool:
    """Write to memory that only tensors share; whether it is so still."""
    _tell(storage, (x, whole))
    old = storage.cell
    if old is None:
        return False
    own, array, same = _is_own(old.array), x._cell.array, x is not whole and x._cell is old
    inside = x is not whole and array is not None and array.base is old.array
    if own and inside:
        # The references are: the tensor's or the cell's, the tuple's and the call's; and the local name's.
        cells, arrays = map(getrefcount, (x._cell, array))
        own = cells <= 3 and arrays <= 4
    cells, arrays = map(getrefcount, (old, old.array))
    sole = own and cells <= 4 + same + (whole._cell is old) and arrays <= 3 + inside + (array is old.array)
    cell = Cell(old.kind, old.array if sole else old.array.copy())
    if not sole:  # a node that has saved it is to see that there was a write
        if type(old.home) is Swapped:
            old.home.before = storage
        else:
            old.home = storage
        old.version = storage.version
    if storage.cell is not old:
        return False
    storage.cell = cell
    part = shown(x._cell) if sole and inside else part_of(shown(cell), x._steps)
    part[place] = given
    cell.home, cell.version = storage, storage.version + 1
    if whole._cell is old and not whole._steps:
        whole._cell, whole._seen, whole._serial = cell, storage.edition + 1, 0
    return storage.cell is cell


def _tell(storage: Any, tensors: tuple[Any, Any]) -> None:
    """Let a trace that may have read a part of the memory know that it is written to: its nodes, and its backward."""
    tape = tapes.tape
    if not tape.count:
        return
    known = 0
    for t in tensors if tensors[0] is not tensors[1] else tensors[:1]:
        home = t._cell.home
        known += type(home) is PartHome and home.storage is storage and tape.number_of(t._cell) is None
    if known != storage.parts or storage.cell is None or storage.left:
        tape.catch_up()
        tape.blur()


def _count(whole: Any, storage: Any) -> None:
    """Count a write to memory, of which backward must know."""
    storage.was = None
    storage.edition += 1
    storage.version += 1
    storage.written, storage.counted, storage.writer = None, storage.edition, get_ident()
    whole._written += 1


__all__ = ["is_alone", "is_plain", "meets", "memory_of", "target_of", "touch", "write_now"]
