"""Complex values as pairs of real terms: their arithmetic, and the functions that primitives are of them.

A formula of an operation, such as `lambda m, x: 1 / m.sqrt(x)`, is read over `Complex` as it is read over `Terms`. So
its pullback is that of real graphs, by which the gradient of a real number with respect to x + iy is its derivative
along x plus i times its derivative along y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ir.graph import Value
from ..ir.types import Type
from .custom import stop_gradient
from .shape import concatenate, reshape, slice_
from .term import Term, Terms


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

    def __init__(self, m: Complex, re: Any, im: Any, whole: Value | None = None, zero: str = "") -> None:
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


class Complex:
    """The algebra of pairs: `m.exp(z)`.  What it has not is not implemented for complex numbers."""

    def __init__(self, real: Terms) -> None:
        self.real, self.b = real, real.b

    def __call__(self, value: Any) -> Any:
        return self.real(value)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        real, formula = getattr(self.real, name), FORMULAS.get(name)

        def function(*args: Any) -> Any:
            if not any(isinstance(a, Pair) for a in args):
                return real(*args)
            if formula is None:
                raise NotImplementedError(f"{name} of complex numbers")
            return formula(self, *args)

        return function

    def pair(self, value: Any, like: Pair | None = None) -> Pair:
        """A real term, or a number like another pair, as a pair."""
        if isinstance(value, Pair):
            return value
        if isinstance(value, Term):
            return Pair(self, value, self.real.number(0.0, value.value.type))
        assert like is not None
        type, z = like.re.value.type, complex(value)
        return Pair(self, self.real.number(z.real, type), self.real.number(z.imag, type))

    def number(self, value: Any, type: Type) -> Any:
        made = self.real.number(value, type)
        return self.pair(made) if type.is_float else made

    def select(self, p: Any, a: Any, b: Any) -> Any:
        if not isinstance(a, Pair) and not isinstance(b, Pair):
            return self.real.select(p, a, b)
        like = a if isinstance(a, Pair) else b
        a, b = self.pair(a, like), self.pair(b, like)
        return Pair(self, self.real.select(p, a.re, b.re), self.real.select(p, a.im, b.im))

    def both(self, x: Any, y: Any) -> tuple[Pair, Pair]:
        """Two arguments, of which one may be a number, as pairs."""
        like = x if isinstance(x, Pair) else y
        return self.pair(x, like), self.pair(y, like)


# ---- formulas


def _eq(m: Complex, x: Any, y: Any) -> Any:
    x, y = m.both(x, y)
    return m.real.and_(m.real.eq(x.re, y.re), m.real.eq(x.im, y.im))


def _abs(m: Complex, z: Pair) -> Any:
    """A real number, whose slope at zero is taken as 0; infinite where one part is, whatever the other."""
    r = m.real
    size = r(stop_gradient(r.b, r.maximum(r.abs(z.re), r.abs(z.im)).value))
    special = r.or_(r.eq(size, 0), r.eq(size, math.inf))
    scale = r.select(special, 1, size)
    x, y = r.select(special, 1, z.re / scale), r.select(special, 0, z.im / scale)
    one = r.or_(_infinite(r, z.re), _infinite(r, z.im))
    return r.select(one, math.inf, r.select(special, size, r.sqrt(x * x + y * y) * scale))


def _infinite(r: Any, x: Any) -> Any:
    return r.eq(r.abs(x), math.inf)


def _wild(r: Any, x: Any) -> Any:
    """Whether x is infinite or NaN."""
    return r.not_(r.lt(r.abs(x), math.inf))


def _times(r: Any, x: Any, y: Any) -> Any:
    """x * y, but zero where one is zero and the other infinite or NaN."""
    first, second = r.and_(r.eq(x, 0), _wild(r, y)), r.and_(r.eq(y, 0), _wild(r, x))
    made = r.select(second, r.select(r.lt(x, 0), -y, y), x * y)
    return r.select(first, r.select(r.lt(y, 0), -x, x), made)


def _waves(r: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """cos(y) and sin(y), the first of them 1 where x is infinite and y has no angle: C99 has an infinity there."""
    lost = r.and_(_infinite(r, x), _wild(r, y))
    return r.select(lost, 1, r.cos(y)), r.sin(y)


def _is_zero(z: Pair) -> Any:
    r = z.m.real
    return r.and_(r.eq(z.re, 0), r.eq(z.im, 0))


def angle(m: Complex, z: Pair) -> Any:
    """The angle with the positive real numbers, whose slope at zero is taken as 0."""
    r = m.real
    return r.arctan2(z.im, r.select(_is_zero(z), r(stop_gradient(r.b, z.re.value)), z.re))


def _exp(m: Complex, z: Pair) -> Pair:
    r = m.real
    if z.zero == "re":
        return Pair(m, r.cos(z.im), r.sin(z.im))
    size, (c, s) = r.exp(z.re), _waves(r, z.re, z.im)
    s = r.select(r.and_(r.eq(z.re, -math.inf), _wild(r, z.im)), 0, s)
    return Pair(m, _times(r, size, c), _times(r, size, s))


def _log(m: Complex, z: Pair) -> Pair:
    return Pair(m, m.real.log(_abs(m, z)), angle(m, z))


def _sqrt(m: Complex, z: Pair) -> Pair:
    r, zero, whole = m.real, _is_zero(z), z
    still = r(stop_gradient(r.b, z.im.value))
    z = m.select(zero, m.pair(1.0, z), z)
    main = r.sqrt((_abs(m, z) + r.abs(z.re)) * 0.5)
    other = z.im / (main * 2.0)
    right, turned = r.ge(z.re, 0), r.select(r.lt(1.0 / z.im, 0), -main, main)  # of -0.0, too
    made = Pair(m, r.select(right, main, r.abs(other)), r.select(right, other, turned))
    return _sqrt_ends(m, whole, m.select(zero, Pair(m, m.number(0.0, whole.value.type).re, still), made))


def _sqrt_ends(m: Complex, z: Pair, made: Pair) -> Pair:
    """The square root, with C99's values where a part is infinite."""
    r, x, y = m.real, z.re, z.im
    low, high, far = r.eq(x, -math.inf), r.eq(x, math.inf), _infinite(r, y)
    turned = r.select(r.or_(r.lt(y, 0), r.lt(1.0 / y, 0)), -math.inf, r.abs(x))
    re = r.select(low, r.abs(0 * y), r.select(high, x, made.re))
    im = r.select(low, turned, r.select(high, 0 * y, made.im))
    return Pair(m, r.select(far, math.inf, re), r.select(far, y, im))


def _sinh(m: Complex, z: Pair) -> Pair:
    r = m.real
    c, s = _waves(r, z.re, z.im)
    return Pair(m, _times(r, r.sinh(z.re), c), _times(r, r.cosh(z.re), s))


def _cosh(m: Complex, z: Pair) -> Pair:
    r = m.real
    c, s = _waves(r, z.re, z.im)
    return Pair(m, _times(r, r.cosh(z.re), c), _times(r, r.sinh(z.re), s))


def _tanh(m: Complex, z: Pair) -> Pair:
    """(t (1 + u^2) + i u (1 - t^2)) / (1 + t^2 u^2), where t = tanh(x) and u = tan(y)."""
    r, x, y = m.real, z.re, z.im
    t, u, wild, far = r.tanh(x), r.tan(y), _wild(r, y), _infinite(r, x)
    below = 1.0 + _times(r, t * t, u * u)
    re, im = t * (1.0 + u * u) / below, _times(r, u, r.sech2(x)) / below
    re = r.select(far, t, r.select(r.and_(r.eq(x, 0), wild), x, re))
    return Pair(m, re, r.select(r.and_(far, wild), 0, r.select(r.and_(r.eq(y, 0), _wild(r, x)), y, im)))


def _along_i(function: Callable[[Complex, Pair], Pair]) -> Callable[[Complex, Pair], Pair]:
    """-i f(i z)."""

    def turned(m: Complex, z: Pair) -> Pair:
        made = function(m, Pair(m, -z.im, z.re))
        return Pair(m, made.im, -made.re)

    return turned


def _pow(m: Complex, x: Any, y: Any) -> Pair:
    x, y = m.both(x, y)
    nothing, base = _is_zero(y), _is_zero(x)
    made = _exp(m, y * _log(m, m.select(base, m.pair(1.0, x), x)))
    return m.select(nothing, 1.0, m.select(base, 0.0, made))


def _log1p(m: Complex, z: Pair) -> Pair:
    r, x, y = m.real, z.re, z.im
    return Pair(m, 0.5 * r.log1p(x * (2.0 + x) + y * y), r.arctan2(y, 1.0 + x))


def _expm1(m: Complex, z: Pair) -> Pair:
    r, x, y = m.real, z.re, z.im
    half = r.sin(0.5 * y)
    return Pair(m, r.expm1(x) * r.cos(y) - 2.0 * half * half, r.exp(x) * r.sin(y))


# Kahan, "Branch cuts for complex elementary functions" (1987): products of square roots, so signed zeros tell the side


def _roots(m: Complex, z: Pair) -> tuple[Pair, Pair]:
    """The square roots of 1 - z and of 1 + z."""
    return _sqrt(m, Pair(m, 1.0 - z.re, -z.im)), _sqrt(m, Pair(m, 1.0 + z.re, z.im))


def _arcsin(m: Complex, z: Pair) -> Pair:
    below, above = _roots(m, z)
    side = m.real.arcsinh(below.re * above.im - below.im * above.re)
    return Pair(m, m.real.arctan2(z.re, below.re * above.re - below.im * above.im), side)


def _arccos(m: Complex, z: Pair) -> Pair:
    below, above = _roots(m, z)
    side = m.real.arcsinh(above.re * below.im - above.im * below.re)
    return Pair(m, 2.0 * m.real.arctan2(below.re, above.re), side)


def _arccosh(m: Complex, z: Pair) -> Pair:
    below, above = (_sqrt(m, Pair(m, z.re + by, z.im)) for by in (-1.0, 1.0))
    along = m.real.arcsinh(below.re * above.re + below.im * above.im)
    return Pair(m, along, 2.0 * m.real.arctan2(below.im, above.re))


def _arctanh(m: Complex, z: Pair) -> Pair:
    r, x, y = m.real, z.re, z.im
    along = 0.25 * r.log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y))
    return Pair(m, along, 0.5 * r.arctan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y))


def _along_minus_i(function: Callable[[Complex, Pair], Pair]) -> Callable[[Complex, Pair], Pair]:
    """i f(-i z)."""

    def turned(m: Complex, z: Pair) -> Pair:
        made = function(m, Pair(m, z.im, -z.re))
        return Pair(m, -made.im, made.re)

    return turned


def _sign(m: Complex, z: Pair) -> Pair:
    """z / |z|, zero at zero."""
    r, size = m.real, _abs(m, z)
    zero = r.eq(size, 0)
    by = r.select(zero, 1, size)
    return Pair(m, r.select(zero, 0, z.re / by), r.select(zero, 0, z.im / by))


def _scaled(name: str, before: float = 1.0, after: float = 1.0) -> Callable[[Complex, Pair], Pair]:
    return lambda m, z: FORMULAS[name](m, z * before) * after


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": lambda m, x, y: x + y,
    "sub": lambda m, x, y: x - y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / y,
    "neg": lambda m, z: -z,
    "eq": _eq,
    "ne": lambda m, x, y: m.real.not_(_eq(m, x, y)),
    "abs": _abs,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "pow": _pow,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "exp2": _scaled("exp", before=math.log(2.0)),
    "log2": _scaled("log", after=1 / math.log(2.0)),
    "log10": _scaled("log", after=1 / math.log(10.0)),
    "log1p": _log1p,
    "expm1": _expm1,
    "sign": _sign,
    "rint": lambda m, z: Pair(m, m.real.rint(z.re), m.real.rint(z.im)),
    "arcsin": _arcsin,
    "arccos": _arccos,
    "arctan": _along_i(_arctanh),
    "arcsinh": _along_minus_i(_arcsin),
    "arccosh": _arccosh,
    "arctanh": _arctanh,
    "sin": _along_i(_sinh),
    "tan": _along_i(_tanh),
    "cos": lambda m, z: _cosh(m, Pair(m, -z.im, z.re)),
    "sigmoid": lambda m, z: 1.0 / (1.0 + _exp(m, -z)),
}
"""What primitives are of pairs."""


# ---- between pairs and what the graph holds


def split(m: Complex, value: Value) -> Pair:
    """The parts of a value whose last axis has two."""
    *shape, _ = value.type.static_shape()
    step = (1,) * (len(shape) + 1)
    parts = []
    for k in range(2):
        part = slice_(m.b, value, start=(*[0] * len(shape), k), step=step, shape=(*shape, 1))
        parts.append(m.real(reshape(m.b, part, shape=tuple(shape))))
    return Pair(m, parts[0], parts[1], value)


def joined(pair: Pair) -> Value:
    """The value whose last axis holds both parts."""
    if pair.whole is not None:
        return pair.whole
    b, shape = pair.m.b, pair.re.value.type.static_shape()
    parts = [reshape(b, v.value, shape=(*shape, 1)) for v in (pair.re, pair.im)]
    return concatenate(b, *parts, axis=len(shape))


__all__ = ["Complex", "Pair", "Shown", "angle", "joined", "split"]
