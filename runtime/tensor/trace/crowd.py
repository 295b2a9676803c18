"""One lock for all threads, as long as several write to the same Tensors.

A trace takes it that a tensor has the value that it gave it.  Where a thread meets a tensor that another one has
written to in its trace, nothing can be said of it beforehand.  From then on calls take turns: whoever calls a function
of Tensors holds the lock, none is recognised, and what was recorded is run at its end.  So nothing is ever pending that
others might meet.  When only one thread has called for a while, all is as before.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ....compiler.frontend.patched.patches import unpatched
from ....compiler.locks import reentrant_lock
from .opened import IRREGULAR, others_record, set_irregular

monotonic = unpatched(time.monotonic)  # this file may be loaded amid a trace

T = TypeVar("T")

QUIET = 0.1
"""So many seconds only one thread has called when the others are taken to have gone."""


class Crowd:
    """Whether calls take turns, and whose it is.

    on       calls take turns
    level    how many calls of the thread whose turn it is are under way
    asking   threads that wait for their turn
    last     the thread that had the last turn that was not one's own, and when that was
    """

    def __init__(self) -> None:
        self.on = False
        self.begin()

    def begin(self) -> None:
        """Let nobody have a turn: also in a child of a fork, where the others are not."""
        self.lock = reentrant_lock()
        self.level, self.asking, self.last, self.changed = 0, set[int](), 0, 0.0

    def meet(self, tensor: Any) -> None:
        """Let calls take turns from now on if a tensor that another thread works on has been written to."""
        if not tensor._written or not others_record():
            return
        self.changed = monotonic()
        if not self.on:
            self.on = True
            set_irregular("threads", True)

    def turn(self, tape: Any, action: Callable[[], T]) -> T:
        """What `action` gives, called when it is this thread's turn, with the lock of its tape held.

        Who holds that lock already has begun before turns were taken, and goes on without: others may wait for it in
        their turn.
        """
        if tape.lock._is_owned() and not self.lock._is_owned():  # type: ignore[attr-defined]
            return action()
        self.asking.add(tape.owner)
        with self.lock:
            self.asking.discard(tape.owner)
            if not self.level:
                self._begun(tape)
            self.level += 1
            try:
                with tape.lock:
                    made = action()
                    if self.level == 1 and self.on and tape.count:
                        tape.flush()
            finally:
                self.level -= 1
        return made

    def _begun(self, tape: Any) -> None:
        """Note whose turn it is; when only one thread has called for a while, turns are taken no more."""
        if self.last != tape.owner or self.asking:
            self.last, self.changed = tape.owner, monotonic()
        elif monotonic() - self.changed > QUIET:
            self.on = False
            set_irregular("threads", False)
        if self.on:
            tape.mode |= IRREGULAR  # which its thread may have set back


crowd = Crowd()
os.register_at_fork(after_in_child=crowd.begin)

__all__ = ["crowd"]
