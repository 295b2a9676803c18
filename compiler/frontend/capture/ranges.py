"""What is known of traced integers: between which numbers they are, and which differ by a constant.

    for i in range(1, n - 1):       i is in 1 .. n-2
        a[i + 1] - a[i]             both in range of a's n elements: no check is needed
        b[i : i + 3]                the ends have one base and differ by 3: a window
    b[3 * i : 3 * (i + 1)]      the ends are 3i and 3i + 3: a window, too
"""

from __future__ import annotations

from typing import Any

from ...bounds import LONGEST, is_natural
from ...ir.graph import Value
from ...ir.measure import dim_of, lowest
from ...ir.types import Dim
from ...ops.elementwise import add
from ...ops.source import dimension
from ..array import Array
from ..sizes import Length

LEAST, MOST = -(2**63), 2**63 - 1
Interval = tuple[int, int]
Form = tuple[dict[Value, int], Any]


class Ranges:
    """What is known.

    known    value -> the least and the greatest it can be
    drift    value -> another one, plus between two numbers
    forms    value -> a sum of multiples of others, and a constant; those without one stand for themselves
    passes   the index of a loop's passes, which goes through all of its numbers
    lengths  value -> the named size that it is
    tops     value -> the greatest that it can be, where that is made of named sizes
    """

    def __init__(self) -> None:
        self.known: dict[Value, Interval] = {}
        self.drift: dict[Value, tuple[Array, int, int]] = {}
        self.forms: dict[Value, Form] = {}
        self.passes: set[Value] = set()
        self.lengths: dict[Value, Length] = {}
        self.tops: dict[Value, Dim] = {}
        self._products: dict[Any, Form] = {}

    def of(self, x: Any) -> Interval:
        """The least and the greatest that an integer can be."""
        if isinstance(x, Array):
            return self.known.get(x.value, (0, 1) if x.type.dtype == "bool" else (LEAST, MOST))
        if isinstance(x, Length):
            low = lowest(x.size, x.sizes.least)
            return LEAST if low is None else low, LONGEST
        return int(x), int(x)

    def note(self, x: Array, low: int, high: int) -> Array:
        """x is known to lie between the two."""
        known = self.of(x)
        self.known[x.value] = (max(low, known[0]), min(high, known[1]))
        return x

    def inside(self, x: Any, low: int | None, high: Any) -> bool:
        """Whether x is known to be at least `low` and below `high`, which may be a named size."""
        if isinstance(high, Length):
            first, last = self._ends(x)
            rest = () if low is None else (first - low if first is not None else None,)
            room = None if last is None else high.size - last - 1
            return all(d is not None and is_natural(d, high) for d in (room, *rest))
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

    # ---- named sizes

    def counted(self, m: Any, x: Any) -> Any:
        """A named size as a traced integer; anything else as it is."""
        if not isinstance(x, Length):
            return x
        made = Array(m.now, m.now.emit(dimension, size=x.size), weak=True)
        self.lengths[made.value], self.forms[made.value] = x, ({}, x)
        return self.note(made, *self.of(x))

    def counts(self, x: Array, trip: Any) -> Array:
        """x goes from 0 to below `trip`."""
        length = self.lengths.get(trip.value) if isinstance(trip, Array) else None
        if length is not None:
            self.tops[x.value] = length.size - 1
        return self.note(x, 0, max(self.of(trip)[1] - 1, 0))

    def _ends(self, x: Any) -> tuple[Dim | None, Dim | None]:
        """The least and the greatest that x can be, as far as is known, by names of sizes."""
        terms, constant = self.form(x)
        low: Dim | None = dim_of(constant)
        high = low
        for value, factor in terms.items():
            least, most = self.known.get(value, (LEAST, MOST))
            ends = [None if least == LEAST else least, self.tops.get(value, None if most == MOST else most)]
            first, last = ends if factor > 0 else reversed(ends)
            low = None if low is None or first is None else low + factor * first
            high = None if high is None or last is None else high + factor * last
        return low, high

    # ---- sums of multiples

    def form(self, x: Any) -> Form:
        """x as a sum of multiples of other values, and a constant."""
        if not isinstance(x, Array):
            return {}, x if isinstance(x, Length) else int(x)
        return self.forms.get(x.value, ({x.value: 1}, 0))

    def combined(self, made: Array, x: Any, y: Any, factor: int = 1) -> None:
        """`made` is x + factor * y."""
        (terms, constant), (others, more) = self.form(x), self.form(y)
        total = dict(terms)
        for value, k in others.items():
            total[value] = total.get(value, 0) + factor * k
        self.forms[made.value] = {v: k for v, k in total.items() if k}, constant + factor * more

    def multiplied(self, made: Array, x: Any, y: Any) -> None:
        """`made` is x * y; the same product of two unknowns is the same unknown."""
        for a, b in ((x, y), (y, x)):
            if not isinstance(b, Array):
                self.combined(made, 0, a, int(b))
                return
        keys = [(frozenset(terms.items()), constant) for terms, constant in (self.form(x), self.form(y))]
        self.forms[made.value] = self._products.setdefault(frozenset(keys), self.form(made))

    def width(self, start: Any, stop: Any) -> int | None:
        """stop - start, if that is a number whatever the values are."""
        (terms, constant), (others, more) = self.form(start), self.form(stop)
        return more - constant if terms == others else None

    def leaves(self, x: Array, params: tuple[Value, ...], high: int) -> bool:
        """Whether x is surely below 0 or above `high` in some pass of the loop whose body has these parameters."""
        terms, constant = self.form(x)
        if len(terms) != 1 or isinstance(constant, Length) or isinstance(high, Length):
            return False
        ((index, factor),) = terms.items()
        if index not in self.passes or index not in params:
            return False
        ends = [constant + factor * k for k in self.known[index]]
        return min(ends) < 0 or max(ends) > high

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
        a, b = self.counted(m, a), self.counted(m, b)
        made = Array(m.now, m.emit(add, a, b).value, weak=True)
        (low, high), (more, most) = self.of(a), self.of(b)
        self.note(made, low + more, high + most)
        self.combined(made, a, b)
        for x, by in ((a, b), (b, a)):
            if not isinstance(by, Array):
                self.shifted(made, x, int(by))
        return made
