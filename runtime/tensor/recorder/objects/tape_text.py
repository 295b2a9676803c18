"""LLVM text of the tape's tables.

The tables hold a tensor, a number or nothing, and a cell or nothing, for each value of the trace. Behind COUNT they
are empty, but while a call is compared with a recorded one: then what it reads for the first time stands there.
"""

from __future__ import annotations

from ..layout import Cell, Tape, Tensor
from ..snippets import get, put

EXPORTED = ("tape_new", "tape_traverse", "tape_clear", "tape_dealloc", "serials")

LEAST = 64
"""Room of the first tables."""

_TABLES = f"""
; Room for so many values; false if there is no memory.
define internal i1 @reserve(ptr %tape, i64 %needed) nounwind alwaysinline {{
entry:
{get("room", "%tape", Tape.ROOM, "i64")}
  %enough = icmp ule i64 %needed, %room
  br i1 %enough, label %yes, label %grow
grow:
  %double = mul i64 %room, 2
  %some = call i64 @llvm.umax.i64(i64 %double, i64 {LEAST})
  %more = call i64 @llvm.umax.i64(i64 %some, i64 %needed)
  %small = icmp ult i64 %more, {1 << 40}
  br i1 %small, label %first, label %no
first:
  %bytes = mul i64 %more, 8
{get("values", "%tape", Tape.VALUES)}
  %new_values = call ptr @PyMem_Realloc(ptr %values, i64 %bytes)
  %failed = icmp eq ptr %new_values, null
  br i1 %failed, label %no, label %second
second:
{put("values", "%tape", Tape.VALUES, "ptr %new_values")}
{get("cells", "%tape", Tape.CELLS)}
  %new_cells = call ptr @PyMem_Realloc(ptr %cells, i64 %bytes)
  %also_failed = icmp eq ptr %new_cells, null
  br i1 %also_failed, label %no, label %clear
clear:
{put("cells", "%tape", Tape.CELLS, "ptr %new_cells")}
{put("room", "%tape", Tape.ROOM, "i64 %more")}
  br label %each
each:
  %n = phi i64 [ %room, %clear ], [ %next, %each ]
  %value_at = getelementptr ptr, ptr %new_values, i64 %n
  store ptr null, ptr %value_at
  %cell_at = getelementptr ptr, ptr %new_cells, i64 %n
  store ptr null, ptr %cell_at
  %next = add i64 %n, 1
  %end = icmp eq i64 %next, %more
  br i1 %end, label %yes, label %each
yes:
  ret i1 true
no:
  ret i1 false
}}

; Let a value, or null, be the one numbered %n, and the cell, or null, its cell. There is room for it.
define internal void @keep(ptr %tape, i64 %n, ptr %value, ptr %cell) nounwind alwaysinline {{
entry:
  call void @Py_IncRef(ptr %value)
  call void @Py_IncRef(ptr %cell)
{get("values", "%tape", Tape.VALUES)}
{get("cells", "%tape", Tape.CELLS)}
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %cell_at = getelementptr ptr, ptr %cells, i64 %n
  %old_value = load ptr, ptr %value_at
  %old_cell = load ptr, ptr %cell_at
  store ptr %value, ptr %value_at
  store ptr %cell, ptr %cell_at
  call void @Py_DecRef(ptr %old_value)
  call void @Py_DecRef(ptr %old_cell)
  ret void
}}

; Take the values from %first to %end out of the trace again; whoever made the call still refers to them. They may have
; been taken over from another tape, which looks for them then.
define internal void @withdraw(ptr %tape, i64 %first, i64 %end) nounwind {{
entry:
{get("values", "%tape", Tape.VALUES)}
{get("cells", "%tape", Tape.CELLS)}
{get("serial", "%tape", Tape.SERIAL, "i64")}
  br label %each
each:
  %n = phi i64 [ %first, %entry ], [ %next, %after ]
  %last = icmp uge i64 %n, %end
  br i1 %last, label %leave, label %one
one:
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %value = load ptr, ptr %value_at
  store ptr null, ptr %value_at
  %no_value = icmp eq ptr %value, null
  br i1 %no_value, label %look, label %kind
kind:
  %is = call i1 @is_tensor(ptr %value)
  br i1 %is, label %tensor, label %drop
tensor:
{put("tensor_serial", "%value", Tensor.SERIAL, "i64 -1")}
  br label %drop
drop:
  call void @Py_DecRef(ptr %value)
  br label %look
look:
  %cell_at = getelementptr ptr, ptr %cells, i64 %n
  %cell = load ptr, ptr %cell_at
  store ptr null, ptr %cell_at
  %no_cell = icmp eq ptr %cell, null
  br i1 %no_cell, label %after, label %owner
owner:
{get("cell_serial", "%cell", Cell.SERIAL, "i64")}
{get("cell_number", "%cell", Cell.NUMBER, "i64")}
  %this_trace = icmp eq i64 %cell_serial, %serial
  %this_number = icmp eq i64 %cell_number, %n
  %entered = and i1 %this_trace, %this_number
  %kept = select i1 %entered, i64 0, i64 %cell_serial
{put("cell_serial", "%cell", Cell.SERIAL, "i64 %kept")}
  call void @Py_DecRef(ptr %cell)
  br label %after
after:
  %next = add i64 %n, 1
  br label %each
leave:
  ret void
}}

; The tensor that is value %n now, or null.
define internal ptr @tensor_at(ptr %tape, i64 %n) nounwind alwaysinline {{
entry:
{get("room", "%tape", Tape.ROOM, "i64")}
  %inside = icmp ult i64 %n, %room
  br i1 %inside, label %load, label %no
load:
{get("values", "%tape", Tape.VALUES)}
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %value = load ptr, ptr %value_at
  %null = icmp eq ptr %value, null
  br i1 %null, label %no, label %kind
kind:
  %is = call i1 @is_tensor(ptr %value)
  br i1 %is, label %compare, label %no
compare:
{get("serial", "%tape", Tape.SERIAL, "i64")}
{get("its_serial", "%value", Tensor.SERIAL, "i64")}
{get("number", "%value", Tensor.NUMBER, "i64")}
  %same_trace = icmp eq i64 %its_serial, %serial
  %same_number = icmp eq i64 %number, %n
  %same = and i1 %same_trace, %same_number
  br i1 %same, label %yes, label %no
yes:
  ret ptr %value
no:
  ret ptr null
}}
"""

_EMPTYING = f"""
@tapes = internal global i64 0
@last_serial = internal global i64 0

; A number that no trace has had.
define internal i64 @new_serial() nounwind alwaysinline {{
entry:
  %last = load i64, ptr @last_serial
  %new = add i64 %last, 1
  store i64 %new, ptr @last_serial
  ret i64 %new
}}

define ptr @serials(ptr %unused, ptr %nothing) nounwind {{
entry:
  %new = call i64 @new_serial()
  %made = call ptr @PyLong_FromLongLong(i64 %new)
  ret ptr %made
}}

define ptr @tape_new(ptr %type, ptr %args, ptr %names) nounwind {{
entry:
  %made = call ptr @PyType_GenericNew(ptr %type, ptr %args, ptr %names)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %leave, label %count
count:
  %tapes = load i64, ptr @tapes
  %more = add i64 %tapes, 1
  store i64 %more, ptr @tapes
  br label %leave
leave:
  ret ptr %made
}}

; Start another trace. What the old one held is let go when the tape is empty: that may run code of the program.
define internal void @restart(ptr %tape, i64 %serial, ptr %state) nounwind {{
entry:
{get("values", "%tape", Tape.VALUES)}
{get("cells", "%tape", Tape.CELLS)}
{get("room", "%tape", Tape.ROOM, "i64")}
{get("count", "%tape", Tape.COUNT, "i64")}
{get("old_state", "%tape", Tape.STATE)}
  store ptr null, ptr %values.at
  store ptr null, ptr %cells.at
  store i64 0, ptr %room.at
  store i64 0, ptr %count.at
{put("noted", "%tape", Tape.NOTED, "i64 0")}
{put("serial", "%tape", Tape.SERIAL, "i64 %serial")}
{get("old_caught", "%tape", Tape.CAUGHT)}
  call void @Py_IncRef(ptr %state)
  call void @Py_IncRef(ptr %state)
  store ptr %state, ptr %old_state.at
  store ptr %state, ptr %old_caught.at
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %one ]
  %end = icmp uge i64 %n, %count
  br i1 %end, label %done, label %one
one:
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %cell_at = getelementptr ptr, ptr %cells, i64 %n
  %value = load ptr, ptr %value_at
  %cell = load ptr, ptr %cell_at
  store ptr null, ptr %value_at
  store ptr null, ptr %cell_at
  call void @Py_DecRef(ptr %value)
  call void @Py_DecRef(ptr %cell)
  %next = add i64 %n, 1
  br label %each
done:
  call void @Py_DecRef(ptr %old_state)
  call void @Py_DecRef(ptr %old_caught)
  %room_now = load i64, ptr %room.at
  %unused = icmp eq i64 %room_now, 0
  br i1 %unused, label %reuse, label %free
reuse:
  store ptr %values, ptr %values.at
  store ptr %cells, ptr %cells.at
  store i64 %room, ptr %room.at
  ret void
free:
  call void @PyMem_Free(ptr %values)
  call void @PyMem_Free(ptr %cells)
  ret void
}}

define i32 @tape_clear(ptr %tape) nounwind {{
entry:
  call void @restart(ptr %tape, i64 0, ptr null)
  call void @clear_fields(ptr %tape, ptr @tape_fields, i64 {len(Tape.OBJECTS)})
  ret i32 0
}}

define void @tape_dealloc(ptr %tape) nounwind {{
entry:
  call void @PyObject_GC_UnTrack(ptr %tape)
  %cleared = call i32 @tape_clear(ptr %tape)
{get("values", "%tape", Tape.VALUES)}
{get("cells", "%tape", Tape.CELLS)}
  call void @PyMem_Free(ptr %values)
  call void @PyMem_Free(ptr %cells)
{get("notes", "%tape", Tape.NOTES)}
  call void @PyMem_Free(ptr %notes)
  %tapes = load i64, ptr @tapes
  %fewer = sub i64 %tapes, 1
  store i64 %fewer, ptr @tapes
  call void @release(ptr %tape)
  ret void
}}

define i32 @tape_traverse(ptr %tape, ptr %visit, ptr %context) nounwind {{
entry:
  %fields_seen = call i32 @visit_fields(ptr %tape, ptr %visit, ptr %context, ptr @tape_fields, i64 {len(Tape.OBJECTS)})
{get("count", "%tape", Tape.COUNT, "i64")}
{get("values", "%tape", Tape.VALUES)}
{get("cells", "%tape", Tape.CELLS)}
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %cell_seen ]
  %so_far = phi i32 [ %fields_seen, %entry ], [ %seen, %cell_seen ]
  %stop = icmp ne i32 %so_far, 0
  %end = icmp uge i64 %n, %count
  %leaves = or i1 %stop, %end
  br i1 %leaves, label %leave, label %one
one:
  %next = add i64 %n, 1
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %value = load ptr, ptr %value_at
  %no_value = icmp eq ptr %value, null
  br i1 %no_value, label %second, label %show_value
show_value:
  %value_seen = call i32 %visit(ptr %value, ptr %context)
  br label %second
second:
  %first_seen = phi i32 [ 0, %one ], [ %value_seen, %show_value ]
  %cell_at = getelementptr ptr, ptr %cells, i64 %n
  %cell = load ptr, ptr %cell_at
  %no_cell = icmp eq ptr %cell, null
  %enough = icmp ne i32 %first_seen, 0
  %skip = or i1 %no_cell, %enough
  br i1 %skip, label %cell_seen, label %show_cell
show_cell:
  %second_seen = call i32 %visit(ptr %cell, ptr %context)
  br label %cell_seen
cell_seen:
  %seen = phi i32 [ %first_seen, %second ], [ %second_seen, %show_cell ]
  br label %each
leave:
  ret i32 %so_far
}}
"""

TEXT = _TABLES + _EMPTYING
