"""LLVM text of a call that may have been recorded before.

    the thread is the tape's, and no recorded function is running     else: the slow way, or the function itself
    a child of the tape's state was this call (`@find`)               else: `@call_anywhere`, or the slow way
    new tensors stand for its results (`@give`); the tape is in that child's state

What could run code of the program, or fail, comes before anything has been done (spare tensors are prepared, Python
looks at special tensors, and the search begins again), or after all has been done (a tuple of results is made).
"""

from __future__ import annotations

from .....compiler.backend.python_abi import ARGUMENT_COUNT_MASK, SIZE, TYPE
from ..layout import Recorded, Search, State, Tape
from ..snippets import get, put

EXPORTED = ("tape", "state_type", "recorded_new", "recorded_init")

ENOUGH = 64
"""Spare tensors that are there before a search, so that few searches must be begun again."""

_FIND = f"""
@tape = global ptr null
@state_type = global ptr null

; The child of the tape's state that was this call, with what it reads entered; or null, with the reason in the search.
define internal ptr @find(ptr %search, ptr %self, ptr %args, i64 %count, ptr %names) nounwind alwaysinline {{
entry:
{put("met", "%search", Search.MET, "ptr null")}
{put("short", "%search", Search.SHORT, "i64 0")}
  %tape = load ptr, ptr %search
{get("state", "%tape", Tape.STATE)}
{get("before", "%tape", Tape.COUNT, "i64")}
{get("mode", "%tape", Tape.MODE, "i64")}
  %known = call i1 @is_state(ptr %state)
{get("noted", "%tape", Tape.NOTED, "i64")}
  %all = icmp eq i64 %noted, 0
  %there = and i1 %known, %all
  br i1 %there, label %children, label %none
children:
{get("first", "%state", State.FIRST)}
  br label %each
each:
  %child = phi ptr [ %first, %children ], [ %sibling, %next ]
  %some = call i1 @is_state(ptr %child)
  br i1 %some, label %look, label %none
look:
{get("sibling", "%child", State.SIBLING)}
{get("call", "%child", State.CALL)}
{get("child_count", "%child", State.COUNT, "i64")}
{get("child_mode", "%child", State.MODE, "i64")}
{get("known_names", "%child", State.NAMES)}
{get("after", "%child", State.VALUES, "i64")}
  %same_call = icmp eq ptr %call, %self
  %same_count = icmp eq i64 %child_count, %count
  %same_mode = icmp eq i64 %child_mode, %mode
  %two = and i1 %same_call, %same_count
  %three = and i1 %two, %same_mode
  br i1 %three, label %named, label %next
named:
  %same_names = call i1 @names_agree(ptr %names, ptr %known_names)
  br i1 %same_names, label %room, label %next
room:
  %enough = call i1 @reserve(ptr %tape, i64 %after)
  %new = sub i64 %after, %before
  %spares = load i64, ptr @spares
  %prepared = icmp sle i64 %new, %spares
  br i1 %enough, label %spare, label %none
spare:
  br i1 %prepared, label %compare, label %short_of
short_of:
{put("short_of", "%search", Search.SHORT, "i64 %new")}
  ret ptr null
compare:
  %accepted = call i1 @accepts(ptr %search, ptr %child, ptr %args, i64 %count)
  br i1 %accepted, label %found, label %undo
undo:
  call void @withdraw(ptr %tape, i64 %before, i64 %after)
  br label %next
next:
  br label %each
found:
  ret ptr %child
none:
  ret ptr null
}}

define internal i1 @is_state(ptr %object) nounwind alwaysinline {{
entry:
  %null = icmp eq ptr %object, null
  br i1 %null, label %no, label %look
look:
{get("type", "%object", TYPE)}
  %wanted = load ptr, ptr @state_type
  %is = icmp eq ptr %type, %wanted
  ret i1 %is
no:
  ret i1 false
}}

; Do what makes another search worth while: 1 if it was done, 0 if there is nothing to do, -1 with an exception.
define internal i32 @improve(ptr %search) nounwind {{
entry:
{get("short", "%search", Search.SHORT, "i64")}
{get("met", "%search", Search.MET)}
  %few = icmp ne i64 %short, 0
  br i1 %few, label %spares, label %special
spares:
  %more = add i64 %short, {ENOUGH}
  %status = call i32 @prepare(i64 %more)
  %good = icmp eq i32 %status, 0
  %answer = select i1 %good, i32 1, i32 -1
  ret i32 %answer
special:
  %tape = load ptr, ptr %search
{get("look", "%tape", Tape.SPECIAL)}
{get("count", "%search", Search.COUNT, "i64")}
  %nothing = icmp eq ptr %met, null
  %null = icmp eq ptr %look, null
  %none = icmp eq ptr %look, @_Py_NoneStruct
  %unset = or i1 %null, %none
  %full = icmp uge i64 %count, {Search.LIMIT}
  %one = or i1 %nothing, %unset
  %any = or i1 %one, %full
  br i1 %any, label %no, label %ask
ask:
  %first = getelementptr i8, ptr %search, i64 {Search.CHECKED}
  %place = getelementptr ptr, ptr %first, i64 %count
  store ptr %met, ptr %place
  call void @Py_IncRef(ptr %met)
  %next = add i64 %count, 1
  store i64 %next, ptr %count.at
  call void @Py_IncRef(ptr %look)
  %made = call ptr @PyObject_CallOneArg(ptr %look, ptr %met)
  call void @Py_DecRef(ptr %look)
  %raised = icmp eq ptr %made, null
  br i1 %raised, label %error, label %truth
truth:
  %is = call i32 @PyObject_IsTrue(ptr %made)
  call void @Py_DecRef(ptr %made)
  ret i32 %is
no:
  ret i32 0
error:
  ret i32 -1
}}
"""

_CALL = f"""
define internal ptr @recorded_call(ptr %self, ptr %args, i64 %nargsf, ptr %names) nounwind {{
entry:
  %search = alloca [{Search.WORDS} x i64]
  %tape = load ptr, ptr @tape
  %no_tape = icmp eq ptr %tape, null
  br i1 %no_tape, label %slow, label %thread
thread:
  %thread_now = call i64 @PyThread_get_thread_ident()
{get("owner", "%tape", Tape.OWNER, "i64")}
  %ours = icmp eq i64 %thread_now, %owner
  br i1 %ours, label %depth, label %slow
depth:
{get("inside", "%tape", Tape.DEPTH, "i64")}
  %outermost = icmp eq i64 %inside, 0
  br i1 %outermost, label %begin, label %plain
plain:
{get("function", "%self", Recorded.FUNCTION)}
  %plain_result = call ptr @call_other(ptr %function, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %plain_result
begin:
  %given = and i64 %nargsf, {ARGUMENT_COUNT_MASK}
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %search_on, label %count_names
count_names:
{get("named", "%names", SIZE, "i64")}
  br label %search_on
search_on:
  %by_name = phi i64 [ 0, %begin ], [ %named, %count_names ]
  %count = add i64 %given, %by_name
  store ptr %tape, ptr %search
{put("checked", "%search", Search.COUNT, "i64 0")}
  br label %again
again:
  %child = call ptr @find(ptr %search, ptr %self, ptr %args, i64 %count, ptr %names)
  %missed = icmp eq ptr %child, null
  br i1 %missed, label %improve, label %hit
hit:
  call void @forget_checked(ptr %search)
  %result = call ptr @give(ptr %tape, ptr %child)
  ret ptr %result
improve:
  %status = call i32 @improve(ptr %search)
  %better = icmp sgt i32 %status, 0
  br i1 %better, label %still, label %unknown
still:
  %tape_now = load ptr, ptr @tape
  %same_tape = icmp eq ptr %tape_now, %tape
{get("depth_now", "%tape", Tape.DEPTH, "i64")}
  %still_out = icmp eq i64 %depth_now, 0
  %goes_on = and i1 %same_tape, %still_out
  br i1 %goes_on, label %again, label %unknown
unknown:
  %outcome = phi i32 [ %status, %improve ], [ 0, %still ]
  call void @forget_checked(ptr %search)
  %raised = icmp slt i32 %outcome, 0
  br i1 %raised, label %error, label %anywhere
anywhere:
  %noted = call ptr @call_anywhere(ptr %search, ptr %self, ptr %args, i64 %count, ptr %names)
  %no_pattern = icmp eq ptr %noted, null
  br i1 %no_pattern, label %how, label %note
note:
  ret ptr %noted
how:
  %exception = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %exception, null
  br i1 %failed, label %error, label %slow
slow:
{get("python", "%self", Recorded.SLOW)}
  %slow_result = call ptr @call_other(ptr %python, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %slow_result
error:
  ret ptr null
}}

; Let go of the special tensors that Python has looked at; the arguments still refer to them.
define internal void @forget_checked(ptr %search) nounwind alwaysinline {{
entry:
{get("count", "%search", Search.COUNT, "i64")}
  %first = getelementptr i8, ptr %search, i64 {Search.CHECKED}
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %one ]
  %end = icmp eq i64 %n, %count
  br i1 %end, label %leave, label %one
one:
  %place = getelementptr ptr, ptr %first, i64 %n
  %tensor = load ptr, ptr %place
  call void @Py_DecRef(ptr %tensor)
  %next = add i64 %n, 1
  br label %each
leave:
  ret void
}}

define internal ptr @call_other(ptr %function, ptr %args, i64 %nargsf, ptr %names) nounwind {{
entry:
  %unset = icmp eq ptr %function, null
  br i1 %unset, label %error, label %run
run:
  call void @Py_IncRef(ptr %function)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %nargsf, ptr %names)
  call void @Py_DecRef(ptr %function)
  ret ptr %result
error:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @function_missing)
  ret ptr null
}}

define ptr @recorded_new(ptr %type, ptr %args, ptr %names) nounwind {{
entry:
  %made = call ptr @PyType_GenericNew(ptr %type, ptr %args, ptr %names)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %leave, label %fill
fill:
{put("vectorcall", "%made", Recorded.VECTORCALL, "ptr @recorded_call")}
  br label %leave
leave:
  ret ptr %made
}}

; Recorded(function, slow)
define i32 @recorded_init(ptr %self, ptr %args, ptr %names) nounwind {{
entry:
{get("given", "%args", SIZE, "i64")}
  %two = icmp eq i64 %given, 2
  %unnamed = icmp eq ptr %names, null
  %good = and i1 %two, %unnamed
  br i1 %good, label %take, label %wrong
take:
  %function = call ptr @PyTuple_GetItem(ptr %args, i64 0)
  %slow = call ptr @PyTuple_GetItem(ptr %args, i64 1)
  call void @Py_IncRef(ptr %function)
  call void @Py_IncRef(ptr %slow)
{get("old_function", "%self", Recorded.FUNCTION)}
{get("old_slow", "%self", Recorded.SLOW)}
  store ptr %function, ptr %old_function.at
  store ptr %slow, ptr %old_slow.at
  call void @Py_DecRef(ptr %old_function)
  call void @Py_DecRef(ptr %old_slow)
  ret i32 0
wrong:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @init_wrong)
  ret i32 -1
}}
"""

TEXT = _FIND + _CALL

STRINGS = {
    "function_missing": "a recorded function has no function to call",
    "init_wrong": "a function and what is called in its place are expected",
}
