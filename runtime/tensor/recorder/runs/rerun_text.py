"""LLVM text that runs a trace which ended in the same state, with the same values wanted, the last time.

A state remembers that run: LIVE has the bits of `live()`, PLAN is a tuple of the arguments of `replay`, and what Python
wants to find there.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import BYTES_DATA, SIZE, TUPLE_ITEMS, TYPE
from ..layout import State, Tape
from ..snippets import get

EXPORTED = ("tape_rerun",)

LONG, HELD = 2, 6
"""Which items of PLAN say whether the kernel runs long, and of which values a record holds what stands there: numbers
in a tuple, or None where Python makes notes."""

TEXT = f"""
; Whether the values that are wanted are those of some bits.
define internal i1 @are_live(ptr %tape, ptr %live) nounwind {{
entry:
{get("count", "%tape", Tape.COUNT, "i64")}
{get("size", "%live", SIZE, "i64")}
  %rounded = add i64 %count, 7
  %wanted = lshr i64 %rounded, 3
  %data = getelementptr i8, ptr %live, i64 {BYTES_DATA}
  %as_long = icmp eq i64 %size, %wanted
  br i1 %as_long, label %each, label %no
each:
  %n = phi i64 [ 0, %entry ], [ %next, %one ]
  %end = icmp uge i64 %n, %count
  br i1 %end, label %yes, label %one
one:
  %next = add i64 %n, 1
  %is = call i1 @is_live(ptr %tape, i64 %n, i1 false)
  %index = lshr i64 %n, 3
  %at = getelementptr i8, ptr %data, i64 %index
  %byte = load i8, ptr %at
  %place = and i64 %n, 7
  %shift = trunc i64 %place to i8
  %moved = lshr i8 %byte, %shift
  %was = trunc i8 %moved to i1
  %same = icmp eq i1 %is, %was
  br i1 %same, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; The record of a trace: [state, numbers, what stands at the numbers ...]. Null if there is none, or with an exception.
define internal ptr @record_of(ptr %tape, ptr %state, ptr %plan) nounwind {{
entry:
{get("items", "%plan", SIZE, "i64")}
  %told = icmp ugt i64 %items, {HELD}
  br i1 %told, label %kind, label %none
kind:
{get("numbers", "%plan", TUPLE_ITEMS + 8 * HELD)}
{get("type", "%numbers", TYPE)}
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %make, label %none
make:
{get("size", "%numbers", SIZE, "i64")}
  %first = getelementptr i8, ptr %numbers, i64 {TUPLE_ITEMS}
  %room = add i64 %size, 2
  %made = call ptr @PyList_New(i64 %room)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %none, label %head
head:
  call void @Py_IncRef(ptr %state)
  call void @Py_IncRef(ptr %numbers)
  %set_state = call i32 @PyList_SetItem(ptr %made, i64 0, ptr %state)
  %set_numbers = call i32 @PyList_SetItem(ptr %made, i64 1, ptr %numbers)
  br label %each
each:
  %k = phi i64 [ 0, %head ], [ %next, %load ]
  %end = icmp eq i64 %k, %size
  br i1 %end, label %done, label %one
one:
  %next = add i64 %k, 1
{get("count", "%tape", Tape.COUNT, "i64")}
  %number_at = getelementptr ptr, ptr %first, i64 %k
  %n = call i64 @index_of(ptr %tape, ptr %number_at, i64 1, i64 %count)
  %wrong = icmp slt i64 %n, 0
  br i1 %wrong, label %drop, label %load
load:
{get("values", "%tape", Tape.VALUES)}
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %value = load ptr, ptr %value_at
  %null = icmp eq ptr %value, null
  %item = select i1 %null, ptr @_Py_NoneStruct, ptr %value
  call void @Py_IncRef(ptr %item)
  %place = add i64 %k, 2
  %set = call i32 @PyList_SetItem(ptr %made, i64 %place, ptr %item)
  br label %each
done:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  ret ptr null
none:
  ret ptr null
}}

; True in the place of an empty list: there is nothing to note.
define internal ptr @true_for_empty(ptr %told) nounwind {{
entry:
  %null = icmp eq ptr %told, null
  br i1 %null, label %same, label %kind
kind:
{get("type", "%told", TYPE)}
  %is_list = icmp eq ptr %type, @PyList_Type
  br i1 %is_list, label %size, label %same
size:
{get("length", "%told", SIZE, "i64")}
  %empty = icmp eq i64 %length, 0
  br i1 %empty, label %change, label %same
change:
  call void @Py_IncRef(ptr @_Py_TrueStruct)
  call void @Py_DecRef(ptr %told)
  ret ptr @_Py_TrueStruct
same:
  ret ptr %told
}}

; Whether nobody can want the lock of this tape: there is no other tape, so no other thread that has to do with
; tensors, and the interpreter's lock is held while the kernel runs. Nor must Python note anything.
define internal i1 @is_alone(ptr %tape, ptr %plan) nounwind {{
entry:
{get("items", "%plan", SIZE, "i64")}
  %told = icmp ugt i64 %items, {HELD}
  br i1 %told, label %look, label %no
look:
{get("long", "%plan", TUPLE_ITEMS + 8 * LONG)}
{get("numbers", "%plan", TUPLE_ITEMS + 8 * HELD)}
{get("type", "%numbers", TYPE)}
{get("depth", "%tape", Tape.DEPTH, "i64")}
  %tapes = load i64, ptr @tapes
  %one = icmp eq i64 %tapes, 1
  %outside = icmp eq i64 %depth, 0
  %short = icmp eq ptr %long, @_Py_FalseStruct
  %noted = icmp eq ptr %type, @PyTuple_Type
  %quiet = and i1 %one, %outside
  %native = and i1 %short, %noted
  %alone = and i1 %quiet, %native
  ret i1 %alone
no:
  ret i1 false
}}

; rerun(state, locked): run the trace, and begin another in a state. True; or where the record is not known what
; replay() returns, and no other trace; or NotImplemented where the state knows no such run, or the lock is needed and
; not held
define ptr @tape_rerun(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %given, label %wrong
given:
  %root = load ptr, ptr %args
{get("locked", "%args", 8)}
  %is_locked = icmp eq ptr %locked, @_Py_TrueStruct
{get("state", "%tape", Tape.STATE)}
  %is = call i1 @is_state(ptr %state)
{get("noted", "%tape", Tape.NOTED, "i64")}
  %all = icmp eq i64 %noted, 0
  %known_state = and i1 %is, %all
  br i1 %known_state, label %look, label %no
look:
{get("live", "%state", State.LIVE)}
{get("plan", "%state", State.PLAN)}
  %known = call i1 @is_bytes(ptr %live)
  %no_plan = icmp eq ptr %plan, null
  %some_plan = xor i1 %no_plan, true
  %both = and i1 %known, %some_plan
  br i1 %both, label %kind, label %no
kind:
{get("type", "%plan", TYPE)}
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %lock, label %no
lock:
  br i1 %is_locked, label %values, label %alone
alone:
  %is_alone = call i1 @is_alone(ptr %tape, ptr %plan)
  br i1 %is_alone, label %values, label %no
values:
  %same = call i1 @are_live(ptr %tape, ptr %live)
  br i1 %same, label %run, label %no
run:
{get("items", "%plan", SIZE, "i64")}
  %length = call i64 @llvm.umin.i64(i64 %items, i64 5)
  %words = getelementptr i8, ptr %plan, i64 {TUPLE_ITEMS}
  call void @Py_IncRef(ptr %state)
  call void @Py_IncRef(ptr %plan)
{get("serial", "%tape", Tape.SERIAL, "i64")}
  %record = call ptr @record_of(ptr %tape, ptr %state, ptr %plan)
{get("state_now", "%tape", Tape.STATE)}
{get("serial_now", "%tape", Tape.SERIAL, "i64")}
  %same_state = icmp eq ptr %state_now, %state
  %same_serial = icmp eq i64 %serial_now, %serial
  %unchanged = and i1 %same_state, %same_serial
  %raised = call ptr @PyErr_Occurred()
  %quiet = icmp eq ptr %raised, null
  %goes_on = and i1 %unchanged, %quiet
  br i1 %goes_on, label %replay, label %other
replay:
  %made = call ptr @replay(ptr %tape, ptr %words, i64 %length, ptr %record)
  br label %leave
other:
  br i1 %quiet, label %not_so, label %leave
not_so:
  %otherwise = call ptr @not_implemented()
  br label %leave
leave:
  %told = phi ptr [ %made, %replay ], [ null, %other ], [ %otherwise, %not_so ]
  call void @Py_DecRef(ptr %record)
  call void @Py_DecRef(ptr %plan)
  %answer = call ptr @true_for_empty(ptr %told)
  %ran = icmp eq ptr %answer, @_Py_TrueStruct
  br i1 %ran, label %count, label %give
count:
{get("runs", "%state", State.RUNS, "i64")}
  %more = add i64 %runs, 1
  store i64 %more, ptr %runs.at
  %new = call i64 @new_serial()
  call void @restart(ptr %tape, i64 %new, ptr %root)
  br label %give
give:
  call void @Py_DecRef(ptr %state)
  ret ptr %answer
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @rerun_wrong)
  ret ptr null
no:
  %nothing = call ptr @not_implemented()
  ret ptr %nothing
}}
"""

STRINGS = {"rerun_wrong": "rerun(state, locked) expected"}
