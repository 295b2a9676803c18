"""LLVM text of a tape's notes: calls that agreed with a pattern, which no state follows yet.

A note is the pattern, the first number of the call's own, where in the program the call stands, its tensors' numbers,
and which values those are again that it reads first. When Python asks for the tape's state, it makes the states of all
notes at once (`settle`).
"""

from __future__ import annotations

from ..layout import Search, Tape
from ..snippets import get, put

EXPORTED = ("tape_state_get", "tape_state_set", "tape_notes", "tape_settled")

_NOTES = f"""
; Room for the notes of one call more; false if there is no memory.
define internal i1 @reserve_notes(ptr %tape) nounwind {{
entry:
{get("noted", "%tape", Tape.NOTED, "i64")}
{get("page", "%tape", Tape.PAGE, "i64")}
  %needed = add i64 %noted, {4 + 2 * Search.MOST}
  %enough = icmp ule i64 %needed, %page
  br i1 %enough, label %yes, label %grow
grow:
  %more = mul i64 %needed, 2
  %bytes = mul i64 %more, 8
{get("notes", "%tape", Tape.NOTES)}
  %larger = call ptr @PyMem_Realloc(ptr %notes, i64 %bytes)
  %failed = icmp eq ptr %larger, null
  br i1 %failed, label %no, label %keep
keep:
  store ptr %larger, ptr %notes.at
  store i64 %more, ptr %page.at
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}}

; Note a call, of which the search knows all but the pattern.
define internal void @note_call(ptr %search, ptr %pattern) nounwind {{
entry:
  %tape = load ptr, ptr %search
{get("noted", "%tape", Tape.NOTED, "i64")}
{get("notes", "%tape", Tape.NOTES)}
{get("tensors", "%search", Search.TENSORS, "i64")}
{get("base", "%search", Search.BASE, "i64")}
  %at = getelementptr i64, ptr %notes, i64 %noted
  store ptr %pattern, ptr %at
{put("base_word", "%at", 8, "i64 %base")}
{get("code", "%search", Search.CODE)}
{put("code_word", "%at", 16, "ptr %code")}
{get("instruction", "%search", Search.INSTRUCTION, "i64")}
{put("instruction_word", "%at", 24, "i64 %instruction")}
  %numbers = getelementptr i8, ptr %at, i64 32
  %agains = getelementptr i64, ptr %numbers, i64 %tensors
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %one ]
  %end = icmp eq i64 %k, %tensors
  br i1 %end, label %done, label %one
one:
  %next = add i64 %k, 1
  %number_at = call ptr @argument_place(ptr %search, i64 {Search.ARGUMENTS}, i64 %k)
  %number = load i64, ptr %number_at
  %number_to = getelementptr i64, ptr %numbers, i64 %k
  store i64 %number, ptr %number_to
  %again_at = call ptr @argument_place(ptr %search, i64 {Search.AGAIN}, i64 %k)
  %again = load i64, ptr %again_at
  %again_to = getelementptr i64, ptr %agains, i64 %k
  store i64 %again, ptr %again_to
  br label %each
done:
  %twice = shl i64 %tensors, 1
  %length = add i64 %twice, 4
  %after = add i64 %noted, %length
  store i64 %after, ptr %noted.at
  ret void
}}
"""

_STATE = f"""
; The state of the tape; that of notes is made first.
define ptr @tape_state_get(ptr %tape, ptr %unused) nounwind {{
entry:
{get("noted", "%tape", Tape.NOTED, "i64")}
  %all = icmp eq i64 %noted, 0
  br i1 %all, label %give, label %ask
ask:
  %status = call i32 @ask_late(ptr %tape, ptr @settle_name)
  %raised = icmp ne i32 %status, 0
  br i1 %raised, label %error, label %give
give:
{get("state", "%tape", Tape.STATE)}
  %unset = icmp eq ptr %state, null
  %value = select i1 %unset, ptr @_Py_NoneStruct, ptr %state
  call void @Py_IncRef(ptr %value)
  ret ptr %value
error:
  ret ptr null
}}

define i32 @tape_state_set(ptr %tape, ptr %value, ptr %unused) nounwind {{
entry:
  call void @Py_IncRef(ptr %value)
{get("old", "%tape", Tape.STATE)}
  store ptr %value, ptr %old.at
  call void @Py_DecRef(ptr %old)
  ret i32 0
}}

; notes() -> tuple of the words on calls that no state follows yet
define ptr @tape_notes(ptr %tape, ptr %unused) nounwind {{
entry:
{get("noted", "%tape", Tape.NOTED, "i64")}
  %made = call ptr @PyTuple_New(i64 %noted)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %set ]
  %end = icmp eq i64 %k, %noted
  br i1 %end, label %done, label %one
one:
  %next = add i64 %k, 1
{get("notes", "%tape", Tape.NOTES)}
  %at = getelementptr i64, ptr %notes, i64 %k
  %word = load i64, ptr %at
  %number = call ptr @PyLong_FromLongLong(i64 %word)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %drop, label %set
set:
  %status = call i32 @PyTuple_SetItem(ptr %made, i64 %k, ptr %number)
  br label %each
done:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  br label %error
error:
  ret ptr null
}}

; settled(count, state) -> whether there were `count` words of notes, which lead to that state; else nothing is done
define ptr @tape_settled(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %number, label %wrong
number:
  %count = call i64 @index_of(ptr %tape, ptr %args, i64 %nargs, i64 {1 << 60})
  %failed = icmp slt i64 %count, 0
  br i1 %failed, label %error, label %compare
compare:
{get("noted", "%tape", Tape.NOTED, "i64")}
  %all = icmp eq i64 %noted, %count
  br i1 %all, label %go, label %answer
go:
  store i64 0, ptr %noted.at
  %state_at = getelementptr ptr, ptr %args, i64 1
  %state = load ptr, ptr %state_at
  %status = call i32 @tape_state_set(ptr %tape, ptr %state, ptr null)
  br label %answer
answer:
  %yes = select i1 %all, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  call void @Py_IncRef(ptr %yes)
  ret ptr %yes
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @settled_wrong)
  br label %error
error:
  ret ptr null
}}
"""

TEXT = _NOTES + _STATE

STRINGS = {"settle_name": "settle", "settled_wrong": "settled(number of words, state) expected"}
