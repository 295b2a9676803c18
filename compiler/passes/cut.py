"""Which values to save: the fewest bytes that separate what only the forward sweep can make from what the backward
sweep reads.

A joint graph is a network. Each value is an edge as wide as its bytes; a cheap operation joins its arguments to
its results without limit, because they can be computed again; what is not cheap hangs on the source, what the
backward sweep reads on the sink. A minimum cut is what to save; among equal ones that nearest to the reader, which
computes least again.

    a = exp x;  b = a * a;  c = b + a;    the backward sweep reads b and c:  save a, not b and c
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..ir.graph import Graph, Op, Value
from ..ir.primitive import ALWAYS, NEVER
from ..ir.types import Size, Type
from ..ops.index import check_indices
from ..ops.require import require

UNLIMITED = 1 << 60
NOMINAL = 1000
"""What a size known by name counts as."""

TRANSPARENT = {check_indices, require}
"""Primitives whose result is their argument once they have passed: the backward sweep reads the argument."""


def size_of(type: Type) -> int:
    """The number of elements, with a nominal one for sizes known by name."""
    elements = type.size
    return elements.at(defaultdict(lambda: NOMINAL)) if isinstance(elements, Size) else elements


def bytes_of(type: Type) -> int:
    """How much it takes to save a value of this type."""
    return UNLIMITED if type.is_tape else type.numpy.itemsize * size_of(type)


def recomputable(op: Op) -> bool:
    """Whether the backward sweep may run `op` again."""
    prim, again = op.prim, op.prim.again
    if again == ALWAYS or not op.results:
        return again == ALWAYS
    type = op.results[0].type
    if prim.whole_again is not None and not type.is_float:
        again = prim.whole_again
    return again < NEVER and size_of(type) >= again


def at_hand(body: Iterable[Op], given: Iterable[Value]) -> set[Value]:
    """What can be computed again from values that are there without having been saved."""
    found = set(given)
    for op in body:
        if recomputable(op) and all(a in found for a in op.args):
            found.update(op.results)
    return found


def smallest_cut(joint: Graph, free: Iterable[Value], late: Collection[Value], results: Iterable[Value]) -> list[Value]:
    """The values to save, in the order in which they are made.

    `late` are those that only the backward sweep can make, `results` its results, `free` those that it has anyway.
    """
    early = [op for op in joint.body if not any(r in late for r in op.results)]
    wanted = {a for op in joint.body if any(r in late for r in op.results) for a in op.args}
    wanted = {v for v in [*wanted, *results] if v not in late}
    free = at_hand(early, free)
    maker = {r: op for op in early for r in op.results}
    net, seen = Network(), set()
    pending = [v for v in wanted if v not in free]
    for v in pending:
        net.join((v, 1), SINK, UNLIMITED)
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        net.join((v, 0), (v, 1), max(bytes_of(v.type), 1))
        op = maker.get(v)
        if op is None or not recomputable(op):
            net.join(SOURCE, (v, 0), UNLIMITED)
            continue
        for a in op.args:
            if a not in free:
                net.join((a, 1), (v, 0), UNLIMITED)
                pending.append(a)
    near = net.cut()
    order = [*joint.params, *(r for op in joint.body for r in op.results)]
    return [v for v in order if v in seen and (v, 1) in near and (v, 0) not in near]


SOURCE, SINK = "source", "sink"
Edge = tuple[Any, Any]


class Network:
    """Edges with capacities between nodes, for Dinic's algorithm."""

    def __init__(self) -> None:
        self.left: dict[Any, dict[Any, int]] = {SOURCE: {}, SINK: {}}

    def join(self, a: Any, b: Any, capacity: int) -> None:
        self.left.setdefault(a, {})[b] = capacity
        self.left.setdefault(b, {}).setdefault(a, 0)

    def cut(self) -> set[Any]:
        """The nodes on the sink's side of the minimum cut that is nearest to the sink."""
        while (level := self._levels()) is not None:
            untried = {v: list(edges) for v, edges in self.left.items()}
            while (path := self._path(level, untried)) is not None:
                width = min(self.left[a][b] for a, b in path)
                if width >= UNLIMITED:
                    raise AssertionError("the backward sweep reads what can be neither saved nor computed again")
                for a, b in path:
                    self.left[a][b] -= width
                    self.left[b][a] += width
        return self._reaching()

    def _levels(self) -> dict[Any, int] | None:
        """How far every node is from the source, if the sink can still be reached."""
        level: dict[Any, int] = {SOURCE: 0}
        pending: deque[Any] = deque([SOURCE])
        while pending:
            a = pending.popleft()
            for b, width in self.left[a].items():
                if width > 0 and b not in level:
                    level[b] = level[a] + 1
                    pending.append(b)
        return level if SINK in level else None

    def _path(self, level: dict[Any, int], untried: dict[Any, list[Any]]) -> Sequence[Edge] | None:
        """A shortest path to the sink, as edges; gives up edges that lead nowhere."""
        path: list[Edge] = []
        at: Any = SOURCE
        while at != SINK:
            edges = untried[at]
            while edges and not (self.left[at][edges[-1]] > 0 and level.get(edges[-1], -1) == level[at] + 1):
                edges.pop()
            if edges:
                path.append((at, edges[-1]))
                at = edges[-1]
            elif path:
                at = path.pop()[0]
                untried[at].pop()
            else:
                return None
        return path

    def _reaching(self) -> set[Any]:
        """The nodes from which the sink can be reached."""
        found: set[Any] = {SINK}
        pending: list[Any] = [SINK]
        while pending:
            b = pending.pop()
            for a in self.left[b]:
                if a not in found and self.left[a][b] > 0:
                    found.add(a)
                    pending.append(a)
        return found


__all__ = ["TRANSPARENT", "at_hand", "bytes_of", "recomputable", "size_of", "smallest_cut"]
