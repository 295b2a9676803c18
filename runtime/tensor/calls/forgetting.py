"""What was learned of calls, forgotten because something that all of them depend on has changed."""

from __future__ import annotations

from ..trace.opened import open_tapes
from ..trace.states import State, forest
from .dynamic_calls import forget_dynamic_calls
from .patterns import drop_patterns, forget_patterns
from .reading import forget_forms


def forget_calls() -> None:
    """Recognise nothing that was learned so far, because what it depended on has changed: the default dtype."""
    forgotten = forget_patterns()
    for tape in open_tapes():
        with tape.lock:
            tape.catch_up()
            tape.go(State(tape.state, None, tape.state.values))
    drop_patterns(forgotten)
    forget_forms()
    forget_dynamic_calls()
    forest.forget()


__all__ = ["forget_calls"]
