"""Intervals of integers whose ends may be sizes known by name, and what operations make of them.

    iota of n: 0 .. n-1        i + 1 of 0 .. n-1: 1 .. n        minimum(i, 5) of anything: up to 5

An end that is None is that of 64 bits. Where arithmetic could leave these, and so wrap, nothing is known of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import trunc
from typing import Any, NamedTuple

from ..ir.graph import Op
from ..ir.measure import lowest
from ..ir.types import Dim, Size
from ..ops import elementwise as E
from ..ops import shape as S
from ..ops.index import check_indices, take
from ..ops.memory import read
from ..ops.reduce import max_, min_, spread
from ..ops.source import basis, const, dimension, iota

End = Dim | None


class Interval(NamedTuple):
    """All integers from `low` to `high`."""

    low: End
    high: End


ANY, TRUTH = Interval(None, None), Interval(0, 1)
LEAST, MOST = -(2**63), 2**63 - 1
"""What 64 bits hold. Sizes known by name are far from both."""


def at_most(a: End, b: End) -> bool:
    """Whether a <= b for all sizes."""
    if a is None or b is None:
        return False
    gap = b - a
    if isinstance(gap, int):
        return gap >= 0
    names = {name for terms, _ in gap.terms for name in terms}
    if any(name.startswith("_") for name in names):
        return False
    least = lowest(gap, dict.fromkeys(names, 0))
    return least is not None and least >= 0


def lower(a: End, b: End) -> End:
    """An end that is below both."""
    return a if at_most(a, b) else b if at_most(b, a) else None


def higher(a: End, b: End) -> End:
    """An end that is above both."""
    return b if at_most(a, b) else a if at_most(b, a) else None


def join(a: Interval, b: Interval) -> Interval:
    """An interval that holds both."""
    return Interval(lower(a.low, b.low), higher(a.high, b.high))


def meet(a: Interval, b: Interval) -> Interval:
    """An interval that holds what is in both."""
    low = b.low if a.low is None or at_most(a.low, b.low) else a.low
    high = b.high if a.high is None or at_most(b.high, a.high) else a.high
    return Interval(low, high)


def widened(old: Interval, new: Interval) -> Interval:
    """The old interval, without an end that does not hold the new one: what a fixed point comes to at once."""
    low = old.low if at_most(old.low, new.low) else None
    return Interval(low, old.high if at_most(new.high, old.high) else None)


def _number(end: End, limit: int) -> Dim:
    return limit if end is None else end


def _kept(low: Dim, high: Dim) -> Interval:
    """The interval between these ends, unless arithmetic has wrapped there."""
    if (isinstance(low, int) and low < LEAST) or (isinstance(high, int) and high > MOST):
        return ANY
    return Interval(None if low == LEAST else low, None if high == MOST else high)


def _vague(a: Interval) -> bool:
    """Whether an end is not known."""
    return a.low is None or a.high is None


def plus(a: Interval, b: Interval) -> Interval:
    """Sums."""
    if any(_vague(i) and any(isinstance(end, Size) for end in j) for i, j in ((a, b), (b, a))):
        return ANY
    low = _number(a.low, LEAST) + _number(b.low, LEAST)
    return _kept(low, _number(a.high, MOST) + _number(b.high, MOST))


def negative(a: Interval) -> Interval:
    """The other sign."""
    return ANY if a.low is None else _kept(-_number(a.high, MOST), -a.low)


def times(a: Interval, b: Interval) -> Interval:
    """Products, where all ends are numbers or one factor is known exactly."""
    for x, y in ((a, b), (b, a)):
        if isinstance(y.low, int) and y.low == y.high and x.low is not None and x.high is not None:
            low, high = x.low * y.low, x.high * y.low
            return _kept(low, high) if y.low >= 0 else _kept(high, low)
    if all(isinstance(end, int) for end in (*a, *b)):
        ends: list[Any] = [x * y for x in a for y in b]  # type: ignore[operator]
        return _kept(min(ends), max(ends))
    return ANY


def _mod(a: Interval, b: Interval) -> Interval:
    if not at_most(1, b.low):
        return ANY
    if at_most(0, a.low) and b.low is not None and at_most(a.high, b.low - 1):
        return a
    return Interval(0, None if b.high is None else b.high - 1)


def _floordiv(a: Interval, b: Interval) -> Interval:
    if not (isinstance(b.low, int) and b.low == b.high and b.low > 0):
        return ANY
    low = a.low // b.low if isinstance(a.low, int) else 0 if at_most(0, a.low) else None
    return Interval(low, a.high // b.low if isinstance(a.high, int) else a.high if at_most(0, a.high) else None)


def _minimum(a: Interval, b: Interval) -> Interval:
    return Interval(lower(a.low, b.low), b.high if a.high is None or at_most(b.high, a.high) else a.high)


def _maximum(a: Interval, b: Interval) -> Interval:
    return Interval(b.low if a.low is None or at_most(a.low, b.low) else a.low, higher(a.high, b.high))


def _abs(a: Interval) -> Interval:
    if at_most(0, a.low):
        return a
    return ANY if a.low is None else Interval(0, higher(-a.low, a.high))


ARITHMETIC: dict[Any, Callable[..., Interval]] = {
    E.add: plus, E.sub: lambda a, b: plus(a, negative(b)), E.mul: times, E.neg: negative, E.mod: _mod,
    E.floordiv: _floordiv, E.minimum: _minimum, E.maximum: _maximum, E.abs_: _abs,
    E.select: lambda p, a, b: b if p.high == 0 else a if p.low == 1 else join(a, b),
}
LOGIC: dict[Any, Callable[..., Interval]] = {
    E.and_: _minimum, E.or_: _maximum, E.not_: lambda a: Interval(int(a.high == 0), int(a.low != 1)),
    E.xor: lambda a, b: TRUTH, E.select: ARITHMETIC[E.select],
}
SAME = {S.reshape, S.transpose, S.slice_, spread, read, take, max_, min_}
"""Primitives whose elements are elements of their first argument."""


def decided(op: Op, given: Sequence[Interval]) -> bool | None:
    """What a comparison gives, if it is the same for all numbers in the intervals."""
    a, b = given
    if op.prim in (E.lt, E.ge):
        known = True if b.low is not None and at_most(a.high, b.low - 1) else False if at_most(b.high, a.low) else None
        return known if op.prim is E.lt or known is None else not known
    if op.prim in (E.gt, E.le):
        known = True if a.low is not None and at_most(b.high, a.low - 1) else False if at_most(a.high, b.low) else None
        return known if op.prim is E.gt or known is None else not known
    if op.prim in (E.eq, E.ne):
        apart = (b.low is not None and at_most(a.high, b.low - 1)) or (a.low is not None and at_most(b.high, a.low - 1))
        if apart:
            return op.prim is E.ne
        if a.low is not None and a.low == a.high == b.low == b.high:
            return op.prim is E.eq
    return None


def transfer(op: Op, given: Sequence[Interval]) -> Interval:
    """The interval of the one result of an operation without regions, an integer or a truth value."""
    kind = op.results[0].type.dtype
    if op.prim is const:
        value = trunc(op.attrs["value"])
        return Interval(value, value)
    if op.prim is dimension:
        return Interval(op.attrs["size"], op.attrs["size"])
    if op.prim in (iota, basis):
        return Interval(0, op.attrs["type"].shape[op.attrs["axis"]] - 1)
    if op.prim is check_indices:
        return meet(given[0], Interval(0, op.attrs["size"] - 1))
    if kind == "bool":
        if op.prim in LOGIC:
            return LOGIC[op.prim](*given)
        if op.prim in SAME:
            return given[0]
        known = decided(op, given) if len(op.args) == 2 and op.args[0].type.dtype == "i64" else None
        return TRUTH if known is None else Interval(int(known), int(known))
    if kind != "i64":
        return ANY
    if op.prim is E.cast:
        return given[0] if op.args[0].type.dtype in ("bool", "i64") else ANY
    if op.prim in ARITHMETIC:
        return ARITHMETIC[op.prim](*given)
    return given[0] if op.prim in SAME else ANY


__all__ = [
    "ANY", "TRUTH", "End", "Interval", "at_most", "decided", "join", "meet", "negative", "plus", "times", "transfer",
    "widened",
]
