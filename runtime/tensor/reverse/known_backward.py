"""Backward through a trace of which every call is known: no node is made, and none is walked.

Each call is pulled back as a whole (see `pulled`), from the newest to the oldest. The steps are those that
`backward.run_backward` would record, in the same order.  What is unusual on the way, such as a hook, a gradient that
is there already, or a tensor with an older history, is left to that.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from ..calls.follow import instance, still
from ..calls.places import place_for
from ..calls.reading import Reading
from ..ops.elementwise.arithmetic import ADD
from ..trace.fragments import Fragment, fragment_for
from ..trace.overwritten import Overwritten
from ..trace.states import ABSOLUTE, NOTHING, Again, Call, Enter, State, Template, events
from ..trace.tape import Tape
from ..value.cells import Cell, Kind
from ..value.slots import HISTORY, HOOKED, LEAF, SPECIAL
from .nodes import zeros
from .pulled import VALUE, ZERO, Group, Pulled, Walked, ends_of
from .pulling import pull_call
from .written import is_as_saved


class Unusual(Exception):
    """Raised where backward must look at nodes."""


Place = tuple[int, int]
"""A node and the number of its result; the leaf that is value n is node -1 - n."""


class Walk:
    """A backward under way.

    calls    those that made nodes, with the number of the first; nodes of them all
    sources  where values come from
    flows    the cotangents of results of nodes still to come
    base     the number of the first value that it makes
    reached  how many nodes it has passed
    over     what was written over
    leaves   those that it has come to
    """

    def __init__(self, tape: Tape, place: Any) -> None:
        self.tape, self.place, self.base = tape, place, tape.count
        self.calls: list[tuple[Call, int]] = []
        self.sources: dict[int, Place] = {}
        self.flows: dict[Place, int] = {}
        self.kinds: list[Kind] = []
        self.groups: list[Group] = []
        self.begins: list[int] = []
        self.sums: dict[tuple[Kind, Kind], Fragment] = {}
        self.constants: list[tuple[int, Cell]] = []
        self.over, self.reached = Overwritten(), 0
        self.leaves: set[int] = set()
        count = 0
        path = events(tape.state)
        if any(type(s.event) is Call and s.event.template.assigns for s in path):
            for state in path:
                self.over.note(state)
        for state in path:
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
        self.nodes = count

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
        if t is None or t._is_late or t._flags & (LEAF | SPECIAL | HOOKED | HISTORY) != LEAF or t._node is not None:
            raise Unusual
        end = t._accumulator and t._accumulator()
        if id(t) in self.leaves:  # another thread wrote to it meanwhile
            raise Unusual
        self.leaves.add(id(t))
        if t._grad is not None or t._hooks or t._posts or t._origin or t._retains or (end and end.hooks):
            raise Unusual
        return -1 - n, 0

    def constant(self, cell: Cell) -> int:
        """A value that is the same always."""
        self.kinds.append(cell.kind)
        self.constants.append((len(self.kinds) - 1, cell))
        return self.base + len(self.kinds) - 1

    def run(self) -> None:
        """Carry the cotangents to the leaves."""
        pop = self.flows.pop
        for call, begin in reversed(self.calls):
            template = call.template
            pulls = template.pulls
            if pulls is None:
                pulls = template.pulls = {}, ends_of(template)
            given = [pop((begin + number, k), None) for number, k in pulls[1]]
            present = tuple([g is not None for g in given])
            if True not in present:
                continue
            pulled = pulls[0].get(present)
            if pulled is None:
                pulled = pulls[0][present] = pull_call(template, present)
            self._pull(call, pulled, given)
            self.begins.append(begin)
            self.reached += len(pulled.reached)

    def _pull(self, call: Call, pulled: Pulled, given: list[int | None]) -> None:
        """Pull one call back, and add what that gives to the cotangents of where it goes."""
        _, arguments, _, own, _ = call
        base, kinds, flows, sources, cell_of = self.base, self.kinds, self.flows, self.sources, self.tape.cell
        over = self.over.over
        reads: list[Any] = []
        for what, which in pulled.reads:
            if what is VALUE:
                n = arguments[-1 - which] if which < 0 else own + which
                cell = cell_of(n)
                if cell is not None and (cell.stale or cell.home is not None) and not is_as_saved(cell):
                    raise Unusual
                if over and self.over.is_lost(call, which):
                    raise Unusual
                reads.append(n)
            else:
                reads.append(self.constant(zeros(which)) if what is ZERO else given[which])
        first = base + len(kinds)
        kinds += pulled.kinds
        before, adds = first - len(reads), []
        for after, (argument, _), number in pulled.gives:
            flow, n = before + number, arguments[-1 - argument]
            to = sources.get(n)
            if to is None:
                to = sources[n] = self._leaf(n)
            have = flows.get(to)
            if have is not None:
                fragment = self._sum_of(kinds[have - base], kinds[flow - base])
                flow = base + len(kinds)
                adds.append((after, fragment, (have, before + number), flow))
                kinds += fragment.results
            flows[to] = flow
        self.groups.append((call, pulled, reads, first, adds))

    def _sum_of(self, a: Kind, b: Kind) -> Fragment:
        """The sum of two cotangents."""
        found = self.sums.get((a, b))
        if found is None:
            found = self.sums[a, b] = fragment_for((ADD, (), a, b))
        return found

    def gone(self) -> Container[int]:
        """The nodes through which no backward can go any more: those passed, those whose saved values are freed, and
        those that lead to none but such."""
        if self.reached == self.nodes:
            return range(self.nodes)
        passed = {begin + k for group, begin in zip(self.groups, self.begins, strict=True) for k in group[1].reached}
        found: set[int] = set()
        for call, begin in self.calls:
            for number, known in enumerate(call.template.nodes, begin):  # type: ignore[arg-type]
                if number in passed and known.saves:
                    found.add(number)
                    continue
                ways = [self._where(call, way, begin) for way in known.ways if way is not None]
                if ways and all(to in found for to in ways):
                    found.add(number)
        return found | passed

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
        walk.flows[to] = walk.constant(Cell(kind, np.ones(kind.shape, kind.type.numpy)))
        walk.run()
        return instance(_template(walk, reading), tape, reading)
    except Unusual:
        return None


def _template(walk: Walk, reading: Reading) -> Template:
    """What the walk did, in the words of a call."""
    t, form, base = Walked(), reading.form, walk.base
    t.call, t.function, t.mode, t.form = form.recorded, form.recorded.function, form.mode, form.arguments
    t.kinds, t.groups, t.dtypes, t.gives = walk.kinds, walk.groups, [], (NOTHING,)
    t.base, t.place, t.constants = base, walk.place, walk.constants
    t.aliases, t.results, t.grads = [], [], []
    owned: set[int] = set()
    for (leaf, _), flow in walk.flows.items():
        ref = flow = flow - base
        if flow in owned:
            ref = len(t.kinds)
            t.kinds.append(t.kinds[flow])
            t.aliases.append((ref, flow))
        owned.add(ref)
        t.results.append((ref, t.kinds[ref], 0))
        t.grads.append((ABSOLUTE - 1 - leaf, None, ref))
    gone = walk.gone()
    t.frees = tuple([n for n, (node, _) in walk.sources.items() if node in gone and n not in walk.over.over])
    t.still = still(walk.tape, {n for _, _, reads, _, _ in walk.groups for n in reads if n < base})
    t.assigns, t.viewed, t.has_nodes, t.checks = [], (), False, []
    t.size = sum([k.size for k in t.kinds])
    t.nodes, t.ends, t.plain, t.dense, t.parts, t.within = None, (), False, frozenset(), {}, {}
    return t


__all__ = ["follow_back"]
