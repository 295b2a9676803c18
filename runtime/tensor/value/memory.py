"""What the description of a call says of a tensor's memory: who shares it, how it lies, and whether that is all."""

from __future__ import annotations

from collections import Counter
from sys import getrefcount
from typing import Any

from ..trace.crowd import crowd
from ..trace.locks import Locked
from ..trace.opened import open_tapes
from ..trace.states import Call, State
from ..trace.tape import Tape
from .cells import StandIn
from .slots import HISTORY, LEAF, OPEN, PART, SPECIAL, VIEWED
from .storage import NO_GRAD, PIECE

tensor_types: list[type] = []
"""The classes whose instances a call may be described by; others may have a will of their own."""


def has_history(t: Any) -> int:
    """HISTORY if the tensor has a node, which may not have been made."""
    return HISTORY if t._flags & HISTORY or t._node is not None else 0


def stands_in(t: Any) -> bool:
    """Whether a tensor is one example of a batch, or has a tangent."""
    return not t._is_late and isinstance(t._cell, StandIn)


def requires(tensor: Any) -> bool:
    """Whether gradients flow into the tensor."""
    if tensor._flags & HISTORY and not tensor._flags & SPECIAL:
        return True
    if type(tensor._key) is tuple and not requires(tensor._owner):
        return False  # a part of plain data that waits stays no more than a place
    tensor._read()
    base = tensor._base
    if tensor._node is None and base is not None and (tensor._origin == NO_GRAD or not tensor._requires):
        return requires(base)
    return tensor._node is not None or tensor._requires


def usable(t: Any, tape: Tape) -> bool:
    """Whether a tensor that shares memory, or is a late view, is what its cell says and behaves like any other.

    What it is else, this trace tells where it made the tensor.
    """
    if t._owner is not None:
        t._tell()
    if t._is_late:
        return t._serial == tape.serial
    if t._flags & PART:
        t._tell()
    end = t._accumulator and t._accumulator()
    flags = t._flags
    if t._inference or (end and end.hooks):
        return False
    steps, storage = t._steps, t._storage
    seen = flags & OPEN and t._serial == tape.serial  # looked at before, for this trace
    if seen and storage is not None and storage.is_read(t._cell, t._path, t._seen):
        return True
    if not steps and storage is not None:
        del storage
        _read_again(t)
        settle(t)  # which counts references: there must be no variable for it here
        flags = t._flags
    storage = t._storage
    if storage is None:
        t._flags = flags & ~OPEN
        return True
    if t._seen != storage.edition:
        return False
    if storage.array is not None:
        t._read()
        t._flags |= OPEN
    elif flags & OPEN:
        t._flags = flags & ~OPEN
    if t._serial == tape.serial:
        return True
    base = t._whole
    if base is not None and t._node is None and (base._flags & LEAF or has_history(base)):
        return False
    if t._origin and not (t._origin == PIECE or (t._origin == NO_GRAD and not tape.mode & 1 and not t._flags & LEAF)):
        return False
    if t._origin and t._node is not None:  # a part of plain data is read like any other where its views are as it is
        return False
    return not steps or t._is_dense()


def _read_again(t: Any) -> None:
    """Read what is all of its memory if it was written to through another tensor, as `t.data.add_` does."""
    storage = t._storage
    if storage is None or t._seen == storage.edition:  # another thread may have read it meanwhile
        return
    if t._base is None and not t._path and storage.array is None and not crowd.on:
        t._read()


def layout_of(t: Any, tape: Tape) -> Any:
    """How a view lies in memory, if not densely: what made it says so, whose own arguments are so described."""
    if not t._is_late:
        return tape.state if t._path and not t._is_dense() else None
    if not t._flags & SPECIAL:
        return None
    event = made_by(t._number, tape).event
    if type(event) is not Call:
        return tape.state
    ref = t._number - event.base
    return None if ref in event.template.dense else (event.template, ref)


def lies_dense(t: Any, tape: Tape) -> bool:
    """Whether the elements of a tensor follow each other in memory."""
    return not (t._storage is not None or t._flags & (SPECIAL | VIEWED)) or layout_of(t, tape) is None


def may_change(t: Any) -> bool:
    """Whether calls of the trace do more than to make or to read a tensor when they run again."""
    if t._flags & VIEWED or (t._is_late and t._flags & (SPECIAL | PART)):
        return True
    there = not t._is_late and t._cell.array is not None
    return not there and bool(t._written or t._flags & HISTORY or t._node is not None)


def leave(t: Any, tape: Tape) -> None:
    """Let a tensor that may be written to share its memory with nobody, where that is so in truth."""
    if t._flags & VIEWED and not _has_views(t, tape) and not viewed_elsewhere(t, tape):
        t._flags &= ~VIEWED
    if t._storage is not None and not t._is_late:
        _read_again(t)
        settle(t, tape)


def leave_all(args: Any, tape: Tape) -> bool:
    """The same of all tensors that are arguments, or in lists; whether one that shared its memory shares it no more."""
    found = False
    for a in args:
        if type(a) in (list, tuple):
            found = leave_all(a, tape) or found
        elif type(a) in tensor_types and a._storage is not None and not a._is_late:
            leave(a, tape)
            found = found or a._storage is None
    return found


def viewed_elsewhere(t: Any, mine: Tape) -> bool:
    """Whether somebody holds a late view that another thread has recorded; it shares the memory from now on."""
    found = False
    for tape in open_tapes():
        if tape is not mine and tape.count:
            with Locked(mine, tape):
                if _has_views(t, tape):
                    tape.catch_up()
                    found = True
    return found


def _has_views(t: Any, tape: Tape) -> bool:
    """Whether somebody holds a late view that may be one of the memory of this tensor."""
    return any(v._flags & SPECIAL and v._is_late and _is_of(v, t, tape) for v in tape.tensors())


def _is_of(v: Any, t: Any, tape: Tape) -> bool:
    """Whether a late view may be one of the memory of this tensor."""
    n = v._number
    while True:
        event = made_by(n, tape).event
        part = event.template.parts.get(n - event.base) if type(event) is Call else None
        if part is None or part.of >= 0:
            return part is None
        n = event.number(part.of)  # type: ignore[union-attr]
        owner = tape.value(n)
        if owner is None or not owner._is_late or not owner._flags & SPECIAL:
            return owner is t or owner is None


def made_by(n: int, tape: Tape) -> State:
    """The state in which a value was made."""
    at = tape.state
    while at.parent is not None and at.parent.values > n:
        at = at.parent
    return at


def settle(t: Any, tape: Tape | None = None) -> None:
    """Let a tensor whose memory nobody shares any more be as before it was shared.

    Views that only the tape holds share nothing that anybody could see.
    """
    storage = t._storage
    if storage is None or storage.array is not None or t._path or t._base is not None or t._counter is not None:
        return
    mine = t._cell.home is storage
    alone = tape is None or getrefcount(storage) <= 3 + mine + storage.parts
    holders = None if alone else _holders(tape)  # type: ignore[arg-type]
    behind = 0 if holders is None else _behind(t, storage, tape, holders)  # type: ignore[arg-type]
    # The references are: the tensor's, the local name's, the tuple's, the call's, its cell's, those behind and parts'.
    # Other threads take their turn after a call, and not after an unpacking: nobody comes to share it after the count.
    (references,) = map(getrefcount, (storage,))
    if references == 4 + mine + behind + storage.parts and t._storage is storage and t._seen == storage.edition:
        if mine:
            t._cell.home = None
        t._storage, t._written, storage.dropped = None, storage.version, behind + storage.parts > 0
        t._flags &= ~OPEN
    elif holders is not None and holders.is_old():
        tape.holders = None  # type: ignore[union-attr]
        settle(t, tape)


def _behind(t: Any, storage: Any, tape: Tape, holders: Holders) -> int:
    """How many views, cells and notes that only the tape holds refer to the memory of a tensor; -1 if somebody may hold
    a late view of such a view."""
    noted = holders.noted
    found = noted[id(storage)]
    homes = holders.homes.get(id(storage), ())
    cells = {id(c) for n in homes if (c := tape.cell(n)) is not None and c.home is storage}
    places = holders.values.get(id(storage), ())
    times = Counter([id(tape.value(n)) for n in places])  # by id, for a reference would be one more of them
    seen = {id(t)}
    for n in places:
        v = tape.value(n)
        if v is None or id(v) in seen or v._storage is not storage:
            continue
        seen.add(id(v))
        # The references are: the tape's, those of its notes, the variable's and the call's.
        if getrefcount(v) <= times[id(v)] + noted[id(v)] + 2:
            if v._flags & VIEWED and _has_views(v, tape):
                return -1
            found += 1
            cells.update([id(v._cell)] if v._cell.home is storage else ())
    return found + len(cells - {id(t._cell)})


class Holders:
    """Where on a tape memory is referred to that tensors share.

    values  for each such memory, the numbers of the values that are tensors sharing it
    homes   and of those whose cells are in it
    noted   how often the notes of the tape's journal tell of it, or of what else

    Later values and notes are added as the tape grows.  What an earlier value has come to share since is missing, so
    that more may seem to refer to a memory than the tape; who finds that looks at all of them again, but not before the
    tape is longer by a quarter, for a loop over a thousand parameters is a tape of many thousands of values.
    """

    def __init__(self, tape: Tape) -> None:
        self.serial, self.journal, self.first = tape.serial, tape.journal, tape.count
        self.count = self.told = 0
        self.values: dict[int, list[int]] = {}
        self.homes: dict[int, list[int]] = {}
        self.noted: Counter[int] = Counter()

    def is_of(self, tape: Tape) -> bool:
        """Whether the tape has only grown since."""
        return self.serial == tape.serial and self.journal is tape.journal and self.count <= tape.count

    def is_old(self) -> bool:
        """Whether it is worth while to look at all values again."""
        return 4 * self.count > 5 * self.first

    def grow(self, tape: Tape) -> None:
        """Add what has come since."""
        begin, self.count = self.count, tape.count
        for n, v in enumerate(tape.pick(tuple(range(begin, self.count))), begin):
            if type(v) in tensor_types and not v._is_late and v._storage is not None:
                self.values.setdefault(id(v._storage), []).append(n)
            cell = tape.cell(n)
            if cell is not None and cell.home is not None:
                self.homes.setdefault(id(cell.home), []).append(n)
        notes, self.told = self.journal[self.told :], len(self.journal)
        self.noted.update([id(changed) for _, changed, _ in notes])
        self.noted.update([id(was[name]) for _, _, was in notes for name in ("home", "_storage") if name in was])


def _holders(tape: Tape) -> Holders:
    """The holders of a tape as it is now."""
    known = tape.holders
    if known is None or not known.is_of(tape):
        known = tape.holders = Holders(tape)
    known.grow(tape)
    return known
