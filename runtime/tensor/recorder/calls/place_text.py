"""LLVM text that finds where in the program a call stands: the innermost code that is not the recorder's user's own.

`@inside` is a function of code that tells whether it belongs to the library which records. It keeps that code, so that
what was asked is known by its address: in `@codes`, where later ones take the places of others.
"""

from __future__ import annotations

from ..layout import Search
from ..snippets import put

KNOWN = 256
"""Of so many codes it is remembered what they are."""

EXPORTED = ("inside", "codes")

TEXT = f"""
@inside = global ptr null
@codes = global [{2 * KNOWN} x i64] zeroinitializer

; 1 if the code is the library's, 0 if it is the program's, -1 with an exception.
define internal i32 @is_inside(ptr %code) nounwind {{
entry:
  %address = ptrtoint ptr %code to i64
  %line = lshr i64 %address, 4
  %hash = and i64 %line, {KNOWN - 1}
  %twice = shl i64 %hash, 1
  %place = getelementptr [{2 * KNOWN} x i64], ptr @codes, i64 0, i64 %twice
  %known = load i64, ptr %place
  %answer_at = getelementptr i64, ptr %place, i64 1
  %same = icmp eq i64 %known, %address
  br i1 %same, label %remembered, label %ask
remembered:
  %answer = load i64, ptr %answer_at
  %short = trunc i64 %answer to i32
  ret i32 %short
ask:
  %function = load ptr, ptr @inside
  %nobody = icmp eq ptr %function, null
  br i1 %nobody, label %no, label %run
run:
  %made = call ptr @PyObject_CallOneArg(ptr %function, ptr %code)
  %raised = icmp eq ptr %made, null
  br i1 %raised, label %error, label %truth
truth:
  %is = call i32 @PyObject_IsTrue(ptr %made)
  call void @Py_DecRef(ptr %made)
  %wide = sext i32 %is to i64
  store i64 %wide, ptr %answer_at
  store i64 %address, ptr %place
  ret i32 %is
no:
  ret i32 0
error:
  ret i32 -1
}}

; Note in the search where the call stands; false with an exception.
define internal i1 @find_place(ptr %search) nounwind {{
entry:
{put("no_code", "%search", Search.CODE, "ptr null")}
{put("start", "%search", Search.INSTRUCTION, "i64 0")}
  %innermost = call ptr @PyEval_GetFrame()
  %none = icmp eq ptr %innermost, null
  br i1 %none, label %done, label %begin
begin:
  call void @Py_IncRef(ptr %innermost)
  br label %each
each:
  %frame = phi ptr [ %innermost, %begin ], [ %outer, %further ]
  %code = call ptr @PyFrame_GetCode(ptr %frame)
  %is = call i32 @is_inside(ptr %code)
  %instruction = call i32 @PyFrame_GetLasti(ptr %frame)
  %wide = sext i32 %instruction to i64
  call void @Py_DecRef(ptr %code)
  store ptr %code, ptr %no_code.to
  store i64 %wide, ptr %start.to
  %goes_on = icmp sgt i32 %is, 0
  %failed = icmp slt i32 %is, 0
  br i1 %goes_on, label %back, label %leave
back:
  %outer = call ptr @PyFrame_GetBack(ptr %frame)
  %last = icmp eq ptr %outer, null
  br i1 %last, label %leave, label %further
further:
  call void @Py_DecRef(ptr %frame)
  br label %each
leave:
  call void @Py_DecRef(ptr %frame)
  br i1 %failed, label %error, label %done
done:
  ret i1 true
error:
  ret i1 false
}}
"""
