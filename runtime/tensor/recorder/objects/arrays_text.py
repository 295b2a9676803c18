"""LLVM text that keeps the arrays of dead cells for the next results of the same layout.

The results of a step are mostly dead before the next step, which has results of the same shapes. Where a layout keeps
arrays, its word SPARES leads to the words: how many there are, the bytes of each, their addresses.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import (
    ALIGNED,
    ARRAY_BASE,
    ARRAY_FLAGS,
    ARRAY_WEAK,
    C_CONTIGUOUS,
    F_CONTIGUOUS,
    OWNS_DATA,
    REFERENCES,
    WRITEABLE,
)
from ..layout import Cell
from ..runs.inputs_text import SPARES
from ..snippets import get

KEPT = 8
"""So many arrays of a layout are kept at most."""

MEMORY = 1 << 20
"""So many bytes of arrays at most, of all layouts."""

COUNT, BYTES, ARRAYS = range(0, 24, 8)
"""Where the words are that SPARES leads to."""

WORDS = ARRAYS // 8 + KEPT

_PLAIN = C_CONTIGUOUS | OWNS_DATA | ALIGNED | WRITEABLE

TEXT = f"""
@kept_bytes = internal global i64 0

; An array that was kept for a layout, or null.
define internal ptr @kept_array(ptr %layout) nounwind alwaysinline {{
entry:
{get("spares", "%layout", SPARES)}
  %keeps = icmp ne ptr %spares, null
  br i1 %keeps, label %look, label %no
look:
{get("count", "%spares", COUNT, "i64")}
  %some = icmp ne i64 %count, 0
  br i1 %some, label %take, label %no
take:
{get("bytes", "%spares", BYTES, "i64")}
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr %count.at
  %all = load i64, ptr @kept_bytes
  %less = sub i64 %all, %bytes
  store i64 %less, ptr @kept_bytes
  %first = getelementptr i8, ptr %spares, i64 {ARRAYS}
  %at = getelementptr ptr, ptr %first, i64 %fewer
  %array = load ptr, ptr %at
  ret ptr %array
no:
  ret ptr null
}}

; Keep the array of a cell that is about to die, if nobody else knows it, and it is as it was made.
define internal void @keep_array(ptr %cell) nounwind {{
entry:
{get("layout", "%cell", Cell.LAYOUT)}
{get("array", "%cell", Cell.ARRAY)}
  %unknown = icmp eq ptr %layout, null
  %empty = icmp eq ptr %array, null
  %never = or i1 %unknown, %empty
  br i1 %never, label %leave, label %layouts
layouts:
{get("spares", "%layout", SPARES)}
  %keeps = icmp ne ptr %spares, null
  br i1 %keeps, label %room, label %leave
room:
{get("references", "%array", REFERENCES, "i32")}
{get("count", "%spares", COUNT, "i64")}
{get("bytes", "%spares", BYTES, "i64")}
  %all = load i64, ptr @kept_bytes
  %more = add i64 %all, %bytes
  %alone = icmp eq i32 %references, 1
  %free = icmp ult i64 %count, {KEPT}
  %small = icmp ule i64 %more, {MEMORY}
  %fits = and i1 %free, %small
  %may = and i1 %fits, %alone
  br i1 %may, label %kind, label %leave
kind:
  %data = call ptr @data_of(ptr %array, ptr %layout)
  %other = icmp eq ptr %data, null
  br i1 %other, label %leave, label %look
look:
{get("flags", "%array", ARRAY_FLAGS, "i32")}
{get("base", "%array", ARRAY_BASE)}
{get("weak", "%array", ARRAY_WEAK)}
  %telling = and i32 %flags, {~F_CONTIGUOUS}
  %plain = icmp eq i32 %telling, {_PLAIN}
  %own = icmp eq ptr %base, null
  %unwatched = icmp eq ptr %weak, null
  %both = and i1 %plain, %own
  %same = and i1 %both, %unwatched
  br i1 %same, label %keep, label %leave
keep:
  %first = getelementptr i8, ptr %spares, i64 {ARRAYS}
  %at = getelementptr ptr, ptr %first, i64 %count
  store ptr %array, ptr %at
  store ptr null, ptr %array.at
  %next = add i64 %count, 1
  store i64 %next, ptr %count.at
  store i64 %more, ptr @kept_bytes
  ret void
leave:
  ret void
}}
"""
