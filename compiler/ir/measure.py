"""Sizes that are known by name, for code that works with numbers: arithmetic stays symbolic, comparisons are noted.

A `Measure` is a polynomial in named sizes together with the numbers of one example. A comparison is decided if it
comes out the same for all sizes; else it is decided by the example and noted as a guard. Whatever is made that way
serves every size for which the guards hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .symint import SymInt
from .types import Dim, Size, exactly

LEAST = 17
"""A named size is never smaller: smaller ones are worth code of their own."""

UNKNOWN = -(2**62)
"""The least number of what may be any."""


class Guard(NamedTuple):
    """What must hold for a graph to serve a call: `size` is positive, or zero, or not zero."""

    size: Size
    relation: str

    def holds(self, sizes: Mapping[str, int]) -> bool:
        value = self.size.at(sizes)
        return value > 0 if self.relation == "> 0" else (value == 0) == (self.relation == "== 0")

    def __str__(self) -> str:
        more = tuple([(names, f) for names, f in self.size.terms if f > 0])
        less = tuple([(names, -f) for names, f in self.size.terms if f < 0])
        left, right = (str(Size(terms)) if terms else "0" for terms in (more, less))
        return f"{left} {self.relation.removesuffix(' 0')} {right}"


def spelled_out(guard: Guard, quotients: Mapping[str, tuple[Size, int]]) -> str:
    """A guard without names for quotients."""
    text = str(guard)
    for name, (dividend, divisor) in reversed([*quotients.items()]):
        text = text.replace(name, f"({dividend})//{divisor}")
    return text


@dataclass
class Sizes:
    """The numbers of one example, and what has been asked about the sizes.

    guards      what has been asked, and where, if that is known
    quotients   names for what is no polynomial: name -> (dividend, divisor), rounded down
    least       the least numbers that names can be, where that is not LEAST
    registers   what has been written into machine code
    """

    numbers: dict[str, int]
    guards: dict[Guard, Any] = field(default_factory=dict)
    quotients: dict[str, tuple[Size, int]] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    registers: dict[Size, str] = field(default_factory=dict)

    def quotient(self, dividend: Size, divisor: int) -> str:
        """A name for the quotient, rounded down."""
        for name, known in self.quotients.items():
            if known == (dividend, divisor):
                return name
        name = f"_q{len(self.quotients)}"
        self.quotients[name] = (dividend, divisor)
        self.numbers[name] = dividend.at(self.numbers) // divisor
        low = lowest(dividend, self.least)
        self.least[name] = UNKNOWN if low is None else low // divisor
        return name

    def register(self, size: Size) -> str:
        """The name of the register that holds a size; `lines` writes it."""
        return self.registers.setdefault(size, f"%size{len(self.registers)}")

    def complete(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """Numbers for all names, from those of the named sizes."""
        found = dict(numbers)
        for name, (dividend, divisor) in self.quotients.items():
            found[name] = dividend.at(found) // divisor
        return found

    def hold(self, numbers: Mapping[str, int]) -> bool:
        """Whether the guards hold for other numbers of the named sizes."""
        found = self.complete(numbers)
        return all(guard.holds(found) for guard in self.guards)

    def told(self, guard: Guard) -> str:
        """A guard as users read it."""
        return spelled_out(guard, self.quotients)

    def positive(self, dim: Dim) -> bool:
        """Whether a size is positive."""
        if isinstance(dim, int):
            return dim > 0
        constant = dict(dim.terms).get((), 0)
        if abs(constant) >= -UNKNOWN:  # the ends of 64 bits, which no size comes near
            return constant > 0
        if (low := lowest(dim, self.least)) is not None and low > 0:
            return True
        if (low := lowest(1 - dim, self.least)) is not None and low > 0:
            return False
        holds = dim.at(self.numbers) > 0
        self._note(dim if holds else 1 - dim, "> 0")
        return holds

    def nonzero(self, dim: Dim) -> bool:
        """Whether a size differs from zero."""
        if isinstance(dim, int):
            return dim != 0
        for each in (dim, -dim):
            if (low := lowest(each, self.least)) is not None and low > 0:
                return True
        differs = dim.at(self.numbers) != 0
        self._note(dim, "!= 0" if differs else "== 0")
        return differs

    def _note(self, dim: Dim, relation: str) -> None:
        assert isinstance(dim, Size)
        self.guards[Guard(dim, relation)] = None


class Measure:
    """A size that is known by name."""

    __slots__ = ("size", "sizes")

    def __init__(self, size: Size, sizes: Sizes) -> None:
        self.size, self.sizes = size, sizes

    def _made(self, dim: Dim) -> Any:
        return type(self)(dim, self.sizes) if isinstance(dim, Size) else dim

    def __add__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self._made(self.size + dim)

    def __sub__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self._made(self.size - dim)

    def __rsub__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self._made(self.size * -1 + dim)

    def __mul__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self._made(self.size * dim)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self._made(-self.size)

    def __pos__(self) -> Measure:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __eq__(self, other: object) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else not self._differs(self.size - dim)

    def __ne__(self, other: object) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self._differs(self.size - dim)

    def __gt__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self.sizes.positive(self.size - dim)

    def __ge__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self.sizes.positive(self.size - dim + 1)

    def __lt__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else not self.sizes.positive(self.size - dim + 1)

    def __le__(self, other: Any) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else not self.sizes.positive(self.size - dim)

    def __bool__(self) -> bool:
        return self._differs(self.size)

    def __hash__(self) -> int:
        return hash(self.size)

    def __repr__(self) -> str:
        return str(self.size)

    def _differs(self, dim: Dim) -> bool:
        return self.sizes.nonzero(dim)

    def _quotient(self, divisor: int) -> Any:
        """The size divided by a positive number, rounded down: a polynomial, or a new name."""
        if all(f <= 0 for _, f in self.size.terms):
            negative = -self + (divisor - 1)
            return -(negative._quotient(divisor) if isinstance(negative, Measure) else negative // divisor)
        whole = [(names, f // divisor) for names, f in self.size.terms if f % divisor == 0]
        rest = [(names, f) for names, f in self.size.terms if f % divisor]
        total = self._made(_polynomial(whole)) if whole else 0
        if not rest or (len(rest) == 1 and not rest[0][0]):
            return total + (rest[0][1] // divisor if rest else 0)
        return total + self._made(Size.named(self.sizes.quotient(_polynomial(rest), divisor)))


def dim_of(x: Any) -> Dim | None:
    """A number or measure as a dimension; None for anything else."""
    if isinstance(x, Measure):
        return x.size
    if isinstance(x, Size):
        return x
    return int(x) if isinstance(x, (int, np.integer)) else None


def names_in(size: Dim) -> set[str]:
    """The names that a dimension is made of."""
    return {name for names, _ in size.terms for name in names} if isinstance(size, Size) else set()


def lowest(dim: Dim, least: Mapping[str, int]) -> int | None:
    """The least value of a dimension, if it grows with all its names."""
    if isinstance(dim, int):
        return dim
    moved: Dim = 0
    for names, factor in dim.terms:
        term: Dim = factor
        for name in names:
            term = (Size.named(name) + least.get(name, LEAST)) * term
        moved = moved + term
    if isinstance(moved, int):
        return moved
    terms = dict(moved.terms)
    return terms.get((), 0) if all(f >= 0 for names, f in terms.items() if names) else None


class Extent(Measure):
    """A number in machine code that is known when the code runs: it is written as the name of a register.

    Quotients by numbers are rounded down and get names of their own. What is no arithmetic raises TypeError.
    """

    __slots__ = ()
    __hash__ = Measure.__hash__

    def __floordiv__(self, other: Any) -> Any:
        return self._quotient(other) if type(other) is int and other > 0 else NotImplemented

    def __mod__(self, other: Any) -> Any:
        quotient = self // other
        return NotImplemented if quotient is NotImplemented else self - quotient * other

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"the size {self.size} has no digits")
        return self.sizes.register(self.size)

    def __str__(self) -> str:
        return self.sizes.register(self.size)


class OpenExtent(Extent):
    """An extent of a program that is made for all sizes at once: it equals what is the same polynomial, and only that.

    So what is written for extents that differ must be right for those that happen to be equal, and what is written for
    any number of steps must be right for none and for one.
    """

    __slots__ = ()
    __hash__ = Measure.__hash__

    def __eq__(self, other: object) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self.size == dim

    def __ne__(self, other: object) -> Any:
        dim = dim_of(other)
        return NotImplemented if dim is None else self.size != dim

    def __bool__(self) -> bool:
        return True

    def __floordiv__(self, other: Any) -> Any:
        exact = exactly(self.size, dim_of(other))
        return super().__floordiv__(other) if exact is None else self._made(exact)

    def __mod__(self, other: Any) -> Any:
        return 0 if exactly(self.size, dim_of(other)) is not None else super().__mod__(other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other


def is_open(x: Any) -> bool:
    """Whether an extent is one of many, so that nothing is written out for it."""
    return isinstance(x, OpenExtent) or type(x) is SymInt


def typical(x: Any) -> Any:
    """The number of an open extent in the example, 1 for 0, where either choice is right; all else as it is."""
    return (x.size.at(x.sizes.numbers) or 1) if isinstance(x, OpenExtent) else x


def volume(extents: Iterable[Any]) -> int:
    """The product of extents, for choices that are right either way."""
    return math.prod([typical(each) for each in extents])


def is_empty(extents: Iterable[Any]) -> bool:
    """Whether a space is known to have no elements: along an open extent, loops make no step then."""
    return any(not isinstance(n, OpenExtent) and n == 0 for n in extents)


def is_wide(extent: Any) -> bool:
    """Whether an axis may have several steps."""
    return isinstance(extent, OpenExtent) or extent > 1


def _polynomial(terms: list[tuple[tuple[str, ...], int]]) -> Any:
    return terms[0][1] if len(terms) == 1 and not terms[0][0] else Size(tuple(sorted(terms)))
