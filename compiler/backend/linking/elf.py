"""An object file of x86-64 Linux goes in, its code in this process' memory comes out.

    loaded = load(objects, {"sin": address}, ["kernel"])      loaded.addresses["kernel"]

It does what LLVM's linker does in memory, for the objects that LLVM makes of our text, in a fifth of the time and
without LLVM: a process that finds its code on disk never loads that. Sections that nothing writes to lie in front, and
behind them a table of the addresses of what is elsewhere, with jumps to these: pages that are then read and run, and
never written. Pages of variables follow. Relocations are the numbers of a vector, those of a kind treated at once.
Unwinding through this code is not provided for: nothing that it calls throws.

Sources: System V ABI, AMD64 supplement, chapter 4 (objects, relocations); appendix B.2 (addresses read from the table
become addresses computed, where they are near).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .. import process

_MAGIC = b"\x7fELF\x02\x01\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype([
    ("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("at", "<i8"), ("size", "<u8")
])
_RELOCATION = np.dtype([("at", "<i8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _RELOCATIONS, _EMPTY = 2, 4, 8
_WRITTEN, _LOADED = 1, 2
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1
_CALL, _SHORT = 4, 10
_KNOWN, _TABLED, _MOVED, _FIXED, _WIDE = 1, 2, 4, 8, 16
"""What a relocation is: one that is known, of an address in the table, by an instruction that may become another one,
of an address and no distance, of eight bytes and not four."""

_KINDS = np.zeros(64, np.uint8)
_KINDS[[2, _CALL]] = _KNOWN
_KINDS[1] = _KNOWN | _FIXED | _WIDE
_KINDS[24] = _KNOWN | _WIDE
_KINDS[[_SHORT, 11]] = _KNOWN | _FIXED
_KINDS[9] = _KNOWN | _TABLED
_KINDS[[41, 42]] = _KNOWN | _TABLED | _MOVED
_LOAD, _COMPUTE = 0x8B, 0x8D
"""What a `mov` from the table begins with, and the `lea` that does the same for what is near."""

_SLOT = 8
"""Bytes of an address in the table, and of a jump behind it."""

_NEAR = 2**31


class Unlinkable(Exception):
    """An object that this linker does not know, and why."""


class Unresolved(Exception):
    """An object that no linker can link: names that nobody has."""


class Loaded(NamedTuple):
    """Pages in memory, and the addresses of what was asked for."""

    addresses: dict[str, int]
    begin: int
    size: int

    def unload(self) -> None:
        """Give the pages back: nothing may run there, nor come there again."""
        process.unmap(self.begin, self.size)


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


def is_ours(objects: bytes) -> bool:
    """Whether this is an object that `load` knows."""
    if len(objects) < _HEADER.size or not objects.startswith(_MAGIC):
        return False
    return _HEADER.unpack_from(objects)[1:3] == (_RELOCATABLE, _X86_64)


def load(objects: bytes, symbols: Mapping[str, int], exports: Iterable[str]) -> Loaded:
    """Put an object into memory, its undefined names bound to `symbols`, and look up `exports`."""
    sections = [*_sections(objects)]
    table = next((each for each in sections if each.kind == _SYMBOLS), None)
    if table is None:
        raise Unlinkable("it has no symbols")
    known = np.frombuffer(objects, _SYMBOL, table.size // _SYMBOL.itemsize, table.offset)
    names = _names(objects, sections[table.link], known, table.info)
    moved = [(each.info, np.frombuffer(objects, _RELOCATION, each.size // _RELOCATION.itemsize, each.offset))
             for each in sections if each.kind == _RELOCATIONS and sections[each.info].flags & _LOADED]
    tabled = _tabled(known, [each for _, each in moved])
    places, table_at, code, size = _laid_out(sections, len(tabled))
    begin = process.map_memory(size)
    try:
        memory = np.frombuffer(process.memory(begin, size), np.uint8)
        for place, each in zip(places, sections, strict=True):
            if place >= 0 and each.kind != _EMPTY:
                memory[place : place + each.size] = np.frombuffer(objects, np.uint8, each.size, each.offset)
        values = _values(known, np.array(places, np.int64) + begin, names, symbols)
        slots = _fill_table(memory, table_at, begin, tabled, values)
        for section, each in moved:
            _relocate(memory, places[section], begin, each, values, slots)
        addresses = _exported(known, values, names, exports)
        process.make_code(begin, code)
    except BaseException:
        process.unmap(begin, size)
        raise
    return Loaded(addresses, begin, size)


def _sections(objects: bytes) -> Iterator[_Section]:
    head = _HEADER.unpack_from(objects)
    for k in range(head[12]):
        _, kind, flags, _, offset, size, link, info, align, _ = _SECTION.unpack_from(objects, head[6] + k * head[11])
        yield _Section(kind, flags, offset, size, link, info, align)


def _names(objects: bytes, texts: _Section, known: np.ndarray, first: int) -> dict[str, int]:
    """The numbers of the symbols that other objects see, by name."""
    found = {}
    for number, at in enumerate(known["name"][first:].tolist(), first):
        begin = texts.offset + at
        found[objects[begin : objects.index(b"\0", begin)].decode()] = number
    return found


def _kinds(moved: np.ndarray) -> np.ndarray:
    """What each relocation is."""
    found = _KINDS[np.minimum(moved["kind"], len(_KINDS) - 1)]
    if not found.all():
        raise Unlinkable(f"relocations of the kind {moved['kind'][found == 0][0]}")
    return found


def _tabled(known: np.ndarray, moved: list[np.ndarray]) -> np.ndarray:
    """The numbers of the symbols that have a place in the table: those read from it, and those called elsewhere."""
    needed = np.zeros(len(known), np.bool_)
    for each in moved:
        away = known["section"][each["symbol"]] == _UNDEFINED
        needed[each["symbol"][(_kinds(each) & _TABLED != 0) | (away & (each["kind"] == _CALL))]] = True
    return np.flatnonzero(needed)


def _laid_out(sections: list[_Section], tabled: int) -> tuple[list[int], int, int, int]:
    """Where each section lies, -1 for nowhere, where the table does, how long the code is, and all."""
    places, at = [-1] * len(sections), 0
    for written in (0, _WRITTEN):
        for k, each in enumerate(sections):
            if each.flags & (_LOADED | _WRITTEN) == _LOADED | written:
                places[k] = at = -(-at // max(each.align, 1)) * max(each.align, 1)
                at += each.size
        if not written:
            table = -(-at // _SLOT) * _SLOT
            at = code = -(-(table + 2 * _SLOT * tabled) // process.PAGE_SIZE) * process.PAGE_SIZE
    return places, table, code, -(-at // process.PAGE_SIZE) * process.PAGE_SIZE


def _values(known: np.ndarray, places: np.ndarray, names: Mapping[str, int], symbols: Mapping[str, int]) -> np.ndarray:
    """The address of each symbol."""
    inside = (known["section"] != _UNDEFINED) & (known["section"] < len(places))
    values = known["at"] + np.where(inside, places[np.where(inside, known["section"], 0)], 0)
    missing = []
    for name, number in names.items():
        section = known["section"][number]
        if section == _UNDEFINED and name in symbols:
            values[number] = symbols[name]
        elif section == _UNDEFINED:
            missing.append(name)
        elif not inside[number] and section != _ABSOLUTE:
            raise Unlinkable(f"{name} is in a section of the kind {section:#x}")
    if missing:
        raise Unresolved(f"symbols not found: {', '.join(missing)}")
    return values


def _fill_table(memory: np.ndarray, at: int, begin: int, tabled: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Write the addresses, and behind them the jumps to each; where each symbol's address stands, by its number."""
    count = len(tabled)
    slots = np.zeros(len(values), np.int64)
    slots[tabled] = begin + at + _SLOT * np.arange(count)
    jumps = at + _SLOT * count
    memory[at:jumps] = values[tabled].view(np.uint8)
    memory[jumps : jumps + _SLOT * count] = np.tile(np.frombuffer(_jump(count), np.uint8), count)
    return slots


def _jump(count: int) -> bytes:
    """`jmp *there(%rip)` and two bytes more: an address lies as far from its jump as any other."""
    return b"\xff\x25" + struct.pack("<i", -_SLOT * count - 6) + b"\x90\x90"


def _relocate(
    memory: np.ndarray, place: int, begin: int, moved: np.ndarray, values: np.ndarray, slots: np.ndarray
) -> None:
    """Write into a section what its relocations ask for."""
    kind, symbol, addend, of = moved["kind"], moved["symbol"], moved["addend"], _kinds(moved)
    at = moved["at"] + place
    here = at + begin
    target = values[symbol] + addend
    near = np.abs(target - here) < _NEAR
    tabled = of & _TABLED != 0
    if tabled.any():
        direct = near & (of & _MOVED != 0) & (memory[np.maximum(at - 2, 0)] == _LOAD)
        memory[at[direct] - 2] = _COMPUTE
        target = np.where(tabled & ~direct, slots[symbol] + addend, target)
    if not near.all():
        jumps = slots + _SLOT * np.count_nonzero(slots)
        target = np.where((kind == _CALL) & ~near, jumps[symbol] + addend, target)
    result = np.where(of & _FIXED != 0, target, target - here)
    wide = of & _WIDE != 0
    low = np.where(kind == _SHORT, 0, -_NEAR)
    fits = wide | ((result >= low) & (result < low + 2 * _NEAR))
    if not fits.all():
        raise Unlinkable(f"a relocation of the kind {kind[~fits][0]} that reaches too far")
    _write(memory, at[wide], result[wide], 8)
    _write(memory, at[~wide], result[~wide], 4)


def _write(memory: np.ndarray, at: np.ndarray, numbers: np.ndarray, size: int) -> None:
    """Write the lower bytes of numbers to their places, which need not be aligned."""
    memory[at[:, None] + np.arange(size)] = numbers.view(np.uint8).reshape(-1, 8)[:, :size]


def _exported(
    known: np.ndarray, values: np.ndarray, names: Mapping[str, int], exports: Iterable[str]
) -> dict[str, int]:
    found = {}
    for name in exports:
        if name not in names or known["section"][names[name]] == _UNDEFINED:
            raise Unresolved(f"symbols not found: {name}")
        found[name] = int(values[names[name]])
    return found


__all__ = ["Loaded", "Unlinkable", "Unresolved", "is_ours", "load"]
