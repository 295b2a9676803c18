"""What primitives are of complex numbers, by their names: formulas over pairs of real terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..custom import stop_gradient
from . import ends
from .ends import infinite as _infinite
from .pair import Pair

_FAR, _NEAR = 1e15, 1e-8
"""Sizes beyond which, and below which, a square may be no number of the narrower floats, and 1 is little beside it."""


def _eq(m: Any, x: Any, y: Any) -> Any:
    x, y = m.both(x, y)
    return m.real.and_(m.real.eq(x.re, y.re), m.real.eq(x.im, y.im))


def _abs(m: Any, z: Pair) -> Any:
    """A real number, whose slope at zero is taken as 0; infinite where one part is, whatever the other."""
    r = m.real
    size = r(stop_gradient(r.b, r.maximum(r.abs(z.re), r.abs(z.im)).value))
    special = r.or_(r.eq(size, 0), r.eq(size, math.inf))
    scale = r.select(special, 1, size)
    x, y = r.select(special, 1, z.re / scale), r.select(special, 0, z.im / scale)
    one = r.or_(_infinite(r, z.re), _infinite(r, z.im))
    return r.select(one, math.inf, r.select(special, size, r.sqrt(x * x + y * y) * scale))


def _wild(r: Any, x: Any) -> Any:
    """Whether x is infinite or NaN."""
    return r.not_(r.lt(r.abs(x), math.inf))


def _times(r: Any, x: Any, y: Any) -> Any:
    """x * y, but zero where one is zero and the other infinite or NaN."""
    return r.select(r.and_(r.eq(x, 0), _wild(r, y)), r.select(r.lt(y, 0), -x, x), _of_zeros(r, x, y))


def _of_zeros(r: Any, x: Any, y: Any) -> Any:
    """x * y, but zero where y is and x infinite or NaN."""
    return r.select(r.and_(r.eq(y, 0), _wild(r, x)), r.select(r.lt(x, 0), -y, y), x * y)


def _waves(r: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """cos(y) and sin(y), the first of them 1 where x is infinite and y has no angle: C99 has an infinity there."""
    lost = r.and_(_infinite(r, x), _wild(r, y))
    return r.select(lost, 1, r.cos(y)), r.sin(y)


def _is_zero(z: Pair) -> Any:
    r = z.m.real
    return r.and_(r.eq(z.re, 0), r.eq(z.im, 0))


def angle(m: Any, z: Pair) -> Any:
    """The angle with the positive real numbers, whose slope at zero is taken as 0."""
    r = m.real
    return r.arctan2(z.im, r.select(_is_zero(z), r(stop_gradient(r.b, z.re.value)), z.re))


def _exp(m: Any, z: Pair) -> Pair:
    r = m.real
    if z.zero == "re":
        return Pair(m, r.cos(z.im), r.sin(z.im))
    size, (c, s) = r.exp(z.re), _waves(r, z.re, z.im)
    s = r.select(r.and_(r.eq(z.re, -math.inf), _wild(r, z.im)), 0, s)
    return Pair(m, _of_zeros(r, size, c), _of_zeros(r, size, s))  # it may be zero because it is small


def _plain_log(m: Any, z: Pair) -> Pair:
    return Pair(m, m.real.log(_abs(m, z)), angle(m, z))


def _log(m: Any, z: Pair) -> Pair:
    """Where |z| is about 1, by |z|^2 - 1, of which the larger part's share is a product without a loss of digits."""
    r, x, y = m.real, z.re, z.im
    size = _abs(m, z)
    near = r.and_(r.lt(0.5, size), r.lt(size, 2.0))
    more = r.select(r.lt(r.abs(x), r.abs(y)), (y - 1.0) * (y + 1.0) + x * x, (x - 1.0) * (x + 1.0) + y * y)
    along = r.select(near, 0.5 * r.log1p(r.select(near, more, 0)), r.log(r.select(near, 1, size)))
    return Pair(m, along, angle(m, z))


def _sqrt(m: Any, z: Pair) -> Pair:
    r, zero, whole = m.real, _is_zero(z), z
    still = r(stop_gradient(r.b, z.im.value))
    z = m.select(zero, m.pair(1.0, z), z)
    right, below = r.ge(z.re, 0), r.lt(1.0 / z.im, 0)  # -0.0 is below, too
    main = r.sqrt((_abs(m, z) + r.select(right, z.re, -z.re)) * 0.5)  # no abs: its slope on the axes is none of these
    other = z.im / (main * 2.0)
    made = Pair(
        m,
        r.select(right, main, r.select(below, -other, other)),
        r.select(right, other, r.select(below, -main, main)),
    )
    return _sqrt_ends(m, whole, m.select(zero, Pair(m, m.number(0.0, whole.value.type).re, still), made))


def _sqrt_ends(m: Any, z: Pair, made: Pair) -> Pair:
    """The square root, with C99's values where a part is infinite."""
    r, x, y = m.real, z.re, z.im
    low, high, far = r.eq(x, -math.inf), r.eq(x, math.inf), _infinite(r, y)
    turned = r.select(r.or_(r.lt(y, 0), r.lt(1.0 / y, 0)), -math.inf, r.abs(x))
    re = r.select(low, r.abs(0 * y), r.select(high, x, made.re))
    im = r.select(low, turned, r.select(high, 0 * y, made.im))
    return Pair(m, r.select(far, math.inf, re), r.select(far, y, im))


def _sinh(m: Any, z: Pair) -> Pair:
    r = m.real
    c, s = _waves(r, z.re, z.im)
    return Pair(m, _times(r, r.sinh(z.re), c), _times(r, r.cosh(z.re), s))


def _cosh(m: Any, z: Pair) -> Pair:
    r = m.real
    c, s = _waves(r, z.re, z.im)
    return Pair(m, _times(r, r.cosh(z.re), c), _times(r, r.sinh(z.re), s))


def _tanh(m: Any, z: Pair) -> Pair:
    """(t (1 + u^2) + i u (1 - t^2)) / (1 + t^2 u^2), where t = tanh(x) and u = tan(y)."""
    r, x, y = m.real, z.re, z.im
    t, u, wild, far = r.tanh(x), r.tan(y), _wild(r, y), _infinite(r, x)
    below = 1.0 + _times(r, t * t, u * u)
    re, im = t * (1.0 + u * u) / below, _times(r, u, r.sech2(x)) / below
    re = r.select(far, t, r.select(r.and_(r.eq(x, 0), wild), x, re))
    return Pair(m, re, r.select(r.and_(far, wild), 0, r.select(r.and_(r.eq(y, 0), _wild(r, x)), y, im)))


def _along_i(function: Callable[[Any, Pair], Pair]) -> Callable[[Any, Pair], Pair]:
    """-i f(i z)."""

    def turned(m: Any, z: Pair) -> Pair:
        made = function(m, Pair(m, -z.im, z.re))
        return Pair(m, made.im, -made.re)

    return turned


def _pow(m: Any, x: Any, y: Any) -> Pair:
    x, y = m.both(x, y)
    nothing, base = _is_zero(y), _is_zero(x)
    made = _exp(m, y * _plain_log(m, m.select(base, m.pair(1.0, x), x)))
    return m.select(nothing, 1.0, m.select(base, _of_zero(m, y), made))


def _of_zero(m: Any, y: Pair) -> Any:
    """0 to the power of y, which is not 0: it vanishes where the real part of y is positive."""
    lost = complex(math.nan, math.nan)
    if isinstance(y.re, (int, float)):
        return 0.0 if y.re > 0 else lost
    return m.select(m.real.lt(0.0, y.re), m.pair(0.0, y), m.pair(lost, y))


def _log1p(m: Any, z: Pair) -> Pair:
    """By the square of |1 + z| less 1; beside the pole and far away, where that has lost its digits, by |1 + z|."""
    r, x, y = m.real, z.re, z.im
    size = _abs(m, Pair(m, 1.0 + x, y))
    apart = r.or_(r.lt(size, 0.5), r.lt(_FAR, size))
    near, size = r.select(apart, 0, x * (2.0 + x) + y * y), r.select(apart, size, 1)
    along = r.select(apart, r.log(size), 0.5 * r.log1p(near))
    along = r.select(r.or_(_infinite(r, x), _infinite(r, y)), math.inf, along)
    return Pair(m, along, r.arctan2(y, 1.0 + x))


def _expm1(m: Any, z: Pair) -> Pair:
    r, x, y = m.real, z.re, z.im
    half = r.sin(0.5 * y)
    return Pair(m, r.expm1(x) * r.cos(y) - 2.0 * half * half, r.exp(x) * r.sin(y))


# Kahan, "Branch cuts for complex elementary functions" (1987): products of square roots, so signed zeros tell the side


def _roots(m: Any, z: Pair) -> tuple[Pair, Pair]:
    """The square roots of 1 - z and of 1 + z."""
    return _sqrt(m, Pair(m, 1.0 - z.re, -z.im)), _sqrt(m, Pair(m, 1.0 + z.re, z.im))


def _arcsin(m: Any, z: Pair) -> Pair:
    below, above = _roots(m, z)
    side = m.real.arcsinh(below.re * above.im - below.im * above.re)
    along = m.real.arctan2(z.re, below.re * above.re - below.im * above.im)
    return ends.of_arcsin(m, z, Pair(m, along, side))


def _arccos(m: Any, z: Pair) -> Pair:
    below, above = _roots(m, z)
    side = m.real.arcsinh(above.re * below.im - above.im * below.re)
    return ends.of_arccos(m, z, Pair(m, 2.0 * m.real.arctan2(below.re, above.re), side))


def _arccosh(m: Any, z: Pair) -> Pair:
    below, above = (_sqrt(m, Pair(m, z.re + by, z.im)) for by in (-1.0, 1.0))
    along = m.real.arcsinh(below.re * above.re + below.im * above.im)
    return ends.of_arccosh(m, z, Pair(m, along, 2.0 * m.real.arctan2(below.im, above.re)))


def _arctanh(m: Any, z: Pair) -> Pair:
    """The real part for x >= 0, of which that for -x is the negative: 1/4 log1p(4 x / h^2), where h is |1 - z|.

    Far away it is 1 / z + i pi/2, and beside the pole (log 4 x) / 4 - (log h) / 2: h^2 is there no number, or zero.
    """
    r, x, y = m.real, z.re, z.im
    left = r.lt(x, 0)
    a = r.select(left, -x, x)  # no abs: its slope at zero is none
    size = _abs(m, Pair(m, 1.0 - a, y))
    far, pole = r.lt(_FAR, size), r.lt(size, _NEAR)
    square = r.select(r.or_(far, pole), 1, (1.0 - a) * (1.0 - a) + y * y)
    away, beside = r.select(far, size, 1), r.select(pole, size, 1)
    near = 0.25 * r.log(r.select(pole, 4.0 * a, 1)) - 0.5 * r.log(beside)
    along = r.select(pole, near, 0.25 * r.log1p(4.0 * a / square))
    along = r.select(far, a / away / away, along)
    along = r.select(left, -along, along)
    turned = 0.5 * r.arctan2(2.0 * y, r.select(far, 1, (1.0 - x) * (1.0 + x) - y * y))
    turned = r.select(far, r.copysign(math.pi / 2, y) - y / away / away, turned)
    return ends.of_arctanh(m, z, Pair(m, along, turned))


def _along_minus_i(function: Callable[[Any, Pair], Pair]) -> Callable[[Any, Pair], Pair]:
    """i f(-i z)."""

    def turned(m: Any, z: Pair) -> Pair:
        made = function(m, Pair(m, z.im, -z.re))
        return Pair(m, -made.im, made.re)

    return turned


def _sign(m: Any, z: Pair) -> Pair:
    """z / |z|, zero at zero; where one part alone is infinite its sign, as NumPy has it."""
    r = m.real
    far_re, far_im = (_infinite(r, x) for x in (z.re, z.im))
    one = r.xor(far_re, far_im)

    def counted(x: Any, far: Any) -> Any:
        return r.select(one, r.select(far, r.copysign(1.0, x), 0), x)

    z = Pair(m, counted(z.re, far_re), counted(z.im, far_im))
    size = _abs(m, z)
    zero = r.eq(size, 0)
    by = r.select(zero, 1, size)
    return Pair(m, r.select(zero, 0, z.re / by), r.select(zero, 0, z.im / by))


def _scaled(name: str, before: float = 1.0, after: float = 1.0) -> Callable[[Any, Pair], Pair]:
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

__all__ = ["FORMULAS", "angle"]
