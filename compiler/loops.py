"""The language in which a primitive says what one element of its result is.

    index    = constant + sum of factor * axis                                (Affine)
    element  = number | position(index) | load buffer[offset] | spelling(element, ...)
             | if index in lo..hi, ...: element else element                   (Guarded)
    form     = Map(index -> element) | Reduce | Product | Relabel | Scatter | Check

A buffer is a row of elements in memory; every offset into it is affine in the axes, plus, for gathers, terms
whose factor multiplies an element computed at run time.  Which elements are made in which loops is the
business of `lowering`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .ir.measure import Extent, Measure, OpenExtent
from .ir.types import Type


class Axis:
    """One loop: its name in dumps and its number of steps."""

    __slots__ = ("name", "extent")

    def __init__(self, name: str, extent: int) -> None:
        self.name, self.extent = name, extent

    def __repr__(self) -> str:
        return self.name


class Affine:
    """constant + sum(factor * axis); terms are sorted by insertion and have no zero factors."""

    __slots__ = ("terms", "constant", "_key")

    def __init__(self, terms: tuple[tuple[Axis, int], ...] = (), constant: int = 0) -> None:
        self.terms, self.constant = terms, constant
        self._key = hash((frozenset(terms), constant))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Affine)
            and self.constant == other.constant
            and (self.terms == other.terms or set(self.terms) == set(other.terms))
        )

    def __hash__(self) -> int:
        return self._key

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int | Measure) or not other.terms:
            more = other.constant if isinstance(other, Affine) else other
            return Affine(self.terms, self.constant + more) if more else self
        total = dict(self.terms)
        for axis, factor in other.terms:
            total[axis] = total.get(axis, 0) + factor
        return Affine(tuple((a, f) for a, f in total.items() if f), self.constant + other.constant)

    def __mul__(self, factor: int) -> Affine:
        if factor == 1:
            return self
        terms = tuple((a, f * factor) for a, f in self.terms) if factor else ()
        return Affine(terms, self.constant * factor)

    def factor(self, axis: Axis) -> int:
        for a, f in self.terms:
            if a is axis:
                return f
        return 0

    def range(self) -> tuple[int, int]:
        """The least and the greatest value over all steps of the axes; open extents have a step, where it matters."""
        low = high = self.constant
        for axis, f in self.terms:
            reach = f * (axis.extent - 1)
            upward = (f if isinstance(reach, OpenExtent) else reach) >= 0
            low, high = (low, high + reach) if upward else (low + reach, high)
        return low, high

    def __str__(self) -> str:
        parts = [a.name if f == 1 else f"{f}*{a.name}" for a, f in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def along(axis: Axis) -> Affine:
    """The index that is just `axis`."""
    return Affine(((axis, 1),))


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """A row of elements: an argument, a result or scratch memory."""

    name: str
    type: Type


# ---- elements


class Element:
    """An expression for one element.  Elements form a graph: shared parts are the same object."""

    __slots__ = ("dtype",)
    dtype: str


class ToldFloat(NamedTuple):
    """A float in machine code that is known when the code runs: its bits are those of an extent."""

    bits: Extent


class Number(Element):
    __slots__ = ("value",)

    def __init__(self, value: float, dtype: str) -> None:
        self.value, self.dtype = value, dtype


class Variable(Element):
    """A number that a statement makes and keeps in a register: the index of a loop, a carry, what was loaded.

    `low` and `high` are the least and the greatest value it can have, where that is known.
    """

    __slots__ = ("name", "low", "high")

    def __init__(self, name: str, dtype: str, low: int | None = None, high: int | None = None) -> None:
        self.name, self.dtype, self.low, self.high = name, dtype, low, high

    def __repr__(self) -> str:
        return self.name


class Position(Element):
    """An index as an i64 element."""

    __slots__ = ("index",)

    def __init__(self, index: Affine) -> None:
        self.index, self.dtype = index, "i64"


class Load(Element):
    """buffer[offset + sum(element * stride)]."""

    __slots__ = ("buffer", "offset", "gathered")

    def __init__(
        self, buffer: Buffer, offset: Affine, gathered: tuple[tuple[Element, int], ...] = ()
    ) -> None:
        self.buffer, self.offset, self.gathered = buffer, offset, gathered
        self.dtype = buffer.type.dtype


class Apply(Element):
    """A scalar operation by its machine spelling: a method of the writer or an elementary function."""

    __slots__ = ("spelling", "args")

    def __init__(self, spelling: str, args: tuple[Element, ...], dtype: str) -> None:
        self.spelling, self.args, self.dtype = spelling, args, dtype


class Guarded(Element):
    """`inside` where every `lo <= index < hi`, else `outside`; `inside` reads no memory elsewhere."""

    __slots__ = ("ranges", "inside", "outside")

    def __init__(
        self, ranges: tuple[tuple[Affine, int, int], ...], inside: Element, outside: Element
    ) -> None:
        self.ranges, self.inside, self.outside = ranges, inside, outside
        self.dtype = inside.dtype


#: one component of an index: affine in the axes, or an i64 element for a gather
Component = Affine | Element
Index = Sequence[Component]
Read = Callable[[Index], Element]


def guarded(ranges: Sequence[tuple[Component, int, int]], inside: Callable[[], Element],
            outside: Element) -> Element:
    """`Guarded` without the ranges that always hold; `outside` alone if one never does."""
    kept: list[tuple[Affine, int, int]] = []
    dynamic: list[Element] = []
    for index, lo, hi in ranges:
        if isinstance(index, Element):
            dynamic.append(_within(index, lo, hi))
            continue
        low, high = index.range()
        if high < lo or low >= hi:
            return outside
        if low < lo or high >= hi:
            kept.append((index, lo, hi))
    element = inside()
    for condition in dynamic:
        element = Apply("select", (condition, element, outside), element.dtype)
    return Guarded(tuple(kept), element, outside) if kept else element


def shifted(index: Component, by: int) -> Component:
    """index + by."""
    if isinstance(index, Affine):
        return index + by
    return Apply("add", (index, Number(by, "i64")), "i64") if by else index


def scaled(index: Component, by: int) -> Component:
    """index * by."""
    if isinstance(index, Affine):
        return index * by
    return Apply("mul", (index, Number(by, "i64")), "i64") if by != 1 else index


def element(index: Component) -> Element:
    """An index as an i64 element."""
    return Position(index) if isinstance(index, Affine) else index


def linear(index: Index, shape: Sequence[int]) -> list[tuple[Component, int]]:
    """The components with their distances in a row-major array of this shape."""
    stride, out = 1, []
    for i, n in zip(reversed(index), reversed(shape), strict=True):
        out.append((i, stride))
        stride *= n
    return out


def _within(index: Element, lo: int, hi: int) -> Element:
    above = Apply("ge", (index, Number(lo, "i64")), "bool")
    return Apply("and_", (above, Apply("lt", (index, Number(hi, "i64")), "bool")), "bool")


# ---- forms: what a primitive says of its results


@dataclass(frozen=True, eq=False, slots=True)
class Map:
    """The element of a result at an index.  `view` says that it only renames elements of arguments."""

    value: Callable[[Index], Element]
    view: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Reduce:
    """A fold of `value` over the `axes` of `extents`; kind is sum, max, min or argmax.

    A sum is a `chain`, one element after the other, or a tree: interleaved partial sums, joined two by two.
    """

    kind: str
    extents: tuple[int, ...]
    axes: tuple[int, ...]
    value: Callable[[Index], Element]
    chain: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """A contraction: axes of the result are batch, left free, right free, as in `ops.contract`."""

    batch: tuple[tuple[int, int], ...]
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Relabel:
    """The same elements in the same order under another shape."""


@dataclass(frozen=True, eq=False, slots=True)
class Scatter:
    """The first argument with `value(index)` put at `target(index)`, or folded into that, for all indices of `extents`.

    fold      "sum", "max" or "min"; nothing if the value is put
    distinct  no two indices have the same target
    whole     the element of the result at an index, to make all of it anew where the targets are known: where every
              argument from the third on is a number; None where few elements change
    """

    extents: tuple[int, ...]
    target: Callable[[Index], Index]
    value: Callable[[Index], Element]
    fold: str = "sum"
    distinct: bool = False
    whole: Callable[[Index], Element] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Check:
    """The argument itself, if `fails` holds at no index; `report` is the i64 element told if it does."""

    fails: Callable[[Index], Element]
    report: Callable[[Index], Element]


COMBINED = {"sum": "add", "max": "maximum", "min": "minimum"}
"""What makes one element of two, by the fold that it is a step of."""

Form = Map | Reduce | Product | Relabel | Scatter | Check
