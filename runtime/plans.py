"""What becomes of a trace: run op by op when it is new, compiled as a whole when it comes again.

    >>> explain()
    {'recorded': 0, 'cold': 0, 'compiled': 0, 'replayed': 0}
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from ..compiler.ir.graph import Builder, Graph, Op, Value, Where, replay
from .cells import Cell
from .engine import Kernel, compile_graph
from .fragments import Fragment

Step = tuple[Fragment, list[int], int]
"""A fragment, the numbers of its arguments, and the number of its first result."""

KEPT = 256
"""How many compiled traces are kept; the one unused for longest goes first."""

SEEN = 4096
"""How many traces are remembered as seen once."""

Key = tuple[tuple[int, ...], tuple[int, ...]]

_plans: dict[Key, Kernel] = {}
_seen: dict[Key, None] = {}
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
    wheres: Sequence[Where] | None,
) -> tuple[list[np.ndarray], bool]:
    """The arrays of the values numbered `live`, and whether the trace was known."""
    _counts["recorded"] += len(steps)
    whole = (tuple(key), live)
    with _lock:
        plan = _plans.pop(whole, None)
        if plan is None and whole in _seen and len(steps) > 1:
            plan = compile_graph(trace_graph(inputs, steps, live, wheres))
            del _seen[whole]
            _counts["compiled"] += 1
        elif plan is not None:
            _counts["replayed"] += 1
        if plan is None:
            _bound(_seen, SEEN)
            _seen[whole] = None
        else:
            _bound(_plans, KEPT)
            _plans[whole] = plan
    if plan is None:
        _counts["cold"] += 1
        return _run_cold(inputs, steps, live), False
    return plan.run([_array(c) for _, c in inputs]), True


def _bound(table: dict, size: int) -> None:
    while len(table) >= size:
        del table[next(iter(table))]


def _array(cell: Cell) -> np.ndarray:
    assert cell.array is not None
    return cell.array


def _run_cold(
    inputs: Sequence[tuple[int, Cell]], steps: Sequence[Step], live: tuple[int, ...]
) -> list[np.ndarray]:
    """Run each fragment by itself, dropping values after their last use."""
    values: dict[int, np.ndarray] = {number: _array(cell) for number, cell in inputs}
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
        env = replay(fragment.graph, b, [values[k] for k in numbers], _anew)
        values.update(enumerate([env[r] for r in fragment.graph.results], first))
    return b.finish([values[k] for k in live])


def _anew(b: Builder, op: Op, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """A fragment may stand twice in a trace: what reads nothing must not be shared between the two."""
    return None if op.args else b.emit(op.prim, **op.attrs)
