"""In what order a nest runs: which axes are joined, which one is a vector, how many vectors in one turn."""

from __future__ import annotations

import math
from dataclasses import replace

from ..ir.types import DTYPES
from ..loops import Affine, Apply, Axis, Element, Guarded, Load, Position
from .fuse import COSTS, reachable
from .program import Accumulate, Assert, Nest, Store, tops

LONG = 8192  # elements from which a nest is worth longer code
HEAVY = 24  # cost from which one vector keeps the processor busy
PARTIALS = 32  # partial sums along a folded vector axis, whatever the vectors' width


def schedule(nest: Nest, vector_bits: int) -> Nest:
    """Order the axes of `nest` and give it a vector axis."""
    facts = _Facts(nest)
    nest = _join(nest, facts)
    vector = _choose_vector(nest, _Facts(nest))
    if vector is None:
        return nest
    facts = _Facts(nest)
    kept = len(nest.axes) - nest.reduced
    inner = [a for a in nest.axes[:kept] if a is not vector]
    folds = [a for a in nest.axes[kept:] if a is not vector]
    is_kept = vector in nest.axes[:kept]
    axes = (*inner, vector, *folds) if is_kept else (*inner, *folds, vector)
    width = _width(facts, nest, vector, vector_bits)
    unroll = _unroll(nest, facts, vector, width, is_kept)
    return replace(nest, axes=axes, vector=vector, width=width, unroll=unroll)


class _Facts:
    """What the elements of a nest read and do."""

    def __init__(self, nest: Nest) -> None:
        self.elements = reachable(tops(nest))
        self.loads = [e for e in self.elements if isinstance(e, Load)]
        #: affine expressions whose value, not only their memory, matters
        self.exact: list[Affine] = []
        for e in self.elements:
            if isinstance(e, Position):
                self.exact.append(e.index)
            elif isinstance(e, Guarded):
                self.exact.extend(index for index, _, _ in e.ranges)
        self.offsets = [e.offset for e in self.loads] + [s.offset for s in nest.stores]
        self.offsets += [f.offset for f in nest.folds]


# ---- joining axes


def _join(nest: Nest, facts: _Facts) -> Nest:
    """Make one axis of neighbours that every offset walks as one row."""
    kept = len(nest.axes) - nest.reduced
    groups = [list(nest.axes[:kept]), list(nest.axes[kept:])]
    argmax = any(f.kind == "argmax" for f in nest.folds)
    changed: dict[Axis, tuple[Axis, int]] = {}
    joined: list[list[Axis]] = []
    for group in groups:
        out: list[Axis] = []
        for axis in group:
            if axis.extent == 1 and not argmax:
                changed[axis] = (axis, 0)
            elif out and not argmax and _one_row(facts, out[-1], axis, changed):
                whole = Axis(out[-1].name + axis.name, out[-1].extent * axis.extent)
                changed[out[-1]] = (whole, axis.extent)
                changed[axis] = (whole, 1)
                out[-1] = whole
            else:
                out.append(axis)
        joined.append(out)
    if not changed:
        return nest
    return _Rename(changed).nest(nest, (*joined[0], *joined[1]), len(joined[1]))


def _one_row(facts: _Facts, outer: Axis, inner: Axis, changed: dict[Axis, tuple[Axis, int]]) -> bool:
    parts = [a for a, (whole, _) in changed.items() if whole is outer] or [outer]
    last = parts[-1]
    if any(x.factor(a) for x in facts.exact for a in (*parts, inner)):
        return False
    return all(x.factor(last) == inner.extent * x.factor(inner) for x in facts.offsets)


class _Rename:
    """Elements and statements of a nest over joined axes."""

    def __init__(self, changed: dict[Axis, tuple[Axis, int]]) -> None:
        self.changed = changed
        self.made: dict[int, Element] = {}

    def affine(self, x: Affine) -> Affine:
        total: dict[Axis, int] = {}
        for axis, factor in x.terms:
            while axis in self.changed and self.changed[axis][0] is not axis:
                whole, inner = self.changed[axis]
                if inner != 1:
                    factor = factor // inner if inner else 0
                axis = whole
            if axis in self.changed:
                continue
            total[axis] = factor
        return Affine(tuple((a, f) for a, f in total.items() if f), x.constant)

    def element(self, top: Element) -> Element:
        for e in reachable([top]):
            if id(e) not in self.made:
                self.made[id(e)] = self._one(e)
        return self.made[id(top)]

    def _one(self, e: Element) -> Element:
        made = self.made
        if isinstance(e, Load):
            gathered = tuple((made[id(g)], s) for g, s in e.gathered)
            return Load(e.buffer, self.affine(e.offset), gathered)
        if isinstance(e, Apply):
            args = tuple(made[id(a)] for a in e.args)
            same = all(a is b for a, b in zip(args, e.args, strict=True))
            return e if same else Apply(e.spelling, args, e.dtype)
        if isinstance(e, Guarded):
            ranges = tuple((self.affine(i), lo, hi) for i, lo, hi in e.ranges)
            return Guarded(ranges, made[id(e.inside)], made[id(e.outside)])
        return Position(self.affine(e.index)) if isinstance(e, Position) else e

    def nest(self, nest: Nest, axes: tuple[Axis, ...], reduced: int) -> Nest:
        return replace(
            nest,
            axes=axes,
            reduced=reduced,
            stores=tuple(self._store(s) for s in nest.stores),
            folds=tuple(self._fold(f) for f in nest.folds),
            asserts=tuple(
                Assert(self.element(a.fails), self.element(a.report), a.site) for a in nest.asserts
            ),
        )

    def _store(self, s: Store) -> Store:
        gathered = tuple((self.element(e), n) for e, n in s.gathered)
        return replace(s, offset=self.affine(s.offset), value=self.element(s.value), gathered=gathered)

    def _fold(self, f: Accumulate) -> Accumulate:
        position = f.position and self.element(f.position)
        return replace(f, offset=self.affine(f.offset), value=self.element(f.value), position=position)


# ---- vectors


def _choose_vector(nest: Nest, facts: _Facts) -> Axis | None:
    """The axis along which most memory is contiguous; the innermost of equals."""
    best, best_score = None, 0.0
    for at, axis in enumerate(nest.axes):
        if axis.extent < 2 or not _may_vectorise(nest, axis):
            continue
        score = _contiguity(nest, facts, axis) + at * 1e-3
        score -= 2 if axis.extent < 4 else 0
        if best is None or score > best_score:
            best, best_score = axis, score
    return best


def _contiguity(nest: Nest, facts: _Facts, axis: Axis) -> float:
    score = 0.0
    for load in facts.loads:
        factor = load.offset.factor(axis)
        dynamic = any(_depends(g, axis) for g, _ in load.gathered)
        score += {0: 0.0, 1: 1.0, -1: 0.8}.get(factor, -2.0) if not dynamic else -1.0
    for store in (*nest.stores, *(f for f in nest.folds if f.offset.factor(axis))):
        score += {0: 0.0, 1: 2.0}.get(store.offset.factor(axis), -4.0)
    return score


def _may_vectorise(nest: Nest, axis: Axis) -> bool:
    """Lanes must not add to the same place."""
    for s in nest.stores:
        if s.add and (s.offset.factor(axis) != 1 or any(_depends(g, axis) for g, _ in s.gathered)):
            return False
    return True


def _depends(element: Element, axis: Axis) -> bool:
    for e in reachable([element]):
        if isinstance(e, Load) and e.offset.factor(axis):
            return True
        if isinstance(e, Position) and e.index.factor(axis):
            return True
        if isinstance(e, Guarded) and any(i.factor(axis) for i, _, _ in e.ranges):
            return True
    return False


def _width(facts: _Facts, nest: Nest, vector: Axis, vector_bits: int) -> int:
    """Lanes of the widest elements that fill a register, or as few as hold a short axis.

    Where a long nest makes elements of many operations, one vector is four registers: the operations on them are
    independent, so the processor overlaps what in one register would wait.  tanh with its derivative over 131,072
    f64 went from 1.25 to 0.96 ns an element.
    """
    widest = max((DTYPES[e.dtype].itemsize for e in facts.elements), default=8)
    width = max(vector_bits // 8 // widest, 2)
    while width // 2 >= vector.extent and width > 2:
        width //= 2
    long = math.prod(a.extent for a in nest.axes) >= LONG and vector.extent >= 4 * width
    return min(4 * width if long and _cost(nest, facts) > HEAVY else width, PARTIALS)


def _cost(nest: Nest, facts: _Facts) -> int:
    """What a turn costs for one vector."""
    cost = sum(COSTS.get(e.spelling, 1) for e in facts.elements if isinstance(e, Apply))
    return cost + len(facts.loads) + len(nest.stores) + len(nest.folds)


def _unroll(nest: Nest, facts: _Facts, vector: Axis, width: int, is_kept: bool) -> int:
    """Vectors in one turn: more where one makes little work."""
    cost = _cost(nest, facts)
    unroll = 4 if cost <= 8 else 2 if cost <= HEAVY else 1
    if nest.reduced and not is_kept:
        unroll = min(unroll, max(PARTIALS // width, 1))
    return min(unroll, -(-vector.extent // width))
