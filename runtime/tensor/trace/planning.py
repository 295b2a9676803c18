"""How a trace that ends is run: a tape and what is wanted go in, a plan comes out, and what is kept of its history.

Where the trace leaves a history, its nodes are made here: one for the whole of it where that has come before. Or what
they can be made of is kept.
"""

from __future__ import annotations

from typing import Any

from .behind import is_behind
from .first_time import Once, once
from .kept import Kept, may_keep
from .plans import Plan, keep, plan_for
from .states import forest
from .structures import may_know, structure_of


def planned(tape: Any, live: bytes) -> tuple[Any, Kept | None, bool]:
    """How the trace is run, what is kept of its history, and whether it leaves none that needed nodes.

    live   a bit for each value that is wanted
    """
    state = tape.state
    segment = state.segments.get(live) or None
    if segment is None:
        plan: Any = once(tape, live)
        if plan is not None:
            return _of_known_code(plan, live) or plan, None, True
    if segment is None or not segment.enter(tape):
        if not is_behind(tape, live):
            return plan_for(state, live), None, True
        if segment is None and may_keep(tape, live):
            plan = plan_for(state, live)
            return plan, Kept(tape, plan), False
        segment = tape.catch_up(live)
    plan = plan_for(state, tape.live())
    if segment is not None:
        plan.joins = segment.joins
    return plan, None, False


def _of_known_code(once: Once, live: bytes) -> Plan | None:
    """A plan for a trace that is new, if its structure has a kernel that serves its sizes, too."""
    structure = structure_of(once.path, live)
    if not may_know(structure):
        return None
    plan = Plan(once.state, live)
    if not plan.find(structure):
        return None
    if forest.recurs:
        keep(plan)
    return plan


__all__ = ["planned"]
