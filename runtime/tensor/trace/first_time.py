"""A trace that comes for the first time, and may never come again, is run straight from its events.

Nothing is written out of it: the second time there will be a `Plan`, and what is compiled then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reverse.pulled import Pulled, Walked, whole_call
from ..value.cells import Kind, number_cell
from ..value.slots import HISTORY, SPECIAL, TensorBase
from .cold import run_step
from .plans import count_cold, numbers_in
from .sharing import Views
from .spent import spend
from .states import ABSOLUTE, Again, Call, Enter, State, Step, events, forest

LITTLE = 1_000_000
"""Longer traces, by their elements, are worth a plan, which drops values after their last use."""


class Once:
    """How a new trace is run: as a plan, without one.

    numbers, kinds  of the values that are wanted
    joins           which views that are wanted share the memory of which values
    inputs, count   numbers of values that were read from outside, and how many operations ran
    """

    def __init__(self, tape: Any, live: bytes, path: list[State]) -> None:
        self.state, self.live, self.path = tape.state, live, path
        self.numbers = numbers_in(live)
        self.kinds: list[Kind] = []
        for n in self.numbers:
            cell = tape.cell(n)
            self.kinds.append(tape.value(n)._kind if cell is None else cell.kind)
        self.inputs: list[int] = []
        self.count = 0
        self.again: tuple[int, ...] = ()
        self.held: tuple[int, ...] | None = None
        self.joins: list[tuple[int, int]] = []

    def add(self, numbers: list[int]) -> None:
        """Let more values be wanted."""
        for n in numbers:
            event: Any = next(at for at in self.path if at.values > n).event
            is_call = type(event) is Call
            kinds, first = (event.template.kinds, event.base) if is_call else (event.fragment.results, event.first)
            self.numbers.append(n)
            self.kinds.append(kinds[n - first])

    @property
    def program(self) -> Once:
        """What tells the inputs."""
        return self

    def replay(self, tape: Any) -> None:
        """There is no kernel."""

    def run(self, tape: Any) -> list[np.ndarray]:
        """The arrays of the values that are wanted."""
        whole = all(_reads_little(s.event) for s in self.path)
        values = self._values(tape, whole)
        if whole and any(values[n] is None for n in self.numbers):  # nodes keep what is hidden otherwise
            values = self._values(tape, False)
        count_cold(self.count)
        return [values[n] for n in self.numbers]

    def _values(self, tape: Any, whole: bool) -> list[Any]:
        """All values, or of each call those that others may read."""
        values: list[Any] = [None] * self.state.values
        self.inputs, self.count = [], 0
        for state in self.path:
            event = state.event
            if type(event) is Call:
                self.count += self._call(tape, event, values, whole)
            elif isinstance(event, Step):
                self.count += 1
                run_step(event.fragment, [values[k] for k in event.numbers], values, event.first)
            elif isinstance(event, Enter):
                self._enter(tape, state.values - 1, None, values)
            elif isinstance(event, Again):
                self._enter(tape, state.values - 1, event.number, values)
        return values

    def _enter(self, tape: Any, n: int, again: int | None, values: list[Any]) -> None:
        self.inputs.append(n)
        cell = tape.cell(n)
        values[n] = values[again] if again is not None else cell and cell.array

    def _call(self, tape: Any, call: Call, values: list[Any], whole: bool) -> int:
        """Run one call, as a `whole` if nobody reads what is hidden then; how many operations it has."""
        template, arguments, entered, base, _ = call
        for n, again, _ in entered:
            self._enter(tape, n, again, values)
        if template.dtypes:
            for n, dtype in zip(arguments[-len(template.dtypes) :], template.dtypes, strict=True):
                cell = tape.cell(n)
                values[n] = number_cell(tape.value(n), dtype).array if cell is None else cell.array
        for ref, cell in template.constants:
            values[base + ref] = cell.array
        if type(template) is Walked:
            return _run_back(template, values)
        one = (template.whole or whole_call(template)) if whole else None
        if one is None:
            for fragment, refs, first, _ in template.steps:
                arrays = [
                    values[arguments[-1 - r] if r < 0 else base + r if r < ABSOLUTE else r - ABSOLUTE] for r in refs
                ]  # what `call.number` says
                run_step(fragment, arrays, values, base + first)
        else:
            numbers: Any = arguments
            if not one.plain or len(one.reads) < len(arguments):
                numbers = [arguments[-1 - r] if r < 0 else base + r for r in one.reads]
            one.run(values, numbers, base)
        for ref, other in template.aliases:
            values[base + ref] = values[call.number(other)]
        return len(template.steps)


def _reads_little(event: Any) -> bool:
    """Whether an event reads no more of calls before than what `whole_call` gives."""
    if type(event) is Call:
        return type(event.template) is Walked or not event.template.call.exact
    return not isinstance(event, Step)


def _run_back(template: Walked, values: list[Any]) -> int:
    """Run a backward, call by call."""
    count = 0
    for call, pulled, reads, first, adds in template.groups:
        count += len(pulled.steps) + len(adds)
        before, sums = first - len(reads), ()
        if adds and len(pulled.steps) > 1:  # which are compiled for this call anyway
            sums = tuple([(fragment, -1 if a < first else a - before, b - before) for _, fragment, (a, b), _ in adds])
            reads = [*reads, *[a for _, _, (a, _), _ in adds if a < first]]
        one = pulled.whole(sums)
        if one is not None:
            numbers = reads if one.plain else [reads[r] if r >= 0 else call.arguments[-1 - r] for r in one.reads]
            one.run(values, numbers, before)
            if sums:
                continue
        else:
            _run_steps(pulled, reads, values, first)
        for _, fragment, (a, b), total in adds:
            run_step(fragment, [values[a], values[b]], values, total)
    for ref, other in template.aliases:
        values[template.base + ref] = values[template.base + other]
    return count


def _run_steps(pulled: Pulled, reads: list[int], values: list[Any], first: int) -> None:
    numbers, at = [*reads[: len(pulled.reads)], *range(first, first + len(pulled.kinds))], first
    for fragment, wanted, _ in pulled.steps:
        run_step(fragment, [values[numbers[r]] for r in wanted], values, at)
        at += len(fragment.results)


def once(tape: Any, live: bytes) -> Once | None:
    """How to run a trace that is new, and so small that its values may stay; None for others."""
    state, (known, found, needed), tape.looked = tape.state, tape.looked, NOT_LOOKED
    if live in state.plans:
        return None
    if known is not state or found.live != live:
        found, needed = Once(tape, live, events(state)), None
    size = 0
    for at in found.path:
        event = at.event
        if type(event) is Call:
            size += event.template.size
        elif isinstance(event, Step):
            size += sum([k.size for k in event.fragment.results])
    if size > LITTLE:
        return None
    if tape.caught is not state and (tape.noded or (_needs_nodes(tape, found) if needed is None else needed)):
        return None
    return found if forest.is_new(hash((state.path, live))) else None


NOT_LOOKED = None, None, None
"""Before `leaves_history` has looked: the state, how it is run once, and whether it needs nodes."""


def leaves_history(tape: Any) -> bool:
    """Whether the trace, which may be new, makes what needs nodes: see `plans.needs_nodes`."""
    state, live = tape.state, tape.live()
    if state.info is not None and live in state.info:
        return state.info[live] is None
    found = Once(tape, live, events(state))
    needed = _needs_nodes(tape, found)
    tape.looked = state, found, needed
    return needed


def _needs_nodes(tape: Any, found: Once) -> bool:
    """Whether a late tensor that is wanted has a history that is of use still, or is a view of what others see."""
    freed: set[int] = set()
    for state in found.path:
        if type(state.event) is Call:
            spend(state.event, freed)
    wanted = [(n, t) for n in found.numbers if isinstance(t := tape.value(n), TensorBase)]
    if any(t._flags & HISTORY and n not in freed for n, t in wanted):
        return True
    if not any(t._flags & SPECIAL for _, t in wanted):
        return False
    views, again = Views(), {}
    for state in found.path:
        event = state.event
        if type(event) is Call:
            again.update([(n, again.get(m, m)) for n, m, _ in event.entered if m is not None])
            for ref, other in event.template.aliases:
                n = event.number(other)
                again[event.number(ref)] = again.get(n, n)
            views.add(event, again)
        elif isinstance(event, Again):
            again[state.values - 1] = again.get(event.number, event.number)
    joins = views.joins(found.numbers, again)
    found.joins = joins or []
    found.add(views.bases(found.numbers, again))
    return joins is None


__all__ = ["NOT_LOOKED", "Once", "leaves_history", "once"]
