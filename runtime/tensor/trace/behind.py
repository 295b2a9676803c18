"""Whether nodes and views that recognised calls left out must be made before their trace runs: (tape, what is wanted).

Mostly not: an optimiser's step leaves out none, and those of a forward pass are used up by the backward that follows.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from ..value.cells import Home
from ..value.slots import HISTORY, PART, SPECIAL, VIEWED, TensorBase
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
    if tape.parts is not None and tape.parts.level and any(call.template.call.in_parts for call in calls):
        return True  # the next part goes on from there
    if not tape.noded:
        return needs_nodes(tape.state, live)
    wanted = int.from_bytes(live, "little")
    if any(_has_views(tape, call, wanted) for call in calls):
        return True  # views that are there must know what is written to
    left_out = [call for call in calls if _leaves_out(call.template)]
    if left_out:
        if any(_may_have_node(tape.value(n)) for call in left_out for n in call.arguments):
            return True  # a backward may have used it up
        if needs_nodes(tape.state, _from(tape.caught.values, live)):
            return True
    for call in calls:
        _tell_nodes(tape, call)
    return False


def _has_views(tape: Any, call: Call, wanted: int) -> bool:
    """Whether a result of a call that is wanted is a view, or what it writes to shares its memory with others."""
    template = call.template
    if any(flags & SPECIAL and wanted >> call.number(ref) & 1 for ref, _, flags in template.results):
        return True
    if not (template.assigns or template.grads or template.call.exact):
        return False
    values = [tape.value(n) for n in (*call.arguments, *(call.number(new) for _, new in template.assigns))]
    return any(v is None or (isinstance(v, TensorBase) and _shares(v)) for v in values)


def _shares(tensor: Any) -> bool:
    return tensor._storage is not None or tensor._flags & (SPECIAL | PART | VIEWED)


def _leaves_out(template: Template) -> bool:
    """Whether calls like this make nodes, or use nodes up."""
    makes = template.has_nodes or any(flags & HISTORY for _, _, flags in template.results)
    return bool(makes or template.frees or template.renewed)


def _tell_nodes(tape: Any, call: Call) -> None:
    """Let nodes that saved a value which this call writes over find out where that was."""
    for target, new in call.template.assigns:
        n = call.number(target)
        old = tape.cell(n)
        if old is None:
            old = tape.cell(tape.origin(n))
        if old is not None and old.stale and old.home is None:
            note(tape, tape.cell_at(call.number(new), old.kind), old, "home", "version")
            old.home, old.version = Home(old.stale, place_of_write(call, new), get_ident()), old.stale - 1


def place_of_write(call: Call, ref: int) -> Any:
    """Where the step is recorded that gives this value."""
    if call.place is None:
        for fragment, _, first, place in call.template.steps:
            if 0 <= ref - first < len(fragment.results):
                return place
    return call.place


def _may_have_node(value: Any) -> bool:
    """Whether an argument has a node that is there already, so that others lead to it."""
    return isinstance(value, TensorBase) and not value._flags & HISTORY and value._node is not None


def _from(first: int, live: bytes) -> bytes:
    """What is wanted of the values from the first on."""
    bits = int.from_bytes(live, "little") >> first << first
    return bits.to_bytes(len(live), "little")


__all__ = ["is_behind", "place_of_write"]
