"""Calls that were recognised run again where what they left out is wanted: nodes, views, what was written in place.

That happens before anything could tell the difference: a late tensor is asked for its node, a function runs for the
first time, or a value that is wanted at the end of a trace has a history.  Every step that the calls record is the
one that is on the tape already.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any

from ..reverse.modes import mode
from ..reverse.segments import Segment, segment_for
from ..trace.behind import place_of_write
from ..trace.fragments.fragments import Fragment
from ..trace.handing import forget_storages
from ..trace.plans import numbers_in
from ..trace.states import NOTHING, NUMBER, RESULT, SEQUENCE, TENSOR, Call, State, events
from ..trace.tape import Tape, tapes
from ..value.cells import Cell, Home
from ..value.core import wrap
from ..value.given import NumberInput
from ..value.memory import leave
from ..value.slots import HISTORY, LEAF, SPECIAL, TensorBase
from .call_nodes import Maker

MOVED = (
    "_index", "_steps", "_whole", "_part", "_seen", "_origin", "_inference", "_counter", "_accumulator", "_retains",
)  # fmt: skip
"""What a tensor has besides its cell, node, storage and flags."""


class Again:
    """The steps of a call that runs again.

    grads   of a leaf's id, the gradient that it had then, and then has: the leaf itself may have another meanwhile,
            also by another thread
    stand_in   the node of whatever has a history, where nodes are not made
    past       whether its trace has run, so that what was saved may have been written over since, which it did not see
    """

    stand_in = None
    past = False

    def __init__(self, tape: Tape, call: Call, grads: dict[int, Any]) -> None:
        self.tape, self.call, self.grads = tape, call, grads
        self.steps, self.done = call.template.steps, 0

    def has_next(self, fragment: Fragment) -> bool:
        """Whether the next step was one of this fragment."""
        return self.done < len(self.steps) and self.steps[self.done][0] is fragment

    def is_number(self, ref: int) -> bool:
        """Whether a ref stands for a number, which is nothing else again."""
        return len(self.call.template.dtypes) - len(self.call.arguments) > ref

    def step(self, fragment: Fragment, cells: Any) -> list[Cell]:
        """The results of the next step, which are on the tape."""
        tape, call = self.tape, self.call
        found = self.steps[self.done] if self.done < len(self.steps) else None
        self.done += 1
        if found is None or len(found[1]) != len(cells):
            raise RuntimeError("a recorded function did something else when it ran again; please report this bug")
        _, refs, first, place = found
        for k, cell in enumerate(cells):
            if tape.number_of(cell) is None:
                n = call.number(refs[k])
                known = tape.cell(n)
                if known is None and not self.is_number(refs[k]):
                    n = tape.origin(n)
                    known = tape.cell(n)
                if known is None:
                    tape.put(n, tape.value(n), cell)
                    cell.serial, cell.number = tape.serial, n
                else:
                    cells[k] = known
        tape.place = call.place or place
        first = call.number(first)
        return [tape.cell_at(n, kind) for n, kind in enumerate(fragment.results, first)]


def catch_up(tape: Tape, live: bytes | None = None) -> Segment | None:
    """Run again what was recognised since the last time, as far as it made more than values; or make one node of it,
    which is returned.

    live   a bit for each value that is wanted, of a trace that is about to end: nobody can ask for more then
    """
    if tape.caught is tape.state or tapes.tape.again is not None:
        return None
    with tape.lock:
        segment = segment_for(tape, tape.live() if live is None else live)
        if segment is not None and segment.enter(tape, live is None):
            return segment
        now = tape.state  # native code may go on
        states = events(now, tape.caught)
        calls = [(s, s.event) for s in states if s not in tape.done and isinstance(s.event, Call)]
        maker, made = Maker(tape, states), set(tape.done)
        kept = _kept(tape, [call for _, call in calls])
        try:
            tape.busy = tape is tapes.tape
            _rewind(tape, [call for _, call in calls], maker)
            for state, call in calls if live is None else _wanted(calls, live):
                if call.template.plain:
                    maker.make(call)
                elif call.template.values:
                    _write_again(tape, call, maker)
                elif _matters(call):
                    _repeat(tape, call)
                    tape.noded = True
                tape.done.add(state)
        except BaseException as error:
            _put_back(tape, kept)
            tape.done, tape.busy = made, False
            tape.fail(error)
            raise
        tape.busy = False
        _forget(tape, [call for _, call in calls])
        tape.caught = now
        tape.done.clear()
    return None


Tape.catch_up = catch_up  # type: ignore[method-assign]


def _wanted(calls: list[tuple[State, Call]], live: bytes) -> list[tuple[State, Call]]:
    """Those calls that change something, or whose results are wanted, or are arguments of such a call."""
    wanted, found = set(numbers_in(live)), []
    for state, call in reversed(calls):
        t = call.template
        changes = t.assigns if t.values else t.assigns or t.grads or t.call.exact
        if not changes and wanted.isdisjoint([call.number(ref) for ref, _, _ in t.results]):
            continue
        found.append((state, call))
        if not t.values and (t.plain or _matters(call)):
            wanted.update(call.arguments, [n for _, n, _ in call.entered if n is not None])
    found.reverse()
    return found


def _kept(tape: Tape, calls: Sequence[Call]) -> list[tuple[Any, tuple[Any, ...], list[Any]]]:
    """The tensors that the calls write to as they are, for where that is interrupted."""
    found: dict[int, Any] = {}
    for call in calls:
        for _, new in call.template.assigns:
            t = tape.value(call.number(new))
            found[id(t)] = t
    return [(t, (t._serial, t._number, t._written, t._flags), _set(t)) for t in found.values() if t is not None]


def _set(t: Any) -> list[Any]:
    """What a tensor has; it may have no cell yet, and no node."""
    late = t._is_late
    return [None if late else t._cell, None if t._flags & HISTORY else t._node, t._storage]


def _put_back(tape: Tape, kept: Sequence[tuple[Any, tuple[Any, ...], list[Any]]]) -> None:
    """Let tensors be as they were kept."""
    for t, (serial, number, written, flags), (cell, node, storage) in kept:
        t._storage = storage
        if cell is not None:
            t._cell = cell
        elif not t._is_late:
            del t._cell
        t._node = node
        if flags & HISTORY:
            del t._node
        t._serial, t._number, t._written, t._flags = serial, number, written, flags
        tape.put(number, t, tape.cell(number))


def _rewind(tape: Tape, calls: Sequence[Call], maker: Maker) -> None:
    """Give tensors that the calls wrote to the values of before."""
    for call in reversed(calls):
        for target, new in call.template.assigns:
            n = call.number(target)
            t = tape.value(call.number(new))
            tape.put(n, t, tape.cell(n))
            if call.template.renewed.get(new) is False:
                t._node, t._flags = None, t._flags & ~HISTORY
            t._cell = maker.cell(n, t._kind)
            t._cell.stale = 0
            t._written -= 1
            if t._storage is not None:  # another thread shares it since, who has counted the write
                t._storage.version -= 1


def _forget(tape: Tape, calls: Sequence[Call]) -> None:
    """Let the tape know tensors that the calls gave another node by their last numbers alone, as it did before."""
    for call in calls:
        for target, new in call.template.assigns:
            if new in call.template.renewed:
                n = call.number(target)
                tape.put(n, None, tape.cell(n))


def _write_again(tape: Tape, call: Call, maker: Maker) -> None:
    """Give tensors the values that a call writes to them, which leaves no other trace in tensors."""
    targets = [(tape.value(call.number(new)), new) for _, new in call.template.assigns]
    if any(t._storage is not None for t, _ in targets):  # another thread shares it since
        return _repeat(tape, call)
    for t, new in targets:
        old = t._cell
        old.home, old.version = Home(t._written + 1, place_of_write(call, new), get_ident()), t._written
        t._cell = maker.cell(call.number(new), old.kind)
        t._written += 1


def _matters(call: Call) -> bool:
    t = call.template
    if t.call.in_parts:  # the next part goes on from there
        return True
    return bool(t.has_nodes or t.assigns or t.grads or any(flags & (SPECIAL | HISTORY) for _, _, flags in t.results))


def _repeat(tape: Tape, call: Call) -> None:
    template, grads = call.template, grads_of(call, tape.value)
    numbers = {id(t): (t, t._serial, t._number) for t in _targets(tape, call)}
    for t, _, _ in numbers.values():
        leave(t, tape)
    made = run_again(tape, call, lambda n: _as_entered(tape, n), grads)
    moved: dict[int, Any] = {}
    _move(tape, call, template.gives, made, moved)
    for leaf, _, result in template.grads:
        mine, now = tape.value(call.number(result)), grads[id(tape.value(call.number(leaf)))]
        if now is not mine:
            _move(tape, call, (RESULT, result), now, moved)
    for t, serial, number in numbers.values():
        t._serial, t._number = serial, number
    for late in moved.values():
        base = late._base
        if id(base) in moved:
            late._base = moved[id(base)]


def grads_of(call: Call, value: Any) -> dict[int, Any]:
    """The gradients that leaves had when the call added to them, by the leaves' ids."""
    given = [(value(call.number(leaf)), have) for leaf, have, _ in call.template.grads]
    return {id(leaf): None if have is None else value(call.number(have)) for leaf, have in given}


def _as_entered(tape: Tape, n: int) -> Any:
    """What an argument was; another thread may have written to it since, and not have run that."""
    t = tape.value(n)
    if isinstance(t, TensorBase) and t._is_late and t._serial != tape.serial:
        return wrap(tape.cell(n))
    return t


def _targets(tape: Tape, call: Call) -> list[Any]:
    return [tape.value(call.number(target)) for target, _ in call.template.assigns]


def run_again(tape: Tape, call: Call, value: Any, grads: dict[int, Any], past: bool = False) -> Any:
    """Call the function again on the tensors that `value` gives for numbers; what it adds to is in `grads`."""
    template, mine = call.template, tapes.tape
    positional, named = template.form
    args = [_argument(call, f, value) for f in positional]
    kwargs = {name: _argument(call, f, value) for name, f in named.items()}
    saved = mine.again, mine.storages, mode.enabled
    mine.again, mine.storages, mode.enabled = Again(tape, call, grads), [], bool(template.mode & 1)
    mine.again.past = past
    mine.depth += 1
    try:
        made = template.function(*args, **kwargs)
        forget_storages(mine, made)
    finally:
        mine.depth -= 1
        mine.again, mine.storages, mode.enabled = saved
    return made


def _argument(call: Call, form: Any, value: Any) -> Any:
    what = form[0]
    if what is TENSOR:
        return value(call.arguments[form[1]])
    if what is NUMBER:
        number, bounds = value(call.arguments[form[1] - len(call.template.dtypes)]), call.template.bounds
        return NumberInput(number) if form[1] < len(bounds) and bounds[form[1]] is not None else number
    if what is SEQUENCE:
        from_items = [_argument(call, f, value) for f in form[2]]
        return _sequence(form[1], from_items)
    return form[1]


def _sequence(cls: type, items: Sequence[Any]) -> Any:
    if cls is list:
        return items
    return cls(*items) if hasattr(cls, "_fields") else cls(items)


def _move(tape: Tape, call: Call, form: Any, made: Any, moved: dict[int, Any]) -> None:
    """Give late tensors what the tensors have that were made in their place."""
    what = form[0]
    if what is SEQUENCE:
        for part, m in zip(form[2], made, strict=True):
            _move(tape, call, part, m, moved)
    elif what is RESULT:
        late = tape.value(call.number(form[1]))
        if late is not made and late is not None:
            moved[id(made)] = late
            late._node = made._node
            if made._storage is not None or late._storage is None:  # else it has come to share its memory since
                late._cell, late._storage = made._cell, made._storage
            late._flags = late._flags & ~(HISTORY | SPECIAL | LEAF) | made._flags & (SPECIAL | LEAF)
            for name in MOVED:
                if name in made.__dict__:
                    late.__dict__[name] = made.__dict__[name]
    assert what is not NOTHING or made is None


__all__ = ["catch_up", "grads_of", "run_again"]
