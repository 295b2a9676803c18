"""A graph goes in, and the graph that is lowered comes out: all passes but those that differentiate, in running order.

    optimize = pieces, preaccumulate, expand, narrow, algebra, ranges, merge, fold, choose, common, unmask, algebra,
               turned, hoist, distribute, common, narrow, unwrap, placed, blocks

Where the code is on disk it is not loaded for a graph without loops and branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..ir.graph import Graph
from .algebra import algebra
from .branches import choose, merge
from .cleanup import common, expand, unwrap
from .loops.blocks import blocks
from .loops.distribute import distribute
from .loops.hoist import fold, hoist
from .loops.turns import turned
from .narrow import narrow
from .pieces import pieces
from .placed import placed
from .preaccumulate import preaccumulate
from .ranges import ranges
from .taylor import taylor
from .unmask import unmask

Pass = Callable[[Graph], Graph]

#: cleaning in running order; algebra exposes equal operations and equal operations expose algebra
PIPELINE: tuple[Pass, ...] = (
    pieces, preaccumulate, expand, narrow, algebra, ranges, merge, fold, choose, common, unmask, algebra,
    turned, hoist, distribute, common, narrow, unwrap, placed, blocks,
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
    "PIPELINE", "Pass", "algebra", "expand", "fold", "hoist", "narrow", "optimize", "ranges", "taylor",
    "turned", "unmask", "unwrap",
]
