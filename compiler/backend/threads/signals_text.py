"""LLVM text of the question whether a signal came, which long kernels ask now and then.

Python's handlers run on the main thread, and only where it holds the interpreter's lock. A kernel gave the lock away,
so asking means to take it; where other threads run Python, that waits for them. What a handler raised is kept aside
while the kernel ends, and raised by whoever called it.
"""

from __future__ import annotations

POLL_NS = 1_000_000
"""The least time between two looks for signals."""

POLL_SHARE = 16
"""Where taking the interpreter's lock has to wait for others, looking for signals costs up to 1/16 of the time..."""

POLL_LONGEST_NS = 75_000_000
"""...but one that came is never left longer than this."""

TEXT = f"""
; When to ask next, and the exception of a handler until Python raises it.
@due = internal global i64 0, align 128
@raised = internal global [3 x ptr] zeroinitializer
; 0, or -2 if a signal handler raised: then the kernel returns -2, and Python raises what is in @raised.
; Handlers run on the main thread; a helper of its region hears of it through @worst.
define i64 @pullback_poll() nounwind {{
entry:
  %me = call i64 @PyThread_get_thread_ident()
  %main = load atomic i64, ptr @main_thread monotonic, align 8
  %handles = icmp eq i64 %me, %main
  br i1 %handles, label %hurry, label %other
other:
  %worst = load atomic i64, ptr @worst monotonic, align 8
  %stopped = icmp eq i64 %worst, 0
  br i1 %stopped, label %search, label %none
search:
  %started = load atomic i64, ptr @started monotonic, align 8
  br label %step
step:
  %id = phi i64 [1, %search], [%next, %compare]
  %end = icmp ugt i64 %id, %started
  br i1 %end, label %none, label %compare
compare:
  %place = getelementptr i64, ptr @idents, i64 %id
  %ident = load atomic i64, ptr %place monotonic, align 8
  %next = add i64 %id, 1
  %mine = icmp eq i64 %ident, %me
  br i1 %mine, label %stop, label %step
hurry:
  %now = call i64 @clock()
  %due = load i64, ptr @due
  %early = icmp slt i64 %now, %due
  br i1 %early, label %none, label %ask
ask:
  %again = add i64 %now, {POLL_NS}
  store i64 %again, ptr @due
  ; whoever holds the interpreter's lock relies on no other Python running meanwhile
  %held = call i32 @PyGILState_Check()
  %holds = icmp ne i32 %held, 0
  br i1 %holds, label %none, label %take
take:
  %state = call i32 @PyGILState_Ensure()
  %answer = call i32 @PyErr_CheckSignals()
  %calm = icmp eq i32 %answer, 0
  br i1 %calm, label %give, label %keep
keep:
  call void @drop()
  %value = getelementptr ptr, ptr @raised, i64 1
  %trace = getelementptr ptr, ptr @raised, i64 2
  call void @PyErr_Fetch(ptr @raised, ptr %value, ptr %trace)
  br label %give
give:
  call void @PyGILState_Release(i32 %state)
  %then = call i64 @clock()
  %cost = sub i64 %then, %now
  %scaled = mul i64 %cost, {POLL_SHARE}
  %least = call i64 @llvm.smax.i64(i64 %scaled, i64 {POLL_NS})
  %pause = call i64 @llvm.smin.i64(i64 %least, i64 {POLL_LONGEST_NS})
  %later = add i64 %then, %pause
  store i64 %later, ptr @due
  br i1 %calm, label %none, label %stop
stop:
  ret i64 -2
none:
  ret i64 0
}}

; Forget an exception that nobody came for: the caller of a C function, which cannot raise it.
define internal void @drop() nounwind {{
entry:
  br label %step
step:
  %k = phi i64 [0, %entry], [%next, %on]
  %place = getelementptr ptr, ptr @raised, i64 %k
  %object = load ptr, ptr %place
  store ptr null, ptr %place
  %none = icmp eq ptr %object, null
  br i1 %none, label %on, label %forget
forget:
  call void @Py_DecRef(ptr %object)
  br label %on
on:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 3
  br i1 %more, label %step, label %leave
leave:
  ret void
}}

; Raise what a handler raised; the lock is held. Nothing is raised where nothing was.
define ptr @reraise() nounwind {{
  %value_place = getelementptr ptr, ptr @raised, i64 1
  %trace_place = getelementptr ptr, ptr @raised, i64 2
  %type = load ptr, ptr @raised
  %value = load ptr, ptr %value_place
  %trace = load ptr, ptr %trace_place
  store ptr null, ptr @raised
  store ptr null, ptr %value_place
  store ptr null, ptr %trace_place
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %trace)
  ret ptr null
}}
"""
