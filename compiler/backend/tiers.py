"""Two tiers of code: made quickly for the first calls, and made well in the background for those that come after.

A kernel of two tiers is entered through a cell that holds an address. At first that is a function which counts
calls; when there have been enough it raises a flag and a semaphore, for which a thread waits. The thread generates
better code and puts its address into the cell with one store. Both kinds of code compute the same bits, and both stay
in memory as long as the kernel, so a call may be in either.

    @NAME.code   the cell           @NAME.call   jumps to where the cell points
    @NAME.hot    the flag           @NAME.count  counts, then runs @NAME

The thread starts with the first kernel that may need it, holds no lock but one while LLVM works, and ends before
the interpreter does. A child of a fork starts another.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ..ir.graph import Graph, Op, Value
from ..ir.types import Type
from ..ops.contract import contract
from ..ops.control import Carrying, scan
from ..ops.memory import bump, read, update
from ..ops.source import const
from . import ending, process

BETTER = 2
"""The level of the code that is made in the background."""

PATIENCE = 2e6
"""Nanoseconds that a kernel is expected to have run before better code is made for it."""

SLOW, SLOW_OPERATION = 1e7, 2e5
"""Nanoseconds of one expected call, and of one for each operation, from which on the better code is made at once:
the first call in quick code would take longer than making it does."""

MAX_OPERATIONS = 10_000
"""Operations from which on better code takes too long to make: on straight lines it is little better."""

ELEMENT, PRODUCT = 0.15, 0.03
"""Nanoseconds that a kernel is expected to take for an element of an operation, and for a product of a contraction."""


ROUNDS = 256
"""Rounds that a loop is expected to run where their number is not known."""


class Upgradable(Protocol):
    """A kernel of two tiers."""

    def is_hot(self) -> bool: ...

    def upgrade(self) -> None: ...


INDEX = Type("i64")


class Plan(NamedTuple):
    """The level of the first code, and after how many calls better code is made; 0 for never."""

    level: int
    calls: int


def plan(graph: Graph, fixed: int | None) -> Plan:
    """How to begin with a kernel, if the settings leave it open."""
    if fixed is not None:
        return Plan(fixed, 0)
    nanoseconds, operations = expected(graph), size(graph)
    if nanoseconds > max(SLOW, SLOW_OPERATION * operations):
        return Plan(BETTER, 0)
    return Plan(0, max(1, int(PATIENCE / nanoseconds)) if operations <= MAX_OPERATIONS else 0)


def size(graph: Graph) -> int:
    """The operations of a graph and its regions."""
    inside = [op.regions for op in graph.body]
    return len(inside) + sum(size(region) for regions in inside if regions for region in regions)


def expected(graph: Graph) -> float:
    """About how many nanoseconds a call takes; named sizes count as some hundred, as do rounds of unknown number."""
    return 30.0 + _work(graph, {})


def _work(graph: Graph, counts: Mapping[Value, int]) -> float:
    """About how many nanoseconds a graph takes, with what is known of its parameters that are numbers of rounds."""
    total, known = 0.0, dict(counts)
    for op in graph.body:
        if op.prim is const and op.results[0].type == INDEX:
            known[op.results[0]] = int(op.attrs["value"])
        if op.regions:
            rounds = ROUNDS if isinstance(op.prim, Carrying) else 1
            if op.prim is scan:
                rounds = known.get(op.args[0], ROUNDS)
            for g in op.regions:
                given = zip(reversed(g.params), reversed(op.args), strict=False)
                total += max(rounds, 0) * (2.0 + _work(g, {p: known[a] for p, a in given if a in known}))
            continue
        total += nanoseconds(op)
    return total


def nanoseconds(op: Op) -> float:
    """About how long an operation without regions takes."""
    sizes = [_elements(v.type.shape) if v.type.shape else 1 for v in touched(op)] or [1]
    products = (sizes[0] * sizes[1] * sizes[2]) ** 0.5 if op.prim is contract else 0.0  # of m*k, k*n and m*n elements
    return products * PRODUCT + max(sizes) * ELEMENT


def touched(op: Op) -> tuple[Value, ...]:
    """The values as large as what an operation does: a part that is read or written is smaller than the array."""
    if op.prim is read:
        return op.results
    return op.args[1:2] if op.prim in (update, bump) else (*op.args, *op.results)


def _elements(shape: tuple[object, ...]) -> int:
    count = 1
    for d in shape:
        count *= d if isinstance(d, int) else 256
    return count


def text(name: str, count: int, calls: int) -> str:
    """What stands beside the function `name` of `count` pointers: the cell, and what counts to `calls`."""
    given = ", ".join(f"ptr %a{k}" for k in range(count))
    return f"""
@{name}.code = global ptr @{name}.count
@{name}.hot = global i64 0
@{name}.left = internal global i64 {calls}
declare i32 @sem_post(ptr)
@pullback.semaphore = external global i8
define i64 @{name}.call({given}) nounwind {{
  %code = load ptr, ptr @{name}.code
  %status = musttail call i64 %code({given})
  ret i64 %status
}}
define internal i64 @{name}.count({given}) nounwind {{
  %left = load i64, ptr @{name}.left
  %less = sub i64 %left, 1
  store i64 %less, ptr @{name}.left
  %enough = icmp eq i64 %less, 0
  br i1 %enough, label %tell, label %run
tell:
  store i64 1, ptr @{name}.hot
  %told = call i32 @sem_post(ptr @pullback.semaphore)
  br label %run
run:
  %status = musttail call i64 @{name}({given})
  ret i64 %status
}}
"""


def names(name: str) -> tuple[str, ...]:
    """What `text` exports."""
    return f"{name}.code", f"{name}.hot", f"{name}.call"


def symbols() -> dict[str, int]:
    """What `text` refers to."""
    return {"sem_post": process.interpreter_symbol("sem_post"), "pullback.semaphore": _worker.semaphore}


def watch(kernel: Upgradable) -> None:
    """Look after a kernel until it is hot or gone."""
    _worker.watch(kernel)


def settle(timeout: float = 60.0) -> bool:
    """Wait until better code is there for all kernels that are hot now; whether that was so in time."""
    return _worker.settle(timeout)


busy = threading.Lock()
"""Held while LLVM works in the background: nobody may fork then, as the child would inherit its locks."""


class _Worker:
    """The thread, and the kernels that it looks after."""

    def __init__(self) -> None:
        self.semaphore = process.semaphore()
        self._kernels: dict[int, weakref.ref[Upgradable]] = {}
        self._stopping, self._until = False, 0.0
        self._begin()

    def _begin(self) -> None:
        self._thread: threading.Thread | None = None
        self._starting, self._done = threading.Lock(), threading.Condition()

    def watch(self, kernel: Upgradable) -> None:
        number = id(kernel)
        self._kernels[number] = weakref.ref(kernel, lambda _: self._kernels.pop(number, None))
        with self._starting:
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="pullback tiers", daemon=True)
                self._thread.start()

    def settle(self, timeout: float) -> bool:
        with self._done:
            return self._done.wait_for(lambda: not self._hot(), timeout)

    def stop(self) -> None:
        """Let the thread end, soon: LLVM may not be at work while the process takes itself apart."""
        self._until = ending.until()
        self._stopping = True
        thread, self._thread = self._thread, None
        if thread is not None:
            process.post(self.semaphore)
            thread.join()

    def after_fork(self) -> None:
        """In the child: it has no thread but the one that forked, and a semaphore that nobody waits for."""
        process.reset(self.semaphore)
        self._begin()

    def _run(self) -> None:
        while not self._stopping:
            process.wait(self.semaphore)
            self._improve()
            with self._done:
                self._done.notify_all()
        self._improve()  # what has become hot since the last was begun

    def _improve(self) -> None:
        for kernel in self._hot():
            if self._stopping and time.monotonic() >= self._until:
                return
            kernel.upgrade()
            self._kernels.pop(id(kernel), None)

    def _hot(self) -> list[Upgradable]:
        alive = [reference() for reference in list(self._kernels.values())]
        return [kernel for kernel in alive if kernel is not None and kernel.is_hot()]


_worker = _Worker()
atexit.register(_worker.stop)


def _after_fork() -> None:
    busy.release()
    _worker.after_fork()


os.register_at_fork(before=busy.acquire, after_in_parent=busy.release, after_in_child=_after_fork)

__all__ = ["BETTER", "Plan", "Upgradable", "busy", "expected", "names", "plan", "settle", "symbols", "text", "watch"]
