"""Functions that share most of their work: made side by side, two of a family cost little more than one.

    h = tanh(z)               for the loss
    d = sech2(z)              for the gradient: of the same exponential, though it is needed much later
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...ir.graph import Graph, Op, Value
from ...ops.elementwise import neg

Work = tuple[str, Value]
"""The common part, and the argument."""


class Families:
    """Which operations of a graph share their work with others."""

    def __init__(self, graph: Graph) -> None:
        negated = {op.results[0]: op.args[0] for op in graph.body if op.prim is neg}
        self.work: dict[Op, Work] = {}
        members: dict[Work, int] = {}
        for op in graph.body:
            if op.prim.family is not None:
                work = self.work[op] = op.prim.family, negated.get(op.args[0], op.args[0])
                members[work] = members.get(work, 0) + 1
        self.shared = {work for work, n in members.items() if n > 1}

    def better_early(self, op: Op, value: Value, sites: Iterable[Any], level: Mapping[Value, int]) -> bool:
        """Whether a value is better stored where others of its family are made, for it is read in later nests only."""
        if self.work.get(op) not in self.shared:
            return False
        return all(isinstance(s, tuple) and s[2] > level[value] for s in sites)


__all__ = ["Families"]
