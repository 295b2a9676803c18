"""Numbers with derivatives, which the fuzzer's second opinion is computed with: they know nothing of the compiler.

A `Dual` is v + d e with e * e = 0, and v and d may be Duals again, so one tag for each derivative gives any order. A
number without a derivative is a Dual with tag 0 whose v is a float, or one of mpmath's if `exact` says so. NumPy's
arrays of objects hold Duals: indexing, views, broadcasting, products and stores are NumPy's own.

A comparison of numbers that are nearly the same is `Undecided`: rounding errors decide there, and derivatives may not
exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mpmath import mp


class Undecided(Exception):
    """A program that compares what is nearly the same."""


class _How:
    """With which functions Duals are computed, and how near is too near."""

    library: Any = math
    near = 1e-7


@contextmanager
def computed(exactly: bool = False, near: float = 1e-7) -> Iterator[None]:
    """Compute with floats, or with mpmath's numbers of 40 digits."""
    before = _How.library, _How.near
    _How.library, _How.near = mp if exactly else math, near
    try:
        with mp.workdps(40):
            yield
    finally:
        _How.library, _How.near = before


class Dual:
    """A number, or a number and its derivative by what the tag names."""

    __slots__ = ("d", "tag", "v")

    def __init__(self, v: Any, tag: int = 0, d: Any = None) -> None:
        self.v, self.tag, self.d = v, tag, d

    def __repr__(self) -> str:
        return f"Dual({self.v!r}, {self.tag}, {self.d!r})" if self.tag else f"Dual({self.v!r})"

    def __neg__(self) -> Dual:
        return self * -1.0

    def __pos__(self) -> Dual:
        return self

    def __add__(self, other: Any) -> Any:
        return _two(self, other, lambda a, b: a + b, lambda v, d, w, e: _sum(d, e))

    def __sub__(self, other: Any) -> Any:
        return _two(self, other, lambda a, b: a - b, lambda v, d, w, e: _sum(d, None if e is None else -e))

    def __mul__(self, other: Any) -> Any:
        return _two(self, other, lambda a, b: a * b, lambda v, d, w, e: _sum(_times(d, w), _times(e, v)))

    def __truediv__(self, other: Any) -> Any:
        return self * lift(other).inverse()

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) or float(other).is_integer():
            made: Any = lift(1.0)
            for _ in range(abs(int(other))):
                made = made * self
            return made if other >= 0 else made.inverse()
        return (lift(other) * self.log()).exp()

    def __rpow__(self, other: Any) -> Any:
        return (self * lift(other).log()).exp()

    def __radd__(self, other: Any) -> Any:
        return lift(other) + self

    def __rsub__(self, other: Any) -> Any:
        return lift(other) - self

    def __rmul__(self, other: Any) -> Any:
        return lift(other) * self

    def __rtruediv__(self, other: Any) -> Any:
        return lift(other) * self.inverse()

    # ---- questions

    def __lt__(self, other: Any) -> bool:
        return self is not other and _apart(self, other) < 0

    def __le__(self, other: Any) -> bool:
        return self is other or _apart(self, other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self is not other and _apart(self, other) > 0

    def __ge__(self, other: Any) -> bool:
        return self is other or _apart(self, other) >= 0

    def __eq__(self, other: object) -> bool:
        return self is other or _apart(self, other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        raise TypeError("a number with a derivative is no key")

    def __bool__(self) -> bool:
        return self != 0.0

    def __abs__(self) -> Dual:
        return -self if self < 0.0 else self

    def __int__(self) -> int:
        v = base(self)
        if abs(v - round(v)) < _How.near:
            raise Undecided("the integer part of what is nearly an integer")
        return int(v)

    def floor(self) -> float:
        return float(math.floor(int(self)) - (base(self) < 0))

    def conjugate(self) -> Dual:
        return self

    # ---- functions

    def inverse(self) -> Dual:
        if not self.tag:
            return Dual(1.0 / self.v)
        made = self.v.inverse()
        return Dual(made, self.tag, -(made * made) * self.d)

    def sin(self) -> Dual:
        return _one(self, "sin", lambda v, y: v.cos())

    def cos(self) -> Dual:
        return _one(self, "cos", lambda v, y: -v.sin())

    def exp(self) -> Dual:
        return _one(self, "exp", lambda v, y: y)

    def log(self) -> Dual:
        return _one(self, "log", lambda v, y: v.inverse())

    def log1p(self) -> Dual:
        return _one(self, "log1p", lambda v, y: (1.0 + v).inverse())

    def expm1(self) -> Dual:
        return _one(self, "expm1", lambda v, y: y + 1.0)

    def sqrt(self) -> Dual:
        return _one(self, "sqrt", lambda v, y: 0.5 * y.inverse())

    def tanh(self) -> Dual:
        return _one(self, "tanh", lambda v, y: 1.0 - y * y)

    def sinh(self) -> Dual:
        return _one(self, "sinh", lambda v, y: v.cosh())

    def cosh(self) -> Dual:
        return _one(self, "cosh", lambda v, y: v.sinh())

    def arctan(self) -> Dual:
        return _one(self, "atan", lambda v, y: (1.0 + v * v).inverse())

    def arcsinh(self) -> Dual:
        return _one(self, "asinh", lambda v, y: (1.0 + v * v).sqrt().inverse())


def lift(x: Any) -> Dual:
    """A number as a Dual."""
    if isinstance(x, Dual):
        return x
    return lift(x[()]) if getattr(getattr(x, "dtype", None), "kind", "") == "O" else Dual(float(x))


def base(x: Any) -> Any:
    """The number without any derivative."""
    while isinstance(x, Dual):
        x = x.v
    return x


def slope(x: Any, tag: int) -> Any:
    """The derivative by what the tag names, which is the newest."""
    x = lift(x)  # np.where makes an array without axes
    return x.d if x.tag == tag else Dual(0.0)


def _apart(a: Any, b: Any) -> Any:
    """The difference of two numbers whose order is certain."""
    v, w = base(a), base(b)
    if v == w and v == round(v, 3) and not lift(a).tag and not lift(b).tag:
        return 0.0  # as they were written; what has been computed is equal up to rounding only
    if not abs(v - w) > _How.near * (1.0 + abs(v)):
        raise Undecided(f"{v} and {w} are compared")
    return v - w


def _sum(d: Any, e: Any) -> Any:
    return e if d is None else d if e is None else d + e


def _times(d: Any, w: Any) -> Any:
    return None if d is None else d * w


def _two(a: Any, b: Any, value: Callable[..., Any], derivative: Callable[..., Any]) -> Any:
    if not isinstance(b, (Dual, int, float)) and not hasattr(b, "__float__"):
        return NotImplemented
    if getattr(b, "ndim", 0):
        return NotImplemented
    b = lift(b)
    tag = max(a.tag, b.tag)
    if not tag:
        return Dual(value(a.v, b.v))
    (v, d), (w, e) = ((x.v, x.d) if x.tag == tag else (x, None) for x in (a, b))
    return Dual(value(v, w), tag, derivative(v, d, w, e))


def _one(a: Dual, name: str, derivative: Callable[[Any, Any], Any]) -> Dual:
    if not a.tag:
        return Dual(getattr(_How.library, name)(a.v))
    y = getattr(a.v, {"atan": "arctan", "asinh": "arcsinh"}.get(name, name))()
    return Dual(y, a.tag, derivative(a.v, y) * a.d)
