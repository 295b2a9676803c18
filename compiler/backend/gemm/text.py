"""The text of the function that multiplies two matrices, and of the memory it keeps."""

from __future__ import annotations

from ..text.registers import memory_type
from .chunks import FIELDS, chunks, place, write
from .pack import BLOCK_K
from .tile import Shape

KEPT = 8  # blocks of memory kept between calls: as many threads can multiply without allocating


def single(dtype: str) -> str:
    """The name of the function for one product."""
    return f"pullback_gemm_{dtype}"


def text(s: Shape, parallel: bool) -> str:
    """The text that calls tiles and copies; without `parallel`, chunks run one after another."""
    head = _PARALLEL if parallel else _SERIAL
    return "\n".join([head, _COMMON, chunks(s), _memory(s), _driver(s)])


_COMMON = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @memset(ptr, i32, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""

_PARALLEL = """
declare i64 @pullback_parallel(ptr, ptr, i64, i64, ptr)
declare i64 @pullback_poll()
"""

_SERIAL = """
define internal i64 @pullback_parallel(ptr %body, ptr %frame, i64 %chunks, i64 %work, ptr %report) nounwind {
entry:
  br label %next
next:
  %chunk = phi i64 [0, %entry], [%following, %next]
  %status = call i64 %body(ptr %frame, i64 %chunk, ptr %report)
  %following = add i64 %chunk, 1
  %more = icmp ult i64 %following, %chunks
  br i1 %more, label %next, label %done
done:
  ret i64 0
}

define internal i64 @pullback_poll() nounwind {
  ret i64 0
}
"""


def block_bytes(s: Shape) -> int:
    """Bytes of a row of a packed block of b: it should take most of the second-level cache.

    That is a megabyte or more where there are 512-bit vectors (768 KiB gained 3 % over 512), and often less elsewhere.
    """
    return 3072 if s.vector == 64 else 2048


def _memory(s: Shape) -> str:
    """@take and @give: memory for a packed block; what has been given back is kept for ever, up to `KEPT` of it."""
    return f"""
@kept = internal global [{KEPT} x ptr] zeroinitializer

define internal ptr @take() nounwind {{
entry:
  br label %look
look:
  %i = phi i64 [0, %entry], [%next, %other]
  %at = getelementptr ptr, ptr @kept, i64 %i
  %idle = atomicrmw xchg ptr %at, ptr null acquire
  %found = icmp ne ptr %idle, null
  br i1 %found, label %done, label %other
other:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {KEPT}
  br i1 %more, label %look, label %new
new:
  %fresh = call ptr @malloc(i64 {block_bytes(s) * (BLOCK_K + 1) + 64})
  ret ptr %fresh
done:
  ret ptr %idle
}}

define internal void @give(ptr %block) nounwind {{
entry:
  br label %look
look:
  %i = phi i64 [0, %entry], [%next, %other]
  %at = getelementptr ptr, ptr @kept, i64 %i
  %pair = cmpxchg ptr %at, ptr null, ptr %block release monotonic
  %put = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %put, label %done, label %other
other:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {KEPT}
  br i1 %more, label %look, label %drop
drop:
  call void @free(ptr %block)
  br label %done
done:
  ret void
}}
"""


def _driver(s: Shape) -> str:
    """The function itself."""
    places = "\n".join(place(field) for field in ("n", "k", "a", "b", "c", "more"))
    return f"""
define i64 @{single(s.dtype)}(i64 %m, i64 %n, i64 %k, ptr %a0, i64 %lda, i64 %ta, ptr %b0, i64 %ldb, i64 %tb,
    ptr %c0, i64 %ldc) nounwind {{
entry:
  %cr = mul i64 %ldc, {s.size}
  %m.none = icmp sle i64 %m, 0
  %n.none = icmp sle i64 %n, 0
  %none = or i1 %m.none, %n.none
  br i1 %none, label %nothing, label %some
nothing:
  ret i64 0
some:
  %k.none = icmp sle i64 %k, 0
  br i1 %k.none, label %zeros, label %product
zeros:
  %z = phi i64 [0, %some], [%z.next, %zeros]
  %z.offset = mul i64 %z, %cr
  %z.at = getelementptr i8, ptr %c0, i64 %z.offset
  %z.bytes = mul i64 %n, {s.size}
  %z.same = call ptr @memset(ptr %z.at, i32 0, i64 %z.bytes)
  %z.next = add i64 %z, 1
  %z.more = icmp slt i64 %z.next, %m
  br i1 %z.more, label %zeros, label %nothing
product:
  %frame = alloca [{len(FIELDS)} x i64], align 64
  %report = alloca [4 x i64], align 64
  %taken = call ptr @take()
  %failed = icmp eq ptr %taken, null
  br i1 %failed, label %memory, label %begin
memory:
  ret i64 -1
begin:
  %address = ptrtoint ptr %taken to i64
  %past = add i64 %address, 63
  %aligned = and i64 %past, -64
  %room = inttoptr i64 %aligned to ptr
  %a.turned = icmp ne i64 %ta, 0
  %b.turned = icmp ne i64 %tb, 0
  %a.lead = mul i64 %lda, {s.size}
  %b.lead = mul i64 %ldb, {s.size}
  %ar = select i1 %a.turned, i64 {s.size}, i64 %a.lead
  %ak = select i1 %a.turned, i64 %a.lead, i64 {s.size}
  %bk = select i1 %b.turned, i64 {s.size}, i64 %b.lead
  %bj = select i1 %b.turned, i64 %b.lead, i64 {s.size}
{write((f, f"%{f}") for f in ("m", "ar", "ak", "bk", "bj", "cr", "room"))}
{places}
  br label %columns
{_blocks(s)}
"""


def _blocks(s: Shape) -> str:
    """The loops over blocks of columns and of k, each with its corner in the frame; signals are looked at between."""
    block_n = block_bytes(s) // s.size
    real = memory_type(s.dtype)
    return f"""\
columns:
  %j = phi i64 [0, %begin], [%j.next, %columns.done]
  %j.left = sub i64 %n, %j
  %j.count = call i64 @llvm.smin.i64(i64 %j.left, i64 {block_n})
  %b.offset = mul i64 %j, %bj
  %b.column = getelementptr i8, ptr %b0, i64 %b.offset
  %c = getelementptr {real}, ptr %c0, i64 %j
  store i64 %j.count, ptr %n.at
  store ptr %c, ptr %c.at
  br label %depth
depth:
  %d = phi i64 [0, %columns], [%d.next, %depth.done]
  %d.left = sub i64 %k, %d
  %d.count = call i64 @llvm.smin.i64(i64 %d.left, i64 {BLOCK_K})
  %a.offset = mul i64 %d, %ak
  %a = getelementptr i8, ptr %a0, i64 %a.offset
  %b.row = mul i64 %d, %bk
  %b = getelementptr i8, ptr %b.column, i64 %b.row
  store i64 %d.count, ptr %k.at
  store ptr %a, ptr %a.at
  store ptr %b, ptr %b.at
  store i64 %d, ptr %more.at
  %status = call i64 @block(ptr %frame, ptr %report)
  %stopped = icmp ne i64 %status, 0
  br i1 %stopped, label %stop, label %go
go:
  %d.next = add i64 %d, {BLOCK_K}
  %d.more = icmp slt i64 %d.next, %k
  br i1 %d.more, label %depth.done, label %columns.last
depth.done:
  %d.poll = call i64 @pullback_poll()
  %d.stop = icmp ne i64 %d.poll, 0
  br i1 %d.stop, label %stop, label %depth
columns.last:
  %j.next = add i64 %j, {block_n}
  %j.more = icmp slt i64 %j.next, %n
  br i1 %j.more, label %columns.done, label %finished
columns.done:
  %j.poll = call i64 @pullback_poll()
  %j.stop = icmp ne i64 %j.poll, 0
  br i1 %j.stop, label %stop, label %columns
stop:
  %reason = phi i64 [%status, %depth], [%d.poll, %depth.done], [%j.poll, %columns.done]
  call void @give(ptr %taken)
  ret i64 %reason
finished:
  call void @give(ptr %taken)
  ret i64 0
}}"""
