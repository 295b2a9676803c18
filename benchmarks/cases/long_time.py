"""A hundred states over a hundred thousand steps, whose gradient may only take 50 MB: what kept states save, and cost.

Every run is a process of its own: `child.py long_time WAY [steps]` calls the compiled gradient for ten steps, then for
all, and tells how much the memory of the process has grown at most in between. Linux says so, others don't.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case

from cases import cold
from pullback import value_and_grad

STEPS, STATES, DT = 100_000, 100, 0.01
LIMIT = 50_000_000
STATUS = Path("/proc/self/status")
Result = tuple[float, list[float]]


def settled(u, drive, rate, steps):
    """Cells on a ring, each with two states that it likes, driven and coupled to its neighbours."""
    for _ in range(steps):
        around = np.roll(u, 1) + np.roll(u, -1) - 2 * u
        u = u + DT * (rate * around + u - u * u * u + drive)
    return np.sum(u * u)


def by_hand(u, drive, rate, steps):
    kept = np.empty((steps, len(u)))
    for k in range(steps):
        kept[k] = u
        u = u + DT * (rate * (np.roll(u, 1) + np.roll(u, -1) - 2 * u) + u - u * u * u + drive)
    value, back, to_drive, to_rate = np.sum(u * u), 2 * u, np.zeros_like(u), 0.0
    for u in kept[::-1]:
        to_drive += back
        to_rate += back @ (np.roll(u, 1) + np.roll(u, -1) - 2 * u)
        around = np.roll(back, -1) + np.roll(back, 1) - 2 * back
        back = back + DT * (rate * around + back * (1 - 3 * u * u))
    return value, (back, DT * to_drive, DT * to_rate)


def problem() -> tuple[Any, ...]:
    start, drive = np.random.default_rng(0).normal(size=(2, STATES))
    return start.copy(), 0.3 * drive, 0.5


def peak() -> int:
    """The most memory that this process has had, in bytes; and from now on counted anew."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="utf-8").splitlines())
    (STATUS.parent / "clear_refs").write_text("5", encoding="utf-8")
    return 1024 * int(lines["VmHWM"].split()[0])


def measure(way: str, steps: int) -> tuple[Result, int]:
    """Seconds and the sums of the gradient's arrays; then how many bytes the call has taken at most."""
    run: Any = by_hand
    if way != "NumPy":
        run = value_and_grad(settled, (0, 1, 2), max_memory=None if way == "unlimited" else LIMIT)
    given = problem()
    run(*given, 10)
    peak()
    before = peak()
    begin = time.perf_counter()
    value, slopes = run(*given, steps)
    spent = time.perf_counter() - begin
    return (spent, [float(value), *(float(np.sum(np.abs(slope))) for slope in slopes)]), peak() - before


def cases(size: str) -> Iterator[Case]:
    steps = 200 if size == "tiny" else STEPS

    def runs(part: str) -> dict[str, Any]:
        names = {"pullback": "limited", "pullback, no limit": "unlimited"}
        names |= {"NumPy": "NumPy"} if size == "tiny" else {}
        return {name: cold.in_a_process("long_time", way, 120.0, str(steps), part) for name, way in names.items()}

    name = f"{steps:,} steps of {STATES} states, gradient"
    goals = (("pullback, no limit", 1 / 2.5),)
    yield Case(f"{name} in 50 MB", runs("seconds"), "ms", 1e3, goals, agree=1e-8, seconds=True)
    if size != "tiny" and STATUS.exists():
        goals = (("at most", LIMIT / 1e6),)
        yield Case(f"{name}: most memory", runs("bytes"), "MB", 1e-6, goals, agree=1e-8, seconds=True)
