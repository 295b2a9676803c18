"""erf: a polynomial up to 1, beyond it 1 - exp(-x*x) times a polynomial in 1 / (1 + x/2)."""

from __future__ import annotations

from ..text.registers import Reg
from ..text.writer import Writer
from . import coefficients
from .exponential import gauss
from .parts import polynomial


def erf(w: Writer, x: Reg) -> Reg:
    """The error function. The exponential is the one of gauss, which is erf's derivative."""
    magnitude, one = w.abs(x), w.like(1.0, x)
    z = w.mul(magnitude, magnitude)
    near = w.muladd(magnitude, polynomial(w, z, coefficients.ERF_NEAR), magnitude)
    t = w.div(one, w.muladd(magnitude, w.like(0.5, x), one))
    tail = w.mul(t, polynomial(w, t, coefficients.ERF_FAR))
    far = w.muladd(w.neg(gauss(w, x)), tail, one)
    return w.copysign(w.select(w.lt(magnitude, one), near, far), x)
