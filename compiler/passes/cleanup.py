"""Passes that keep the meaning and shrink the graph: expand, common, dead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.graph import Builder, Graph, Op, Value, primitives, rewrite
from ..ir.primitive import Effect, Primitive
from ..ir.symint import by_node
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
    going: set[Primitive] = set()

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Any:
        if op.prim in going:
            if op.prim.beside is not None and (op.prim.beside[0], op.args) in applied:
                return op.prim.beside[1](b, args)
            return op.prim.expand(b, op, args)
        return inside(b, op, args, lambda region: expand(region, late, keep))

    while _expands(graph, late, keep):
        graph = dead(graph)
        going = _going(graph, late, keep)
        known = {prim.beside[0] for prim in going if prim.beside is not None}
        applied = {(op.prim, op.args) for op in graph.body if op.prim in known} if known else set()
        graph = rewrite(graph, visit, going)
    return graph


def _going(graph: Graph, late: bool, keep: Callable[[Primitive], bool]) -> set[Primitive]:
    """The primitives of a graph that are to be expanded, those in regions aside."""
    found = {prim for prim in primitives(graph) if prim.expand is not None and not keep(prim)}
    return found if late else found - {checkpoint, refused}


def _expands(graph: Graph, late: bool, keep: Callable[[Primitive], bool]) -> bool:
    if _going(graph, late, keep):
        return True
    return any(_expands(region, late, keep) for op in graph.body if op.regions for region in op.regions)


def unwrap(graph: Graph) -> Graph:
    """Expand checkpoints, too: nothing looks for equal operations any more.  What is refused still is an error now."""
    return expand(graph, late=True)


def dead(graph: Graph) -> Graph:
    """Drop operations whose results nobody reads; what may fail stays.  `narrow` does so within regions, too."""
    live, kept, pure = set(graph.results), [], Effect.PURE
    for op in reversed(graph.body):
        if not live.isdisjoint(op.results) or (op.effect if op.regions else op.prim.effect) is not pure:
            live.update(op.args)
            kept.append(op)
    if len(kept) == len(graph.body):
        return graph
    return Graph(graph.name, graph.params, tuple(reversed(kept)), graph.results)


def common(graph: Graph) -> Graph:
    """Compute equal operations once.  What may fail is kept apart only by what it is applied to.

    No two operations make one tape: each is changed in place.
    """
    seen: dict[Any, Op] = {}
    holders: dict[Any, list[Op]] = {}

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Any:
        if op.results and op.results[0].type.dtype == "tape":
            return inside(b, op, args, common) if op.regions else None
        if op.prim.commutes and id(args[1]) < id(args[0]):
            args = args[1], args[0]
        key = (op.prim, args, attrs_key(op.attrs)) if op.attrs else (op.prim, args)
        try:
            hash(key)
        except TypeError:  # of sizes that no table may be asked for, equal expressions are equal
            key = op.prim, args, by_node(attrs_key(op.attrs))
        if not op.regions:
            first = seen.setdefault(key, op)
            return None if first is op else first.results
        alike = holders.setdefault(key, [])
        for other in alike:
            if _equal(op.regions, other.regions):
                return other.results
        alike.append(op)
        return inside(b, op, args, common)

    return rewrite(graph, visit)


def _equal(regions: Sequence[Graph], others: Sequence[Graph]) -> bool:
    return all(show(a, bare=True) == show(b, bare=True) for a, b in zip(regions, others, strict=True))


def attrs_key(attrs: Any) -> tuple[Any, ...]:
    """Attributes as a key that tells 0.0 from -0.0, and 1 from 1.0 and True."""
    return tuple([(k, _key(attrs[k])) for k in sorted(attrs)]) if attrs else ()


_WHOLE = {int}


def _key(value: Any) -> Any:
    kind = type(value)
    if kind is tuple:
        return (kind, value) if set(map(type, value)) == _WHOLE else tuple(map(_key, value))
    return value.hex() if isinstance(value, float) else (kind, value)
