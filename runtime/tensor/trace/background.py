"""Kernels of traces are made by a thread of their own, so that no step waits: until then a trace runs op by op.

One thread makes them in turn, at the level of code that is best, since nobody waits.  A child of a fork has no thread
yet, and asks again for what its parent had asked for.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue

from ....compiler.backend import ending
from ....compiler.settings import settings

BEST = 2
"""The level of code that is made where the user has chosen none."""


Job = tuple[Context, Callable[[], None]]

NEXT: Job = Context(), lambda: None
"""Waits in the place of what is short, so that somebody looks for that."""


class Maker:
    """The thread, and what it has still to do.  `generation` says in which process of a line of forks it is."""

    def __init__(self) -> None:
        self.generation = 0
        self.begin()

    def begin(self) -> None:
        self.generation += 1
        self.waiting: SimpleQueue[Job | None] = SimpleQueue()
        self.short: SimpleQueue[Job] = SimpleQueue()
        self.thread: threading.Thread | None = None
        self.open, self.done = 0, threading.Condition()
        self.stopping, self.until = False, 0.0

    def ask(self, make: Callable[[], None], short: bool = False) -> None:
        """Call `make` soon, under the settings that hold here; it must not raise.

        short   it takes no longer than to learn what an operation does at other sizes, and goes before what compiles
        """
        with self.done:
            if self.stopping:
                return
            self.open += 1
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="pullback traces", daemon=True)
                self.thread.start()
        job = copy_context(), make
        if short:
            self.short.put(job)
        self.waiting.put(NEXT if short else job)

    def settle(self, timeout: float) -> bool:
        with self.done:
            return self.done.wait_for(lambda: not self.open, timeout)

    def stop(self) -> None:
        """Let the thread end, soon: LLVM may not be at work while the process takes itself apart."""
        with self.done:
            self.until = ending.until()
            self.stopping = True
            thread, self.thread = self.thread, None
        if thread is not None:
            self.waiting.put(None)
            thread.join()

    def _run(self) -> None:
        while (item := self.waiting.get()) is not None:
            while not self.short.empty():
                self._do(*self.short.get())
            if item is not NEXT:
                self._do(*item)

    def _do(self, context: Context, make: Callable[[], None]) -> None:
        try:
            if not self.stopping or time.monotonic() < self.until:
                context.run(_at_best, make)
        finally:
            with self.done:
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
