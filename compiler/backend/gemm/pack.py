"""The copies a matrix product makes, so that its tiles read consecutive memory, and the write at the edges.

Strides are in bytes, sizes in elements.  A panel of b has two vectors for each k, a vector after the other, zeros (or
copies of other elements of b) where b has no more columns; panels follow each other `kp` rows apart, an odd number:
were it a power of two, the lines that a row is packed into would collide in the cache (8 % of a product).  Nothing
outside of the operands is read, nor written outside of c.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from ..text.registers import Reg
from ..text.writer import Writer
from .tile import Shape

BLOCK_K = 256
"""How many products are summed before their sum is added to c. Results depend on it, on no other size."""

SIDE = 4  # of the squares in which a panel is transposed; larger ones take long to compile and gain nothing
AHEAD = 8  # rows of b asked for before they are packed

_KIND = re.compile(r"(\w+)(?: noalias)? %")
_PARAMETERS = {
    "pack_rows": "ptr noalias %b, i64 %bk, ptr noalias %to, i64 %kp, i64 %n, i64 %skip, i64 %first, i64 %last",
    "pack_columns": "ptr noalias %b, i64 %bj, ptr noalias %to, i64 %k, i64 %n",
    "copy_rows": "ptr noalias %a, i64 %ar, ptr noalias %to, i64 %rows, i64 %height, i64 %k",
    "copy_columns": "ptr noalias %a, i64 %ak, ptr noalias %to, i64 %rows, i64 %k",
    "put": "ptr noalias %tile, ptr noalias %c, i64 %cr, i64 %rows, i64 %n, i1 %more",
    "fetch": "ptr %from, i64 %stride, i64 %rows",
}


def copy_name(s: Shape, name: str) -> str:
    """What a copy is called in the text."""
    return f"pullback_{s.dtype}_{name}"


def copy_names(s: Shape) -> list[str]:
    """What all of them are called."""
    return [copy_name(s, name) for name in _PARAMETERS]


def copy_declarations(s: Shape) -> str:
    """What a module that calls them says of them."""
    return "\n".join(f"declare void @{copy_name(s, name)}({', '.join(_KIND.findall(text))})"
                     for name, text in _PARAMETERS.items())


def row_stride(s: Shape) -> int:
    """Bytes from a copied row of `a` to the next: a cache line more than a power of two, so that rows don't collide."""
    return BLOCK_K * s.size + 64


def copies(s: Shape) -> str:
    """The text of all of them."""
    return "\n".join([_pack_rows(s), _pack_columns(s), _copy_rows(s), _copy_columns(s), _put(s), _fetch(s)])


def _pack_rows(s: Shape) -> str:
    """Rows `first` to `last` of b, whose rows are consecutive, into all panels but the first `skip`."""
    w = Writer(s.fma)
    n, step = _word("%n"), _word("%kp")
    whole = w.value("i64", 1, f"udiv {n.typed}, {s.columns}")
    used = w.mul(whole, w.number(s.columns, "i64"))
    rest = w.sub(n, used)
    masks = [_mask(w, s, rest, v) for v in range(2)]
    partial = w.gt(rest, w.number(0, "i64"))
    apart = w.mul(step, w.number(2 * s.vector, "i64"))
    ahead = w.mul(_word("%bk"), w.number(AHEAD, "i64"))

    def one(k: Reg) -> None:
        source = w.gep("%b", "bool", w.mul(k, _word("%bk")))
        target = w.gep("%to", "bool", w.mul(k, w.number(2 * s.vector, "i64")))

        def panel(p: Reg, mask: list[Reg | None]) -> None:
            here = w.gep(source, "bool", w.mul(p, w.number(2 * s.vector, "i64")))
            there = w.gep(target, "bool", w.mul(p, apart))
            for line in range(0, 2 * s.vector, 64):
                _prefetch(w, w.gep(w.gep(here, "bool", ahead), "bool", line))
            for v in range(2):
                value = w.load(w.gep(here, "bool", v * s.vector), s.dtype, s.width, mask[v])
                w.store(w.gep(there, "bool", v * s.vector), value)

        _loop(w, _word("%skip"), whole, 1, lambda p: panel(p, [None, None]))
        _if(w, partial, lambda: panel(whole, [*masks]))

    _loop(w, _word("%first"), _word("%last"), 1, one)
    return _function(w, s, "pack_rows")


def _pack_columns(s: Shape) -> str:
    """One panel of at most n columns, each of which is consecutive: squares are transposed in registers."""
    w = Writer(s.fma)
    side = min(s.width, SIDE)
    square = dataclasses.replace(s, width=side)
    last = w.sub(_word("%n"), w.number(1, "i64"))

    def columns(j: Reg) -> None:
        starts = []
        for lane in range(side):
            column = _smaller(w, w.add(j, w.number(lane, "i64")), last)
            starts.append(w.gep("%b", "bool", w.mul(column, _word("%bj"))))
        target = w.gep("%to", "bool", w.mul(j, w.number(s.size, "i64")))

        def one(k: Reg) -> None:
            mask = _mask(w, square, w.sub(_word("%k"), k), 0)
            offset = w.mul(k, w.number(s.size, "i64"))
            lines = [w.load(w.gep(at, "bool", offset), s.dtype, side, mask) for at in starts]
            there = w.gep(target, "bool", w.mul(k, w.number(2 * s.vector, "i64")))
            for i, line in enumerate(_transposed(w, lines)):
                w.store(w.gep(there, "bool", i * 2 * s.vector), line)

        _loop(w, w.number(0, "i64"), _word("%k"), side, one)

    _loop(w, w.number(0, "i64"), _word("%n"), side, columns)
    return _function(w, s, "pack_columns")


def _transposed(w: Writer, lines: list[Reg]) -> list[Reg]:
    """The columns of a square of registers: interleave line i with line i + half, as often as halving takes."""
    width = len(lines)
    half = width // 2
    low = [lane for i in range(half) for lane in (i, width + i)]
    high = [lane + half for lane in low]
    for _ in range(width.bit_length() - 1):
        lines = [w.shuffle(lines[i], lines[i + half], mask) for i in range(half) for mask in (low, high)]
    return lines


def _copy_rows(s: Shape) -> str:
    """`height` rows of a, the last one again where a has only `rows`."""
    w = Writer(s.fma)
    last = w.sub(_word("%rows"), w.number(1, "i64"))

    def row(r: Reg) -> None:
        source = w.gep("%a", "bool", w.mul(_smaller(w, r, last), _word("%ar")))
        target = w.gep("%to", "bool", w.mul(r, w.number(row_stride(s), "i64")))

        def part(k: Reg) -> None:
            mask = _mask(w, s, w.sub(_word("%k"), k), 0)
            offset = w.mul(k, w.number(s.size, "i64"))
            w.store(w.gep(target, "bool", offset), w.load(w.gep(source, "bool", offset), s.dtype, s.width, mask))

        _loop(w, w.number(0, "i64"), _word("%k"), s.width, part)

    _loop(w, w.number(0, "i64"), _word("%height"), 1, row)
    return _function(w, s, "copy_rows")


def _copy_columns(s: Shape) -> str:
    """`rows` elements for each k, a tile's height apart; what is written past them, the next ones overwrite."""
    w = Writer(s.fma)
    vectors = -(-s.rows // s.width)
    masks = [_mask(w, s, _word("%rows"), v) for v in range(vectors)]

    def one(k: Reg) -> None:
        source = w.gep("%a", "bool", w.mul(k, _word("%ak")))
        target = w.gep("%to", "bool", w.mul(k, w.number(s.rows * s.size, "i64")))
        for v in range(vectors):
            value = w.load(w.gep(source, "bool", v * s.vector), s.dtype, s.width, masks[v])
            w.store(w.gep(target, "bool", v * s.vector), value)

    _loop(w, w.number(0, "i64"), _word("%k"), 1, one)
    return _function(w, s, "copy_columns")


def _put(s: Shape) -> str:
    """Write or add a tile's first rows and columns to c."""
    w = Writer(s.fma)
    masks = [_mask(w, s, _word("%n"), v) for v in range(2)]
    keep = w.splat(Reg("bool", 1, "%more"), s.width)
    old = [w.and_(mask, keep) for mask in masks]

    def row(r: Reg) -> None:
        source = w.gep("%tile", "bool", w.mul(r, w.number(2 * s.vector, "i64")))
        target = w.gep("%c", "bool", w.mul(r, _word("%cr")))
        for v in range(2):
            total = w.load(w.gep(source, "bool", v * s.vector), s.dtype, s.width)
            there = w.gep(target, "bool", v * s.vector)
            before = w.load(there, s.dtype, s.width, old[v])
            w.store(there, w.select(keep, w.add(before, total), total), masks[v])

    _loop(w, w.number(0, "i64"), _word("%rows"), 1, row)
    return _function(w, s, "put")


def _fetch(s: Shape) -> str:
    """Ask for what is needed soon, a panel's width of some rows. Addresses outside of the operands do no harm."""
    w = Writer(s.fma)

    def row(r: Reg) -> None:
        at = w.gep("%from", "bool", w.mul(r, _word("%stride")))
        for line in range(0, 2 * s.vector, 64):
            _prefetch(w, w.gep(at, "bool", line))

    _loop(w, w.number(0, "i64"), _word("%rows"), 1, row)
    return _function(w, s, "fetch")


def _prefetch(w: Writer, at: str) -> None:
    w.lines.append(f"  call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 3, i32 1)")


def _mask(w: Writer, s: Shape, count: Reg, vector: int) -> Reg:
    """Which lanes of a vector are among the first `count` elements of a row."""
    if s.width == 1:
        return w.lt(w.number(vector, "i64"), count)
    kind = "i32" if s.dtype == "f32" else "i64"
    most = _smaller(w, count, w.number(2**30, "i64"))
    if kind == "i32":
        most = Reg("i32", 1, w.value("i32", 1, f"trunc {most.typed} to i32").text)
    lanes = ", ".join(f"{kind} {vector * s.width + lane}" for lane in range(s.width))
    return w.lt(Reg(kind, s.width, f"<{lanes}>"), w.splat(most, s.width))


def _smaller(w: Writer, a: Reg, b: Reg) -> Reg:
    return w.select(w.lt(a, b), a, b)


def _loop(w: Writer, start: Reg, end: Reg, step: int, body: Callable[[Reg], None]) -> None:
    """for index in range(start, end, step)"""
    head, inside, done = w.label("loop"), w.label("body"), w.label("done")
    before = w.block
    w.br(head)
    w.start(head)
    with w.scope():
        index = w.phi("i64", 1, [(start, before)])
        w.cbr(w.lt(index, end), inside, done)
        w.start(inside)
        body(index)
        w.incoming(index, w.add(index, w.number(step, "i64")), w.block)
        w.br(head)
    w.start(done)


def _if(w: Writer, condition: Reg, body: Callable[[], None]) -> None:
    yes, done = w.label("yes"), w.label("done")
    w.cbr(condition, yes, done)
    w.start(yes)
    with w.scope():
        body()
        w.br(done)
    w.start(done)


def _function(w: Writer, s: Shape, name: str) -> str:
    head = f"define void @{copy_name(s, name)}({_PARAMETERS[name]}) nounwind {{\nentry:"
    return "\n".join([head, *w.lines, "  ret void", "}"])


def _word(text: str) -> Reg:
    return Reg("i64", 1, text)
