"""What a differentiated graph saves for its backward sweep: one entry for every push.

    16 bytes in each of 1000 rounds of the loop at model.py:12, of the values made at model.py:14 and model.py:15
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..ir.graph import Graph, Op, Value, Where
from ..ops.control import loop, scan
from ..ops.source import const
from ..ops.tape import push
from .cut import bytes_of


class Saved(NamedTuple):
    """The bytes of one record, where the values in it were made, and the loop around it.

    rounds   how often the loop runs, if that is known; 1 outside of loops
    within   how many loops are around this one
    """

    bytes: int
    lines: tuple[Where, ...]
    loop: Where | None
    rounds: int | None
    within: int


def saved(graph: Graph) -> list[Saved]:
    """What the graph saves, in the order in which it is pushed first."""
    return list(_saved(graph, None, 1, -1))


def _saved(graph: Graph, where: Where | None, rounds: int | None, within: int) -> Iterator[Saved]:
    maker: dict[Value, Op] = {r: op for op in graph.body for r in op.results}
    for op in graph.body:
        if op.prim is push:
            lines = [maker[v].where for v in op.args[1:] if v in maker]
            known = tuple(sorted({line for line in lines if line is not None}))
            yield Saved(sum(bytes_of(v.type) for v in op.args[1:]), known, where, rounds, max(within, 0))
        for region in op.regions:
            if op.prim in (scan, loop):
                yield from _saved(region, op.where, _rounds(op, maker), within + 1)
            else:
                yield from _saved(region, where, rounds, within)


def _rounds(op: Op, maker: dict[Value, Op]) -> int | None:
    made = maker.get(op.args[0]) if op.prim is scan else None
    return made.attrs["value"] if made is not None and made.prim is const else None


__all__ = ["Saved", "saved"]
