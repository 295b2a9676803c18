"""LLVM text of what a recognised call does: new tensors, new values of old ones, gradients, and what it returns.

Nothing that comes before the returned object is built can run code of the program or fail: tensors come from the
spare ones, and whatever loses a reference here is held by the tape's tables.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import BYTES_DATA, SIZE
from ..layout import DESCRIPTOR, HISTORY, VIEWED, Cell, Give, State, Tape, Tensor
from ..snippets import DESCRIPTOR_FIELDS, get, hold, put

_GIVE = f"""
; Do what the call that led to %child did. It has been compared, and what it reads stands in the tables.
define internal ptr @give(ptr %tape, ptr %child) nounwind alwaysinline {{
entry:
{get("state", "%tape", Tape.STATE)}
{get("after", "%child", State.VALUES, "i64")}
{hold("child_count", "%child")}
  store ptr %child, ptr %state.at
{put("count", "%tape", Tape.COUNT, "i64 %after")}
{get("gives", "%child", State.GIVES)}
{get("size", "%gives", SIZE, "i64")}
  %begin = getelementptr i8, ptr %gives, i64 {BYTES_DATA}
  %end = getelementptr i8, ptr %begin, i64 %size
  br label %each
each:
  %words = phi ptr [ %begin, %entry ], [ %more, %result ], [ %more, %assign ], [ %more, %gradient ],
                   [ %more, %viewed ], [ %more, %read ], [ %more, %renewal ]
  %last = icmp uge ptr %words, %end
  br i1 %last, label %answer, label %read
read:
{DESCRIPTOR_FIELDS}
  switch i64 %tag, label %each [
    i64 {Give.RESULT}, label %result       i64 {Give.ASSIGN}, label %assign
    i64 {Give.PUT_GRAD}, label %gradient   i64 {Give.VIEWED}, label %viewed   i64 {Give.RENEW}, label %renewal ]
result:
  %made = call ptr @make(ptr %tape, i64 %a, i64 %b, i64 %c)
  br label %each
assign:
  call void @assign(ptr %tape, i64 %a, i64 %b, i64 %c)
  br label %each
renewal:
  call void @renew(ptr %tape, i64 %a, i64 %b, i64 %c)
  br label %each
gradient:
  call void @put_gradient(ptr %tape, i64 %a, i64 %b, i64 %c)
  br label %each
viewed:
  call void @set_viewed(ptr %tape, i64 %a)
  br label %each
answer:
  %returned = call ptr @answer(ptr %tape, ptr %begin, ptr %end, ptr null)
  call void @Py_DecRef(ptr %state)
  ret ptr %returned
}}

define internal void @set_viewed(ptr %tape, i64 %n) nounwind {{
entry:
  %tensor = call ptr @tensor_at(ptr %tape, i64 %n)
  %absent = icmp eq ptr %tensor, null
  br i1 %absent, label %leave, label %mark
mark:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
  %marked = or i64 %flags, {VIEWED}
  store i64 %marked, ptr %flags.at
  br label %leave
leave:
  ret void
}}

; A new tensor for value %n, which the table alone refers to.
define internal ptr @make(ptr %tape, i64 %n, i64 %kind, i64 %flags) nounwind alwaysinline {{
entry:
{get("serial", "%tape", Tape.SERIAL, "i64")}
  %made = call ptr @fresh(i64 %serial, i64 %n, i64 %kind, i64 %flags)
{get("values", "%tape", Tape.VALUES)}
  %value_at = getelementptr ptr, ptr %values, i64 %n
  store ptr %made, ptr %value_at
  ret ptr %made
}}

; The tensor that was value %old has been written to, and is value %new; the cell that it had is in the table.
define internal void @assign(ptr %tape, i64 %old, i64 %new, i64 %kind_word) nounwind {{
entry:
  %tensor = call ptr @tensor_at(ptr %tape, i64 %old)
  %kind = inttoptr i64 %kind_word to ptr
{get("written", "%tensor", Tensor.WRITTEN, "i64")}
  %again = add i64 %written, 1
  store i64 %again, ptr %written.at
{get("cell", "%tensor", Tensor.CELL)}
  %late = icmp eq ptr %cell, null
  br i1 %late, label %number, label %leave_cell
leave_cell:
{put("stale", "%cell", Cell.STALE, "i64 %again")}
  store ptr null, ptr %cell.at
{get("cells", "%tape", Tape.CELLS)}
  %cell_at = getelementptr ptr, ptr %cells, i64 %old
  %kept = load ptr, ptr %cell_at
  %unkept = icmp eq ptr %kept, null
  br i1 %unkept, label %hand_over, label %drop
hand_over:
  store ptr %cell, ptr %cell_at
  br label %number
drop:
  call void @Py_DecRef(ptr %cell)
  br label %number
number:
{put("number", "%tensor", Tensor.NUMBER, "i64 %new")}
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
  %plain = and i64 %flags, {~HISTORY}
  store i64 %plain, ptr %flags.at
  call void @Py_IncRef(ptr %kind)
{get("old_kind", "%tensor", Tensor.KIND)}
  store ptr %kind, ptr %old_kind.at
  call void @Py_DecRef(ptr %old_kind)
  call void @keep(ptr %tape, i64 %new, ptr %tensor, ptr null)
  ret void
}}

; Value %new, made if it is not there, is the gradient of the leaf that is value %leaf.
define internal void @put_gradient(ptr %tape, i64 %leaf, i64 %new, i64 %kind) nounwind {{
entry:
  %there = call ptr @tensor_at(ptr %tape, i64 %new)
  %missing = icmp eq ptr %there, null
  br i1 %missing, label %make, label %put
make:
  %made = call ptr @make(ptr %tape, i64 %new, i64 %kind, i64 0)
  br label %put
put:
  %gradient = phi ptr [ %there, %entry ], [ %made, %make ]
  %tensor = call ptr @tensor_at(ptr %tape, i64 %leaf)
  call void @Py_IncRef(ptr %gradient)
{get("old", "%tensor", Tensor.GRAD)}
  store ptr %gradient, ptr %old.at
  call void @Py_DecRef(ptr %old)
  ret void
}}
"""

_ANSWER = f"""
; What the call returns; places are a pattern's if there is a %search. Tensors are held before the first tuple is
; made, which may start the collector.
define internal ptr @answer(ptr %tape, ptr %words, ptr %end, ptr %search) nounwind alwaysinline {{
entry:
  %tag = load i64, ptr %words
  %several = icmp eq i64 %tag, {Give.TUPLE}
  br i1 %several, label %sequence, label %single
single:
  %object = call ptr @one(ptr %tape, ptr %words, ptr %search)
  ret ptr %object
sequence:
  %made = call ptr @several(ptr %tape, ptr %words, ptr %end, ptr %search)
  ret ptr %made
}}

; A new reference to what one descriptor says: a tensor of the table, or None.
define internal ptr @one(ptr %tape, ptr %words, ptr %search) nounwind alwaysinline {{
entry:
  %tag = load i64, ptr %words
{get("a", "%words", 8, "i64")}
{get("values", "%tape", Tape.VALUES)}
  %none = icmp eq i64 %tag, {Give.NONE}
  br i1 %none, label %give, label %load
load:
  %n = call i64 @place_of(ptr %search, i64 %a)
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %value = load ptr, ptr %value_at
  %unset = icmp eq ptr %value, null
  %there = select i1 %unset, ptr @_Py_NoneStruct, ptr %value
  br label %give
give:
  %object = phi ptr [ @_Py_NoneStruct, %entry ], [ %there, %load ]
  call void @Py_IncRef(ptr %object)
  ret ptr %object
}}

; Tuples and lists, perhaps in each other: first an array of what stands in them, then they are built around it.
define internal ptr @several(ptr %tape, ptr %words, ptr %end, ptr %search) nounwind {{
entry:
  %cursors = alloca [2 x ptr]
  %first = ptrtoint ptr %words to i64
  %last = ptrtoint ptr %end to i64
  %bytes = sub i64 %last, %first
  %most = udiv i64 %bytes, {DESCRIPTOR}
  %items = alloca ptr, i64 %most
  br label %each
each:
  %at = phi ptr [ %words, %entry ], [ %next, %sequence ], [ %next, %item ]
  %n = phi i64 [ 0, %entry ], [ %n, %sequence ], [ %after, %item ]
  %left = phi i64 [ 1, %entry ], [ %with_items, %sequence ], [ %without, %item ]
  %all = icmp eq i64 %left, 0
  br i1 %all, label %build, label %look
look:
  %next = getelementptr i8, ptr %at, i64 {DESCRIPTOR}
  %tag = load i64, ptr %at
{get("length", "%at", 16, "i64")}
  %without = sub i64 %left, 1
  %with_items = add i64 %without, %length
  %is_sequence = icmp eq i64 %tag, {Give.TUPLE}
  br i1 %is_sequence, label %sequence, label %item
sequence:
  br label %each
item:
  %object = call ptr @one(ptr %tape, ptr %at, ptr %search)
  %item_at = getelementptr ptr, ptr %items, i64 %n
  store ptr %object, ptr %item_at
  %after = add i64 %n, 1
  br label %each
build:
  store ptr %words, ptr %cursors
  %second = getelementptr ptr, ptr %cursors, i64 1
  store ptr %items, ptr %second
  %answer = call ptr @build(ptr %cursors)
  ret ptr %answer
}}

; What the next descriptor says, of the next items; the cursors move on. The items are taken over, also where it fails.
define internal ptr @build(ptr %cursors) nounwind {{
entry:
  %words = load ptr, ptr %cursors
  %second = getelementptr ptr, ptr %cursors, i64 1
{DESCRIPTOR_FIELDS}
  store ptr %more, ptr %cursors
  %several = icmp eq i64 %tag, {Give.TUPLE}
  br i1 %several, label %start, label %single
single:
  %item_at = load ptr, ptr %second
  %item = load ptr, ptr %item_at
  %next_item = getelementptr ptr, ptr %item_at, i64 1
  store ptr %next_item, ptr %second
  ret ptr %item
start:
  %class = inttoptr i64 %a to ptr
  %is_tuple = icmp eq ptr %class, @PyTuple_Type
  %list = call ptr @PyList_New(i64 %b)
  %failed = icmp eq ptr %list, null
  br label %each
each:
  %n = phi i64 [ 0, %start ], [ %next, %placed ]
  %lost = phi i1 [ %failed, %start ], [ %lost_now, %placed ]
  %end = icmp eq i64 %n, %b
  br i1 %end, label %done, label %one
one:
  %next = add i64 %n, 1
  %part = call ptr @build(ptr %cursors)
  %no_part = icmp eq ptr %part, null
  %lost_now = or i1 %lost, %no_part
  br i1 %failed, label %drop, label %place
drop:
  call void @Py_DecRef(ptr %part)
  br label %placed
place:
  %status = call i32 @PyList_SetItem(ptr %list, i64 %n, ptr %part)
  br label %placed
placed:
  br label %each
done:
  br i1 %lost, label %error, label %which
which:
  %is_list = icmp eq ptr %class, @PyList_Type
  br i1 %is_list, label %give, label %tuple
tuple:
  %items = call ptr @PyList_AsTuple(ptr %list)
  call void @Py_DecRef(ptr %list)
  %no_items = icmp eq ptr %items, null
  %as_is = or i1 %is_tuple, %no_items
  br i1 %as_is, label %give, label %convert
convert:
  %converted = call ptr @PyObject_CallOneArg(ptr %class, ptr %items)
  call void @Py_DecRef(ptr %items)
  br label %give
give:
  %answer = phi ptr [ %list, %which ], [ %items, %tuple ], [ %converted, %convert ]
  ret ptr %answer
error:
  call void @Py_DecRef(ptr %list)
  ret ptr null
}}
"""

TEXT = _GIVE + _ANSWER
