"""The tapes of all threads, and what they all must know of."""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

from ....compiler.locks import lock

IRREGULAR, LANES = 4, 8
"""Bits of a tape's mode: what is rarely in use takes part in what operations do; a function runs for a whole batch."""

_gathering = lock()
_all: list[Any] = []
"""The tapes of all threads, and of those that ended before somebody needed their values.  One that only this list holds
has three references while one looks, and mostly its own."""

_irregular: set[str] = set()


def enrol(tape: Any) -> None:
    """Let a tape be one of those that others may look at, and forget those that nobody needs any more."""
    with _gathering:
        _all[:] = [t for t in _all if t.count or getrefcount(t) > 3 + (t.special is not None)]
        _all.append(tape)


def open_tapes() -> list[Any]:
    """The tapes of all threads."""
    return [*_all]


def tape_of(serial: int) -> Any:
    """The tape whose trace has this serial; None if it has been run."""
    return next((tape for tape in open_tapes() if tape.serial == serial), None)


def others_record() -> bool:
    """Whether there is another thread that has to do with Tensors."""
    me = threading.get_ident()
    alive = {t.ident for t in threading.enumerate() if t.ident != me}
    return any(tape.owner in alive for tape in open_tapes())


def is_irregular() -> int:
    """IRREGULAR if something is in use with which no call must be recognised."""
    return IRREGULAR if _irregular else 0


def set_irregular(name: str, value: bool) -> None:
    """Let all tapes know that something is in use, or no more, with which no call must be recognised."""
    (_irregular.add if value else _irregular.discard)(name)
    for tape in open_tapes():
        tape.mode = tape.mode | IRREGULAR if _irregular else tape.mode & ~IRREGULAR


__all__ = ["IRREGULAR", "LANES", "enrol", "is_irregular", "open_tapes", "others_record", "set_irregular", "tape_of"]
