"""Why traces could not be run, the last few."""

from __future__ import annotations

KEPT = 64
_failed: dict[int, Exception] = {}


def note_failure(serial: int, error: Exception) -> None:
    """Note why the trace of this serial could not be run."""
    while len(_failed) >= KEPT:
        _failed.pop(next(iter(_failed)), None)
    _failed[serial] = error


def failure(serial: int) -> Exception | None:
    """Why the trace of this serial could not be run."""
    return _failed.get(serial)
