"""Elementary functions: exponentials, logarithms, the cube root, trigonometric and error functions.

Pullbacks are given where what SymPy derives loses digits: 1 - tanh(x)^2 has none left at x = 36, 1 - x^2 few near
x = 1, and x^2 + y^2 overflows where its reciprocal is still a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.primitive import VECTORS
from .elementwise import Elementwise

PER_LOG_2, PER_LOG_10 = 1.4426950408889634, 0.4342944819032518


def _longdouble(f: Callable[..., Any]) -> Callable[..., Any]:
    """The NumPy meaning computed in extended precision, for formulas that lose digits in their own."""
    return lambda x: f(x.astype(np.longdouble)).astype(x.dtype)


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sech2(x):
    e = np.exp(-2 * np.abs(x))
    return 4 * e / (1 + e) ** 2


def _erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def _growing(slope: Callable[..., Any]) -> Callable[..., Any]:
    """The rule ct * slope of what overflows, such as exp; 0 where the cotangent is 0 and the slope infinite.

    Such a cotangent comes of what has stopped to depend on the argument: 1 / (1 + exp(-x)) far below 0, 1 / cosh(x).
    """
    return lambda m, ct, x, r: m.strong_mul(ct, slope(m, x, r))


def _logarithm(factor: float = 1.0, shift: float = 0.0) -> Callable[..., Any]:
    """The rule ct * factor / (x + shift); at infinity the slope is as small as can be, but not 0.

    For nothing has settled there: the slope of log(1 + exp(x)), where exp overflows, is infinite and not 0.
    """

    def rule(m, ct, x, r):
        under = m.minimum(shift + x if shift else x, _largest(x))
        return (ct if factor == 1.0 else ct * factor) / under

    return rule


def _largest(x: Any) -> float:
    dtype = x.value.type.numpy if hasattr(x, "value") else np.float64
    return float(np.finfo(dtype).max)


def _arctan_x(m, ct, x, r):
    """1 / (1 + x^2), which is 1/x^2 where the square is large and may overflow."""
    far = m.gt(m.abs(x), 1e9)
    near = m.select(far, 0, x)
    q = 1 / m.select(far, x, 1 + near * near)
    return ct * m.select(far, q * q, q)


def _arctan2_pulls(m, ct, y, x):
    """ct x / (x^2 + y^2) and ct y / (x^2 + y^2), for points of any size.

    Both are divided by big + small (small / big), where the quotient is at most 1 and neither square appears.
    Numerators and denominator are scaled by a power of two, so that the quotient keeps all its digits and the
    sum is finite. At the origin, where there is no angle, both are 0.
    """
    steep = m.gt(m.abs(y), m.abs(x))
    big, small = m.select(steep, y, x), m.select(steep, x, y)
    near = m.lt(m.abs(big), 1)
    big = m.select(m.eq(big, 0), math.inf, big)

    def scaled(v):
        return m.select(near, 2.0**53 * v, 0.5 * v)

    ratio = scaled(small) / big
    total = scaled(big) + small * ratio
    along, across = scaled(ct) / total, ct * (ratio / total)
    return m.select(steep, across, along), m.select(steep, along, across)


def _gauss_x(m, ct, x, r):
    """-2 x r; where r is nearly subnormal, or 0, by gauss(x) = gauss(x/2)^4, which keeps all digits.

    x is bounded only where r is 0: as mathematics that is nowhere, and formulas that are read out show x.
    """
    near = m.select(m.eq(r, 0), m.minimum(m.maximum(x, -40), 40), x)
    h = m.gauss(0.5 * near)
    return ct * m.select(m.eq(r * r, 0), -2 * near * h * h * h * h, -2 * near * r)


exp = Elementwise("exp", lambda m, x: m.exp(x), np.exp, pulls=(_growing(lambda m, x, r: r),), cost=15, again=VECTORS)
log = Elementwise(
    "log", lambda m, x: m.log(x), np.log, domain="positive", pulls=(_logarithm(),), cost=15, again=VECTORS
)
log1p = Elementwise(
    "log1p",
    lambda m, x: m.log1p(x),
    np.log1p,
    domain="above -1",
    pulls=(_logarithm(shift=1.0),),
    cost=15, again=VECTORS,
)
expm1 = Elementwise(
    "expm1", lambda m, x: m.expm1(x), np.expm1, pulls=(_growing(lambda m, x, r: m.exp(x)),),
    cost=15, again=VECTORS,
)
exp2 = Elementwise(
    "exp2",
    lambda m, x: m.exp2(x),
    np.exp2,
    pulls=(_growing(lambda m, x, r: math.log(2) * r),),
    cost=20, again=VECTORS,
)
log2 = Elementwise(
    "log2",
    lambda m, x: m.log2(x),
    np.log2,
    domain="positive",
    pulls=(_logarithm(PER_LOG_2),),
    cost=30, again=VECTORS,
)
log10 = Elementwise(
    "log10",
    lambda m, x: m.log10(x),
    np.log10,
    domain="positive",
    pulls=(_logarithm(PER_LOG_10),),
    cost=30,
)
cbrt = Elementwise(
    "cbrt",
    lambda m, x: m.cbrt(x),
    np.cbrt,
    domain="positive",
    pulls=(lambda m, ct, x, r: ct / (3 * (r * r)),),
    cost=30,
)
muladd = Elementwise(
    "muladd",
    lambda m, x, y, z: x * y + z,
    lambda x, y, z: x * y + z,
    domain="positive",
    pulls=(lambda m, ct, x, y, z, r: ct * y, lambda m, ct, x, y, z, r: ct * x, lambda m, ct, x, y, z, r: ct),
)
"""Of polynomials in formulas: the product is rounded or not, whichever is faster."""
sin = Elementwise("sin", lambda m, x: m.sin(x), np.sin, cost=20)
cos = Elementwise("cos", lambda m, x: m.cos(x), np.cos, cost=20)
tan = Elementwise("tan", lambda m, x: m.tan(x), np.tan, domain="between poles", cost=30)
arcsin = Elementwise(
    "arcsin",
    lambda m, x: m.arcsin(x),
    np.arcsin,
    domain="unit",
    safe=0.5,
    pulls=(lambda m, ct, x, r: ct * m.arcsin_slope(x),),
    cost=30,
)
arccos = Elementwise(
    "arccos",
    lambda m, x: m.arccos(x),
    np.arccos,
    domain="unit",
    safe=0.5,
    pulls=(lambda m, ct, x, r: -(ct * m.arcsin_slope(x)),),
    cost=30,
)
arctan = Elementwise("arctan", lambda m, x: m.arctan(x), np.arctan, pulls=(_arctan_x,), cost=30)
arctan2 = Elementwise(
    "arctan2",
    lambda m, y, x: m.arctan2(y, x),
    np.arctan2,
    pulls=(
        lambda m, ct, y, x, r: _arctan2_pulls(m, ct, y, x)[0],
        lambda m, ct, y, x, r: -_arctan2_pulls(m, ct, y, x)[1],
    ),
    cost=30,
)
sinh = Elementwise(
    "sinh", lambda m, x: m.sinh(x), np.sinh, pulls=(_growing(lambda m, x, r: m.cosh(x)),),
    cost=20,
)
cosh = Elementwise(
    "cosh", lambda m, x: m.cosh(x), np.cosh, pulls=(_growing(lambda m, x, r: m.sinh(x)),),
    cost=20,
)
tanh = Elementwise(
    "tanh",
    lambda m, x: m.tanh(x),
    np.tanh,
    pulls=(lambda m, ct, x, r: ct * m.sech2(x),),
    cost=15, again=VECTORS, family="exp(-2|x|)",
)
sech2 = Elementwise(
    "sech2",
    lambda m, x: m.sech2(x),
    _longdouble(_sech2),
    pulls=(lambda m, ct, x, r: ct * (-2 * m.tanh(x) * r),),
    cost=15, again=VECTORS, family="exp(-2|x|)",
)
sigmoid = Elementwise(
    "sigmoid",
    lambda m, x: m.sigmoid(x),
    _longdouble(_sigmoid),
    pulls=(lambda m, ct, x, r: ct * (r * m.sigmoid(-x)),),
    cost=15, again=VECTORS, family="exp(-|x|)",
)
softplus = Elementwise(
    "softplus",
    lambda m, x: m.softplus(x),
    _longdouble(_softplus),
    pulls=(lambda m, ct, x, r: ct * m.sigmoid(x),),
    cost=20, family="exp(-|x|)",
)
erf = Elementwise(
    "erf",
    lambda m, x: m.erf(x),
    _erf,
    pulls=(lambda m, ct, x, r: ct * (2 / math.sqrt(math.pi) * m.gauss(x)),),
    cost=25,
)
gauss = Elementwise(
    "gauss",
    lambda m, x: m.gauss(x),
    _longdouble(lambda x: np.exp(-x * x)),
    pulls=(_gauss_x,),
    cost=15,
)
