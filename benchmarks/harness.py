"""Timing several ways to do the same thing, in turn, in one process.

The machine is noisy, so ways are interleaved round by round and medians are compared; a figure is worth little
without the ratio beside it.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NOTHING = object()


@dataclass
class Case:
    """Something to compute: `ways` by name, ours first, and what a time is divided by.

    A way is called without arguments, or with `given` if there is one; `goal` is the largest figure of ours that
    is good enough, in `unit`.
    """

    name: str
    ways: dict[str, Callable[[], Any]]
    unit: str = "µs"
    scale: float = 1e6
    goal: float | None = None
    #: relative difference up to which the ways' results agree; None where they return nothing to compare
    agree: float | None = 1e-9
    given: Any = NOTHING
    figures: dict[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Every way must give what the first one gives."""
        if self.agree is None:
            return
        given = () if self.given is NOTHING else (self.given,)
        wanted = leaves(next(iter(self.ways.values()))(*given))
        for name, way in self.ways.items():
            for a, b in zip(leaves(way(*given)), wanted, strict=True):
                if not np.allclose(a, b, rtol=self.agree, atol=self.agree * max(1.0, float(np.max(np.abs(b))))):
                    raise AssertionError(f"{self.name}: {name} disagrees, {a} instead of {b}")

    def run(self, rounds: int, slot: float) -> None:
        """Fill `figures` with medians."""
        self.check()
        seconds = race(self.ways, self.given, rounds, slot)
        self.figures = {name: self.scale * t for name, t in seconds.items()}

    def lines(self) -> list[str]:
        """The figures, and how many times as long each way takes as ours."""
        ours = next(iter(self.figures.values()))
        goal = "" if self.goal is None else f"   (at most {self.goal:g}: {'met' if ours <= self.goal else 'MISSED'})"
        out = [f"{self.name}{goal}"]
        for name, t in self.figures.items():
            out.append(f"    {name:<22}{t:>12.3f} {self.unit:<14}{t / ours:>9.2f} x")
        return out


def race(
    ways: Mapping[str, Callable[..., Any]], given: Any, rounds: int, slot: float
) -> dict[str, float]:
    """Median seconds a call, from `rounds` turns of about `slot` seconds each."""
    calls = {name: _calls(way, given, slot) for name, way in ways.items()}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(_turn(way, given, calls[name]) / calls[name])
    return {name: statistics.median(t) for name, t in times.items()}


def _turn(way: Callable[..., Any], given: Any, count: int) -> float:
    """Seconds that `count` calls take, the loop included."""
    turns = itertools.repeat(None, count)
    if given is NOTHING:
        begin = time.perf_counter()
        for _ in turns:
            way()
    else:
        begin = time.perf_counter()
        for _ in turns:
            way(given)
    return time.perf_counter() - begin


def _calls(way: Callable[..., Any], given: Any, slot: float) -> int:
    """How many calls take about `slot` seconds."""
    _turn(way, given, 3)
    count = 1
    while True:
        spent = _turn(way, given, count)
        if spent > slot / 4:
            return max(1, int(count * slot / spent))
        count *= 2


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of nested results."""
    if isinstance(tree, Mapping):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in leaves(item)]
    if hasattr(tree, "detach"):
        tree = tree.detach().numpy()
    return [np.asarray(tree, np.float64)]
