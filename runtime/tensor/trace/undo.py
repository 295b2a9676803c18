"""What a call, or a whole trace, has changed is taken back where it fails: nothing that was there before is lost.

A recognised call is an event, which tells what it assigns.  What Python code writes is noted beside the trace until
that has run: which object had which attributes, and the value that stands in their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..recorder import serials
from ..value.cells import Home
from ..value.slots import HISTORY, TensorBase
from .failures import note_failure
from .states import Call, State, events

Note = tuple[Any, Any, dict[str, Any]]
"""The cell of the new value, what was changed, and its attributes of before."""


def note(tape: Any, cell: Any, changed: Any, *names: str) -> None:
    """Note attributes that are about to be others, because of a value that may never be computed."""
    if cell.array is None and tape.again is None:
        tape.journal.append((cell, changed, {n: getattr(changed, n) for n in names if hasattr(changed, n)}))


def take_back(tape: Any, count: int, error: BaseException) -> bool:
    """Let the trace end before the value numbered `count`, and all that was changed since be as it was then.

    Not so where the values have been computed in the meantime: then it is over.  Those that are lost tell of the error.
    """
    state: State = tape.state
    later = [s for s in events(state) if s.values > count]
    calls = [s.event for s in later if isinstance(s.event, Call)]
    if _are_there(tape, calls):
        tape.begin()
        return False
    changes: list[tuple[int, Callable[[], None]]] = []
    for call in calls:
        changes += [(call.base, lambda c=call: _undo_call(tape, c, count))]  # type: ignore[misc]
    kept: list[Note] = []
    for made in tape.journal:
        cell, serial = made[0], tape.serial
        if cell.array is None and (cell.serial != serial or cell.number >= count):
            changes.append((cell.number, lambda m=made: _undo_note(tape, m)))  # type: ignore[misc]
        elif cell.array is None:
            kept.append(made)
    tape.journal = kept
    for _, change in sorted(changes, key=lambda c: c[0], reverse=True):
        change()
    lost = serials()
    note_failure(lost, error)
    _shorten(tape, count, lost)
    return True


def mend(tape: Any, error: BaseException) -> None:
    """Forget what a call did that was left in its middle."""
    if tape.depth == tape.visits and tape.again is None and tape.count != tape.state.values:
        tape.call = None
        take_back(tape, tape.state.values, error)


def _are_there(tape: Any, calls: list[Call]) -> bool:
    """Whether all values that the calls assign have been computed."""
    cells = [tape.cell(call.number(new)) for call in calls for _, new in call.template.assigns]
    return bool(cells) and all(c is not None and c.array is not None for c in cells)


def _undo_call(tape: Any, call: Call, count: int) -> None:
    """Give tensors that a call wrote to, and leaves that it gave gradients, what they had before."""
    template = call.template
    for target, new in reversed(template.assigns):
        n, t = call.number(target), tape.value(call.number(new))
        if not isinstance(t, TensorBase) or t._serial != tape.serial or t._number != call.number(new):
            continue
        cell = tape.cell_at(tape.origin(n), t._kind if t._is_late else t._cell.kind)
        if cell.array is None and not count:
            continue  # which this trace made as well
        t._cell, t._number, t._written = cell, n, t._written - 1
        if n < count:
            tape.put(n, t, tape.cell(n))
        else:
            t._serial = 0
        cell.stale = 0
        if type(cell.home) is Home:
            cell.home = None
        if template.renewed.get(new) is False:
            t._node, t._flags = None, t._flags & ~HISTORY
    for leaf_ref, before, ref in template.grads:
        leaf, made = tape.value(call.number(leaf_ref)), tape.value(call.number(ref))
        if isinstance(leaf, TensorBase) and leaf._grad is made:
            leaf._grad = None if before is None else tape.value(call.number(before))


def _undo_note(tape: Any, made: Note) -> None:
    _, changed, attributes = made
    for name, value in attributes.items():
        setattr(changed, name, value)
    if isinstance(changed, TensorBase):
        changed._serial = 0
    elif hasattr(changed, "edition"):
        changed.edition += 1  # so that whoever has read it meanwhile reads it again


def _shorten(tape: Any, count: int, lost: int) -> None:
    """Let the trace end before the value numbered `count`, or where the last event ends that is whole.

    lost  the serial that what has no value gets
    """
    path = _path(tape.state)
    at = next((k for k, state in enumerate(path) if state.values <= count), len(path) - 1)
    state, path = path[at], path[at:]
    for n in range(state.values, tape.count):
        t, cell = tape.value(n), tape.cell(n)
        if isinstance(t, TensorBase) and t._serial == tape.serial and t._number == n:
            t._serial = lost if t._is_late else 0
        if cell is not None and cell.serial == tape.serial and cell.number == n:
            cell.serial = lost if cell.array is None else 0
        tape.put(n, None, None)
    if not any(tape.caught is each for each in path):
        tape.caught = state
    tape.done.intersection_update(path)
    tape.count, tape.state = state.values, state


def _path(state: State) -> list[State]:
    """The states from this one to the root."""
    found: list[State] = []
    at: State | None = state
    while at is not None:
        found.append(at)
        at = at.parent
    return found


__all__ = ["mend", "note", "take_back"]
