"""LLVM text that runs a trace which ended in the same state, with the same values wanted, the last time.

A state remembers that run: LIVE has the bits of `live()`, PLAN is a tuple of the arguments of `replay`, and what Python
wants to find there.
"""

from __future__ import annotations

from ..python_abi import BYTES_DATA, SIZE, TUPLE_ITEMS, TYPE
from .layout import State, Tape
from .snippets import get

EXPORTED = ("tape_rerun",)

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

; rerun() -> what replay() returns, or NotImplemented where the state knows no such run
define ptr @tape_rerun(ptr %tape, ptr %unused) nounwind {{
entry:
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
  br i1 %is_tuple, label %values, label %no
values:
  %same = call i1 @are_live(ptr %tape, ptr %live)
  br i1 %same, label %run, label %no
run:
{get("items", "%plan", SIZE, "i64")}
  %length = call i64 @llvm.umin.i64(i64 %items, i64 5)
  %words = getelementptr i8, ptr %plan, i64 {TUPLE_ITEMS}
  call void @Py_IncRef(ptr %plan)
  %made = call ptr @tape_replay(ptr %tape, ptr %words, i64 %length)
  call void @Py_DecRef(ptr %plan)
  ret ptr %made
no:
  %nothing = call ptr @not_implemented()
  ret ptr %nothing
}}
"""
