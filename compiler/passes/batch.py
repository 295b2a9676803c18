"""One more axis in front: a graph for many lanes at once, as array work.

    batched(b, graph, args, flags, 4096)      what `graph` gives for each of 4096 lanes

An argument that is batched has an axis of the lanes in front; one that is not is the same for every lane, and what
depends on none that is batched is made once. Each primitive says how it takes the axis (`Primitive.batch`), handed a
`Lanes`; regions are batched here, because that is the same walk again: a branch on a lane's own condition makes both
arms and selects, a loop whose count all lanes share is one loop over batched carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.graph import Builder, Graph, Op, Value
from ..ir.primitive import Effect, NotBatchable, Primitive
from ..ir.types import Type
from ..ops.control import call, cond, scan
from ..ops.custom import again, checkpoint, custom
from ..ops.elementwise import add, mul, select, sub
from ..ops.index import check_indices
from ..ops.reduce import spread
from ..ops.source import basis, const, iota, number

Made = list[tuple[Value, bool]]

ARMS = 64
"""Operations up to which both arms of a branch are made for every lane."""


class Lanes:
    """The arguments of one operation that is being batched, for the rule of its primitive."""

    def __init__(self, b: Builder, op: Op, args: Sequence[Value], flags: Sequence[bool], size: int) -> None:
        self.b, self.op, self.args, self.flags, self.size = b, op, tuple(args), tuple(flags), size

    def wide(self, k: int) -> Value:
        """Argument k with the axis of the lanes in front."""
        return self.args[k] if self.flags[k] else widened(self.b, self.args[k], self.size)

    def lane(self) -> Value:
        """The number of each lane, i64[size]."""
        return self.b.emit(iota, type=Type("i64", (self.size,)), axis=0)[0]

    def emit(self, prim: Primitive, *args: Value, **attrs: Any) -> tuple[Value, ...]:
        """Emit a primitive."""
        return self.b.emit(prim, *args, **attrs)

    def constant(self, value: int, type: Type) -> Value:
        """A number in every element of `type`."""
        return number(self.b, value, type)

    def affine(self, k: int) -> tuple[int, int] | None:
        """(factor, constant) where argument k is factor * lane + constant, if that is known."""
        return affine_of(self.b, self.args[k])


def batched(
    b: Builder, graph: Graph, args: Sequence[Value], flags: Sequence[bool], size: int
) -> tuple[list[Value], list[bool]]:
    """Emit `graph` for `size` lanes; its results, and which of them have the axis of the lanes.

    Raises NotBatchable where a primitive cannot take the axis; then `b` may hold operations that nobody reads.
    """
    env = dict(zip(graph.params, zip(args, flags, strict=True), strict=True))
    outer = b.where
    for op in graph.body:
        b.where = op.where or outer
        given = [env[a] for a in op.args]
        values, wide = [v for v, _ in given], [f for _, f in given]
        if any(wide):
            made = _lanes_of(b, op, values, wide, size)
        else:
            made = [(r, False) for r in b.emit(op.prim, *values, regions=op.regions, **op.attrs)]
        env.update(zip(op.results, made, strict=True))
    b.where = outer
    results = [env[r] for r in graph.results]
    return [v for v, _ in results], [f for _, f in results]


def widened(b: Builder, value: Value, size: int) -> Value:
    """`value` for every lane."""
    if value.type.is_tape:
        raise NotBatchable("a tape has no axes")
    shape = value.type.shape
    return spread(b, value, shape=(size, *shape), axes=tuple(range(1, len(shape) + 1)))


def affine_of(b: Builder, value: Value) -> tuple[int, int] | None:
    """(factor, constant) where `value` is factor * lane + constant, as far as iota and constants tell."""
    for op in reversed(b.body):
        if op.results and op.results[0] is value:
            break
    else:
        return None
    if op.prim in (iota, basis):
        return 1, 0
    if op.prim is const:
        return 0, int(op.attrs["value"])
    if op.prim in (spread, check_indices):
        return affine_of(b, op.args[0])
    if op.prim in (add, sub, mul):
        x, y = (affine_of(b, a) for a in op.args)
        if x is None or y is None:
            return None
        if op.prim is mul:
            return None if x[0] and y[0] else (x[0] * y[1] + y[0] * x[1], x[1] * y[1])
        sign = 1 if op.prim is add else -1
        return x[0] + sign * y[0], x[1] + sign * y[1]
    return None


# ---- operations


def _lanes_of(b: Builder, op: Op, values: list[Value], flags: list[bool], size: int) -> Made:
    if op.prim is call:
        return list(zip(*batched(b, op.regions[0], values, flags, size), strict=True))
    if op.prim is scan:
        return _scan(b, op, values, flags, size)
    if op.prim is cond:
        return _cond(b, op, values, flags, size)
    if op.prim in (custom, again, checkpoint):
        return _kept_whole(b, op, values, flags, size)
    if op.prim.holds:
        raise NotBatchable(f"{op.prim.name} does not run the same number of rounds in every lane")
    return [(v, True) for v in op.prim.batch(Lanes(b, op, values, flags, size))]


def _kept_whole(b: Builder, op: Op, values: list[Value], flags: list[bool], size: int) -> Made:
    """A function with a rule, on lanes throughout: so its rule can call it again, knowing what it is called with."""
    given = [v if f else widened(b, v, size) for v, f in zip(values, flags, strict=True)]
    regions = []
    for g in op.regions:
        types = [_lane_type(p.type, True, size) for p in g.params]
        regions.append(_region(g, types, [True] * len(g.params), [True] * len(g.results), size))
    attrs = dict(op.attrs)
    if op.prim is again:
        attrs["types"] = tuple([_lane_type(r.type, True, size) for r in op.results])
    return [(r, True) for r in b.emit(op.prim, *given, regions=regions, **attrs)]


def _cond(b: Builder, op: Op, values: list[Value], flags: list[bool], size: int) -> Made:
    """Branches: one branch where all lanes agree, else both arms and a choice for each lane."""
    if not flags[0]:
        arms, wide = _arms(op, values[1:], flags[1:], size)
        made = b.emit(cond, values[0], *values[1:], regions=arms)
        return list(zip(made, wide, strict=True))
    if op.effect is not Effect.PURE or sum(len(g.body) for g in op.regions) > ARMS:
        raise NotBatchable("lanes part at a branch that may fail, or that is long")
    yes, no = (batched(b, region, values[1:], flags[1:], size) for region in op.regions)
    made = []
    for first, second in zip(zip(*yes, strict=True), zip(*no, strict=True), strict=True):
        v, w = (x if wide else widened(b, x, size) for x, wide in (first, second))
        p = spread(b, values[0], shape=v.type.shape, axes=(0,))
        made.append((select(b, p, v, w), True))
    return made


def _arms(op: Op, values: list[Value], flags: list[bool], size: int) -> tuple[list[Graph], list[bool]]:
    """The regions of a branch for all lanes; a result that one of them batches both batch."""
    wide = [any(f) for f in zip(*(_widths(g, flags, size) for g in op.regions), strict=True)]
    return [_region(g, [v.type for v in values], flags, wide, size) for g in op.regions], wide


def _widths(graph: Graph, flags: Sequence[bool], size: int) -> list[bool]:
    b = Builder(graph.name)
    params = [b.param(_lane_type(p.type, f, size)) for p, f in zip(graph.params, flags, strict=True)]
    return batched(b, graph, params, flags, size)[1]


def _lane_type(type: Type, wide: bool, size: int) -> Type:
    if wide and type.is_tape:
        raise NotBatchable("a tape has no axes")
    return type.with_shape((size, *type.shape)) if wide else type


def _region(graph: Graph, types: Sequence[Type], flags: Sequence[bool], wide: Sequence[bool], size: int) -> Graph:
    """A region for all lanes, with the results batched as `wide` says."""
    b = Builder(graph.name, types, [p.hint for p in graph.params])
    results, have = batched(b, graph, b.params, flags, size)
    return b.finish([
        r if h or not w else widened(b, r, size) for r, h, w in zip(results, have, wide, strict=True)
    ])


def _scan(b: Builder, op: Op, values: list[Value], flags: list[bool], size: int) -> Made:
    """A loop whose number of rounds all lanes share; which carries are batched is a fixed point."""
    if flags[0]:
        raise NotBatchable("scan does not run the same number of rounds in every lane")
    (body,), count = op.regions, op.attrs["carries"]
    wide = flags[1 : 1 + count]
    while True:
        now = _widths(body, [False, *wide, *flags[1 + count :]], size)
        joined = [a or b for a, b in zip(wide, now, strict=True)]
        if joined == wide:
            break
        wide = joined
    carried = [
        v if f or not w else widened(b, v, size)
        for v, f, w in zip(values[1 : 1 + count], flags[1 : 1 + count], wide, strict=True)
    ]
    given = [*carried, *values[1 + count :]]
    region = _region(body, [Type("i64"), *(v.type for v in given)], [False, *wide, *flags[1 + count :]], wide, size)
    return list(zip(b.emit(scan, values[0], *given, regions=[region], **op.attrs), wide, strict=True))


__all__ = ["Lanes", "affine_of", "batched", "widened"]
