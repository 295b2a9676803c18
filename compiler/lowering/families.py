"""Functions that share most of their work: made side by side, two of a family cost little more than one.

    h = tanh(z)               for the loss
    d = sech2(z)              for the gradient: of the same exponential, though it is needed much later
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..ir.graph import Graph, Op, Value

#: functions by what their parts have in common, where the argument is the same up to its sign
FAMILIES = {"tanh": "exp(-2|x|)", "sech2": "exp(-2|x|)", "sigmoid": "exp(-|x|)", "softplus": "exp(-|x|)"}

Work = tuple[str, Value]
"""The common part, and the argument."""


class Families:
    """Which operations of a graph share their work with others."""

    def __init__(self, graph: Graph) -> None:
        negated = {op.results[0]: op.args[0] for op in graph.body if op.prim.name == "neg"}
        self.work: dict[Op, Work] = {}
        members: dict[Work, int] = {}
        for op in graph.body:
            if op.prim.name in FAMILIES:
                work = self.work[op] = FAMILIES[op.prim.name], negated.get(op.args[0], op.args[0])
                members[work] = members.get(work, 0) + 1
        self.shared = {work for work, n in members.items() if n > 1}

    def better_early(self, op: Op, value: Value, sites: Iterable[Any], level: Mapping[Value, int]) -> bool:
        """Whether a value is better stored where others of its family are made, for it is read in later nests only."""
        if self.work.get(op) not in self.shared:
            return False
        return all(isinstance(s, tuple) and s[2] > level[value] for s in sites)


__all__ = ["Families"]
