"""LLVM text of calls that are known wherever they stand, after a trace that is new.

A recorded function has *patterns*: states without a parent, whose words count the call's arguments and values in place
of naming those of one trace. A call that agrees with one happens like any other, and is noted on the tape, of which
`notes_text` tells; `any_text` compares its tensors.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import BYTES_DATA, SIZE
from ..layout import BOUND, Give, Need, Recorded, Search, State, Tape
from ..snippets import DESCRIPTOR_FIELDS, get, put

READY = 256
"""Spare tensors that are there before a call is compared with patterns; those that make more are none. They are
prepared last of all that may run code of the program, which could use them up."""

_PATTERNS = f"""
; Whether a call is one of the pattern's: all arguments, and what was checked. Then its numbers have places, too.
define internal i1 @fits_pattern(ptr %search, ptr %pattern, ptr %args, i64 %count) nounwind {{
entry:
  %tape = load ptr, ptr %search
{get("before", "%tape", Tape.COUNT, "i64")}
{put("next", "%search", Search.NEXT, "i64 %before")}
{put("tensors", "%search", Search.TENSORS, "i64 0")}
{put("numbers", "%search", Search.NUMBERS, "i64 0")}
{get("needs", "%pattern", State.NEEDS)}
  %begin = getelementptr i8, ptr %needs, i64 {BYTES_DATA}
{get("size", "%needs", SIZE, "i64")}
  %end = getelementptr i8, ptr %begin, i64 %size
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %following, %one ]
  %at = phi ptr [ %begin, %entry ], [ %rest, %one ]
  %enough = icmp eq i64 %n, %count
  br i1 %enough, label %tests, label %one
one:
  %arg_at = getelementptr ptr, ptr %args, i64 %n
  %arg = load ptr, ptr %arg_at
  %rest = call ptr @match(ptr %search, ptr %arg, ptr %at, ptr %end)
  %following = add i64 %n, 1
  %differs = icmp eq ptr %rest, null
  br i1 %differs, label %no, label %each
tests:
  %words = phi ptr [ %at, %each ], [ %more, %tested ], [ %more, %between ]
  %last = icmp eq ptr %words, %end
  br i1 %last, label %effects, label %test
test:
{DESCRIPTOR_FIELDS}
  %is_test = icmp eq i64 %tag, {Need.TESTED}
  br i1 %is_test, label %tested, label %between
between:
  %number_at = call ptr @argument_place(ptr %search, i64 {Search.OBJECTS}, i64 %a)
  %that_number = load ptr, ptr %number_at
  %inside = call i1 @is_in_region(ptr %that_number, i64 %tag, i64 %b, i64 %c)
  br i1 %inside, label %tests, label %no
tested:
  %place = call ptr @argument_place(ptr %search, i64 {Search.ARGUMENTS}, i64 %a)
  %tested_number = load i64, ptr %place
  %has = call i1 @has_been_checked(ptr %tape, i64 %tested_number, i64 %b)
  br i1 %has, label %tests, label %no
effects:
  %may_happen = call i1 @may_renew(ptr %search, ptr %pattern)
  br i1 %may_happen, label %number, label %no
number:
{get("first", "%search", Search.NEXT, "i64")}
{get("some", "%search", Search.NUMBERS, "i64")}
  br label %each_number
each_number:
  %k = phi i64 [ 0, %number ], [ %after, %one_number ]
  %all = icmp eq i64 %k, %some
  %n_k = add i64 %first, %k
  br i1 %all, label %yes, label %one_number
one_number:
  %after = add i64 %k, 1
  %object_at = call ptr @argument_place(ptr %search, i64 {Search.OBJECTS}, i64 %k)
  %object = load ptr, ptr %object_at
  call void @keep(ptr %tape, i64 %n_k, ptr %object, ptr null)
  br label %each_number
yes:
{put("base", "%search", Search.BASE, "i64 %n_k")}
  ret i1 true
no:
  ret i1 false
}}

; Do what calls of the pattern do, and answer the call.
define internal ptr @give_pattern(ptr %search, ptr %pattern) nounwind {{
entry:
  %tape = load ptr, ptr %search
{get("base", "%search", Search.BASE, "i64")}
{get("own", "%pattern", State.VALUES, "i64")}
  %after = add i64 %base, %own
{put("count", "%tape", Tape.COUNT, "i64 %after")}
  call void @note_call(ptr %search, ptr %pattern)
{get("gives", "%pattern", State.GIVES)}
{get("size", "%gives", SIZE, "i64")}
  %begin = getelementptr i8, ptr %gives, i64 {BYTES_DATA}
  %end = getelementptr i8, ptr %begin, i64 %size
  br label %each
each:
  %words = phi ptr [ %begin, %entry ], [ %more, %result ], [ %more, %assign ], [ %more, %viewed ], [ %more, %read ],
                   [ %more, %renewal ]
  %last = icmp uge ptr %words, %end
  br i1 %last, label %answer, label %read
read:
{DESCRIPTOR_FIELDS}
  %n = call i64 @place_of(ptr %search, i64 %a)
  switch i64 %tag, label %each [
    i64 {Give.RESULT}, label %result   i64 {Give.ASSIGN}, label %assign   i64 {Give.VIEWED}, label %viewed
    i64 {Give.RENEW}, label %renewal ]
renewal:
  %renewed = call i64 @place_of(ptr %search, i64 %b)
  call void @renew(ptr %tape, i64 %n, i64 %renewed, i64 %c)
  br label %each
assign:
  %new = call i64 @place_of(ptr %search, i64 %b)
  call void @assign(ptr %tape, i64 %n, i64 %new, i64 %c)
  br label %each
result:
  %made = call ptr @make(ptr %tape, i64 %n, i64 %b, i64 %c)
  br label %each
viewed:
  call void @set_viewed(ptr %tape, i64 %n)
  br label %each
answer:
  %returned = call ptr @answer(ptr %tape, ptr %begin, ptr %end, ptr %search)
  ret ptr %returned
}}

; What a call returns that is known wherever it stands; null, perhaps with an exception, if it is not.
define internal ptr @call_anywhere(ptr %search, ptr %self, ptr %args, i64 %count, ptr %names) nounwind {{
entry:
{get("some", "%self", Recorded.PATTERN)}
  %known = call i1 @is_state(ptr %some)
  br i1 %known, label %stand, label %none
stand:
  %placed = call i1 @find_place(ptr %search)
  br i1 %placed, label %prepare, label %none
prepare:
  %status = call i32 @prepare(i64 {READY})
  %bad = icmp ne i32 %status, 0
  br i1 %bad, label %none, label %again
again:
  %tape = load ptr, ptr %search
  %tape_now = load ptr, ptr @tape
  %same_tape = icmp eq ptr %tape_now, %tape
{get("depth", "%tape", Tape.DEPTH, "i64")}
  %outermost = icmp eq i64 %depth, 0
  %still = and i1 %same_tape, %outermost
  br i1 %still, label %start, label %none
start:
{get("before", "%tape", Tape.COUNT, "i64")}
{get("mode", "%tape", Tape.MODE, "i64")}
{get("first", "%self", Recorded.PATTERN)}
  %short = icmp ult i64 %before, {BOUND}
  %room = call i1 @reserve_notes(ptr %tape)
  %may = and i1 %short, %room
  br i1 %may, label %each, label %none
each:
  %pattern = phi ptr [ %first, %start ], [ %sibling, %next ]
  %is = call i1 @is_state(ptr %pattern)
  br i1 %is, label %look, label %none
look:
{get("sibling", "%pattern", State.SIBLING)}
{get("its_count", "%pattern", State.COUNT, "i64")}
{get("its_mode", "%pattern", State.MODE, "i64")}
{get("its_names", "%pattern", State.NAMES)}
{get("own", "%pattern", State.VALUES, "i64")}
  %same_count = icmp eq i64 %its_count, %count
  %same_mode = icmp eq i64 %its_mode, %mode
  %same = and i1 %same_count, %same_mode
  br i1 %same, label %named, label %next
named:
  %same_names = call i1 @names_agree(ptr %names, ptr %its_names)
  br i1 %same_names, label %reserve, label %next
reserve:
  %with = add i64 %before, {Search.MOST + Search.FEW}
  %after = add i64 %with, %own
  %enough = call i1 @reserve(ptr %tape, i64 %after)
  br i1 %enough, label %compare, label %none
compare:
  %fits = call i1 @fits_pattern(ptr %search, ptr %pattern, ptr %args, i64 %count)
  br i1 %fits, label %found, label %undo
undo:
{get("entered", "%search", Search.NEXT, "i64")}
  call void @withdraw(ptr %tape, i64 %before, i64 %entered)
  br label %next
next:
  br label %each
found:
  %result = call ptr @give_pattern(ptr %search, ptr %pattern)
  ret ptr %result
none:
  ret ptr null
}}
"""

TEXT = _PATTERNS
