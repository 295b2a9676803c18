"""What is handed out when a trace has run, and what a function hands back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..value.cells import Cell
from ..value.slots import HISTORY, PART, SPECIAL, TensorBase


def hand_over(tape: Any, plan: Any, arrays: Sequence[Any]) -> list[Any]:
    """Give the arrays to cells and tensors; those whose nodes, or whose memory's whole, may be asked for."""
    late = []
    for n, kind, array in zip(plan.numbers, plan.kinds, arrays, strict=True):
        cell = tape.cell(n)
        if cell is None:
            cell = Cell(kind, array)
            if tape.value(n) is None:  # what others are views of
                tape.put(n, None, cell)
        else:
            cell.array = array
        tensor = tape.value(n)
        if isinstance(tensor, TensorBase) and tensor._number == n and tensor._serial == tape.serial:
            if tensor._flags & HISTORY or (tensor._is_late and tensor._flags & SPECIAL):
                late.append(tensor)
            if tensor._is_late:
                tensor._cell = cell
                tensor._flags = tensor._flags & ~SPECIAL | (PART if tensor._flags & SPECIAL else 0)
    return late


def flat(made: Any) -> list[Any]:
    """The tensors in what a function returned."""
    found, pending = [], [made]
    while pending:
        item = pending.pop()
        if isinstance(item, TensorBase):
            found.append(item)
        elif isinstance(item, (tuple, list)):
            pending += item
    return found


def forget_storages(tape: Any, made: Any) -> None:
    """Let tensors that a call made share memory be as before, if nothing that it returned shares it."""
    shared, tape.storages = tape.storages, []
    if not shared:
        return
    kept = {id(t._storage) for t in flat(made)}
    for tensor in shared:
        storage = tensor._storage
        if storage is not None and id(storage) not in kept and storage.array is None:
            tensor._storage, storage.dropped = None, True
            if tensor._cell.home is storage:
                tensor._cell.home = None
