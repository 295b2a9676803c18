"""exp, expm1 and what is made of them: tanh, sech2, sigmoid, softplus, gauss.

All share one reduction: x = k log(2) + r with |r| <= log(2)/2 by adding and subtracting a number so
large that the sum has no fraction bits, exp(r) - 1 = r + r**2 Q(r), and 2**k as the product of two
powers, so that results may be denormal and still are rounded once.
"""

from __future__ import annotations

from typing import NamedTuple

from ..registers import Reg
from ..writer import Writer
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

# From here on exp(-x*x) is 0.
GAUSS_END = {"f64": 28.0, "f32": 10.5}


class Reduced(NamedTuple):
    """exp(x) = (1 + minus_one) * low_scale * high_scale, minus_one = r + r**2 * curve."""

    minus_one: Reg
    low_scale: Reg
    high_scale: Reg
    r: Reg
    curve: Reg


def reduced(w: Writer, x: Reg, correction: Reg | None = None) -> Reduced:
    """Take exp(x + correction) apart, for x from LEAST to GREATEST and a tiny correction."""
    bias, shift = 2 * BIAS[x.dtype], FRACTION[x.dtype]
    # The low bits of `moved` are k + 2 * bias: 1.5 * 2**52 has the bits of an integer at its end.
    magic = w.like(1.5 * 2.0**shift + bias, x)
    moved = w.muladd(x, w.like(LOG2_E, x), magic)
    k = w.sub(moved, magic)
    r = w.muladd(k, w.like(-LOG2_HIGH[x.dtype], x), x)
    r = w.muladd(k, w.like(-LOG2_LOW[x.dtype], x), r)
    if correction is not None:
        r = w.add(r, correction)
    curve = polynomial(w, r, coefficients.EXP)
    exponents = w.bits(moved)
    half = w.lshr(exponents, w.like(1, exponents))
    return Reduced(
        w.muladd(w.mul(r, r), curve, r),
        _power(w, half, shift),
        _power(w, w.sub(exponents, half), shift),
        r,
        curve,
    )


def _power(w: Writer, biased: Reg, shift: int) -> Reg:
    """2**k from an integer whose low bits are k + bias."""
    return w.unbits(w.shl(biased, w.like(shift, biased)))


def assembled(w: Writer, parts: Reduced, factor: Reg | None = None) -> Reg:
    mantissa = w.add(parts.minus_one, w.like(1.0, parts.minus_one))
    if factor is not None:
        mantissa = w.mul(mantissa, factor)
    return w.mul(w.mul(mantissa, parts.low_scale), parts.high_scale)


def _in_range(w: Writer, x: Reg) -> Reg:
    return clamp_above(w, clamp_below(w, x, LEAST[x.dtype]), GREATEST[x.dtype])


def exp(w: Writer, x: Reg) -> Reg:
    """e**x."""
    return assembled(w, reduced(w, _in_range(w, x)))


def expm1(w: Writer, x: Reg) -> Reg:
    """exp(x) - 1 without loss near 0. For k = 1 the terms 1/2 and r/2 cancel without an error if
    they are added first. 2**(k-1) can be written for every k, 2**k for the greatest can't."""
    parts = reduced(w, _in_range(w, x))
    half = w.mul(parts.low_scale, scaled(w, parts.high_scale, 0.5))
    line = w.muladd(half, parts.r, w.sub(half, w.like(0.5, x)))
    halved = w.muladd(half, w.mul(w.mul(parts.r, parts.r), parts.curve), line)
    small = w.lt(w.abs(x), w.like(0.34, x))
    return w.copysign(w.select(small, parts.minus_one, w.add(halved, halved)), x)


def _folded(w: Writer, x: Reg, factor: float) -> Reduced:
    """exp(-factor |x|), taken apart."""
    return reduced(w, clamp_below(w, scaled(w, w.abs(x), -factor), LEAST[x.dtype]))


def _plus(w: Writer, parts: Reduced, addend: float) -> tuple[Reg, Reg]:
    """e + addend for e = exp(x) <= 1 and |addend| = 1, as a sum of two numbers."""
    scale = w.mul(parts.low_scale, parts.high_scale)
    base = w.add(scale, w.like(addend, scale))
    total = w.muladd(scale, parts.minus_one, base)
    return total, w.muladd(scale, parts.minus_one, w.sub(base, total))


def tanh(w: Writer, x: Reg) -> Reg:
    """Hyperbolic tangent, (1 - e) / (1 + e) with e = exp(-2|x|): the rounded quotient and what is
    left of the numerator, divided again."""
    parts = _folded(w, x, 2.0)
    less, less_low = _plus(w, parts, -1.0)
    more, more_low = _plus(w, parts, 1.0)
    reciprocal = w.div(w.like(1.0, x), more)
    quotient = w.mul(less, reciprocal)
    lows = w.muladd(w.neg(quotient), more_low, less_low)
    rest = w.add(remainder(w, less, quotient, more), lows)
    return w.copysign(w.muladd(rest, reciprocal, quotient), x)


def sech2(w: Writer, x: Reg) -> Reg:
    """1 / cosh(x)**2, the derivative of tanh, as 4 e / (1 + e)**2 with e = exp(-2|x|).
    What the reciprocal loses by rounding would count twice."""
    parts = _folded(w, x, 2.0)
    more, more_low = _plus(w, parts, 1.0)
    one = w.like(1.0, x)
    reciprocal = w.div(one, more)
    double = w.add(reciprocal, reciprocal)
    square = w.mul(double, double)
    lost = w.muladd(w.neg(reciprocal), more_low, remainder(w, one, reciprocal, more))
    return assembled(w, parts, w.muladd(square, w.add(lost, lost), square))


def sigmoid(w: Writer, x: Reg) -> Reg:
    """1 / (1 + exp(-x)), from exp(-|x|) on both sides."""
    parts = _folded(w, x, 1.0)
    one = w.like(1.0, x)
    upper = w.div(one, w.add(assembled(w, parts), one))
    lower = assembled(w, parts, upper)
    positive = w.eq(w.abs(x), x)
    return w.select(positive, upper, lower)


def softplus(w: Writer, x: Reg) -> Reg:
    """log(1 + exp(x)), as max(x, 0) + log(1 + e) with e = exp(-|x|) from 0 to 1."""
    e = assembled(w, _folded(w, x, 1.0))
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
    return assembled(w, reduced(w, w.neg(square), w.neg(error)))
