"""Slopes of SciPy's elliptic and hypergeometric functions, orthogonal polynomials, integrals and small functions.

Formulas: NIST Digital Library of Mathematical Functions, chapters 6, 13, 15, 18, 19 and 22.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .called import NATIVE, TABLE, UNKNOWN, many, one, same, slopes_of

DEGREE = math.pi / 180

# ---- elliptic integrals and functions


def _first_kind(m: Any, param: Any, r: Any) -> Any:
    half = m.one(param)
    return math.pi / 8 * m.hyp2f1(1.5 * half, 1.5 * half, 2.0 * half, param)


def _near_one(m: Any, p: Any, r: Any) -> Any:
    """By its equation where p is small, else by the series at p = 1."""
    low = m.lt(p, 0.5)
    small = m.select(low, p, 0.25)
    near = (small * r - m.ellipe(1.0 - small)) / (2.0 * small * (1.0 - small))
    return m.select(low, near, -_first_kind(m, m.select(low, 0.5, 1.0 - p), r))


def _carlson(factor: float, **more: int) -> Callable[..., Any]:
    return lambda m, x, y, z, p: factor * m.carlson(x, y, z, p, **{**dict.fromkeys("ijklt", 0), **more})


_RF, _RD, _RJ = _carlson(0.5), _carlson(1.5, k=1), _carlson(1.5, l=1)
_RG = [_carlson(0.125, t=1, **{letter: 1}) for letter in "ijk"]


def _amplitude(m: Any, param: Any, dn: Any, phi: Any) -> Any:
    """How the amplitude moves with the parameter where u = F(phi, m) stays."""
    return -(0.5 * dn * m.elliptic(phi, param, i=1, k=1))


TABLE.update(
    ellipk=one(_first_kind),
    ellipkm1=one(_near_one),
    ellipe=one(lambda m, x, r: -math.pi / 8 * m.hyp2f1(0.5 * m.one(x), 1.5 * m.one(x), 2.0 * m.one(x), x)),
    ellipkinc=one(
        lambda m, phi, x, r: 1.0 / m.sqrt(1.0 - x * (m.sin(phi) * m.sin(phi))),
        lambda m, phi, x, r: 0.5 * m.elliptic(phi, x, i=1, k=1),
    ),
    ellipeinc=one(
        lambda m, phi, x, r: m.sqrt(1.0 - x * (m.sin(phi) * m.sin(phi))),
        lambda m, phi, x, r: -0.5 * m.elliptic(phi, x, i=1, k=0),
    ),
    elliprc=same(lambda m, x, y: _RF(m, x, y, y, y)),
    elliprf=same(lambda m, x, y, z: _RF(m, x, y, z, z)),
    elliprd=same(lambda m, x, y, z: _RD(m, x, y, z, z)),
    elliprj=same(lambda m, x, y, z, p: _RJ(m, x, y, z, p)),
    elliprg=one(*[lambda m, x, y, z, r, f=f: f(m, x, y, z, z) for f in _RG]),
    ellipj=many(
        (lambda m, u, x, sn, cn, dn, ph: cn * dn, lambda m, u, x, sn, cn, dn, ph: cn * _amplitude(m, x, dn, ph)),
        (lambda m, u, x, sn, cn, dn, ph: -(sn * dn), lambda m, u, x, sn, cn, dn, ph: -(sn * _amplitude(m, x, dn, ph))),
        (
            lambda m, u, x, sn, cn, dn, ph: -(x * sn * cn),
            lambda m, u, x, sn, cn, dn, ph: -(sn * (0.5 * sn + x * cn * _amplitude(m, x, dn, ph)) / dn),
        ),
        (lambda m, u, x, sn, cn, dn, ph: dn, lambda m, u, x, sn, cn, dn, ph: _amplitude(m, x, dn, ph)),
    ),
    agm=same(
        lambda m, a, b: math.pi / 4 * (a + b) / m.ellipk((a - b) * (a - b) / ((a + b) * (a + b)))
    ),
)  # fmt: skip

# ---- hypergeometric functions


TABLE.update(
    hyp0f1=one(UNKNOWN, lambda m, v, x, r: m.hyp0f1(v + 1.0, x) / v),
    hyp1f1=one(UNKNOWN, UNKNOWN, lambda m, a, b, x, r: a / b * m.hyp1f1(a + 1.0, b + 1.0, x)),
    hyp2f1=one(
        UNKNOWN, UNKNOWN, UNKNOWN,
        lambda m, a, b, c, x, r: a * b / c * m.hyp2f1(a + 1.0, b + 1.0, c + 1.0, x),
    ),
    hyperu=one(UNKNOWN, UNKNOWN, lambda m, a, b, x, r: -(a * m.hyperu(a + 1.0, b + 1.0, x))),
    wright_bessel=one(UNKNOWN, UNKNOWN, lambda m, a, b, x, r: m.wright_bessel(a, a + b, x)),
    log_wright_bessel=one(UNKNOWN, UNKNOWN, lambda m, a, b, x, r: m.exp(m.log_wright_bessel(a, a + b, x) - r)),
    lpmv=one(
        None, UNKNOWN,
        lambda m, order, v, x, r: (v * x * r - (v + order) * m.lpmv(order, v - 1.0, x)) / (x * x - 1.0),
    ),
)  # fmt: skip

# ---- orthogonal polynomials: the derivative is one of another family, of a degree less


def _lower(name: str, *parameters: float, factor: Callable[..., Any], inner: Any = None) -> Callable[..., Any]:
    """factor(n) * name(n - 1, *parameters, inner(x)), which is nothing for a degree of zero."""

    def slope(m: Any, n: Any, x: Any, r: Any) -> Any:
        less, degree = n - (1.0 if n.value.type.is_float else 1), m.real(n, x)
        made = factor(degree) * getattr(m, name)(less, *parameters, x if inner is None else inner(x))
        return m.select(m.eq(degree, 0.0), 0.0, made)

    return slope


def _jacobi(m: Any, n: Any, a: Any, b: Any, x: Any, r: Any) -> Any:
    less, degree = n - (1.0 if n.value.type.is_float else 1), m.real(n, x)
    made = 0.5 * (degree + a + b + 1.0) * m.eval_jacobi(less, a + 1.0, b + 1.0, x)
    return m.select(m.eq(degree, 0.0), 0.0, made)


def _shifted_jacobi(m: Any, n: Any, p: Any, q: Any, x: Any, r: Any) -> Any:
    """The polynomials have a leading coefficient of 1."""
    less, degree = n - (1.0 if n.value.type.is_float else 1), m.real(n, x)
    return m.select(m.eq(degree, 0.0), 0.0, degree * m.eval_sh_jacobi(less, p + 2.0, q + 1.0, x))


def _gegenbauer(m: Any, n: Any, a: Any, x: Any, r: Any) -> Any:
    less = n - (1.0 if n.value.type.is_float else 1)
    return m.select(m.eq(m.real(n, x), 0.0), 0.0, 2.0 * a * m.eval_gegenbauer(less, a + 1.0, x))


def _laguerre(m: Any, n: Any, a: Any, x: Any, r: Any) -> Any:
    less = n - (1.0 if n.value.type.is_float else 1)
    return m.select(m.eq(m.real(n, x), 0.0), 0.0, -m.eval_genlaguerre(less, a + 1.0, x))


def _shift(x: Any) -> Any:
    return 2.0 * x - 1.0


def _as_it_is(n: Any) -> Any:
    return n


_BY_DEGREE = {
    "eval_legendre": _lower("eval_jacobi", 1.0, 1.0, factor=lambda n: 0.5 * (n + 1.0)),
    "eval_sh_legendre": _lower("eval_jacobi", 1.0, 1.0, factor=lambda n: n + 1.0, inner=_shift),
    "eval_chebyt": _lower("eval_chebyu", factor=_as_it_is),
    "eval_sh_chebyt": _lower("eval_sh_chebyu", factor=lambda n: 2.0 * n),
    "eval_chebyu": _lower("eval_gegenbauer", 2.0, factor=lambda n: 0.0 * n + 2.0),
    "eval_sh_chebyu": _lower("eval_gegenbauer", 2.0, factor=lambda n: 0.0 * n + 4.0, inner=_shift),
    "eval_chebyc": _lower("eval_chebys", factor=_as_it_is),
    "eval_chebys": _lower("eval_gegenbauer", 2.0, factor=lambda n: 0.0 * n + 1.0, inner=lambda x: 0.5 * x),
    "eval_hermite": _lower("eval_hermite", factor=lambda n: 2.0 * n),
    "eval_hermitenorm": _lower("eval_hermitenorm", factor=_as_it_is),
    "eval_laguerre": _lower("eval_genlaguerre", 1.0, factor=lambda n: 0.0 * n - 1.0),
}
TABLE.update({name: one(UNKNOWN, slope) for name, slope in _BY_DEGREE.items()})
TABLE.update(
    eval_gegenbauer=one(UNKNOWN, UNKNOWN, _gegenbauer), eval_genlaguerre=one(UNKNOWN, UNKNOWN, _laguerre),
    eval_jacobi=one(UNKNOWN, UNKNOWN, UNKNOWN, _jacobi),
    eval_sh_jacobi=one(UNKNOWN, UNKNOWN, UNKNOWN, _shifted_jacobi),
)  # fmt: skip

# ---- integrals, zeta


def _exponential_integral(m: Any, n: Any, x: Any, r: Any) -> Any:
    """-E(n - 1); at n below 2 by the recurrence, since there are no negative orders."""
    degree = m.real(n, x)
    low = m.lt(degree, 2.0)
    one_ = 1.0 if n.value.type.is_float else 1
    return m.select(low, (degree * r - r - m.exp(-x)) / x, -m.expn(m.maximum(n - one_, 1), x))


def _reflected_zeta(m: Any, s: Any) -> Any:
    """Riemann's zeta function below zero, by its values above one: DLMF 25.4.1."""
    above = m.zeta_logs(1.0 - s, m.one(s), n=0)
    return 2.0 * m.exp(m.lgamma(1.0 - s) + math.log(2 * math.pi) * (s - 1.0)) * m.sin(math.pi / 2 * s) * above


def _zeta_slope(m: Any, x: Any, r: Any) -> Any:
    """Sums of logarithms cancel below zero, the more the lower."""
    below = m.lt(x, 0.0)
    reflected = slopes_of(m, _reflected_zeta, [m.select(below, x, -1.0)])[0]
    return m.select(below, reflected, -m.zeta_logs(m.select(below, 2.0, x), m.one(x), n=1))


TABLE.update(
    expi=one(lambda m, x, r: m.exp(x) / x),
    exp1=one(lambda m, x, r: -(m.exp(-x) / x)),
    expn=one(UNKNOWN, _exponential_integral),
    sici=many((lambda m, x, *r: m.sinc(x, n=0),), (lambda m, x, *r: m.cos(x) / x,)),
    shichi=many(
        (lambda m, x, *r: m.hyp0f1(1.5 * m.one(x), 0.25 * (x * x)),), (lambda m, x, *r: m.cosh(x) / x,)
    ),
    fresnel=many(
        (lambda m, x, *r: m.sin(math.pi / 2 * (x * x)),), (lambda m, x, *r: m.cos(math.pi / 2 * (x * x)),)
    ),
    spence=one(lambda m, x, r: -m.hyp2f1(m.one(x), m.one(x), 2.0 * m.one(x), 1.0 - x)),
    zetac=one(_zeta_slope),
)  # fmt: skip

# ---- logarithms, powers, losses, angles


def _ratio_log(m: Any, x: Any, y: Any, straight: bool) -> Any:
    """x log(x / y), and what makes it convex in both; outside of its domain infinite."""
    inside = m.and_(m.gt(x, 0.0), m.gt(y, 0.0))
    a, b = m.select(inside, x, 1.0), m.select(inside, y, 1.0)
    made = a * m.log(a / b)
    made, end = (made - a + b, y) if straight else (made, 0.0)
    corner = m.and_(m.eq(x, 0.0), m.ge(y, 0.0))
    outside = m.select(m.or_(m.ne(x, x), m.ne(y, y)), math.nan * m.one(x), math.inf)
    return m.select(inside, made, m.select(corner, end, outside))


def _huber(m: Any, delta: Any, r: Any) -> Any:
    size = m.abs(r)
    made = m.select(m.le(size, delta), 0.5 * (r * r), delta * (size - 0.5 * delta))
    return m.select(m.lt(delta, 0.0), math.inf, made)


def _pseudo_huber(m: Any, delta: Any, r: Any) -> Any:
    """r^2 / (1 + sqrt(1 + (r / delta)^2)), which does not cancel."""
    zero = m.eq(delta, 0.0)
    by = m.select(zero, 1.0, delta)
    made = r * r / (1.0 + m.hypot(m.one(r), r / by))
    return m.select(m.lt(delta, 0.0), math.inf, m.select(m.or_(zero, m.eq(r, 0.0)), 0.0 * r, made))


def _log1p_ratio(m: Any, x: Any) -> Any:
    """log1p(x) / x."""
    return m.hyp2f1(m.one(x), m.one(x), 2.0 * m.one(x), -x)


NATIVE.update(
    rel_entr=lambda m, x, y: _ratio_log(m, x, y, False), kl_div=lambda m, x, y: _ratio_log(m, x, y, True),
    huber=_huber, pseudo_huber=_pseudo_huber,
    exp10=lambda m, x: m.pow(m.number(10.0, x.value.type), x),
    radian=lambda m, degrees, minutes, seconds: DEGREE * (degrees + minutes * (1 / 60) + seconds * (1 / 3600)),
    round=lambda m, x: m.rint(x),
)  # fmt: skip
TABLE.update(
    boxcox=same(lambda m, x, power: m.log(x) * m.exprel(power * m.log(x))),
    boxcox1p=same(lambda m, x, power: m.log1p(x) * m.exprel(power * m.log1p(x))),
    inv_boxcox=same(lambda m, y, power: m.exp(y * _log1p_ratio(m, power * y))),
    inv_boxcox1p=same(lambda m, y, power: m.exp(y * _log1p_ratio(m, power * y))),
    exprel=one(lambda m, x, r: 0.5 * m.hyp1f1(2.0 * m.one(x), 3.0 * m.one(x), x)),
    powm1=one(lambda m, x, y, r: y * m.pow(x, y - 1.0), lambda m, x, y, r: m.pow(x, y) * m.log(x)),
    sindg=one(lambda m, x, r: DEGREE * m.cosdg(x)), cosdg=one(lambda m, x, r: -DEGREE * m.sindg(x)),
    tandg=one(lambda m, x, r: DEGREE * (1.0 + r * r)), cotdg=one(lambda m, x, r: -DEGREE * (1.0 + r * r)),
    wrightomega=one(lambda m, x, r: r / (1.0 + r)),
    lambertw=one(lambda m, x, r: m.exp(-r) / (1.0 + r)),
    lambertw_below=one(lambda m, x, r: m.exp(-r) / (1.0 + r)),
)  # fmt: skip
