"""Kernels of traces are made by a thread of their own, so that no step waits: until then a trace runs op by op.

One thread makes them, at the level of code that is best, since nobody waits.  Where lengths are random many are asked
for of which few come again, so the next one is what is missed most lately, and what nobody has missed for long is left
out: who misses it again asks again.  A child of a fork has no thread yet, and asks again for what its parent had asked
for.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context

from ....compiler.backend import ending
from ....compiler.frontend.patched.patches import unpatched
from ....compiler.settings import settings

log2, monotonic = unpatched(math.log2), unpatched(time.monotonic)  # this file may be loaded amid a trace

BEST = 2
"""The level of code that is made where the user has chosen none."""


HALF = 256
"""Uses of what waits, of all of it together, after which one counts half."""

LONG = 5.0
"""Seconds after which what nobody has missed is left out."""


class Job:
    """What is to be made, and how much it is missed.

    weight  a logarithm of how often it was missed, where each time counts twice as much as one HALF uses before: so of
            two jobs the order stays for as long as nobody misses them
    last    when it was missed last
    open    it is still to be made, or is being made
    left    it was left out
    """

    __slots__ = ("maker", "generation", "context", "make", "weight", "last", "open", "left")

    def __init__(self, maker: Maker, make: Callable[[], None], times: int) -> None:
        self.maker, self.generation, self.make, self.context = maker, maker.generation, make, copy_context()
        self.weight, self.last = maker.now() + log2(times), monotonic()
        self.open, self.left = True, False

    def missed(self, times: int = 1) -> bool:
        """Note how often somebody would have used it; False where it was left out, and must be asked for again."""
        if self.left or self.maker.generation != self.generation:
            return False
        now = self.maker.now()
        self.weight = now + log2(times + 2.0 ** max(self.weight - now, -64.0))
        self.last = monotonic()
        return True


class Maker:
    """The thread, and what it has still to do.

    generation  in which process of a line of forks it is
    uses        how often somebody has missed what was waited for
    waiting     what compiles; short what takes no longer than to learn what an operation does at other sizes
    open        how much of both is still to be done; settling how many wait for all of it
    """

    def __init__(self) -> None:
        self.generation = 0
        self.begin()

    def begin(self) -> None:
        self.generation += 1
        self.uses = 0
        self.waiting: list[Job] = []
        self.short: deque[Job] = deque()
        self.thread: threading.Thread | None = None
        self.open, self.settling, self.done = 0, 0, threading.Condition()
        self.stopping, self.until = False, 0.0

    def now(self) -> float:
        """The time by which what is missed is weighed."""
        self.uses += 1
        return self.uses / HALF

    def ask(self, make: Callable[[], None], times: int = 1, short: bool = False) -> Job:
        """Call `make` soon, under the settings that hold here; it must not raise.

        times  how often it was missed
        short  it takes no longer than to learn what an operation does at other sizes, and goes before what compiles
        """
        job = Job(self, make, times)
        with self.done:
            if self.stopping:
                return job
            self.open += 1
            (self.short if short else self.waiting).append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="pullback traces", daemon=True)
                self.thread.start()
            self.done.notify_all()
        return job

    def settle(self, timeout: float) -> bool:
        with self.done:
            self.settling += 1
            try:
                return self.done.wait_for(lambda: not self.open, timeout)
            finally:
                self.settling -= 1

    def stop(self) -> None:
        """Let the thread end, soon: LLVM may not be at work while the process takes itself apart."""
        with self.done:
            self.until = ending.until()
            self.stopping = True
            thread, self.thread = self.thread, None
            self.done.notify_all()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job.context.run(_at_best, job.make)
            finally:
                with self.done:
                    self._end(job)

    def _next(self) -> Job | None:
        """What is made next; None when the process ends, and nothing waits for which there is time."""
        with self.done:
            while True:
                self.done.wait_for(lambda: self.short or self.waiting or self.stopping)
                self._leave_out()
                if self.short:
                    return self.short.popleft()
                if self.waiting:
                    job = max(self.waiting, key=lambda job: job.weight)
                    self.waiting.remove(job)
                    return job
                if self.stopping:
                    return None

    def _leave_out(self) -> None:
        """Leave out what nobody has missed for long, but for who waits for all; and all when it is too late."""
        now = monotonic()
        late = self.stopping and now >= self.until
        if late or not self.settling:
            for job in [job for job in self.waiting if late or now - job.last > LONG]:
                self.waiting.remove(job)
                job.left = True
                self._end(job)
        while late and self.short:
            self._end(self.short.popleft())

    def _end(self, job: Job) -> None:
        job.open = False
        self.open -= 1
        self.done.notify_all()


def _at_best(make: Callable[[], None]) -> None:
    if settings.level is None:
        with settings.override(level=BEST):
            make()
    else:
        make()


maker = Maker()


def settle(timeout: float = 60.0) -> bool:
    """Wait until all kernels that were asked for are there; whether that was so in time."""
    return maker.settle(timeout)


atexit.register(maker.stop)
os.register_at_fork(after_in_child=maker.begin)

__all__ = ["maker", "settle"]
