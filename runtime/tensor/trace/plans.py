"""What becomes of a trace: run op by op when it is new, compiled as a whole when it comes again.

    >>> explain()
    {'recorded': 0, 'cold': 0, 'compiled': 0, 'replayed': 0}
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np

from ....compiler import watch
from ....compiler.frontend.tracing import user_line
from ....compiler.ir.graph import Builder, Graph, Value, Where, replay
from ....compiler.ir.text import show
from ....compiler.locks import lock
from ....compiler.settings import settings
from .. import recorder
from ..recorder import Input, Replay, Source
from ..recorder.replay import DTYPE_NAMES
from ..value.cells import number_cell
from .background import Job, maker
from .cold import Interpreted, run_cold
from .cures import CURE, CURES
from .engine import Kernel
from .interrupts import is_of_a_handler
from .programs import Program
from .states import NONE, State, events, forest
from .structures import Structure, kernel_for, kernel_of, may_know, structure_of

WAITS = 3
"""A trace that has come so often is compiled by a thread; where shapes change all the time, few come again."""

KEPT = 256
"""How many plans are kept; the one unused for longest goes first."""

ARGUMENTS = 900
"""A kernel has so many arrays at most."""

_plans: OrderedDict[Plan, None] = OrderedDict()
_lock = lock()
_reasons: OrderedDict[str, tuple[str, Where | None]] = OrderedDict()
REASONS = 12
"""How many functions are told of whose calls were not recognised."""

NOTHING_KNOWN: frozenset[int] = frozenset()
NO_ARRAYS: Mapping[int, np.ndarray] = {}

_counts = {"recorded": 0, "cold": 0, "compiled": 0, "replayed": 0}
_last: tuple[State | None, Any] = (None, None)


class Report(dict[str, int]):
    """Counts by name, and as text with the reasons why calls were not recognised.

    recorded   operations; those of a call that was recognised count as well
    cold       traces that ran op by op, compiled: that became kernels, replayed: that ran as kernels
    """

    def __str__(self) -> str:
        lines = [f"{self['recorded']} operations recorded", f"{self['cold']} traces ran op by op"]
        lines += [f"{self['compiled']} traces compiled", f"{self['replayed']} traces replayed"]
        for name, (why, where) in _reasons.items():
            at = f" at {where.file}:{where.line}" if where else ""
            lines += [f"not recognised: {name}{at} {why}", f"  {CURES.get(why, CURE)}"]
        return "\n".join(lines)


def explain() -> Report:
    """What became of the operations on Tensors; printed, it says why calls were not recognised, the last few."""
    with _lock:
        made = Report(_counts)
        for plan in _plans:
            settle(plan.state)
            plan.count(made)
    return made


def because(name: str, why: str) -> None:
    """Note why a call of a function was not recognised, and the line: looked for once, as that takes a microsecond."""
    before = _reasons.pop(name, None)
    _reasons[name] = (why, user_line()) if before is None or before[0] != why else before
    if len(_reasons) > REASONS:
        _reasons.popitem(last=False)


def program_of(state: State) -> Program:
    """The trace written out; the last one is kept, because it is asked for again soon."""
    global _last
    known, program = _last
    if known is not state:
        path = None if known is None else events(state, known)
        if not path or path[0].parent is not known or len(path) > len(program.steps):
            program = Program(state)
        else:
            program = program.extended(path)
        _last = state, program
    return program


def count_cold(steps: int) -> None:
    """Count a trace that ran op by op."""
    _counts["recorded"] += steps
    _counts["cold"] += 1


def numbers_in(live: bytes) -> list[int]:
    """The numbers of the bits that are set."""
    bits, found = int.from_bytes(live, "little"), []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def needs_nodes(state: State, live: bytes) -> bool:
    """Whether a value that is wanted has a history that backward has not used up, or is a view of who knows what."""
    return joins_of(state, live) is None


def joins_of(state: State, live: bytes) -> list[tuple[int, int]] | None:
    """Which views that are wanted share the memory of which values; None where nodes are needed."""
    known = state.info
    if known is None:
        known = state.info = {}
    if live not in known:
        program, numbers = program_of(state), numbers_in(live)
        used = not any(program.history.get(n, False) for n in numbers)
        known[live] = program.views.joins(numbers, program.again) if used else None
    return known[live]


def plan_for(state: State, live: bytes, known: frozenset[int] = NOTHING_KNOWN) -> Plan:
    """What computes the values of `live` from the inputs and those that are `known`: op by op the first time, compiled
    when it comes again."""
    key = (live, known) if known else live
    plan = state.plans.get(key)
    if plan is None:
        plan = Plan(state, live, known)
        if not known:
            plan.find(structure_of(events(state), live))
        if forest.is_new(hash((state.path, key))) and (plan.kernel is None or not forest.recurs):
            return plan
        keep(plan)
    if plan.kernel is None and plan.is_worth_compiling():
        if not settings.background:
            plan.compile()
        elif plan.waits:
            plan.waits -= 1
        elif plan.job is None or not plan.job.missed():
            plan.job = maker.ask(plan.compile)
    return plan


def keep(plan: Plan) -> None:
    """Let a plan run the trace when it comes again, and the plan unused for longest go if there are many."""
    state = plan.state
    if state.plans is NONE:
        state.plans = {}
    state.plans[(plan.live, plan.known) if plan.known else plan.live] = plan
    with _lock:
        while len(_plans) >= KEPT:
            old, _ = _plans.popitem(last=False)
            settle(old.state)
            old.count(_counts)
            old.state.plans.pop((old.live, old.known) if old.known else old.live, None)
            if running(old.state) is old:
                old.state.live = old.state.plan = None
        _plans[plan] = None
    if plan.kernel is not None:
        plan.prepare()


def running(state: State) -> Plan | None:
    """The plan by which native code runs traces that end in this state."""
    return None if state.plan is None else state.plan[-1]


def settle(state: State) -> None:
    """Tell the plan how often native code ran it."""
    plan = running(state)
    if plan is not None:
        plan.times += state.runs
    state.runs = 0


class Plan:
    """How a trace is run when certain of its values are wanted.

    numbers, kinds   of the values that are wanted, and of what they are views of
    steps            what computes them
    results, places  of the values that they are, each once; and where those are, if some are wanted twice
    known            numbers of values that were computed on the side, from which the steps go on: see peeking.py
    sources          numbers of the values that the steps read, with the dtype if that is a Python number
    joins            which views that are wanted share the memory of which values
    unused           for each step, the values that may be dropped after it, once it has run op by op
    times            how often native code ran it
    keeps            whether its history need not be made in time, where that was asked: see kept.py
    waits            how often it is to run op by op before it is worth the time of a thread to compile it; then a job
    looks, seconds   how often it was run for a value in the middle of a trace, and the least time that took
    """

    def __init__(self, state: State, live: bytes, known: frozenset[int] = NOTHING_KNOWN) -> None:
        self.state, self.live, self.known = state, live, known
        self.program = program = program_of(state)
        self.numbers = numbers_in(live)
        self.numbers += program.views.bases(self.numbers, program.again)
        self.kinds = [program.kinds[n] for n in self.numbers]
        wanted = [program.number(n) for n in self.numbers]
        self.results = list(dict.fromkeys(wanted))
        self.places = [self.results.index(n) for n in wanted] if len(self.results) < len(wanted) else None
        self.joins = joins_of(state, live) or []
        self.kernel: Kernel | None = None
        self.looks, self.seconds = 0, inf
        self.times = 0
        self.job: Job | None = None
        self.waits = WAITS
        self.keeps: bool | None = None
        self.unused: list[list[int]] | None = None
        self.replayed: Replay | None = None
        self.held: tuple[int, ...] | None = None
        given = {*program.inputs, *program.numbers, *program.constants, *known}
        used, self.steps = set(wanted), list[Any]()
        missing = used - given
        for step in reversed(program.steps):
            if not missing:
                break
            made = range(step.first, step.first + len(step.fragment.results))
            if not missing.isdisjoint(made):
                used.update(step.numbers)
                missing.difference_update(made)
                missing.update([n for n in step.numbers if n not in given])
                self.steps.append(step)
        self.steps.reverse()
        self.sources: list[tuple[int, Any]] = [(n, program.numbers.get(n)) for n in sorted(given & used)]

    def replay(self, tape: Any) -> list[Any] | None:
        """Run natively and hand the results out; late tensors with history that got a value, or None if Python must."""
        if self.replayed is None:
            return None
        late = self.replayed(tape)
        if late is not None:
            self.times += 1
            if self in _plans:
                _plans.move_to_end(self)
            if running(self.state) is not self and not needs_nodes(self.state, self.live):
                settle(self.state)
                if not self.joins:
                    tape.remember(self, late)
                self.replayed.stay(self.state, self.live, None if self.joins else self.held, self)
        return late

    def count(self, counts: dict[str, int]) -> None:
        """Add how often it ran natively."""
        counts["recorded"] += self.times * len(self.program.steps)
        counts["replayed"] += self.times

    def find(self, structure: Structure) -> bool:
        """Take the kernel that serves its sizes, too, if there is one."""
        self.kernel = kernel_for(self, structure) if may_know(structure) else None
        return self.kernel is not None

    def prepare(self) -> None:
        """Make the native replay of the kernel that was found."""
        _counts["compiled"] += 1
        with suppress(Exception):  # it runs without
            self._prepare(self.kernel)

    def _prepare(self, kernel: Any) -> None:
        """Make the native replay of a kernel, if all that it reads can be gathered natively."""
        constants = self.program.constants
        sources = [
            Input(Source.CONSTANT, constants[n].array) if n in constants
            else Input(Source.CELL, n) if dtype is None
            else Input(Source.NUMBER, n, dtype)
            for n, dtype in self.sources
        ]  # fmt: skip
        gathered = all(s.tag != Source.NUMBER or s.dtype in DTYPE_NAMES for s in sources)
        if recorder.SUPPORTED and self.places is None and gathered:
            self.replayed = Replay(kernel, sources, list(zip(self.numbers, self.kinds, strict=True)))

    def run(self, tape: Any) -> list[np.ndarray]:
        """The arrays of the values that are wanted."""
        _counts["recorded"] += len(self.program.steps)
        _counts["cold" if self.kernel is None else "replayed"] += 1
        return self.values(tape)

    def values(self, tape: Any, known: Mapping[int, np.ndarray] = NO_ARRAYS) -> list[np.ndarray]:
        """The same, of a trace that goes on."""
        constants = self.program.constants
        arrays: list[Any] = [
            known[n] if n in known else constants[n].array if n in constants else _array(tape, n, dtype)
            for n, dtype in self.sources
        ]
        if self.kernel is None:
            made = run_cold(self, arrays)
        else:
            if self in _plans:
                _plans.move_to_end(self)
            made = self.kernel.run(arrays)
        return made if self.places is None else [made[k] for k in self.places]

    def is_worth_compiling(self) -> bool:
        """Whether a kernel can have so many arrays."""
        return len(self.sources) + len(self.numbers) <= ARGUMENTS

    def compile(self) -> None:
        """Make one kernel, or if there is an error in the compiler go on op by op."""
        watch.show("graph", lambda: show(self.graph()), "trace")
        try:
            kernel = kernel_of(self)
            if not self.known:
                self._prepare(kernel)
            self.kernel = kernel
        except Exception as error:
            if not settings.background and (isinstance(error, MemoryError) or is_of_a_handler(error)):
                raise
            where = next((f" (first operation: {op.where})" for op in self.graph().body if op.where), "")
            warnings.warn(
                f"a trace of {len(self.program.steps)} Tensor operations{where} could not be compiled and runs op by"
                f" op; please report this bug: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            self.kernel = Interpreted(self)
        else:
            _counts["compiled"] += 1

    def graph(self) -> Graph:
        """The whole trace as one graph from its sources to the values that are wanted."""
        program = self.program
        b = Builder("trace", [program.kinds[n].type for n, _ in self.sources])
        values: dict[int, Value] = {n: p for (n, _), p in zip(self.sources, b.params, strict=True)}
        for fragment, numbers, first, place in self.steps:
            b.where = place.where
            env = replay(fragment.graph, b, [values[k] for k in numbers], share=False)  # it may stand twice
            values.update(enumerate([env[r] for r in fragment.graph.results], first))
        return b.finish([values[n] for n in self.results])


def _array(tape: Any, n: int, dtype: str | None) -> Any:
    cell = tape.cell(n)
    return number_cell(tape.value(n), dtype).array if cell is None else cell.array  # type: ignore
