"""One nest of a loop program as LLVM text.

The vector axis is walked in turns of `unroll` vectors; what is left over is one more turn, whose last vector is
masked.  A fold along the vector axis keeps 32 interleaved partial results, whatever the width of the vectors, and
joins them in a fixed tree, so its bits depend on the sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..loops import Apply, Axis, Buffer
from ..lowering.program import Accumulate, Nest
from ..lowering.schedule import PARTIALS
from .emit_element import Elements, Lane
from .levels import LevelWriter
from .registers import FLOATS, Reg

STRAIGHT = 4  # vectors up to which a whole axis is written without a loop


class Failed(NamedTuple):
    """What an assertion found: whether it failed, and the element to report."""

    flag: Reg
    report: Reg


class NestEmitter:
    """Writes one nest; the accumulators travel through its loops as carries."""

    def __init__(self, w: LevelWriter, pointers: dict[Buffer, str], nest: Nest) -> None:
        self.w, self.nest = w, nest
        self.elements = Elements(w, pointers, nest)
        self.kept = len(nest.axes) - nest.reduced
        self.vector_at = nest.axes.index(nest.vector) if nest.vector is not None else -1
        self.folds_lanes = self.vector_at >= self.kept
        self.partials = self._partials()

    def _partials(self) -> int:
        """Accumulators per fold and turn: those of a folded vector axis, or one."""
        if not self.folds_lanes:
            return 1
        assert self.nest.vector is not None
        vectors = -(-self.nest.vector.extent // self.nest.width)
        return min(PARTIALS // self.nest.width, vectors)

    def emit(self) -> list[Failed]:
        """Write the nest; what its assertions found."""
        flags = [self.w.number(False, "bool")] * len(self.nest.asserts)
        reports = [self.w.number(0, "i64")] * len(self.nest.asserts)
        out = self._axis(0, [*flags, *reports], [])
        n = len(self.nest.asserts)
        return [Failed(f, r) for f, r in zip(out[:n], out[n : 2 * n], strict=True)]

    # ---- axes.  `checks` are the assertions' carries, `folds` the accumulators' once they are started

    def _axis(self, at: int, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        if at == self.kept and self.nest.folds and not folds:
            return self._fold(at, checks)
        if at == len(self.nest.axes):
            return self._turn(checks, folds)
        axis = self.nest.axes[at]
        if axis is self.nest.vector:
            return self._vector_axis(at, axis, checks, folds)

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            self.elements.bind(axis, index, self.w.level)
            n = len(checks)
            return self._axis(at + 1, carries[:n], carries[n:])

        return self.w.loop(axis.extent, 1, [*checks, *folds], body)

    def _vector_axis(self, at: int, axis: Axis, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        width, unroll = self.nest.width, self.nest.unroll
        vectors = -(-axis.extent // width)
        whole = axis.extent // (width * unroll) if vectors > STRAIGHT else 0
        n = len(checks)
        if whole:
            lanes = [Lane(u * width) for u in range(unroll)]

            def body(index: Reg, carries: list[Reg]) -> list[Reg]:
                self.elements.bind(axis, index, self.w.level)
                self.elements.lanes = lanes
                out = self._axis(at + 1, carries[:n], carries[n:])
                return [*out[:n], *self._rotated(out[n:], unroll)]

            made = self.w.loop(whole * width * unroll, width * unroll, [*checks, *folds], body)
            checks, folds = made[:n], self._rotated(made[n:], -whole * unroll)
        rest = vectors - whole * unroll
        if not rest:
            return [*checks, *folds]
        start = whole * unroll
        lanes = [Lane((start + t) * width) for t in range(rest)]
        if axis.extent % width:
            lanes[-1] = Lane((vectors - 1) * width, axis.extent % width)
        self.elements.bind(axis, self.w.number(0, "i64"), 0)
        self.elements.lanes = lanes
        shifted = self._rotated(folds, start)
        out = self._axis(at + 1, checks, shifted)
        return [*out[:n], *self._rotated(out[n:], -start)]

    def _rotated(self, folds: list[Reg], by: int) -> list[Reg]:
        """Bring the accumulator of the next vector to the front of each fold's partials."""
        if not self.folds_lanes or not folds:
            return folds
        p, out = self.partials, []
        for k in range(0, len(folds), p):
            mine = folds[k : k + p]
            shift = by % p
            out.extend(mine[shift:] + mine[:shift])
        return out

    # ---- folds

    def _fold(self, at: int, checks: list[Reg]) -> list[Reg]:
        """Start the accumulators, run the folded axes, store what they hold."""
        lanes = self.elements.lanes
        starts: list[Reg] = []
        count = self.partials if self.folds_lanes else max(len(lanes), 1)
        for fold in self.nest.folds:
            for start in self._identity(fold):
                starts.extend([start] * count)
        n = len(checks)
        out = self._axis(at, checks, starts)
        folds = out[n:]
        for fold in self.nest.folds:
            parts = 2 if fold.kind == "argmax" else 1
            mine, folds = folds[: parts * count], folds[parts * count :]
            columns = [mine[k * count : (k + 1) * count] for k in range(parts)]
            self._finish(fold, columns, lanes)
        self.elements.lanes = lanes
        return out[:n]

    def _identity(self, fold: Accumulate) -> list[Reg]:
        dtype = fold.value.dtype
        width = self.nest.width if self.vector_at >= 0 else 1
        least, most = _limits(dtype)
        if fold.kind == "sum":
            return [self.w.number(-0.0 if dtype in ("f32", "f64") else 0, dtype, width)]
        if fold.kind == "min":
            return [self.w.number(most, dtype, width)]
        first = self.w.number(least, dtype, width)
        if fold.kind == "max":
            return [first]
        return [first, self.w.number(2**63 - 1, "i64", width)]

    def _turn(self, checks: list[Reg], folds: list[Reg]) -> list[Reg]:
        """The innermost body: every lane's stores, assertions and folds."""
        checks, folds = list(checks), list(folds)
        lanes = self.elements.lanes or [Lane(0)]
        for u, lane in enumerate(lanes):
            for store in self.nest.stores:
                self.elements.store(store, lane)
            self._assert(checks, lane)
            self._accumulate(folds, u, lane)
        return [*checks, *folds]

    def _assert(self, checks: list[Reg], lane: Lane) -> None:
        w, n = self.w, len(self.nest.asserts)
        for k, a in enumerate(self.nest.asserts):
            fails, report = (self.elements.make(e, lane) for e in (a.fails, a.report))
            fails = self.elements.masked(fails, lane, w.number(False, "bool", fails.width))
            checks[n + k] = self._last_failing(fails, report, checks[n + k])
            checks[k] = w.or_(checks[k], w.any(fails))

    def _last_failing(self, fails: Reg, report: Reg, before: Reg) -> Reg:
        w = self.w
        for lane in range(fails.width):
            one = w.extract(report, lane) if report.width > 1 else report
            before = w.select(w.extract(fails, lane), one, before)
        return before

    def _accumulate(self, folds: list[Reg], u: int, lane: Lane) -> None:
        at = 0
        count = self.partials if self.folds_lanes else max(len(self.elements.lanes), 1)
        for fold in self.nest.folds:
            slot = at + u % count
            if fold.kind == "argmax":
                assert fold.position is not None
                value, here = (self.elements.wide(e, lane) for e in (fold.value, fold.position))
                pair = (folds[slot], folds[slot + count])
                folds[slot], folds[slot + count] = self._better(pair, (value, here), lane)
                at += 2 * count
                continue
            folds[slot] = self.elements.masked(self._step(fold, folds[slot], lane), lane, folds[slot])
            at += count

    def _step(self, fold: Accumulate, so_far: Reg, lane: Lane) -> Reg:
        """One step of a fold; a product is summed with one rounding where the CPU can."""
        e = fold.value
        if fold.kind == "sum" and isinstance(e, Apply) and e.spelling == "mul" and so_far.dtype in FLOATS:
            a, b = (self.elements.wide(x, lane) for x in e.args)
            return self.w.muladd(a, b, so_far)
        return combine(self.w, fold.kind, so_far, self.elements.wide(e, lane))

    def _better(self, a: tuple[Reg, Reg], b: tuple[Reg, Reg], lane: Lane) -> tuple[Reg, Reg]:
        wins = larger_first(self.w, a, b)
        wins = self.elements.masked(wins, lane, self.w.number(False, "bool", wins.width))
        return self.w.select(wins, b[0], a[0]), self.w.select(wins, b[1], a[1])

    def _finish(self, fold: Accumulate, columns: list[list[Reg]], lanes: list[Lane]) -> None:
        join: Callable[[tuple[Reg, ...], tuple[Reg, ...]], tuple[Reg, ...]]
        if fold.kind == "argmax":
            join = self._join_pairs
        else:
            join = lambda a, b: (combine(self.w, fold.kind, a[0], b[0]),)  # noqa: E731
        parts = list(zip(*columns, strict=True))
        if not self.folds_lanes:
            for part, lane in zip(parts, lanes or [Lane(0)], strict=True):
                self.elements.put(fold.buffer, fold.offset, part[-1], lane)
            return
        total = tree(self.w, parts, PARTIALS // self.nest.width, join)
        self.elements.put(fold.buffer, fold.offset, total[-1], Lane(0))

    def _join_pairs(self, a: tuple[Reg, ...], b: tuple[Reg, ...]) -> tuple[Reg, ...]:
        wins = larger_first(self.w, (a[0], a[1]), (b[0], b[1]))
        return self.w.select(wins, b[0], a[0]), self.w.select(wins, b[1], a[1])


def tree(w: LevelWriter, parts: list, slots: int, join: Callable) -> tuple[Reg, ...]:
    """Join partial p with partial p + half, halving until one is left; absent ones are identities."""
    while slots > 1:
        slots //= 2
        low, high = parts[:slots], parts[slots:]
        parts = [join(a, high[k]) if k < len(high) else a for k, a in enumerate(low)]
    (total,) = parts
    width = total[0].width
    while width > 1:
        width //= 2
        low = tuple(w.shuffle(r, r, list(range(width))) for r in total)
        high = tuple(w.shuffle(r, r, list(range(width, 2 * width))) for r in total)
        total = join(low, high)
    return total


def combine(w: LevelWriter, kind: str, a: Reg, b: Reg) -> Reg:
    """One step of a sum, max or min."""
    return {"sum": w.add, "max": w.maximum, "min": w.minimum}[kind](a, b)


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



