"""Traces that leave a history which nobody asks for: (tape, plan) -> what its nodes can be made of later.

    d = distances(x, codes)              d has a history
    loss(codes[d.argmin(1)]).backward()  that no backward uses: argmin has no gradient
    optimizer.step()                     here the trace ends, and d is still held

PyTorch has made the nodes of d at no cost; here each takes some ten microseconds.  So a trace that has come before
keeps what it read from outside, and if somebody asks for the history after all, its nodes are made of that, and what
they saved is computed again.  Where that happens, nodes are made in time from then on.
"""

from __future__ import annotations

from typing import Any

from ..value.cells import number_cell
from ..value.slots import HISTORY, TensorBase
from .cold import run_step
from .plans import numbers_in, plan_for, program_of
from .programs import Program
from .states import Again, Call, Enter, State, events, forest

TRIED, SELDOM = 8, 8
"""Histories are kept so unless more than a few were asked for, and of those kept more than one in so many."""

FORGETS = 256
"""After so many traces that were not kept for that reason, it is tried again."""


class _Counts:
    """How many traces were kept, how many histories were asked for, and how many traces were therefore not kept."""

    kept = asked = left = 0

    def are_asked_for(self) -> bool:
        """Whether what is kept is asked for so often that its nodes had better be made in time."""
        if self.asked <= TRIED or self.asked * SELDOM <= self.kept:
            return False
        self.left += 1
        if self.left >= FORGETS:
            self.kept = self.asked = self.left = 0
        return True


counts = _Counts()
_asked: set[int] = set()


class Kept:
    """What a trace read: the cells of values from outside, and Python's numbers."""

    __slots__ = ("key", "cells", "numbers")

    def __init__(self, tape: Any, plan: Any) -> None:
        program: Program = plan.program
        self.key = hash((plan.state.path, plan.live))
        self.cells = {n: tape.cell(n) for n in program.inputs}
        self.numbers = {n: tape.value(n) for n in program.numbers}
        counts.kept += 1

    def enter(self, tape: Any) -> None:
        """Put what was read on another tape, where nodes are made; these histories are made in time from now on."""
        counts.asked += 1
        if len(_asked) > 10_000:
            _asked.clear()
        _asked.add(self.key)
        for n, cell in self.cells.items():
            tape.put(n, None, cell)

    def compute(self, tape: Any, program: Program) -> None:
        """Give all cells of that tape their arrays."""
        values: list[Any] = [None] * len(program.kinds)
        for n, cell in {**self.cells, **program.constants}.items():
            values[n] = cell.array
        for n, number in self.numbers.items():
            values[n] = number_cell(number, program.numbers[n]).array
        for step in program.steps:
            run_step(step.fragment, [values[k] for k in step.numbers], values, step.first)
        for n in range(len(values)):
            cell = tape.cell(n)
            if cell is not None and cell.array is None:
                cell.array = values[program.number(n)]


def may_keep(tape: Any, live: bytes) -> bool:
    """Whether a trace that is about to end may be kept: it has come before, and nothing of it was made in earnest."""
    state: State = tape.state
    if tape.noded or tape.done or tape.attached[1] or state.blurred or tape.caught.parent is not None:
        return False
    if hash((state.path, live)) in _asked or counts.are_asked_for():
        return False
    if forest.is_new(hash((state.path, live, "kept"))):
        return False
    plan = plan_for(state, live)
    if plan.keeps is None:
        plan.keeps = _is_simple(state, live)
    return plan.keeps and not any(map(_leads_back, tape.pick(tuple(plan.program.inputs))))


def _leads_back(value: Any) -> bool:
    """Whether an input has a history, so that who asks for one asks for those of the traces before as well."""
    return isinstance(value, TensorBase) and bool(value._flags & HISTORY or value._node is not None)


def _is_simple(state: State, live: bytes) -> bool:
    """Whether calls make up the trace, none of which writes to what has a history, or goes on in parts."""
    for at in events(state):
        event = at.event
        if isinstance(event, (Enter, Again)):
            continue
        if not isinstance(event, Call):
            return False
        t = event.template
        if t.renewed or t.through or t.pause is not None or t.call.in_parts:
            return False
    program = program_of(state)
    numbers, views = numbers_in(live), program.views
    return views.joins(numbers, program.again) is not None and not views.bases(numbers, program.again)


__all__ = ["Kept", "may_keep"]
