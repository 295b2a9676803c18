"""Calls from several threads: long kernels run beside each other and beside Python."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from pullback import jit
from pullback.compiler.backend.entries.specs import ArraySpec, ScalarResult
from tests.entries import function

MEET = """
define i64 @k(ptr %met, ptr %seen, ptr %report) nounwind {
entry:
  %before = atomicrmw add ptr %met, i64 1 seq_cst
  br label %look
look:
  %turn = phi i64 [ 0, %entry ], [ %next, %again ]
  %now = load atomic i64, ptr %met seq_cst, align 8
  %both = icmp sge i64 %now, 2
  br i1 %both, label %done, label %again
again:
  %next = add i64 %turn, 1
  %late = icmp sgt i64 %next, 4000000000
  br i1 %late, label %done, label %look
done:
  store i64 %now, ptr %seen
  ret i64 0
}
"""
"""Waits, for a while, until it runs twice at once."""


def run(*works: Any) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def test_two_threads_are_in_a_kernel_at_once() -> None:
    f = function(MEET, (ArraySpec("i64", ()),), ScalarResult(0, "i64"), release_gil=True)
    met, seen = np.array(0), []
    run(lambda: seen.append(f(met)), lambda: seen.append(f(met)))
    assert seen == [2, 2]


def test_python_runs_beside_a_long_kernel() -> None:
    f = jit(lambda x: np.sum(np.sin(x) * np.exp(-x * x)))
    x = np.linspace(0.0, 1.0, 8_000_000)
    f(x)
    assert any(_ticks_within(lambda: f(x)) for _ in range(20))


def _ticks_within(call: Any) -> int:
    """How often this thread runs in the middle of a call that another one makes."""
    ticks: list[float] = []
    times: list[float] = []

    def work() -> None:
        times.append(time.perf_counter())
        call()
        times.append(time.perf_counter())

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
    start, end = times
    margin = (end - start) / 4
    return sum(start + margin < each < end - margin for each in ticks)


def test_threads_write_to_arrays_of_their_own() -> None:
    f = jit(lambda x: np.sin(x) + 1.0)
    x = np.linspace(0.0, 1.0, 300_000)
    wanted = f(x)
    outs = [np.zeros_like(x) for _ in range(4)]

    def work(y: np.ndarray) -> None:
        for _ in range(5):
            assert f(x, out=y) is y
            f(y, out=y)

    run(*(lambda y=y: work(y) for y in outs))
    assert all(np.array_equal(y, f(wanted)) for y in outs)
