"""Passes that keep the meaning and shrink the graph: expand, common, dead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.graph import Builder, Graph, Op, Value, rewrite
from ..ir.primitive import Effect, Primitive
from ..ir.text import show
from ..ops.custom import checkpoint, refused


def inside(
    b: Builder, op: Op, args: tuple[Value, ...], change: Callable[[Graph], Graph]
) -> tuple[Value, ...] | None:
    """Emit `op` with its regions changed; None if that is no change."""
    return holding(b, op, args, tuple(map(change, op.regions)))


def holding(b: Builder, op: Op, args: tuple[Value, ...], regions: tuple[Graph, ...]) -> tuple[Value, ...] | None:
    """Emit `op` with other regions; None if they are its own."""
    if all(new is old for new, old in zip(regions, op.regions, strict=True)):
        return None
    return b.append(Op(op.prim, args, op.attrs, regions, op.results, b.where))


def expand(graph: Graph, late: bool = False, keep: Callable[[Primitive], bool] = lambda prim: False) -> Graph:
    """Write calls, custom rules and the like in terms of what they stand for, in regions too, but for what to `keep`.

    Two wait until `late`: what a checkpoint computes again must not be found equal to what was computed before, and
    what is refused may be found not to be needed.
    """

    applied: set[tuple[Primitive, tuple[Value, ...]]] = set()

    def stays(op: Op) -> bool:
        return op.prim.expand is None or (op.prim in (checkpoint, refused) and not late) or keep(op.prim)

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Any:
        if not stays(op):
            if op.prim.beside is not None and (op.prim.beside[0], op.args) in applied:
                return op.prim.beside[1](b, args)
            return op.prim.expand(b, op, args)
        return inside(b, op, args, lambda region: expand(region, late, keep))

    def expands(graph: Graph) -> bool:
        return any(not stays(op) or any(map(expands, op.regions)) for op in graph.body)

    while expands(graph):
        graph = dead(graph)
        applied = {(op.prim, op.args) for op in graph.body}
        graph = rewrite(graph, visit)
    return graph


def unwrap(graph: Graph) -> Graph:
    """Expand checkpoints, too: nothing looks for equal operations any more.  What is refused still is an error now."""
    return expand(graph, late=True)


def dead(graph: Graph) -> Graph:
    """Drop operations whose results nobody reads; what may fail stays.  `narrow` does so within regions, too."""
    live, kept = set(graph.results), []
    for op in reversed(graph.body):
        if not live.isdisjoint(op.results) or op.effect is not Effect.PURE:
            live.update(op.args)
            kept.append(op)
    if len(kept) == len(graph.body):
        return graph
    return Graph(graph.name, graph.params, tuple(reversed(kept)), graph.results)


def common(graph: Graph) -> Graph:
    """Compute equal operations once.  What may fail is kept apart only by what it is applied to.

    No two operations make one tape: each is changed in place.
    """
    seen: dict[Any, list[Op]] = {}

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Any:
        if op.results and op.results[0].type.is_tape:
            return inside(b, op, args, common)
        key = (op.prim, args, attrs_key(op.attrs)) if op.attrs else (op.prim, args)
        alike = seen.setdefault(key, [])
        for other in alike:
            if not op.regions or _equal(op.regions, other.regions):
                return other.results
        alike.append(op)
        return inside(b, op, args, common) if op.regions else None

    return rewrite(graph, visit)


def _equal(regions: Sequence[Graph], others: Sequence[Graph]) -> bool:
    return all(show(a, bare=True) == show(b, bare=True) for a, b in zip(regions, others, strict=True))


def attrs_key(attrs: Any) -> tuple[Any, ...]:
    """Attributes as a key that tells 0.0 from -0.0, and 1 from 1.0 and True."""
    return tuple([(k, _key(attrs[k])) for k in sorted(attrs)]) if attrs else ()


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return (type(value), value)
