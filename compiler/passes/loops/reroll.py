"""Re-rolling: repeated stretches of a straight graph become scans, so that compiling it takes the time of one round.

    y = 1.0                                     %n: i64[] = const 800
    for k in range(800):            becomes     %r: f64[] = scan %n, %one, %x {carries=1}
        y = y + 0.01 * sin(y * x)                 (%i, %y, %x) { ... one round ... }

The bits are the same, because the operations are, in the same order. Where rounds differ in the lengths of their arrays
only, these get one length first (`evening`). It is done before differentiating, so that the
backward sweep is a loop too; and again within the rounds and on what is left, for loops in loops.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.graph import Builder, Graph, Op, Value
from ...ops.shape import concatenate, reshape, slice_
from ..cleanup import dead
from ..packing import unpacked
from .evening import evened
from .lengths import LEAST, length
from .repeats import Stretch, Tape, stretches
from .rolling import Rolled, Rolling, Unlike

SHORTER = 1.1
"""How many times fewer operations a graph must have that does more work with each."""

AGAIN = 8
"""How often what is left is searched once more."""


def reroll(graph: Graph, least: int = LEAST) -> tuple[Graph, list[np.ndarray]]:
    """The graph with scans for its repeated stretches, and the values of its new last parameters."""
    tables: list[Any] = []
    graph = unpacked(graph)
    made = _rolled(graph, least, tables)
    even = evened(made) if length(made) >= least else None
    if even is not None:
        more = list(tables)
        other = _rolled(dead(even), least, more)
        if SHORTER * length(other) <= length(made):
            made, tables = other, more
    params = (*made.params, *(holder for holder, _ in tables))
    return Graph(made.name, params, made.body, made.results), [known for _, known in tables]


def _rolled(graph: Graph, least: int, tables: list[Any] | None) -> Graph:
    for _ in range(AGAIN):
        if length(graph) < least:
            break
        made = _once(graph, least, tables)
        if made is None:
            break
        graph = dead(made)
    return graph


def _once(graph: Graph, least: int, tables: list[Any] | None) -> Graph | None:
    """The graph with its longest repeated stretches rolled; None if there are none."""
    tape = Tape(graph)
    rollings = [r for each in stretches(tape, least) if (r := _rolling(tape, each, tables)) is not None]
    if not rollings:
        return None
    for each in rollings:
        each.several = len(rollings) > 1
    return _Remaking(tape, rollings, least).graph()


def _rolling(tape: Tape, at: Stretch, tables: list[Any] | None) -> Rolling | None:
    """How a stretch is rolled: without its first rounds if they are not like the others."""
    for skipped in range(3):
        try:
            return Rolling(tape, at._replace(start=at.start + skipped * at.period, rounds=at.rounds - skipped), tables)
        except Unlike:
            continue
    return None


class _Remaking:
    """A graph while its stretches are replaced."""

    def __init__(self, tape: Tape, rollings: Sequence[Rolling], least: int) -> None:
        self.tape, self.rollings, self.least = tape, rollings, least
        self.b = Builder(tape.graph.name)
        self.b.params = tape.graph.params
        self.env: dict[Value, Value] = {}
        self.stacked: dict[Value, tuple[Value, int]] = {}

    def graph(self) -> Graph:
        """The graph that is made."""
        lines, used = self.tape.lines, self._used()
        at = 0
        for k, rolling in enumerate(self.rollings):
            self._straight(lines[at : rolling.at.start])
            self._roll(rolling, used[k])
            at = rolling.at.end
        self._straight(lines[at:])
        return self.b.finish([self.find(r) for r in self.tape.graph.results])

    def _used(self) -> list[dict[tuple[int, int], set[int]]]:
        """For each stretch: the rounds whose results are read outside it, by line and result."""
        used: list[dict[tuple[int, int], set[int]]] = [{} for _ in self.rollings]
        read, begin = list(self.tape.graph.results), 0
        for rolling in self.rollings:
            read += [a for op in self.tape.lines[begin : rolling.at.start] for a in op.args]
            read += rolling.reads
            begin = rolling.at.end
        read += [a for op in self.tape.lines[begin:] for a in op.args]
        starts = [rolling.at.start for rolling in self.rollings]
        for value in dict.fromkeys(read):
            line, number = self.tape.place.get(self.tape.operand(value).root, (-1, 0))
            k = bisect_right(starts, line) - 1
            if k >= 0 and line < self.rollings[k].at.end:
                at = self.rollings[k].at
                round, q = divmod(line - at.start, at.period)
                used[k].setdefault((q, number), set()).add(round)
        return used

    def _roll(self, rolling: Rolling, used: dict[tuple[int, int], set[int]]) -> None:
        made: Rolled = rolling.emit(self.b, self.find, used)
        self.env |= made.final
        self.stacked |= made.stacked
        op = self.b.body[-1]
        region = _rolled(op.regions[0], self.least, None)
        if region is not op.regions[0]:
            self.b.body[-1] = Op(op.prim, op.args, op.attrs, (region,), op.results, op.where)

    def _straight(self, lines: Sequence[Op]) -> None:
        for op in lines:
            if op.prim is concatenate:
                self.env[op.results[0]] = self._joined(op)
            else:
                args = tuple([self.find(a) for a in op.args])
                self.b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))

    def find(self, value: Value) -> Value:
        """What stands for a value; constants and views are made where they are first asked for."""
        found = self.env.get(value)
        if found is None:
            found = self.env[value] = self._made(value)
        return found

    def _made(self, value: Value) -> Value:
        if value in self.stacked:
            stack, round = self.stacked[value]
            return self._rows(stack, round, 1, 1, value.type.shape)
        op = self.tape.makers.get(value)
        if op is None:
            return value
        args = tuple([self.find(a) for a in op.args])
        return self.b.append(op if args == op.args else Op(op.prim, args, op.attrs, (), op.results, op.where))[0]

    def _rows(self, stack: Value, first: int, count: int, step: int, shape: tuple[Any, ...]) -> Value:
        """Some rounds of a stack, in another shape."""
        whole = stack.type.static_shape()
        if count < whole[0] or step != 1:
            start, steps = (first, *[0] * (len(whole) - 1)), (step, *[1] * (len(whole) - 1))
            stack = slice_(self.b, stack, start=start, step=steps, shape=(count, *whole[1:]))
        return stack if stack.type.shape == shape else reshape(self.b, stack, shape=shape)

    # ---- lists of results put together

    def _joined(self, op: Op) -> Value:
        """A concatenation; results of consecutive rounds are one part of the stack."""
        parts: list[Value] = []
        self.b.where = op.where
        args, k = op.args, 0
        while k < len(args):
            stack, round = self._row(args[k], op.attrs["axis"])
            end, step = k + 1, 0
            while stack is not None and end < len(args):
                other, later = self._row(args[end], op.attrs["axis"])
                step = step or later - round
                if other is not stack or later != round + step * (end - k) or not self._steps(step, args[k], args[end]):
                    break
                end += 1
            if stack is None or end - k < 2:
                parts.append(self.find(args[k]))
            else:
                first, *more = args[k].type.static_shape()
                shape = ((end - k) * first, *more)
                parts.append(self._rows(stack, round, end - k, step, shape))
            k = end
        return parts[0] if len(parts) == 1 else concatenate(self.b, *parts, **op.attrs)

    def _steps(self, step: int, a: Value, b: Value) -> bool:
        return step in (1, -1) and a.type == b.type and (step == 1 or a.type.shape[0] == 1)

    def _row(self, value: Value, axis: int) -> tuple[Value | None, int]:
        """The stack and the round of which a value is all, in whatever shape."""
        root, views = self.tape.operand(value)
        if axis != 0 or root not in self.stacked or any(v.prim is not reshape for v in views):
            return None, 0
        return self.stacked[root]


__all__ = ["reroll"]
