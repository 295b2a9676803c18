"""Why traces could not be run, the last few."""

from __future__ import annotations

KEPT = 64
_failed: dict[int, BaseException] = {}


def note_failure(serial: int, error: BaseException) -> None:
    """Note why the trace of this serial could not be run."""
    while len(_failed) >= KEPT:
        _failed.pop(next(iter(_failed)), None)
    _failed[serial] = error


def failure(serial: int) -> BaseException | None:
    """Why the trace of this serial could not be run."""
    return _failed.get(serial)
