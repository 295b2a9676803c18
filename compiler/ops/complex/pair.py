"""A complex value as a pair of real terms, with the operators of arithmetic."""

from __future__ import annotations

from typing import Any

from ...ir.graph import Value
from ...ir.types import Type


class Shown:
    """In place of a graph's value, where a formula asks a pair for its type."""

    def __init__(self, type: Type) -> None:
        self.type = type


class Pair:
    """A complex value as two real terms.

    zero    "im" where it is a real number that meets complex ones, "re" where it is an imaginary one: their products
            and sums leave out the part that is not there, as C99's mixed arithmetic does
    """

    __slots__ = ("m", "re", "im", "whole", "zero")

    def __init__(self, m: Any, re: Any, im: Any, whole: Value | None = None, zero: str = "") -> None:
        self.m, self.re, self.im, self.whole, self.zero = m, re, im, whole, zero

    @property
    def value(self) -> Any:
        return Shown(self.re.value.type)

    def __add__(self, other: Any) -> Pair:
        other = self.m.pair(other, self)
        re = other.re if self.zero == "re" else self.re if other.zero == "re" else self.re + other.re
        im = other.im if self.zero == "im" else self.im if other.zero == "im" else self.im + other.im
        return Pair(self.m, re, im, zero=self.zero if self.zero == other.zero else "")

    def __sub__(self, other: Any) -> Pair:
        return self + -self.m.pair(other, self)

    def __rsub__(self, other: Any) -> Pair:
        return self.m.pair(other, self) - self

    def __neg__(self) -> Pair:
        re = self.re if self.zero == "re" else -self.re
        return Pair(self.m, re, self.im if self.zero == "im" else -self.im, zero=self.zero)

    def __mul__(self, other: Any) -> Pair:
        if isinstance(other, (int, float)):
            return Pair(self.m, self.re * other, self.im * other)
        other = self.m.pair(other, self)
        if self.zero or other.zero:
            return self.scaled(other) if other.zero else other.scaled(self)
        return Pair(self.m, self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def scaled(self, by: Pair) -> Pair:
        """The product with a real or an imaginary number."""
        x, y, none = self.re, self.im, self.zero
        if by.zero == "im":
            return Pair(self.m, x if none == "re" else x * by.re, y if none == "im" else y * by.re, zero=none)
        re, im = y if none == "im" else -(y * by.im), x if none == "re" else x * by.im
        return Pair(self.m, re, im, zero={"re": "im", "im": "re"}.get(none, ""))

    def __truediv__(self, other: Any) -> Pair:
        """Smith's quotient, as NumPy and PyTorch have it: by the larger part of the divisor, so nothing is squared."""
        other, r = self.m.pair(other, self), self.m.real
        if other.zero == "im":
            return Pair(self.m, self.re / other.re, self.im / other.re)
        if other.zero == "re":
            return Pair(self.m, self.im / other.im, -(self.re / other.im))
        flat = r.ge(r.abs(other.re), r.abs(other.im))
        big, small = r.select(flat, other.re, other.im), r.select(flat, other.im, other.re)
        nothing = r.and_(r.eq(big, 0), r.eq(small, 0))
        ratio = r.select(nothing, 0, small / r.select(nothing, 1, big))
        scale = 1.0 / r.select(nothing, r.abs(big), big + small * ratio)
        a, b = self.re, self.im
        return Pair(
            self.m,
            r.select(nothing, a, r.select(flat, a + b * ratio, a * ratio + b)) * scale,
            r.select(nothing, b, r.select(flat, b - a * ratio, b * ratio - a)) * scale,
        )

    def __rtruediv__(self, other: Any) -> Pair:
        return self.m.pair(other, self) / self

    __radd__, __rmul__ = __add__, __mul__


__all__ = ["Pair", "Shown"]
