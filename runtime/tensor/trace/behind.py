"""Whether nodes and views that recognised calls left out must be made before their trace runs: (tape, what is wanted).

Mostly not: an optimiser's step leaves out none, and those of a forward pass are used up by the backward that follows.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from ..value.cells import Home
from ..value.slots import HISTORY, SPECIAL, TensorBase
from .plans import needs_nodes
from .states import Call, Template, events
from .undo import note


def is_behind(tape: Any, live: bytes) -> bool:
    """Whether somebody could miss what calls have left out since the last time that all was made.

    live  a bit for each value that is wanted
    """
    if tape.caught is tape.state:
        return False
    left = [s.event for s in events(tape.state, tape.caught) if s not in tape.done]
    calls = [event for event in left if isinstance(event, Call)]
    if tape.noded and any(_is_shared(tape.value(call.number(n))) for call in calls for _, n in call.template.assigns):
        return True  # views in nodes that are there must know that it is written to
    left_out = [call for call in calls if leaves_out(call.template)]
    if left_out:
        if any(_may_have_node(tape.value(n)) for call in left_out for n in call.arguments):
            return True  # a backward may have used it up
        if needs_nodes(tape.state, _from(tape.caught.values, live)):
            return True
    for call in calls if tape.noded else ():
        _tell_nodes(tape, call)
    return False


def leaves_out(template: Template) -> bool:
    """Whether calls like this make nodes or views, or use nodes up."""
    makes = template.has_nodes or any(flags & (SPECIAL | HISTORY) for _, _, flags in template.results)
    return bool(makes or template.frees or template.renewed or template.viewed)


def _tell_nodes(tape: Any, call: Call) -> None:
    """Let nodes that saved a value which this call writes over find out where that was."""
    for target, new in call.template.assigns:
        old = tape.cell(tape.origin(call.number(target)))
        if old is not None and old.stale and old.home is None:
            note(tape, tape.cell_at(call.number(new), old.kind), old, "home", "version")
            old.home, old.version = Home(old.stale, _place_of(call, new), get_ident()), old.stale - 1


def _place_of(call: Call, ref: int) -> Any:
    """Where the step is recorded that gives this value."""
    steps = call.template.steps
    places = [place for fragment, _, first, place in steps if 0 <= ref - first < len(fragment.results)]
    return call.place or (places[0] if places else None)


def _is_shared(tensor: Any) -> bool:
    return tensor is None or tensor._storage is not None


def _may_have_node(value: Any) -> bool:
    """Whether an argument has a node that is there already, so that others lead to it; nobody knows of what is gone."""
    if isinstance(value, TensorBase):
        return not value._flags & HISTORY and value._node is not None
    return value is None


def _from(first: int, live: bytes) -> bytes:
    """What is wanted of the values from the first on."""
    bits = int.from_bytes(live, "little") >> first << first
    return bits.to_bytes(len(live), "little")


__all__ = ["is_behind", "leaves_out"]
