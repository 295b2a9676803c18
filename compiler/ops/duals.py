"""Formulas with their slopes by some of their arguments, of which most formulas have few: forward mode over terms.

    m = Duals(an algebra whose `term` makes a term of a number)
    sin(x * y) over m, where x and y are numbers 0 and 1     its value, {0: y * cos(x * y), 1: x * cos(x * y)}

A part has no slope by what is not in it, so a matrix of formulas costs the slopes that are not zero. Where much is made
of everything, the adjoint costs less: `Duals` gives up, by `NoSlopes`, when there are too many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..ir.primitive import REGISTRY
from .elementwise import Elementwise
from .scipy.called import NATIVE
from .term import Term

MOST = 20_000
"""Slopes beyond which there are too many."""


class NoSlopes(Exception):
    """A formula has a part that is no function of numbers, or too many slopes."""


class Unit(float):
    """The number 1, by which nothing is multiplied."""

    def __mul__(self, other: Any) -> Any:
        return other


ONE = Unit(1.0)


class Dual:
    """A number and its slopes, by the numbers of the arguments; what is not there is zero."""

    __slots__ = ("m", "value", "slopes")

    def __init__(self, m: Duals, value: Any, slopes: Mapping[int, Any]) -> None:
        self.m, self.value, self.slopes = m, value, slopes

    def __add__(self, other: Any) -> Dual:
        return self.m.linear(self.value + value_of(other), (self, ONE), (other, ONE))

    def __sub__(self, other: Any) -> Dual:
        return self.m.linear(self.value - value_of(other), (self, ONE), (other, -1.0))

    def __rsub__(self, other: Any) -> Dual:
        return self.m.linear(other - self.value, (self, -1.0))

    def __neg__(self) -> Dual:
        return self.m.linear(-self.value, (self, -1.0))

    def __mul__(self, other: Any) -> Dual:
        value = value_of(other)
        return self.m.linear(self.value * value, (self, value), (other, self.value))

    def __truediv__(self, other: Any) -> Dual:
        value = self.value / value_of(other)
        top = self.m.linear(value, (self, ONE), (other, -value))
        return Dual(self.m, value, {k: slope / value_of(other) for k, slope in top.slopes.items()})

    def __rtruediv__(self, other: Any) -> Dual:
        value = other / self.value
        return self.m.linear(value, (self, -(value / self.value))) if self.slopes else Dual(self.m, value, {})

    __radd__, __rmul__ = __add__, __mul__


class Duals:
    """The algebra of duals, over one of terms."""

    batch = ()

    def __init__(self, m: Any) -> None:
        self.m, self.left = m, MOST

    def linear(self, value: Any, *parts: tuple[Any, Any]) -> Dual:
        """A value whose slopes are those of parts, each with its factor, added."""
        made: dict[int, Any] = {}
        for part, factor in parts:
            for k, slope in slopes_of(part).items():
                each = _times(slope, factor)
                made[k] = each if k not in made else made[k] + each
        self.left -= len(made)
        if self.left < 0:
            raise NoSlopes("too many")
        return Dual(self, value, made)

    def select(self, p: Any, a: Any, b: Any) -> Dual:
        """The value and the slopes of one side."""
        p, ours, theirs = value_of(p), slopes_of(a), slopes_of(b)
        made = {k: self.m.select(p, ours.get(k, 0.0), theirs.get(k, 0.0)) for k in {**ours, **theirs}}
        self.left -= len(made)
        return Dual(self, self.m.select(p, value_of(a), value_of(b)), made)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in NATIVE:
            return lambda *args: NATIVE[name](self, *args)
        if not isinstance(REGISTRY.get(name), Elementwise):
            raise NoSlopes(name)
        return lambda *args: self.apply(name, *args)

    def apply(self, name: str, *args: Any) -> Dual:
        """An elementwise primitive: the pullbacks of 1 are its partials."""
        values, primitive = [value_of(a) for a in args], REGISTRY[name]
        made = getattr(self.m, name)(*values)
        assert isinstance(primitive, Elementwise)
        moving = [(a, rule) for a, rule in zip(args, primitive.rules(), strict=True) if rule and slopes_of(a)]
        if not moving:
            return Dual(self, made, {})
        terms = [self.m.term(v) for v in values]
        return self.linear(made, *[(a, rule(self.m, ONE, *terms, made)) for a, rule in moving])


def value_of(x: Any) -> Any:
    """A term or number without its slopes."""
    return x.value if isinstance(x, Dual) else x


def slopes_of(x: Any) -> Mapping[int, Any]:
    """The slopes of a term; a number has none."""
    return x.slopes if isinstance(x, Dual) else {}


def _times(a: Any, b: Any) -> Any:
    """A product of terms and numbers, made where it is none by 1 or -1."""
    for x, y in ((a, b), (b, a)):
        if not isinstance(x, Term) and abs(x) == 1:
            return y if x == 1 else -y
    return a * b


__all__ = ["ONE", "Dual", "Duals", "NoSlopes", "slopes_of", "value_of"]
