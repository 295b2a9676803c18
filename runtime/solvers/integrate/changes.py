"""Where an integrand changes its formula: from its graph to the places in its range, and how parameters move them.

    x -> np.maximum(x - k, 0.0)     changes at x = k, where the gap x - k is zero

A sum over points that stay where they are sees neither a jump nor the turn of a kink that crosses between two of them.
So a comparison, a maximum, an absolute value, a rounding or a search gives a gap, which is zero where its outcome
changes; an integral is cut there, and the cuts are roots of the gaps: they move as the gaps say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ....compiler.ir.graph import Builder, Graph, Op, Value, replay
from ....compiler.ops import bits, ordering, reduce
from ....compiler.ops import elementwise as E
from ....compiler.ops.control import call, cond
from ....compiler.ops.custom import checkpoint, custom
from ....compiler.ops.elementary import cos, sin
from ....compiler.ops.guard import guard
from ....compiler.ops.reduce import spread
from ....compiler.ops.require import require
from ....compiler.ops.shape import concatenate, reshape, slice_
from ....compiler.ops.source import number
from ....compiler.passes import dead
from ...control import fori_loop
from ..closed import Closed, floats

Cut = tuple[float, int]
"""A place in [0, 1], and which gap is zero there."""

Range = tuple[Callable[[Any], Any], Callable[[Any], Any], float]
"""From [0, 1] to a range, its slope but for the sign, and the sign that the slope has beside it."""

MOST = 64
"""Changes that a range may have."""

NEAR = 1e-13
"""Of the range: changes so near to each other, or to an end, are one."""

LANES, EVEN = 64, np.linspace(0.0, 1.0, 128)
"""How many points gaps are computed at, at a time, and points at which they always are."""

PAIRS = 12
"""Elements up to which the order of each two of a row is watched."""

_DIFFERENCES = {E.lt, E.le, E.gt, E.ge, E.maximum, E.minimum}
_SIGNS = {E.abs_, E.sign}
_STEPS = {E.floor: sin, E.ceil: sin, E.trunc: sin, E.rint: cos, E.cast: sin}
_QUOTIENTS = {E.floordiv, E.mod, bits.fmod}
_ORDERS = {ordering.sort, ordering.argsort, ordering.argpartition, reduce.argmax, reduce.max_, reduce.min_}
_TURNING = {E.maximum, E.minimum, E.abs_, ordering.sort, reduce.max_, reduce.min_}
"""Operations whose results turn at a change and do not jump."""
_ONCE = {call: 1, cond: 2, checkpoint: 1, custom: 1}
"""Operations whose first regions run once."""
_CONDITIONS = (require, guard)


def gaps(graph: Graph, moving: int = 1) -> tuple[Graph, int] | None:
    """The graph of a vector that changes a sign where the formula of `graph` changes as its first arguments move.

    Beside it, how many of its first elements may be jumps; at the others the results turn, if anything.
    """
    b = Builder(f"{graph.name}_gaps", [p.type for p in graph.params])
    found = list[tuple[bool, Value]]()
    _follow(b, _inlined(graph, b, b.params), set(b.params[:moving]), found)
    if not found:
        return None
    found.sort(key=lambda each: each[0])
    sizes = [math.prod(v.type.static_shape()) for _, v in found]
    flat = [reshape(b, v, shape=(n,)) for (_, v), n in zip(found, sizes, strict=True)]
    whole = flat[0] if len(flat) == 1 else concatenate(b, *flat, axis=0)
    return dead(b.finish([whole])), sum(n for (turns, _), n in zip(found, sizes, strict=True) if not turns)


def _inlined(graph: Graph, b: Builder, given: Sequence[Value]) -> list[Op]:
    """The operations that `graph` becomes in `b`, without conditions, which need not hold in a branch not taken."""
    before = len(b.body)
    replay(graph, b, given, lambda b, op, args: args[:1] if op.prim in _CONDITIONS else None, share=False)
    return b.body[before:]


def _follow(b: Builder, body: Sequence[Op], moving: set[Value], found: list[tuple[bool, Value]]) -> None:
    """Append the gaps of operations on what moves, each with whether results only turn there.

    Regions that run once are looked into, loops are not.
    """
    for op in body:
        if moving.isdisjoint(op.args):
            continue
        moving.update(op.results)
        if op.prim in _ONCE:
            given = op.args[1:] if op.prim is cond else op.args
            for region in op.regions[: _ONCE[op.prim]]:
                _follow(b, _inlined(region, b, given), moving, found)
            continue
        made = _gap(b, op, moving)
        if made is not None and math.prod(made.type.static_shape()):
            found.append((op.prim in _TURNING, made))


def _gap(b: Builder, op: Op, moving: set[Value]) -> Value | None:
    """What is zero where the outcome of an operation changes; None for one that has no such places."""
    first, *others = op.args if op.args else (None,)
    if first is None or not first.type.is_float or first.type.is_complex:
        return None
    prim, x = op.prim, _double(b, first)
    if prim in _DIFFERENCES:
        return E.sub(b, x, _double(b, others[0]))
    if prim in _SIGNS:
        return x
    if prim is bits.copysign:
        return _double(b, others[0])
    if prim in _QUOTIENTS:
        return _turns(b, E.div(b, x, _double(b, others[0])), sin)
    if prim in _STEPS:
        return None if op.results[0].type.is_float and prim is E.cast else _turns(b, x, _STEPS[prim])
    if prim is ordering.searchsorted:
        return _between(b, x, _double(b, others[0]))
    if prim in _ORDERS:
        last, axis = (x.type.rank - 1,), op.attrs.get("axis")
        return _each_two(b, x, op.attrs.get("axes", last if axis is None else (axis,)))
    return None


def _double(b: Builder, x: Value) -> Value:
    return x if x.type.dtype == "f64" else E.cast(b, x, dtype="f64")


def _turns(b: Builder, x: Value, wave: Any) -> Value:
    """Zero at every whole number, or halfway between these."""
    return wave(b, E.mul(b, x, number(b, math.pi, x.type)))


def _between(b: Builder, rows: Value, wanted: Value) -> Value | None:
    """The distance of each value from each element of the row that it is looked for in."""
    if rows.type.rank != 1:
        return None
    n, shape = rows.type.shape[0], (math.prod(wanted.type.static_shape()),)
    whole = (*shape, n)
    ours = spread(b, reshape(b, wanted, shape=shape), shape=whole, axes=(0,))
    return E.sub(b, ours, spread(b, rows, shape=whole, axes=(1,)))


def _each_two(b: Builder, x: Value, axes: tuple[int, ...]) -> Value | None:
    """The differences of each two elements along an axis, or of all."""
    shape = x.type.static_shape()
    if len(axes) == len(shape):
        shape, axes = (math.prod(shape),), (0,)
        x = reshape(b, x, shape=shape)
    if len(axes) != 1 or not 1 < shape[axes[0]] <= PAIRS:
        return None
    axis, n = axes[0], shape[axes[0]]

    def part(first: int, size: int) -> Value:
        start = tuple(first if k == axis else 0 for k in range(len(shape)))
        whole = tuple(size if k == axis else m for k, m in enumerate(shape))
        return slice_(b, x, start=start, step=(1,) * len(shape), shape=whole)

    pairs = [E.sub(b, part(d, n - d), part(0, n - d)) for d in range(1, n)]
    return pairs[0] if n == 2 else concatenate(b, *pairs, axis=axis)


# ---- where they are


class Changes:
    """The changes of an integrand: found on numbers, and moved as parameters move."""

    def __init__(self, f: Closed, graph: Graph) -> None:
        self.all = f.with_graph(graph)
        self.size = graph.results[0].type.static_shape()[0]
        one = lambda x, mine: np.sum(np.where(mine > 0.5, self.all.traced([x], f.outside)[0], 0.0))  # noqa: E731
        self.many = self.all.lanes(LANES)
        self.one = Closed(f"{f.name}_gap", one, floats(), floats(self.size))

    @classmethod
    def of(cls, f: Closed) -> Changes | None:
        """None for a function that has one formula."""
        made = gaps(f.graph)
        return None if made is None else cls(f, made[0])

    def cut(self, mapped: Range, f: Closed, outside: Any) -> Callable[[np.ndarray], tuple[list[Cut], list[float]]]:
        """What finds, between points of [0, 1] in order, the cuts, and where a change is too smooth to be one."""
        place, run = mapped[0], self.all.held(outside)

        def gap(u: float) -> np.ndarray:
            try:
                return run(place(float(u)))[0]
            except Exception:  # at an infinite end, or what only one branch may be asked
                return np.full(self.size, np.nan)

        def sides(u: float) -> np.ndarray:
            given = [place(u)]
            return np.array([g.numeric(given, outside)[0].reshape(()) for g in (f, f.gradient)])

        def found(along: np.ndarray) -> tuple[list[Cut], list[float]]:
            along = np.union1d(along, EVEN)
            made = places(gap, along, self._rows(gap, along, place, outside))
            if len(made) <= MOST:
                return made, []
            sharp = sharpest(sides, made)
            if len(sharp) > MOST:
                said = f"quad: the integrand changes its formula at {len(sharp)} places, and {MOST} are the most"
                raise ValueError(f"{said} for a derivative: split the range")
            return sharp, [c for c, k in made if (c, k) not in sharp]

        return found

    def _rows(
        self, gap: Callable[[float], np.ndarray], along: np.ndarray, place: Callable[[Any], Any], outside: Any
    ) -> np.ndarray:
        """The gaps at many points, by as many at a time as there are lanes; NaN at an infinite end."""
        if self.many is not None:
            padded = np.pad(along, (0, -len(along) % LANES), mode="edge")
            with np.errstate(all="ignore"):
                at = place(padded)
            with suppress(Exception):  # as of a single one; then each by itself
                run = self.many.held(outside)
                made = np.concatenate([run(row)[0] for row in np.reshape(at, (-1, LANES))])
                return np.where(np.isfinite(at)[:, None], made, np.nan)[: len(along)]
        return np.array([gap(u) for u in along])

    def at_ends(self, place: Callable[[Any], Any], infinite: Sequence[float]) -> list[Any]:
        """On which side the range's ends are, by which an integral of this one sees where a change leaves the range."""
        ends = [np.float64(1.0)] if any(infinite) else [np.float64(0.0), np.float64(1.0)]
        return [self.all.traced([place(u)], self.all.outside)[0] < 0.0 for u in ends]

    def moved(self, mapped: Range, edges: Any, which: Any, count: Any) -> Any:
        """The ends of the pieces, of which those at changes move: by two of Newton's steps, up to third derivatives."""
        place, slope, sign = mapped
        axis = np.arange(MOST + 2)

        def move(k: Any, edges: Any) -> Any:
            c, mine = edges[k + 1], np.where(np.arange(self.size) == which[k], 1.0, 0.0)
            for _ in range(2):
                given = [place(c), mine]
                off = self.one.traced(given, self.one.outside)[0]
                steep = self.one.gradient.traced(given, self.one.outside)[0] * slope(c) * sign
                c = c - np.where(steep == 0, 0.0, off / np.where(steep == 0, 1.0, steep))
            return np.where(axis == k + 1, c, edges)

        return fori_loop(0, count, move, edges)


def places(gap: Callable[[float], np.ndarray], along: np.ndarray, rows: np.ndarray) -> list[Cut]:
    """Where elements of a gap are zero with a change of sign, and which, between points at which they are `rows`."""
    found: list[Cut] = []
    for k in np.flatnonzero(np.any(np.isfinite(rows), axis=0)):
        fine = np.flatnonzero(np.isfinite(rows[:, k]) & (rows[:, k] != 0))
        signs = np.sign(rows[fine, k])
        for j in np.flatnonzero(signs[1:] != signs[:-1]):
            low, high = fine[j], fine[j + 1]
            c = _root(gap, int(k), float(along[low]), float(along[high]))
            least = 1e-6 * max(abs(rows[low, k]), abs(rows[high, k]))  # above which it jumps over zero
            if not math.isnan(c) and abs(gap(c)[k]) <= least:
                found.append((c, int(k)))
    found.sort()
    before = [0.0, *[each[0] for each in found[:-1]]] if found else []
    return [each for each, c in zip(found, before, strict=True) if each[0] - c > NEAR and each[0] < 1 - NEAR]


def _root(gap: Callable[[float], np.ndarray], k: int, low: float, high: float) -> float:
    """NaN where the gap is."""
    import scipy.optimize

    solve: Any = scipy.optimize.brentq
    try:
        return float(solve(lambda u: gap(u)[k], low, high, xtol=1e-300, rtol=8.9e-16, maxiter=200))
    except ValueError:
        return math.nan


def sharpest(f: Callable[[float], np.ndarray], found: list[Cut]) -> list[Cut]:
    """Those at which a function, or its slope, of which f gives both, differs from one side to the other."""

    def differs(c: float) -> bool:
        low, high = f(c * (1 - 1e-9)), f(c + (1 - c) * 1e-9)
        return bool(np.any(~(np.abs(high - low) <= 1e-6 * (1e-300 + np.abs(high) + np.abs(low)))))

    return [each for each in found if differs(each[0])]


__all__ = ["MOST", "Changes", "Cut", "Range", "gaps"]
