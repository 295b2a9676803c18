"""Which elements of a long sum are alike, and which axes are short: of sums that are written over indices.

    inside(made, 100)        (made(1, 1), 1, 1), where all elements but the first and the last are made in one way
    short_axes((3, 100))     [0]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .elements import BY_CASES

MARGINS = (0, 1, 2, 4, 8, 16, 32)
"""How many elements are tried to be left out at each end."""


def short_axes(extents: Sequence[int]) -> list[int]:
    """The axes of a long sum whose terms are written out side by side: a few, where the others are long."""
    made: list[int] = []
    for a, n in sorted(enumerate(extents), key=lambda each: each[1]):
        if n * math.prod([extents[b] for b in made]) <= BY_CASES:
            made.append(a)
    return sorted(made)


def inside(made: Callable[[int, int], Any], size: int) -> tuple[Any, int, int] | None:
    """What is made of all but so many elements at both ends, as few as may be; None where that is not known of any."""
    made = functools.cache(made)
    most = [n for n in MARGINS if 2 * n < size]
    first = next((k for k, n in enumerate(most) if made(n, n) is not None), None)
    if first is None:
        return None
    ends = [most[first]] * 2
    for side in range(2) if first else ():
        low = 0
        while low < ends[side]:
            middle = (low + ends[side]) // 2
            tried = [middle if k == side else n for k, n in enumerate(ends)]
            low, ends = (low, tried) if made(tried[0], tried[1]) is not None else (middle + 1, ends)
    return made(ends[0], ends[1]), ends[0], ends[1]


__all__ = ["inside", "short_axes"]
