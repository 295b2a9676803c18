"""Between which numbers an index lies: from an element to its ends, and to the index kept inside an array.

    i + 1, with i in 0..8        in 1..9       clipped to an array of 10 elements it is itself
    i + 1, with i in 0..n-2      in 1..n-1     the same where n is only told: ends are sums of sizes there
"""

from __future__ import annotations

from collections.abc import Callable
from math import trunc
from typing import Any

from .ir.measure import Measure, OpenExtent, dim_of, lowest
from .ir.types import Dim
from .loops import Apply, Element, Number, Position, Variable


def clipped(index: Element, size: int) -> Element:
    """The index moved into 0 .. size-1, so that reading there is safe whatever it was; itself if it is there anyway."""
    if isinstance(size, OpenExtent):
        return _clipped_open(index, size)
    low, high = interval(index)
    if low < 0:
        index = Apply("maximum", (index, Number(0, "i64")), "i64")
    if high >= max(size, 1):
        index = Apply("minimum", (index, Number(max(size - 1, 0), "i64")), "i64")
    return index


def whole(e: Number) -> Any:
    """The value of a whole number, which may be an open extent."""
    return e.value if isinstance(e.value, OpenExtent) else trunc(e.value)


def _clipped_open(index: Element, size: OpenExtent) -> Element:
    """The same where the size is only told: bounds are sums of sizes."""
    low, high = _open_ends(index)
    far = high is None or not is_natural(size.size - 1 - high, size)
    if far:
        index = Apply("minimum", (index, Number(size - 1, "i64")), "i64")
    if far or low is None or not is_natural(low, size):  # also where there are no elements
        index = Apply("maximum", (index, Number(0, "i64")), "i64")
    return index


def is_natural(dim: Dim, like: Measure) -> bool:
    """Whether a sum of sizes is never negative, whatever the numbers of the sizes that `like` is made with."""
    least = lowest(dim, like.sizes.least)
    return least is not None and least >= 0


def _open_ends(e: Element, depth: int = 12) -> tuple[Dim | None, Dim | None]:
    """The least and the greatest value of an index as sums of sizes, as far as they are seen."""
    if isinstance(e, Number):
        return dim_of(e.value), dim_of(e.value)
    if isinstance(e, Variable):
        return dim_of(e.low), dim_of(e.high)
    if not isinstance(e, Apply) or depth == 0 or e.spelling not in ("add", "sub", "mul"):
        return None, None
    (low, high), (least, most) = (_open_ends(a, depth - 1) for a in e.args)
    if e.spelling == "mul":
        if least is None or least != most or not isinstance(least, int):
            return None, None
        low, high = (None if end is None else end * least for end in ((low, high) if least >= 0 else (high, low)))
        return low, high
    if e.spelling == "sub":
        least, most = (None if end is None else -end for end in (most, least))
    return _sum(low, least), _sum(high, most)


def _sum(a: Dim | None, b: Dim | None) -> Dim | None:
    return None if a is None or b is None else a + b


UNKNOWN = (-(2**63), 2**63 - 1)
LONGEST = 2**46  # elements of an array
DEPTH = 12  # operations that an index may be made of


def interval(e: Element, depth: int = DEPTH) -> tuple[int, int]:
    """The least and the greatest value that an i64 element can have, as far as that is seen."""
    if isinstance(e, Number) and e.dtype == "i64":
        return _numbers(e.value, e.value)
    if isinstance(e, Variable):
        return _numbers(e.low, e.high)
    if isinstance(e, Position) and all(isinstance(a.extent, int) for a, _ in e.index.terms):
        return e.index.range()
    if not isinstance(e, Apply) or e.dtype != "i64" or depth == 0 or e.spelling not in _INTERVALS:
        return UNKNOWN
    args = [a for a in e.args if a.dtype == "i64"]
    low, high = _INTERVALS[e.spelling](*(interval(a, depth - 1) for a in args))
    return (low, high) if UNKNOWN[0] <= low and high <= UNKNOWN[1] else UNKNOWN


def _numbers(low: Any, high: Any) -> tuple[int, int]:
    """Ends as numbers: those of open extents are below that of any array."""
    if isinstance(low, OpenExtent):
        low = lowest(low.size, low.sizes.least)
    high = LONGEST if isinstance(high, OpenExtent) else high
    return UNKNOWN[0] if low is None else trunc(low), UNKNOWN[1] if high is None else trunc(high)


_Range = tuple[int, int]


def _reach(ends: list[int]) -> _Range:
    return min(ends), max(ends)


#: what is known of the value of integer operations from the intervals of their i64 arguments
_INTERVALS: dict[str, Callable[..., _Range]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "neg": lambda a: (-a[1], -a[0]),
    "mul": lambda a, b: _reach([x * y for x in a for y in b]),
    "floordiv": lambda a, b: UNKNOWN if b[0] < 1 else _reach([x // y for x in a for y in b]),
    "mod": lambda a, b: UNKNOWN if b[0] < 1 else a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "select": lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    "cast": lambda *a: a[0] if a else UNKNOWN,
}


__all__ = ["LONGEST", "clipped", "interval", "is_natural", "whole"]
