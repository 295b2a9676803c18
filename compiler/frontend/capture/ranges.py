"""What is known of traced integers: between which numbers they are, and which differ by a constant.

    for i in range(1, n - 1):       i is in 1 .. n-2
        a[i + 1] - a[i]             both in range of a's n elements: no check is needed
        b[i : i + 3]                the ends have one base and differ by 3: a window
"""

from __future__ import annotations

from typing import Any

from ...ir.graph import Value
from ...ops.elementwise import add
from ..array import Array

LEAST, MOST = -(2**63), 2**63 - 1
Interval = tuple[int, int]


class Ranges:
    """known   value -> the least and the greatest it can be;  drift  value -> another one, plus between two numbers"""

    def __init__(self) -> None:
        self.known: dict[Value, Interval] = {}
        self.drift: dict[Value, tuple[Array, int, int]] = {}

    def of(self, x: Any) -> Interval:
        """The least and the greatest that an integer can be."""
        if isinstance(x, Array):
            return self.known.get(x.value, (0, 1) if x.type.dtype == "bool" else (LEAST, MOST))
        return int(x), int(x)

    def note(self, x: Array, low: int, high: int) -> Array:
        """x is known to lie between the two."""
        known = self.of(x)
        self.known[x.value] = (max(low, known[0]), min(high, known[1]))
        return x

    def inside(self, x: Any, low: int | None, high: int | None) -> bool:
        """Whether x is known to be at least `low` and below `high`."""
        least, most = self.of(x)
        return (low is None or least >= low) and (high is None or most < high)

    def from_base(self, x: Any) -> tuple[Any, int, int]:
        """x as another traced integer plus between two numbers; None plus one for a plain number."""
        if not isinstance(x, Array):
            return None, int(x), int(x)
        return self.drift.get(x.value, (x, 0, 0))

    def base(self, x: Any) -> tuple[Any, int]:
        """x as another traced integer plus a constant."""
        value, low, high = self.from_base(x)
        return (value, low) if low == high else (x, 0)

    def shifted(self, made: Array, x: Any, by: int) -> None:
        """`made` is x + by."""
        value, low, high = self.from_base(x)
        if value is not None:
            self.drift[made.value] = (value, low + by, high + by)

    def joined(self, made: Array, x: Any, y: Any) -> None:
        """`made` is x or y."""
        (a, b), (c, d) = self.of(x), self.of(y)
        self.note(made, min(a, c), max(b, d))
        (v, low, high), (w, less, more) = self.from_base(x), self.from_base(y)
        if v is not None and w is not None and v.value is w.value:
            self.drift[made.value] = (v, min(low, less), max(high, more))

    def add(self, m: Any, a: Any, b: Any) -> Any:
        """a + b of indices that have been checked."""
        if not isinstance(a, Array) and not isinstance(b, Array):
            return a + b
        made = Array(m.now, m.emit(add, a, b).value, weak=True)
        (low, high), (more, most) = self.of(a), self.of(b)
        self.note(made, low + more, high + most)
        for x, by in ((a, b), (b, a)):
            if not isinstance(by, Array):
                self.shifted(made, x, int(by))
        return made
