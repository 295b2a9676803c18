"""arctan, arctan2, arcsin and arccos of f64. A quotient or root is followed by what it lost by
rounding, and multiples of pi/4 are added as sums of two numbers."""

from __future__ import annotations

from typing import NamedTuple

from ..text.registers import Reg
from ..text.writer import Writer
from . import coefficients
from .parts import INFINITY, clamp_above, polynomial, remainder, scaled, two_sum

# pi/4 in two parts; small multiples of the first are exact.
QUARTER_HIGH = float.fromhex("0x1.921fb54442d00p-1")
QUARTER_LOW = float.fromhex("0x1.8469898cc5170p-49")

TAN_EIGHTH = 0.41421356237309503


class Angle(NamedTuple):
    """multiple * pi/4 + (high + low), or minus the latter where `minus` holds."""

    multiple: Reg
    high: Reg
    low: Reg
    minus: Reg

    def sum(self, w: Writer) -> Reg:
        """The angle as one number."""
        high = w.select(self.minus, w.neg(self.high), self.high)
        low = w.select(self.minus, w.neg(self.low), self.low)
        total, lost = two_sum(w, w.mul(self.multiple, w.like(QUARTER_HIGH, high)), high)
        rest = w.muladd(self.multiple, w.like(QUARTER_LOW, high), lost)
        return w.add(total, w.add(rest, low))


def _first_quadrant(w: Writer, n: Reg, d: Reg) -> Angle:
    """The angle whose tangent is n/d, for n and d that are finite, positive and not both 0: that of
    the smaller over the greater, or beyond tan(pi/8) that of (n - d) / (n + d) and pi/4."""
    zero = w.like(0.0, n)
    swapped = w.gt(n, d)
    small, big = w.select(swapped, d, n), w.select(swapped, n, d)
    turned = w.gt(small, scaled(w, big, TAN_EIGHTH))
    less, less_low = two_sum(w, small, w.neg(big))
    more, more_low = two_sum(w, small, big)
    top, top_low = w.select(turned, less, small), w.select(turned, less_low, zero)
    below, below_low = w.select(turned, more, big), w.select(turned, more_low, zero)
    t = w.div(top, below)
    rest = w.add(remainder(w, top, t, below), w.muladd(w.neg(t), below_low, top_low))
    z = w.mul(t, t)
    curve = w.mul(w.mul(z, t), polynomial(w, z, coefficients.ATAN))
    eighths = w.select(turned, w.like(1.0, n), zero)
    multiple = w.select(swapped, w.sub(w.like(2.0, n), eighths), eighths)
    return Angle(multiple, t, w.add(curve, w.div(rest, below)), swapped)


def arctan(w: Writer, x: Reg) -> Reg:
    """The angle between -pi/2 and pi/2 with a tangent."""
    magnitude = clamp_above(w, w.abs(x), 2.0**100)
    return w.copysign(_first_quadrant(w, magnitude, w.like(1.0, x)).sum(w), x)


def arctan2(w: Writer, y: Reg, x: Reg) -> Reg:
    """The angle of the point (x, y), signs of zeros and infinities included."""
    n, d = _comparable(w, w.abs(y), w.abs(x))
    angle = _first_quadrant(w, n, d)
    left = w.lt(w.copysign(w.like(1.0, x), x), w.like(0.0, x))
    multiple = w.select(left, w.sub(w.like(4.0, x), angle.multiple), angle.multiple)
    mirrored = angle._replace(multiple=multiple, minus=w.xor(angle.minus, left))
    return w.copysign(mirrored.sum(w), y)


def _comparable(w: Writer, n: Reg, d: Reg) -> tuple[Reg, Reg]:
    """Two numbers with the same quotient whose sum is neither infinite nor 0 nor denormal."""
    infinity, zero, one = w.like(INFINITY, n), w.like(0.0, n), w.like(1.0, n)
    endless = w.or_(w.eq(n, infinity), w.eq(d, infinity))

    def finite(x: Reg) -> Reg:
        return w.select(endless, w.select(w.eq(x, infinity), one, w.mul(x, zero)), x)

    n, d = finite(n), finite(d)
    d = w.select(w.and_(w.eq(n, zero), w.eq(d, zero)), one, d)
    big = w.select(w.gt(n, d), n, d)
    up, down = w.lt(big, w.like(2.0**-800, n)), w.gt(big, w.like(2.0**800, n))
    scale = w.select(up, w.like(2.0**200, n), w.select(down, w.like(2.0**-300, n), one))
    return w.mul(n, scale), w.mul(d, scale)


def _near_one(w: Writer, magnitude: Reg) -> tuple[Reg, Reg]:
    """arcsin(sqrt((1 - x) / 2)), half of arccos(x), for x >= 1/2, as root and rest."""
    z = w.muladd(magnitude, w.like(-0.5, magnitude), w.like(0.5, magnitude))
    root = w.sqrt(z)
    double = w.add(root, root)
    safe = w.select(w.eq(root, w.like(0.0, z)), w.like(1.0, z), double)
    lost = w.div(remainder(w, z, root, root), safe)
    curve = w.mul(w.mul(z, root), polynomial(w, z, coefficients.ASIN))
    return root, w.add(lost, curve)


def _arcsine(w: Writer, x: Reg) -> tuple[Reg, Reg, Reg, Reg]:
    """Whether |x| <= 1/2, what is added to x then, and root and rest of `_near_one` otherwise."""
    magnitude, z = w.abs(x), w.mul(x, x)
    curve = w.mul(w.mul(z, x), polynomial(w, z, coefficients.ASIN))
    return w.le(magnitude, w.like(0.5, x)), curve, *_near_one(w, magnitude)


def arcsin(w: Writer, x: Reg) -> Reg:
    """The angle between -pi/2 and pi/2 with a sine: x + ..., or pi/2 - 2 arcsin(root)."""
    central, curve, root, rest = _arcsine(w, x)
    double, double_rest = w.add(root, root), w.add(rest, rest)
    two, yes = w.like(2.0, x), w.splat(w.number(True, "bool"), x.width)
    outer = Angle(two, double, double_rest, yes).sum(w)
    return w.select(central, w.add(x, curve), w.copysign(outer, x))


def arccos(w: Writer, x: Reg) -> Reg:
    """The angle between 0 and pi with a cosine: pi/2 - arcsin(x), 2 arcsin(root) or pi less that."""
    central, curve, root, rest = _arcsine(w, x)
    zero = w.like(0.0, x)
    positive = w.gt(x, zero)
    turns = w.select(positive, zero, w.like(4.0, x))
    return Angle(
        w.select(central, w.like(2.0, x), turns),
        w.select(central, x, w.add(root, root)),
        w.select(central, curve, w.add(rest, rest)),
        w.or_(central, w.not_(positive)),
    ).sum(w)
