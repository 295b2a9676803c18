"""A computation of SymPy's and a number of calls in; its result out, or None where it takes more calls than that.

    solved(Integral(exp(sin(x) * x), (x, 0, y)), 10_000_000)      None

SymPy's searches for closed forms may take minutes, or not end. What they do is counted, not timed: the same formula is
solved, or not, on every machine and under any load. A trace function of the thread that asks counts: no other thread,
signal or process takes part, and the computation is left as by Ctrl-C, at a call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from types import FrameType
from typing import Any

PATIENT, HASTY = 20_000_000, 3_000_000
"""The calls after which SymPy is stopped: some ten seconds and one and a half, without what counting takes."""


class Exhausted(BaseException):
    """No Exception, which searches catch to try another way."""


@lru_cache(maxsize=256)
def solved(e: Any, calls: int = PATIENT) -> Any:
    """`e.doit()`, once for every expression."""
    return within(calls, e.doit)


def within(calls: int, function: Callable[..., Any], *args: Any) -> Any:
    """What the function returns, or None; to its end where a debugger or the like follows this thread already."""
    left = calls

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Exhausted

    if sys.gettrace() is not None:
        return function(*args)
    sys.settrace(count)
    try:
        return function(*args)
    except Exhausted:
        sys.settrace(None)
        _forget_begun()
        return None
    finally:
        sys.settrace(None)


def _forget_begun() -> None:
    """SymPy notes what it has begun to integrate, and would take it for a circle the next time."""
    from sympy.integrals import manualintegrate

    noted = getattr(manualintegrate, "_integral_cache", {})
    for key in [key for key, rule in noted.items() if rule is None]:
        del noted[key]


__all__ = ["HASTY", "PATIENT", "solved", "within"]
