"""Branches made one, and branches made none.

    merge     a branch on the condition of an earlier one joins it: what the first arm saved for the second is at hand
    choose    a branch between a few cheap operations becomes a choice: both are made, and nothing is predicted
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.graph import Builder, Graph, Op, Value, inline, rewrite
from ..ir.primitive import Effect
from ..ops.control import cond
from ..ops.elementwise import select
from ..ops.source import const
from .cleanup import holding, inside

NEAR = 256
"""Operations between two branches within which they are joined."""

FEW = 8
"""Operations of both arms together up to which they are made without a branch."""


# ---- one branch for two


def merge(graph: Graph) -> Graph:
    """The graph with branches on one condition joined, where nothing between them needs to run first."""
    if not any(op.regions for op in graph.body):
        return graph
    graph = rewrite(graph, lambda b, op, args: inside(b, op, args, merge) if op.regions else None)
    made: list[Op] = []
    latest: dict[Value, Op] = {}  # the last branch on each condition
    for op in graph.body:
        if op.prim is cond:
            leader = latest.get(op.args[0])
            at = next((k for k in range(len(made))[-NEAR:] if made[k] is leader), None)
            cone = None if at is None else _cone(made, at, op)
            if at is not None and cone is not None:
                moved = set(cone)
                op = _joined(made[at], op)
                made[at:] = [*cone, op, *(each for each in made[at + 1 :] if each not in moved)]
                latest[op.args[0]] = op
                continue
            latest[op.args[0]] = op
        made.append(op)
    return Graph(graph.name, graph.params, tuple(made), graph.results)


def _cone(made: list[Op], at: int, op: Op) -> list[Op] | None:
    """What is to run before the branch at `at`, so that `op` can join it; None if it cannot."""
    between = made[at + 1 :]
    if op.effect is not Effect.PURE and any(each.effect is not Effect.PURE for each in between):
        return None
    results = set(made[at].results)
    wanted = set(op.args) - results
    cone: list[Op] = []
    for each in reversed(between):
        if not wanted.isdisjoint(each.results):
            if each.effect is not Effect.PURE or each.regions or not results.isdisjoint(each.args):
                return None
            wanted.update(each.args)
            cone.append(each)
    return cone[::-1]


def _joined(first: Op, second: Op) -> Op:
    """One branch that does what two on the same condition do, one after the other."""
    own = dict.fromkeys((*first.args[1:], *(a for a in second.args[1:] if a not in first.results)))
    regions = []
    for a, b in zip(first.regions, second.regions, strict=True):
        builder = Builder(a.name, [v.type for v in own], [v.hint for v in own])
        env = dict(zip(own, builder.params, strict=True))
        outs = inline(a, builder, [env[v] for v in first.args[1:]])
        env.update(zip(first.results, outs, strict=True))
        more = inline(b, builder, [env[v] for v in second.args[1:]])
        regions.append(builder.finish([*outs, *more]))
    args = (first.args[0], *own)
    return Op(cond, args, first.attrs, tuple(regions), (*first.results, *second.results), first.where)


# ---- no branch


def choose(graph: Graph) -> Graph:
    """The graph with branches between a few cheap operations on numbers as choices between their results."""
    if not any(op.regions for op in graph.body):
        return graph

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        if not op.regions:
            return None
        regions = tuple(map(choose, op.regions))
        if op.prim is cond and _is_cheap(regions):
            yes, no = (inline(region, b, args[1:]) for region in regions)
            return [v if v is w else select(b, args[0], v, w) for v, w in zip(yes, no, strict=True)]
        return holding(b, op, args, regions)

    return rewrite(graph, visit)


def _is_cheap(regions: Sequence[Graph]) -> bool:
    """Whether both arms are a few cheap operations on numbers."""
    if any(v.type.shape or v.type.is_tape for g in regions for v in (*g.params, *g.results)):
        return False
    work = [op for g in regions for op in g.body if op.prim is not const]
    return len(work) <= FEW and all(_is_light(op) for op in work)


def _is_light(op: Op) -> bool:
    return op.prim.light and op.prim.cost == 1


__all__ = ["choose", "merge"]
