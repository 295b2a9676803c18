"""Which calls take a part of known data at once, and record nothing."""

from __future__ import annotations

from typing import Any

from ..trace.tape import Tape
from ..value.memory import has_history, tensor_types
from ..value.slots import LEAF

FEW = 3
"""So many rows of a tensor are cut at once while a trace goes on; further ones are a part of it, as in loops over time.
A loop over batches reads few in a trace, and where a batch lies must be no part of it. Rows of whole numbers are always
cut, for they are looked at: an embedding asks whether its indices are in range.
"""


MANY = 16
"""So many known tensors are joined at once: to describe them takes longer than to copy them, and which of them are the
same, where a batch is drawn from a memory, would be another trace at each step."""


def is_cut(args: tuple[Any, ...], tape: Tape, which: str) -> bool:
    """Whether the values of a tensor are there, no gradient of it is kept, and the part wanted is to be cut at once."""
    x: Any = args[0] if args else None
    if which == "many":
        return type(x) in (list, tuple) and len(x) >= MANY and all(_is_known(t, tape) for t in x)
    if which == "written":
        of = [a for a in args if type(a) in tensor_types] if tape.mode & 1 else []
        return not [a for a in of if a._flags & LEAF or has_history(a)]
    if not _is_known(x, tape):
        return False
    if which == "integers":
        return not x._cell.kind.is_float
    if type(args[-1]) is not int or (x._storage is not None and x._storage.array is not None):
        return True
    serial, rows, values = x._rows
    if serial != tape.serial:
        rows = 0
    elif values != tape.count:
        rows += 1
    x._rows = tape.serial, rows, tape.count
    return rows < FEW or not x._cell.kind.is_float


def _is_known(x: Any, tape: Tape) -> bool:
    """Whether the values of a tensor are there, and no gradient of it is kept."""
    if type(x) not in tensor_types or x._is_late or x._cell.array is None:
        return False
    return not (tape.mode & 1 and (x._flags & LEAF or has_history(x)))


__all__ = ["is_cut"]
