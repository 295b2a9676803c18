"""A bound on the work of reading a formula: what runs inside is counted, and an error comes out where it is too much.

    with bounded_work(NoExpression):        whoever makes an element of an array inside says `an_element()`
        ...

What a formula takes is not known before it is there, and that of a long program may take hours. Work is counted, not
timed: elements first, which costs nothing, and of who makes many of them every call of a function. A bound within
another one is part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

ELEMENTS = 2_000
"""The elements from which on calls are counted, which makes them take twice as long."""

CALLS = 10_000_000
"""The calls, Python's and SymPy's, after which a reading is stopped: some five seconds, and as many for counting."""


class _Exhausted(BaseException):
    """No Exception, which who reads would take for a reason to read in another way."""


class _Work:
    """What is left of a bound."""

    def __init__(self) -> None:
        self.elements, self.calls, self.counts = ELEMENTS, CALLS, False

    def element(self) -> None:
        self.elements -= 1
        if self.elements == 0 and sys.gettrace() is None:  # a debugger goes on following
            self.counts = True
            sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, arg: Any) -> None:
        self.calls -= 1
        if self.calls < 0:
            raise _Exhausted


_WORK: ContextVar[_Work | None] = ContextVar("_WORK", default=None)


@contextmanager
def bounded_work(error: type[Exception]) -> Iterator[None]:
    """Raise this error where the work within is too much."""
    if _WORK.get() is not None:
        yield
        return
    work = _Work()
    token = _WORK.set(work)
    try:
        yield
    except _Exhausted:
        how = "pass an example with fewer elements or rounds, or matrices=True, which reads arrays as a whole"
        raise error(f"sympy() found no formula within {CALLS:,} calls of functions in SymPy: {how}") from None
    finally:
        if work.counts:
            sys.settrace(None)
        _WORK.reset(token)


def an_element() -> None:
    """Count one element of an array, where somebody bounds the work."""
    work = _WORK.get()
    if work is not None:
        work.element()


__all__ = ["an_element", "bounded_work"]
