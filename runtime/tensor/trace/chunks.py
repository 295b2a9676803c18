"""Where a long trace of many backwards is run: after a backward, as soon as it has some length.

    for part in x: loss(model(part)).backward()      200 parts are five equal traces, and one kernel serves them

The trace of all of them would be learned step by step, each at a place of its own, and what one backward costs
would grow with those before it.  Where it ran at its bound, in the middle of a call, history would be left.
"""

from __future__ import annotations

from typing import Any

from ..reverse.used import is_open
from ..value.slots import HISTORY, TensorBase
from .first_time import leaves_history
from .plans import numbers_in
from .states import Call, State

LONG = 1024
"""A trace with so many values is run after the next backward, but for the first: a step of a large model is one."""


def may_end(tape: Any, state: State) -> bool:
    """Whether a trace may end after a backward, which leads to this state; native code would go on."""
    serial, patience = tape.patience
    if state.values < LONG or (serial == tape.serial and state.values < patience):
        return False
    at = state.parent
    while at is not None:
        if type(at.event) is Call and at.event.template.call.exact:
            return True
        at = at.parent
    return False


def end_chunk(tape: Any) -> None:
    """Run a trace that may end here, if no history is left that would need nodes; else it has time to double."""
    if tape.count < LONG or tape.call is not None or tape.depth or not may_end(tape, tape.state):
        return
    if leaves_history(tape) or (tape.noded and _leaves_nodes(tape)):
        tape.patience = tape.serial, 2 * tape.count
    else:
        tape.flush()


def _leaves_nodes(tape: Any) -> bool:
    """Whether somebody holds a tensor of the trace through whose nodes, which are there, a backward may go yet."""
    held = [t for n in numbers_in(tape.live()) if isinstance(t := tape.value(n), TensorBase)]
    return any(not t._flags & HISTORY and t._node is not None and is_open(t._node) for t in held)


__all__ = ["end_chunk", "may_end"]
