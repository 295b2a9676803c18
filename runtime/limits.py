"""The memory that gradients may keep: `max_memory=`, and what it means for gradients within a traced function."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def bytes_of(name: str, given: Any) -> int | None:
    """A limit in bytes: an int, or a text such as "50 MB" or "2GiB"; None for none."""
    if given is None:
        return None
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmg]i?)?b?\s*", given.lower())
        if found is not None:
            given = int(float(found[1]) * UNITS[found[2] or ""])
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f'{name}: max_memory is {given!r}, expected bytes as an int, or a text such as "50 MB"')
    if given <= 0:
        raise ValueError(f"{name}: max_memory is {given} bytes, expected more than none")
    return given


class _Limit(threading.local):
    bytes: int | None = None


_limit = _Limit()


def limit() -> int | None:
    """What the innermost function that is being traced allows its gradients to keep."""
    return _limit.bytes


@contextmanager
def limited(bytes: int | None) -> Iterator[None]:
    """Let gradients that are traced meanwhile keep no more than this; None changes nothing."""
    before = _limit.bytes
    _limit.bytes = before if bytes is None else bytes
    try:
        yield
    finally:
        _limit.bytes = before


__all__ = ["bytes_of", "limit", "limited"]
