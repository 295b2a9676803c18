"""What a late tensor lacks, made when somebody asks: its cell, and its node.

Any thread may ask, and any thread may run the trace meanwhile.  So the tape's lock is held, and it is looked again
whether there is anything left to make.
"""

from __future__ import annotations

from typing import Any

from ..value.aliases import adopt
from ..value.slots import HISTORY, SPECIAL, TensorBase
from .failures import failure
from .locks import holding
from .opened import tape_of
from .tape import tapes


class Late(TensorBase):
    """A tensor that may be a number on a tape, and nothing else yet."""

    _index = 0
    #: whether it is no single array, and answers for calls itself
    _apart = False
    #: whose `data` it is, as long as nobody has looked at it; and of an owner, what waits so: see value/aliases.py
    _owner: Any = None
    _waiting: Any = None
    #: of a part that nobody has looked at, NumPy's key and the path to where it lies in its owner
    _key: Any = None

    def _late_cell(self) -> None:
        """Make the cell of a value that is on a tape.  The trace may end meanwhile, and another begin."""
        if self._owner is not None:
            return adopt(self)
        while self._is_late:
            serial = self._serial
            tape = tape_of(serial)
            if tape is None:
                if self._is_late and self._serial == serial:
                    raise self._lost()
                continue
            with holding(tapes.tape, tape):
                if self._is_late and self._serial == tape.serial == serial:
                    if self._flags & SPECIAL:
                        tape.catch_up()
                    else:
                        self._cell = tape.cell_at(tape.origin(self._number), self._kind)

    def _lost(self) -> Exception:
        if self._serial == 0:
            return AttributeError(f"this {type(self).__name__} has no value: it was not initialised")
        made = RuntimeError("this tensor has no value, because what computes it failed")
        made.__cause__ = failure(self._serial)
        return made

    def _is_noted(self, flag: int) -> bool:
        """Whether it has a flag whose meaning its record tells, which the thread that ran its trace may not have set
        yet."""
        while self._flags & flag and self._record is None and (tape := tape_of(self._serial)) is not None:
            with holding(tapes.tape, tape):
                pass
        return bool(self._flags & flag)

    def _late_node(self) -> None:
        """Make the node, or note that there is none."""
        node = None
        if self._flags & HISTORY:
            tape = tape_of(self._serial)
            if tape is not None and (self._record is None or self._is_late or self._cell.array is None):
                with holding(tapes.tape, tape):
                    tape.catch_up()
                if not self._flags & HISTORY or self._record is None:
                    return
            if self._record is not None:
                node, self._index = tapes.tape.recall(self._record).place(self._place)
        self._node = node
        self._flags &= ~HISTORY  # at last: without it and without a node there is no history


__all__ = ["Late"]
