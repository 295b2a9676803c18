"""Backward through a trace of which every call is known: no node is made, and none is walked.

The steps are those that `backward.run_backward` would record, in the same order, from the newest node to the oldest.
What is unusual on the way, such as a hook, a gradient that is there already, or a tensor with an older history, is
left to that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arithmetic import ADD
from .call_nodes import Known
from .cells import Cell, Kind
from .follow import instance
from .fragments import COTANGENT, INPUT, Fragment, fragment_for
from .nodes import NOTHING as LEADS_NOWHERE
from .nodes import written_over, zeros
from .places import place_for
from .reading import Reading
from .slots import HISTORY, HOOKED, LEAF, SPECIAL
from .states import ABSOLUTE, NOTHING, Again, Call, Enter, State, Template, events
from .tape import Tape


class Unusual(Exception):
    """Raised where backward must look at nodes."""


Place = tuple[int, int]
"""A node and the number of its result; the leaf that is value n is node -1 - n."""


class Walk:
    """A backward under way; values are named as in its template, whose own are numbered from the seed on.

    calls    those that made nodes, with the number of the first
    sources  where values come from
    flows    the cotangents of results of nodes still to come
    """

    def __init__(self, tape: Tape, place: Any) -> None:
        self.tape, self.place = tape, place
        self.calls: list[tuple[Call, int]] = []
        self.sources: dict[int, Place] = {}
        self.flows: dict[Place, int] = {}
        self.kinds: list[Kind] = []
        self.steps: list[tuple[Fragment, tuple[int, ...], int, Any]] = []
        self.constants: list[tuple[int, Cell]] = []
        self.reached: set[int] = set()
        count = 0
        for state in events(tape.state):
            event = state.event
            if type(event) is not Call:
                if type(event) not in (Enter, Again):
                    raise Unusual
                continue
            template = event.template
            if template.nodes is None:
                if template.has_nodes or template.assigns or template.grads or template.call.exact:
                    raise Unusual
                continue
            for ref, way in template.ends:
                self.sources[event.number(ref)] = self._to(event, way, count)
            if template.nodes:
                self.calls.append((event, count))
                count += len(template.nodes)

    def _to(self, call: Call, way: tuple[int, int], begin: int) -> Place:
        """The place where a cotangent goes."""
        number, index = way
        if number >= 0:
            return begin + number, index
        n = call.arguments[-1 - number]
        found = self.sources.get(n)
        if found is None:
            found = self.sources[n] = self._leaf(n)
        return found

    def _leaf(self, n: int) -> Place:
        t = self.tape.value(n)
        if t._is_late or t._flags & (LEAF | SPECIAL | HOOKED | HISTORY) != LEAF or t._node is not None:
            raise Unusual
        end = t._accumulator and t._accumulator()
        if t._grad is not None or t._hooks or t._posts or t._origin or t._retains or (end and end.hooks):
            raise Unusual
        return -1 - n, 0

    def give(self, to: Place, flow: int) -> None:
        """Add to the cotangent of a result of a node."""
        have = self.flows.get(to)
        if have is not None:
            fragment = fragment_for((ADD, (), self.kinds[have], self.kinds[flow]))
            flow = self._record(fragment, (have, flow), self.place)
        self.flows[to] = flow

    def _record(self, fragment: Fragment, refs: tuple[int, ...], place: Any) -> int:
        first = len(self.kinds)
        self.kinds += fragment.results
        self.steps.append((fragment, refs, first, place))
        return first

    def constant(self, cell: Cell) -> int:
        """A value that is the same always."""
        ref = len(self.kinds)
        self.kinds.append(cell.kind)
        self.constants.append((ref, cell))
        return ref

    def run(self) -> None:
        """Carry the cotangents to the leaves."""
        flows, reached = self.flows, self.reached
        for call, begin in reversed(self.calls):
            template = call.template
            number = begin + len(template.nodes)  # type: ignore[arg-type]
            for known in reversed(template.nodes):  # type: ignore[arg-type]
                number -= 1
                count = len(template.steps[known.step][0].results)
                given = [flows.pop((number, k), None) for k in range(count)]
                if given != [None] * count:
                    reached.add(number)
                    if known.pull is not LEADS_NOWHERE:
                        self._pull(call, begin, known, given)

    def _pull(self, call: Call, begin: int, known: Known, given: list[int | None]) -> None:
        step, _, ways, pull = known
        fragment, refs, first, place = call.template.steps[step]
        reads = []
        for what, k in pull.reads:
            if what == COTANGENT:
                ref = given[k]
                if ref is None:
                    ref = self.constant(zeros(fragment.results[k]))
            else:
                ref = ABSOLUTE + call.number(refs[k] if what == INPUT else first + k)
                cell = self.tape.cell(ref - ABSOLUTE)
                if cell is not None and written_over(cell) is not None:
                    raise Unusual
            reads.append(ref)
        made = self._record(pull.fragment, tuple(reads), call.place or place)
        for k, n in pull.gives:
            way = ways[k]
            if way is not None:
                self.give(self._to(call, way, begin), made + n)


    def used_up(self) -> set[int]:
        """The nodes through which no backward can go any more: what they saved is freed, or all that they lead to is
        used up."""
        found: set[int] = set()
        for call, begin in self.calls:
            for number, known in enumerate(call.template.nodes, begin):  # type: ignore[arg-type]
                saves = any(what != COTANGENT for what, _ in known.pull.reads)
                if saves and number in self.reached:
                    found.add(number)
                    continue
                ways = [self._where(call, way, begin) for way in known.ways if way is not None]
                if ways and all(to in found for to in ways):
                    found.add(number)
        return found

    def _where(self, call: Call, way: tuple[int, int], begin: int) -> int:
        """The node that something leads to; -1 where it is a leaf or not known."""
        number = way[0]
        if number >= 0:
            return begin + number
        return self.sources.get(call.arguments[-1 - number], (-1, 0))[0]


def follow_back(tape: Tape, reading: Reading) -> State | None:
    """The state after the backward of a scalar, if that is as usual; else None."""
    positional, named = reading.form.arguments
    root = reading.tensors[0]
    kind = root._kind_of()
    if len(positional) != 1 or named or kind.size != 1 or not kind.is_float or kind.is_complex or tape.state.blurred:
        return None
    try:
        walk = Walk(tape, place_for(reading.form))
        to = walk.sources.get(reading.places[0])
        if to is None or to[0] < 0:
            return None
        walk.give(to, walk.constant(Cell(kind, np.ones(kind.shape, kind.type.numpy))))
        walk.run()
        return instance(_template(walk, reading), tape, reading)
    except Unusual:
        return None


def _template(walk: Walk, reading: Reading) -> Template:
    """What the walk did, in the words of a call."""
    t, form = Template(), reading.form
    t.call, t.function, t.mode, t.form = form.recorded, form.recorded.function, form.mode, form.arguments
    t.kinds, t.steps, t.dtypes, t.gives = walk.kinds, walk.steps, [], (NOTHING,)
    t.constants = walk.constants
    t.aliases, t.results, t.grads = [], [], []
    owned: set[int] = set()
    for (leaf, _), flow in walk.flows.items():
        ref = flow
        if flow in owned:
            ref = len(t.kinds)
            t.kinds.append(t.kinds[flow])
            t.aliases.append((ref, flow))
        owned.add(ref)
        t.results.append((ref, t.kinds[ref], 0))
        t.grads.append((ABSOLUTE - 1 - leaf, None, ref))
    gone = walk.reached | walk.used_up()
    t.frees = tuple([n for n, (node, _) in walk.sources.items() if node in gone])
    t.assigns, t.viewed, t.has_nodes, t.checks = [], (), False, []
    t.size = sum([k.size for k in t.kinds])
    t.nodes, t.ends, t.plain, t.dense, t.parts, t.within = None, (), False, frozenset(), {}, {}
    return t


__all__ = ["follow_back"]
