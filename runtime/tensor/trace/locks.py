"""The locks of tapes: whoever runs a tape or makes what its tensors lack holds its."""

from __future__ import annotations

import time
from typing import Any

PATIENCE = 10.0
"""So many seconds a thread waits for another one that makes nodes."""

visited: set[Any] = set()
"""The tapes at which other threads look. Meanwhile leaves may have the gradients of before."""


class Locked:
    """Hold the lock of another thread's tape, and let its thread wait before it records; the lock of this thread's own
    is let go meanwhile, so that no two threads wait for each other."""

    __slots__ = ("mine", "tape", "held")

    def __init__(self, mine: Any, tape: Any) -> None:
        self.mine, self.tape, self.held = mine, tape, None

    def __enter__(self) -> None:
        if self.mine.lock._is_owned():
            self.held = self.mine.lock._release_save()
        self.tape.lock.acquire()
        if self.tape.busy:
            self._wait()
        visited.add(self.tape)
        self.tape.visits += 1
        self.tape.depth += 1  # its thread may change this as well, in one step as here

    def _wait(self) -> None:
        """Wait until its thread has made nodes: it lets go of the lock where it reads what stands on another tape, and
        its trace must stay what it is."""
        end = time.monotonic() + PATIENCE
        while self.tape.busy:
            self.tape.lock.release()
            time.sleep(0.0001)
            self.tape.lock.acquire()
            if time.monotonic() > end:
                self._leave()
                raise RuntimeError("threads wait for each other's Tensors; let only one of them write to a Tensor")

    def __exit__(self, *_: object) -> None:
        self.tape.depth -= 1
        self.tape.visits -= 1
        if not self.tape.visits:
            visited.discard(self.tape)
        self._leave()

    def _leave(self) -> None:
        self.tape.lock.release()
        if self.held is not None:
            self.mine.lock._acquire_restore(self.held)


def holding(mine: Any, tape: Any) -> Any:
    """Hold the lock of a tape, which may be this thread's own."""
    return tape.lock if tape is mine else Locked(mine, tape)  # a lock lets no signal's handler in between


def wait_for(tape: Any) -> None:
    """Wait while another thread looks at this one's tape, but not in the middle of looking at another one's."""
    while tape.visits and tape.again is None:
        with tape.lock:
            pass


__all__ = ["Locked", "holding", "visited", "wait_for"]
