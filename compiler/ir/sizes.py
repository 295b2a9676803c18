"""A graph of named sizes at given numbers."""

from __future__ import annotations

from collections.abc import Mapping

from .graph import Graph, Op, Value, sized
from .types import Size, Type


def at_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with the number `sizes[name]` in place of every name; sizes that are values become constants."""
    env: dict[Value, Value] = {}
    types: dict[Type, Type] = {}

    def moved(value: Value) -> Value:
        type = types.get(value.type)
        if type is None:
            type = types[value.type] = value.type.at(sizes)
        made = env[value] = Value(type, value.hint)
        return made

    params = tuple([moved(p) for p in graph.params])
    body = []
    for op in graph.body:
        prim, attrs = op.prim.at_sizes(sized(op.attrs, sizes)) if op.attrs else (op.prim, op.attrs)
        regions = tuple([at_sizes(r, sizes) for r in op.regions])
        args = tuple([env[a] for a in op.args])
        body.append(Op(prim, args, attrs, regions, tuple([moved(r) for r in op.results]), op.where))
    return Graph(graph.name, params, tuple(body), tuple([env[r] for r in graph.results]))


def names_of(graph: Graph) -> set[str]:
    """The named sizes of a graph's parameters."""
    dims = [d for p in graph.params for d in p.type.shape if isinstance(d, Size)]
    return {name for d in dims for names, _ in d.terms for name in names}
