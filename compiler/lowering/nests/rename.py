"""A nest over other axes and buffers: every element and statement of it, made anew where something changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from ...loops import Affine, Apply, Axis, Buffer, Element, Guarded, Load, Position
from ..origins import copied
from ..program import Accumulate, Assert, Nest, Store
from .inside import reachable


class Slice(NamedTuple):
    """What is left of a buffer in one step of some of its axes.

    cuts   (distance between two steps, number of steps) of each axis that is gone, farthest first
    whole  how many elements the buffer had
    """

    buffer: Buffer
    cuts: tuple[tuple[int, int], ...]
    whole: int

    def step(self, distance: int) -> int:
        """How far apart two elements of the slice are that were `distance` apart; it walks no axis that is gone."""
        left = self.whole
        for size, steps in self.cuts:
            # Of the outermost axis every step is within the slice: -10 may be two rows that another axis makes up for.
            if size * steps < left:
                whole, rest = divmod(abs(distance), size * steps)
                distance = (whole * size + rest) * (1 if distance >= 0 else -1)
            left //= steps
        return distance


class Rename:
    """Replaces axes and buffers.

    axes     what stands for an axis: (another axis, how many of its steps one step of the old one makes), or
             (the axis itself, 0) for one that has a single step
    buffers  what stands for a buffer in the steps of some axes: a smaller buffer without those axes
    dropped  what the axes without which they are are called in this nest
    expand   what stands for an axis: an index over other axes
    single   by the id of a load: its axes that guards leave one step of, and which: these are no terms of its offset
    """

    def __init__(
        self,
        axes: Mapping[Axis, tuple[Axis, int]],
        buffers: Mapping[Buffer, Slice] | None = None,
        dropped: frozenset[Axis] = frozenset(),
        expand: Mapping[Axis, Affine] = MappingProxyType({}),
        single: Mapping[int, Mapping[Axis, int]] = MappingProxyType({}),
    ) -> None:
        self.expand, self.single = expand, single
        self.axes, self.slices, self.dropped = axes, buffers or {}, dropped
        self.buffers = {old: new.buffer for old, new in self.slices.items()}
        self.made: dict[int, Element] = {}

    def affine(self, x: Affine, buffer: Buffer | None = None) -> Affine:
        """An index, or an offset into a buffer, over the new axes."""
        if any(axis in self.expand for axis, _ in x.terms):
            return sum((self.expand.get(a, Affine(((a, 1),))) * f for a, f in x.terms), Affine((), x.constant))
        total: dict[Axis, int] = {}
        part = self.slices.get(buffer) if buffer is not None else None
        for axis, factor in x.terms:
            if part is not None:
                if axis in self.dropped:
                    continue
                factor = part.step(factor)
            while axis in self.axes and self.axes[axis][0] is not axis:
                whole, inner = self.axes[axis]
                if inner != 1:
                    factor = factor // inner if inner else 0
                axis = whole
            if axis in self.axes:
                continue
            total[axis] = factor
        constant = x.constant if part is None else part.step(x.constant)
        return Affine(tuple((a, f) for a, f in total.items() if f), constant)

    def _settled(self, load: Load) -> Affine:
        """The offset of a load with the steps of axes that can be one only: a slice walks along none of them."""
        steps = self.single.get(id(load)) if load.buffer in self.slices else None
        if not steps:
            return load.offset
        kept = tuple((a, f) for a, f in load.offset.terms if a not in steps)
        return Affine(kept, load.offset.constant + sum(f * steps[a] for a, f in load.offset.terms if a in steps))

    def element(self, top: Element) -> Element:
        """An element over the new axes and buffers."""
        if id(top) not in self.made:
            for e in reachable([top]):
                if id(e) not in self.made:
                    self.made[id(e)] = copied(self._one(e), e)
        return self.made[id(top)]

    def _one(self, e: Element) -> Element:
        made = self.made
        if isinstance(e, Load):
            gathered = tuple((made[id(g)], s) for g, s in e.gathered)
            place = self.affine(self._settled(e), e.buffer)
            return Load(self.buffers.get(e.buffer, e.buffer), place, gathered)
        if isinstance(e, Apply):
            args = tuple(made[id(a)] for a in e.args)
            same = all(a is b for a, b in zip(args, e.args, strict=True))
            return e if same else Apply(e.spelling, args, e.dtype)
        if isinstance(e, Guarded):
            ranges = tuple((self.affine(i), lo, hi) for i, lo, hi in e.ranges)
            return Guarded(ranges, made[id(e.inside)], made[id(e.outside)])
        return Position(self.affine(e.index)) if isinstance(e, Position) else e

    def nest(self, nest: Nest, axes: tuple[Axis, ...], reduced: int) -> Nest:
        """The nest over `axes`, the last `reduced` of which are folded."""
        return replace(
            nest,
            axes=axes,
            reduced=reduced,
            stores=tuple(map(self.store, nest.stores)),
            folds=tuple(map(self.fold, nest.folds)),
            after=tuple(map(self.store, nest.after)),
            asserts=tuple(Assert(self.element(a.fails), self.element(a.report), a.site) for a in nest.asserts),
        )

    def store(self, s: Store) -> Store:
        """A store over the new axes and buffers."""
        gathered = tuple((self.element(e), n) for e, n in s.gathered)
        buffer, offset = self.buffers.get(s.buffer, s.buffer), self.affine(s.offset, s.buffer)
        return replace(s, buffer=buffer, offset=offset, value=self.element(s.value), gathered=gathered)

    def fold(self, f: Accumulate) -> Accumulate:
        """A fold over the new axes and buffers."""
        position = f.position and self.element(f.position)
        buffer, offset = self.buffers.get(f.buffer, f.buffer), self.affine(f.offset, f.buffer)
        return replace(f, buffer=buffer, offset=offset, value=self.element(f.value), position=position)


__all__ = ["Rename", "Slice"]
