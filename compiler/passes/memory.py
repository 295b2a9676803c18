"""Whose memory is taken over: arrays that an operation changes in place, if it may."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.graph import Graph, Op, Value
from ..ops.control import Carrying, cond
from ..ops.index import scatter_add, scatter_max, scatter_min
from ..ops.memory import bump, update

WRITES = {update, bump, scatter_add, scatter_max, scatter_min}
"""Primitives whose result takes over the memory of their first argument."""


class Writes:
    """What regions change in place, kept for those already asked about."""

    def __init__(self) -> None:
        self._known: dict[Graph, set[Value]] = {}

    def taken_over(self, op: Op) -> Sequence[Value]:
        """The array arguments in whose memory `op` leaves its results."""
        if op.prim in WRITES:
            return op.args[:1]
        if isinstance(op.prim, Carrying):
            return [a for a in op.prim.carries(op) if a.type.shape]
        if op.prim is not cond:
            return []
        return [op.args[1 + k] for g in op.regions for k, p in enumerate(g.params) if p.type.shape and p in self.of(g)]

    def of(self, graph: Graph) -> set[Value]:
        """The values whose memory an operation of the graph takes over, and those it returns."""
        if graph not in self._known:
            self._known[graph] = {*graph.results, *(a for op in graph.body for a in self.taken_over(op))}
        return self._known[graph]


__all__ = ["Writes"]
