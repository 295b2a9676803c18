"""Timing several ways to do the same thing, in turn, in one process.

Other people's programs and the clock of the processor disturb every measurement. So a way's turns are interleaved
with those of the others, the order changes from round to round, medians are reported, and a ratio is the median of
the ratios within a round: both of its sides have seen the same weather.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import peers

from pullback.runtime.tensor.trace import background

try:
    import resource
except ImportError:  # there is none on Windows
    resource = None

NOTHING = object()
SETTLE = 1.0
"""Seconds in which a program's better code is made in the background."""

Way = Callable[..., Any]
Goal = tuple[str, float]
"""Whose time (a way, or the "best" of others), and how many times ours it is to be; or "at most" and a figure."""


@dataclass(frozen=True)
class Plan:
    """How carefully to measure: the size is tiny (for tests), quick or full."""

    size: str = "quick"
    rounds: int = 9
    slot: float = 0.02
    processor_time: bool = False
    """Count the time that processors worked, not the time that passed: for one thread on a machine with others."""


@dataclass(frozen=True)
class Times:
    """Seconds a call: the median, the least, and the median of the ratios to ours; then what else happened meanwhile.

    `busy` counts the processors that worked, `faults` the pages that a call got from the system; None: not counted.
    """

    median: float
    least: float
    ratio: float | None
    busy: float | None
    faults: float | None


@dataclass(frozen=True)
class Turn:
    """What one turn of one way took, a call."""

    seconds: float
    busy: float | None = None
    faults: float | None = None


@dataclass
class Case:
    """Something to compute: `ways` by name, ours first, each called with nothing, or with `given` if there is one.

    `scale` makes `unit` of seconds. `agree` is the relative difference up to which results agree. `moved` counts the
    bytes that any way must read and write, `flops` the operations.
    """

    name: str
    ways: dict[str, Way]
    unit: str = "µs"
    scale: float = 1e6
    goals: tuple[Goal, ...] = ()
    agree: float = 1e-9
    given: Any = NOTHING
    moved: float = 0
    flops: float = 0
    seconds: bool = False
    """A way returns a list that starts with the seconds it took, instead of being timed from outside."""
    parallel: bool = False
    """The time that passes is what matters, even where processor time was asked for."""
    checked: int = 1
    """How many calls there are before results are compared: more than one where a way remembers something."""
    times: dict[str, Times] = field(default_factory=dict)
    fails: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ways = {name: way for name, way in self.ways.items() if peers.wanted(name)}

    def call(self, way: Way) -> Any:
        return way() if self.given is NOTHING else way(self.given)

    def check(self) -> None:
        """Leave out ways that fail, and those that do not give what NumPy gives, or ours if NumPy is left out."""
        results: dict[str, list[np.ndarray]] = {}
        for name, way in self.ways.items():
            try:
                for _ in range(self.checked):
                    result = self.call(way)
                results[name] = leaves(result[1:] if self.seconds else result) if _compared(name) else []
            except Exception as error:
                self.fails[name] = f"{type(error).__name__}: {error}"
        compared = [name for name in results if _compared(name)]
        trusted = "NumPy" if "NumPy" in results else next(iter(compared), "")
        for name in compared:
            if problem := difference(results[name], results[trusted], self.agree):
                self.fails[name] = f"disagrees with {trusted}: {problem}"
        self.ways = {name: way for name, way in self.ways.items() if name not in self.fails}

    def run(self, plan: Plan) -> None:
        """Fill `times` and `fails`."""
        ours = next(iter(self.ways), "")
        self.check()
        plan = replace(plan, processor_time=plan.processor_time and not self.parallel)
        rounds = _reported(self.ways, plan) if self.seconds else race(self.ways, self.given, plan)
        for name in self.ways:
            spent = [each[name].seconds for each in rounds]
            ratio = _median([each[name].seconds / each[ours].seconds for each in rounds if ours in each])
            busy, faults = (_median([getattr(each[name], fact) for each in rounds]) for fact in ("busy", "faults"))
            self.times[name] = Times(statistics.median(spent), min(spent), ratio, busy, faults)

    def record(self) -> dict[str, Any]:
        """Everything that is known, for JSON."""
        keys = ("name", "unit", "scale", "goals", "agree", "moved", "flops", "fails")
        times = {name: asdict(each) for name, each in self.times.items()}
        return {key: getattr(self, key) for key in keys} | {"times": times}


def _compared(name: str) -> bool:
    """Whether a way computes what the others do; copying is there to compare speeds."""
    return not name.startswith("copying")


def _median(values: list[float | None]) -> float | None:
    """The median of what is known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _reported(ways: Mapping[str, Way], plan: Plan) -> list[dict[str, Turn]]:
    """Rounds of ways that say themselves how long they took: five, or as many as fit in half a minute."""
    begin, rounds = time.perf_counter(), []
    while not rounds or (len(rounds) < min(plan.rounds, 5) and time.perf_counter() - begin < 30):
        rounds.append({name: Turn(way()[0]) for name, way in ways.items()})
    return rounds


def race(ways: Mapping[str, Way], given: Any, plan: Plan) -> list[dict[str, Turn]]:
    """Every way's turn in each round; the round before them warms up, and ours until its better code has been made."""
    for _ in range(2 if plan.size != "tiny" else 0):
        begin = time.perf_counter()
        while time.perf_counter() - begin < SETTLE / 2:
            _turn(next(iter(ways.values())), given, 1, plan)
        background.settle()
    counts = {name: _count(way, given, plan) for name, way in ways.items()}
    names = list(ways)
    rounds = []
    for k in range(plan.rounds + 1):
        first = k % max(1, len(names))
        order = names[first:] + names[:first]
        rounds.append({name: _turn(ways[name], given, counts[name], plan) for name in order})
    return rounds[1:]


def _turn(way: Way, given: Any, count: int, plan: Plan) -> Turn:
    """Call a way some times, the loop included."""
    turns = itertools.repeat(None, count)
    faults = _faults()
    worked = time.process_time()
    begin = time.perf_counter()
    if hasattr(way, "repeat"):
        way.repeat(count)
    elif given is NOTHING:
        for _ in turns:
            way()
    else:
        for _ in turns:
            way(given)
    spent = time.perf_counter() - begin
    worked = time.process_time() - worked
    seconds = worked if plan.processor_time else spent
    return Turn(seconds / count, worked / spent, (_faults() - faults) / count)


def _faults() -> int:
    """Pages that this process has got from the system."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt if resource else 0


def _count(way: Way, given: Any, plan: Plan) -> int:
    """How many calls fill a turn, once the way is warm."""
    count = 1
    while True:
        spent = count * _turn(way, given, count, plan).seconds
        if spent > plan.slot / 2:
            return max(1, round(count * plan.slot / spent))
        count *= 2


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of nested results, of a dict in the order of its keys."""
    if isinstance(tree, Mapping):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in leaves(item)]
    if hasattr(tree, "detach"):
        tree = tree.detach().numpy()
    if np.iscomplexobj(tree):
        return [np.asarray(tree.real, np.float64), np.asarray(tree.imag, np.float64)]
    return [np.asarray(tree, np.float64)]


def difference(got: list[np.ndarray], wanted: list[np.ndarray], agree: float) -> str:
    """What is wrong with results, or nothing.

    An element may be off by `agree` times its own size plus that of its array's root mean square.
    """
    if [a.shape for a in got] != [b.shape for b in wanted]:
        return f"shapes {[a.shape for a in got]} instead of {[b.shape for b in wanted]}"
    for k, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if not np.isfinite(a).all():
            return f"result {k} has elements that aren't finite"
        allowed = agree * (np.abs(b) + np.sqrt(np.mean(b * b))) + 1e-300
        worst = float(np.max(np.abs(a - b) / allowed, initial=0.0))
        if worst > 1:
            return f"result {k} is off by {worst:.3g} times the tolerance {agree:g}"
    return ""
