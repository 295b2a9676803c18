"""A function and the arguments of a call in; what each of its lines costs out, in the value and in the gradient.

    >>> print(slope.profile(w, x))
    profile of loss: a call takes 1.31 µs
      sweep       µs   flops   bytes  level
      value     0.62   8,210  41,016      2
      gradient  1.12  24,610  82,040      2
      line       value µs  gradient µs   flops   bytes
      loss.py:5      0.41         0.66  16,384  41,000  y = x @ w

What is measured: the call, and each sweep as a whole, in code of the better level. What is counted, on the graph that
is compiled: how often each operation runs for these arguments, its flops, and the bytes that it reads and writes. The
time of a line is its share of the measured time, by the compiler's estimate for its operations (`backend.tiers`).
"""

from __future__ import annotations

import linecache
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.backend.tiers import nanoseconds, touched
from ...compiler.ir.graph import Graph, Op, Value, Where
from ...compiler.ir.types import Type
from ...compiler.ops.contract import contract
from ...compiler.ops.control import call, scan
from ...compiler.ops.convolve import correlate
from ...compiler.ops.elementwise import Elementwise
from ...compiler.ops.linalg.lapack import Routine
from ...compiler.ops.reduce import Fold
from ...compiler.ops.source import const
from ..derivatives.blame import MOST, Step, Walk

ENOUGH, MOST_CALLS = 0.1, 10_000
"""Seconds and calls after which a time is taken as measured."""

LONG = 10.0
"""Seconds of a call that is not made again."""


class LineCost(NamedTuple):
    """What the operations of one line cost in one sweep.

    where       the user's line; None for those of no line
    operations  how many run, those in loops as often as they do
    flops       of numbers with a point: a product and a sum count one each, an elementary function what it costs
    bytes       that they read and write, if each went to memory: what is fused stays in registers
    seconds     their share of the measured time
    """

    where: Where | None
    operations: int
    flops: int
    bytes: int
    seconds: float


class Sweep(NamedTuple):
    """One compiled graph: its measured time, and what is counted of its lines, the dearest first.

    name     value, or gradient: that is what a gradient function computes, the value included where it is needed
    seconds  measured, of one run
    level    of the code that ran; None if nothing is compiled
    whole    whether the rounds of its loops were all counted
    """

    name: str
    seconds: float
    level: int | None
    lines: tuple[LineCost, ...]
    whole: bool = True

    @property
    def flops(self) -> int:
        """Of all lines."""
        return sum(each.flops for each in self.lines)

    @property
    def bytes(self) -> int:
        """Of all lines."""
        return sum(each.bytes for each in self.lines)


class Profile(NamedTuple):
    """What a call costs; print it, or read its `sweeps`.

    call   seconds of a call as the user makes it, measured
    notes  what is not counted
    """

    name: str
    call: float
    sweeps: tuple[Sweep, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"profile of {self.name}: a call takes {_micro(self.call)} µs"
        rows = [["sweep", "µs", "flops", "bytes", "level"]]
        for s in self.sweeps:
            level = "-" if s.level is None else f"{s.level}"
            rows.append([s.name, _micro(s.seconds), f"{s.flops:,}", f"{s.bytes:,}", level])
        last = self.sweeps[-1]
        lines = [["line", *(f"{s.name} µs" for s in self.sweeps), "flops", "bytes", ""]]
        for each in last.lines:
            times = [next((x.seconds for x in s.lines if x.where == each.where), 0.0) for s in self.sweeps]
            source = linecache.getline(each.where.file, each.where.line).strip()[:60] if each.where else ""
            at = str(each.where) if each.where else "(none)"
            lines.append([at, *map(_micro, times), f"{each.flops:,}", f"{each.bytes:,}", source])
        said = "calls and sweeps are measured, flops and bytes counted; times of lines are shares of the measured ones"
        return "\n".join([head, *_table(rows), *_table(lines, 1), f"  {said}", *(f"  {note}" for note in self.notes)])

    __repr__ = __str__


def _micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.2f}"


def _table(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Columns, the first to the left, and the last as well if there are `left` of these."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    out = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        cells[len(cells) - left :] = list(row[len(row) - left :])
        out.append("  " + "  ".join(cells).rstrip())
    return out


class Count(NamedTuple):
    """What one operation costs, every time it runs."""

    flops: int
    bytes: int
    weight: float


def count_of(op: Op) -> Count:
    """What an operation without regions costs, by its types."""
    size = sum(elements(v.type) * v.type.numpy.itemsize for v in touched(op) if not v.type.is_tape)
    weight = nanoseconds(op)
    if op.prim is const:
        return Count(0, 0, 0.0)
    flops = _flops(op)
    return Count(flops, size, max(weight, weight * op.prim.cost / 4))


def elements(type: Type) -> int:
    """How many numbers an array has; named sizes count as one."""
    return math.prod(d if isinstance(d, int) else 1 for d in type.shape)


def _flops(op: Op) -> int:
    floats = any(v.type.is_float for v in (*op.args, *op.results))
    if not floats or not op.results:
        return 0
    made = max(elements(r.type) for r in op.results if not r.type.is_tape) if not op.results[0].type.is_tape else 0
    if op.prim is contract:
        return 2 * made * math.prod(int(op.args[0].type.static_shape()[k]) for k in op.attrs["left"])
    if op.prim is correlate:
        kernel = op.args[1].type
        return 2 * made * (elements(kernel) // max(math.prod(kernel.static_shape()[:2]), 1))
    if isinstance(op.prim, Elementwise):
        return made * op.prim.cost
    return elements(op.args[0].type) if isinstance(op.prim, Fold) else 0


def uncounted(graph: Graph) -> list[str]:
    """The names of operations whose flops nobody counts: factorisations and the like."""
    found: dict[str, None] = {}
    for op in all_of(graph):
        if isinstance(op.prim, Routine) or op.prim.opaque:
            found[str(op.attrs.get("name", op.prim.name))] = None
    return list(found)


def all_of(graph: Graph) -> Iterator[Op]:
    """The operations of a graph and its regions."""
    for op in graph.body:
        yield op
        for region in op.regions:
            yield from all_of(region)


class _Unknown(Exception):
    """How often something runs is seen only when it does."""


def times_of(graph: Graph, inputs: Sequence[np.ndarray]) -> tuple[dict[Op, int], bool]:
    """How often each operation without regions runs, and whether that is all: very long loops are not followed."""
    found: dict[Op, int] = {}
    try:
        _known(graph, 1, found, {})
        return found, True
    except _Unknown:
        found.clear()
    left = MOST
    with np.errstate(all="ignore"):
        for each in Walk(every=True).graph(graph, inputs, [True] * len(graph.params)):
            if isinstance(each, Step) and not each.op.regions:
                found[each.op] = found.get(each.op, 0) + 1
            left -= 1
            if not left:
                return found, False
    return found, True


def _known(graph: Graph, times: int, found: dict[Op, int], numbers: dict[Value, int]) -> None:
    for op in graph.body:
        if op.prim is const and not op.results[0].type.shape and not op.results[0].type.is_float:
            numbers[op.results[0]] = int(op.attrs["value"])
        if not op.regions:
            found[op] = found.get(op, 0) + times
        elif op.prim is scan and op.args[0] in numbers:
            _known(op.regions[0], times * max(numbers[op.args[0]], 0), found, {})
        elif op.prim is call:
            _known(op.regions[0], times, found, {})
        else:
            raise _Unknown


def sweep_of(name: str, graph: Graph, inputs: Sequence[np.ndarray], seconds: float, level: int | None) -> Sweep:
    """What is counted of a graph, with its measured time."""
    times, whole = times_of(graph, inputs)
    total: dict[Where | None, list[float]] = {}
    for op, n in times.items():
        cost = count_of(op)
        row = total.setdefault(op.where, [0, 0, 0, 0.0])
        for k, each in enumerate((1, cost.flops, cost.bytes, cost.weight)):
            row[k] += n * each
    weights = sum(row[3] for row in total.values()) or 1.0
    lines = [
        LineCost(where, int(row[0]), int(row[1]), int(row[2]), seconds * row[3] / weights)
        for where, row in total.items()
    ]
    return Sweep(name, seconds, level, tuple(sorted(lines, key=lambda each: -each.seconds)), whole)


def measured(run: Callable[[], Any]) -> float:
    """Seconds of one call: the best of many, or the first, which also compiles, if that takes very long."""
    begin = time.perf_counter()
    run()
    if (first := time.perf_counter() - begin) > LONG:
        return first
    best, begin, calls = math.inf, time.perf_counter(), 0
    while calls < MOST_CALLS and (calls < 3 or time.perf_counter() - begin < ENOUGH):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        calls += 1
    return best


__all__ = ["LineCost", "Profile", "Sweep", "all_of", "count_of", "measured", "sweep_of", "times_of", "uncounted"]
