"""The node of a segment, a stretch of calls that has run: cotangents of its results go in, and those of what it read
from outside come out.

Its pullback is that of all its calls in one.  For who wants to see the nodes of the calls, or hangs something on one,
it is opened: they are made of what it has saved, and it stands between them and who leads to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from typing import Any

from ..ops.elementwise.arithmetic import ADD
from ..trace.fragments.composed import Part, compose
from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import Fragment
from ..trace.states import ABSOLUTE
from ..trace.tape import record
from ..value.cells import Cell, Kind
from ..value.slots import TensorBase
from .carrying import Carrying
from .nodes import Edge, Flow, Kept, Node
from .pulled import Walked
from .written import is_as_saved


class Back:
    """The pullback of a segment, for those of its results that have a cotangent.

    fragment  its steps as one operation of the cotangents, `zeros`, and what is saved; None if it has none
    reads     which of what is saved it reads
    gives     (which edge, number of the fragment's result, or -1 - k for the cotangent of result k itself)
    passes    a bit for each node that it passes
    terms     the edges to whose cotangents it adds what is there already, which the fragment reads after all else
    """

    def __init__(self, segment: Any, present: Sequence[bool]) -> None:
        base, carried = segment.base, Carrying(segment.path, segment.base)
        self.given = [k for k, has in enumerate(present) if has]
        kinds = [segment.results[k] for k in self.given]
        for k in self.given:
            carried.flows[segment.places[k]] = base + len(carried.kinds)
            carried.kinds.append(segment.results[k])
        carried.run()
        walked = Walked()
        walked.groups, walked.base, walked.place = carried.groups, base, None
        numbers = {k: k for k in range(len(self.given))}
        for r, cell in carried.constants:
            numbers[r] = len(kinds)
            kinds.append(cell.kind)
        self.zeros, self.reads = [cell for _, cell in carried.constants], list[int]()
        for r in dict.fromkeys([r for _, refs, _, _ in walked.steps for r in refs if r >= ABSOLUTE]):
            numbers[r] = len(kinds)
            self.reads.append(segment.index[r - ABSOLUTE])
            kinds.append(segment.saved[self.reads[-1]].kind)
        parts, count = list[Part](), len(kinds)
        for fragment, refs, first, _ in walked.steps:
            parts.append((fragment, tuple([numbers[r] for r in refs])))
            numbers.update([(first + k, count + k) for k in range(len(fragment.results))])
            count += len(fragment.results)
        flows = [(segment.sources[-1 - node], numbers[flow - base]) for (node, _), flow in carried.flows.items()]
        wanted = list(dict.fromkeys([n for _, n in flows if n >= len(self.given)]))
        self.gives = [(k, wanted.index(n) if n >= len(self.given) else -1 - self.given[n]) for k, n in flows]
        self.fragment: Fragment | None = compose("segment_pull", kinds, parts, wanted) if wanted else None
        self.passes, self.terms = 0, ()
        for k in self.given:
            self.passes |= segment.reach[k]
        self.adding: dict[tuple[int, ...], Back] = {}

    def with_terms(self, edges: tuple[int, ...]) -> Back:
        """The same that adds to the cotangents of these edges what is there already."""
        made = self.adding.get(edges)
        if made is None:
            made = self.adding[edges] = copy(self)
            made._add(edges)
        return made

    def _add(self, edges: tuple[int, ...]) -> None:
        own: Any = self.fragment
        kinds = {k: own.results[n] for k, n in self.gives if n >= 0}
        inputs, first = [*own.inputs, *[kinds[k] for k in edges]], len(own.inputs)
        parts: list[Part] = [(own, tuple(range(first)))]
        made, results = len(inputs), list[int]()
        count, self.terms, gives = made + len(own.results), edges, []
        for k, n in self.gives:
            if k in edges:
                parts.append((fragment_for((ADD, (), kinds[k], kinds[k])), (first + edges.index(k), made + n)))
                count += 1
            if n >= 0:
                results.append(count - 1 if k in edges else made + n)
            gives.append((k, len(results) - 1 if n >= 0 else n))
        self.gives, self.fragment = gives, compose("segment_pull", inputs, parts, results)


def leads_to(edge: Edge | None, useful: Any) -> bool:
    """Whether an edge leads to what a backward is to come to: `useful` are nodes, and results of segments."""
    if edge is None:
        return False
    node, k = edge
    if type(node) is not SegmentNode:
        return node in useful
    return edge in useful if node.opened is None else node.opened[k][0] in useful


def open_here(outputs: Sequence[Any], tape: Any) -> None:
    """Let outputs lead to nodes of their own where a segment of the trace under way stands for those and others: a
    backward to inputs comes to few of them, and is recognised the next time if it comes to none of an older trace."""
    serial = (tape if tape.again is None else tape.again.tape).serial
    t: Any
    for t in outputs:
        if isinstance(t, TensorBase) and type(t._node) is SegmentNode and t._node.serial == serial:
            t._node, t._index = t._node.at(t._index)  # type: ignore[attr-defined]


class SegmentNode(Node):
    """A segment of a trace that has run.

    segment   what is known of all that ran so
    freed     a bit for each of its nodes that a backward has used up; passed for each that the last one passed
    opened    where its results lead since somebody asked for its nodes
    """

    __slots__ = ("segment", "freed", "passed", "opened")

    saved: list[Any]

    def __init__(self, segment: Any, edges: list[Edge | None], saved: list[Any], tape: Any) -> None:
        super().__init__(edges, None, tape.ages())
        self.segment, self.saved, self.serial = segment, saved, tape.serial
        self.freed = self.passed = 0
        self.opened: list[Edge] | None = None
        self.lanes = ((),) * len(segment.places)

    @property
    def outputs(self) -> int:
        return len(self.segment.places)

    @property
    def results(self) -> list[Kind]:
        """The kinds of its results."""
        return self.segment.results

    def pull_back(self, cotangents: Sequence[Flow | None], create: bool) -> list[tuple[int, Flow]]:
        if self.opened is not None:
            return [(k, flow) for k, flow in enumerate(cotangents) if flow is not None]
        return self._pulled(self.segment.back(tuple([flow is not None for flow in cotangents])), cotangents, [])

    def pull_added(self, cotangents: Sequence[Flow | None], held: dict[Any, Any]) -> list[tuple[int, Flow]]:
        """The same, with what has come to its edges before, which is `held` no more."""
        if self.opened is not None:
            return self.pull_back(cotangents, False)
        back = self.segment.back(tuple([flow is not None for flow in cotangents]))
        terms = {k: held[edge[0]] for k, n in back.gives if n >= 0 and (edge := self.edges[k]) and edge[0] in held}
        places = [self.edges[k] for k, _ in back.gives]
        for k, flows in [*terms.items()]:
            have = flows[self.edges[k][1]]  # type: ignore[index]
            kind = back.fragment.results[dict(back.gives)[k]]  # type: ignore[union-attr]
            alike = have is not None and have[1] is None and type(have[0]) is Cell and have[0].kind is kind
            if not alike or places.count(self.edges[k]) > 1:
                del terms[k]
        cells = []
        for k, flows in terms.items():
            index = self.edges[k][1]  # type: ignore[index]
            cells.append(flows[index][0])
            flows[index] = None
        return self._pulled(back.with_terms(tuple(terms)) if terms else back, cotangents, cells)

    def _pulled(
        self, back: Back, cotangents: Sequence[Flow | None], terms: Sequence[Cell]
    ) -> list[tuple[int, Flow]]:
        self.passed = back.passes
        made: list[Cell] = []
        if back.fragment is not None:
            cells = [cotangents[k][0] for k in back.given]  # type: ignore[index]
            saved = [self.saved[at] for at in back.reads]
            cells += [Cell(c.kind, c.array) for c in back.zeros]
            cells += [c._cell if type(c) is Kept else c for c in saved]
            cells += terms
            made = record(back.fragment, cells, self.place)
        return [(k, (made[n], None) if n >= 0 else cotangents[-1 - n]) for k, n in back.gives]  # type: ignore[misc]

    def free(self, useful: Any = None) -> None:
        """Let go of what the nodes that the last backward passed have saved; `useful` are those it was to come to."""
        if self.opened is not None:
            return
        self.freed |= self.passed if useful is None else self.passed & self._leading(useful)
        left = ~self.freed
        self.saved = [c if mask & left else None for c, mask in zip(self.saved, self.segment.savers, strict=True)]

    def leading(self, useful: Any) -> list[Edge]:
        """Which of its results lead to what a backward is to come to."""
        leading = self._leading(useful)
        return [(self, k) for k, (number, _) in enumerate(self.segment.places) if leading >> number & 1]

    def _leading(self, useful: Any) -> int:
        """A bit for each of its nodes that leads there."""
        bits = 0
        for leads, edge in zip(self.segment.leads, self.edges, strict=True):
            if leads_to(edge, useful):
                bits |= leads
        return bits

    def is_disturbed(self) -> bool:
        """Whether backward must look at its nodes: some are used up, or what they saved was written to since."""
        if self.freed:
            return True
        return any((c.stale or c.home is not None) and not is_as_saved(c) for c in self.saved if type(c) is Cell)

    def at(self, index: int) -> Edge:
        return self.open()[index]

    def base_of(self, number: int) -> Edge | None:
        """Where the gradient goes of what a value of its trace is a view of; None if only its nodes tell."""
        place = None if self.opened is not None else self.segment.bases.get(number)
        if place is None:
            return None
        if place[0] < 0:
            return self.edges[self.segment.sources[-1 - place[0]]]
        return self, self.segment.places.index(place)

    def open(self) -> list[Edge]:
        """Where its results lead among its nodes, which are there from now on."""
        if self.opened is None:
            made = self._nodes()
            self.opened = [(made[number], k) for number, k in self.segment.places]
            self.edges, self.saved = self.opened, []
        return self.opened

    def _nodes(self) -> dict[int, Node]:
        segment, made = self.segment, dict[int, Node]()
        for at, number in enumerate(sorted(segment.inner), 1):
            call, _, known, saves, ways = segment.inner[number]
            template, before = call.template, 1 - at / (len(segment.inner) + 1)
            edges = [
                None if to is None else (made[to[0]], to[1]) if to[0] >= 0 else self.edges[segment.sources[-1 - to[0]]]
                for to in ways
            ]
            fragment, _, _, place = template.steps[known.step]
            node = made[number] = known.name(edges, fragment, self.age - before)
            node.sequence, node.pull = self.sequence - before, known.pull  # type: ignore[assignment]
            kept = () if fragment.operation.edges else known.pull.numbers
            node.saved = [self._saved(number, known, n, at, kept) for n, at in enumerate(saves)]
            node.place, node.serial, node.lanes = call.place or place, self.serial, ((),) * node.outputs
        return made

    def _saved(self, number: int, known: Any, n: int, at: int | None, kept: Collection[int]) -> Any:
        """What one of its nodes saved, None if that was freed; not what is `kept`, as `Node.free` says."""
        cell = None if at is None else self.saved[at]
        if cell is None or (self.freed >> number & 1 and n not in kept):
            return None
        cell = cell._cell if type(cell) is Kept else cell
        return Kept(cell) if n in known.pull.loose else cell


__all__ = ["Back", "SegmentNode", "leads_to"]
