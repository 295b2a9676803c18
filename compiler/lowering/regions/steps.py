"""What a region does, in order: single numbers one by one, loops and branches, and array work in maximal parts.

    number   made of numbers and of elements of arrays, in a register
    element  one element of an array is written
    put      a run of elements that lie side by side is written
    fill     an array is made of numbers, which are written one by one
    view     the same memory under another name: an array reshaped, a row of a matrix
    tape, region, external
    array    all else: it becomes nests

Array work waits until something needs it, so that what stands between two of its operations does not part them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...ir.graph import Builder, Graph, Op, Value, replay
from ...ir.primitive import ALWAYS, Effect
from ...ir.types import Type
from ...loops import (
    Affine,
    Apply,
    Axis,
    Buffer,
    Check,
    Element,
    Index,
    Load,
    Map,
    Number,
    Relabel,
    Scatter,
    Variable,
    along,
)
from ...ops.control import call
from ...ops.elementwise import Elementwise
from ...ops.external import external
from ...ops.linalg.lapack import Routine
from ...ops.shape import concatenate, reshape
from ...ops.source import const
from ...passes.placed import MANY
from ..nests.fuse import Fusion
from ..nests.straight import are_small
from ..origins import made_by

FEW = 4
"""Numbers up to which an array that is made of them is better made by vectors, where it is read."""

HELD = 16
"""Numbers of an array up to which small array work may hold them in registers."""


@dataclass(eq=False)
class Step:
    """An operation, or array work."""

    kind: str
    ops: list[Op] = field(default_factory=list)

    @property
    def op(self) -> Op:
        """The operation, where it is one."""
        return self.ops[0]

    def args(self) -> list[Value]:
        """What is read that the step has not made itself, as often as it is."""
        if len(self.ops) == 1:
            return list(self.ops[0].args)
        made = {r for op in self.ops for r in op.results}
        return [a for op in self.ops for a in op.args if a not in made]

    def results(self) -> list[Value]:
        """What it makes."""
        return [r for op in self.ops for r in op.results]


def is_number(type: Type) -> bool:
    """Whether a value is kept in a register: it has one element, whatever its rank."""
    if not type.shape:
        return not type.is_tape
    return not type.is_tape and all(d == 1 for d in type.static_shape())


def is_array(type: Type) -> bool:
    """Whether a value lies in memory."""
    return not type.is_tape and not is_number(type)


def load(buffer: Buffer) -> Callable[[Index], Load]:
    """How an element of a buffer is read."""
    shape = buffer.type.static_shape()
    return lambda index: Load(buffer, *Fusion.place(index, shape))


def probe(value: Value) -> Callable[[Index], Element]:
    """A reader that only serves to see which form an operation has."""
    if not is_number(value.type):
        return load(Buffer("probe", value.type))
    unknown = Variable("probe", value.type.dtype)
    return lambda index: unknown


def forms(op: Op, reads: Sequence[Callable[[Index], Element]]) -> tuple[object, ...]:
    """The form of each result."""
    made = made_by(op, op.prim.define(op, reads))
    return made if isinstance(made, tuple) else (made,)


def run(offset: Affine, axes: Sequence[Axis]) -> bool:
    """Whether an offset over all axes of a space walks it element by element."""
    stride = 1
    for axis in reversed(axes):
        if axis.extent != 1 and offset.factor(axis) != stride:
            return False
        stride *= axis.extent
    return True


def spaces(shape: Sequence[int]) -> tuple[Axis, ...]:
    """Axes for a shape."""
    return tuple([Axis(f"a{k}", n) for k, n in enumerate(shape)])


def is_call(op: Op) -> bool:
    """Whether it is a call of code that is not ours."""
    return op.prim is external or isinstance(op.prim, Routine)


def kind(op: Op) -> str:
    """Which kind of step an operation is."""
    if op.regions:
        return "region"
    if isinstance(op.prim, Elementwise):
        return "number" if is_number(op.results[0].type) else "array"
    if op.prim is reshape and is_number(op.args[0].type):
        return "number"
    for v in (*op.args, *op.results):
        if v.type.is_tape:
            return "tape"
    if is_call(op):
        return "external"
    if op.prim is concatenate and len(op.args) > FEW and all(is_number(a.type) for a in op.args):
        return "fill"
    made = forms(op, list(map(probe, op.args)))
    first, type = made[0], op.results[0].type
    if all(is_number(r.type) for r in op.results):
        simple = all(isinstance(f, Map | Check) or (isinstance(f, Relabel | Scatter) and is_number(op.args[0].type))
                     for f in made)
        return "number" if simple and all(map(_is_number_form, op.args, [first] * len(op.args))) else "array"
    if isinstance(first, Relabel):
        return "view"
    if isinstance(first, Scatter):
        return _write(op, first)
    if isinstance(first, Map) and first.view and op.args and 0 not in type.static_shape():
        return "view" if _is_view(op, first) else "array"
    return "array"


def _is_number_form(arg: Value, form: object) -> bool:
    """Arrays are read by elements, which a scatter or a check does not do."""
    return is_number(arg.type) or isinstance(form, Map)


def _write(op: Op, form: Scatter) -> str:
    shape = op.results[0].type.static_shape()
    if not all(is_number(a.type) for a in op.args[2:]):
        return "array"
    if math.prod(form.extents) == 1 and is_number(op.args[1].type):
        return "element"
    if form.fold or 0 in form.extents or not is_array(op.args[1].type):
        return "array"
    axes = spaces(form.extents)
    offset, _ = Fusion.place(form.target([along(a) for a in axes]), shape)
    return "put" if run(offset, axes) else "array"


def _is_view(op: Op, form: Map) -> bool:
    if not is_array(op.args[0].type) or not all(is_number(a.type) for a in op.args[1:]):
        return False
    axes = spaces(op.results[0].type.static_shape())
    made = form.value([along(a) for a in axes])
    still = isinstance(made, Load) and not any(_moves(g) for g, _ in made.gathered)
    return still and isinstance(made, Load) and run(made.offset, axes)


def _moves(e: Element) -> bool:
    """Whether a part of an offset that is known at run time depends on the axes of the part."""
    pending = [e]
    while pending:
        part = pending.pop()
        if isinstance(part, Apply):
            pending.extend(part.args)
        elif not isinstance(part, Variable | Number):
            return True
    return False


def expanded(graph: Graph) -> Graph:
    """The graph with the operations of called functions in place of the calls."""
    while any(op.prim is call for op in graph.body):
        b = Builder(graph.name)
        b.params = graph.params
        env = replay(graph, b, graph.params, lambda b, op, args: call.expand(b, op, args) if op.prim is call else None)
        graph = b.finish([env[r] for r in graph.results])
    return graph


class _Order:
    """The steps of a region while they are found.

    waiting  array work that nothing has needed yet
    late     numbers that are made from it: they wait too
    small    whether array work will be written out, and numbers made from it may be part of it
    """

    def __init__(self, kinds: Mapping[Op, str], small: bool) -> None:
        self.kinds, self.small = kinds, small
        self.steps: list[Step] = []
        self.waiting = Step("array")
        self.late: list[Step] = []
        self.later: set[Value] = set()
        self.constant: set[Value] = set()
        self.made: set[Value] = set()
        self.read: set[Value] = set()
        self.base: dict[Value, Value] = {}

    def flush(self) -> None:
        if self.waiting.ops:
            self.steps.append(self.waiting)
        self.steps += self.late
        self.waiting, self.late = Step("array"), []
        self.made, self.later, self.read = set(), set(), set()

    def add(self, op: Op) -> None:
        kind = self.kinds[op]
        if kind == "number" and op.prim is not const and not self.waiting.ops and not self.late:
            self.steps.append(Step(kind, [op]))
            return
        arrays = [self.base.get(a, a) for a in op.args if not is_number(a.type)]
        if kind == "view":
            self.base.update(dict.fromkeys(op.results, arrays[0]))
        late = not self.later.isdisjoint(op.args)
        if self.small and kind in ("element", "put") and self.constant.issuperset(op.args[2:]):
            kind = "array"
        waits = late or not self.made.isdisjoint(op.args)
        if kind == "fill" and (self._in_registers(op) or (waits and len(op.args) < MANY)):
            kind = "array"
        if op.prim is const:
            self.constant.update(op.results)
        if kind == "array" or (kind == "view" and op.args[0] in self.made):
            if late:
                self.flush()
            self._wait(op, arrays)
            return
        writes = kind in ("region", "tape", "element", "put")
        if self._both_fail(op) or (writes and not self.read.isdisjoint(arrays)):
            self.flush()
        elif kind == "number" and waits:
            if self.small and op.effect is Effect.PURE and not late:
                self._wait(op, arrays)
                return
            self.late.append(Step(kind, [op]))
            self.later.update(op.results)
            self.read.update(arrays)
            return
        elif waits:
            self.flush()
        self.steps.append(Step(kind, [op]))

    def _in_registers(self, op: Op) -> bool:
        """Whether the numbers of an array stay in registers, as it is read by what is written out."""
        return self.small and len(op.args) <= HELD

    def _both_fail(self, op: Op) -> bool:
        """Whether an operation may fail, and one that waits may, which comes first."""
        if op.effect is Effect.PURE:
            return False
        waiting = (*self.waiting.ops, *(step.op for step in self.late))
        return any(w.effect is not Effect.PURE for w in waiting)

    def _wait(self, op: Op, arrays: Sequence[Value]) -> None:
        self.waiting.ops.append(op)
        self.made.update(op.results)
        self.read.update(arrays)


def steps(graph: Graph) -> list[Step]:
    """The steps of a region in which nothing is called."""
    order = _Order({op: kind(op) for op in graph.body}, are_small(graph.body))
    for op in graph.body:
        order.add(op)
    order.flush()
    _make_again(order.steps)
    return order.steps


def _make_again(steps: Sequence[Step]) -> None:
    """Let array work make itself, of what another one has made, what is made of no array: constants, places and masks.

    Between the two it would lie in memory, and is read no faster than it is made.
    """
    free: dict[Value, Op] = {}
    for step in steps:
        if step.kind != "array":
            continue
        mine = {op.results[0]: op for op in step.ops if op.prim.again == ALWAYS and _is_plain(op)}
        env: dict[Value, Value] = {}
        ops: list[Op] = []
        for a in step.args():
            _copy_free(a, free, env, ops)
        if ops:
            step.ops = ops + [_with(op, env, op.results) for op in step.ops]
        for r, op in mine.items():
            if all(a in free or is_number(a.type) for a in op.args):
                free[r] = op


def _is_plain(op: Op) -> bool:
    return op.effect is Effect.PURE and not op.regions and len(op.results) == 1 and is_array(op.results[0].type)


def _copy_free(value: Value, free: Mapping[Value, Op], env: dict[Value, Value], ops: list[Op]) -> None:
    """Add the operations that make a value of no array, if it is such a one, with results of their own."""
    if value not in free or value in env:
        return
    op = free[value]
    for a in op.args:
        _copy_free(a, free, env, ops)
    env[value] = Value(value.type, value.hint)
    ops.append(_with(op, env, (env[value],)))


def _with(op: Op, env: Mapping[Value, Value], results: tuple[Value, ...]) -> Op:
    """The operation on other values."""
    return Op(op.prim, tuple([env.get(a, a) for a in op.args]), op.attrs, op.regions, results, op.where)


__all__ = ["Step", "expanded", "forms", "is_array", "is_number", "load", "probe", "run", "spaces", "steps"]
