"""LLVM text that makes the arrays of a kernel's results, and hands them out to cells and late tensors."""

from __future__ import annotations

from .....compiler.backend.python_abi import ARRAY_BASE, ARRAY_FLAGS, OWNS_DATA, WRITEABLE
from ..layout import HISTORY, PART, SPECIAL, Cell, Source, Tape, Tensor
from ..snippets import DESCRIPTOR_FIELDS, get, put
from .inputs_text import DTYPE_NUMBER, MAKER, RANK, SIZES

REPORT = 8
"""Words that a kernel writes where it fails."""

TEXT = f"""
; Whether the array of an input is known to the tape's cell alone, so that it may be written to.
define internal i1 @is_free(ptr %tape, ptr %words, ptr %array) nounwind {{
entry:
  %tag = load i64, ptr %words
{get("a", "%words", 8, "i64")}
  %is_cell = icmp eq i64 %tag, {Source.CELL}
  br i1 %is_cell, label %look, label %no
look:
{get("cells", "%tape", Tape.CELLS)}
  %cell_at = getelementptr ptr, ptr %cells, i64 %a
  %cell = load ptr, ptr %cell_at
  %cell_count = load i32, ptr %cell
  %array_count = load i32, ptr %array
  %cell_alone = icmp eq i32 %cell_count, 1
  %array_alone = icmp eq i32 %array_count, 2
{get("base", "%array", ARRAY_BASE)}
{get("flags", "%array", ARRAY_FLAGS, "i32")}
  %own = and i32 %flags, {OWNS_DATA | WRITEABLE}
  %owns = icmp eq i32 %own, {OWNS_DATA | WRITEABLE}
  %no_base = icmp eq ptr %base, null
  %both = and i1 %cell_alone, %array_alone
  %plain = and i1 %owns, %no_base
  %free = and i1 %both, %plain
  ret i1 %free
no:
  ret i1 false
}}

; An array of a layout, whatever it holds.
define internal ptr @new_result(ptr %layout) nounwind {{
entry:
  %kept = call ptr @kept_array(ptr %layout)
  %none = icmp eq ptr %kept, null
  br i1 %none, label %make, label %give
give:
  ret ptr %kept
make:
{get("number", "%layout", DTYPE_NUMBER, "i32")}
{get("rank", "%layout", RANK, "i32")}
{get("maker", "%layout", MAKER)}
  %sizes = getelementptr i8, ptr %layout, i64 {SIZES}
  %usual = icmp eq ptr %maker, null
  br i1 %usual, label %small, label %large
small:
  %made = call ptr @PyArray_New(
    ptr @PyArray_Type, i32 %rank, ptr %sizes, i32 %number, ptr null, ptr null, i32 0, i32 0, ptr null)
  ret ptr %made
large:
  %pooled = call ptr %maker(ptr @PyArray_Type, i32 %rank, ptr %sizes, i32 %number)
  ret ptr %pooled
}}

; Whether the value with the number in a descriptor has a cell.
define internal i1 @has_cell(ptr %tape, ptr %words) nounwind alwaysinline {{
entry:
{get("a", "%words", 8, "i64")}
{get("cells", "%tape", Tape.CELLS)}
  %cell_at = getelementptr ptr, ptr %cells, i64 %a
  %known = load ptr, ptr %cell_at
  %has = icmp ne ptr %known, null
  ret i1 %has
}}

; Give a result to the value with the number in its descriptor; %spare is a new cell for one that has none, or null.
; Both are taken over. A tensor with a late node is added to the list, or gets the record if there is one; another
; that it had before is put at %old_at. A late view that gets its value here shares its memory with nobody that is left,
; or Python tells with whom: a value that nobody holds, of which others are views, gets its cell for that.
define internal i32 @hand_out(
    ptr %tape, ptr %words, ptr %array, ptr %spare, ptr %late, ptr %record, ptr %old_at) nounwind {{
entry:
{DESCRIPTOR_FIELDS}
{get("cells", "%tape", Tape.CELLS)}
  %cell_at = getelementptr ptr, ptr %cells, i64 %a
  %known = load ptr, ptr %cell_at
  %unknown = icmp eq ptr %known, null
  %tensor = call ptr @tensor_at(ptr %tape, i64 %a)
  %nobody = icmp eq ptr %tensor, null
  %cell = select i1 %unknown, ptr %spare, ptr %known
  %no_cell = icmp eq ptr %cell, null
  br i1 %no_cell, label %drop, label %fill
fill:
{get("old", "%cell", Cell.ARRAY)}
  store ptr %array, ptr %old.at
  call void @Py_DecRef(ptr %old)
{put("layout", "%cell", Cell.LAYOUT, "i64 %c")}
  br label %give
give:
  br i1 %nobody, label %alone, label %look
alone:
  br i1 %unknown, label %keep, label %done
keep:
  store ptr %cell, ptr %cell_at
  ret i32 0
look:
{get("has", "%tensor", Tensor.CELL)}
  %is_late = icmp eq ptr %has, null
  br i1 %is_late, label %set, label %node
set:
  store ptr %cell, ptr %has.at
  call void @Py_IncRef(ptr %cell)
{get("late_flags", "%tensor", Tensor.FLAGS, "i64")}
  %some_part = and i64 %late_flags, {SPECIAL}
  %whole = icmp eq i64 %some_part, 0
  br i1 %whole, label %node, label %part
part:
  %not_late = and i64 %late_flags, {~SPECIAL}
  %settled = or i64 %not_late, {PART}
{put("settled", "%tensor", Tensor.FLAGS, "i64 %settled")}
  br label %tell
node:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
  %history = and i64 %flags, {HISTORY}
  %plain = icmp eq i64 %history, 0
  br i1 %plain, label %done, label %tell
tell:
  call void @Py_DecRef(ptr %spare)
  %unnoted = icmp eq ptr %record, null
  br i1 %unnoted, label %append, label %note
append:
  %status = call i32 @PyList_Append(ptr %late, ptr %tensor)
  ret i32 %status
note:
{get("before", "%tensor", Tensor.RECORD)}
  store ptr %before, ptr %old_at
  store ptr %record, ptr %before.at
  call void @Py_IncRef(ptr %record)
{put("place", "%tensor", Tensor.PLACE, "i64 %a")}
  ret i32 0
drop:
  call void @Py_DecRef(ptr %array)
  br label %done
done:
  call void @Py_DecRef(ptr %spare)
  ret i32 0
}}
define internal void @drop_all(ptr %held, i64 %count) nounwind {{
entry:
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %one ]
  %end = icmp eq i64 %n, %count
  br i1 %end, label %leave, label %one
one:
  %at = getelementptr ptr, ptr %held, i64 %n
  %object = load ptr, ptr %at
  call void @Py_DecRef(ptr %object)
  %next = add i64 %n, 1
  br label %each
leave:
  ret void
}}

; (status, word, ...) of a kernel that failed.
define internal ptr @failure(i64 %status, ptr %report) nounwind {{
entry:
  %list = call ptr @PyList_New(i64 0)
  %no_list = icmp eq ptr %list, null
  br i1 %no_list, label %error, label %each
each:
  %n = phi i64 [ -1, %entry ], [ %next, %add ]
  %end = icmp eq i64 %n, {REPORT}
  br i1 %end, label %done, label %one
one:
  %next = add i64 %n, 1
  %first = icmp slt i64 %n, 0
  %word_at = getelementptr i64, ptr %report, i64 %n
  br i1 %first, label %make, label %load
load:
  %loaded = load i64, ptr %word_at
  br label %make
make:
  %word = phi i64 [ %status, %one ], [ %loaded, %load ]
  %number = call ptr @PyLong_FromLongLong(i64 %word)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %drop, label %add
add:
  %added = call i32 @PyList_Append(ptr %list, ptr %number)
  call void @Py_DecRef(ptr %number)
  br label %each
done:
  %made = call ptr @PyList_AsTuple(ptr %list)
  call void @Py_DecRef(ptr %list)
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %list)
  br label %error
error:
  ret ptr null
}}
"""
