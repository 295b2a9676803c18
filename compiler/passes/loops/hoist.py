"""Loops and branches decided before they run.

    fold      a cond on a constant is that branch, a scan of one round its body, one of no rounds what came in
    hoist     what is the same in every round, and cannot fail, is computed before the loop

Both go into regions of regions, from the innermost out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.graph import Builder, Graph, Op, Value, inline, rewrite
from ...ir.primitive import Effect
from ...ops import shape as S
from ...ops.control import Carrying, cond, loop, scan
from ...ops.reduce import spread
from ...ops.source import basis, const, dimension, iota, number
from ...ops.tape import pop, push
from ..cleanup import holding, inside

VIEWS = {basis, const, dimension, iota, spread, S.reshape, S.transpose, S.slice_}
"""Primitives whose results are not worth keeping in memory."""


def fold(graph: Graph) -> Graph:
    """Loops of no or one round and branches on constants, replaced by what they do; pops of what was just pushed."""
    made: dict[Value, Op] = {}

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        if op.prim is const or op.prim is push:
            made[op.results[0]] = Op(op.prim, args, op.attrs, (), op.results)
        if op.prim is pop and (record := made.get(args[0])) is not None:
            return record.args
        source = made.get(args[0]) if args else None
        if source is not None and source.prim is const:
            known = source.attrs["value"]
            if op.prim is cond:
                return inline(fold(op.regions[0 if known else 1]), b, args[1:])
            if op.prim is scan and known < 1:
                return args[1 : 1 + op.attrs["carries"]]
            if op.prim is scan and known == 1:
                return inline(fold(op.regions[0]), b, [number(b, 0, args[0].type), *args[1:]])
        return inside(b, op, args, fold)

    return rewrite(graph, visit) if any(op.regions or op.prim is pop for op in graph.body) else graph


def hoist(graph: Graph) -> Graph:
    """What is the same in every round of a loop, computed before it, once."""

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        if isinstance(op.prim, Carrying):
            return _lifted(b, op, args, op.prim)
        return inside(b, op, args, hoist)

    return rewrite(graph, visit) if any(op.regions for op in graph.body) else graph


def _lifted(b: Builder, op: Op, args: tuple[Value, ...], prim: Carrying) -> Sequence[Value] | None:
    """Emit a loop after what does not change in its body."""
    c, body, tests = op.attrs["carries"], hoist(op.regions[0]), tuple(map(hoist, op.regions[1:]))
    steady = _steady(body, set(body.params[1 + c :]))
    if not steady:
        return holding(b, op, args, (body, *tests))
    lifted = [r for each in body.body if each in steady for r in each.results]
    before = Graph("before", body.params[1 + c :], tuple([each for each in body.body if each in steady]), tuple(lifted))
    env = dict(zip(lifted, inline(before, b, args[prim.first + c :]), strict=True))
    left = [each for each in body.body if each not in steady or each.prim in VIEWS]
    reads = {a for each in left for a in each.args} | set(body.results)
    made = {r for each in left for r in each.results}
    wanted = [v for v in lifted if v in reads and v not in made]
    slim = Graph(body.name, (*body.params, *wanted), tuple(left), body.results)
    wider = [Graph(g.name, (*g.params, *(Value(v.type) for v in wanted)), g.body, g.results) for g in tests]
    return b.append(Op(prim, (*args, *(env[v] for v in wanted)), op.attrs, (slim, *wider), op.results, op.where))


def _steady(body: Graph, same: set[Value]) -> set[Op]:
    """The operations worth doing once: they read what is the same in each round, cannot fail and come to an end."""
    found, kept = [], set(same)
    for op in body.body:
        if all(a in kept for a in op.args) and op.effect is Effect.PURE and _ends(op) and not _tapes(op):
            kept.update(op.results)
            found.append(op)
    worth: set[Op] = set()
    needed: set[Value] = set()
    for op in reversed(found):
        if op.prim not in VIEWS or not needed.isdisjoint(op.results):
            worth.add(op)
            needed.update(op.args)
    return worth


def _ends(op: Op) -> bool:
    """Whether `op` surely comes to an end, so that doing it once too often does no harm."""
    return op.prim is not loop and all(_ends(inner) for g in op.regions for inner in g.body)


def _tapes(op: Op) -> bool:
    return any(v.type.is_tape for v in (*op.args, *op.results))


__all__ = ["fold", "hoist"]
