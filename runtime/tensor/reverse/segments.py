"""A stretch of calls that has run, as one node of the gradient graph: a trace that ends goes in, and a node comes out.

    while t < 1:                      each turn ends with a look at the error, where the trace is run
        y, error = attempt(y, h)      some thirty calls, and as many nodes in PyTorch
        if error.item() < tol: ...

A turn that has come before makes one node, which saves what its calls' nodes would save, and whose pullback is theirs
in one.  Who wants to see those, or hangs something on one, gets them: the segment is opened, and from then on stands
between them and who leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..calls.call_nodes import lodge
from ..trace.composed import Part, compose
from ..trace.fragments import COTANGENT, INPUT, Fragment
from ..trace.overwritten import Overwritten
from ..trace.plans import numbers_in, program_of
from ..trace.states import ABSOLUTE, Call, State, events, forest
from ..trace.tape import record
from ..value.cells import Cell, Kind
from ..value.numbers import cell_of_number
from ..value.paths import Path
from ..value.slots import HISTORY, TensorBase
from .carrying import Carrying, Place, Unusual
from .modes import watch
from .nodes import Edge, Flow, Kept, Node
from .pulled import Walked
from .written import is_as_saved


class Inner(NamedTuple):
    """A node that a segment stands for: its call and the number of the call's first, what is known of it, which of what
    the segment saves it reads, and where it leads."""

    call: Call
    begin: int
    known: Any
    saves: list[int | None]
    ways: list[Place | None]


class Saved(NamedTuple):
    """A value that nodes save: its number, that of the value that it is, its kind, whether it may be written over, and
    of whose memory it is a part: (number, path)."""

    number: int
    origin: int
    kind: Kind
    loose: bool
    owner: tuple[int, Path] | None


class Segment:
    """What a trace leaves to backward when it has run.

    path     its states; base how many values it has
    ends     numbers of the values with a history that somebody holds, and where their gradients go
    places   those places that are results of its nodes, each once; results their kinds
    sources  numbers of the values from outside to which gradients go, and which edge of the segment each is
    saved    what its nodes save; index which of that a value is
    inner    the nodes by number
    reach    for each result, a bit for each node that its gradient passes; leads the same, for each edge
    savers   for each saved value, a bit for each node that reads it
    """

    def __init__(self, state: State, live: bytes) -> None:
        self.program = program = program_of(state)
        self.path, self.base = events(state), state.values
        carried = Carrying(self.path, self.base)
        wanted, over = numbers_in(live), Overwritten()
        for at in self.path:
            over.note(at)
            if type(at.event) is Call and not _is_usual(at.event.template):
                raise Unusual
        self.joins = program.views.joins(wanted, program.again)
        if self.joins is None:
            raise Unusual
        self.ends = [(n, carried.sources[n]) for n in wanted if program.history.get(n, False)]
        self.places = list(dict.fromkeys([place for _, place in self.ends if place[0] >= 0]))
        self.inner: dict[int, Inner] = {}
        self.index: dict[int, int] = {}
        self.saved: list[Saved] = []
        self.sources: dict[int, int] = {}
        self._find(carried, over)
        self.results = [self._kind(place) for place in self.places]
        self.reach = [self._reached(number) for number, _ in self.places]
        self.savers = [0] * len(self.saved)
        self.leads = [0] * len(self.sources)
        self._count()
        self.backs: dict[tuple[bool, ...], Back] = {}

    def _find(self, carried: Carrying, over: Overwritten) -> None:
        """The nodes that can be reached from the ends, what they save, and where they lead."""
        calls = [(call, begin) for call, begin in carried.calls for _ in call.template.nodes or ()]
        for _, (number, _) in self.ends:
            self._source(number)
        pending = [number for number, _ in self.places]
        while pending:
            number = pending.pop()
            if number in self.inner:
                continue
            call, begin = calls[number]
            known, template = call.template.nodes[number - begin], call.template  # type: ignore[index]
            fragment, refs, first, _ = template.steps[known.step]
            saves: list[int | None] = []
            for at, (what, k) in enumerate(known.pull.reads):
                if what == COTANGENT:
                    saves.append(None)
                    continue
                ref = refs[k] if what == INPUT else first + k
                if over.over and over.is_lost(call, ref):
                    raise Unusual
                owner = template.within.get(ref)
                part = owner and (call.number(owner[0]), owner[1])
                kinds = fragment.inputs if what == INPUT else fragment.results
                saves.append(self._save(call.number(ref), kinds[k], at in known.pull.loose, part))
            ways = [way and carried.to(call, way, begin) for way in known.ways]
            self.inner[number] = Inner(call, begin, known, saves, ways)
            for way in ways:
                if way is not None:
                    self._source(way[0])
                    pending += [way[0]] if way[0] >= 0 else []

    def _source(self, number: int) -> None:
        if number < 0:
            n = -1 - number
            if self.program.number(n) != n and self.program.number(n) not in self.program.inputs:
                raise Unusual
            self.sources.setdefault(n, len(self.sources))

    def _save(self, n: int, kind: Kind, loose: bool, owner: tuple[int, Path] | None) -> int:
        at = self.index.setdefault(n, len(self.saved))
        if at == len(self.saved):
            self.saved.append(Saved(n, self.program.number(n), kind, loose, owner))
        elif not loose:
            self.saved[at] = self.saved[at]._replace(loose=False)
        return at

    def _kind(self, place: Place) -> Kind:
        """The kind of a node's result."""
        number, k = place
        call, _, known, _, _ = self.inner[number]
        return call.template.steps[known.step][0].results[k]

    def _reached(self, number: int) -> int:
        bits, pending = 0, [number]
        while pending:
            at = pending.pop()
            if at >= 0 and not bits >> at & 1:
                bits |= 1 << at
                pending += [way[0] for way in self.inner[at].ways if way is not None]
        return bits

    def _count(self) -> None:
        """Which nodes read what is saved, and which lead to which edges."""
        after: dict[int, set[int]] = {}
        for number in sorted(self.inner):
            _, _, _, saves, ways = self.inner[number]
            for at in saves:
                if at is not None:
                    self.savers[at] |= 1 << number
            leads = after[number] = set()
            for way in ways:
                if way is not None:
                    leads |= after[way[0]] if way[0] >= 0 else {self.sources[-1 - way[0]]}
            for k in leads:
                self.leads[k] |= 1 << number

    def back(self, present: tuple[bool, ...]) -> Back:
        """The pullback for the results that have a cotangent."""
        found = self.backs.get(present)
        if found is None:
            found = self.backs[present] = Back(self, present)
        return found

    # ---- a trace that has run so

    def enter(self, tape: Any) -> bool:
        """Make the node of a trace, which is about to end, and give it to its ends; False if that is no usual one."""
        if not may_enter(tape):
            return False
        edges: list[Edge | None] = []
        for n in self.sources:
            t = tape.value(n)
            if not isinstance(t, TensorBase) or t._is_late or (edge := t._edge()) is None:  # type: ignore[attr-defined]
                return False
            edges.append(edge)
        ends = [(t, place) for n, place in self.ends if _is_behind(t := tape.value(n), n)]
        node = SegmentNode(self, edges, [self._cell(tape, saved) for saved in self.saved], tape)
        number = {place: k for k, place in enumerate(self.places)}
        for t, place in ends:
            t._node, index = (node, number[place]) if place[0] >= 0 else edges[self.sources[-1 - place[0]]]
            if index:
                t._index = index
            t._flags &= ~HISTORY
        return True

    def _cell(self, tape: Any, saved: Saved) -> Any:
        n, program = saved.number, self.program
        cell = tape.cell(n)
        if cell is None and n in program.numbers:
            cell = cell_of_number(tape.value(n), program.numbers[n])
        elif cell is None and n in program.constants:
            cell = Cell(saved.kind, program.constants[n].array)
        elif cell is None:
            cell = tape.cell_at(saved.origin, saved.kind)
        if not cell.serial and cell.home is None:
            cell.serial, cell.number = tape.serial, n
            tape.put(n, tape.value(n), cell)
        if saved.owner is not None and cell.home is None:
            owner, path = saved.owner
            lodge(cell, tape.value(owner), tape.cell(owner), path)
        return Kept(cell) if saved.loose else cell


def _is_usual(template: Any) -> bool:
    """Whether calls make values and nodes, and what they write is their own or no value that has a history."""
    if template.call.exact or template.call.in_parts or template.through or template.pause is not None:
        return False
    return template.nodes is not None or template.values or not (template.has_nodes or template.assigns)


def _is_behind(t: Any, n: int) -> bool:
    """Whether a value is a tensor that lacks its node."""
    return isinstance(t, TensorBase) and t._number == n and bool(t._flags & HISTORY)


def may_enter(tape: Any) -> bool:
    """Whether nothing of a trace that is about to end was made in earnest, or is watched."""
    untouched = not (tape.noded or tape.done or tape.attached[1] or tape.state.blurred)
    return untouched and tape.caught.parent is None and not (watch.packers or watch.duals or watch.lanes or watch.anomaly)


def segment_for(tape: Any, live: bytes) -> Segment | None:
    """What a trace that is about to end, and has come before, leaves to backward; None where nodes must be made.

    live   a bit for each value that is wanted
    """
    state: State = tape.state
    found = state.segments.get(live)
    if found is None and may_enter(tape) and not forest.is_new(hash((state.path, live, "segment"))):
        try:
            found = Segment(state, live)
        except (Unusual, KeyError):
            found = False
        if not state.segments:
            state.segments = {}
        state.segments[live] = found
    return found or None


class Back:
    """The pullback of a segment, for those of its results that have a cotangent.

    fragment  its steps as one operation of the cotangents, `zeros`, and what is saved; None if it has none
    reads     which of what is saved it reads
    gives     (which edge, number of the fragment's result, or -1 - k for the cotangent of result k itself)
    passes    a bit for each node that it passes
    """

    def __init__(self, segment: Segment, present: Sequence[bool]) -> None:
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
        self.passes = 0
        for k in self.given:
            self.passes |= segment.reach[k]


def leads_to(edge: Edge | None, useful: Any) -> bool:
    """Whether an edge leads to what a backward is to come to: `useful` are nodes, and results of segments."""
    if edge is None:
        return False
    node, k = edge
    if type(node) is not SegmentNode:
        return node in useful
    return edge in useful if node.opened is None else node.opened[k][0] in useful


class SegmentNode(Node):
    """A segment of a trace that has run.

    segment   what is known of all that ran so
    freed     a bit for each of its nodes that a backward has used up; passed for each that the last one passed
    opened    where its results lead since somebody asked for its nodes
    """

    __slots__ = ("segment", "freed", "passed", "opened")

    saved: list[Any]

    def __init__(self, segment: Segment, edges: list[Edge | None], saved: list[Any], tape: Any) -> None:
        super().__init__(edges, None, tape.ages())
        self.segment, self.saved, self.serial = segment, saved, tape.serial
        self.freed = self.passed = 0
        self.opened: list[Edge] | None = None

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
        back = self.segment.back(tuple([flow is not None for flow in cotangents]))
        self.passed = back.passes
        made: list[Cell] = []
        if back.fragment is not None:
            cells = [cotangents[k][0] for k in back.given]  # type: ignore[index]
            saved = [self.saved[at] for at in back.reads]
            cells += [Cell(c.kind, c.array) for c in back.zeros]
            cells += [c._cell if type(c) is Kept else c for c in saved]
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
        return any([(c.stale or c.home is not None) and not is_as_saved(c) for c in self.saved if type(c) is Cell])

    def at(self, index: int) -> Edge:
        return self.open()[index]

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
            node.saved = [self._saved(number, known, n, at) for n, at in enumerate(saves)]
            node.place, node.serial = call.place or place, self.serial
        return made

    def _saved(self, number: int, known: Any, n: int, at: int | None) -> Any:
        """What one of its nodes saved, None if that was freed."""
        cell = None if at is None else self.saved[at]
        if cell is None or (self.freed >> number & 1 and n not in known.pull.numbers):
            return None
        cell = cell._cell if type(cell) is Kept else cell
        return Kept(cell) if n in known.pull.loose else cell


__all__ = ["Segment", "SegmentNode", "leads_to", "segment_for"]
