"""Elements of a nest as LLVM values: each is made once, at the outermost level where it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..loops import Affine, Apply, Axis, Buffer, Element, Guarded, Load, Number, Position
from ..lowering.fuse import reachable
from ..lowering.program import Nest, Store, tops
from . import elementary
from .levels import LevelWriter
from .registers import Reg
from .writer import Writer

OFTEN = 12  # times a nest may spell an elementary function out; beyond, it calls one copy


class Lane(NamedTuple):
    """One vector of a turn: where it starts, and how many of its lanes count if not all."""

    start: int
    count: int = 0


class Elements:
    """The values of a nest's elements, lane by lane."""

    def __init__(self, w: LevelWriter, pointers: dict[Buffer, str], nest: Nest) -> None:
        self.w, self.pointers, self.vector, self.width = w, pointers, nest.vector, nest.width
        self.index: dict[Axis, tuple[Reg, int]] = {}
        self.lanes: list[Lane] = []
        self.stored = {(s.buffer, s.offset): s.value for s in nest.stores if not s.add and not s.gathered}
        #: children come first, and what a nest stores before what it loads again
        self.axes_of: dict[int, frozenset[Axis]] = {}
        self.counts: Counter[str] = Counter()
        for e in reachable(tops(nest)):
            self.axes_of[id(e)] = self._own_axes(e)
            if isinstance(e, Apply):
                self.counts[e.spelling] += 1
        self.orders: dict[int, list[Element]] = {}
        self._inside: dict[int, set[int]] = {}
        self.guard_level = 0

    def bind(self, axis: Axis, index: Reg, level: int) -> None:
        """`index`, made at `level`, is where `axis` stands now."""
        self.index[axis] = (index, level)

    # ---- levels

    def _axes(self, e: Element) -> frozenset[Axis]:
        """The axes on which an element depends."""
        return self.axes_of[id(e)]

    def _own_axes(self, e: Element) -> frozenset[Axis]:
        below: set[Axis] = set()
        if isinstance(e, Load):
            stored = self.stored.get((e.buffer, e.offset)) if not e.gathered else None
            below.update(a for a, _ in e.offset.terms)
            if stored is not None:
                below |= self._axes(stored)
            for g, _ in e.gathered:
                below |= self.axes_of[id(g)]
        elif isinstance(e, Apply):
            for a in e.args:
                below |= self.axes_of[id(a)]
        elif isinstance(e, Guarded):
            for index, _, _ in e.ranges:
                below.update(a for a, _ in index.terms)
            below |= self.axes_of[id(e.inside)] | self.axes_of[id(e.outside)]
        elif isinstance(e, Position):
            below.update(a for a, _ in e.index.terms)
        return frozenset(below)

    def _level(self, axes: frozenset[Axis]) -> int:
        return max((self.index[a][1] for a in axes), default=0)

    def _order(self, e: Element) -> list[Element]:
        if id(e) not in self.orders:
            self.orders[id(e)] = reachable([e])
        return self.orders[id(e)]

    # ---- making elements

    def make(self, e: Element, lane: Lane, guard: Reg | None = None) -> Reg:
        """The value of `e`: a scalar if it is the same in every lane, else a vector."""
        key = self._key(e, lane, guard)
        found = self.w._values.get(key)
        if found is not None:
            return found
        for each in self._order(e) if guard is None else [e]:
            if not self._below_guard(each, e):
                self._once(each, lane, guard)
        return self._once(e, lane, guard)

    def _below_guard(self, each: Element, top: Element) -> bool:
        return each is not top and id(each) in self.guarded_parts(top)

    def guarded_parts(self, top: Element) -> set[int]:
        """The elements below `top` that are reached only through a guard, made when the guard is."""
        if id(top) not in self._inside:
            free: set[int] = set()
            stack = [top]
            while stack:
                e = stack.pop()
                if id(e) in free:
                    continue
                free.add(id(e))
                if isinstance(e, Apply):
                    stack.extend(e.args)
                elif isinstance(e, Load):
                    stack.extend(g for g, _ in e.gathered)
                elif isinstance(e, Guarded):
                    stack.append(e.outside)
            self._inside[id(top)] = {id(e) for e in self._order(top)} - free
        return self._inside[id(top)]

    def _key(self, e: Element, lane: Lane, guard: Reg | None) -> str:
        where = ""
        if self.vector is not None and self.vector in self._axes(e):
            where = f"{self.index[self.vector][0].text} {lane.start} {lane.count} {self.width}"
        return f"element {id(e)} {where} {guard.text if guard else ''}"

    def _once(self, e: Element, lane: Lane, guard: Reg | None) -> Reg:
        key = self._key(e, lane, guard)
        found = self.w._values.get(key)
        if found is None:
            level = self._level(self._axes(e))
            if guard is not None:
                level = max(level, self.guard_level)
            with self.w.at(level):
                found = self._make(e, lane, guard)
                self.w._values[key] = found
        return found

    def _make(self, e: Element, lane: Lane, guard: Reg | None) -> Reg:
        if isinstance(e, Number):
            return self.w.number(e.value, e.dtype)
        if isinstance(e, Apply):
            return self._apply(e, [self.make(a, lane, guard) for a in e.args])
        if isinstance(e, Load):
            return self._load(e, lane, guard)
        if isinstance(e, Position):
            return self._position(e.index, lane)
        assert isinstance(e, Guarded)
        return self._guarded(e, lane, guard)

    def _apply(self, e: Apply, args: list[Reg]) -> Reg:
        width = max(a.width for a in args)
        args = [self.w.splat(a, width) for a in args]
        if e.spelling == "cast":
            return self.w.cast(args[0], e.dtype)
        if e.spelling in elementary.FUNCTIONS:
            if self.counts[e.spelling] > OFTEN:
                return self._call(e, args)
            return elementary.FUNCTIONS[e.spelling](self.w, *args)
        return getattr(self.w, e.spelling)(*args)

    def _call(self, e: Apply, args: list[Reg]) -> Reg:
        """A function of its own for what a nest would otherwise repeat many times."""
        dtype, width = args[0].dtype, args[0].width
        name = f"{e.spelling}_{dtype}x{width}"
        if name not in self.w.declarations:
            inner = Writer(self.w.has_fma)
            made = elementary.FUNCTIONS[e.spelling](inner, *(Reg(dtype, width, f"%x{k}") for k in range(len(args))))
            params = ", ".join(f"{a.type} %x{k}" for k, a in enumerate(args))
            head = f"define internal {made.type} @{name}({params}) nounwind {{\nentry:"
            self.w.declarations |= inner.declarations
            self.w.declarations[name] = "\n".join([head, *inner.lines, f"  ret {made.typed}", "}"])
        given = ", ".join(a.typed for a in args)
        return self.w.value(e.dtype, width, f"call {args[0].type} @{name}({given})")

    # ---- memory

    def _load(self, e: Load, lane: Lane, guard: Reg | None) -> Reg:
        if not e.gathered:
            stored = self.stored.get((e.buffer, e.offset))
            if stored is not None:
                return self.make(stored, lane)
        where = [(self.make(g, lane, guard), stride) for g, stride in e.gathered]
        factor = e.offset.factor(self.vector) if self.vector is not None else 0
        wide = any(r.width > 1 for r, _ in where)
        dtype, w = e.dtype, self.w
        if not wide and factor == 0:
            return w.load(self._address(e.buffer, e.offset, where, lane), dtype, 1, self._scalar(guard))
        mask = self._mask(lane, guard)
        if not wide and factor == 1:
            return w.load(self._address(e.buffer, e.offset, where, lane), dtype, self.width, mask)
        if not wide and factor == -1:
            back = Lane(lane.start + self.width - 1)
            mask = mask and w.shuffle(mask, mask, list(range(self.width))[::-1])
            made = w.load(self._address(e.buffer, e.offset, where, back), dtype, self.width, mask)
            return w.shuffle(made, made, list(range(self.width))[::-1])
        lanes = self._ramp(factor)
        scalars = [(r, s) for r, s in where if r.width == 1]
        for r, stride in where:
            if r.width > 1:
                lanes = w.add(lanes, w.mul(r, w.number(stride, "i64", self.width)))
        base = self._address(e.buffer, e.offset, scalars, lane)
        return w.gather(base, lanes, mask, dtype)

    def _scalar(self, guard: Reg | None) -> Reg | None:
        """A guard as the mask of a scalar load: any lane may read what all lanes share."""
        return guard if guard is None or guard.width == 1 else self.w.any(guard)

    def _address(
        self, buffer: Buffer, offset: Affine, where: Sequence[tuple[Reg, int]], lane: Lane
    ) -> str:
        """The address of an element, built from the outermost axis inwards."""
        w, ptr, dtype = self.w, self.pointers[buffer], buffer.type.dtype
        constant = offset.constant
        for axis, factor in sorted(offset.terms, key=lambda t: self.index[t[0]][1]):
            index, level = self.index[axis]
            if axis is self.vector:
                constant += factor * lane.start
            with w.at(level):
                ptr = w.gep(ptr, dtype, w.mul(index, w.number(factor, "i64")))
        for reg, stride in where:
            ptr = w.gep(ptr, dtype, w.mul(reg, w.number(stride, "i64")))
        return w.gep(ptr, dtype, constant)

    def _ramp(self, factor: int) -> Reg:
        """0, factor, 2 * factor, ... in the lanes."""
        return ramp(self.w, factor, self.width)

    def _position(self, index: Affine, lane: Lane) -> Reg:
        w = self.w
        total, factor = w.number(index.constant, "i64"), 0
        for axis, f in sorted(index.terms, key=lambda t: self.index[t[0]][1]):
            reg, level = self.index[axis]
            if axis is self.vector:
                factor = f
                total = w.add(total, w.number(f * lane.start, "i64"))
            with w.at(level):
                step = w.mul(reg, w.number(f, "i64"))
            total = w.add(total, step)
        if not factor:
            return total
        return w.add(w.splat(total, self.width), self._ramp(factor))

    # ---- masks and guards

    def _mask(self, lane: Lane, guard: Reg | None = None) -> Reg | None:
        """Which lanes may touch memory; None for all."""
        mask = None
        if lane.count:
            here = ramp(self.w, 1, self.width)
            mask = self.w.lt(here, self.w.number(lane.count, "i64", self.width))
        if guard is not None:
            guard = self.w.splat(guard, self.width)
            mask = guard if mask is None else self.w.and_(mask, guard)
        return mask

    def masked(self, new: Reg, lane: Lane, old: Reg) -> Reg:
        """`new` in the lanes that count, else `old`."""
        mask = self._mask(lane) if new.width > 1 else None
        return new if mask is None else self.w.select(mask, new, old)

    def _guarded(self, e: Guarded, lane: Lane, guard: Reg | None) -> Reg:
        w = self.w
        outside = self.make(e.outside, lane, guard)
        inner = guard
        for index, lo, hi in e.ranges:
            here = self._position(index, lane)
            low, high = index.range()
            for keep, name, bound in ((low < lo, "ge", lo), (high >= hi, "lt", hi)):
                if keep:
                    test = getattr(w, name)(here, w.number(bound, "i64", here.width))
                    inner = test if inner is None else self._and(inner, test)
        assert inner is not None
        before, self.guard_level = self.guard_level, w.level
        inside = self.make(e.inside, lane, inner)
        self.guard_level = before
        width = max(inner.width, inside.width, outside.width)
        return w.select(*(w.splat(r, width) for r in (inner, inside, outside)))

    def _and(self, a: Reg, b: Reg) -> Reg:
        width = max(a.width, b.width)
        return self.w.and_(self.w.splat(a, width), self.w.splat(b, width))

    # ---- stores

    def wide(self, e: Element, lane: Lane) -> Reg:
        """The value of `e` in every lane."""
        return self.w.splat(self.make(e, lane), self.width if self.vector is not None else 1)

    def store(self, s: Store, lane: Lane) -> None:
        """Write one store of the nest."""
        value = self.make(s.value, lane)
        if not s.kept:
            return
        where = [(self.make(g, lane), stride) for g, stride in s.gathered]
        if s.add:
            self._add(s, value, where, lane)
        else:
            self.put(s.buffer, s.offset, value, lane, where)

    def _add(self, s: Store, value: Reg, where: list[tuple[Reg, int]], lane: Lane) -> None:
        address = self._address(s.buffer, s.offset, where, lane)
        width = self.width if self.vector is not None else 1
        mask = self._mask(lane) if width > 1 else None
        have = self.w.load(address, s.buffer.type.dtype, width, mask)
        self.w.store(address, self.w.add(have, self.w.splat(value, width)), mask)

    def put(
        self, buffer: Buffer, offset: Affine, value: Reg, lane: Lane, where: Sequence[tuple[Reg, int]] = ()
    ) -> None:
        """Write a value to buffer[offset]: a vector, or lane by lane where it is not contiguous."""
        factor = offset.factor(self.vector) if self.vector is not None else 0
        w = self.w
        if factor == 0:
            w.store(self._address(buffer, offset, where, lane), w.extract(value, 0))
            return
        value = w.splat(value, self.width)
        if factor == 1:
            w.store(self._address(buffer, offset, where, lane), value, self._mask(lane))
            return
        for k in range(lane.count or self.width):
            one = Lane(lane.start + k)
            w.store(self._address(buffer, offset, where, one), w.extract(value, k))


def ramp(w: LevelWriter, factor: int, width: int) -> Reg:
    """0, factor, 2 * factor, ... as a vector."""
    if width == 1:
        return w.number(0, "i64")
    if factor == 0:
        return w.number(0, "i64", width)
    text = ", ".join(f"i64 {k * factor}" for k in range(width))
    return Reg("i64", width, f"<{text}>")
