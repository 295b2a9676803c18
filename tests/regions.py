"""Regions for the thread pool, written by hand: bodies that mark, fail, wait, ask for signals or nest."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from pullback.compiler.backend import process, threads
from pullback.compiler.backend.linking.module import link
from pullback.compiler.backend.machine import compile_object

LONG = 10**9
"""An estimate of time that no region is too short for."""

_NAMES = ("mark", "fail", "burn", "poll", "nest", "third")

_CALLERS = "".join(
    f"""
define i64 @{name}(ptr %frame, i64 %chunks, i64 %work, ptr %report) {{
  %status = call i64 @pullback_parallel(ptr @{name}_body, ptr %frame, i64 %chunks, i64 %work, ptr %report)
  ret i64 %status
}}
""" for name in _NAMES)

# A frame is an array of words, the first of which says how long each chunk takes; then there is one for each chunk.
_TEXT = f"""
declare i64 @pullback_parallel(ptr, ptr, i64, i64, ptr)
declare i64 @pullback_poll()
declare i64 @PyThread_get_thread_ident()

define internal ptr @place(ptr %frame, i64 %chunk) {{
  %index = add i64 %chunk, 1
  %place = getelementptr i64, ptr %frame, i64 %index
  ret ptr %place
}}

define internal void @wait(ptr %frame) {{
entry:
  %count = load volatile i64, ptr %frame
  br label %check
check:
  %left = phi i64 [%count, %entry], [%less, %step]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %leave, label %step
step:
  %less = sub i64 %left, 1
  br label %check
leave:
  ret void
}}

define i64 @burn_body(ptr %frame, i64 %chunk, ptr %report) {{
  call void @wait(ptr %frame)
  %place = call ptr @place(ptr %frame, i64 %chunk)
  %me = call i64 @PyThread_get_thread_ident()
  store i64 %me, ptr %place
  ret i64 0
}}

define i64 @mark_body(ptr %frame, i64 %chunk, ptr %report) {{
  call void @wait(ptr %frame)
  %place = call ptr @place(ptr %frame, i64 %chunk)
  %old = atomicrmw add ptr %place, i64 1 monotonic
  ret i64 0
}}

; Chunks with a status in the frame fail with it, and then have 1000 more there.
define i64 @fail_body(ptr %frame, i64 %chunk, ptr %report) {{
  call void @wait(ptr %frame)
  %place = call ptr @place(ptr %frame, i64 %chunk)
  %status = load i64, ptr %place
  %ran = add i64 %status, 1000
  store i64 %ran, ptr %place
  %zero = load i64, ptr %report
  %told = add i64 %zero, %chunk
  store i64 %told, ptr %report
  %last = getelementptr i64, ptr %report, i64 3
  store i64 %status, ptr %last
  ret i64 %status
}}

; A chunk that goes on for ever, and asks for signals.
define i64 @poll_body(ptr %frame, i64 %chunk, ptr %report) {{
entry:
  br label %again
again:
  call void @wait(ptr %frame)
  %answer = call i64 @pullback_poll()
  %calm = icmp eq i64 %answer, 0
  br i1 %calm, label %again, label %leave
leave:
  ret i64 %answer
}}

define i64 @nest_body(ptr %frame, i64 %chunk, ptr %report) {{
  %status = call i64 @pullback_parallel(ptr @mark_body, ptr %frame, i64 8, i64 {LONG}, ptr %report)
  ret i64 %status
}}

define i64 @third_body(ptr %frame, i64 %chunk, ptr %report) {{
  call void @wait(ptr %frame)
  %place = call ptr @place(ptr %frame, i64 %chunk)
  %three = load volatile double, ptr @three
  %quotient = fdiv double 1.0, %three
  store double %quotient, ptr %place
  ret i64 0
}}
@three = internal global double 3.0
{_CALLERS}
"""


_SYMBOLS = {**threads.symbols(), "PyThread_get_thread_ident": process.interpreter_symbol("PyThread_get_thread_ident")}
_LINKED = link(compile_object(_TEXT, 0), _SYMBOLS, _NAMES)


def run(name: str, frame: np.ndarray, chunks: int, work: int = LONG,
        kind: Callable = process.native_callable) -> tuple[int, Sequence[int]]:
    """The status and report of a region; without the interpreter's lock, or with it if kind is `python_callable`."""
    report = (ctypes.c_int64 * 4)()
    function = kind(_LINKED.address(name), ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                    ctypes.c_void_p)
    status = function(frame.ctypes.data, chunks, work, report)
    return status, list(report)


def frame(chunks: int, wait: int = 0) -> np.ndarray:
    """A frame for so many chunks, each of which first counts to `wait`."""
    words = np.zeros(chunks + 1, np.int64)
    words[0] = wait
    return words


def interruptible(name: str, words: np.ndarray, chunks: int) -> None:
    """Run a region as compiled functions do: raise what a signal handler raised."""
    status, _ = run(name, words, chunks)
    if status:
        raise threads.interruption()
