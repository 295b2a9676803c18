"""A stretch of calls that has run, as one node of the gradient graph: a trace that ends goes in, and a node comes out.

    while t < 1:                      each turn ends with a look at the error, where the trace is run
        y, error = attempt(y, h)      some thirty calls, and as many nodes in PyTorch
        if error.item() < tol: ...

A turn that has come before makes one node, which saves what its calls' nodes would save, and whose pullback is theirs
in one.  Who wants to see those, or hangs something on one, gets them: the segment is opened, and from then on stands
between them and who leads to it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ....compiler.locks import lock
from ..calls.call_nodes import lodge
from ..trace.fragments.fragments import COTANGENT, INPUT
from ..trace.overwritten import Overwritten
from ..trace.plans import numbers_in, program_of
from ..trace.states import Call, State, events, forest
from ..value.cells import Cell, Kind
from ..value.numbers import cell_of_number
from ..value.paths import Path
from ..value.slots import HISTORY, TensorBase
from .carrying import Carrying, Place, Unusual
from .nodes import Kept
from .segment_nodes import Back, SegmentNode

KEPT = 512
"""So many segments are kept; the oldest goes first, and is made again if its trace comes again."""

_kept: OrderedDict[tuple[State, bytes], None] = OrderedDict()
_lock = lock()


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
    bases    of those that are views, where the gradients of what they are views of go
    places   those places that are results of its nodes, each once; results their kinds
    sources  numbers of the values from outside to which gradients go, and which edge of the segment each is
    saved    what its nodes save; index which of that a value is
    inner    the nodes by number
    reach    for each result, a bit for each node that its gradient passes; leads the same, for each edge
    savers   for each saved value, a bit for each node that reads it
    joins    which of the values that are wanted share the memory of which others
    alone    whether it makes no views, and writes to nothing
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
        if self.joins is None or program.views.bases(wanted, program.again):
            raise Unusual
        self.ends = [(n, carried.sources[n]) for n in wanted if program.history.get(n, False)]
        of, based = program.views.of, [n for n in wanted if n in program.views.based]
        self.bases = {n: carried.sources[m] for n in based if (m := of.get(n)) is not None and m in carried.sources}
        ends = [*[place for _, place in self.ends], *self.bases.values()]
        self.places = list(dict.fromkeys([place for place in ends if place[0] >= 0]))
        self.inner: dict[int, Inner] = {}
        self.index: dict[int, int] = {}
        self.saved: list[Saved] = []
        self.sources: dict[int, int] = {}
        self._find(carried, over, ends)
        self.results = [self._kind(place) for place in self.places]
        self.reach = [self._reached(number) for number, _ in self.places]
        self.savers = [0] * len(self.saved)
        self.leads = [0] * len(self.sources)
        self._count()
        self.backs: dict[tuple[bool, ...], Back] = {}
        self.alone = not program.views.of and not over.over

    def _find(self, carried: Carrying, over: Overwritten, ends: Sequence[Place]) -> None:
        """The nodes that can be reached from the ends, what they save, and where they lead."""
        calls = [(call, begin) for call, begin in carried.calls for _ in call.template.nodes or ()]
        for number, _ in ends:
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
            _, _, known, saves, ways = self.inner[number]
            for n, at in enumerate(saves):
                if at is not None:
                    self.savers[at] |= -1 if n in known.pull.numbers else 1 << number  # numbers stay
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

    def enter(self, tape: Any, goes_on: bool = False) -> bool:
        """Make the node of a trace and give it to its ends; False if that is no usual one.

        goes_on  the trace is not about to end: a backward that stays in it is better learned from its nodes, and late
                 views must be made in earnest
        """
        if not may_enter(tape) or (goes_on and not self.alone):
            return False
        tensors = tape.pick(tuple(self.sources))
        if any(not isinstance(t, TensorBase) or t._is_late for t in tensors):
            return False
        if goes_on and all(t._node is None for t in tensors):
            return False
        edges = [t._edge() for t in tensors]
        if None in edges:
            return False
        ends = [(t, place) for n, place in self.ends if _is_behind(t := tape.value(n), n)]
        node = SegmentNode(self, edges, self._cells(tape), tape)
        number = {place: k for k, place in enumerate(self.places)}
        for t, place in ends:
            t._node, index = (node, number[place]) if place[0] >= 0 else edges[self.sources[-1 - place[0]]]
            if index:
                t._index = index
            t._flags &= ~HISTORY
        if goes_on:
            tape.caught, tape.noded = tape.state, True
        return True

    def _cells(self, tape: Any) -> list[Any]:
        """The cells of what is saved, which are there from now on."""
        cell_of, value_of, put, serial, program, made = tape.cell, tape.value, tape.put, tape.serial, self.program, []
        for n, origin, kind, loose, owner in self.saved:
            cell = cell_of(n)
            if cell is None and n != origin:
                cell = cell_of(origin)
            if cell is None:
                if n in program.numbers:
                    cell = cell_of_number(value_of(n), program.numbers[n])
                else:
                    constant = program.constants.get(origin)
                    cell = Cell(kind, constant and constant.array)
                cell.serial, cell.number = serial, origin
                put(origin, value_of(origin), cell)
            if owner is not None and cell.home is None:
                lodge(cell, value_of(owner[0]), cell_of(owner[0]), owner[1])
            made.append(Kept(cell) if loose else cell)
        return made


def _is_usual(template: Any) -> bool:
    """Whether calls make values and nodes, and what they write is their own or no value that has a history."""
    if template.call.exact or template.call.in_parts or template.through or template.pause is not None:
        return False
    return template.nodes is not None or template.values or not (template.has_nodes or template.assigns)


def _is_behind(t: Any, n: int) -> bool:
    """Whether a value is a tensor that lacks its node."""
    return isinstance(t, TensorBase) and t._number == n and bool(t._flags & HISTORY)


def may_enter(tape: Any) -> bool:
    """Whether nothing of a trace that is about to end was made in earnest, or is watched, or is unusual."""
    touched = tape.noded or tape.done or tape.attached[1] or tape.state.blurred or tape.caught.parent is not None
    return not touched and tape.mode <= 1


def segment_for(tape: Any, live: bytes) -> Segment | None:
    """What a trace that is about to end, and has come before, leaves to backward; None where nodes must be made.

    live   a bit for each value that is wanted
    """
    state: State = tape.state
    found: Any = state.segments.get(live)
    if found is None and may_enter(tape) and not forest.is_new(hash((state.path, live, "segment"))):
        try:
            found = Segment(state, live)
        except (Unusual, KeyError):
            found = False
        _keep(state, live, found)
    return found or None


def _keep(state: State, live: bytes, found: Segment | bool) -> None:
    """Keep a segment at its state, and let go of the oldest where there are too many."""
    if not state.segments:
        state.segments = {}
    state.segments[live] = found
    with _lock:
        _kept[state, live] = None
        while len(_kept) > KEPT:
            (old, known), _ = _kept.popitem(last=False)
            old.segments.pop(known, None)


__all__ = ["Segment", "segment_for"]
