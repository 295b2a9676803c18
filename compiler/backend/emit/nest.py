"""One nest of a loop program as LLVM text.

The vector axis is walked in turns of `unroll` vectors; what is left over is one more turn, whose last vector is
masked.  The tile axis is walked in turns of `rows` steps, and one shorter turn.  A turn makes one *cell* for each
of its rows and vectors.  A fold along the vector axis keeps interleaved partial results, as many whatever the
width of the vectors, and joins them in a fixed tree, so its bits depend on the sizes alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.measure import Extent
from ...loops import Axis, Buffer
from ...lowering.nests.chunks import in_turns
from ...lowering.program import Nest
from ..text.levels import LevelWriter
from ..text.registers import Reg
from . import folds as folding
from .element import Elements
from .folds import Folds
from .loops import EVERYTHING, REST, Body, Span, Stop, look, loop_over
from .memory import Cell, Row


class Failed(NamedTuple):
    """What an assertion found: whether it failed, and the element to report."""

    flag: Reg
    report: Reg


FIRST = Cell(0)


def emit_nest(
    w: LevelWriter, pointers: dict[Buffer, str], nest: Nest, span: Span | None = EVERYTHING, stop: Stop | None = None
) -> list[Failed]:
    """Write a nest, or a span of its outermost axis; what its assertions found."""
    return NestEmitter(w, pointers, nest, Row(base=w.level), span=span, stop=stop).emit([passed(w)] * len(nest.asserts))


def possible(count: Any) -> bool:
    """Whether there may be steps to make: their number is told, or it is not zero."""
    return isinstance(count, Extent) or bool(count)


def passed(w: LevelWriter) -> Failed:
    return Failed(w.number(False, "bool"), w.number(0, "i64"))


def flat(checks: list[Failed]) -> list[Reg]:
    return [*(c.flag for c in checks), *(c.report for c in checks)]


def pairs(carries: list[Reg]) -> list[Failed]:
    n = len(carries) // 2
    return [Failed(f, r) for f, r in zip(carries[:n], carries[n:], strict=True)]


class NestEmitter(Folds):
    """Writes one nest; the accumulators travel through its loops as carries."""

    def __init__(
        self,
        w: LevelWriter,
        pointers: dict[Buffer, str],
        nest: Nest,
        row: Row,
        cell: Cell = FIRST,
        span: Span | None = EVERYTHING,
        stop: Stop | None = None,
    ) -> None:
        self.w, self.nest, self.span, self.stop = w, nest, span, stop
        self.elements = Elements(w, pointers, nest, row)
        self.straight, self.base = row.registers is not None, row.base
        self.kept = len(nest.axes) - nest.reduced
        self.vector_at = nest.axes.index(nest.vector) if nest.vector in nest.axes else -1
        self.folds_lanes = self.vector_at >= self.kept
        self.rows: Sequence[int] = [0]
        self.vectors = [cell]
        self.partials = self._partials()

    def _partials(self) -> int:
        """Accumulators per fold and row along a folded axis of vectors, or of single steps that are written out."""
        if self.straight and self.nest.folds:
            return min(self.nest.partials, math.prod(a.extent for a in self.nest.axes[self.kept :]))
        if not self.folds_lanes:
            return 1
        assert self.nest.vector is not None
        if isinstance(self.nest.vector.extent, Extent):
            return self.nest.partials // self.nest.width
        vectors = -(-self.nest.vector.extent // self.nest.width)
        return min(self.nest.partials // self.nest.width, vectors)

    def emit(self, checks: list[Failed]) -> list[Failed]:
        """Write the nest; what its assertions and those before it found."""
        return pairs(self._axis(0, flat(checks), []))

    def _cells(self) -> list[Cell]:
        """The cells of the turn: each vector in each row."""
        return [Cell(v.start, v.count, row) for row in self.rows for v in self.vectors]

    # ---- axes.  `checks` are the assertions' carries, `folds` the accumulators' once they are started

    def _axis(self, at: int, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        if at == self.kept and self.nest.folds and not folds:
            return self._fold(at, checks)
        if at == len(self.nest.axes):
            return self._turn(checks, folds)
        axis = self.nest.axes[at]
        if axis is self.nest.vector and self.straight:  # it is one vector
            self.elements.write_out(axis, 0, self.w.level)
            self.vectors = [FIRST]
            return self._axis(at + 1, checks, folds)
        if axis is self.nest.vector:
            return self._vector_axis(at, axis, checks, folds)
        if axis is self.nest.tile:
            return self._tile_axis(at, axis, checks)
        if self.straight or (type(axis.extent) is int and axis.extent == 1):
            return self._written_out(at, axis, checks, folds)

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            self.elements.bind(axis, index, self.w.level)
            n = len(checks)
            return self._axis(at + 1, carries[:n], carries[n:])

        carries = [*checks, *folds]
        return carries if self._span(at) is REST else self._loop(at, axis.extent, 1, carries, body)

    def _loop(self, at: int, whole: Any, step: int, carries: list[Reg], body: Body) -> list[Reg]:
        """The loop over an axis that is made in whole turns."""
        return loop_over(self.w, whole, step, carries, body, self._span(at), self._stop_at(at))

    def _stop_at(self, at: int) -> Stop | None:
        """Where to look for signals, if it is along this axis."""
        pause = None if self.stop is None else self.stop.pause
        return self.stop if pause is not None and pause.axis is self.nest.axes[at] else None

    def _span(self, at: int) -> Span | None:
        """Which steps of the axis are wanted."""
        return self.span if at == 0 else EVERYTHING

    def _written_out(self, at: int, axis: Axis, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        """Every step of the axis, one after the other."""
        n, carries = len(checks), [*checks, *folds]
        for step in range(axis.extent):
            self.elements.write_out(axis, step, self.w.level)
            carries = self._axis(at + 1, carries[:n], carries[n:])
        return carries

    def _tile_axis(self, at: int, axis: Axis, checks: list[Reg]) -> list[Reg]:
        """Whole tiles in a loop, then the rows that are left over."""
        rows = self.nest.rows
        whole = axis.extent // rows

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            self.elements.bind(axis, index, self.w.level)
            self._these(range(rows))
            return self._axis(at + 1, carries, [])

        span = self._span(at)
        if possible(whole) and span is not REST:
            checks = self._loop(at, whole * rows, rows, checks, body)
        if possible(axis.extent % rows) and span in (EVERYTHING, REST):
            if isinstance(axis.extent, Extent):
                return self._single_rows(at, axis, whole * rows, checks)
            self.elements.bind(axis, self.w.number(0, "i64"), self.base)
            self._these(range(whole * rows, axis.extent))
            checks = self._axis(at + 1, checks, [])
        return checks

    def _these(self, rows: Sequence[int]) -> None:
        """A turn of the tile axis makes these steps."""
        self.rows = self.elements.rows = rows

    def _single_rows(self, at: int, axis: Axis, start: Any, checks: list[Reg]) -> list[Reg]:
        """The rows that are left over, one by one, where their number is told."""

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            self.elements.bind(axis, self.w.add(index, self.w.number(start, "i64")), self.w.level)
            self._these([0])
            return self._axis(at + 1, carries, [])

        return self.w.loop(axis.extent - start, 1, checks, body, empty=True)

    def _vector_axis(self, at: int, axis: Axis, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        width, unroll = self.nest.width, self._unroll(axis)
        turns = axis.extent if isinstance(axis.extent, Extent) else in_turns(self.nest, axis)
        whole, span = turns // (width * unroll), self._span(at)
        n = len(checks)

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            self.elements.bind(axis, index, self.w.level)
            self.vectors = [Cell(u * width) for u in range(unroll)]
            out = self._axis(at + 1, carries[:n], carries[n:])
            return [*out[:n], *self._rotated(out[n:], unroll)]

        if folds and self._in_parts(axis):
            return self._parts_of(at, axis, checks, folds, body)
        if possible(whole) and span is not REST:
            made = self._loop(at, whole * width * unroll, width * unroll, [*checks, *folds], body)
            checks, folds = made[:n], self._rotated(made[n:], -whole * unroll)
        return self._left_over(at, axis, checks, folds)

    def _left_over(self, at: int, axis: Axis, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        """The elements of the vector axis that fill no turn."""
        width, unroll, span = self.nest.width, self._unroll(axis), self._span(at)
        vectors, told, n = -(-axis.extent // width), isinstance(axis.extent, Extent), len(checks)
        turns = axis.extent if told else in_turns(self.nest, axis)
        whole = turns // (width * unroll)
        if told:
            return self._masked_turn(at, axis, whole * unroll, unroll, checks, folds)
        rest = vectors - whole * unroll
        if not rest or span not in (EVERYTHING, REST):
            return [*checks, *folds]
        start = whole * unroll
        self.vectors = [Cell((start + t) * width) for t in range(rest)]
        if axis.extent % width:
            self.vectors[-1] = Cell((vectors - 1) * width, axis.extent % width)
        self.elements.bind(axis, self.w.number(0, "i64"), self.base)
        shifted = self._rotated(folds, start)
        out = self._axis(at + 1, checks, shifted)
        return [*out[:n], *self._rotated(out[n:], -start)]

    def _unroll(self, axis: Axis) -> int:
        """Vectors in a turn: if their number is told, so many that every turn begins with the first accumulator."""
        unroll = self.nest.unroll
        told = isinstance(axis.extent, Extent) and self.folds_lanes
        return -(-unroll // self.partials) * self.partials if told else unroll

    def _masked_turn(
        self, at: int, axis: Axis, start: Any, unroll: int, checks: list[Reg], folds: list[Reg]
    ) -> list[Reg]:
        """What is left over after `start` vectors, its number being told: a whole turn, as far as lanes go."""
        if self._span(at) not in (EVERYTHING, REST):
            return [*checks, *folds]
        width, w = self.nest.width, self.w
        first = w.number(start * width, "i64")
        self.vectors = [
            Cell(u * width, w.number(axis.extent - (start + u) * width, "i64")) for u in range(unroll)
        ]
        self.elements.bind(axis, first, self.base)
        n = len(checks)
        out = self._axis(at + 1, checks, self._rotated(folds, start))
        return [*out[:n], *self._rotated(out[n:], -start)]

    def _rotated(self, folds: list[Reg], by: int) -> list[Reg]:
        """Bring the accumulator of the next vector to the front of each row's partials."""
        if not self.folds_lanes or not folds:
            return folds
        p, out = self.partials, []
        for k in range(0, len(folds), p):
            mine = folds[k : k + p]
            shift = by % p  # of a number that is told, only zero will do
            out.extend(mine[shift:] + mine[:shift])
        return out

    # ---- folds

    def _parts_of(self, at: int, axis: Axis, checks: list[Reg], folds: list[Reg], body: Body) -> list[Reg]:
        """The axis in parts of `PART` elements: each has accumulators of its own, which are added to those given.

        So an accumulator takes some of many terms, and its rounding errors are theirs. What is left over is one more
        part, made in turns and then masked, so that it does not matter how long turns are.
        """
        w, n, step = self.w, len(checks), self.nest.width * self._unroll(axis)
        assert folding.PART % step == 0
        stop = self._stop_at(at)
        full = axis.extent // folding.PART
        turns = axis.extent if isinstance(axis.extent, Extent) else in_turns(self.nest, axis)
        end = turns // step * step

        def part(index: Reg, carries: list[Reg]) -> list[Reg]:
            until = w.add(index, w.number(folding.PART, "i64"))
            made = w.loop(until, step, [*carries[:n], *self._starts()], body, index)
            if stop is not None:
                look(w, stop.leave)
            return [*made[:n], *self._added(carries[n:], made[n:])]

        out = [*checks, *folds]
        if possible(full):
            out = w.loop(full * folding.PART, folding.PART, out, part, empty=isinstance(full, Extent))
        checks, folds, rest = out[:n], out[n:], self._starts()
        if isinstance(axis.extent, Extent) or end > full * folding.PART:
            begin = w.number(full * folding.PART, "i64")
            made = w.loop(end, step, [*checks, *rest], body, begin, empty=isinstance(axis.extent, Extent))
            checks, rest = made[:n], made[n:]
        out = self._left_over(at, axis, checks, self._rotated(rest, -(end // self.nest.width)))
        return [*out[:n], *self._added(folds, out[n:])]

    def _fold(self, at: int, checks: list[Reg]) -> list[Reg]:
        """Start the accumulators, run the folded axes, store what they hold and what is made of it."""
        vectors = self.vectors
        count = self._per_row * len(self.rows)
        n = len(checks)
        out = self._axis(at, checks, self._starts())
        self.vectors = [Cell(0)] if self.folds_lanes else vectors
        folds = out[n:]
        for fold in self.nest.folds:
            parts = 2 if fold.kind == "argmax" else 1
            mine, folds = folds[: parts * count], folds[parts * count :]
            self._finish(fold, [mine[k * count : (k + 1) * count] for k in range(parts)])
        for cell in self._cells():
            for store in self.nest.after:
                self.elements.store(store, cell)
                self.elements.hold(store.buffer, store.offset, cell, self.elements.make(store.value, cell))
        return out[:n]

    def _turn(self, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        """The innermost body: every cell's stores, assertions and folds."""
        checks, folds = list(checks), list(folds)
        for row, at_row in enumerate(self.rows):
            for u, vector in enumerate(self.vectors):
                cell = Cell(vector.start, vector.count, at_row)
                for store in self.nest.stores:
                    self.elements.store(store, cell)
                self._assert(checks, cell)
                self._accumulate(folds, row * self._per_row + (self._step_of_fold() or u) % self._per_row, cell)
        return [*checks, *folds]

    def _step_of_fold(self) -> int:
        """Where a fold that is written out stands, if it goes into several partial results."""
        return self.elements.written_out[self.nest.axes[-1]] if self.straight and self.partials > 1 else 0

    def _assert(self, checks: list[Reg], cell: Cell) -> None:
        w, n = self.w, len(self.nest.asserts)
        for k, a in enumerate(self.nest.asserts):
            fails, report = (self.elements.make(e, cell) for e in (a.fails, a.report))
            fails = self.elements.masked(fails, cell, w.number(False, "bool", fails.width))
            checks[n + k] = w.select(checks[k], checks[n + k], self._first_failing(fails, report))
            checks[k] = w.or_(checks[k], w.any(fails))

    def _first_failing(self, fails: Reg, report: Reg) -> Reg:
        w = self.w
        first = w.number(0, report.dtype)
        for lane in reversed(range(fails.width)):
            one = w.extract(report, lane) if report.width > 1 else report
            first = w.select(w.extract(fails, lane), one, first)
        return first
