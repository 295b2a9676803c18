"""The locks of tapes: whoever runs a tape or makes what its tensors lack holds its."""

from __future__ import annotations

from typing import Any


class Locked:
    """Hold the lock of a tape; that of this thread's own is let go meanwhile, so that no two threads wait for each
    other."""

    __slots__ = ("mine", "tape", "held")

    def __init__(self, mine: Any, tape: Any) -> None:
        self.mine, self.tape, self.held = mine, tape, None

    def __enter__(self) -> None:
        if self.tape is not self.mine and self.mine.lock._is_owned():
            self.held = self.mine.lock._release_save()
        self.tape.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.tape.lock.release()
        if self.held is not None:
            self.mine.lock._acquire_restore(self.held)


__all__ = ["Locked"]
