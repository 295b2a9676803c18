"""Passes: functions from graph to graph, valid in, valid out, meaning kept (adjoint excepted).

This floor knows the primitives and graphs; it does not know loops, memory or machines.

    optimize = expand, narrow, algebra, ranges, merge, fold, choose, common, unmask, common, algebra, turned, hoist,
               distribute, common, narrow, unwrap, blocks
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..ir.graph import Graph
from .adjoint import adjoint, value_and_grad
from .algebra import algebra
from .branches import choose, merge
from .cleanup import common, dead, expand, unwrap
from .loops.blocks import blocks
from .loops.distribute import distribute
from .loops.hoist import fold, hoist
from .loops.turns import turned
from .narrow import narrow
from .ranges import ranges
from .taylor import taylor
from .unmask import unmask

Pass = Callable[[Graph], Graph]

#: cleaning in running order; algebra exposes equal operations and equal operations expose algebra
PIPELINE: tuple[Pass, ...] = (
    expand, narrow, algebra, ranges, merge, fold, choose, common, unmask, common, algebra, turned, hoist, distribute,
    common, narrow, unwrap, blocks,
)


def optimize(
    graph: Graph, pipeline: Iterable[Pass] = PIPELINE, after: Callable[[str, Graph, Graph], None] | None = None
) -> Graph:
    """Run the pipeline; `after(name, before, result)` is called between passes, to verify, compare or print."""
    for each in pipeline:
        made = each(graph)
        if after is not None:
            after(each.__name__, graph, made)
        graph = made
    return graph


__all__ = [
    "PIPELINE", "Pass", "adjoint", "algebra", "common", "dead", "expand", "fold", "hoist", "narrow", "optimize",
    "ranges", "taylor", "turned", "unmask", "unwrap", "value_and_grad",
]
