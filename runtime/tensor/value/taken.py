"""A write to a tensor with a history of an earlier trace: the call goes in, and what it gives comes out.

    for k in range(n):
        out[k] = step(x)         a call of this trace gives `out` a history
        if out[k].item() > 1:    ends the trace: the next write is to what an earlier one gave a history

What the tensor was stands on the trace under way as another one, which has its value and its place in the gradient
graph.  The tensor itself becomes the result of a call that makes no node, and so a value of the trace like others.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from ..calls.calls import recorded
from ..reverse.modes import mode
from ..trace.behind import place_of_write
from ..trace.fragments.fragments import Operation
from ..trace.states import Call
from ..trace.tape import Tape, tapes
from ..trace.undo import note
from .cells import Cell, Home
from .core import apply_now, wrap
from .memory import has_history
from .slots import HISTORY

SAME = Operation("same", "", lambda m, x: x)


def _same(x: Any) -> Any:
    """A value that is the same, in the same place of the gradient graph."""
    before, mode.enabled = mode.enabled, False
    try:
        made = apply_now(SAME, (x,))
    finally:
        mode.enabled = before
    made._node, made._index = x._node, x._index
    return made


_stand = recorded(_same)

MOVED = "_cell", "_node", "_index", "_written", "_flags"
"""What becomes another one in a tensor that is taken up."""


def write_taken_up(x: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a call gives that writes to `x`, where the trace under way takes that up; else NotImplemented."""
    tape = tapes.tape
    with tape.lock:
        before = _take_up(x, tape) if _is_behind(x) else None
    if before is None:
        return NotImplemented
    try:
        return call(*args, **kwargs)
    finally:
        _tell(before, x, tape)


def _is_behind(x: Any) -> bool:
    """Whether a tensor has a history, a value, and memory of its own that no view is of."""
    if x._is_late or x._storage is not None or x._flags & ~HISTORY or not has_history(x):
        return False
    cell = x._cell
    usual = type(cell) is Cell and cell.array is not None and cell.home is None and not cell.stale
    return usual and not (x._retains or x._origin or x._inference or x._counter is not None)


def _take_up(x: Any, tape: Tape) -> Any:
    """Let a tensor be a value of the trace; what stands for it as it was, or None where that is no usual trace."""
    edge, cell = x._edge(), x._cell
    before = wrap(cell, *edge)
    before._written = x._written
    if x._serial == tape.serial:  # calls of this trace have read it
        for n, value in enumerate(tape.pick(tuple(range(tape.count)))):
            if value is x:
                tape.put(n, before, tape.cell(n))
                before._serial, before._number = x._serial, x._number
    made = _stand(before)
    n, serial = made._number, tape.serial
    if made._serial != serial or n >= tape.count or tape.value(n) is not made or x._cell is not cell:
        return None
    note(tape, Cell(cell.kind, None, serial, n), x, *MOVED)
    if made._is_late:
        x._kind, x._flags, x._node = made._kind, x._flags | HISTORY, None
        del x._cell, x._node
    else:
        x._cell = made._cell
    x._index, x._serial, x._number = 0 if made._is_late else made._index, serial, n
    tape.put(n, x, tape.cell(n))
    return before


def _tell(before: Any, x: Any, tape: Tape) -> None:
    """Let who has saved the value of before find out that it was written over."""
    old, event = before._cell, tape.state.event
    if x._written == before._written or old.home is not None or old.stale:
        return
    writes = type(event) is Call and event.template.assigns
    place = place_of_write(event, writes[0][1]) if writes else tape.place  # type: ignore[arg-type]
    if x._serial == tape.serial:
        note(tape, Cell(old.kind, None, tape.serial, x._number), old, "home", "version")
    old.home, old.version = Home(x._written, place, get_ident()), before._written


__all__ = ["write_taken_up"]
