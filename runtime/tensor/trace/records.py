"""What a trace was, for those who ask after it has run: late tensors for their nodes, or what they are views of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from ..calls.repeat import grads_of, run_again
from ..reverse.nodes import Node, reachable
from ..reverse.segment_nodes import SegmentNode
from ..value.cells import Cell
from ..value.core import wrap
from ..value.memory import has_history
from ..value.paths import Path, part_of
from ..value.slots import HISTORY, LEAF, PART, TensorBase
from ..value.storage import PartHome
from .kept import Kept
from .plans import program_of
from .programs import Program
from .states import RESULT, SEQUENCE, Call, State, events
from .tape import Tape, tapes


class Record:
    """What a trace was, for tensors that may be asked for their place in the gradient graph after it has run, or for
    what they are views of.

    Mostly that was used up by backward, and nodes that are still of use were made before the trace ran; else what it
    read is `kept`, so that what they saved can be computed again.
    """

    __slots__ = ("state", "numbers", "tensors", "nodes", "kept", "__weakref__")

    def __init__(self, state: State, numbers: Sequence[int], tensors: Sequence[Any], kept: Kept | None = None) -> None:
        self.state, self.numbers, self.tensors, self.kept = state, numbers, tensors, kept
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
        path, kind, origin = program.views.paths[number], program.kinds[of], program.views.origins.get(number, "")
        array = np.empty(kind.shape, kind.numpy)
        np.copyto(part_of(array, path), t._cell.array)
        base: Any = wrap(Cell(kind, array))
        known = t._node.base_of(number) if type(t._node) is SegmentNode else None
        edge: Any = known or (t._open(), t._index)
        made = {s.first: s.numbers[0] for s in program.steps}
        while known is None and t._node is not None and number != of:
            edge, number = edge[0].edges[0], made[program.number(number)]
        base._node, base._index = edge
        base._written = t._written
        storage = base._shared()
        storage.viewed = True
        t._storage, t._base, t._seen = storage, base, storage.edition
        t._path = t._part = path
        t._origin = origin
        t._cell.home, t._cell.version = PartHome(storage, path), storage.version

    def _made(self) -> dict[int, tuple[Node | None, int]]:
        program = program_of(self.state)
        tape = Tape(False)
        tape.ages = tapes.tape.ages
        tape.put(self.state.values - 1, None, None)
        tape.count = self.state.values
        kept = self.kept
        if kept is not None:
            kept.enter(tape)
        held = zip(self.numbers, self.tensors, strict=True)
        values: dict[int, Any] = {n: stand_in(tape, n, program, t) for n, t in held}
        if kept is not None:
            values.update(kept.numbers)
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
                if kept is not None:
                    values[call.number(new)] = _written(tape, value(call.number(target)), call.number(new))
            if template.has_nodes or template.parts:
                made = run_again(tape, call, value, grads_of(call, value), past=True)
                _collect(call, template.gives, made, values)
            used = [t._node for n in template.frees if (t := values.get(n)) is not None and t._node is not None]
            for node in reachable(used):
                node.free()
        nodes.update([(n, (t._node, t._index)) for n, t in values.items() if isinstance(t, TensorBase)])
        if kept is not None:
            kept.compute(tape, program)
            self.kept = None  # at last: who is interrupted asks again
        return nodes


def remember(tape: Tape, plan: Any, late: list[Any], kept: Kept | None = None) -> list[Any]:
    """What is needed of a trace that is about to end, as native code notes it: a state, numbers, their values ...

    late   the tensors that are to have it; what they are views of, and nobody held, is added
    """
    if plan.held is None:
        plan.held = _held(tape, plan)
    joins = plan.joins if kept is None else plan.program.views.joins(plan.numbers, plan.program.again)
    if joins:
        written_out = isinstance(plan.program, Program)
        program, gone = plan.program if written_out else program_of(plan.state), dict[int, Any]()
        for n, m in joins:
            owner = tape.value(m)
            if owner is None:  # only views of it are left
                if m not in gone:
                    gone[m] = wrap(tape.cell_at(m, program.kinds[m]))
                    if m in program.history and not gone[m]._node:
                        gone[m]._flags |= HISTORY
                        gone[m]._number = m
                        late.append(gone[m])
                owner = gone[m]
            _join(tape.value(n), owner, program.views.paths[n], n in program.views.based)
            if n in program.views.origins:
                tape.value(n)._origin = program.views.origins[n]
    if kept is not None:
        return [Record(plan.state, plan.held, tape.pick(plan.held), kept)]
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
        t._cell.home, t._cell.version = PartHome(storage, t._steps), storage.version


Tape.remember, Tape.recall = remember, recall  # type: ignore[method-assign]


def stand_in(tape: Tape, n: int, program: Program, t: Any) -> Any:
    """A tensor in the place of one that was an argument: with its history, but without its value.

    t   the argument, where a node of the trace began: at a history, or at a leaf, which it was then, whatever it is now
    """
    kind = program.kinds[n]
    made: Any = wrap(tape.cell_at(program.number(n), kind))
    if t is not None and t._node is not None:
        made._flags, made._node, made._index = t._flags & LEAF, t._node, t._index
    elif t is not None and (edge := t._leaf_edge()) is not None:
        made._flags, made._accumulator, made._kept = LEAF, ref(edge[0]), edge[0]
    return made


def _written(tape: Tape, old: Any, new: int) -> Any:
    """A tensor in the place of one that was written to, where nodes begin at what it held before and holds now."""
    made: Any = wrap(tape.cell_at(new, old._cell.kind))
    made._flags, made._node, made._index = old._flags & LEAF, old._node, old._index
    edge = old._edge()
    if old._node is None and edge is not None:
        made._accumulator, made._kept = ref(edge[0]), edge[0]
    old._cell.stale = old._cell.stale or 1
    return made


def _collect(call: Call, form: Any, made: Any, values: dict[int, Any]) -> None:
    what = form[0]
    if what is SEQUENCE:
        for part, m in zip(form[2], made, strict=True):
            _collect(call, part, m, values)
    elif what is RESULT:
        values[call.number(form[1])] = made


__all__ = ["Record", "recall", "remember"]
