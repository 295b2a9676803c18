"""LLVM text of regions: work in chunks that several threads claim.

One region runs at a time. Its chunks are claimed one by one from `@ticket`, so a thread that comes late, because the
machine is busy, finds nothing to do and holds up nobody. Whoever finds the pool taken runs its region alone.

A ticket has the number of chunks in its upper half and the next chunk in its lower half. `@body` and `@frame` change
only while all chunks are claimed and finished: a chunk claimed late always belongs to the region that they describe.
"""

from __future__ import annotations

import platform

MOST_THREADS = 256

SHORT_NS = 20_000
"""Regions below this estimate run on the calling thread."""

SERIES_NS = 100_000
"""While helpers sleep, regions below this estimate run on the calling thread too, unless they follow each other this
closely: waking a helper costs 10 us and it begins 10 to 25 us later, but in a series it stays awake."""


def _machine() -> tuple[str, str, str, str]:
    """Declarations; how to pause in a loop; how to store and load the floating-point modes (rounding, denormals)."""
    name = platform.machine().lower()
    if name in ("x86_64", "amd64"):
        return ("declare void @llvm.x86.sse2.pause()\ndeclare void @llvm.x86.sse.stmxcsr(ptr)\n"
                "declare void @llvm.x86.sse.ldmxcsr(ptr)", "call void @llvm.x86.sse2.pause()",
                "call void @llvm.x86.sse.stmxcsr(ptr @modes)", "call void @llvm.x86.sse.ldmxcsr(ptr @modes)")
    if name in ("aarch64", "arm64"):
        return ("declare void @llvm.aarch64.hint(i32)\ndeclare i64 @llvm.aarch64.get.fpcr()\n"
                "declare void @llvm.aarch64.set.fpcr(i64)", "call void @llvm.aarch64.hint(i32 1)",
                "%fpcr = call i64 @llvm.aarch64.get.fpcr()\n  store i64 %fpcr, ptr @modes",
                "%fpcr = load i64, ptr @modes\n  call void @llvm.aarch64.set.fpcr(i64 %fpcr)")
    return "", "", "", ""


_DECLARE, PAUSE, _STORE_MODES, _LOAD_MODES = _machine()

TEXT = f"""
{_DECLARE}

; Set from Python: how many threads may work on a region, and which thread runs signal handlers.
@threads = global i64 1, align 128
@main_thread = global i64 0

; What a helper reads when a region begins, on one line. Keys of failures are chunk + 1; 0 is an interrupt.
@generation = internal global i64 0, align 128
@ticket = internal global i64 0
@body = internal global ptr null
@frame = internal global ptr null
@helpers = internal global i64 0
@modes = internal global i64 0
@worst = internal global i64 -1

; Chunks that are not finished, and whether the caller sleeps until none is left.
@left = internal global i64 0, align 128
@waiting = internal global i8 0

; The first failing chunk's status and report.
@noting = internal global i8 0, align 128
@status = internal global i64 0
@report = internal global [4 x i64] zeroinitializer

; When helpers slept and a short region came; whether the pool is taken. A child of fork has another epoch.
@latest = internal global i64 0, align 128
@busy = internal global i8 0
@epoch = internal global i64 0

; Claim chunks and run them until none is left to claim. Once a chunk failed only those below it matter.
define internal void @drain(i64 %id) nounwind {{
entry:
  %report = alloca [4 x i64], align 32
  %helps = icmp ne i64 %id, 0
  br label %claim
claim:
  %count = phi i64 [0, %entry], [%more, %ran]
  %ticket = atomicrmw add ptr @ticket, i64 1 acquire
  %chunk = and i64 %ticket, 4294967295
  %chunks = lshr i64 %ticket, 32
  %mine = icmp ult i64 %chunk, %chunks
  br i1 %mine, label %check, label %settle
check:
  %more = add i64 %count, 1
  %key = add i64 %chunk, 1
  %worst = load atomic i64, ptr @worst monotonic, align 8
  %useless = icmp ult i64 %worst, %key
  br i1 %useless, label %ran, label %prepare
prepare:
  br i1 %helps, label %adopt, label %run
adopt:
  {_LOAD_MODES}
  br label %run
run:
  store <4 x i64> zeroinitializer, ptr %report, align 32
  %body = load ptr, ptr @body
  %frame = load ptr, ptr @frame
  %status = call i64 %body(ptr %frame, i64 %chunk, ptr %report)
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %after, label %failed
failed:
  call void @note(i64 %key, i64 %status, ptr %report)
  br label %after
after:
  br i1 %helps, label %ran, label %poll
poll:
  %answer = call i64 @pullback_poll()
  %calm = icmp eq i64 %answer, 0
  br i1 %calm, label %ran, label %interrupted
interrupted:
  call void @note(i64 0, i64 %answer, ptr %report)
  br label %ran
ran:
  br label %claim
settle:
  %before = atomicrmw sub ptr @left, i64 %count seq_cst
  %last = icmp eq i64 %before, %count
  %ready = and i1 %last, %helps
  br i1 %ready, label %tell, label %leave
tell:
  %waited = atomicrmw xchg ptr @waiting, i8 0 seq_cst
  %waits = icmp ne i8 %waited, 0
  br i1 %waits, label %ring, label %leave
ring:
  %bell = load ptr, ptr @bells
  call void @PyThread_release_lock(ptr %bell)
  br label %leave
leave:
  ret void
}}

; Keep a failure if no lower chunk has failed. An interrupt comes before every chunk.
define internal void @note(i64 %chunk_key, i64 %status, ptr %report) nounwind {{
entry:
  %stopped = icmp eq i64 %status, -2
  %key = select i1 %stopped, i64 0, i64 %chunk_key
  br label %enter
enter:
  %pair = cmpxchg ptr @noting, i8 0, i8 1 acquire monotonic
  %got = extractvalue {{ i8, i1 }} %pair, 1
  br i1 %got, label %compare, label %enter
compare:
  %worst = load atomic i64, ptr @worst monotonic, align 8
  %worse = icmp ult i64 %key, %worst
  br i1 %worse, label %keep, label %leave
keep:
  store i64 %status, ptr @status
  %words = load <4 x i64>, ptr %report, align 8
  store <4 x i64> %words, ptr @report, align 8
  store atomic i64 %key, ptr @worst monotonic, align 8
  br label %leave
leave:
  store atomic i8 0, ptr @noting release, align 1
  ret void
}}

; Wait for the chunks that helpers are still at; false in a child of fork, which has no helpers that could finish.
define internal i1 @await(i64 %epoch) nounwind {{
entry:
  %done = call i1 @spin(ptr @left, i64 0, i1 true)
  br i1 %done, label %yes, label %again
again:
  %now = load atomic i64, ptr @epoch monotonic, align 8
  %same = icmp eq i64 %now, %epoch
  br i1 %same, label %announce, label %no
announce:
  %was = atomicrmw xchg ptr @waiting, i8 1 seq_cst
  %left = load atomic i64, ptr @left seq_cst, align 8
  %ended = icmp eq i64 %left, 0
  br i1 %ended, label %withdraw, label %sleep
sleep:
  %bell = load ptr, ptr @bells
  %rang = call i32 @PyThread_acquire_lock_timed(ptr %bell, i64 2000, i32 1)  ; microseconds; a signal ends it
  %heard = icmp eq i32 %rang, 1
  br i1 %heard, label %look, label %withdraw
withdraw:
  %flag = atomicrmw xchg ptr @waiting, i8 0 seq_cst
  %mine = icmp ne i8 %flag, 0
  br i1 %mine, label %look, label %owed
owed:
  %same_bell = load ptr, ptr @bells
  %taken = call i32 @PyThread_acquire_lock(ptr %same_bell, i32 1)
  br label %look
look:
  %rest = load atomic i64, ptr @left acquire, align 8
  %none = icmp eq i64 %rest, 0
  br i1 %none, label %yes, label %poll
poll:
  %answer = call i64 @pullback_poll()
  %calm = icmp eq i64 %answer, 0
  br i1 %calm, label %again, label %interrupted
interrupted:
  call void @note(i64 0, i64 %answer, ptr @report)
  br label %again
yes:
  ret i1 true
no:
  ret i1 false
}}

; All chunks in turn, on this thread.
define internal i64 @serial(ptr %body, ptr %frame, i64 %chunks, i64 %work, ptr %report) nounwind {{
entry:
  %some = icmp sgt i64 %chunks, 0
  br i1 %some, label %run, label %done
run:
  %chunk = phi i64 [0, %entry], [%next, %on]
  store <4 x i64> zeroinitializer, ptr %report, align 8
  %status = call i64 %body(ptr %frame, i64 %chunk, ptr %report)
  %next = add i64 %chunk, 1
  %fine = icmp eq i64 %status, 0
  %more = icmp slt i64 %next, %chunks
  %go = and i1 %fine, %more
  br i1 %go, label %look, label %leave
look:
  %long = icmp sge i64 %work, {SHORT_NS}
  br i1 %long, label %poll, label %on
poll:
  %answer = call i64 @pullback_poll()
  %calm = icmp eq i64 %answer, 0
  br i1 %calm, label %on, label %stop
on:
  br label %run
leave:
  ret i64 %status
stop:
  ret i64 %answer
done:
  ret i64 0
}}

; body(frame, chunk, report) for all chunks, on several threads if that pays. 0; or the status of the lowest chunk that
; failed, and its report; or -2 after an interrupt.
define i64 @pullback_parallel(ptr %body, ptr %frame, i64 %chunks, i64 %work, ptr %report) nounwind {{
entry:
  %threads = load atomic i64, ptr @threads monotonic, align 8
  %hands = call i64 @llvm.smin.i64(i64 %threads, i64 %chunks)
  %helpers = sub i64 %hands, 1
  %alone = icmp slt i64 %helpers, 1
  %short = icmp slt i64 %work, {SHORT_NS}
  %many = icmp ugt i64 %chunks, 2147483647
  %one = or i1 %alone, %short
  %plain = or i1 %one, %many
  br i1 %plain, label %serial, label %weigh
weigh:
  %sleepers = load atomic i64, ptr @sleepers monotonic, align 8
  %awake = icmp eq i64 %sleepers, 0
  %long = icmp sge i64 %work, {SERIES_NS}
  %clear = or i1 %awake, %long
  br i1 %clear, label %enter, label %compare
compare:
  %now = call i64 @clock()
  %before = atomicrmw xchg ptr @latest, i64 %now monotonic
  %gap = sub i64 %now, %before
  %series = icmp slt i64 %gap, {SERIES_NS}
  br i1 %series, label %enter, label %serial
enter:
  %pair = cmpxchg ptr @busy, i8 0, i8 1 acquire monotonic
  %got = extractvalue {{ i8, i1 }} %pair, 1
  br i1 %got, label %own, label %serial
serial:
  %result = tail call i64 @serial(ptr %body, ptr %frame, i64 %chunks, i64 %work, ptr %report)
  ret i64 %result
own:
  %have = load atomic i64, ptr @started monotonic, align 8
  %enough = icmp uge i64 %have, %helpers
  br i1 %enough, label %publish, label %hire
hire:
  call void @hire(i64 %helpers)
  br label %publish
publish:
  %epoch = load atomic i64, ptr @epoch monotonic, align 8
  store ptr %body, ptr @body
  store ptr %frame, ptr @frame
  store atomic i64 %helpers, ptr @helpers monotonic, align 8
  {_STORE_MODES}
  store atomic i64 -1, ptr @worst monotonic, align 8
  store atomic i64 %chunks, ptr @left monotonic, align 8
  %first = shl i64 %chunks, 32
  store atomic i64 %first, ptr @ticket release, align 8
  %generation = atomicrmw add ptr @generation, i64 1 seq_cst
  call void @rouse(i64 0)
  call void @drain(i64 0)
  %done = call i1 @await(i64 %epoch)
  br i1 %done, label %end, label %lost
end:
  %worst = load atomic i64, ptr @worst monotonic, align 8
  %fine = icmp eq i64 %worst, -1
  br i1 %fine, label %leave, label %failed
failed:
  %status = load i64, ptr @status
  %words = load <4 x i64>, ptr @report, align 8
  store <4 x i64> %words, ptr %report, align 8
  br label %leave
lost:
  br label %leave
leave:
  %answer = phi i64 [0, %end], [%status, %failed], [-2, %lost]
  store atomic i8 0, ptr @busy release, align 1
  ret i64 %answer
}}
"""
