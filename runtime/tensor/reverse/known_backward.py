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
from ..trace.overwritten import Overwritten
from ..trace.states import ABSOLUTE, NOTHING, Call, State, Template, events
from ..trace.tape import Tape
from ..value.cells import Cell
from ..value.slots import HISTORY, HOOKED, LEAF, SPECIAL
from .carrying import Carrying, Place, Unusual
from .pulled import Walked
from .written import is_as_saved


class Walk(Carrying):
    """A backward under way.

    over    what was written over
    leaves  those that it has come to
    """

    def __init__(self, tape: Tape, place: Any) -> None:
        self.tape, self.place = tape, place
        self.over, self.leaves = Overwritten(), set[int]()
        path = events(tape.state)
        if any(type(s.event) is Call and s.event.template.assigns for s in path):
            for state in path:
                self.over.note(state)
        super().__init__(path, tape.count)

    def passes(self, template: Template) -> bool:
        return not template.assigns and super().passes(template)

    def leaf(self, n: int) -> Place:
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

    def check(self, call: Call, ref: int, n: int) -> None:
        """Nobody wrote to it, seen or unseen."""
        cell = self.tape.cell(n)
        if cell is not None and (cell.stale or cell.home is not None) and not is_as_saved(cell):
            raise Unusual
        if self.over.over and self.over.is_lost(call, ref):
            raise Unusual

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
