"""The innermost part of a matrix product: a tile of c that lives in registers while k runs.

    void @pullback_f64_tile_RxV(ptr a, i64 ar, i64 ak, ptr b, i64 bk, i64 k, ptr c, i64 cr, i1 more)

computes R rows of V vectors.  All strides are in bytes: `ar` from a row of `a` to the next and `ak` from one k to the
next, so a plain, a transposed and a copied operand are the same to it; a row of `b` is V vectors, `bk` after the one
before.  `more` adds to what `c` holds, otherwise `c` is overwritten.  k is at least 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..text.registers import BYTES, Reg
from ..text.writer import Writer


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of tiles and blocks, in elements, for a dtype and a width of vectors.

    A tile is at most `rows` by two vectors; there are also tiles of two thirds of its rows, and of one vector, so that
    little work is lost at the edges: 12s and 8s make every multiple of 4 from 8 on.  With 512-bit vectors 24 of 32
    registers are sums, with narrower ones (whose processors may have 16 registers) 12.
    """

    dtype: str
    width: int
    rows: int
    fma: bool = True

    @property
    def size(self) -> int:
        return BYTES[self.dtype]

    @property
    def vector(self) -> int:
        """Bytes of a vector."""
        return self.width * self.size

    @property
    def columns(self) -> int:
        """Columns of a panel: of the widest tile."""
        return 2 * self.width

    @property
    def heights(self) -> tuple[int, int]:
        """Rows of the lower tiles and of the higher ones."""
        return 2 * self.rows // 3, self.rows


def shape(dtype: str, bits: int, fma: bool = True) -> Shape:
    """The tiles for vectors of `bits`."""
    return Shape(dtype, bits // 8 // BYTES[dtype], 12 if bits == 512 else 6, fma)


def tile_name(s: Shape, rows: int, vectors: int) -> str:
    """The name of a tile's function."""
    return f"pullback_{s.dtype}_tile_{rows}x{vectors}"


def tile_names(s: Shape) -> list[str]:
    """The names of all."""
    return [tile_name(s, rows, vectors) for rows in s.heights for vectors in (1, 2)]


def tiles(s: Shape) -> str:
    """The text of all tiles."""
    return "\n".join(_tile(s, rows, vectors) for rows in s.heights for vectors in (1, 2))


def tile_declarations(s: Shape) -> str:
    """What a module that calls them says of them."""
    kinds = "ptr, i64, i64, ptr, i64, i64, ptr, i64, i1"
    return "\n".join(f"declare void @{name}({kinds})" for name in tile_names(s))


def _tile(s: Shape, rows: int, vectors: int) -> str:
    w = Writer(s.fma)
    places = [(r, v) for r in range(rows) for v in range(vectors)]
    starts = {odd: w.mul(_word("%ar"), w.number(odd, "i64")) for odd in range(1, rows, 2)}
    w.br("loop")
    w.start("loop")
    left = w.phi("i64", 1, [(_word("%k"), "entry")])
    w.lines.append("  %aw = phi ptr [%a, %entry], [%an, %loop]")
    w.lines.append("  %bw = phi ptr [%b, %entry], [%bn, %loop]")
    sums = {at: w.phi(s.dtype, s.width, [(w.number(0.0, s.dtype, s.width), "entry")]) for at in places}
    _step(w, s, sums, starts, rows, vectors)
    rest = w.sub(left, w.number(1, "i64"))
    w.incoming(left, rest, "loop")
    w.cbr(w.eq(rest, w.number(0, "i64")), "done", "loop")
    w.start("done")
    w.cbr(Reg("bool", 1, "%more"), "add", "put")
    for label in ("add", "put"):
        w.start(label)
        with w.scope():
            _write(w, s, sums, label == "add")
        w.lines.append("  ret void")
    head = (f"define void @{tile_name(s, rows, vectors)}(ptr noalias %a, i64 %ar, i64 %ak, ptr noalias %b, "
            "i64 %bk, i64 %k, ptr noalias %c, i64 %cr, i1 %more) nounwind {\nentry:")
    return "\n".join([head, *w.lines, "}"])


def _step(w: Writer, s: Shape, sums: dict[tuple[int, int], Reg], starts: dict[int, Reg], rows: int,
          vectors: int) -> None:
    """One k: a row of b times each element of a column of a; `sums` becomes the sums after it.

    LLVM's strength reduction would step one pointer through the rows, a chain of additions that takes longer than
    the products of a narrow tile; it doesn't look through `freeze`.  The row r = odd * 2^s is at odd * ar scaled by
    2^s, which an address can do, so that seven registers reach twelve rows.
    """
    w.lines += ["  %ap = freeze ptr %aw", "  %bp = freeze ptr %bw"]
    row = [w.load(w.gep("%bp", "bool", v * s.vector), s.dtype, s.width) for v in range(vectors)]
    for r in range(rows):
        element = w.splat(w.load(_row(w, "%ap", starts, r), s.dtype), s.width)
        for v in range(vectors):
            total = w.muladd(element, row[v], sums[r, v])
            w.incoming(sums[r, v], total, "loop")
            sums[r, v] = total
    w.lines += ["  %an = getelementptr i8, ptr %ap, i64 %ak", "  %bn = getelementptr i8, ptr %bp, i64 %bk"]


def _row(w: Writer, base: str, starts: dict[int, Reg], r: int) -> str:
    """The address of row r, `starts` having the odd multiples of the stride."""
    if r == 0:
        return base
    odd, shift = r, 0
    while odd % 2 == 0:
        odd, shift = odd // 2, shift + 1
    offset = starts[odd]
    if shift:
        offset = w.value("i64", 1, f"shl {offset.typed}, {shift}")
    return w.gep(base, "bool", offset)


def _write(w: Writer, s: Shape, sums: dict[tuple[int, int], Reg], more: bool) -> None:
    for (r, v), total in sums.items():
        start = w.gep("%c", "bool", w.mul(_word("%cr"), w.number(r, "i64")))
        at = w.gep(start, "bool", v * s.vector)
        w.store(at, w.add(w.load(at, s.dtype, s.width), total) if more else total)


def _word(text: str) -> Reg:
    return Reg("i64", 1, text)

