"""Calls that were recognised run again where what they left out is wanted: nodes, views, what was written in place.

That happens before anything could tell the difference: a late tensor is asked for its node, a function runs for the
first time, or a value that is wanted at the end of a trace has a history.  Every step that the calls record is the
one that is on the tape already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from .call_nodes import Maker
from .cells import Cell
from .core import wrap
from .fragments import Fragment
from .modes import mode
from .nodes import Node, reachable
from .paths import Path, part_of
from .plans import program_of
from .reading import has_history, leave
from .slots import HISTORY, LEAF, PART, SPECIAL, TensorBase
from .states import NOTHING, NUMBER, RESULT, SEQUENCE, TENSOR, Call, Program, State, events
from .tape import Tape, tapes

MOVED = (
    "_index", "_steps", "_whole", "_part", "_seen", "_origin", "_inference", "_counted", "_accumulator", "_retains",
)  # fmt: skip
"""What a tensor has besides its cell, node, storage and flags."""


class Again:
    """The steps of a call that runs again."""

    def __init__(self, tape: Tape, call: Call) -> None:
        self.tape, self.call = tape, call
        self.steps = iter(call.template.steps)

    def is_number(self, ref: int) -> bool:
        """Whether a ref stands for a number, which is nothing else again."""
        return len(self.call.template.dtypes) - len(self.call.arguments) > ref

    def step(self, fragment: Fragment, cells: Any) -> list[Cell]:
        """The results of the next step, which are on the tape."""
        tape, call = self.tape, self.call
        found = next(self.steps, None)
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


def catch_up(tape: Tape) -> None:
    """Run again what was recognised since the last time, as far as it made more than values."""
    if tape.caught is tape.state or tapes.tape.again is not None:
        return
    with tape.lock:
        states = events(tape.state, tape.caught)
        calls = [(s, s.event) for s in states if s not in tape.done and isinstance(s.event, Call)]
        maker = Maker(tape, states)
        before = _rewind(tape, [call for _, call in calls])
        try:
            for state, call in calls:
                if call.template.plain:
                    maker.make(call)
                elif _matters(call):
                    _repeat(tape, call)
                    tape.noded = True
                tape.done.add(state)
        except Exception as error:
            tape.fail(error)
            raise
        finally:
            for leaf, grad in before:
                leaf._grad = grad
        tape.caught = tape.state
        tape.done.clear()


Tape.catch_up = catch_up  # type: ignore[method-assign]


def _rewind(tape: Tape, calls: Sequence[Call]) -> list[tuple[Any, Any]]:
    """Give tensors that the calls wrote to the values of before; the leaves that they added to, with the gradients."""
    leaves = []
    for call in reversed(calls):
        for target, _ in call.template.assigns:
            n = call.number(target)
            t = tape.value(n)
            t._cell = tape.cell_at(tape.origin(n), t._kind)
            t._cell.stale = 0
            t._written -= 1
        leaves += [tape.value(call.number(leaf)) for leaf, _, _ in call.template.grads]
    return [(leaf, leaf._grad) for leaf in leaves]


def _matters(call: Call) -> bool:
    t = call.template
    return bool(t.has_nodes or t.assigns or t.grads or any(flags & (SPECIAL | HISTORY) for _, _, flags in t.results))


def _repeat(tape: Tape, call: Call) -> None:
    template = call.template
    for leaf, have, _ in template.grads:
        tape.value(call.number(leaf))._grad = None if have is None else tape.value(call.number(have))
    numbers = {id(t): (t, t._serial, t._number) for t in _targets(tape, call)}
    for t, _, _ in numbers.values():
        leave(t, tape)
    made = _run(tape, call, lambda n: tape.value(n))
    moved: dict[int, Any] = {}
    _move(tape, call, template.gives, made, moved)
    for leaf, _, result in template.grads:
        mine, now = tape.value(call.number(result)), tape.value(call.number(leaf))._grad
        if now is not mine:
            _move(tape, call, (RESULT, result), now, moved)
    for t, serial, number in numbers.values():
        t._serial, t._number = serial, number
    for late in moved.values():
        base = late._base
        if id(base) in moved:
            late._base = moved[id(base)]


def _targets(tape: Tape, call: Call) -> list[Any]:
    return [tape.value(call.number(target)) for target, _ in call.template.assigns]


def _run(tape: Tape, call: Call, value: Any) -> Any:
    """Call the function again on the tensors that `value` gives for numbers."""
    template, mine = call.template, tapes.tape
    positional, named = template.form
    args = [_argument(call, f, value) for f in positional]
    kwargs = {name: _argument(call, f, value) for name, f in named.items()}
    saved = mine.again, mine.depth, mine.storages, mode.enabled
    mine.again, mine.depth, mine.storages, mode.enabled = Again(tape, call), mine.depth + 1, [], bool(template.mode & 1)
    try:
        made = template.function(*args, **kwargs)
        mine.forget_storages(made)
    finally:
        mine.again, mine.depth, mine.storages, mode.enabled = saved
    return made


def _argument(call: Call, form: Any, value: Any) -> Any:
    what = form[0]
    if what is TENSOR:
        return value(call.arguments[form[1]])
    if what is NUMBER:
        return value(call.arguments[form[1] - len(call.template.dtypes)])
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
            late._cell, late._node, late._storage = made._cell, made._node, made._storage
            late._flags = late._flags & ~(HISTORY | SPECIAL | LEAF) | made._flags & (SPECIAL | LEAF)
            for name in MOVED:
                if name in made.__dict__:
                    late.__dict__[name] = made.__dict__[name]
    assert what is not NOTHING or made is None


# ---- after the trace has run


class Record:
    """What a trace was, for tensors that may be asked for their place in the gradient graph after it has run, or for
    what they are views of.

    Only what was used up by backward is told so: nodes that are still of use are made before the trace runs.
    """

    __slots__ = ("state", "numbers", "tensors", "nodes")

    def __init__(self, state: State, numbers: Sequence[int], tensors: Sequence[Any]) -> None:
        self.state, self.numbers, self.tensors = state, numbers, tensors
        self.nodes: dict[int, tuple[Node | None, int]] | None = None

    def place(self, number: int) -> tuple[Node | None, int]:
        """The node of a value and the number of the result that it is."""
        if self.nodes is None:
            self.nodes = self._made()
        return self.nodes.get(number, (None, 0))

    def restore(self, t: Any, number: int) -> None:
        """Let a tensor that is a view, of memory that only it has seen since, be one again."""
        program = program_of(self.state)
        of = program.views.of.get(number)
        if of is None or number not in program.views.based or number not in program.views.whole:
            return
        path, kind = program.views.paths[number], program.kinds[of]
        array = np.empty(kind.shape, kind.numpy)
        np.copyto(part_of(array, path), t._cell.array)
        base: Any = wrap(Cell(kind, array))
        made, edge = {s.first: s.numbers[0] for s in program.steps}, (t._node, t._index)
        while t._node is not None and number != of:
            edge, number = edge[0].edges[0], made[program.number(number)]
        base._node, base._index = edge
        base._written = t._written
        storage = base._shared()
        storage.viewed = True
        t._storage, t._base, t._seen = storage, base, storage.edition
        t._path = t._part = path
        t._cell.home, t._cell.version = storage, storage.version

    def _made(self) -> dict[int, tuple[Node | None, int]]:
        program = program_of(self.state)
        tape = Tape(False)
        tape.put(self.state.values - 1, None, None)
        tape.count = self.state.values
        held = zip(self.numbers, self.tensors, strict=True)
        values: dict[int, Any] = {n: stand_in(tape, n, program, t) for n, t in held}
        nodes: dict[int, tuple[Node | None, int]] = {}

        def value(n: int) -> Any:
            if n not in values:
                values[n] = stand_in(tape, n, program, None)
            return values[n]

        for state in events(self.state):
            call = state.event
            tape.state = state
            if not isinstance(call, Call):
                continue
            template = call.template
            for target, new in template.assigns:
                values[call.number(new)] = value(call.number(target))
            if template.has_nodes or template.parts:
                made = _run(tape, call, value)
                _collect(call, template.gives, made, values)
            used = [t._node for n in template.frees if (t := values.get(n)) is not None and t._node is not None]
            for node in reachable(used):
                node.free()
        for n, t in values.items():
            nodes[n] = t._node, t._index
        return nodes


def remember(tape: Tape, plan: Any) -> list[Any]:
    """What is needed of a trace that is about to end, as native code notes it: a state, numbers, their values ..."""
    if plan.held is None:
        plan.held = _held(tape, plan)
    if plan.joins:
        views = program_of(plan.state).views
        for n, m in plan.joins:
            _join(tape.value(n), tape.value(m), views.paths[n], n in views.based)
    return [plan.state, plan.held, *tape.pick(plan.held)]


def recall(_: Tape, record: list[Any]) -> Record:
    """The record of a trace, made when it is first asked for."""
    if type(record[0]) is not Record:
        state, numbers, *tensors = record
        record[:] = [Record(state, numbers, tensors)]
    return record[0]


def _held(tape: Tape, plan: Any) -> tuple[int, ...]:
    """The numbers of tensors from outside at which nodes begin.  Those with a history that no node needs would keep the
    traces before this one alive."""
    numbers = *plan.program.inputs, *plan.program.again
    tensors = [(n, t) for n in numbers if isinstance(t := tape.value(n), TensorBase)]
    older = {n for n, t in tensors if has_history(t)}
    if older:
        calls = [s.event for s in events(plan.state) if isinstance(s.event, Call) and s.event.template.has_nodes]
        older.intersection_update([n for call in calls for n in call.arguments])
    return tuple([n for n, t in tensors if n in older or (t._flags & LEAF and not has_history(t))])


def _join(t: Any, owner: Any, path: Path, based: bool) -> None:
    """Let a view, which was late, share the memory of another tensor."""
    if t._flags & PART:
        t._flags &= ~PART
        storage = owner._storage or owner._store()
        t._storage, t._seen = storage, storage.edition
        t._steps = owner._path + path
        if based:
            storage.viewed, base = True, owner._base
            t._whole, t._part = owner if base is None else base, owner._part + path
        t._cell.home, t._cell.version = storage, storage.version


Tape.remember, Tape.recall = remember, recall  # type: ignore[method-assign]


def stand_in(tape: Tape, n: int, program: Program, t: Any) -> Any:
    """A tensor in the place of one that was an argument: with its history, but without its value."""
    kind = program.kinds[n]
    made: Any = wrap(tape.cell_at(program.number(n), kind))
    if t is not None:
        made._flags = t._flags & LEAF
        edge = t._edge()
        if t._node is not None:
            made._node, made._index = t._node, t._index
        elif edge is not None:
            made._accumulator, made._kept = ref(edge[0]), edge[0]
    return made


def _collect(call: Call, form: Any, made: Any, values: dict[int, Any]) -> None:
    what = form[0]
    if what is SEQUENCE:
        for part, m in zip(form[2], made, strict=True):
            _collect(call, part, m, values)
    elif what is RESULT:
        values[call.number(form[1])] = made


__all__ = ["Record", "catch_up", "remember"]
