"""Elementary functions: exponentials, logarithms, trigonometric and error functions.

The pullbacks of tanh, sigmoid, softplus and erf are given, because what SymPy derives loses digits where the
function saturates: 1 - tanh(x)^2 has none left at x = 36.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import Elementwise


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


def _gauss_x(m, ct, x, r):
    """-2 x r; where r is nearly subnormal, or 0, by gauss(x) = gauss(x/2)^4, which keeps all digits."""
    near = m.minimum(m.maximum(x, -40), 40)
    h = m.gauss(0.5 * near)
    return ct * m.select(m.eq(r * r, 0), -2 * near * h * h * h * h, -2 * near * r)


exp = Elementwise("exp", lambda m, x: m.exp(x), np.exp)
log = Elementwise(
    "log", lambda m, x: m.log(x), np.log, domain="positive", pulls=(lambda m, ct, x, r: ct / x,)
)
log1p = Elementwise(
    "log1p",
    lambda m, x: m.log1p(x),
    np.log1p,
    domain="above -1",
    pulls=(lambda m, ct, x, r: ct / (1 + x),),
)
expm1 = Elementwise(
    "expm1", lambda m, x: m.expm1(x), np.expm1, pulls=(lambda m, ct, x, r: ct * m.exp(x),)
)
sin = Elementwise("sin", lambda m, x: m.sin(x), np.sin, bounded=True)
cos = Elementwise("cos", lambda m, x: m.cos(x), np.cos, bounded=True)
tanh = Elementwise(
    "tanh",
    lambda m, x: m.tanh(x),
    np.tanh,
    bounded=True,
    pulls=(lambda m, ct, x, r: ct * m.sech2(x),),
)
sech2 = Elementwise(
    "sech2",
    lambda m, x: m.sech2(x),
    _longdouble(_sech2),
    bounded=True,
    pulls=(lambda m, ct, x, r: ct * (-2 * m.tanh(x) * r),),
)
sigmoid = Elementwise(
    "sigmoid",
    lambda m, x: m.sigmoid(x),
    _longdouble(_sigmoid),
    bounded=True,
    pulls=(lambda m, ct, x, r: ct * (r * m.sigmoid(-x)),),
)
softplus = Elementwise(
    "softplus",
    lambda m, x: m.softplus(x),
    _longdouble(_softplus),
    bounded=True,
    pulls=(lambda m, ct, x, r: ct * m.sigmoid(x),),
)
erf = Elementwise(
    "erf",
    lambda m, x: m.erf(x),
    _erf,
    bounded=True,
    pulls=(lambda m, ct, x, r: ct * (2 / math.sqrt(math.pi) * m.gauss(x)),),
)
gauss = Elementwise(
    "gauss",
    lambda m, x: m.gauss(x),
    _longdouble(lambda x: np.exp(-x * x)),
    pulls=(_gauss_x,),
)
