"""SymPy's special functions, by the name of their class, as formulas over the functions of `scipy.special`.

    SPECIAL["uppergamma"](m, s, x)      over any algebra that has these and the primitives as methods
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

GOLDEN = (1 + math.sqrt(5)) / 2
EULER = 0.57721566490153286061
HALF_PI = math.pi / 2
LOG_2 = math.log(2)


def _spherical(name: str) -> Callable[..., Any]:
    return lambda m, n, x: m.sqrt(HALF_PI / x) * getattr(m, name)(n + 0.5, x)


def _part(name: str, k: int) -> Callable[..., Any]:
    """The result numbered k of a function that has several."""
    return lambda m, x: getattr(m, name)(x)[k]


def _fibonacci(m: Any, n: Any) -> Any:
    return (m.pow(GOLDEN, n) - m.cos(math.pi * n) * m.pow(GOLDEN, -n)) / math.sqrt(5)


def _expint(m: Any, n: Any, x: Any = None) -> Any:
    return m.exp1(n) if x is None else m.expn(n, x)


def _harmonic(m: Any, n: Any, order: Any = None) -> Any:
    return m.psi(n + 1.0) + EULER if order is None else m.zeta(order, 1.0) - m.zeta(order, n + 1.0)


def _elliptic_e(m: Any, z: Any, k: Any = None) -> Any:
    return m.ellipe(z) if k is None else m.ellipeinc(z, k)


def _elliptic_pi(m: Any, n: Any, z: Any, k: Any = None) -> Any:
    """Carlson's forms: DLMF 19.25.1 and 19.25.14, the latter for |z| <= pi / 2."""
    if k is None:
        return m.elliprf(0.0, 1.0 - z, 1.0) + n / 3.0 * m.elliprj(0.0, 1.0 - z, 1.0, 1.0 - n)
    s, c = m.sin(z), m.cos(z)
    q, w = 1.0 - k * s * s, 1.0 - n * s * s
    return s * m.elliprf(c * c, q, 1.0) + n / 3.0 * s * s * s * m.elliprj(c * c, q, 1.0, w)


def _betainc(m: Any, a: Any, b: Any, low: Any, high: Any) -> Any:
    return m.beta(a, b) * _regularized(m, a, b, low, high)


def _regularized(m: Any, a: Any, b: Any, low: Any, high: Any) -> Any:
    return m.betainc(a, b, high) - m.betainc(a, b, low)


def _zeta(m: Any, s: Any, a: Any = None) -> Any:
    """SciPy has Hurwitz's function above 1 only, and Riemann's everywhere."""
    return 1.0 + m.zetac(s) if a is None else m.hurwitz(s, a)


def _double_factorial(m: Any, n: Any) -> Any:
    """2**(n/2) gamma(n/2 + 1), times sqrt(2/pi) where n is odd."""
    odd = 0.25 * (1.0 - m.cos(math.pi * n))
    return m.exp2(0.5 * n) * m.gamma(0.5 * n + 1.0) * m.pow(2 / math.pi, odd)


def _logaddexp2(m: Any, x: Any, y: Any) -> Any:
    """Of what log2 has, by the natural logarithm of 1 + exp: the larger one stays as it is."""
    up, down = m.softplus((y - x) * LOG_2) / LOG_2, m.softplus((x - y) * LOG_2) / LOG_2
    return m.select(m.gt(x, y), x + up, y + down)


SPECIAL: dict[str, Callable[..., Any]] = {
    # powers, roots and parts
    "Rem": lambda m, x, y: m.fmod(x, y),
    "sinc": lambda m, x: m.sinc(x, n=0),
    "acot": lambda m, x: m.arctan(1 / x),
    "asec": lambda m, x: m.arccos(1 / x),
    "acsc": lambda m, x: m.arcsin(1 / x),
    "acoth": lambda m, x: m.arctanh(1 / x),
    "asech": lambda m, x: m.arccosh(1 / x),
    "acsch": lambda m, x: m.arcsinh(1 / x),
    "ITE": lambda m, p, x, y: m.select(p, x, y),
    "Nand": lambda m, *ps: m.not_(_all(m, ps)),
    "Nor": lambda m, *ps: m.not_(_any(m, ps)),
    "Implies": lambda m, p, q: m.or_(m.not_(p), q),
    "Equivalent": lambda m, p, *qs: _all(m, [m.not_(m.xor(p, q)) for q in qs]),
    "KroneckerDelta": lambda m, i, j: m.select(m.eq(i, j), 1.0, 0.0),
    "UnevaluatedExpr": lambda m, x: x,
    # what codegen has for floats
    "log1p": lambda m, x: m.log1p(x),
    "expm1": lambda m, x: m.expm1(x),
    "exp2": lambda m, x: m.exp2(x),
    "log2": lambda m, x: m.log2(x),
    "log10": lambda m, x: m.log10(x),
    "fma": lambda m, x, y, z: x * y + z,
    "hypot": lambda m, x, y: m.hypot(x, y),
    "Sqrt": lambda m, x: m.sqrt(x),
    "Cbrt": lambda m, x: m.cbrt(x),
    "cosm1": lambda m, x: -2.0 * m.sin(0.5 * x) * m.sin(0.5 * x),
    "powm1": lambda m, x, y: m.expm1(y * m.log(x)),
    "logaddexp": lambda m, x, y: m.select(m.gt(x, y), x + m.softplus(y - x), y + m.softplus(x - y)),
    "logaddexp2": _logaddexp2,
    "maximum": lambda m, *xs: reduce(m.maximum, xs),
    "minimum": lambda m, *xs: reduce(m.minimum, xs),
    "isnan": lambda m, x: m.ne(x, x),
    "isinf": lambda m, x: m.eq(m.abs(x), math.inf),
    # the gamma family
    "gamma": lambda m, x: m.gamma(x),
    "loggamma": lambda m, x: m.loggamma(x),
    "digamma": lambda m, x: m.psi(x),
    "trigamma": lambda m, x: m.polygamma(x, n=1),
    "beta": lambda m, x, y=None: m.beta(x, x if y is None else y),
    "factorial": lambda m, x: m.gamma(x + 1.0),
    "factorial2": _double_factorial,
    "binomial": lambda m, n, k: m.binom(n, k),
    "RisingFactorial": lambda m, x, n: m.poch(x, n),
    "FallingFactorial": lambda m, x, n: m.poch(x - n + 1.0, n),
    "harmonic": _harmonic,
    "catalan": lambda m, n: m.pow(4.0, n) * m.gamma(n + 0.5) / (math.sqrt(math.pi) * m.gamma(n + 2.0)),
    "fibonacci": _fibonacci,
    "lucas": lambda m, n: m.pow(GOLDEN, n) + m.cos(math.pi * n) * m.pow(GOLDEN, -n),
    "lowergamma": lambda m, s, x: m.gamma(s) * m.gammainc(s, x),
    "uppergamma": lambda m, s, x: m.gamma(s) * m.gammaincc(s, x),
    "betainc": _betainc,
    "betainc_regularized": _regularized,
    "zeta": _zeta,
    "dirichlet_eta": lambda m, s: m.expm1((1.0 - s) * LOG_2) * -_zeta(m, s),
    # error functions and integrals
    "erfc": lambda m, x: m.erfc(x),
    "erfi": lambda m, x: m.erfi(x),
    "erf2": lambda m, x, y: m.erf(y) - m.erf(x),
    "erfinv": lambda m, x: m.erfinv(x),
    "erfcinv": lambda m, x: m.erfcinv(x),
    "erf2inv": lambda m, x, y: m.erfinv(m.erf(x) + y),
    "Ei": lambda m, x: m.expi(x),
    "E1": lambda m, x: m.exp1(x),
    "expint": _expint,
    "li": lambda m, x: m.expi(m.log(x)),
    "Li": lambda m, x: m.expi(m.log(x)) - 1.04516378011749278484,
    "Si": _part("sici", 0),
    "Ci": _part("sici", 1),
    "Shi": _part("shichi", 0),
    "Chi": _part("shichi", 1),
    "fresnels": _part("fresnel", 0),
    "fresnelc": _part("fresnel", 1),
    "LambertW": lambda m, x: m.lambertw(x),
    # Bessel functions and their kin
    "besselj": lambda m, n, x: m.jv(n, x),
    "bessely": lambda m, n, x: m.yv(n, x),
    "besseli": lambda m, n, x: m.iv(n, x),
    "besselk": lambda m, n, x: m.kv(n, x),
    "jn": _spherical("jv"),
    "yn": _spherical("yv"),
    "airyai": _part("airy", 0),
    "airyaiprime": _part("airy", 1),
    "airybi": _part("airy", 2),
    "airybiprime": _part("airy", 3),
    # elliptic integrals
    "elliptic_k": lambda m, k: m.ellipk(k),
    "elliptic_e": _elliptic_e,
    "elliptic_f": lambda m, z, k: m.ellipkinc(z, k),
    "elliptic_pi": _elliptic_pi,
    # orthogonal polynomials
    "legendre": lambda m, n, x: m.eval_legendre(n, x),
    "assoc_legendre": lambda m, n, k, x: m.lpmv(k, n, x),
    "chebyshevt": lambda m, n, x: m.eval_chebyt(n, x),
    "chebyshevu": lambda m, n, x: m.eval_chebyu(n, x),
    "hermite": lambda m, n, x: m.eval_hermite(n, x),
    "hermite_prob": lambda m, n, x: m.eval_hermitenorm(n, x),
    "laguerre": lambda m, n, x: m.eval_laguerre(n, x),
    "assoc_laguerre": lambda m, n, a, x: m.eval_genlaguerre(n, a, x),
    "gegenbauer": lambda m, n, a, x: m.eval_gegenbauer(n, a, x),
    "jacobi": lambda m, n, a, b, x: m.eval_jacobi(n, a, b, x),
}

FIXED = {
    ("besselj", 0): lambda m, x: m.bessel_j0(x),
    ("besselj", 1): lambda m, x: m.bessel_j1(x),
    ("bessely", 0): lambda m, x: m.bessel_y0(x),
    ("bessely", 1): lambda m, x: m.bessel_y1(x),
    ("besseli", 0): lambda m, x: m.i0(x),
    ("besseli", 1): lambda m, x: m.i1(x),
    ("besselk", 0): lambda m, x: m.modified_bessel_k0(x),
    ("besselk", 1): lambda m, x: m.modified_bessel_k1(x),
}
"""Functions of a first argument that is this whole number, as native code."""

WHOLE = ("hermite", "hermite_prob")
"""What SciPy has for whole first arguments only."""

_REDUCES = "is a number made of a whole array, and an expression is computed element by element"
_COMPLEX, _MATHIEU = "has complex values", "is known to SciPy by its order only, not by its characteristic value"

REFUSED = {
    "hankel1": _COMPLEX, "hankel2": _COMPLEX,
    "mathieuc": _MATHIEU, "mathieus": _MATHIEU, "mathieucprime": _MATHIEU, "mathieusprime": _MATHIEU,
    "marcumq": "is 1 - chndtr(b**2, 2*m, a**2) in SciPy, whose digits are lost where it is small",
    "lerchphi": "is no function of SciPy's", "appellf1": "is no function of SciPy's",
    "stieltjes": "is no function of SciPy's", "bernoulli": "is computed for whole numbers only",
    "amax": _REDUCES, "amin": _REDUCES,
}  # fmt: skip
"""Why functions of SymPy's are not computed, by their names."""

OTHERS = {
    "Order": "it stands for terms that are left out: expr.removeO() drops it",
    "AccumulationBounds": "it is a range: pass its ends",
    "Quaternion": "it has four parts: pass [q.a, q.b, q.c, q.d]",
    **dict.fromkeys(
        ("VectorAdd", "VectorMul", "BaseVector", "VectorZero"), "it is a vector: pass v.to_matrix(frame)"
    ),
    **dict.fromkeys(("TransferFunction", "Series", "Parallel", "Feedback"), "it is a system: pass expr.to_expr()"),
    "Quantity": "it is a unit: divide by it, after sympy.physics.units.convert_to",
    "FourierSeries": "it has no end: pass the first terms, series.truncate(5)",
    "FormalPowerSeries": "it has no end: pass the first terms, series.truncate(5).removeO()",
    "RandomSymbol": "it is a random variable: pass sympy.stats.density(X)(x), or x in place of X",
}  # fmt: skip
"""What to do about parts that are no numbers, by the names of their classes."""

COMPLEX = {
    "re": lambda m, x: m.real(x),
    "im": lambda m, x: m.imag(x),
    "conjugate": lambda m, x: m.conj(x),
    "arg": lambda m, x: m.arctan2(m.imag(x), m.real(x)),
}
"""What tells real and imaginary parts apart."""

REAL = {
    "re": lambda m, x: x,
    "im": lambda m, x: 0.0 * x,
    "conjugate": lambda m, x: x,
    "arg": lambda m, x: m.select(m.lt(x, 0), math.pi, 0.0 * x),
}
"""The same of real numbers."""


def _all(m: Any, ps: Any) -> Any:
    made = True
    for p in ps:
        made = p if made is True else m.and_(made, p)
    return made


def _any(m: Any, ps: Any) -> Any:
    made = False
    for p in ps:
        made = p if made is False else m.or_(made, p)
    return made


__all__ = ["COMPLEX", "FIXED", "OTHERS", "REAL", "REFUSED", "SPECIAL", "WHOLE"]
