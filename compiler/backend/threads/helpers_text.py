"""LLVM text of the life of helpers: they start when a region first wants them, look for work, sleep, and are woken.

A thread sleeps by taking a lock that it already holds (`@bells`), after it set a flag; whoever turns the flag back owes
it one release. The locks and the threads are the interpreter's raw ones, of which no part needs Python to run: one text
serves every system, where a futex is one of Linux. Thread 0 is the caller, the others are helpers; each wakes the two
below it in a heap, so the caller pays for two at most.
"""

from __future__ import annotations

import signal
import time

from .text import MOST_THREADS, PAUSE

SPIN_NS = 50_000
"""How long a thread looks for work before it sleeps.

Measured on a Zen 5 of two processors: who still looks begins 0.3 us after a region, who sleeps 10 to 25 us, and waking
costs the caller some 10 more. Twice that time is also what Python takes between two calls of a training step.
"""

BURST = 64
"""How often a thread looks before it asks the clock, and lets others run.

Without that, on a machine with more to run than processors, the caller waited for the helper's 50 us of looking."""

# Faults of the code itself stay open, so that faulthandler can report them where they happen.
_FAULTS = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"}
_BLOCKED = sum(1 << (number - 1) for number in range(1, 65)
               if number not in {getattr(signal, name) for name in _FAULTS if hasattr(signal, name)})

TEXT = f"""
; The threads, and which of them sleep.
@started = internal global i64 0, align 128
@sleepers = internal global i64 0, align 128
@asleep = internal global [{MOST_THREADS} x i8] zeroinitializer
@bells = internal global [{MOST_THREADS} x ptr] zeroinitializer
@idents = internal global [{MOST_THREADS} x i64] zeroinitializer
@blocked = internal constant [16 x i64] [i64 {_BLOCKED}{", i64 0" * 15}]

define internal i64 @clock() nounwind {{
  %pair = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 {time.CLOCK_MONOTONIC}, ptr %pair)
  %seconds = load i64, ptr %pair
  %place = getelementptr i64, ptr %pair, i64 1
  %rest = load i64, ptr %place
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

; Look at a word until it is (or until it is no longer) a value; false if that took too long. Whoever else wants this
; processor gets it: were that the caller, it would wait for us, and were it a helper, we for it.
define internal i1 @spin(ptr %word, i64 %value, i1 %until) nounwind {{
entry:
  br label %burst
burst:
  %start = phi i64 [0, %entry], [%since, %late]
  br label %look
look:
  %count = phi i64 [0, %burst], [%next, %again]
  %found = load atomic i64, ptr %word acquire, align 8
  %equal = icmp eq i64 %found, %value
  %hit = icmp eq i1 %equal, %until
  br i1 %hit, label %yes, label %again
again:
  {PAUSE}
  %next = add i64 %count, 1
  %more = icmp ult i64 %next, {BURST}
  br i1 %more, label %look, label %late
late:
  %yielded = call i32 @sched_yield()
  %now = call i64 @clock()
  %fresh = icmp eq i64 %start, 0
  %since = select i1 %fresh, i64 %now, i64 %start
  %passed = sub i64 %now, %since
  %on = icmp slt i64 %passed, {SPIN_NS}
  br i1 %on, label %burst, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; Wake the two helpers below a thread, if the region wants them and they sleep.
define internal void @rouse(i64 %id) nounwind {{
entry:
  %sleepers = load atomic i64, ptr @sleepers seq_cst, align 8
  %none = icmp eq i64 %sleepers, 0
  br i1 %none, label %leave, label %below
below:
  %helpers = load atomic i64, ptr @helpers monotonic, align 8
  %twice = shl i64 %id, 1
  %last = add i64 %twice, 2
  br label %step
step:
  %before = phi i64 [%twice, %below], [%child, %on]
  %child = add i64 %before, 1
  %wanted = icmp ule i64 %child, %helpers
  br i1 %wanted, label %look, label %leave
look:
  %flag = getelementptr i8, ptr @asleep, i64 %child
  %slept = atomicrmw xchg ptr %flag, i8 0 seq_cst
  %sleeps = icmp ne i8 %slept, 0
  br i1 %sleeps, label %wake, label %on
wake:
  %fewer = atomicrmw sub ptr @sleepers, i64 1 seq_cst
  %place = getelementptr ptr, ptr @bells, i64 %child
  %bell = load ptr, ptr %place
  call void @PyThread_release_lock(ptr %bell)
  br label %on
on:
  %more = icmp ult i64 %child, %last
  br i1 %more, label %step, label %leave
leave:
  ret void
}}

; Sleep until woken, unless another region began meanwhile.
define internal void @doze(i64 %id, i64 %seen) nounwind {{
entry:
  %flag = getelementptr i8, ptr @asleep, i64 %id
  %was = atomicrmw xchg ptr %flag, i8 1 seq_cst
  %more = atomicrmw add ptr @sleepers, i64 1 seq_cst
  %now = load atomic i64, ptr @generation seq_cst, align 8
  %same = icmp eq i64 %now, %seen
  br i1 %same, label %sleep, label %stay
stay:
  %slept = atomicrmw xchg ptr %flag, i8 0 seq_cst
  %mine = icmp ne i8 %slept, 0
  br i1 %mine, label %awake, label %sleep  ; else a release is on its way
awake:
  %fewer = atomicrmw sub ptr @sleepers, i64 1 seq_cst
  ret void
sleep:
  %place = getelementptr ptr, ptr @bells, i64 %id
  %bell = load ptr, ptr %place
  %taken = call i32 @PyThread_acquire_lock(ptr %bell, i32 1)
  ret void
}}

; The life of a helper. What it has seen is read before it works, so that no region can begin unseen.
define internal void @helper(ptr %number) nounwind {{
entry:
  %id = ptrtoint ptr %number to i64
  %masked = call i32 @pthread_sigmask(i32 {int(signal.SIG_BLOCK)}, ptr @blocked, ptr null)
  %me = call i64 @PyThread_get_thread_ident()
  %place = getelementptr i64, ptr @idents, i64 %id
  store atomic i64 %me, ptr %place monotonic, align 8
  br label %look
look:
  %seen = load atomic i64, ptr @generation acquire, align 8
  %helpers = load atomic i64, ptr @helpers monotonic, align 8
  %wanted = icmp ule i64 %id, %helpers
  br i1 %wanted, label %help, label %sleep
help:
  call void @rouse(i64 %id)
  call void @drain(i64 %id)
  %stirred = call i1 @spin(ptr @generation, i64 %seen, i1 false)
  br i1 %stirred, label %look, label %sleep
sleep:
  call void @doze(i64 %id, i64 %seen)
  br label %look
}}

; Start helpers until there are so many. If the system refuses, be content with those there are.
define internal void @hire(i64 %wanted) nounwind {{
entry:
  %first = load ptr, ptr @bells
  %fresh = icmp eq ptr %first, null
  br i1 %fresh, label %own, label %check
own:
  %made = call i1 @hang_bell(i64 0)
  br i1 %made, label %check, label %short
check:
  %have = load atomic i64, ptr @started monotonic, align 8
  %enough = icmp uge i64 %have, %wanted
  br i1 %enough, label %leave, label %start
start:
  %id = add i64 %have, 1
  %hung = call i1 @hang_bell(i64 %id)
  br i1 %hung, label %begin, label %short
begin:
  %number = inttoptr i64 %id to ptr
  %thread = call i64 @PyThread_start_new_thread(ptr @helper, ptr %number)
  %refused = icmp eq i64 %thread, -1
  br i1 %refused, label %short, label %run
run:
  store atomic i64 %id, ptr @started monotonic, align 8
  br label %check
short:
  %there = load atomic i64, ptr @started monotonic, align 8
  %all = add i64 %there, 1
  store atomic i64 %all, ptr @threads monotonic, align 8
  br label %leave
leave:
  ret void
}}

define internal i1 @hang_bell(i64 %id) nounwind {{
entry:
  %bell = call ptr @PyThread_allocate_lock()
  %none = icmp eq ptr %bell, null
  br i1 %none, label %no, label %yes
yes:
  %taken = call i32 @PyThread_acquire_lock(ptr %bell, i32 1)
  %place = getelementptr ptr, ptr @bells, i64 %id
  store ptr %bell, ptr %place
  ret i1 true
no:
  ret i1 false
}}

; In a child of fork: the helpers are gone, and whatever other threads held.
define void @reset() nounwind {{
entry:
  store i64 0, ptr @ticket
  store i64 0, ptr @left
  store i64 0, ptr @helpers
  store i8 0, ptr @waiting
  store i8 0, ptr @noting
  store i8 0, ptr @busy
  store i64 0, ptr @started
  store i64 0, ptr @sleepers
  %epoch = atomicrmw add ptr @epoch, i64 1 monotonic
  br label %step
step:
  %id = phi i64 [0, %entry], [%next, %step]
  %flag = getelementptr i8, ptr @asleep, i64 %id
  store i8 0, ptr %flag
  %bell = getelementptr ptr, ptr @bells, i64 %id
  store ptr null, ptr %bell
  %ident = getelementptr i64, ptr @idents, i64 %id
  store i64 0, ptr %ident
  %next = add i64 %id, 1
  %more = icmp ult i64 %next, {MOST_THREADS}
  br i1 %more, label %step, label %leave
leave:
  ret void
}}
"""
