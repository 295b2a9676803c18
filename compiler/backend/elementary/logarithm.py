"""log and log1p by fdlibm's method: x = 2**k (1 + f) with 1 + f within sqrt(2) of 1,
log(1 + f) = f - f**2/2 + s (f**2/2 + R(s**2)) with s = f / (2 + f)."""

from __future__ import annotations

from ..text.registers import Reg
from ..text.writer import Writer
from . import coefficients
from .exponential import LOG2_HIGH
from .parts import BIAS, FRACTION, INFINITY, NAN, polynomial, scaled

# The bits of sqrt(1/2), rounded down.
ROOT_BITS = {"f64": 0x3FE6A09E667F3BCD, "f32": 0x3F3504F3}

# log(2) less the multiple of a power of two that LOG2_HIGH is. For f32 a shorter first part.
HIGH = {"f64": LOG2_HIGH["f64"], "f32": float.fromhex("0x1.62e000p-1")}
LOW = {"f64": float.fromhex("0x1.a39ef35793c76p-33"), "f32": float.fromhex("0x1.0bfbe8p-15")}


def split(w: Writer, x: Reg) -> tuple[Reg, Reg]:
    """k as a float and m from sqrt(1/2) to sqrt(2) with x = 2**k m, for normal positive x."""
    shift = FRACTION[x.dtype]
    bits = w.bits(x)
    root = w.like(ROOT_BITS[x.dtype], bits)
    above = w.sub(bits, root)
    fraction = w.and_(above, w.like((1 << shift) - 1, bits))
    return _exponent(w, above, x.dtype), w.unbits(w.add(fraction, root))


def _exponent(w: Writer, above: Reg, dtype: str) -> Reg:
    """What stands before the fraction. Vectors of i64 have no conversion, and no shift that keeps the sign: with the
    bias it is positive, and in the last bits of 2**52 a float."""
    shift, bias = FRACTION[dtype], BIAS[dtype]
    if dtype == "f32":
        return w.cast(w.ashr(above, w.like(shift, above)), dtype)
    biased = w.lshr(w.add(above, w.like(bias << shift, above)), w.like(shift, above))
    moved = w.unbits(w.or_(biased, w.like((bias + shift) << shift, above)))
    return w.sub(moved, w.like(float((1 << shift) + bias), moved))


def normalized(w: Writer, x: Reg) -> tuple[Reg, Reg]:
    """`split` for denormal x too."""
    shift = FRACTION[x.dtype] + 2
    least = {"f64": 2.0**-1022, "f32": 2.0**-126}[x.dtype]
    tiny = w.lt(x, w.like(least, x))
    k, m = split(w, w.select(tiny, scaled(w, x, 2.0**shift), x))
    return w.sub(k, w.select(tiny, w.like(float(shift), x), w.like(0.0, x))), m


def assembled(w: Writer, k: Reg, f: Reg, correction: Reg | None = None) -> Reg:
    """k log(2) + log(1 + f) + correction."""
    half_square = w.mul(scaled(w, f, 0.5), f)
    s = w.div(f, w.add(f, w.like(2.0, f)))
    z = w.mul(s, s)
    rest = w.mul(z, polynomial(w, z, coefficients.LOG))
    low = w.like(LOW[f.dtype], f)
    small = w.mul(k, low) if correction is None else w.muladd(k, low, correction)
    small = w.muladd(s, w.add(half_square, rest), small)
    near = w.sub(f, w.sub(half_square, small))
    return w.muladd(k, w.like(HIGH[f.dtype], f), near)


def _with_specials(w: Writer, argument: Reg, result: Reg) -> Reg:
    """The logarithm of inf, 0, negative numbers and NaN."""
    zero = w.like(0.0, argument)
    finite = w.lt(argument, w.like(INFINITY, argument))
    result = w.select(finite, result, argument)
    undefined = w.select(w.eq(argument, zero), w.like(-INFINITY, argument), w.like(NAN, argument))
    return w.select(w.gt(argument, zero), result, undefined)


def log(w: Writer, x: Reg) -> Reg:
    """Natural logarithm."""
    k, m = normalized(w, x)
    return _with_specials(w, x, assembled(w, k, w.sub(m, w.like(1.0, x))))


def log1p(w: Writer, x: Reg) -> Reg:
    """log(1 + x) without loss near 0. What 1 + x loses by rounding is divided by 1 + x and added;
    of that quotient two digits matter, so a line stands for 1/m."""
    one = w.like(1.0, x)
    u = w.add(x, one)
    lost = w.select(w.ge(x, one), w.sub(one, w.sub(u, x)), w.sub(x, w.sub(u, one)))
    k, m = split(w, u)
    inverse = w.sub(w.like(2.06, x), m)
    correction = w.mul(w.mul(lost, _scale(w, u, m)), inverse)
    near = w.eq(k, w.like(0.0, x))
    f = w.select(near, x, w.sub(m, one))
    correction = w.select(near, w.like(0.0, x), correction)
    result = _with_specials(w, u, assembled(w, k, f, correction))
    return w.copysign(result, x)


def _scale(w: Writer, u: Reg, m: Reg) -> Reg:
    """m / u, a power of two, but not below the least normal one."""
    shift, bias = FRACTION[u.dtype], BIAS[u.dtype]
    exponent = w.sub(w.bits(m), w.bits(u))
    exponent = w.maximum(exponent, w.like(-((bias - 1) << shift), exponent))
    return w.unbits(w.add(exponent, w.like(bias << shift, exponent)))
