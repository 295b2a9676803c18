"""How much work a call is, in calls of functions rather than seconds: the same on a busy machine as on an idle one."""

import cProfile
import pstats
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """How many functions `work` calls, of Python's and built-in ones; what runs in native code is none of them."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return sum(calls for _, calls, *_ in pstats.Stats(profile).stats.values())  # type: ignore[attr-defined]
