"""What recording costs: an operation of a chain that was recorded before, and a chain of 100,000 of them.

The long chain runs in a process of its own, `child.py tensor_chain MODULE OPERATIONS`, which tells the seconds and how
much its memory has grown at most since it had run a short chain. Linux says so, others don't.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import peers
import programs
from harness import Case

from cases import cold, long_time

RECORDED, TURNS, LONG = 100, 20, 100_000


def seconds_an_operation(x: Any, number: Callable[[Any], float]) -> Callable[[], list[float]]:
    """A way: the seconds in which one operation of a chain is recorded, or done where nothing is recorded."""

    def run() -> list[float]:
        spent = []
        for _ in range(TURNS):
            y = x
            begin = time.perf_counter()
            for _ in range(RECORDED // 2):
                y = y * x
                y = y + x
            spent.append(time.perf_counter() - begin)
            last = number(y)
        return [min(spent) / RECORDED, last]

    return run


def recording(requires_grad: bool) -> Case:
    """Two operations on a vector of 8, over and over; what was recorded is read, and so run, after each chain."""
    start = np.linspace(0.1, 0.9, 8, dtype=np.float32)
    ways = {}
    for name in ("pullback", "torch"):
        if name == "pullback" or peers.torch():
            x = importlib.import_module(name).tensor(start, requires_grad=requires_grad)
            ways[name] = seconds_an_operation(x, lambda y: y.sum().item())
    if not requires_grad:
        ways["NumPy"] = seconds_an_operation(start, lambda y: float(y.sum()))
    name = "Tensors: recording an operation" + (" that requires a gradient" if requires_grad else "")
    return Case(name, ways, "ns", 1e9, (("at most", 60.0),), agree=1e-4, seconds=True)


def measure(name: str, operations: int) -> tuple[float, list[float], int]:
    """Of a chain with its gradient: seconds, value and slope, and bytes by which memory has grown at most."""
    module = importlib.import_module(name)
    if name == "torch":
        module.set_num_threads(1)
    for _ in range(3):
        programs.chain(module, 10)
    counted = long_time.STATUS.exists()
    if counted:
        long_time.peak()
    before = long_time.peak() if counted else 0
    begin = time.perf_counter()
    result = programs.chain(module, operations)
    spent = time.perf_counter() - begin
    return spent, list(result), long_time.peak() - before if counted else 0


def cases(size: str) -> Iterator[Case]:
    yield recording(requires_grad=False)
    yield recording(requires_grad=True)
    operations = 2000 if size == "tiny" else LONG

    def runs(part: str) -> dict[str, Any]:
        names = ["pullback", *(["torch"] if peers.torch() else [])]
        return {name: cold.in_a_process("tensor_chain", name, 120.0, str(operations), part) for name in names}

    title, goals = f"Tensors: a chain of {operations:,} operations and its gradient", (("at most", 3000.0),)
    yield Case(title, runs("seconds"), "ms", 1e3, goals, agree=1e-3, seconds=True)
    if size != "tiny" and long_time.STATUS.exists():
        goals = (("at most", 150.0),)
        yield Case(f"{title}: most memory", runs("bytes"), "MB", 1e-6, goals, agree=1e-3, seconds=True)
