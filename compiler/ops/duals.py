"""Formulas with their slopes by some of their arguments, of which most formulas have few: forward mode over terms.

    m = Duals(an algebra whose `term` makes a term of a number)
    sin(x * y) over m, where x and y are numbers 0 and 1     its value, {0: y * cos(x * y), 1: x * cos(x * y)}

A part has no slope by what is not in it, so a matrix of formulas costs the slopes that are not zero. Where much is made
of everything, the adjoint costs less: `Duals` gives up, by `NoSlopes`, when there are too many. A slope's sign is kept
beside it: -sin(x) cos(y) + cos(x) sin(y) is a difference, and -sin(x) sin(y) - cos(x) cos(y) a sum that is taken
negatively, which are often parts of the formula itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..ir.primitive import REGISTRY
from .elementwise import Elementwise
from .expression import Signed, signed_sum
from .scipy.called import NATIVE
from .term import Negative, Term

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

    def __init__(self, m: Duals, value: Any, slopes: Mapping[int, Signed]) -> None:
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
        below = value_of(other)
        value = self.value / below
        top = self.m.linear(value, (self, ONE), (other, (value, True)))
        return Dual(self.m, value, {k: (slope / below, minus) for k, (slope, minus) in top.slopes.items()})

    def __rtruediv__(self, other: Any) -> Dual:
        value = other / self.value
        return self.m.linear(value, (self, (value / self.value, True))) if self.slopes else Dual(self.m, value, {})

    __radd__, __rmul__ = __add__, __mul__


class Duals:
    """The algebra of duals, over one of terms."""

    batch = ()

    def __init__(self, m: Any) -> None:
        self.m, self.left = m, MOST

    def linear(self, value: Any, *parts: tuple[Any, Any]) -> Dual:
        """A value whose slopes are those of parts, each with its factor, added."""
        made: dict[int, Signed] = {}
        for part, factor in parts:
            slopes = slopes_of(part)
            factor, negative = _signed(factor) if slopes else (factor, False)
            for k, (slope, minus) in slopes.items():
                each = _times(slope, factor), minus != negative
                made[k] = each if k not in made else signed_sum(made[k], each)
        self.left -= len(made)
        if self.left < 0:
            raise NoSlopes("too many")
        return Dual(self, value, made)

    def select(self, p: Any, a: Any, b: Any) -> Dual:
        """The value and the slopes of one side."""
        p, ours, theirs = value_of(p), slopes_of(a), slopes_of(b)
        made = {k: self._either(p, ours.get(k), theirs.get(k)) for k in {**ours, **theirs}}
        self.left -= len(made)
        return Dual(self, self.m.select(p, value_of(a), value_of(b)), made)

    def _either(self, p: Any, ours: Signed | None, theirs: Signed | None) -> Signed:
        """One of two slopes, of which one may be zero."""
        (a, minus), (b, other) = ours or (0.0, theirs is not None and theirs[1]), theirs or (0.0, None)
        if other is None or other == minus:
            return self.m.select(p, a, b), minus
        return self.m.select(p, plain((a, minus)), plain((b, other))), False

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


def slopes_of(x: Any) -> Mapping[int, Signed]:
    """The slopes of a term with their signs; a number has none."""
    return x.slopes if isinstance(x, Dual) else {}


def plain(x: Signed) -> Any:
    """A term or number with its sign."""
    return -x[0] if x[1] else x[0]


def _signed(x: Any) -> Signed:
    """A factor without its sign, and whether that is minus."""
    if isinstance(x, tuple):
        return x
    if isinstance(x, Negative):
        return x.of, True
    return (-x, True) if not isinstance(x, Term) and x < 0 else (x, False)


def _times(a: Any, b: Any) -> Any:
    """A product of terms and numbers, made where it is none by 1."""
    for x, y in ((a, b), (b, a)):
        if not isinstance(x, Term) and x == 1:
            return y
    return a * b


__all__ = ["ONE", "Dual", "Duals", "NoSlopes", "plain", "slopes_of", "value_of"]
