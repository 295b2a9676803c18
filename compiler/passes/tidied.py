"""A graph with loops or branches goes in, and one that saves less comes out, before the adjoint is made."""

from __future__ import annotations

from ..ir.graph import Graph
from .algebra import algebra
from .branches import choose, merge
from .cleanup import common
from .loops.distribute import distribute
from .loops.hoist import fold, hoist
from .narrow import narrow
from .ranges import ranges


def tidied(graph: Graph) -> Graph:
    """A graph with loops or branches: what does not change in a loop must not be saved in each round of it."""
    graph = merge(choose(fold(ranges(algebra(narrow(graph))))))
    return narrow(distribute(common(hoist(common(algebra(graph))))))
