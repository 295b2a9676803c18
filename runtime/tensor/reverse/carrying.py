"""Cotangents carried back through the calls of a trace: calls and seeds go in, and steps and where cotangents went
come out.

Each call is pulled back as a whole (see `pulled`), from the newest to the oldest, by the steps that going from node to
node records, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops.elementwise.arithmetic import ADD
from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import Fragment
from ..trace.states import Again, Call, Enter, State, Template
from ..value.cells import Cell, Kind
from .nodes import zeros
from .pulled import VALUE, ZERO, Group, Pulled, ends_of
from .pulling import pull_call


class Unusual(Exception):
    """Raised where backward must look at nodes."""


Place = tuple[int, int]
"""A node and the number of its result; what comes from outside as value n is node -1 - n."""


class Carrying:
    """Cotangents on their way.

    calls    those that made nodes, with the number of the first; nodes of them all
    sources  where values come from
    flows    the cotangents of results of nodes still to come
    base     the number of the first value that it makes
    reached  how many nodes it has passed
    """

    def __init__(self, path: Sequence[State], base: int) -> None:
        self.base = base
        self.calls: list[tuple[Call, int]] = []
        self.sources: dict[int, Place] = {}
        self.flows: dict[Place, int] = {}
        self.kinds: list[Kind] = []
        self.groups: list[Group] = []
        self.begins: list[int] = []
        self.sums: dict[tuple[Kind, Kind], Fragment] = {}
        self.constants: list[tuple[int, Cell]] = []
        self.reached = 0
        count = 0
        for state in path:
            event = state.event
            if type(event) is not Call:
                if type(event) not in (Enter, Again):
                    raise Unusual
                continue
            template = event.template
            if template.nodes is None:
                if not self.passes(template):
                    raise Unusual
                continue
            for ref, way in template.ends:
                self.sources[event.number(ref)] = self.to(event, way, count)
            if template.nodes:
                self.calls.append((event, count))
                count += len(template.nodes)
        self.nodes = count

    def passes(self, template: Template) -> bool:
        """Whether a call whose nodes are not known has none."""
        return template.values or not (template.has_nodes or template.assigns or template.grads or template.call.exact)

    def leaf(self, n: int) -> Place:
        """The place of a value from outside."""
        return -1 - n, 0

    def check(self, call: Call, ref: int, n: int) -> None:
        """Raise `Unusual` unless a value that nodes saved is what it was."""

    def to(self, call: Call, way: tuple[int, int], begin: int) -> Place:
        """The place where a cotangent goes."""
        number, index = way
        if number >= 0:
            return begin + number, index
        n = call.arguments[-1 - number]
        found = self.sources.get(n)
        if found is None:
            found = self.sources[n] = self.leaf(n)
        return found

    def constant(self, cell: Cell) -> int:
        """A value that is the same always."""
        self.kinds.append(cell.kind)
        self.constants.append((len(self.kinds) - 1, cell))
        return self.base + len(self.kinds) - 1

    def run(self) -> None:
        """Carry the cotangents to where values come from outside."""
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
        base, kinds, flows, sources, check = self.base, self.kinds, self.flows, self.sources, self.check
        reads: list[Any] = []
        for what, which in pulled.reads:
            if what is VALUE:
                n = arguments[-1 - which] if which < 0 else own + which
                check(call, which, n)
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
                to = sources[n] = self.leaf(n)
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


__all__ = ["Carrying", "Place", "Unusual"]
