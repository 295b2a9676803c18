"""Folds of a nest: the partial results that travel through its loops, and how they are joined at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ...ir.measure import Extent, OpenExtent
from ...loops import Apply, Axis
from ...lowering.origins import stamp
from ...lowering.program import Accumulate, Nest
from ..text.levels import LevelWriter
from ..text.registers import FLOATS, Reg
from .element import Elements
from .memory import Cell

#: elements of a sum in f32 that go to one set of accumulators before these are added to others; sums of 4,000 to a
#: million take up to 1.4 % longer than without such parts, with parts of 4,096 up to 8 %
PART = 8192


class Folds(ABC):
    """The folds of one nest, for the emitter of its loops."""

    w: LevelWriter
    nest: Nest
    elements: Elements
    folds_lanes: bool
    straight: bool
    partials: int
    rows: Sequence[int]
    vectors: list[Cell]

    @abstractmethod
    def _cells(self) -> list[Cell]:
        """The cells of the turn."""

    @property
    def _per_row(self) -> int:
        """Accumulators of a fold in one row."""
        return self.partials if self.folds_lanes or self.straight else len(self.vectors)

    def _identity(self, fold: Accumulate) -> list[Reg]:
        dtype = fold.value.dtype
        width = self.nest.width if self.nest.vector is not None else 1
        least, most = _limits(dtype)
        if fold.kind == "sum":
            return [self._nothing(dtype, width)]
        if fold.kind == "min":
            return [self.w.number(most, dtype, width)]
        first = self.w.number(least, dtype, width)
        if fold.kind == "max":
            return [first]
        return [first, self.w.number(2**63 - 1, "i64", width)]

    def _nothing(self, dtype: str, width: int) -> Reg:
        """What a sum begins with: -0.0 leaves every term as it is, but the sum of no terms at all is 0.0."""
        w = self.w
        zero = w.number(-0.0 if dtype in FLOATS else 0, dtype, width)
        for axis in self.nest.axes[len(self.nest.axes) - self.nest.reduced :] if dtype in FLOATS else ():
            if isinstance(axis.extent, OpenExtent):
                no_terms = w.eq(w.number(axis.extent, "i64"), w.number(0, "i64"))
                zero = w.select(w.splat(no_terms, width), w.number(0.0, dtype, width), zero)
        return zero

    def _in_parts(self, axis: Axis) -> bool:
        """Whether sums along the axis are so long that parts of them are made first; those in f64 need none."""
        sums = [f for f in self.nest.folds if f.kind == "sum" and f.value.dtype == "f32"]
        if not sums or not self.folds_lanes or any(f.kind == "argmax" for f in self.nest.folds):
            return False
        return isinstance(axis.extent, Extent) or axis.extent > PART

    def _starts(self) -> list[Reg]:
        """Accumulators of nothing yet."""
        count = self._per_row * len(self.rows)
        return [start for fold in self.nest.folds for start in self._identity(fold) for _ in range(count)]

    def _added(self, folds: list[Reg], more: list[Reg]) -> list[Reg]:
        """Accumulators joined with others of the same turn."""
        count = self._per_row * len(self.rows)
        kinds = [fold.kind for fold in self.nest.folds for _ in range(count)]
        return [self.w.combine(kind, a, b) for kind, a, b in zip(kinds, folds, more, strict=True)]

    def _accumulate(self, folds: list[Reg], slot: int, cell: Cell) -> None:
        """Fold the elements of one cell into the accumulators at `slot` of each fold."""
        count = self._per_row * len(self.rows)
        for fold in self.nest.folds:
            if fold.kind == "argmax":
                assert fold.position is not None
                value, here = (self.elements.wide(e, cell) for e in (fold.value, fold.position))
                pair = (folds[slot], folds[slot + count])
                folds[slot], folds[slot + count] = self._better(pair, (value, here), cell)
                slot += 2 * count
                continue
            made = self._step(fold, folds[slot], cell)
            stamp(self.w.lines, made.text, fold.value)
            folds[slot] = self.elements.masked(made, cell, folds[slot]) if self.folds_lanes else made
            slot += count

    def _step(self, fold: Accumulate, so_far: Reg, cell: Cell) -> Reg:
        """One step of a fold; a product is summed with one rounding where the CPU can."""
        e = fold.value
        if fold.kind == "sum" and so_far.text == self.w.number(-0.0, so_far.dtype, so_far.width).text:
            return self.elements.wide(e, cell)  # -0.0 + x is x
        if fold.kind == "sum" and isinstance(e, Apply) and e.spelling == "mul" and so_far.dtype in FLOATS:
            a, b = (self.elements.wide(x, cell) for x in e.args)
            return self.w.muladd(a, b, so_far)
        return self.w.combine(fold.kind, so_far, self.elements.wide(e, cell))

    def _better(self, a: tuple[Reg, Reg], b: tuple[Reg, Reg], cell: Cell) -> tuple[Reg, Reg]:
        wins = larger_first(self.w, a, b)
        wins = self.elements.masked(wins, cell, self.w.number(False, "bool", wins.width))
        return self.w.select(wins, b[0], a[0]), self.w.select(wins, b[1], a[1])

    def _finish(self, fold: Accumulate, columns: list[list[Reg]]) -> None:
        """Join the partials of each cell, and keep the result for what is made of it, and in memory."""
        join: Callable[[tuple[Reg, ...], tuple[Reg, ...]], tuple[Reg, ...]]
        if fold.kind == "argmax":
            join = self._join_pairs
        else:
            join = lambda a, b: (self.w.combine(fold.kind, a[0], b[0]),)  # noqa: E731
        parts = list(zip(*columns, strict=True))
        if self.folds_lanes and fold.kind != "argmax" and len(self.rows) > 1:
            self._finish_rows(fold, columns[0])
            return
        for k, cell in enumerate(self._cells()):
            mine = parts[k * self.partials : (k + 1) * self.partials]
            if self.folds_lanes:
                made = tree(self.w, mine, self.nest.partials // self.nest.width, join)[-1]
            elif self.partials > 1:
                made = halved(mine, self.nest.partials, join)[-1]
            else:
                made = parts[k][-1]
            self.elements.hold(fold.buffer, fold.offset, cell, made)
            if fold.kept:
                self.elements.put(fold.buffer, fold.offset, made, cell)

    def _finish_rows(self, fold: Accumulate, accumulators: list[Reg]) -> None:
        """The same for several rows whose lanes are folded: they are joined together, and stored as a vector."""
        w, nest, rows = self.w, self.nest, self.rows

        def join(a: tuple[Reg, ...], b: tuple[Reg, ...]) -> tuple[Reg, ...]:
            return (w.combine(fold.kind, a[0], b[0]),)

        slots, totals = nest.partials // nest.width, []
        for k in range(len(rows)):
            mine = [(r,) for r in accumulators[k * self.partials : (k + 1) * self.partials]]
            totals.append(halved(mine, slots, join)[0])
        near = nest.tile is not None and fold.offset.factor(nest.tile) == 1
        for first in range(0, len(rows), nest.width):
            these = rows[first : first + nest.width]
            total = together(w, totals[first : first + nest.width], lambda a, b: join((a,), (b,))[0])
            if fold.kept and near and not self.elements.is_local(fold.buffer):
                self.elements.put_rows(fold.buffer, fold.offset, total, these)
            for k, row in enumerate(these):
                cell = self.vectors[0]._replace(row=row)
                if nest.after or not near or self.elements.is_local(fold.buffer):
                    made = w.extract(total, k)
                    self.elements.hold(fold.buffer, fold.offset, cell, made)
                    if fold.kept and (not near or self.elements.is_local(fold.buffer)):
                        self.elements.put(fold.buffer, fold.offset, made, cell)

    def _join_pairs(self, a: tuple[Reg, ...], b: tuple[Reg, ...]) -> tuple[Reg, ...]:
        wins = larger_first(self.w, (a[0], a[1]), (b[0], b[1]))
        return self.w.select(wins, b[0], a[0]), self.w.select(wins, b[1], a[1])


def tree(w: LevelWriter, parts: list, slots: int, join: Callable) -> tuple[Reg, ...]:
    """Join the partials, and then their lanes in the same manner."""
    total = halved(parts, slots, join)
    width = total[0].width
    while width > 1:
        width //= 2
        low = tuple(w.shuffle(r, r, list(range(width))) for r in total)
        high = tuple(w.shuffle(r, r, list(range(width, 2 * width))) for r in total)
        total = join(low, high)
    return total


def together(w: LevelWriter, vectors: list[Reg], join: Callable[[Reg, Reg], Reg]) -> Reg:
    """The folded lanes of vector k in lane k: what `tree` gives for each, two vectors with every step.

    A vector holds as many segments as rows; the low halves of all of them meet the high halves.
    """
    width = vectors[0].width
    segment = width
    while segment > 1:
        half = segment // 2
        pairs = [(vectors[k], vectors[min(k + 1, len(vectors) - 1)]) for k in range(0, len(vectors), 2)]
        low = [s + k for s in range(0, 2 * width, segment) for k in range(half)]
        high = [lane + half for lane in low]
        vectors = [join(w.shuffle(a, b, low), w.shuffle(a, b, high)) for a, b in pairs]
        segment = half
    (total,) = vectors
    return total


def halved(parts: list, slots: int, join: Callable) -> tuple[Reg, ...]:
    """Join partial p with partial p + half, halving until one is left; absent ones are identities."""
    while slots > 1:
        slots //= 2
        low, high = parts[:slots], parts[slots:]
        parts = [join(a, high[k]) if k < len(high) else a for k, a in enumerate(low)]
    (total,) = parts
    return total


def larger_first(w: LevelWriter, a: tuple[Reg, Reg], b: tuple[Reg, Reg]) -> Reg:
    """Whether (value, index) b comes before a: larger, or NaN, or as large and earlier."""
    larger, same = w.gt(b[0], a[0]), w.eq(b[0], a[0])
    if a[0].dtype in ("f32", "f64"):
        nan_a, nan_b = w.isnan(a[0]), w.isnan(b[0])
        larger = w.or_(larger, w.and_(nan_b, w.not_(nan_a)))
        same = w.or_(same, w.and_(nan_a, nan_b))
    return w.or_(larger, w.and_(same, w.lt(b[1], a[1])))


def _limits(dtype: str) -> tuple[float, float]:
    if dtype in ("f32", "f64"):
        return float("-inf"), float("inf")
    bits = 31 if dtype == "i32" else 63
    return -(2**bits), 2**bits - 1
