"""In what order a nest runs: which axes are joined, which one is a vector, how many vectors in one turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...ir.measure import typical, volume
from ...ir.symint import SymNumber, rough, smaller
from ...ir.types import STORED
from ...loops import Affine, Apply, Axis, Element, Guarded, Load, Position
from ...ops.elementwise import COSTS
from ..program import Nest, tops
from .inside import children, reachable, work
from .rename import Rename

LONG = 4096  # elements from which a nest is worth longer code
SEVERAL = 32  # vectors of a nest from which several registers at once are worth longer code
HEAVY = 24  # cost from which one vector keeps the processor busy
ENOUGH = 4  # how many times the longest chain of operations all of them are, where one vector overlaps with itself
PARTIALS = 32  # partial sums along a folded vector axis, whatever the vectors' width
LANES = 8  # lanes of a vector for comparing axes: the choice, and so the bits, must not depend on the true width
JOIN = 12  # cost of joining the lanes of an accumulator
GATHER = 1.5  # cycles for one lane of a vector that is gathered
SCATTER = 2.0  # cycles for one lane of a vector whose lanes are stored one by one
LIGHT = 4  # cost of an element up to which it is worth making for several rows in one turn
ANOTHER = 0.04  # share of a tile's time that text for another shape of it, where it leaves rows over, is worth
LINES = 16  # accumulators of a fold whose lanes are kept, if it is long
FEW = 4  # elements that may be made one by one
ROWS, VECTORS = 8, 4  # of a tile, for comparing axes


def schedule(nest: Nest, vector_bits: int) -> tuple[Nest, ...]:
    """Order the axes of `nest` and give it a vector axis; what is better made in a nest of its own comes after."""
    nest = join(nest)
    facts = Facts(nest)
    vector = _choose_vector(nest, facts)
    if vector is None:
        return (nest,)
    kept = len(nest.axes) - nest.reduced
    is_kept = vector in nest.axes[:kept]
    alone = not is_kept or _tile_axis(nest, facts, vector) is not None
    if alone and _slow_alone(nest, kept):
        whole, rest = _split(nest, kept)
        return (*schedule(whole, vector_bits), *schedule(rest, vector_bits))
    width = _width(facts, nest, vector, vector_bits)
    tile = _tile_axis(nest, facts, vector)
    inner = [a for a in nest.axes[:kept] if a is not vector and a is not tile]
    folds = [a for a in nest.axes[kept:] if a is not vector]
    if tile is not None:
        return (_tiled(nest, facts, inner, folds, vector, tile, vector_bits),)
    turned = _turned_axis(nest, facts, vector)
    if turned is not None:
        return (_in_turned_blocks(nest, facts, vector, turned, width),)
    axes = (*inner, vector, *folds) if is_kept else (*inner, *folds, vector)
    unroll = _unroll(nest, facts, vector, width, is_kept)
    return (replace(nest, axes=axes, vector=vector, width=width, unroll=unroll, partials=PARTIALS),)


class Facts:
    """What the elements of a nest read and do."""

    def __init__(self, nest: Nest) -> None:
        self.elements = reachable(tops(nest))
        made = {s.buffer for s in nest.stores + nest.after if not (s.fold or s.over)} | {f.buffer for f in nest.folds}
        self.loads = [e for e in self.elements if isinstance(e, Load)]
        #: what comes from memory: the nest holds what it has just made
        self.read = [e for e in self.loads if e.buffer not in made]
        #: affine expressions whose value, not only their memory, matters
        self.exact: list[Affine] = []
        for e in self.elements:
            if isinstance(e, Position):
                self.exact.append(e.index)
            elif isinstance(e, Guarded):
                self.exact.extend(index for index, _, _ in e.ranges)
        self.offsets = [e.offset for e in self.loads] + [s.offset for s in nest.stores]
        self.offsets += [f.offset for f in (*nest.folds, *nest.after)]


# ---- joining axes


def join(nest: Nest) -> Nest:
    """Make one axis of neighbours that every offset walks as one row."""
    facts = Facts(nest)
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
    return Rename(changed).nest(nest, (*joined[0], *joined[1]), len(joined[1]))


def _one_row(facts: Facts, outer: Axis, inner: Axis, changed: dict[Axis, tuple[Axis, int]]) -> bool:
    parts = [a for a, (whole, _) in changed.items() if whole is outer] or [outer]
    last = parts[-1]
    if any(x.factor(a) for x in facts.exact for a in (*parts, inner)):
        return False
    return all(x.factor(last) == inner.extent * x.factor(inner) for x in facts.offsets)


# ---- what is made of completed folds


def _slow_alone(nest: Nest, kept: int) -> bool:
    """Whether `after` would take long, made element by element because the folds take the lanes, or in every cell."""
    elements = reachable([s.value for s in nest.after])
    return work(elements) > HEAVY // 2 and volume(a.extent for a in nest.axes[:kept]) > FEW


def _split(nest: Nest, kept: int) -> tuple[Nest, Nest]:
    """The nest without `after`, and a nest that makes `after` from memory."""
    read = {e.buffer for e in reachable([s.value for s in nest.after]) if isinstance(e, Load)}
    folds = tuple(replace(f, kept=f.kept or f.buffer in read) for f in nest.folds)
    return replace(nest, folds=folds, after=()), Nest(nest.axes[:kept], 0, nest.after, cases=nest.cases)


# ---- vectors


def _choose_vector(nest: Nest, facts: Facts) -> Axis | None:
    """The axis along which an element costs least; the innermost of equals.

    A sum's bits depend on whether lanes are folded: they are if it is a tree, and not if it is a chain.
    """
    kept = len(nest.axes) - nest.reduced
    axes = nest.axes if nest.chain is None else nest.axes[:kept] if nest.chain else nest.axes[-1:]
    possible = [axis for axis in axes if typical(axis.extent) >= 2 and _may_vectorise(nest, axis)]
    if len(possible) < 2:
        return possible[0] if possible else None
    best, least = None, math.inf
    for axis in possible:
        price = price_of(nest, facts, axis)
        if price <= least:
            best, least = axis, price
    return best


def vector_price(nest: Nest) -> float:
    """The price of an element along the axis that `schedule` would choose."""
    facts = Facts(nest)
    vector = _choose_vector(nest, facts)
    return price_of(nest, facts, vector) if vector is not None else cost(nest, facts) / 2


def is_product(nest: Nest) -> bool:
    """Whether tiles would let what is read serve several rows."""
    facts = Facts(nest)
    vector = _choose_vector(nest, facts)
    return vector is not None and _tile_axis(nest, facts, vector) is not None


def is_turned(nest: Nest) -> bool:
    """Whether blocks of what is read would be turned in registers."""
    nest = join(nest)
    facts = Facts(nest)
    vector = _choose_vector(nest, facts)
    return vector is not None and _turned_axis(nest, facts, vector) is not None


def price_of(nest: Nest, facts: Facts, axis: Axis) -> float:
    """About how many cycles an element of the nest costs if `axis` is the vector axis."""
    kept = len(nest.axes) - nest.reduced
    tile = _tile_axis(nest, facts, axis)
    whole = -(-typical(axis.extent) // LANES)
    lanes = typical(axis.extent) / whole  # of each vector, that are used
    length = volume(a.extent for a in nest.axes[kept:])
    rows, vectors = (1, 1) if tile is None else (smaller(typical(tile.extent), ROWS), smaller(whole, VECTORS))
    price = (cost(nest, facts) if tile is None else len(nest.folds)) / lanes / 2
    for load in facts.read:
        dynamic = any(_depends(g, axis) for g, _ in load.gathered)
        move = GATHER if dynamic else _move(load.offset.factor(axis), lanes, GATHER)
        again = any(_moves(load, a) for a in nest.axes[kept:]) or not nest.reduced
        if tile is not None and again:
            move /= (1 if _moves(load, tile) else rows) * (1 if _moves(load, axis) else vectors)
        price += move / (1 if again else length)
    price += sum(1.5 * _move(s.offset.factor(axis), lanes, SCATTER) for s in nest.stores)
    for f in (*(f for f in nest.folds if f.kept), *nest.after):
        move = _move(f.offset.factor(axis), lanes, SCATTER) if axis in nest.axes[:kept] else JOIN
        price += 1.5 * move / length
    return price


def _move(factor: int, lanes: float, apart: float) -> float:
    """A lane's share in moving a vector whose lanes lie `factor` apart; `apart` if they are no neighbours."""
    factor = typical(factor)
    return {0: 1.0, 1: 1.0, -1: 2.0}[factor] / lanes if -1 <= factor <= 1 else apart


def _may_vectorise(nest: Nest, axis: Axis) -> bool:
    """Lanes must not add to the same place, nor store where an index says."""
    for s in nest.stores:
        apart = s.fold or (s.gathered and not s.over)
        if (apart and s.offset.factor(axis) != 1) or any(_depends(g, axis) for g, _ in s.gathered):
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


# ---- tiles


def _tile_axis(nest: Nest, facts: Facts, vector: Axis) -> Axis | None:
    """The axis of whose steps several are made in one turn, because much that is read serves them all."""
    kept = len(nest.axes) - nest.reduced
    if not nest.folds or nest.stores or nest.asserts or any(f.kind == "argmax" for f in nest.folds):
        return None
    if work(reachable([f.value for f in nest.folds])) > LIGHT * len(nest.folds):
        return None
    best, most = None, 0
    for axis in nest.axes[:kept]:
        serves = [e for e in facts.loads if not _moves(e, axis)]
        if axis is vector or typical(axis.extent) < 2 or len(serves) == len(facts.loads):
            continue
        wide = sum(1 for e in serves if e.offset.factor(vector) and any(e.offset.factor(a) for a in nest.axes[kept:]))
        if wide >= max(most, 1):
            best, most = axis, wide
    return best


def _turned_axis(nest: Nest, facts: Facts, vector: Axis) -> Axis | None:
    """The axis along which neighbours lie of what is read across the lanes: blocks of it are turned in registers."""
    if nest.folds or nest.asserts or cost(nest, facts) > HEAVY // 2 or any(s.gathered or s.fold for s in nest.stores):
        return None
    across = [e.offset for e in facts.read if not -1 <= typical(e.offset.factor(vector)) <= 1]
    return next((a for a in nest.axes if typical(a.extent) > 2 and any(x.factor(a) == 1 for x in across)), None)


def _in_turned_blocks(nest: Nest, facts: Facts, vector: Axis, turned: Axis, width: int) -> Nest:
    """Blocks in such an order that from one to the next memory is walked along the axis where its rows lie farther."""
    read = max(typical(x.factor(vector)) for x in (e.offset for e in facts.read))
    written = max(typical(s.offset.factor(turned)) for s in nest.stores)
    last = (vector, turned) if read >= written else (turned, vector)
    axes = (*(a for a in nest.axes if a not in last), *last)
    rows = min(width, rough(typical(turned.extent), width))
    return replace(nest, axes=axes, vector=vector, width=width, tile=turned, rows=rows)


def _moves(load: Load, axis: Axis) -> bool:
    """Whether what is loaded changes along an axis."""
    return bool(load.offset.factor(axis)) or any(_depends(g, axis) for g, _ in load.gathered)


def _tiled(
    nest: Nest, facts: Facts, inner: list[Axis], folds: list[Axis], vector: Axis, tile: Axis, vector_bits: int
) -> Nest:
    """A nest whose accumulators fill the registers: `rows` steps of the tile axis by `unroll` vectors."""
    width = lanes_of(facts.elements, vector_bits)
    while width // 2 >= typical(vector.extent) and width > 2:
        width //= 2
    is_kept = vector in nest.axes[: len(nest.axes) - nest.reduced]
    registers = (24 if vector_bits >= 512 else 10) // len(nest.folds) // (1 if is_kept else PARTIALS // width)
    vectors, extent = rough(-(-typical(vector.extent) // width), 16), rough(typical(tile.extent), 64)
    shapes = [
        (rows, unroll)
        for unroll in range(1, min(vectors, 4 if is_kept else 1) + 1)
        for rows in range(1, min(extent, max(registers // unroll, 1)) + 1)
    ]
    columns = vectors if is_kept else 1
    rows, unroll = min(shapes, key=lambda shape: _turns(extent, shape[0], columns, shape[1]))
    axes = (*inner, vector, tile, *folds) if is_kept else (*inner, tile, *folds, vector)
    return replace(nest, axes=axes, vector=vector, width=width, unroll=unroll, tile=tile, rows=rows, partials=PARTIALS)


def _turns(extent: int, rows: int, vectors: int, unroll: int) -> float:
    """Cycles for one step of the folds over all tiles: two multiplications or loads at once, four to wait for a sum."""
    total, shapes = 0.0, 0
    for r, times in ((rows, extent // rows), (extent % rows, 1)):
        for u, repeats in ((unroll, vectors // unroll), (vectors % unroll, 1)):
            if r and u:
                total += times * repeats * (max(r * u / 2, (r + u) / 2, 4) + 0.5)
                shapes += 1
    return total * (1 + ANOTHER * (shapes - 1))


def _width(facts: Facts, nest: Nest, vector: Axis, vector_bits: int) -> int:
    """Lanes of the widest elements that fill a register, or as few as hold a short axis.

    Where a nest makes elements of many operations, one vector is up to four registers: the operations on them are
    independent, so the processor overlaps what in one register would wait.  tanh with its derivative over 131,072
    f64 went from 1.25 to 0.96 ns an element, over 2,048 f32 from 0.27 to 0.21. Where the operations on one element are
    independent already, as in a long sum of sines and exponentials, more registers only spill: one was 10 % faster.
    """
    width, extent = lanes_of(facts.elements, vector_bits), typical(vector.extent)
    while width // 2 >= extent and width > 2:
        width //= 2
    most = PARTIALS if nest.folds else 4 * width
    busy = cost(nest, facts) <= HEAVY or work(facts.elements) >= ENOUGH * _longest(facts.elements)
    short = not isinstance(extent, SymNumber) and 2 * width > min(most, extent)  # then no other size need be asked
    if busy or short or volume(a.extent for a in nest.axes) < SEVERAL * width:
        return width
    return max(w for w in (width, 2 * width, 4 * width) if w == width or w <= smaller(most, extent))


def _longest(elements: Sequence[Element]) -> int:
    """What the longest chain of operations costs that wait for one another; elements come after what they are of."""
    ends: dict[int, int] = {}
    for e in elements:
        own = COSTS.get(e.spelling, 1) if isinstance(e, Apply) else 0
        ends[id(e)] = own + max([ends[id(c)] for c in children(e)], default=0)
    return max(ends.values(), default=0)


def lanes_of(elements: Sequence[Element], vector_bits: int) -> int:
    """How many of the widest floats fill a register; labels and other numbers beside them may take two."""
    sizes = {e.dtype: STORED[e.dtype].itemsize for e in elements}
    widest = max((size for dtype, size in sizes.items() if dtype[0] == "f"), default=max(sizes.values(), default=8))
    return max(vector_bits // 8 // widest, 2)


def cost(nest: Nest, facts: Facts) -> int:
    """What a turn costs for one vector."""
    return work(facts.elements) + len(facts.loads) + len(nest.stores) + len(nest.folds)


def _unroll(nest: Nest, facts: Facts, vector: Axis, width: int, is_kept: bool) -> int:
    """Vectors in one turn: more where one makes little work."""
    work = cost(nest, facts)
    unroll = 4 if work <= 8 else 2 if work <= HEAVY else 1
    if nest.reduced and is_kept and work <= 8 and volume(a.extent for a in nest.axes) >= LONG:
        unroll = max(LINES // len(nest.folds), 1)  # a row is then read in long pieces, not line by line
    if nest.reduced and not is_kept:
        unroll = min(unroll, max(PARTIALS // width, 1))
    return min(unroll, rough(-(-typical(vector.extent) // width), unroll))
