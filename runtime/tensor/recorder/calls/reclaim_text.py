"""LLVM text by which a trace knows a tensor again that another thread has entered into its own meanwhile.

A tensor and its cell remember one place, that in the trace which they were entered into last; 0 says that its own trace
has let go of it. Where there are several tapes, the tables are asked as well: so that no trace knows a leaf by two
numbers, each with a gradient of its own.
"""

from __future__ import annotations

from ..layout import HISTORY, LEAF, PART, Cell, Tape, Tensor
from ..snippets import get, put

EXPORTED = ("tape_reclaim",)

TEXT = f"""
; Let a tensor that stands on the trace, and its cell, remember that. False if it is a leaf that stood there with
; another cell only, since another thread wrote to it, or if another thread has computed it and is to note its history.
define internal i1 @reclaim(ptr %tape, ptr %tensor) nounwind {{
entry:
  %tapes = load i64, ptr @tapes
  %alone = icmp ule i64 %tapes, 1
  br i1 %alone, label %yes, label %look
look:
{get("serial", "%tape", Tape.SERIAL, "i64")}
{get("its_serial", "%tensor", Tensor.SERIAL, "i64")}
{get("cell", "%tensor", Tensor.CELL)}
  %here = icmp eq i64 %its_serial, %serial
  %late = icmp eq ptr %cell, null
  %known = or i1 %here, %late
  br i1 %known, label %yes, label %history
history:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
{get("record", "%tensor", Tensor.RECORD)}
  %bit = and i64 %flags, {HISTORY | PART}
  %is_told = icmp ne i64 %bit, 0
  %unset = icmp eq ptr %record, null
  %none = icmp eq ptr %record, @_Py_NoneStruct
  %no_record = or i1 %unset, %none
  %pending = and i1 %is_told, %no_record
  br i1 %pending, label %no, label %tables
no:
  ret i1 false
tables:
{get("count", "%tape", Tape.COUNT, "i64")}
{get("values", "%tape", Tape.VALUES)}
{get("cells", "%tape", Tape.CELLS)}
{get("cell_serial", "%cell", Cell.SERIAL, "i64")}
  %cell_here = icmp eq i64 %cell_serial, %serial
  %elsewhere = icmp ne i64 %its_serial, 0
  br label %each
each:
  %n = phi i64 [ 0, %tables ], [ %next, %after ]
  %cell_known = phi i1 [ %cell_here, %tables ], [ %cell_now, %after ]
  %stood = phi i1 [ false, %tables ], [ %stood_now, %after ]
  %end = icmp uge i64 %n, %count
  br i1 %end, label %done, label %one
one:
  %next = add i64 %n, 1
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %value = load ptr, ptr %value_at
  %cell_at = getelementptr ptr, ptr %cells, i64 %n
  %entry_cell = load ptr, ptr %cell_at
  %its = icmp eq ptr %value, %tensor
  %its_cell = icmp eq ptr %entry_cell, %cell
  %stood_now = or i1 %stood, %its
  %cell_unknown = xor i1 %cell_known, true
  %tell_cell = and i1 %its_cell, %cell_unknown
  br i1 %tell_cell, label %tell, label %both
tell:
  store i64 %serial, ptr %cell_serial.at
{put("number", "%cell", Cell.NUMBER, "i64 %n")}
  br label %both
both:
  %cell_now = or i1 %cell_known, %its_cell
  %found = and i1 %its, %its_cell
  %taken = and i1 %found, %elsewhere
  br i1 %taken, label %take, label %after
after:
  br label %each
take:
  store i64 %serial, ptr %its_serial.at
{put("tensor_number", "%tensor", Tensor.NUMBER, "i64 %n")}
  br label %yes
done:
  %leaf_bit = and i64 %flags, {LEAF}
  %leaf = icmp ne i64 %leaf_bit, 0
  %again = and i1 %stood, %leaf
  %new = xor i1 %again, true
  ret i1 %new
yes:
  ret i1 true
}}

; reclaim(tensor) -> whether it may be read: it stands on the trace as it is, or not at all. It and its cell then know.
define ptr @tape_reclaim(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
  %one = icmp eq i64 %nargs, 1
  br i1 %one, label %kind, label %wrong
kind:
  %tensor = load ptr, ptr %args
  %is = call i1 @is_tensor(ptr %tensor)
  br i1 %is, label %ask, label %wrong
ask:
  %good = call i1 @reclaim(ptr %tape, ptr %tensor)
  %answer = select i1 %good, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  call void @Py_IncRef(ptr %answer)
  ret ptr %answer
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @reclaim_wrong)
  ret ptr null
}}
"""

STRINGS = {"reclaim_wrong": "reclaim(tensor) expected"}
