"""What the elements of one operation's result are made of, read off its form: pairs of rows of patterns.

    take x[9], i[4]      where i is known, row k of the result's pattern is row i[k] of that of x
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.graph import Op
from ...ir.types import FLOATING
from ...loops import (
    Affine,
    Apply,
    Axis,
    Check,
    Element,
    Guarded,
    Map,
    Number,
    Position,
    Product,
    Reduce,
    Relabel,
    Scatter,
    along,
)
from ...ops.contract import free, split
from ...ops.elementwise import MEANINGS

MOST = 100_000_000
"""Entries of a pattern, or pairs of elements of one operation, above which it is no use."""


class Dense(Exception):
    """A pattern has more entries than can be held."""


Pattern = Any
"""A SciPy array of bools with a row for each element of a value; None where it depends on nothing."""




class Read(Element):
    """The element of argument `arg` at an index."""

    __slots__ = ("arg", "index")

    def __init__(self, arg: int, index: Sequence[Any], dtype: str) -> None:
        self.arg, self.index, self.dtype = arg, tuple(index), dtype


class FormWalk:
    """The pattern of one result from what `define` says of its elements."""

    def __init__(self, walk: Any, op: Op, given: list[Pattern], known: list[Any]) -> None:
        self.walk, self.op, self.given, self.known = walk, op, given, known
        self.result = op.results[0]
        self.size = self.result.type.static_size()

    def of(self, form: Any) -> Pattern:
        op, given = self.op, self.given
        if isinstance(form, Relabel):
            return given[0]
        if isinstance(form, Check):
            return given[0]
        if isinstance(form, Product):
            return self._product()
        if isinstance(form, Map):
            return self._grid(form.value, op.results[0].type.static_shape(), ())
        if isinstance(form, Reduce):
            return self._grid(form.value, form.extents, form.axes)
        assert isinstance(form, Scatter)
        if form.whole is not None and all(v is not None for v in self.known[2:]):
            return self._grid(form.whole, op.results[0].type.static_shape(), ())
        return self._scattered(form)

    def _grid(self, value: Any, extents: Sequence[int], folded: Sequence[int]) -> Pattern:
        """The elements at all indices below `extents`; those along the axes `folded` become one."""
        grid = Grid(extents)
        kept = [a for a in range(len(extents)) if a not in folded]
        into = grid.flat([along(grid.axes[a]) for a in kept], [extents[a] for a in kept]) if folded else None
        found = self._reads(value([along(axis) for axis in grid.axes]), grid, into, self.size)
        return self.walk._union(found)

    def _reads(self, e: Element, grid: Grid, into: np.ndarray | None, size: int) -> list[Pattern]:
        """The patterns of what an element is made of, for all indices of the grid."""
        found: list[Pattern] = []
        pending: list[tuple[Element, np.ndarray | None]] = [(e, None)]
        met: dict[tuple[int, int], Any] = {}  # the elements and masks themselves, too, so that no other has their id
        while pending:
            each, mask = pending.pop()
            if each.dtype not in FLOATING or (id(each), id(mask)) in met:
                continue  # whole numbers and truth values have no slope
            met[id(each), id(mask)] = each, mask
            if isinstance(each, Read):
                found.append(self._read(each, grid, mask, into, size))
            elif isinstance(each, Guarded):
                inside = np.ones(grid.size, bool)
                for index, low, high in each.ranges:
                    place = grid.number(index, self.known)
                    inside &= (place >= low) & (place < high)
                pending += [(each.inside, _both(mask, inside)), (each.outside, _both(mask, ~inside))]
            elif isinstance(each, Apply):
                chosen = grid.number(each.args[0], self.known) if len(each.args) == 3 else None
                if chosen is not None and each.args[0].dtype == "bool":
                    yes = np.broadcast_to(chosen.astype(bool), (grid.size,))
                    pending += [(each.args[1], _both(mask, yes)), (each.args[2], _both(mask, ~yes))]
                else:
                    pending += [(arg, mask) for arg in each.args]
        return found

    def _read(self, e: Read, grid: Grid, mask: Any, into: Any, size: int) -> Pattern:
        pattern, shape = self.given[e.arg], self.op.args[e.arg].type.static_shape()
        if pattern is None:
            return None
        if mask is None and into is None and shape == tuple(grid.extents) and grid.is_whole(e.index):
            return pattern
        if grid.size > MOST:
            raise Dense
        places = [grid.number(component, self.known) for component in e.index]
        unknown = [a for a, place in enumerate(places) if place is None]
        if unknown:
            kept = [a for a in range(len(shape)) if a not in unknown]
            pattern = self._folded(pattern, shape, kept)
            shape, places = tuple([shape[a] for a in kept]), [places[a] for a in kept]
        at = _flat(places, shape, grid.size)
        return self.walk.rows(pattern, at, mask, into, size)

    def _folded(self, pattern: Pattern, shape: Sequence[int], kept: Sequence[int]) -> Pattern:
        """A pattern with the rows united that differ along other axes than those `kept`."""
        grid = Grid(shape)
        into = grid.flat([along(grid.axes[a]) for a in kept], [shape[a] for a in kept])
        rows = math.prod(shape[a] for a in kept)
        return self.walk.rows(pattern, np.arange(grid.size), None, into, rows)

    def _product(self) -> Pattern:
        """A contraction: of each operand, what is folded united, and the rest along the other's free axes."""
        left, right, batch = split(self.op.attrs)
        found = []
        shape = self.result.type.static_shape()
        grid = Grid(shape)
        for k, (own, mine) in enumerate(((left, [p for p, _ in batch]), (right, [q for _, q in batch]))):
            pattern, operand = self.given[k], self.op.args[k].type
            if pattern is None:
                continue
            loose = free(operand.rank, [*mine, *own])
            kept = [*mine, *loose]
            folded = self._folded(pattern, operand.static_shape(), sorted(kept))
            start = len(batch) if k == 0 else len(shape) - len(loose)
            axis_of = {a: n for n, a in enumerate(mine)} | {a: start + n for n, a in enumerate(loose)}
            index = [along(grid.axes[axis_of[a]]) for a in sorted(kept)]
            at = grid.flat(index, [operand.static_shape()[a] for a in sorted(kept)])
            found.append(self.walk.rows(folded, at, None, None, self.size))
        return self.walk._union(found)

    def _scattered(self, form: Scatter) -> Pattern:
        """The first argument's pattern, united with what is put at the targets, or in its place."""
        shape, grid = self.result.type.static_shape(), Grid(form.extents)
        if not grid.size:
            return self.given[0]
        index = [along(axis) for axis in grid.axes]
        places = [grid.number(component, self.known) for component in form.target(index)]
        value = form.value(index)
        base = self.given[0]
        if any(place is None for place in places):
            unknown = [a for a, place in enumerate(places) if place is None]
            kept = [a for a in range(len(shape)) if a not in unknown]
            rows = math.prod(shape[a] for a in kept)
            into = _flat([places[a] for a in kept], [shape[a] for a in kept], grid.size)
            put = self.walk._union(self._reads(value, grid, into, rows))
            if put is None:
                return base
            target = Grid(shape)
            at = target.flat([along(target.axes[a]) for a in kept], [shape[a] for a in kept])
            return self.walk._union([base, self.walk.rows(put, at, None, None, self.size)])
        into = _flat(places, shape, grid.size)
        put = self.walk._union(self._reads(value, grid, into, self.size))
        if base is not None and not form.fold:
            left = np.ones(self.size, bool)
            left[into] = False
            base = self.walk.rows(base, np.arange(self.size), left, None, self.size)
        return self.walk._union([base, put])


def _both(a: np.ndarray | None, b: np.ndarray) -> np.ndarray:
    return b if a is None else a & b


def _flat(places: Sequence[Any], shape: Sequence[int], size: int) -> np.ndarray:
    """Positions in a row-major array of this shape; what lies outside is read nowhere, and moved inside."""
    at = np.zeros(size, np.int64)
    for place, extent in zip(places, shape, strict=True):
        at = at * extent + np.clip(place, 0, max(extent - 1, 0))
    return at


class Grid:
    """All indices below `extents`, in row-major order."""

    def __init__(self, extents: Sequence[int]) -> None:
        self.extents, self.size = list(extents), math.prod(extents)
        self.axes = [Axis(f"i{k}", extent) for k, extent in enumerate(extents)]
        if self.size > MOST:
            raise Dense
        self._steps = {axis: math.prod(extents[k + 1 :]) for k, axis in enumerate(self.axes)}

    def along(self, axis: Axis) -> np.ndarray:
        """The index along an axis, everywhere."""
        return np.arange(self.size) // self._steps[axis] % axis.extent

    def is_whole(self, index: Sequence[Any]) -> bool:
        """Whether an index is that of the grid itself."""
        pairs = zip(index, self.axes, strict=False)
        same = [axis.extent == 1 or (isinstance(i, Affine) and i == along(axis)) for i, axis in pairs]
        return len(index) == len(self.axes) and all(same)

    def flat(self, index: Sequence[Affine], shape: Sequence[int]) -> np.ndarray:
        return _flat([self.number(i, ()) for i in index], shape, self.size)

    def number(self, component: Any, known: Sequence[Any]) -> Any:
        """The value of an index, or of an element of whole numbers, everywhere; None where it is not known."""
        if isinstance(component, Affine):
            total = np.full(self.size, component.constant)
            for axis, factor in component.terms:
                total = total + factor * self.along(axis)
            return total
        if isinstance(component, Position):
            return self.number(component.index, known)
        if isinstance(component, Number):
            return np.full(self.size, component.value)
        if isinstance(component, Read):
            if known[component.arg] is None:
                return None
            places = [self.number(each, known) for each in component.index]
            if any(place is None for place in places):
                return None
            value = known[component.arg]
            return value.reshape(-1)[_flat(places, value.shape, self.size)]
        if isinstance(component, Guarded):
            inside, outside = self.number(component.inside, known), self.number(component.outside, known)
            if inside is None or outside is None:
                return None
            holds = np.ones(self.size, bool)
            for index, low, high in component.ranges:
                place = self.number(index, known)
                holds &= (place >= low) & (place < high)
            return np.where(holds, inside, outside)
        if not isinstance(component, Apply) or (function := MEANINGS.get(component.spelling)) is None:
            return None
        args = [self.number(each, known) for each in component.args]
        return None if any(a is None for a in args) else function(*args)


__all__ = ["MOST", "Dense", "FormWalk", "Pattern", "Read"]
