"""The fields that recording reads and writes on every call: of tensors, cells, states of a trace, and tapes.

An interpreter that native code knows has native ones, whose calls cost some tens of nanoseconds; these are the same
in Python.  A tensor without a `_cell` is *late*: value `_number` of trace `_serial`, and nothing else has been made.
"""

from __future__ import annotations

import sys
from typing import Any

from .. import recorder

LEAF, SPECIAL, HOOKED, HISTORY, VIEWED, PART, OPEN, DENSE = 1, 2, 4, 8, 16, 32, 128, 256
"""Flags of a tensor.

LEAF      it requires a gradient of its own
SPECIAL   more must be looked at than these fields: it was made in an inference mode, or is a view that is late
HOOKED    a leaf with functions of its gradient
HISTORY   it is late, and has a node in the gradient graph
VIEWED    there may be a late view of its memory
OPEN      NumPy could write to its memory when that was last looked at
DENSE     it was made as a late view whose elements follow each other in memory
PART      it is a view of memory that only it has seen since, and of what will be told when somebody asks
"""


class TensorBase:
    """What a tensor is to a tape.

    _serial, _number   the trace that it is on, and its number there
    _written           how often it was written to
    _kind              its dtype and shape, where it was late at first
    _record, _place    what the trace was at the end of which it was late, and its number there
    """

    _serial = 0
    _number = 0
    _flags = 0
    _written = 0
    _cell: Any
    _node: Any
    _grad: Any = None
    _storage: Any = None
    _kind: Any = None
    _record: Any = None
    _place = 0

    def __getattr__(self, name: str) -> Any:
        if name == "_cell":
            self._late_cell()
        elif name == "_node":
            self._late_node()
        made = self.__dict__.get(name, self)
        if made is self:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return made

    @property
    def _is_late(self) -> bool:
        """Whether it has no cell yet."""
        return "_cell" not in self.__dict__

    def _late_cell(self) -> None:
        """Make the cell."""
        raise NotImplementedError

    def _late_node(self) -> None:
        """Make the node."""
        raise NotImplementedError


class CellBase:
    """What a cell is to a tape.

    stale     the version that replaced it, where a recognised call wrote to its memory
    checked   what says that its values are what a recognised call needs
    """

    __slots__ = ("serial", "number", "stale", "kind", "array", "checked", "home", "version", "__weakref__")

    def __init__(self, kind: Any = None, array: Any = None, serial: int = 0, number: int = 0) -> None:
        self.kind, self.array, self.serial, self.number, self.stale = kind, array, serial, number, 0
        self.checked: Any = None


class StateBase:
    """A prefix of traces, which an event led to from a shorter one.

    values   how many values there are then
    call     the recorded function of the event, its keyword names, number of arguments and mode
    needs    descriptors of its arguments, gives of its effects; keep holds the objects that they name
    first    the newest state that follows, sibling the parent's follower before this one
    runs     how often native code ran a trace that ended here
    """

    values = count = mode = runs = 0
    first: Any = None
    sibling: Any = None
    call: Any = None
    names: Any = None
    needs: Any = None
    gives: Any = None
    keep: Any = None
    info: Any = None
    plan: Any = None
    live: Any = None


class TapeBase:
    """The values of a trace: tensors and numbers, and their cells, by number."""

    def __init__(self) -> None:
        self.serial, self.count, self.mode, self.depth = 0, 0, 1, 0
        self.state: Any = None
        self.caught: Any = None
        self.special: Any = None
        self.values: list[Any] = []
        self.cells: list[Any] = []

    def value(self, number: int) -> Any:
        return self.values[number]

    def cell(self, number: int) -> Any:
        return self.cells[number]

    def put(self, number: int, value: Any, cell: Any) -> None:
        """Set a value and its cell, the next or one that is there."""
        while len(self.values) <= number:
            self.values.append(None)
            self.cells.append(None)
        self.values[number], self.cells[number] = value, cell

    def pick(self, numbers: tuple[int, ...]) -> list[Any]:
        """The values of these numbers."""
        return [self.values[n] for n in numbers]

    def reclaim(self, tensor: Any) -> bool:
        """Let a tensor that stands on the trace, and its cell, know where, though another thread has entered them into
        its own; False if it is a leaf that stood there with another cell only, or that thread is to note what it is."""
        cell, stood = tensor.__dict__.get("_cell"), False
        if cell is None or tensor._serial == self.serial:
            return True
        if tensor._flags & (HISTORY | PART) and tensor._record is None:
            return False
        for n, (value, entered) in enumerate(zip(self.values, self.cells, strict=True)):
            stood |= value is tensor
            if entered is cell and cell.serial != self.serial:
                cell.serial, cell.number = self.serial, n
            if entered is cell and value is tensor and tensor._serial:
                tensor._serial, tensor._number = self.serial, n
                return True
        return not (stood and tensor._flags & LEAF)

    def rerun(self, state: Any, locked: bool) -> Any:
        """Run what ended in the same state the last time, and restart: something that native tapes can do."""
        return NotImplemented

    def still(self) -> int:
        """The mode; from now on no gradients are kept."""
        mode, self.mode = self.mode, self.mode & ~1
        return mode

    def put_cell(self, number: int, cell: Any) -> None:
        self.put(number, self.values[number] if number < len(self.values) else None, cell)

    def live(self) -> bytes:
        """A bit for each value that somebody outside refers to and that is still to be computed."""
        bits, serial, count = 0, self.serial, sys.getrefcount
        for n, (value, cell) in enumerate(zip(self.values, self.cells, strict=True)):
            if cell is not None and cell.array is not None:
                continue
            inside = 0
            if isinstance(value, TensorBase) and value._number == n and value._serial == serial:
                # The references are: the list's, the loop variable's and the call's.
                if count(value) > 3:
                    bits |= 1 << n
                    continue
                inside = int(value.__dict__.get("_cell") is cell)
            if cell is not None and count(cell) > 3 + inside:
                bits |= 1 << n
        return bits.to_bytes((len(self.values) + 7) // 8, "little")

    def tensors(self) -> list[Any]:
        """The tensors that somebody outside refers to and that are still to be computed."""
        found, serial, count = [], self.serial, sys.getrefcount
        for n, value in enumerate(self.values):
            if isinstance(value, TensorBase) and value._number == n and value._serial == serial:
                cell = self.cells[n]
                if (cell is None or cell.array is None) and count(value) > 3:
                    found.append(value)
        return found

    def restart(self, serial: int, state: Any) -> None:
        """Begin another trace and let go of the values of this one."""
        self.serial, self.state, self.caught, self.count = serial, state, state, 0
        self.values, self.cells = [], []


if recorder.SUPPORTED:
    TensorBase, CellBase = recorder.TensorBase, recorder.CellBase  # type: ignore[misc]
    StateBase, TapeBase = recorder.StateBase, recorder.TapeBase  # type: ignore[misc]
