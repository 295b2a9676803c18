"""Calls that are recognised: nothing runs, and their results are late tensors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..trace.states import NOTHING, RESULT, TENSOR, Call, State, Template, events
from ..trace.tape import Tape
from ..value.cells import Cell, Kind
from ..value.memory import has_history, leave, tensor_types, usable
from ..value.slots import HISTORY, LEAF, OPEN, SPECIAL, VIEWED
from .places import place_for
from .reading import Reading, Unknown, enter, is_simple, place_of


def instance(template: Template, tape: Tape, reading: Reading) -> State:
    """The state after a call that follows a known template where it has not stood before."""
    n, arguments, entered = tape.count, [], []
    for cell, place in zip(reading.cells, reading.places, strict=True):
        if type(place) is int:
            arguments.append(place)
        else:
            entered.append((n, None if place is None else place[0], cell.kind))
            arguments.append(n)
            n += 1
    for _ in reading.numbers:
        arguments.append(n)
        n += 1
    call = Call(template, tuple(arguments), tuple(entered), n, place_for(reading.form))
    return State(tape.state, call, n + len(template.kinds))


def grads_fit(tape: Tape, state: State, reading: Reading) -> bool:
    """Whether the gradients of the leaves that a backward adds to are what they were when it was learned.

    A leaf may be an argument of the call, and not be on the tape yet.
    """
    call: Call = state.event  # type: ignore[assignment]
    given = dict(zip(call.arguments, reading.tensors, strict=False))
    entered = {n: (again, kind) for n, again, kind in call.entered}
    for leaf_ref, before, _ in call.template.grads:
        at = call.number(leaf_ref)
        leaf = given[at] if at in given else tape.value(at)
        have = leaf._grad
        hooks = (leaf._hooks or leaf._posts) and not call.template.call.in_parts
        if hooks or not (leaf._flags & LEAF or has_history(leaf)) or (have is None) != (before is None):
            return False
        if have is not None:
            leave(have, tape)
            if not is_simple(have):
                return False
            n = call.number(before)
            try:
                kind, place, _ = place_of(have, tape)
            except Unknown:
                return False
            if n not in entered:
                if place != n:
                    return False
            elif type(place) is int or entered[n] != (None if place is None else place[0], kind) or has_history(have):
                return False
    return all(_is_still(tape, n) for n in call.template.still)


def still(tape: Tape, numbers: Collection[int]) -> tuple[int, ...]:
    """Which of the values of a trace are tensors that are known, whose memory nobody writes to by an event only."""
    serial, values = tape.serial, zip(numbers, tape.pick(tuple(numbers)), strict=True)
    known = [(n, t) for n, t in values if type(t) in tensor_types and not t._is_late]
    return tuple([n for n, t in known if t._serial == serial and t._number == n])


def _is_still(tape: Tape, n: int) -> bool:
    """Whether the tensor that was value n has its memory still, and NumPy wrote nothing to it; not where this trace has
    no such value, being shorter by what is no event."""
    t = tape.value(n) if n < tape.count else None
    if t is None or t._serial != tape.serial or t._number != n:
        return False
    return not t._flags & OPEN or (usable(t, tape) and t._serial == tape.serial and t._number == n)


def follow(tape: Tape, state: State, reading: Reading) -> Any:
    """Do what a known call does: enter its arguments, and make late tensors of its results."""
    call: Call = state.event  # type: ignore[assignment]
    first = tape.caught is tape.state
    try:
        shared = _do(tape, state, call, reading)
    except BaseException:  # of a signal's handler: a call is done as a whole
        _put_into_memory(tape, _do(tape, state, call, reading), first)
        raise
    made = _build(tape, call, reading, call.template.gives)
    _put_into_memory(tape, shared, first)
    return made


def _do(tape: Tape, state: State, call: Call, reading: Reading) -> list[tuple[Any, int]]:
    """The same, of which some may have been done. What it gives are the tensors that it was to write to and that share
    their memory since the call was described, by another thread's doing, with the values that they are to have."""
    template = call.template
    if state.values > tape.count:
        tape.put(state.values - 1, None, None)
    serial = tape.serial
    for k, (t, place, cell) in enumerate(zip(reading.tensors, reading.places, reading.cells, strict=True)):
        if type(place) is not int:
            enter(tape, t, place, cell, call.arguments[k])
    for value, n in zip(reading.numbers, call.arguments[len(reading.tensors) :], strict=True):
        tape.put(n, value, None)
    for leaf_ref, before, ref in template.grads:
        if before is not None:
            have, n = tape.value(call.number(leaf_ref))._grad, call.number(before)
            if not (have._serial == serial and have._number in (n, call.number(ref))):
                _, place, cell = place_of(have, tape)
                enter(tape, have, place, cell, n)
    for ref, cell in template.constants:
        tape.put(call.number(ref), None, Cell(cell.kind, cell.array, serial, call.number(ref)))
    for ref, kind, flags in template.results:
        n = call.number(ref)
        tape.put(n, late(serial, n, kind, flags), None)
    shared = [
        (tape.value(call.number(ref)), call.number(ref))
        for target, ref in template.assigns
        if not _write(tape, call.number(target), call.number(ref), ref in template.renewed)
    ]
    for leaf_ref, _, ref in template.grads:
        tape.value(call.number(leaf_ref))._grad = tape.value(call.number(ref))
    for ref in template.viewed:
        tape.value(call.number(ref))._flags |= VIEWED
    tape.count, tape.state = state.values, state
    return shared


def _write(tape: Tape, old: int, new: int, renewed: bool) -> bool:
    """Let the tensor that was value `old` be value `new`; whether nobody came to share its memory meanwhile."""
    serial, t = tape.serial, tape.value(old)
    if t is None:
        t = tape.value(new)
    alone = True
    if not (t._serial == serial and t._number == new):
        kind = t._kind if t._is_late else t._cell.kind
        alone = t._storage is None  # from here on no call: others may enter what is not late, or share its memory
        if alone:
            if not t._is_late:
                t._cell.stale = t._written + 1
                del t._cell
            t._kind, t._serial, t._number = kind, serial, new
            t._written += 1
    tape.put(new, t, None)
    if renewed:
        tape.put(old, None, tape.cell(old))
        t._flags, t._node = t._flags | HISTORY, None
        del t._node  # which there was not before, or it was none
    return alone


def _put_into_memory(tape: Tape, shared: list[tuple[Any, int]], first: bool) -> None:
    """Write to the memory that tensors share what they are on the tape; the call is the `first` that need catch up."""
    if tape.state.event.template.through:  # type: ignore[union-attr]
        if first:  # it is done in earnest
            tape.caught = tape.state
        else:
            tape.done.add(tape.state)
    for t, n in shared:
        t._write_through(tape.cell_at(n, t._kind_of()))


def check_renewed(template: Template, reading: Reading) -> None:
    """Refuse a call that gives a tensor another node, if its node is there already; it would not be late after it."""
    for target, ref in template.assigns:
        t = reading.tensors[-1 - target] if ref in template.renewed else None
        if t is None or not template.renewed[ref]:
            continue
        late = t._is_late or t._cell.array is None
        if t._serial != reading.tape.serial or not t._flags & HISTORY or not late:
            raise Unknown("writes to a tensor whose memory or history others share")


def check_through(state: State | None, reading: Reading) -> None:
    """Where a call is to write to memory that others read as well, let calls before it be where they find that.

    Those whose nodes are known from their form need not; they keep what they read.
    """
    tape = reading.tape
    template: Template | None = state and state.event.template  # type: ignore[union-attr]
    if template is None or not template.through:
        return
    if any(t._is_late and t._flags & SPECIAL for t in reading.tensors):
        raise Unknown("writes where tensors share memory")
    written = [reading.tensors[-1 - n] for n, _ in template.assigns]
    counted = any(t._counter is None for t in written if t._storage is not None)
    for at in events(tape.state, tape.caught if tape.seen[:2] != (tape.serial, counted) else tape.seen[2]):
        before = at.event.template if type(at.event) is Call else None
        if before is None or at in tape.done or before.plain:
            continue
        makes = before.has_nodes or before.assigns or before.grads or before.viewed or before.views
        if makes and (counted or not before.call.exact or before.call.in_parts):
            tape.catch_up()
            break
    tape.seen = tape.serial, counted, tape.state


def late(serial: int, number: int, kind: Kind, flags: int) -> Any:
    """A tensor that has a number on a tape, and nothing else yet."""
    cls: Any = tensor_types[0]
    made = cls.__new__(cls)
    made._serial, made._number, made._kind, made._flags = serial, number, kind, flags
    return made


def _build(tape: Tape, call: Call, reading: Reading, form: Any) -> Any:
    what = form[0]
    if what is RESULT:
        return tape.value(call.number(form[1]))
    if what is TENSOR:
        return reading.tensors[form[1]]
    if what is NOTHING:
        return None
    return sequence_of(form[1], [_build(tape, call, reading, f) for f in form[2]])


def sequence_of(cls: type, items: list[Any]) -> Any:
    """A list, tuple, or named tuple."""
    if cls is list:
        return items
    return cls(*items) if hasattr(cls, "_fields") else cls(items)
