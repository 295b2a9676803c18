"""The text of the chunks of a matrix product, and of a block of it, which is cut into them.

    for a block of columns of c, for a block of k:
        pack that part of b into panels                  (chunks: rows or panels of b)
        for a few rows of a, copied side by side:        (chunks: rows of c, and groups of panels where rows are few)
            for each panel: a tile of c

The packed block of b stays in the second-level cache, the rows of a and one panel in the first. What chunks share is in
a frame of words; `m`, `n` and `k` are the block's sizes there, `a`, `b` and `c` its corners.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..text.registers import memory_type
from .pack import BLOCK_K, copy_name, row_stride
from .tile import Shape, tile_names

TALL = 8  # tiles one above the other in a chunk at most: some 0.1 ms with all panels of a block
BANDS = 48  # chunks of rows aimed at
FEW_PANELS = 4  # where a row of a meets fewer panels than these, it is not worth a copy
FEW_ROWS = 24  # where c has no more rows, b is not worth a copy
PACKED_ROWS = 32  # rows of b that a chunk packs
PRODUCTS = {"f32": 6, "f64": 5}  # binary logarithm of the multiply-adds in a nanosecond
FAR = 20_000_000  # multiply-adds in a block from which a and c are asked for before they are needed
SMALL = 20_000  # nanoseconds of a block that is not worth several chunks, as the pool judges it, too

FIELDS = ("m", "n", "k", "a", "ar", "ak", "b", "bk", "bj", "c", "cr", "more", "panels", "plain",
           "tall", "groups", "group", "room", "kp", "far")
POINTERS = ("a", "b", "c", "room")


def chunks(s: Shape) -> str:
    """The text of @block, which runs a block through @pullback_parallel, and of all it calls but tiles and copies."""
    return "\n".join([_pick(s), _pack(s), _compute(s), _block(s)])


def read(*names: str) -> str:
    """Read fields of the frame into registers of their names."""
    lines = []
    for field in names:
        kind = "ptr" if field in POINTERS else "i64"
        lines += [place(field), f"  %{field} = load {kind}, ptr %{field}.at"]
    return "\n".join(lines)


def write(fields: Iterable[tuple[str, str]]) -> str:
    """Write registers or numbers into fields."""
    lines = []
    for field, value in fields:
        kind = "ptr" if field in POINTERS else "i64"
        lines += [place(field), f"  store {kind} {value}, ptr %{field}.at"]
    return "\n".join(lines)


def place(field: str) -> str:
    return f"  %{field}.at = getelementptr i64, ptr %frame, i64 {FIELDS.index(field)}"


def _pick(s: Shape) -> str:
    """@pick: the tile of a height and of one vector or two. @height: of what height the next tile should be.

    Tiles are as high as possible, but two lower ones are better than a higher one and a rest of a third of it.
    """
    low, high = s.heights
    low1, low2, high1, high2 = tile_names(s)
    return f"""
define internal ptr @pick(i64 %height, i1 %wide) nounwind {{
  %isLow = icmp eq i64 %height, {low}
  %two = select i1 %isLow, ptr @{low2}, ptr @{high2}
  %one = select i1 %isLow, ptr @{low1}, ptr @{high1}
  %tile = select i1 %wide, ptr %two, ptr %one
  ret ptr %tile
}}

define internal i64 @height(i64 %left) nounwind {{
  %few = icmp sle i64 %left, {low}
  %above = icmp sgt i64 %left, {high}
  %below = icmp sle i64 %left, {low + low}
  %both = and i1 %above, %below
  %lower = or i1 %few, %both
  %height = select i1 %lower, i64 {low}, i64 {high}
  ret i64 %height
}}
"""


def _pack(s: Shape) -> str:
    """The chunks that pack a block of b: some rows of all panels, or a panel if the columns are consecutive."""
    return f"""
define internal i64 @pack_some_rows(ptr %frame, i64 %chunk, ptr %report) nounwind {{
{read("n", "k", "b", "bk", "room", "kp", "plain")}
  %first = mul i64 %chunk, {PACKED_ROWS}
  %end = add i64 %first, {PACKED_ROWS}
  %last = call i64 @llvm.smin.i64(i64 %end, i64 %k)
  call void @{copy_name(s, "pack_rows")}(ptr %b, i64 %bk, ptr %room, i64 %kp, i64 %n, i64 %plain, i64 %first, i64 %last)
  ret i64 0
}}

define internal i64 @pack_panel(ptr %frame, i64 %chunk, ptr %report) nounwind {{
{read("n", "k", "b", "bj", "room", "kp")}
  %j = mul i64 %chunk, {s.columns}
  %skipped = mul i64 %j, %bj
  %from = getelementptr i8, ptr %b, i64 %skipped
  %before = mul i64 %j, %kp
  %to = getelementptr {memory_type(s.dtype)}, ptr %room, i64 %before
  %rest = sub i64 %n, %j
  %columns = call i64 @llvm.smin.i64(i64 %rest, i64 {s.columns})
  call void @{copy_name(s, "pack_columns")}(ptr %from, i64 %bj, ptr %to, i64 %k, i64 %columns)
  ret i64 0
}}
"""


def _compute(s: Shape) -> str:
    """The chunk that computes some rows of c in a group of panels."""
    near = max(s.rows * row_stride(s), BLOCK_K * s.rows * s.size + 4 * s.vector)
    return f"""
define internal i64 @compute(ptr %frame, i64 %chunk, ptr %report) nounwind {{
entry:
{read(*FIELDS)}
  %near = alloca i8, i64 {near}, align 64
  %scratch = alloca i8, i64 {s.rows * 2 * s.vector}, align 64
  %adds = icmp ne i64 %more, 0
  %q = udiv i64 %chunk, %groups
  %g = urem i64 %chunk, %groups
  %top = mul i64 %q, %tall
  %under = add i64 %top, %tall
  %bottom = call i64 @llvm.smin.i64(i64 %under, i64 %m)
  %left = mul i64 %g, %group
  %past = add i64 %left, %group
  %right = call i64 @llvm.smin.i64(i64 %past, i64 %panels)
  %across = sub i64 %right, %left
  %few = icmp ult i64 %across, {FEW_PANELS}
  %consecutive = icmp eq i64 %ak, {s.size}
  %isFar = icmp ne i64 %far, 0
  %slice = select i1 %consecutive, i64 {2 * s.vector}, i64 {2 * s.vector // s.size}
  %slice.step = select i1 %consecutive, i64 1, i64 %ak
  %slice.bytes = mul i64 %slice, %slice.step
  %slice.apart = select i1 %consecutive, i64 %ar, i64 %ak
  br label %rows
{_rows(s)}
{_panels(s)}
"""


def _rows(s: Shape) -> str:
    """The loop over the rows, a tile's height at a time, and where their elements of a are read from."""
    return f"""\
rows:
  %i = phi i64 [%top, %entry], [%i.next, %row.done]
  %remain = sub i64 %bottom, %i
  %height = call i64 @height(i64 %remain)
  %count = call i64 @llvm.smin.i64(i64 %remain, i64 %height)
  %whole = icmp eq i64 %count, %height
  %a.offset = mul i64 %i, %ar
  %a.here = getelementptr i8, ptr %a, i64 %a.offset
  %c.offset = mul i64 %i, %cr
  %c.here = getelementptr i8, ptr %c, i64 %c.offset
  %direct = and i1 %few, %whole
  br i1 %direct, label %ready, label %copy
copy:
  br i1 %consecutive, label %copy.rows, label %copy.columns
copy.rows:
  call void @{copy_name(s, "copy_rows")}(ptr %a.here, i64 %ar, ptr %near, i64 %count, i64 %height, i64 %k)
  br label %ready
copy.columns:
  call void @{copy_name(s, "copy_columns")}(ptr %a.here, i64 %ak, ptr %near, i64 %count, i64 %k)
  br label %ready
ready:
  %ta = phi ptr [%a.here, %rows], [%near, %copy.rows], [%near, %copy.columns]
  %tar = phi i64 [%ar, %rows], [{row_stride(s)}, %copy.rows], [{s.size}, %copy.columns]
  %tak = phi i64 [%ak, %rows], [{s.size}, %copy.rows], [{s.rows * s.size}, %copy.columns]
  %tile.wide = call ptr @pick(i64 %height, i1 true)
  %tile.narrow = call ptr @pick(i64 %height, i1 false)
  %below.offset = mul i64 %height, %ar
  %below = getelementptr i8, ptr %a.here, i64 %below.offset
  %slice.rows = select i1 %consecutive, i64 %height, i64 %slice
  br label %panel"""


def _panels(s: Shape) -> str:
    """The loop over the panels, and the ends of both loops. What comes next is asked for; what is cut off is put."""
    return f"""\
panel:
  %p = phi i64 [%left, %ready], [%p.next, %panel.done]
  %j = mul i64 %p, {s.columns}
  %columns = sub i64 %n, %j
  %isPlain = icmp ult i64 %p, %plain
  %before = mul i64 %j, %kp
  %packed = getelementptr {memory_type(s.dtype)}, ptr %room, i64 %before
  %unpacked = getelementptr {memory_type(s.dtype)}, ptr %b, i64 %j
  %tb = select i1 %isPlain, ptr %unpacked, ptr %packed
  %tbk = select i1 %isPlain, i64 %bk, i64 {2 * s.vector}
  %wide = icmp ugt i64 %columns, {s.width}
  %tile = select i1 %wide, ptr %tile.wide, ptr %tile.narrow
  %all = icmp uge i64 %columns, {s.columns}
  %half = icmp eq i64 %columns, {s.width}
  %fits = or i1 %all, %half
  %inside = and i1 %fits, %whole
  %target = getelementptr {memory_type(s.dtype)}, ptr %c.here, i64 %j
  br i1 %isFar, label %ask, label %asked
ask:
  %p.here = sub i64 %p, %left
  %slice.offset = mul i64 %p.here, %slice.bytes
  %soon = getelementptr i8, ptr %below, i64 %slice.offset
  call void @{copy_name(s, "fetch")}(ptr %target, i64 %cr, i64 %count)
  call void @{copy_name(s, "fetch")}(ptr %soon, i64 %slice.apart, i64 %slice.rows)
  br label %asked
asked:
  br i1 %inside, label %full, label %edge
full:
  call void %tile(ptr %ta, i64 %tar, i64 %tak, ptr %tb, i64 %tbk, i64 %k, ptr %target, i64 %cr, i1 %adds)
  br label %panel.done
edge:
  call void %tile(ptr %ta, i64 %tar, i64 %tak, ptr %tb, i64 %tbk, i64 %k, ptr %scratch, i64 {2 * s.vector}, i1 false)
  %put.columns = call i64 @llvm.smin.i64(i64 %columns, i64 {s.columns})
  call void @{copy_name(s, "put")}(ptr %scratch, ptr %target, i64 %cr, i64 %count, i64 %put.columns, i1 %adds)
  br label %panel.done
panel.done:
  %p.next = add i64 %p, 1
  %p.more = icmp ult i64 %p.next, %right
  br i1 %p.more, label %panel, label %row.done
row.done:
  %i.next = add i64 %i, %height
  %i.more = icmp slt i64 %i.next, %bottom
  br i1 %i.more, label %rows, label %done
done:
  ret i64 0
}}"""


def _block(s: Shape) -> str:
    """@block: one block of columns and of k, in chunks if it is long, else in one piece."""
    return f"""
define internal i64 @block(ptr %frame, ptr %report) nounwind {{
entry:
{read("m", "n", "k", "bk", "bj")}
  %n.up = add i64 %n, {s.columns - 1}
  %panels = udiv i64 %n.up, {s.columns}
  %wholes = udiv i64 %n, {s.columns}
  %k.up = add i64 %k, 31
  %k.round = and i64 %k.up, -32
  %kp = add i64 %k.round, 1
  %down = icmp eq i64 %bj, {s.size}
  %few = icmp ule i64 %m, {FEW_ROWS}
  %leave = and i1 %down, %few
  %plain = select i1 %leave, i64 %wholes, i64 0
  %mn = mul i64 %m, %n
  %products = mul i64 %mn, %k
  %work = lshr i64 %products, {PRODUCTS[s.dtype]}
  %small = icmp ult i64 %work, {SMALL}
  %isFar = icmp uge i64 %products, {FAR}
  %far = zext i1 %isFar to i64
  %m.up = add i64 %m, {s.rows * BANDS - 1}
  %share = udiv i64 %m.up, {s.rows * BANDS}
  %stack = call i64 @llvm.smin.i64(i64 %share, i64 {TALL})
  %rows = mul i64 %stack, {s.rows}
  %tall = select i1 %small, i64 %m, i64 %rows
  %r.up = add i64 %m, %tall
  %r.top = sub i64 %r.up, 1
  %bands = udiv i64 %r.top, %tall
  %many = icmp uge i64 %bands, 4
  %one = or i1 %many, %small
  %p.up = add i64 %panels, 3
  %quarter = udiv i64 %p.up, 4
  %group = select i1 %one, i64 %panels, i64 %quarter
  %g.up = add i64 %panels, %group
  %g.top = sub i64 %g.up, 1
  %groups = udiv i64 %g.top, %group
  %chunks = mul i64 %bands, %groups
{write((f, f"%{f}") for f in ("panels", "plain", "tall", "groups", "group", "kp", "far"))}
  %rows.up = add i64 %k, {PACKED_ROWS - 1}
  %slices = udiv i64 %rows.up, {PACKED_ROWS}
  %packs = select i1 %down, i64 %slices, i64 %panels
  %packer = select i1 %down, ptr @pack_some_rows, ptr @pack_panel
  %nothing = icmp eq i64 %plain, %panels
  br i1 %nothing, label %packed, label %pack
pack:
  %kn = mul i64 %k, %n
  %pack.work = lshr i64 %kn, {4 - s.size // 4}
  %pack.status = call i64 @pullback_parallel(ptr %packer, ptr %frame, i64 %packs, i64 %pack.work, ptr %report)
  %stopped = icmp ne i64 %pack.status, 0
  br i1 %stopped, label %stop, label %packed
packed:
  %status = call i64 @pullback_parallel(ptr @compute, ptr %frame, i64 %chunks, i64 %work, ptr %report)
  ret i64 %status
stop:
  ret i64 %pack.status
}}
"""
