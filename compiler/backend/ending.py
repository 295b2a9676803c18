"""When a process ends: until when code may still be begun that only processes to come will run.

What is being made is finished, as LLVM cannot be stopped, and kept. What waits behind it would be lost, and a short
program that is run again and again would make it again and again. So the threads that make code go on for a tenth of
the time that the process has taken, and half a second at most; and not at all where nothing is kept on disk.
"""

from __future__ import annotations

import time

from .disk import cache

SHARE, MOST = 0.1, 0.5
"""Of the time since this module was loaded, and in seconds."""

_began = time.monotonic()


def until() -> float:
    """The moment, of `time.monotonic`, from which nothing more is begun in a process that ends now."""
    now = time.monotonic()
    return now + min(MOST, SHARE * (now - _began)) if cache.enabled() else now


__all__ = ["until"]
