"""What becomes of a trace: run op by op when it is new, compiled as a whole when it comes again.

    >>> explain()
    {'recorded': 0, 'cold': 0, 'compiled': 0, 'replayed': 0}
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from itertools import count
from typing import Protocol

import numpy as np

from ...compiler import watch
from ...compiler.ir.graph import Builder, Graph, Value, Where, replay
from ...compiler.ir.text import show
from .cells import Cell
from .engine import Kernel, compile_graph
from .fragments import Fragment

Step = tuple[Fragment, list[int], int]
"""A fragment, the numbers of its arguments, and the number of its first result."""

class Place(Protocol):
    """What can tell a line of the program when it is asked."""

    @property
    def where(self) -> Where: ...


KEPT = 256
"""How many compiled traces are kept; the one unused for longest goes first."""

SEEN = 4096
"""How many traces are remembered, by their hashes, as seen once."""

Key = tuple[tuple[int, ...], tuple[int, ...]]

_plans: dict[Key, Kernel] = {}
_seen: dict[int, None] = {}
_lock = threading.Lock()
_counts = {"recorded": 0, "cold": 0, "compiled": 0, "replayed": 0}


def explain() -> dict[str, int]:
    """How many operations were recorded, and how many traces ran cold, were compiled, were replayed."""
    return dict(_counts)


def run(
    key: list[int],
    inputs: Sequence[tuple[int, Cell]],
    steps: Sequence[Step],
    live: tuple[int, ...],
    places: Sequence[Place],
) -> list[np.ndarray]:
    """The arrays of the values numbered `live`."""
    _counts["recorded"] += len(steps)
    whole = (tuple(key), live)
    mark = hash(whole)
    with _lock:
        plan = _plans.pop(whole, None)
        if plan is None and mark in _seen and len(steps) > 1:
            del _seen[mark]
            plan = _compiled(trace_graph(inputs, steps, live, [p.where for p in places]), steps, live)
            _counts["compiled"] += 1
        elif plan is not None:
            _counts["replayed"] += 1
        if plan is None:
            _bound(_seen, SEEN)
            _seen[mark] = None
        else:
            _bound(_plans, KEPT)
            _plans[whole] = plan
    if plan is None:
        _counts["cold"] += 1
        return _run_cold([(n, _array(c)) for n, c in inputs], steps, live)
    return plan.run([_array(c) for _, c in inputs])


def _compiled(graph: Graph, steps: Sequence[Step], live: tuple[int, ...]) -> Kernel:
    """The trace's kernel, or if there is an error in the compiler what runs it op by op."""
    watch.show("graph", lambda: show(graph), graph.name)
    try:
        return compile_graph(graph)
    except Exception as error:
        where = next((f" (first operation: {op.where})" for op in graph.body if op.where), "")
        warnings.warn(
            f"a trace of {len(steps)} Tensor operations{where} could not be compiled and runs op by op;"
            f" please report this bug: {type(error).__name__}: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return Interpreted(list(steps), live)


class Interpreted:
    """A trace that runs op by op, though it is known."""

    def __init__(self, steps: Sequence[Step], live: tuple[int, ...]) -> None:
        self.steps, self.live = steps, live

    def run(self, arrays: Sequence[np.ndarray], /) -> list[np.ndarray]:
        made = {first + k for f, _, first in self.steps for k in range(len(f.results))}
        numbers = (n for n in count() if n not in made)
        return _run_cold(list(zip(numbers, arrays, strict=False)), self.steps, self.live)


def _bound(table: dict, size: int) -> None:
    while len(table) >= size:
        del table[next(iter(table))]


def _array(cell: Cell) -> np.ndarray:
    assert cell.array is not None
    return cell.array


def _run_cold(
    inputs: Sequence[tuple[int, np.ndarray]], steps: Sequence[Step], live: tuple[int, ...]
) -> list[np.ndarray]:
    """Run each fragment by itself, dropping values after their last use."""
    values = dict(inputs)
    last = dict.fromkeys(live, len(steps))
    drop: list[list[int]] = [[] for _ in steps]
    for n in range(len(steps) - 1, -1, -1):
        for number in steps[n][1]:
            if number not in last:
                last[number] = n
                drop[n].append(number)
    for (fragment, numbers, first), unused in zip(steps, drop, strict=True):
        made = fragment.run([values[k] for k in numbers])
        values.update(enumerate(made, first))
        for number in unused:
            del values[number]
    return [values[k] for k in live]


def trace_graph(
    inputs: Sequence[tuple[int, Cell]],
    steps: Sequence[Step],
    live: tuple[int, ...],
    wheres: Sequence[Where] | None = None,
) -> Graph:
    """The whole trace as one graph from its inputs to the values numbered `live`."""
    b = Builder("trace", [cell.kind.type for _, cell in inputs])
    values: dict[int, Value] = {n: p for (n, _), p in zip(inputs, b.params, strict=True)}
    for n, (fragment, numbers, first) in enumerate(steps):
        b.where = wheres[n] if wheres else None
        env = replay(fragment.graph, b, [values[k] for k in numbers], share=False)  # it may stand twice
        values.update(enumerate([env[r] for r in fragment.graph.results], first))
    return b.finish([values[k] for k in live])
