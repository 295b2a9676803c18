"""Signs, remainders, mantissas, exponents and divisors: NumPy's functions of the bits of traced numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ops.bits import frexp
from ...ops.scipy.bessel import i0 as bessel_i0
from ...ops.term import Term, Terms
from ..array import Array, implements, unknown
from .products import matmul
from .reductions import traced
from .shaping import core, expand_dims, squeeze
from .ufuncs import RULES, elementwise, rule

# ---- ufuncs

rule("copysign")(lambda m, x, y: m.copysign(x, y))
rule("signbit")(lambda m, x: m.lt(m.copysign(1.0, x), 0))
rule("nextafter")(lambda m, x, y: m.nextafter(x, y))
rule("spacing")(lambda m, x: m.spacing(x))
rule("ldexp")(lambda m, x, n: m.ldexp(x, n))
rule("gcd")(lambda m, x, y: m.gcd(x, y))
rule("lcm")(lambda m, x, y: m.lcm(x, y))


@rule("fmod")
def _fmod(m: Terms, x: Term, y: Term) -> Term:
    """The remainder with the sign of x; of whole numbers it is Python's, less y where their signs differ."""
    if x.value.type.is_float:
        return m.fmod(x, y)
    rest = m.mod(x, y)
    other = m.and_(m.ne(rest, 0), m.xor(m.lt(x, 0), m.lt(y, 0)))
    return m.select(other, rest - y, rest)


def _modf(m: Terms, x: Term) -> tuple[Term, Term]:
    """What is behind the point, and what is before it; both have the sign of x."""
    one = m.number(1.0, x.value.type)
    endless = m.eq(m.abs(x), math.inf)
    behind = m.fmod(m.select(endless, 0.0, x), one)
    return m.select(endless, m.copysign(0.0, x), behind), m.trunc(x)


def _frexp(m: Terms, x: Term) -> tuple[Term, Term]:
    mantissa, exponent = m.b.emit(frexp, x.value)
    return m(mantissa), m(exponent)


RULES["modf"], RULES["frexp"] = _modf, _frexp
RULES["divmod"] = lambda m, x, y: (m.floordiv(x, y), m.mod(x, y))


@implements(np.bitwise_count)
def bitwise_count(x: Any) -> Array:
    raise unknown("np.bitwise_count", ", which counts in uint8,")


@implements(np.matvec)
def matvec(x1: Any, x2: Any) -> Array:
    core("matvec", x1, x2, (-1, -2), (-1,))
    return squeeze(matmul(x1, expand_dims(x2, -1)), -1)


@implements(np.vecmat)
def vecmat(x1: Any, x2: Any) -> Array:
    core("vecmat", x1, x2, (-1,), (-2, -1))
    return squeeze(matmul(expand_dims(x1, -2), x2), -2)


# ---- functions


@implements(np.fix)
def fix(x: Any) -> Array:
    return elementwise(np.trunc, x)


@implements(np.isposinf)
def isposinf(x: Any) -> Array:
    return elementwise(np.equal, x, math.inf)


@implements(np.isneginf)
def isneginf(x: Any) -> Array:
    return elementwise(np.equal, x, -math.inf)


@implements(np.i0)
def i0(x: Any) -> Array:
    """The modified Bessel function of order 0."""
    now, y = traced(x)
    y = y if y.dtype.kind == "f" else y.astype(np.float64)
    return Array(now, now.emit(bessel_i0, y.value))


__all__ = ["fix", "i0"]
