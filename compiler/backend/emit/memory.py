"""Where the elements of a nest lie: addresses, loads, stores and the masks of the lanes that may touch memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ...ir.measure import Extent
from ...loops import Affine, Axis, Buffer, Element, Load
from ...lowering.program import Store
from ..text.levels import LevelWriter
from ..text.registers import BYTES, Reg
from .blocks import picked, ramp, spread, turned
from .held import Held, held_lanes, held_one, keep_lanes

#: Elements so many places apart are read and written as contiguous vectors; others lane by lane.
NEAR = 4

#: The bytes of the longest load that a guard may mask as it is. Without AVX-512, LLVM 22 halves a longer one, and where
#: it finds that the mask of a half is never true and the other's may be, it reads that half without a mask.
SAFELY_GUARDED = 32


class Cell(NamedTuple):
    """One vector of a turn: where it starts, how many of its lanes count if not all, and its step of the tile axis.

    A count that is known only at run time may be negative, or more than there are lanes.
    """

    start: int
    count: int | Reg = 0
    row: int = 0


class Place(NamedTuple):
    """What is added to an offset at run time: a register times a stride, and the loop level at which it is known."""

    index: Reg
    stride: int
    level: int


_level = itemgetter(2)


class Row:
    """What the nests of one row share: where the outer axes stand, and the buffers of the row.

    index      the outer axes: where each stands, and the loop level at which that is known
    local      buffers of the row; in memory, a buffer has `width` lanes for each of its elements
    registers  what the local buffers hold, by buffer and offset, where they are not in memory; None if they are
    base       the level of the text around the row: what depends on no axis is made there
    """

    def __init__(
        self, local: Sequence[Buffer] = (), width: int = 1, straight: bool = False, base: int = 0
    ) -> None:
        self.base = base
        self.index: dict[Axis, tuple[Reg, int]] = {}
        self.local, self.width = frozenset(local), width
        self.registers: Held | None = {} if straight else None


class Memory(ABC):
    """The loads and stores of a nest's elements, cell by cell."""

    w: LevelWriter
    pointers: dict[Buffer, str]
    vector: Axis | None
    width: int
    tile: Axis | None
    row: Row
    index: dict[Axis, tuple[Reg, int]]
    written_out: dict[Axis, int]
    held: dict[tuple[Buffer, Affine], dict[tuple[int, int], Reg]]
    stored: dict[tuple[Buffer, Affine], Element]
    #: where elements lie that no constant is added to yet, by buffer and the axes of an offset that stand where they do
    begins: dict[tuple[Buffer, Any], str]
    #: the steps of the tile axis that the turn makes, and what of them has been read in blocks
    rows: Sequence[int]
    blocks: dict[tuple[str, ...], list[Reg]]

    @abstractmethod
    def make(self, e: Element, cell: Cell, guard: Reg | None = None) -> Reg:
        """The value of an element."""

    @abstractmethod
    def places(self, gathered: Sequence[tuple[Element, int]], cell: Cell, guard: Reg | None = None) -> list[Place]:
        """What is added to an offset at run time."""

    def _load(self, e: Load, cell: Cell, guard: Reg | None) -> Reg:
        if not e.gathered:
            stored = self.stored.get((e.buffer, e.offset))
            if stored is not None:
                return self.make(stored, cell)
            held = self.held.get((e.buffer, e.offset))
            if held is not None:
                return held[cell.start, cell.row]
            if e.buffer in self.row.local and (self.row.width > 1 or self.row.registers is not None):
                return self._load_local(e, cell, guard)
            known = self.w.held(e.buffer)
            if known is not None:
                return known
        where = self.places(e.gathered, cell, guard)
        factor = e.offset.factor(self.vector) if self.vector is not None else 0
        wide = any(p.index.width > 1 for p in where)
        dtype, w = e.dtype, self.w
        if not wide and factor == 0:
            return w.load(self._address(e.buffer, e.offset, where, cell), dtype, 1, self._scalar(guard))
        mask = self._mask(cell, guard)
        if not wide and mask is not None and guard is not None and self.width * BYTES[dtype] > SAFELY_GUARDED:
            mask = self._not_foreseen(mask)
        if not wide and factor == 1:
            return w.load(self._address(e.buffer, e.offset, where, cell), dtype, self.width, mask)
        if not wide and factor == -1:
            back = cell._replace(start=cell.start + self.width - 1)
            mask = mask and w.shuffle(mask, mask, list(range(self.width))[::-1])
            made = w.load(self._address(e.buffer, e.offset, where, back), dtype, self.width, mask)
            return w.shuffle(made, made, list(range(self.width))[::-1])
        if not wide and guard is None and self._in_blocks(e, cell):
            return self._block(e, where, cell)[cell.row - self.rows[0]]
        if not wide and mask is None and self._near(factor):
            return self._picked(e, where, cell, factor)
        lanes = self._ramp(factor)
        scalars = [p for p in where if p.index.width == 1]
        for p in where:
            if p.index.width > 1:
                lanes = w.add(lanes, w.mul(p.index, w.number(p.stride, "i64", self.width)))
        base = self._address(e.buffer, e.offset, scalars, cell)
        return w.gather(base, lanes, mask, dtype)

    def _near(self, factor: int | Extent) -> bool:
        """Whether lanes lie a few places apart, and no vector between the first and the last goes beyond it."""
        return not isinstance(factor, Extent) and 1 < factor <= min(NEAR, self.width + 1) and self.width > 1

    def _picked(self, e: Load, where: Sequence[Place], cell: Cell, step: int) -> Reg:
        """A vector of elements a few places apart: the whole memory from the first to the last is read."""
        w, width = self.w, self.width
        first = self._address(e.buffer, e.offset, where, cell)
        starts = [*[k * width for k in range(step - 1)], (step - 1) * (width - 1)]
        return picked(w, [w.load(w.gep(first, e.dtype, at), e.dtype, width) for at in starts], step)

    def _in_blocks(self, e: Load, cell: Cell) -> bool:
        """Whether neighbours of what is read lie along the tile axis, in so many rows that a block is worth reading."""
        near = self.tile is not None and e.offset.factor(self.tile) == 1 and e.dtype != "bool"
        return near and 2 < len(self.rows) <= self.width and not isinstance(cell.count, Reg)

    def _block(self, e: Load, where: Sequence[Place], cell: Cell) -> list[Reg]:
        """What is read for all rows of the turn."""
        assert self.vector is not None and self.tile is not None
        w, width = self.w, self.width
        key = (f"{id(e)} {cell.start} {cell.count}", self.index[self.vector][0].text, self.index[self.tile][0].text)
        if key not in self.blocks:
            mask = None
            if len(self.rows) < width:
                mask = w.lt(ramp(w, 1, width), w.number(len(self.rows), "i64", width))
            first = cell._replace(row=self.rows[0])
            assert isinstance(cell.count, int)
            columns = [first._replace(start=cell.start + k) for k in range(cell.count or width)]
            read = [w.load(self._address(e.buffer, e.offset, where, c), e.dtype, width, mask) for c in columns]
            self.blocks[key] = turned(w, read, len(self.rows))
        return self.blocks[key]

    def _load_local(self, e: Load, cell: Cell, guard: Reg | None) -> Reg:
        """An element of a buffer of the row: a register, or memory with a place for each lane."""
        if self.row.registers is not None:
            return self._registers(e)
        mask = None if guard is None else self.w.splat(guard, self.row.width)
        return self.w.load(self._address(e.buffer, e.offset * self.row.width, [], cell), e.dtype, self.row.width, mask)

    def _registers(self, e: Load) -> Reg:
        """What registers hold of a buffer: one number, or a vector of them."""
        held, at = self.row.registers, self._number(e.offset)
        assert held is not None
        if self.vector not in self.written_out or not e.offset.factor(self.vector):
            return held_one(self.w, held, e.buffer, at)
        return held_lanes(self.w, held, e.buffer, at, self.width)

    def _number(self, offset: Affine) -> int:
        """An offset over loops that are written out."""
        return offset.constant + sum(f * self.written_out[a] for a, f in offset.terms)

    def _scalar(self, guard: Reg | None) -> Reg | None:
        """A guard as the mask of a scalar load: any lane may read what all lanes share."""
        return guard if guard is None or guard.width == 1 else self.w.any(guard)

    def _address(self, buffer: Buffer, offset: Affine, where: Sequence[Place], cell: Cell) -> str:
        """The address of an element, built from what is known outermost inwards."""
        constant = offset.constant
        for axis, factor in offset.terms:
            if axis is self.vector:
                constant += factor * cell.start
            elif axis is self.tile:
                constant += factor * cell.row
        if where:
            return self.w.gep(self._begin(buffer, offset, where), buffer.type.dtype, constant)
        begin = self.begins.get((buffer, offset.terms))
        if begin is None:
            begin = self.begins[buffer, offset.terms] = self._begin(buffer, offset, where)
        return self.w.gep(begin, buffer.type.dtype, constant)

    def _begin(self, buffer: Buffer, offset: Affine, where: Sequence[Place]) -> str:
        """The address to which a constant is added for each cell."""
        w, ptr, dtype = self.w, self.pointers[buffer], buffer.type.dtype
        terms = [*where, *[Place(self.index[axis][0], factor, self.index[axis][1]) for axis, factor in offset.terms]]
        for index, stride, level in sorted(terms, key=_level) if len(terms) > 1 else terms:
            with w.at(level):
                ptr = w.gep(ptr, dtype, w.mul(index, w.number(stride, "i64")))
        return ptr

    def _step(self, axis: Axis, cell: Cell) -> int:
        """How far the cell is along an axis from where the turn stands."""
        return cell.start if axis is self.vector else cell.row if axis is self.tile else 0

    def _ramp(self, factor: int) -> Reg:
        """0, factor, 2 * factor, ... in the lanes."""
        return ramp(self.w, factor, self.width)

    def _position(self, index: Affine, cell: Cell) -> Reg:
        w = self.w
        total, factor = w.number(index.constant, "i64"), 0
        for axis, f in sorted(index.terms, key=lambda t: self.index[t[0]][1]):
            reg, level = self.index[axis]
            if axis is self.vector:
                factor = f
            total = w.add(total, w.number(f * self._step(axis, cell), "i64"))
            with w.at(level):
                step = w.mul(reg, w.number(f, "i64"))
            total = w.add(total, step)
        if not factor:
            return total
        return w.add(w.splat(total, self.width), self._ramp(factor))

    # ---- masks

    def _mask(self, cell: Cell, guard: Reg | None = None) -> Reg | None:
        """Which lanes may touch memory; None for all."""
        mask = None
        if cell.count:
            here = ramp(self.w, 1, self.width)
            mask = self.w.lt(here, self._count(cell))
        if guard is not None:
            guard = self.w.splat(guard, self.width)
            mask = guard if mask is None else self.w.and_(mask, guard)
        return mask

    def _not_foreseen(self, mask: Reg) -> Reg:
        """The same mask, of which LLVM cannot tell that one half is never true."""
        w = self.w
        with w.at(self.row.base):
            zero = w.value("i64", 1, 'call i64 asm "", "=r,0"(i64 0)')
            never = w.splat(w.ne(zero, w.number(0, "i64")), self.width)
        return w.xor(mask, never)

    def _count(self, cell: Cell) -> Reg:
        """How many lanes count, in every lane."""
        if isinstance(cell.count, Reg):
            return self.w.splat(cell.count, self.width)
        return self.w.number(cell.count, "i64", self.width)

    def masked(self, new: Reg, cell: Cell, old: Reg) -> Reg:
        """`new` in the lanes that count, else `old`."""
        mask = self._mask(cell) if new.width > 1 else None
        return new if mask is None else self.w.select(mask, new, old)

    # ---- stores

    def fold(self, s: Store, value: Reg, where: list[Place], cell: Cell) -> None:
        if self.vector is not None and s.offset.factor(self.vector) != 1:
            self._fold_in_turn(s, value, where, cell)
            return
        address = self._address(s.buffer, s.offset, where, cell)
        width = self.width if self.vector is not None else 1
        mask = self._mask(cell) if width > 1 else None
        have = self.w.load(address, s.buffer.type.dtype, width, mask)
        self.w.store(address, self.w.combine(s.fold, have, self.w.splat(value, width)), mask)

    def _fold_in_turn(self, s: Store, value: Reg, where: list[Place], cell: Cell) -> None:
        """The same lane by lane: several lanes may have the same place."""
        assert self.vector is not None
        w, factor = self.w, s.offset.factor(self.vector)
        for k, mask in self._lanes(cell):
            places = [p if p.index.width == 1 else Place(w.extract(p.index, k), p.stride, w.level) for p in where]
            address = self._address(s.buffer, s.offset, places, cell._replace(start=cell.start + k if factor else 0))
            have = w.load(address, s.buffer.type.dtype, 1, mask)
            w.store(address, w.combine(s.fold, have, w.extract(value, k)), mask)

    def _lanes(self, cell: Cell) -> Iterator[tuple[int, Reg | None]]:
        """The lanes that may count, and whether each does, where that is known only at run time."""
        if isinstance(cell.count, Reg):
            for k in range(self.width):
                yield k, self.w.lt(self.w.number(k, "i64"), cell.count)
        else:
            yield from ((k, None) for k in range(cell.count or self.width))

    def put(
        self, buffer: Buffer, offset: Affine, value: Reg, cell: Cell, where: Sequence[Place] = ()
    ) -> None:
        """Write a value to buffer[offset]: a vector, or lane by lane where it is not contiguous."""
        factor = offset.factor(self.vector) if self.vector is not None else 0
        w = self.w
        if buffer in self.row.local and self.row.registers is not None:
            self._keep(buffer, self._number(offset), value)
            return
        if w.level == self.row.base and value.width == 1 and not buffer.type.shape:
            w.hold(buffer, value)
        if buffer in self.row.local and self.row.width > 1:
            w.store(self._address(buffer, offset * self.row.width, where, cell), w.splat(value, self.width))
            return
        if factor == 0:
            w.store(self._address(buffer, offset, where, cell), w.extract(value, 0))
            return
        value = w.splat(value, self.width)
        if factor == 1:
            w.store(self._address(buffer, offset, where, cell), value, self._mask(cell))
            return
        if self._near(factor) and not cell.count and value.dtype != "bool":
            first = self._address(buffer, offset, where, cell)
            for k, (part, mask) in enumerate(spread(w, value, factor)):
                w.store(w.gep(first, value.dtype, k * self.width), part, mask)
            return
        for k, mask in self._lanes(cell):
            one = cell._replace(start=cell.start + k)
            w.store(self._address(buffer, offset, where, one), w.extract(value, k), mask)

    def _keep(self, buffer: Buffer, at: int, value: Reg) -> None:
        """Let registers hold a number, or the lanes of a vector, which are taken apart where one is asked for."""
        held = self.row.registers
        assert held is not None
        if self.vector not in self.written_out:  # a number, or that of several rows in lanes
            held[buffer, at] = value
        else:
            keep_lanes(held, buffer, at, self.w.splat(value, self.width))

    def is_local(self, buffer: Buffer) -> bool:
        """Whether a buffer of the row is in registers, or has a place for each lane."""
        return buffer in self.row.local and (self.row.registers is not None or self.row.width > 1)

    def put_rows(self, buffer: Buffer, offset: Affine, value: Reg, rows: Sequence[int]) -> None:
        """Write the first lanes of a value to consecutive elements, one for each row."""
        w, mask = self.w, None
        if len(rows) < value.width:
            mask = w.lt(ramp(w, 1, value.width), w.number(len(rows), "i64", value.width))
        w.store(self._address(buffer, offset, [], Cell(0, 0, rows[0])), value, mask)


__all__ = ["Cell", "Memory", "Row"]
