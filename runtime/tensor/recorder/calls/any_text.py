"""LLVM text that compares a tensor with what a pattern says of it, wherever on the trace it is, and that finds the
arguments which a pattern counts."""

from __future__ import annotations

from ..layout import DENSE, LEAF, SPECIAL, Cell, Search, Tape, Tensor
from ..snippets import get, put

_ARGUMENTS = f"""
define internal ptr @argument_place(ptr %search, i64 %table, i64 %k) nounwind alwaysinline {{
entry:
  %first = getelementptr i8, ptr %search, i64 %table
  %place = getelementptr i64, ptr %first, i64 %k
  ret ptr %place
}}

; The number of what a descriptor of a pattern names; of any other that is the number itself, and there is no search.
define internal i64 @place_of(ptr %search, i64 %a) nounwind alwaysinline {{
entry:
  %plain = icmp eq ptr %search, null
  br i1 %plain, label %itself, label %counted
itself:
  ret i64 %a
counted:
  %is_argument = icmp slt i64 %a, 0
  br i1 %is_argument, label %argument, label %own
argument:
  %k = xor i64 %a, -1
  %place = call ptr @argument_place(ptr %search, i64 {Search.ARGUMENTS}, i64 %k)
  %number = load i64, ptr %place
  ret i64 %number
own:
{get("base", "%search", Search.BASE, "i64")}
  %n = add i64 %base, %a
  ret i64 %n
}}

; The tensor that was argument %k.
define internal ptr @argument_at(ptr %search, i64 %k) nounwind {{
entry:
  %tape = load ptr, ptr %search
  %place = call ptr @argument_place(ptr %search, i64 {Search.ARGUMENTS}, i64 %k)
  %number = load i64, ptr %place
  %tensor = call ptr @tensor_at(ptr %tape, i64 %number)
  ret ptr %tensor
}}

define internal void @note_number(ptr %search, ptr %object, i64 %k) nounwind {{
entry:
  %place = call ptr @argument_place(ptr %search, i64 {Search.OBJECTS}, i64 %k)
  store ptr %object, ptr %place
  %count = add i64 %k, 1
{put("numbers", "%search", Search.NUMBERS, "i64 %count")}
  ret void
}}

; Whether no tensor before the %k-th has this number.
define internal i1 @is_new(ptr %search, i64 %k, i64 %number) nounwind {{
entry:
  br label %each
each:
  %j = phi i64 [ 0, %entry ], [ %next, %one ]
  %end = icmp eq i64 %j, %k
  br i1 %end, label %yes, label %one
one:
  %next = add i64 %j, 1
  %place = call ptr @argument_place(ptr %search, i64 {Search.ARGUMENTS}, i64 %j)
  %other = load i64, ptr %place
  %same = icmp eq i64 %other, %number
  br i1 %same, label %no, label %each
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

_TENSORS = f"""
; Whether what is to know of a tensor are its fields, or it is a late view of this trace that lies like any tensor.
define internal i1 @is_plain(ptr %tape, ptr %tensor) nounwind {{
entry:
  %special = call i1 @is_special(ptr %tensor)
  br i1 %special, label %look, label %yes
look:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
{get("cell", "%tensor", Tensor.CELL)}
{get("storage", "%tensor", Tensor.STORAGE)}
{get("its_serial", "%tensor", Tensor.SERIAL, "i64")}
{get("serial", "%tape", Tape.SERIAL, "i64")}
  %bits = and i64 %flags, {SPECIAL | DENSE}
  %lies_dense = icmp eq i64 %bits, {SPECIAL | DENSE}
  %late = icmp eq ptr %cell, null
  %unset = icmp eq ptr %storage, null
  %none = icmp eq ptr %storage, @_Py_NoneStruct
  %own = or i1 %unset, %none
  %here = icmp eq i64 %its_serial, %serial
  %one = and i1 %lies_dense, %late
  %two = and i1 %own, %here
  %both = and i1 %one, %two
  ret i1 %both
yes:
  ret i1 true
}}

; Whether a cell has been computed.
define internal i1 @is_computed(ptr %cell) nounwind alwaysinline {{
entry:
  %late = icmp eq ptr %cell, null
  br i1 %late, label %no, label %look
look:
{get("array", "%cell", Cell.ARRAY)}
  %null = icmp eq ptr %array, null
  %none = icmp eq ptr %array, @_Py_NoneStruct
  %pending = or i1 %null, %none
  %is = xor i1 %pending, true
  ret i1 %is
no:
  ret i1 false
}}

; A tensor against ANY: the number that it has on the trace, or gets now. A leaf that was written to is left to Python.
define internal i1 @match_any(ptr %search, ptr %tensor, i64 %k, i64 %kind_word, i64 %class) nounwind {{
entry:
  %tape = load ptr, ptr %search
  %is = call i1 @is_tensor(ptr %tensor)
  br i1 %is, label %fields, label %no
fields:
  %plain = call i1 @is_plain(ptr %tape, ptr %tensor)
  br i1 %plain, label %classes, label %no
classes:
  %its_class = call i64 @class_of(ptr %tensor)
  %same_class = icmp eq i64 %its_class, %class
  br i1 %same_class, label %kinds, label %no
kinds:
{get("cell", "%tensor", Tensor.CELL)}
  %late = icmp eq ptr %cell, null
  %cell_kind_at = getelementptr i8, ptr %cell, i64 {Cell.KIND}
  %late_kind_at = getelementptr i8, ptr %tensor, i64 {Tensor.KIND}
  %kind_at = select i1 %late, ptr %late_kind_at, ptr %cell_kind_at
  %kind = load i64, ptr %kind_at
  %same_kind = icmp eq i64 %kind, %kind_word
  br i1 %same_kind, label %ready, label %no
ready:
  %computed = call i1 @is_computed(ptr %cell)
  %leaf_bit = and i64 %class, {LEAF}
  %no_leaf = icmp eq i64 %leaf_bit, 0
  %readable = or i1 %computed, %no_leaf
  br i1 %readable, label %tables, label %no
tables:
  %told = call i1 @reclaim(ptr %tape, ptr %tensor)
  br i1 %told, label %place, label %no
place:
{get("number", "%tensor", Tensor.NUMBER, "i64")}
  %there = call ptr @tensor_at(ptr %tape, i64 %number)
  %stands = icmp eq ptr %there, %tensor
  br i1 %stands, label %distinct, label %entering
distinct:
  %new = call i1 @is_new(ptr %search, i64 %k, i64 %number)
  br i1 %new, label %done, label %no
entering:
  br i1 %late, label %no, label %cells
cells:
{get("next", "%search", Search.NEXT, "i64")}
{get("serial", "%tape", Tape.SERIAL, "i64")}
{get("cell_serial", "%cell", Cell.SERIAL, "i64")}
{get("cell_number", "%cell", Cell.NUMBER, "i64")}
  %this_trace = icmp eq i64 %cell_serial, %serial
  %below = icmp ult i64 %cell_number, %next
  %may_stand = and i1 %this_trace, %below
  br i1 %may_stand, label %compare, label %first
compare:
{get("cell_table", "%tape", Tape.CELLS)}
  %entry_at = getelementptr ptr, ptr %cell_table, i64 %cell_number
  %entry_cell = load ptr, ptr %entry_at
  %its = icmp eq ptr %entry_cell, %cell
  br i1 %its, label %enter, label %first
first:
  br i1 %computed, label %number_cell, label %no
number_cell:
  store i64 %serial, ptr %cell_serial.at
  store i64 %next, ptr %cell_number.at
  br label %enter
enter:
  %again = phi i64 [ %cell_number, %compare ], [ {Search.FIRST}, %number_cell ]
{put("tensor_serial", "%tensor", Tensor.SERIAL, "i64 %serial")}
{put("tensor_number", "%tensor", Tensor.NUMBER, "i64 %next")}
  call void @keep(ptr %tape, i64 %next, ptr %tensor, ptr %cell)
  %following = add i64 %next, 1
  store i64 %following, ptr %next.at
  br label %done
done:
  %n = phi i64 [ %number, %distinct ], [ %next, %enter ]
  %what = phi i64 [ {Search.THERE}, %distinct ], [ %again, %enter ]
  %argument_at = call ptr @argument_place(ptr %search, i64 {Search.ARGUMENTS}, i64 %k)
  store i64 %n, ptr %argument_at
  %again_at = call ptr @argument_place(ptr %search, i64 {Search.AGAIN}, i64 %k)
  store i64 %what, ptr %again_at
  %count = add i64 %k, 1
{put("tensors", "%search", Search.TENSORS, "i64 %count")}
  ret i1 true
no:
  ret i1 false
}}
"""

TEXT = _ARGUMENTS + _TENSORS
