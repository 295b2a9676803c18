"""exp, expm1 and what is made of them: tanh, sech2, sigmoid, softplus, gauss.

All share one reduction: x = k log(2) + r with |r| <= log(2)/2 by adding and subtracting a number so
large that the sum has no fraction bits, exp(r) - 1 = r + r**2 Q(r), and 2**k as the product of two
powers, so that results may be denormal and still are rounded once. Where x <= 0, one power of two
does, times a constant that keeps it from becoming denormal.
"""

from __future__ import annotations

from typing import NamedTuple

from ..text.registers import Reg
from ..text.writer import Writer
from . import coefficients
from .parts import (
    BIAS,
    FRACTION,
    clamp_above,
    clamp_below,
    polynomial,
    product_error,
    remainder,
    scaled,
)

LOG2_E = 1.4426950408889634

# log(2) in two parts; the first has zeros at its end, so that its product with k is exact.
LOG2_HIGH = {"f64": float.fromhex("0x1.62e42fee00000p-1"), "f32": float.fromhex("0x1.62e400p-1")}
LOG2_LOW = {
    "f64": float.fromhex("0x1.a39ef35793c76p-33"),
    "f32": float.fromhex("0x1.7f7d1cp-20"),
}

# Beyond these 4 exp is 0 and exp infinite.
LEAST = {"f64": -748.0, "f32": -106.0}
GREATEST = {"f64": 710.0, "f32": 89.0}

# exp(x) * 2**RAISE is a normal number from LEAST to 0.
RAISE = {"f64": 512, "f32": 64}

# From here on exp(-x*x) is 0.
GAUSS_END = {"f64": 28.0, "f32": 10.5}


class Reduced(NamedTuple):
    """exp(x) = (1 + minus_one) * 2**k, minus_one = r + r**2 * curve. The low bits of `moved` are
    k and a bias."""

    minus_one: Reg
    moved: Reg
    r: Reg
    curve: Reg


def reduced(w: Writer, x: Reg, correction: Reg | None = None, bias: int | None = None) -> Reduced:
    """Take exp(x + correction) apart, for x from LEAST to GREATEST and a tiny correction."""
    bias = 2 * BIAS[x.dtype] if bias is None else bias
    # The low bits of `moved` are k + bias: 1.5 * 2**52 has the bits of an integer at its end.
    magic = w.like(1.5 * 2.0 ** FRACTION[x.dtype] + bias, x)
    moved = w.muladd(x, w.like(LOG2_E, x), magic)
    k = w.sub(moved, magic)
    r = w.muladd(k, w.like(-LOG2_HIGH[x.dtype], x), x)
    r = w.muladd(k, w.like(-LOG2_LOW[x.dtype], x), r)
    if correction is not None:
        r = w.add(r, correction)
    curve = polynomial(w, r, coefficients.EXP)
    return Reduced(w.muladd(w.mul(r, r), curve, r), moved, r, curve)


def scale(w: Writer, moved: Reg) -> Reg:
    """The power of two that has the low bits of `moved` as its exponent."""
    bits = w.bits(moved)
    return w.unbits(w.shl(bits, w.like(FRACTION[moved.dtype], bits)))


def scales(w: Writer, moved: Reg) -> tuple[Reg, Reg]:
    """2**k as a product of two, from a float whose low bits are k + 2 * bias."""
    exponents = w.bits(moved)
    half = w.lshr(exponents, w.like(1, exponents))
    shift = w.like(FRACTION[moved.dtype], exponents)
    rest = w.sub(exponents, half)
    return w.unbits(w.shl(half, shift)), w.unbits(w.shl(rest, shift))


def assembled(w: Writer, parts: Reduced) -> Reg:
    """exp(x), from 0 to infinity."""
    low, high = scales(w, parts.moved)
    return w.mul(w.muladd(parts.minus_one, low, low), high)


def _in_range(w: Writer, x: Reg) -> Reg:
    return clamp_above(w, clamp_below(w, x, LEAST[x.dtype]), GREATEST[x.dtype])


def exp(w: Writer, x: Reg) -> Reg:
    """e**x."""
    return assembled(w, reduced(w, _in_range(w, x)))


def expm1(w: Writer, x: Reg) -> Reg:
    """exp(x) - 1 without loss near 0. For k = 1 the terms 1/2 and r/2 cancel without an error if
    they are added first. 2**(k-1) can be written for every k, 2**k for the greatest can't."""
    parts = reduced(w, _in_range(w, x))
    low, high = scales(w, parts.moved)
    half = w.mul(low, scaled(w, high, 0.5))
    line = w.muladd(half, parts.r, w.sub(half, w.like(0.5, x)))
    halved = w.muladd(half, w.mul(w.mul(parts.r, parts.r), parts.curve), line)
    small = w.lt(w.abs(x), w.like(0.34, x))
    return w.copysign(w.select(small, parts.minus_one, w.add(halved, halved)), x)


class Raised(NamedTuple):
    """exp(x) = (1 + minus_one) * power / 2**RAISE for x <= 0."""

    minus_one: Reg
    power: Reg


def _raised(w: Writer, x: Reg, correction: Reg | None = None) -> Raised:
    """Take exp(x + correction) apart, for x from LEAST to 0. One power of two is enough if it is
    raised so far that it is never denormal."""
    parts = reduced(w, x, correction, BIAS[x.dtype] + RAISE[x.dtype])
    return Raised(parts.minus_one, scale(w, parts.moved))


def _raised_exp(w: Writer, parts: Raised) -> Reg:
    """exp(x) * 2**RAISE."""
    return w.muladd(parts.minus_one, parts.power, parts.power)


def _lowered(w: Writer, x: Reg) -> Reg:
    """x / 2**RAISE."""
    return scaled(w, x, 2.0 ** -RAISE[x.dtype])


def _negative(w: Writer, x: Reg) -> Reg:
    return w.neg(w.abs(x))


class Folded(NamedTuple):
    """What tanh and its derivative share, with e = exp(-2|x|) = (1 + minus_one) * 2**k, all but
    `minus_one` and `reciprocal` times 2**RAISE: 2**k, 1 - e as a sum of two, 1 + e, 1 / (1 + e)."""

    minus_one: Reg
    power: Reg
    less: Reg
    less_low: Reg
    more: Reg
    reciprocal: Reg


def _folded(w: Writer, x: Reg) -> Folded:
    parts = _raised(w, clamp_below(w, _negative(w, w.add(x, x)), LEAST[x.dtype]))
    unit, opposite = w.like(2.0 ** RAISE[x.dtype], x), w.neg(parts.power)
    base = w.sub(unit, parts.power)
    less = w.muladd(opposite, parts.minus_one, base)
    less_low = w.muladd(opposite, parts.minus_one, w.sub(base, less))
    more = w.muladd(parts.power, parts.minus_one, w.add(unit, parts.power))
    return Folded(*parts, less, less_low, more, w.div(w.like(1.0, x), more))


def tanh(w: Writer, x: Reg) -> Reg:
    """Hyperbolic tangent, (1 - e) / (1 + e) with e = exp(-2|x|): the rounded quotient and what is
    left of the numerator, divided again. What 1 + e has lost by rounding is not made up for: it
    changes the result by less than one unit."""
    parts = _folded(w, x)
    quotient = w.mul(parts.less, parts.reciprocal)
    rest = w.add(remainder(w, parts.less, quotient, parts.more), parts.less_low)
    return w.copysign(w.muladd(rest, parts.reciprocal, quotient), x)


def sech2(w: Writer, x: Reg) -> Reg:
    """1 / cosh(x)**2, the derivative of tanh, as u (2 - u) with u = 1 - tanh|x| = 2 e / (1 + e).
    The product has at most the relative error of u, and where u is denormal it is 2 u."""
    parts = _folded(w, x)
    power = w.mul(w.add(parts.power, parts.power), parts.reciprocal)
    u = w.muladd(parts.minus_one, power, power)
    return w.muladd(w.neg(u), u, w.add(u, u))


def sigmoid(w: Writer, x: Reg) -> Reg:
    """1 / (1 + exp(-x)), from exp(-|x|) on both sides."""
    one = w.like(1.0, x)
    e = _raised_exp(w, _small_exp(w, x))
    upper = w.div(one, w.add(_lowered(w, e), one))
    lower = _lowered(w, w.mul(e, upper))
    return w.select(w.eq(w.abs(x), x), upper, lower)


def _small_exp(w: Writer, x: Reg) -> Raised:
    """exp(-|x|), taken apart."""
    return _raised(w, clamp_below(w, _negative(w, x), LEAST[x.dtype]))


def softplus(w: Writer, x: Reg) -> Reg:
    """log(1 + exp(x)), as max(x, 0) + log(1 + e) with e = exp(-|x|) from 0 to 1."""
    e = _lowered(w, _raised_exp(w, _small_exp(w, x)))
    half_square = w.mul(scaled(w, e, 0.5), e)
    s = w.div(e, w.add(e, w.like(2.0, x)))
    z = w.mul(s, s)
    rest = w.mul(z, polynomial(w, z, coefficients.LOG_WIDE))
    grown = w.sub(e, w.sub(half_square, w.mul(s, w.add(half_square, rest))))
    zero = w.like(0.0, x)
    return w.add(w.select(w.gt(x, zero), x, zero), grown)


def gauss(w: Writer, x: Reg) -> Reg:
    """exp(-x*x), with what x*x loses by rounding: at 26 that is 300 units in the last place."""
    inside = clamp_above(w, w.abs(x), GAUSS_END[x.dtype])
    square = w.mul(inside, inside)
    error = product_error(w, inside, inside, square)
    return _lowered(w, _raised_exp(w, _raised(w, w.neg(square), w.neg(error))))
