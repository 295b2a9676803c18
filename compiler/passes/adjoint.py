"""Reverse mode: from a graph to the graph of its pullback.

The adjoint of a graph is a graph, made of the same primitives, so it can be differentiated again.  A missing
cotangent is None, never an array of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..ir.graph import Builder, Graph, Op, Value, Where, rewrite
from ..later import later
from ..ops.control import Carrying, call, cond
from ..ops.custom import checkpoint
from ..ops.source import number
from .activity import Flow
from .cleanup import dead, inside
from .cut import TRANSPARENT
from .masks import is_sharp
from .pieces import pieces
from .sweep import Pull, Sweep

if TYPE_CHECKING:
    from . import regions, tidied
    from .loops import checkpoints
else:
    regions, tidied = later(__package__, ".regions"), later(__package__, ".tidied")
    checkpoints = later(__package__, ".loops.checkpoints")


def adjoint(graph: Graph, wrt: Sequence[int], max_memory: int | None = None) -> Graph:
    """The joint graph of `graph` and its pullback with respect to the parameters numbered `wrt`.

    Its parameters are those of `graph` and a cotangent for each float result; its results are those of
    `graph` and a cotangent for each of `wrt` (zeros where nothing depends on it).

    Loops that save more than `max_memory` bytes keep less, and run again in part.
    """
    return _bounded(prepared(graph), lambda g: _adjoint(g, wrt), max_memory)


def value_and_grad(graph: Graph, wrt: Sequence[int], max_memory: int | None = None) -> Graph:
    """The results of `graph` and the gradient of the first, a float scalar, for each parameter in `wrt`."""
    first = graph.results[0].type
    if not first.is_float or first.shape:
        raise TypeError(f"@{graph.name} returns {first}; a gradient needs a float scalar")
    return _bounded(prepared(graph), lambda g: _value_and_grad(g, wrt), max_memory)


def _bounded(graph: Graph, derive: Callable[[Graph], Graph], max_memory: int | None) -> Graph:
    joint = derive(graph)
    if max_memory is None:
        return joint
    try:
        less, _ = checkpoints.relieved(graph, joint, max_memory)
    except checkpoints.TooLittleMemory as error:
        raise checkpoints.TooLittleMemory(
            f"max_memory of {max_memory} bytes is too little for the gradient of {graph.name}: {error}"
            "\n  fix: allow more bytes, or a text such as max_memory='50 MB'; without max_memory there is no limit"
        ) from None
    return joint if less is graph else derive(prepared(less))


def _adjoint(graph: Graph, wrt: Sequence[int]) -> Graph:
    b = _continued(graph, "_adjoint")
    seeds = [(r, b.param(r.type, "ct")) for r in graph.results if r.type.is_float]
    sources = [b.params[k] for k in wrt]
    return dead(b.finish([*graph.results, *_filled(b, graph, sources, seeds)]))


def _value_and_grad(graph: Graph, wrt: Sequence[int]) -> Graph:
    b = _continued(graph, "_grad")
    b.where = _last_line(graph)
    seeds = [(graph.results[0], number(b, 1.0, graph.results[0].type))]
    sources = [b.params[k] for k in wrt]
    return dead(b.finish([*graph.results, *_filled(b, graph, sources, seeds)]))


def prepared(graph: Graph) -> Graph:
    """A graph that reads parts of what they were put together to; with loops or branches, tidied.

    What is not read has no pullback, and what does not change in a loop must not be saved in each round of it.
    """
    graph = pieces(graph)
    if not any(op.prim is cond or isinstance(op.prim, Carrying) for op in graph.body):
        return graph
    return tidied.tidied(graph)


def _continued(graph: Graph, suffix: str) -> Builder:
    """A builder that holds all of `graph`, and shares its values."""
    b = Builder(graph.name + suffix)
    b.params, b.body = graph.params, list(graph.body)
    return b


def _last_line(graph: Graph) -> Where | None:
    """Where the graph's last operation was written: the line of what has no line of its own."""
    return graph.body[-1].where if graph.body else None


def _filled(b: Builder, graph: Graph, sources: list[Value], seeds: list[tuple[Value, Value]]) -> list[Value]:
    made = pull_back(b, sources, seeds)
    b.where = _last_line(graph)
    return [number(b, 0, s.type) if c is None else c for s, c in zip(sources, made, strict=True)]


def pull_back(
    b: Builder, sources: Sequence[Value], seeds: Iterable[tuple[Value, Value]]
) -> list[Value | None]:
    """Emit the pullback of what `b` holds so far: from pairs (result, its cotangent) to the sources' cotangents.

    Operations with regions give way to their forward parts, which have the same results and a tape.
    """
    body, seeds = list(b.body), list(seeds)
    b.body.clear()
    t = Sweep(b, Flow(), _split, is_sharp(body))
    t.forward(body, sources, [value for value, _ in seeds])
    for value, ct in seeds:
        t.give(value, ct)
    t.backward(sources)
    return [t.running[s].value if s in t.running else None for s in sources]


def _split(t: Sweep, op: Op) -> Pull | None:
    if op.prim in (call, checkpoint):
        t.b.append(op)
        return lambda cts: _pull_call(t, op, [c and c.value for c in cts])
    return regions.split_regions(t, op)


def _pull_call(t: Sweep, op: Op, cts: Sequence[Value | None]) -> None:
    """A call pulls back into a call of the region's adjoint, which makes again what it needs of the region.

    An argument that the results don't depend on gets nothing: what made it may not have been split.
    """
    region, need = passed(op.regions[0]), 0
    for links, ct in zip(t.flow.links(op), cts, strict=True):
        need |= 0 if ct is None else links
    wrt = [k for k, a in enumerate(op.args) if t.active(a) and need >> k & 1]
    if not wrt:
        return
    joint = adjoint(region, wrt)
    back = Graph(joint.name, joint.params, joint.body, joint.results[len(region.results) :])
    floats = [(r, c) for r, c in zip(op.results, cts, strict=True) if r.type.is_float]
    given = [number(t.b, 0, r.type) if c is None else c for r, c in floats]
    for k, ct in zip(wrt, t.b.emit(op.prim, *op.args, *given, regions=(dead(back),)), strict=True):
        t.give(op.args[k], ct)


def passed(graph: Graph) -> Graph:
    """The graph without checks, which have been passed once already."""

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        return args if op.prim in TRANSPARENT else inside(b, op, args, passed)

    return rewrite(graph, visit)


__all__ = ["adjoint", "pull_back", "value_and_grad"]
