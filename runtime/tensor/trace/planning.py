"""How a trace that ends is run: a tape and what is wanted go in, a plan comes out, and what is kept of its history.

Where the trace leaves a history, its nodes are made here: one for the whole of it where that has come before. Or what
they can be made of is kept.
"""

from __future__ import annotations

from typing import Any

from .behind import is_behind
from .first_time import once
from .kept import Kept, may_keep
from .plans import found_at_once, plan_for


def planned(tape: Any, live: bytes) -> tuple[Any, Kept | None, bool]:
    """How the trace is run, what is kept of its history, and whether it leaves none that needed nodes.

    live   a bit for each value that is wanted
    """
    state = tape.state
    segment = state.segments.get(live) or None
    if segment is None:
        plan: Any = once(tape, live)
        if plan is not None:
            whole = found_at_once(state, plan.path, live)
            return plan if whole is None else whole, None, True
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


__all__ = ["planned"]
