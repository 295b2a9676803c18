"""Passes that keep the meaning and shrink the graph: expand, common, dead."""

from __future__ import annotations

from typing import Any

from ..ir.graph import Graph, rewrite
from ..ir.primitive import Effect
from ..ir.text import show
from ..ops.control import call


def expand(graph: Graph) -> Graph:
    """Put the body of every called region in place of the call."""

    def visit(b, op, args):
        return call.expand(b, op, args) if op.prim is call else None

    while any(op.prim is call for op in graph.body):
        graph = rewrite(graph, visit)
    return graph


def dead(graph: Graph) -> Graph:
    """Drop operations whose results nobody reads; what may fail stays."""
    live, kept = set(graph.results), []
    for op in reversed(graph.body):
        if not live.isdisjoint(op.results) or op.prim.effect is not Effect.PURE:
            live.update(op.args)
            kept.append(op)
    if len(kept) == len(graph.body):
        return graph
    return Graph(graph.name, graph.params, tuple(reversed(kept)), graph.results)


def common(graph: Graph) -> Graph:
    """Compute equal operations once.  What may fail is kept apart only by what it is applied to."""
    seen: dict[Any, Any] = {}

    def visit(b, op, args):
        key = (op.prim, args)
        if op.attrs or op.regions:
            key = (*key, attrs_key(op.attrs), tuple([show(r, bare=True) for r in op.regions]))
        have = seen.setdefault(key, op.results)
        return None if have is op.results else have

    return rewrite(graph, visit)


def attrs_key(attrs: Any) -> tuple[Any, ...]:
    """Attributes as a key that tells 0.0 from -0.0, and 1 from 1.0 and True."""
    return tuple([(k, _key(attrs[k])) for k in sorted(attrs)]) if attrs else ()


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return (type(value), value)
