"""Elements of a nest as LLVM values: each is made once, at the outermost level where it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...ir.measure import Extent
from ...loops import Affine, Apply, Axis, Buffer, Element, Guarded, Load, Number, Position, Variable
from ...lowering.nests.inside import children, reachable
from ...lowering.origins import stamp
from ...lowering.program import Nest, Store, tops
from .. import elementary
from ..text.levels import LevelWriter
from ..text.registers import Reg
from .memory import Cell, Memory, Place, Row

OFTEN = 12  # times a nest may spell an elementary function out; beyond, it calls one copy


_NO_AXES: frozenset[Axis] = frozenset()


def known(w: LevelWriter, variable: Variable) -> Reg:
    """The register of a number that a statement around has made."""
    held = w.held(variable)
    assert held is not None, f"{variable} is not known here"
    return held


class Elements(Memory):
    """The values of a nest's elements, cell by cell."""

    def __init__(self, w: LevelWriter, pointers: dict[Buffer, str], nest: Nest, row: Row) -> None:
        self.w, self.pointers, self.vector, self.width = w, pointers, nest.vector, nest.width
        self.tile, self.row = nest.tile, row
        self.index = dict(row.index)
        #: axes that stand at a number, because the loop over them is written out
        self.written_out: dict[Axis, int] = {}
        #: what folds of the nest hold once they are complete, by cell
        self.held: dict[tuple[Buffer, Affine], dict[tuple[int, int], Reg]] = {}
        self.stored = {(s.buffer, s.offset): s.value for s in nest.stores if not (s.fold or s.over or s.gathered)}
        #: children come first, and what a nest stores before what it loads again
        self.axes_of: dict[int, frozenset[Axis]] = {}
        each_axes: dict[frozenset[Axis], frozenset[Axis]] = {}
        self.counts: Counter[str] = Counter()
        #: what ends a block, or is made of what does
        self.branching: set[int] = set()
        #: functions by what they are applied to, of those that share work where that is the same
        self.paired: Counter[int] = Counter()
        for e in reachable(tops(nest)):
            axes = self._own_axes(e)
            self.axes_of[id(e)] = each_axes.setdefault(axes, axes)
            if isinstance(e, Apply):
                self.counts[e.spelling] += 1
                if e.spelling in elementary.PAIRED:
                    self.paired[id(e.args[0])] += 1
                if e.spelling in elementary.BRANCHING or any(id(a) in self.branching for a in e.args):
                    self.branching.add(id(e))
        self._wheres: dict[tuple[int, Cell], int] = {}
        self._levels: dict[int, int] = {}
        self.begins = {}
        self.guard_level = 0
        self.rows: Sequence[int] = (0,)
        self.blocks: dict[tuple[str, ...], list[Reg]] = {}

    def hold(self, buffer: Buffer, offset: Affine, cell: Cell, value: Reg) -> None:
        """`value` is what buffer[offset] holds in a cell, for whatever reads it in the same turn."""
        self.held.setdefault((buffer, offset), {})[cell.start, cell.row] = value

    def bind(self, axis: Axis, index: Reg, level: int) -> None:
        """`index`, made at `level`, is where `axis` stands now."""
        self.index[axis] = (index, level)
        self._moved()

    def write_out(self, axis: Axis, step: int, level: int) -> None:
        """The loop over `axis` is written out, and stands at `step`."""
        self.written_out[axis] = step
        self.index[axis] = (self.w.number(step, "i64"), level)
        self._moved()

    def _moved(self) -> None:
        """An axis stands elsewhere now."""
        self._wheres.clear()
        self._levels.clear()
        self.begins.clear()

    # ---- levels

    def _axes(self, e: Element) -> frozenset[Axis]:
        """The axes on which an element depends."""
        return self.axes_of[id(e)]

    def _own_axes(self, e: Element) -> frozenset[Axis]:
        if isinstance(e, Apply):
            return _NO_AXES.union(*[self.axes_of[id(a)] for a in e.args])
        below: set[Axis] = set()
        if isinstance(e, Load):
            stored = self.stored.get((e.buffer, e.offset)) if not e.gathered else None
            below.update(a for a, _ in e.offset.terms)
            if e.buffer in self.row.local:
                below.update(self.row.index)
            if stored is not None:
                below |= self._axes(stored)
            for g, _ in e.gathered:
                below |= self.axes_of[id(g)]
        elif isinstance(e, Guarded):
            for index, _, _ in e.ranges:
                below.update(a for a, _ in index.terms)
            below |= self.axes_of[id(e.inside)] | self.axes_of[id(e.outside)]
        elif isinstance(e, Position):
            below.update(a for a, _ in e.index.terms)
        return frozenset(below)

    def _level(self, axes: frozenset[Axis]) -> int:
        found = self._levels.get(id(axes))
        if found is None:
            found = self._levels[id(axes)] = max([self.index[a][1] for a in axes], default=self.row.base)
        return found

    # ---- making elements

    def make(self, e: Element, cell: Cell, guard: Reg | None = None) -> Reg:
        """The value of `e`: a scalar if it is the same in every lane, else a vector."""
        if type(e) is Guarded:
            e = self._taken(e, cell)
        key = self._key(e, cell, guard)
        found = self.w.numbered.get(key)
        if found is not None:
            return found
        if guard is None:
            self._make_below(e, cell)
        return self._once(e, cell, guard, key)

    def _make_below(self, top: Element, cell: Cell) -> None:
        """Make what an element is made of, children first; below what is made already there is nothing to make."""
        below = self._needed(top)
        if not below:
            return
        get, seen = self.w.numbered.get, {id(top)}
        stack: list[Any] = [*below[::-1]]
        while stack:
            e = stack.pop()
            kind = type(e)
            if kind is tuple:  # what it is made of has been made
                self._once(stack.pop(), cell, None, e)
                continue
            if kind is Guarded:
                e = self._taken(e, cell)
            at = id(e)
            if at not in seen:
                seen.add(at)
                key = self._key(e, cell, None)
                if get(key) is None:
                    below = self._needed(e)
                    if below:
                        stack += (e, key, *below[::-1])
                    else:
                        self._once(e, cell, None, key)

    def _needed(self, e: Element) -> Sequence[Element]:
        """What an element is made of wherever guards stand: what only its own guard needs is made when the guard is.

        What ends a block comes first: what is made before it would wait for the block behind, in registers of which
        the two blocks' constants leave few.
        """
        below = (e.outside,) if type(e) is Guarded else children(e)
        if len(below) > 1 and id(e) in self.branching:
            return sorted(below, key=lambda a: id(a) not in self.branching)
        return below

    def _key(self, e: Element, cell: Cell, guard: Reg | None) -> tuple[object, ...]:
        """A name for an element in a cell, which is another one in nests that walk the same axes in other ways."""
        at = id(e)
        axes = self.axes_of[at]
        where = self._wheres.get((id(axes), cell))
        if where is None:
            places = self.w.places
            where = self._wheres[id(axes), cell] = places.setdefault(self._where(axes, cell), len(places))
        return (at, where) if guard is None else (at, where, guard.text)

    def _where(self, axes: frozenset[Axis], cell: Cell) -> tuple[object, ...]:
        """Where a cell stands on some axes."""
        vector, tile = self.vector, self.tile
        lanes = rows = steps = None
        if vector is not None and vector in axes:
            lanes = (id(vector), self.index[vector][0].text, cell.start, cell.count, self.width)
        if tile is not None and tile in axes:
            rows = (id(tile), self.index[tile][0].text, cell.row)
        if self.written_out:
            steps = frozenset((id(a), step) for a, step in self.written_out.items() if a in axes)
        return lanes, rows, steps or None

    def _once(self, e: Element, cell: Cell, guard: Reg | None, key: tuple[object, ...]) -> Reg:
        w = self.w
        found = w.numbered.get(key)
        if found is None:
            level = self._level(self.axes_of[id(e)])
            if guard is not None:
                level = max(level, self.guard_level)
            if level == w.level:
                return self._made_here(e, cell, guard, key)
            with w.at(level):
                found = self._made_here(e, cell, guard, key)
        return found

    def _made_here(self, e: Element, cell: Cell, guard: Reg | None, key: tuple[object, ...]) -> Reg:
        w = self.w
        found = w.numbered[key] = self._make(e, cell, guard)
        stamp(w.lines, found.text, e)
        return found

    def _make(self, e: Element, cell: Cell, guard: Reg | None) -> Reg:
        if isinstance(e, Apply):
            return self._apply(e, [self.make(a, cell, guard) for a in e.args])
        if isinstance(e, Number):
            return self.w.number(e.value, e.dtype)
        if isinstance(e, Load):
            return self._load(e, cell, guard)
        if isinstance(e, Position):
            return self._position(e.index, cell)
        if isinstance(e, Variable):
            return known(self.w, e)
        assert isinstance(e, Guarded)
        return self._guarded(e, cell, guard)

    def _apply(self, e: Apply, args: list[Reg]) -> Reg:
        width = max([a.width for a in args])
        if width > 1:
            args = [a if a.width == width else self.w.splat(a, width) for a in args]
        often = self.counts[e.spelling] > OFTEN
        paired = e.spelling in elementary.PAIRED and self.paired[id(e.args[0])] > 1
        return elementary.applied(self.w, e.spelling, e.dtype, args, often, self.w.declarations, paired=paired)

    # ---- guards

    def _taken(self, e: Element, cell: Cell) -> Element:
        """The element itself, or the side of a guard that is decided where the cell stands: the other is not made."""
        while isinstance(e, Guarded):
            reaches = [(self._reach(index, cell), lo, hi) for index, lo, hi in e.ranges if type(lo) is type(hi) is int]
            if any(reach is not None and (reach[1] < lo or reach[0] >= hi) for reach, lo, hi in reaches):
                e = e.outside
            elif len(reaches) == len(e.ranges) and all(
                reach is not None and lo <= reach[0] and reach[1] < hi for reach, lo, hi in reaches
            ):
                e = e.inside
            else:
                break
        return e

    def _guarded(self, e: Guarded, cell: Cell, guard: Reg | None) -> Reg:
        w = self.w
        outside = self.make(e.outside, cell, guard)
        inner = guard
        for index, lo, hi in e.ranges:
            reach = None if isinstance(lo, Extent) or isinstance(hi, Extent) else self._reach(index, cell)
            if reach is not None and lo <= reach[0] and reach[1] < hi:
                continue
            if reach is not None and (reach[1] < lo or reach[0] >= hi):
                return outside
            here = self._position(index, cell)
            low, high = index.range()
            for keep, name, bound in ((low < lo, "ge", lo), (high >= hi, "lt", hi)):
                if keep:
                    test = getattr(w, name)(here, w.number(bound, "i64", here.width))
                    inner = test if inner is None else self._and(inner, test)
        if inner is None:
            return self.make(e.inside, cell)
        before, self.guard_level = self.guard_level, w.level
        inside = self.make(e.inside, cell, inner)
        self.guard_level = before
        width = max(inner.width, inside.width, outside.width)
        return w.select(*(w.splat(r, width) for r in (inner, inside, outside)))

    def _reach(self, index: Affine, cell: Cell) -> tuple[int, int] | None:
        """The least and the greatest value that an index can have in a cell, where sizes are numbers.

        An axis that stands at a number has that, and another one all that it can. A row's register that no row has is
        seen never to be read only by both together.
        """
        if isinstance(index.constant, Extent):
            return None
        least = most = index.constant
        for axis, factor in index.terms:
            lanes = (cell.count or self.width) if axis is self.vector else 1
            if isinstance(lanes, Reg) or isinstance(factor, Extent) or isinstance(axis.extent, Extent):
                return None
            at, first, last = self.index[axis][0].number, 0, axis.extent - 1
            if at is not None:
                first = int(at) + self._step(axis, cell)
                last = first + lanes - 1
            least, most = least + min(factor * first, factor * last), most + max(factor * first, factor * last)
        return least, most

    def _and(self, a: Reg, b: Reg) -> Reg:
        width = max(a.width, b.width)
        return self.w.and_(self.w.splat(a, width), self.w.splat(b, width))

    def places(self, gathered: Sequence[tuple[Element, int]], cell: Cell, guard: Reg | None = None) -> list[Place]:
        """What is added to an offset at run time: what is known farther out comes first."""
        made = [Place(self.make(g, cell, guard), stride, self._level(self._axes(g))) for g, stride in gathered]
        if guard is not None:
            return [p._replace(level=max(p.level, self.guard_level)) for p in made]
        return sorted(made, key=lambda p: p.level)

    # ---- stores

    def wide(self, e: Element, cell: Cell) -> Reg:
        """The value of `e` in every lane."""
        return self.w.splat(self.make(e, cell), self.width if self.vector is not None else 1)

    def store(self, s: Store, cell: Cell) -> None:
        """Write one store of the nest."""
        value = self.make(s.value, cell)
        if not s.kept:
            return
        where = self.places(s.gathered, cell)
        if s.fold:
            self.fold(s, value, where, cell)
        else:
            self.put(s.buffer, s.offset, value, cell, where)
