"""pow, as exp(y log(x)) with the logarithm to more digits than the result has.

The product y log(x) may be as large as 745 and its absolute error becomes the result's relative
one, so f64 carries log(x) as a sum of two numbers (compare e_pow.c of FreeBSD's msun); f32 is
computed in f64.
"""

from __future__ import annotations

from ..text.registers import Reg
from ..text.writer import Writer
from . import coefficients, exponential, logarithm
from .parts import (
    INFINITY,
    NAN,
    clamp_above,
    clamp_below,
    ordered_sum,
    polynomial,
    product_error,
    remainder,
    scaled,
    two_product,
    two_sum,
)

TWO_THIRDS = (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55"))

# More than enough for every result but 0, 1 and inf.
GREATEST_EXPONENT = 2.0**64


def power(w: Writer, x: Reg, y: Reg) -> Reg:
    """x**y, with the special cases of C's Annex F, which NumPy has too."""
    zero, one = w.like(0.0, x), w.like(1.0, x)
    result = _positive_power(w, w.abs(x), y)
    half = scaled(w, y, 0.5)
    whole = w.eq(w.rint(y), y)
    odd = w.and_(whole, w.ne(w.rint(half), half))
    result = w.select(odd, w.copysign(result, x), result)
    finite = w.and_(w.lt(x, zero), w.gt(x, w.like(-INFINITY, x)))
    undefined = w.and_(finite, w.not_(whole))
    result = w.select(undefined, w.like(NAN, x), result)
    return w.select(w.or_(w.eq(x, one), w.eq(y, zero)), one, result)


def _positive_power(w: Writer, x: Reg, y: Reg) -> Reg:
    """x**y for x >= 0."""
    y = clamp_above(w, clamp_below(w, y, -GREATEST_EXPONENT), GREATEST_EXPONENT)
    if x.dtype == "f32":
        high = w.mul(w.cast(y, "f64"), logarithm.log(w, w.cast(x, "f64")))
        return w.cast(exponential.exp(w, high), "f32")
    log_high, log_low = accurate_log(w, x)
    high = w.mul(y, log_high)
    low = w.muladd(y, log_low, product_error(w, y, log_high, high))
    inside = w.lt(w.abs(high), w.like(800.0, x))
    low = w.select(inside, low, w.like(0.0, x))
    high = clamp_above(w, clamp_below(w, high, -800.0), 800.0)
    return exponential.assembled(w, exponential.reduced(w, high, low))


def accurate_log(w: Writer, x: Reg) -> tuple[Reg, Reg]:
    """log(x) to some 68 bits as a sum of two; -inf for 0, inf for inf, NaN for NaN; x >= 0."""
    k, m = logarithm.normalized(w, x)
    log_m = _accurate_log_near_one(w, w.sub(m, w.like(1.0, x)))
    exact = w.mul(k, w.like(logarithm.HIGH["f64"], x))
    high, lost = ordered_sum(w, exact, log_m[0])
    low = w.add(lost, w.muladd(k, w.like(logarithm.LOW["f64"], x), log_m[1]))
    special = w.like(INFINITY, x)
    special = w.select(w.eq(x, w.like(0.0, x)), w.neg(special), special)
    regular = w.and_(w.gt(x, w.like(0.0, x)), w.lt(x, w.like(INFINITY, x)))
    special = w.select(w.isnan(x), x, special)
    return w.select(regular, high, special), w.select(regular, low, w.like(0.0, x))


def _accurate_log_near_one(w: Writer, f: Reg) -> tuple[Reg, Reg]:
    """log(1 + f) = 2s + 2/3 s**3 + s**5 P(s**2), s = f / (2 + f)."""
    s_high, s_low = _quotient(w, f)
    z, z_low = two_product(w, s_high, s_high)
    z_low = w.muladd(w.add(s_high, s_high), s_low, z_low)
    tail = w.mul(z, polynomial(w, z, coefficients.LOG_TAIL))
    inner, inner_low = ordered_sum(w, w.like(TWO_THIRDS[0], f), tail)
    inner_low = w.add(inner_low, w.like(TWO_THIRDS[1], f))
    # (z + z_low) * (inner + inner_low), then times s
    square, square_low = two_product(w, z, inner)
    square_low = w.add(square_low, w.muladd(z, inner_low, w.mul(z_low, inner)))
    cube, cube_low = two_product(w, s_high, square)
    cube_low = w.add(cube_low, w.muladd(s_high, square_low, w.mul(s_low, square)))
    total, lost = two_sum(w, w.add(s_high, s_high), cube)
    return total, w.add(lost, w.add(w.add(s_low, s_low), cube_low))


def _quotient(w: Writer, f: Reg) -> tuple[Reg, Reg]:
    """f / (2 + f) as a sum of two."""
    below, below_low = ordered_sum(w, w.like(2.0, f), f)
    inverse = w.div(w.like(1.0, f), below)
    high = w.mul(f, inverse)
    rest = w.sub(remainder(w, f, high, below), w.mul(high, below_low))
    return high, w.mul(rest, inverse)
