"""Which values a derivative passes through: those that depend on a source and on which a seeded result depends.

What the results of an operation with regions depend on is found once, as sets of arguments written as the bits of
integers, with a fixed point over the back edge of a loop; from these both directions follow.

A tape depends on all that was pushed to it. Records are pushed and popped in equal numbers, so a derivative that passes
through one pop passes through all those that follow on the same tape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir.graph import Graph, Op, Value
from ..ir.types import Type
from ..ops.control import Carrying, call, cond
from ..ops.custom import checkpoint
from ..ops.tape import pop
from .memory import Writes


def smooth(type: Type) -> bool:
    """Whether values of this type have cotangents: floats, and tapes of them."""
    return type.is_float or type.is_tape


class Flow:
    """What depends on what in operations with regions, kept for those already asked about."""

    def __init__(self) -> None:
        self.writes = Writes()
        self._links: dict[Op, Sequence[int]] = {}
        self._ends: dict[Graph, dict[int, tuple[int | None, bool]]] = {}
        self._popping: dict[Op, list[tuple[int, int | None]]] = {}

    def links(self, op: Op) -> Sequence[int]:
        """For each result the set of arguments that it depends on smoothly."""
        if not op.regions:
            return self._plain(op)
        if op not in self._links:
            self._links[op] = self._found(op)
        return self._links[op]

    def _plain(self, op: Op) -> list[int]:
        every = sum(1 << k for k, a in enumerate(op.args) if smooth(a.type))
        return [every if smooth(r.type) else 0 for r in op.results]

    def _found(self, op: Op) -> Sequence[int]:
        if isinstance(op.prim, Carrying):
            return self._loop(op, op.prim)
        if op.prim is cond:
            return [(a | b) << 1 for a, b in zip(*(self.of(g) for g in op.regions), strict=True)]
        return self.of(op.regions[0]) if op.prim in (call, checkpoint) else self._plain(op)

    def _loop(self, op: Op, prim: Carrying) -> list[int]:
        """The dependences of one round, closed over all rounds; the index is no argument."""
        c = op.attrs["carries"]
        once = [links >> 1 for links in self.of(op.regions[0])]
        results = zip(once, op.results[:c], strict=True)
        reach = [links | (1 << k if smooth(r.type) else 0) for k, (links, r) in enumerate(results)]
        grown = True
        while grown:
            grown = False
            for k, links in enumerate(reach):
                for j, more in enumerate(reach):
                    if links >> j & 1:
                        links |= more
                grown = grown or links != reach[k]
                reach[k] = links
        return [links << prim.first for links in reach] + [0] * (len(op.results) - c)

    def of(self, graph: Graph) -> list[int]:
        """For each result of a graph the set of parameters that it depends on smoothly."""
        found = {p: 1 << k for k, p in enumerate(graph.params) if smooth(p.type)}
        for op in graph.body:
            given = [found.get(a, 0) for a in op.args]
            for r, links in zip(op.results, self.links(op), strict=True) if any(given) else ():
                found[r] = _union(g for k, g in enumerate(given) if links >> k & 1)
        return [found.get(r, 0) for r in graph.results]

    def popping(self, op: Op) -> list[tuple[int, int | None]]:
        """The tapes that `op` pops records from: which argument each is, and which result, unless it ends there."""
        if op.prim is pop:
            return [(0, 0)]
        if not op.regions or not any(a.type.is_tape for a in op.args):
            return []
        if op not in self._popping:
            before = _before(op)
            found = {(k, r) for g in op.regions for k, (r, popped) in self._threads(g).items() if popped}
            self._popping[op] = [(k + before, r) for k, r in found]
        return self._popping[op]

    def ends(self, graph: Graph) -> dict[int, tuple[Value, bool]]:
        """For each parameter that is a tape: the last that it becomes, and whether it is popped from on the way."""
        last = {k: p for k, p in enumerate(graph.params) if p.type.is_tape}
        root = {p: k for k, p in last.items()}
        for op in graph.body if root else ():
            for k, a in enumerate(op.args):
                if a in root and (on := self._handed(op, k)) is not None:
                    last[root[a]] = op.results[on]
                    root[op.results[on]] = root[a]
        return {k: (v, self._threads(graph)[k][1]) for k, v in last.items()}

    def _threads(self, graph: Graph) -> dict[int, tuple[int | None, bool]]:
        """For each parameter that is a tape: as which result it is handed on, and whether it is popped from."""
        if graph not in self._ends:
            self._ends[graph] = self._followed(graph)
        return self._ends[graph]

    def _followed(self, graph: Graph) -> dict[int, tuple[int | None, bool]]:
        root = {p: k for k, p in enumerate(graph.params) if p.type.is_tape}
        popped: set[int] = set()
        for op in graph.body if root else ():
            pairs = dict(self.popping(op))
            for k, a in enumerate(op.args):
                if a in root:
                    popped.update([root[a]] if k in pairs else [])
                    on = self._handed(op, k)
                    root.update({} if on is None else {op.results[on]: root[a]})
        ends = {root[r]: k for k, r in enumerate(graph.results) if r in root}
        return {k: (ends.get(k), k in popped) for k in root.values()}

    def _handed(self, op: Op, tape: int) -> int | None:
        """The number of the result as which `op` hands its argument, a tape, on."""
        if not op.regions:
            return 0
        if isinstance(op.prim, Carrying):
            return tape - op.prim.first
        return self._threads(op.regions[0])[tape - _before(op)][0]


def _before(op: Op) -> int:
    """How many more arguments an operation has than parameters of its region come before them."""
    return op.prim.first - 1 if isinstance(op.prim, Carrying) else int(op.prim is cond)


def _union(sets: Iterable[int]) -> int:
    total = 0
    for each in sets:
        total |= each
    return total


def varied(body: Iterable[Op], sources: Iterable[Value], flow: Flow) -> set[Value]:
    """The values that depend on a source."""
    found = {s for s in sources if smooth(s.type)}
    for op in body:
        if op.regions:
            on = sum(1 << k for k, a in enumerate(op.args) if a in found)
            found.update(r for r, links in zip(op.results, flow.links(op), strict=True) if links & on)
        elif any(a in found for a in op.args):
            found.update(r for r in op.results if smooth(r.type))
    return found


def useful(body: Sequence[Op], targets: Iterable[Value], flow: Flow) -> set[Value]:
    """The values that a target depends on smoothly, and tapes popped from on the way."""
    found, before = {v for v in targets if smooth(v.type)}, -1
    while len(found) != before:
        before = len(found)
        for op in reversed(body):
            if not found.isdisjoint(op.results):
                found.update(_read(op, found, flow))
        for op in body:
            found.update(op.results[r] for k, r in flow.popping(op) if r is not None and op.args[k] in found)
        if not any(r.type.is_tape for r in found):
            break
    return found


def _read(op: Op, found: set[Value], flow: Flow) -> Iterable[Value]:
    """The arguments on which those results depend that have been found."""
    if not op.regions:
        return [a for a in op.args if smooth(a.type)]
    need = _union(links for r, links in zip(op.results, flow.links(op), strict=True) if r in found)
    return [a for k, a in enumerate(op.args) if need >> k & 1]


__all__ = ["Flow", "smooth", "useful", "varied"]
