"""A line on the terminal for what takes long: which function is being compiled, at which stage, and for how long now.

    with shown("loss"):
        ...                       pullback: compiling loss: lowering, 3 s

It appears after a second on a terminal, is rewritten in its place and taken away at the end. Elsewhere, and with
`PULLBACK_PROGRESS=0`, nothing is written; nor is anything from threads beside the main one, which nobody waits for.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from .settings import settings

PATIENCE = 1.0
"""Seconds after which the line appears."""

PERIOD = 0.25
"""Seconds after which it is written again."""

_ERASE = "\r\x1b[K"
_MOST = 60
"""Letters of a function's name, so that the line stays one."""


class _Now:
    """What is being done, in the main thread."""

    stage = ""
    shown = False


def at(stage: str) -> None:
    """Tell what is being done now."""
    if _Now.shown:
        _Now.stage = stage


@contextmanager
def shown(name: str) -> Iterator[None]:
    """Show the line for as long as the body of the `with` takes, unless one is shown already."""
    if _Now.shown or threading.current_thread() is not threading.main_thread() or not _wanted():
        yield
        return
    done = threading.Event()
    writer = threading.Thread(target=_write, args=(name[:_MOST], done), name="pullback progress", daemon=True)
    _Now.shown, _Now.stage = True, ""
    try:
        writer.start()
        yield
    finally:
        done.set()
        writer.join()
        _Now.shown = False


def _wanted() -> bool:
    return settings.progress and sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _write(name: str, done: threading.Event) -> None:
    began = perf_counter()
    if done.wait(PATIENCE):
        return
    try:
        while not done.wait(PERIOD):
            stage = f": {_Now.stage}" if _Now.stage else ""
            sys.stderr.write(f"{_ERASE}pullback: compiling {name}{stage}, {perf_counter() - began:.0f} s")
            sys.stderr.flush()
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # the terminal has gone


__all__ = ["at", "shown"]
