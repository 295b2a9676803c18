"""The thread pool of compiled kernels: how many threads there are, and what kernels call.

    i64 @pullback_parallel(ptr %body, ptr %frame, i64 %chunks, i64 %work, ptr %report)

runs `i64 body(ptr %frame, i64 %chunk, ptr %report)` for every chunk, on several threads where `work`, an estimate in
nanoseconds, makes that worth while. It returns 0; or the status of the lowest chunk that failed, and what that chunk
wrote to its report; or -2 after an interrupt.

    i64 @pullback_poll()

returns 0, or -2 where a signal handler raised. A kernel that gets -2 returns it; `interruption` is what to raise then.

The pool is LLVM text like the kernels, because there is no C compiler at hand and Python's own threads and locks cost
more than most regions take. It is compiled when a kernel first needs it, and its threads start with the first region
that wants them; they are no threads of Python's, never take its lock, and end with the process.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from pathlib import Path

from ...locks import reentrant_lock
from ...settings import settings
from .. import process
from ..disk import cache
from ..linking.module import Linked, link
from . import helpers_text, signals_text, text
from .text import MOST_THREADS

_PYTHON = {
    "PyErr_CheckSignals": "i32 ()",
    "PyErr_Fetch": "void (ptr, ptr, ptr)",
    "PyErr_Restore": "void (ptr, ptr, ptr)",
    "PyGILState_Check": "i32 ()",
    "PyGILState_Ensure": "i32 ()",
    "PyGILState_Release": "void (i32)",
    "PyThread_acquire_lock": "i32 (ptr, i32)",
    "PyThread_acquire_lock_timed": "i32 (ptr, i64, i32)",
    "PyThread_allocate_lock": "ptr ()",
    "PyThread_get_thread_ident": "i64 ()",
    "PyThread_release_lock": "void (ptr)",
    "PyThread_start_new_thread": "i64 (ptr, ptr)",
    "Py_DecRef": "void (ptr)",
}
_SYSTEM = {"clock_gettime": "i32 (i32, ptr)", "pthread_sigmask": "i32 (i32, ptr, ptr)",
           "sched_yield": "i32 ()"}
_INTRINSICS = {"llvm.smax.i64": "i64 (i64, i64)", "llvm.smin.i64": "i64 (i64, i64)"}

INTERRUPTED = -2
"""The status of a kernel that ends early because a signal handler raised."""

KERNEL_SYMBOLS = ("pullback_parallel", "pullback_poll")
_EXPORTED = (*KERNEL_SYMBOLS, "threads", "main_thread", "reset", "reraise")


class _State:
    """The pool's module, once it is there, and the number of threads that was asked for."""

    def __init__(self) -> None:
        self.lock = reentrant_lock()  # a signal handler may come here again
        self.linked: Linked | None = None
        self.wanted: int | None = None


_state = _State()


def symbols() -> dict[str, int]:
    """The addresses of what kernels call."""
    linked = _linked()
    return {name: linked.address(name) for name in KERNEL_SYMBOLS}


def set_num_threads(count: int) -> None:
    """Let regions that begin from now on run on so many threads, the calling one included."""
    with _state.lock:
        _state.wanted = count
        if _state.linked is not None:
            process.write_words(_state.linked.address("threads"), [count])


def get_num_threads() -> int:
    """On how many threads a region may run; fewer than were asked for where the system refused to start them."""
    with _state.lock:
        if _state.linked is not None:
            return process.read_word(_state.linked.address("threads"))
        return default_threads() if _state.wanted is None else _state.wanted


def default_threads() -> int:
    """The number that holds unless the program says otherwise."""
    chosen = settings.num_threads or settings.omp_num_threads or available_processors()
    return min(chosen, MOST_THREADS)


def available_processors() -> int:
    """The processors this process may use: those it may run on, or fewer if a container's share of time is less."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _container_share()))


def interruption() -> BaseException:
    """What to raise when a kernel returned -2: the exception of the signal handler."""
    reraise = process.python_callable(_linked().address("reraise"), ctypes.c_void_p)
    try:
        reraise()
    except BaseException as error:
        inside = error.__traceback__.tb_next if error.__traceback__ else None
        return error.with_traceback(inside)
    return RuntimeError(
        "a signal handler called os.fork() while a compiled function ran on several threads, which the child does not "
        "have, so it cannot finish the call: fork elsewhere, or call pullback.set_num_threads(1) before")


def _linked() -> Linked:
    with _state.lock:
        if _state.linked is None:
            # Level 0 takes 10 ms where level 2 takes 40, and a region as long with either.
            linked = link(cache.kept_object(_text(), 0), _addresses(), _EXPORTED)
            count = default_threads() if _state.wanted is None else _state.wanted
            process.write_words(linked.address("threads"), [count])
            process.write_words(linked.address("main_thread"), [threading.main_thread().ident or 0])
            _state.linked = linked
        return _state.linked


def _text() -> str:
    typed = [(name, *kind.split(" ", 1)) for name, kind in (_PYTHON | _SYSTEM | _INTRINSICS).items()]
    declarations = [f"declare {result} @{name}{arguments} nounwind" for name, result, arguments in typed]
    return "\n".join([*declarations, text.TEXT, helpers_text.TEXT, signals_text.TEXT])


def _addresses() -> dict[str, int]:
    library = process.open_library()
    return ({name: process.interpreter_symbol(name) for name in _PYTHON}
            | {name: process.library_symbol(library, name) for name in _SYSTEM})


def _container_share(root: Path = Path("/sys/fs/cgroup")) -> int:
    """How many processors' time the control group of a container grants, rounded up; MOST_THREADS if it is silent."""
    for parts in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((root / part).read_text() for part in parts).split()[:2]
            if int(quota) > 0:
                return math.ceil(int(quota) / int(period))
        except (OSError, ValueError):  # no such file, or the word max
            continue
    return MOST_THREADS


def _after_fork_in_child() -> None:
    """The child has one thread: this one, which runs signal handlers from now on."""
    if _state.linked is not None:
        process.native_callable(_state.linked.address("reset"), None)()
        process.write_words(_state.linked.address("main_thread"), [threading.get_ident()])


os.register_at_fork(after_in_child=_after_fork_in_child)
