"""sinh and cosh of f64, from exp(|x|) / 2 and its reciprocal."""

from __future__ import annotations

from ..text.registers import Reg
from ..text.writer import Writer
from . import coefficients
from .exponential import reduced, scales
from .parts import clamp_above, polynomial, scaled

# Beyond this both are infinite.
GREATEST = 711.0


def _half_exponential(w: Writer, x: Reg) -> Reg:
    """exp(|x|) / 2, which may be finite where exp(|x|) is not."""
    parts = reduced(w, clamp_above(w, w.abs(x), GREATEST))
    low, high = scales(w, parts.moved)
    return w.mul(w.muladd(parts.minus_one, low, low), scaled(w, high, 0.5))


def sinh(w: Writer, x: Reg) -> Reg:
    """Hyperbolic sine; up to 1 a polynomial, because the difference would lose digits."""
    half = _half_exponential(w, x)
    outer = w.sub(half, w.div(w.like(0.25, x), half))
    z = w.mul(x, x)
    inner = w.muladd(w.mul(z, x), polynomial(w, z, coefficients.SINH), x)
    return w.select(w.lt(w.abs(x), w.like(1.0, x)), inner, w.copysign(outer, x))


def cosh(w: Writer, x: Reg) -> Reg:
    """Hyperbolic cosine."""
    half = _half_exponential(w, x)
    return w.add(half, w.div(w.like(0.25, x), half))
