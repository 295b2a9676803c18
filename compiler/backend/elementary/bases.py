"""exp2, log2, log10 and cbrt of f64, of which powers of the base are exact."""

from __future__ import annotations

from ..text.registers import Reg
from ..text.writer import Writer
from . import coefficients
from .exponential import Reduced, assembled, exp
from .logarithm import log
from .parts import (
    BIAS,
    FRACTION,
    INFINITY,
    NAN,
    clamp_above,
    clamp_below,
    polynomial,
    product_error,
    remainder,
    scaled,
    two_product,
)
from .power import accurate_log

LOG2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
PER_LOG2 = (float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56"))
PER_LOG10 = (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57"))


def exp2(w: Writer, x: Reg) -> Reg:
    """2**x."""
    inside = clamp_above(w, clamp_below(w, x, -1080.0), 1025.0)
    magic = w.like(1.5 * 2.0 ** FRACTION["f64"] + 2 * BIAS["f64"], x)
    moved = w.add(inside, magic)
    fraction = w.sub(inside, w.sub(moved, magic))
    r = w.muladd(fraction, w.like(LOG2[1], x), w.mul(fraction, w.like(LOG2[0], x)))
    curve = polynomial(w, r, coefficients.EXP)
    minus_one = w.muladd(w.mul(r, r), curve, r)
    return assembled(w, Reduced(minus_one, moved, r, curve))


def _logarithm(w: Writer, x: Reg, per_log: tuple[float, float]) -> Reg:
    """log(x) times a number known to twice the digits."""
    high, low = accurate_log(w, x)
    factor = w.like(per_log[0], x)
    product = w.mul(high, factor)
    lost = w.muladd(high, w.like(per_log[1], x), product_error(w, high, factor, product))
    result = w.add(product, w.muladd(low, factor, lost))
    result = w.select(w.lt(w.abs(high), w.like(INFINITY, x)), result, high)
    return w.select(w.lt(x, w.like(0.0, x)), w.like(NAN, x), result)


def log2(w: Writer, x: Reg) -> Reg:
    """Logarithm to the base 2."""
    return _logarithm(w, x, PER_LOG2)


def log10(w: Writer, x: Reg) -> Reg:
    """Logarithm to the base 10."""
    return _logarithm(w, x, PER_LOG10)


def cbrt(w: Writer, x: Reg) -> Reg:
    """Cube root: a step of Newton's iteration from exp(log|x| / 3). Small and large x are scaled,
    so that in the iteration nothing is denormal or overflows."""
    magnitude, one = w.abs(x), w.like(1.0, x)
    tiny, huge = (w.lt(magnitude, w.like(2.0**-600, x)), w.gt(magnitude, w.like(2.0**600, x)))

    def scale(up: float, down: float) -> Reg:
        return w.select(tiny, w.like(up, x), w.select(huge, w.like(down, x), one))

    cube = w.mul(magnitude, scale(2.0**300, 2.0**-300))
    root = exp(w, scaled(w, log(w, cube), 1 / 3))
    square, lost = two_product(w, root, root)
    rest = w.sub(remainder(w, cube, square, root), w.mul(lost, root))
    better = w.add(root, w.div(rest, scaled(w, square, 3.0)))
    better = w.mul(better, scale(2.0**-100, 2.0**100))
    regular = w.and_(w.gt(magnitude, w.like(0.0, x)), w.lt(magnitude, w.like(INFINITY, x)))
    return w.select(regular, w.copysign(better, x), x)
