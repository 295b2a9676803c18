"""Distributions of scipy.stats on intervals whose ends are given, and their formulas in standard form.

    BOUNDED["triang"] = Continuous(...)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ufuncs import where
from ..special.functions import apply
from .densities import (
    CONTINUOUS,
    INF,
    LOG_2,
    LOG_PI,
    LOG_ROOT_2_PI,
    Continuous,
    betainc,
    betaincinv,
    betaln,
    expit,
    ndtr,
    ndtri,
    xlogy,
)
from .made_of import by_survival, quantiles

UNIT, BOTH = (0.0, 1.0), (-1.0, 1.0)

# ---- triangles and trapezoids: with u = 0 or 1 for a side that is not there


def _some(x: Any) -> Any:
    """What is divided by, where it may be nothing."""
    return where(x == 0, 1.0, x)


def _trapezoid_pdf(y: Any, c: Any, d: Any) -> Any:
    side = where(y < c, y / _some(c), where(y > d, (1.0 - y) / _some(1.0 - d), 1.0))
    return LOG_2 - np.log(d - c + 1.0) + np.log(where(side > 0, side, 0.0))


def _trapezoid_cdf(y: Any, c: Any, d: Any) -> Any:
    whole = d - c + 1.0
    flat = (2.0 * y - c) / whole
    return where(y < c, y * y / (_some(c) * whole), where(y > d, 1.0 - _trapezoid_end(y, c, d), flat))


def _trapezoid_end(y: Any, c: Any, d: Any) -> Any:
    return (1.0 - y) ** 2 / ((d - c + 1.0) * _some(1.0 - d))


def _trapezoid_sf(y: Any, c: Any, d: Any) -> Any:
    return where(y > d, _trapezoid_end(y, c, d), 1.0 - _trapezoid_cdf(y, c, d))


def _trapezoid_ppf(q: Any, c: Any, d: Any) -> Any:
    whole = d - c + 1.0
    low, high = q < c / whole, q > (2.0 * d - c) / whole
    first = np.sqrt(where(low, q * c * whole, 1.0))
    last = 1.0 - np.sqrt(where(high, (1.0 - q) * whole * (1.0 - d), 1.0))
    return where(low, first, where(high, last, 0.5 * (q * whole + c)))


def _trapezoid_isf(q: Any, c: Any, d: Any) -> Any:
    return 1.0 - _trapezoid_ppf(q, 1.0 - d, 1.0 - c)


def _is_trapezoid(c: Any, d: Any) -> Any:
    return (c >= 0) & (c <= d) & (d <= 1)


# ---- angles


def _half_circle(y: Any) -> Any:
    return 0.5 + (y * np.sqrt(1.0 - y * y) + np.arcsin(y)) / math.pi


def _wrapped(y: Any, c: Any) -> Any:
    """The arc tangent goes on through pi."""
    steep = (1.0 + c) / (1.0 - c)
    first = y < math.pi
    tangent = np.arctan(steep * np.tan(0.5 * where(first, y, 2 * math.pi - y))) / math.pi
    return where(first, tangent, 1.0 - tangent)


def _unwrapped(q: Any, c: Any) -> Any:
    flat = (1.0 - c) / (1.0 + c)
    first = q < 0.5
    angle = 2.0 * np.arctan(flat * np.tan(math.pi * where(first, q, 1.0 - q)))
    return where(first, angle, 2 * math.pi - angle)


# ---- truncation


def _cut_exponential(b: Any) -> Any:
    return -np.expm1(-b)


def _cut_survival(y: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    """exp(-y^c) and its values at both ends, each times exp(a^c)."""
    low = a**c
    return np.exp(low - y**c), 1.0, np.exp(low - b**c)


def _cut_weibull(y: Any, c: Any, a: Any, b: Any) -> Any:
    at, top, end = _cut_survival(y, a, b, c)
    return (top - at) / (top - end)


def _cut_weibull_sf(y: Any, c: Any, a: Any, b: Any) -> Any:
    at, top, end = _cut_survival(y, a, b, c)
    return (at - end) / (top - end)


def _cut_weibull_ppf(q: Any, c: Any, a: Any, b: Any) -> Any:
    low = a**c
    return (low - np.log1p(q * np.expm1(low - b**c))) ** (1.0 / c)


def _cut_pareto(y: Any, b: Any, c: Any) -> Any:
    return np.expm1(-b * np.log(y)) / np.expm1(-b * np.log(c))


def _cut_pareto_ppf(q: Any, b: Any, c: Any) -> Any:
    return np.exp(-np.log1p(q * np.expm1(-b * np.log(c))) / b)


def _argus(y: Any, chi: Any) -> Any:
    """The incomplete gamma function of 3/2 at chi^2 / 2 of what is left."""
    return apply("gammainc", 1.5, 0.5 * chi * chi * (1.0 - y * y)) / apply("gammainc", 1.5, 0.5 * chi * chi)


def _argus_ppf(q: Any, chi: Any) -> Any:
    half = 0.5 * chi * chi
    return np.sqrt(1.0 - apply("gammaincinv", 1.5, (1.0 - q) * apply("gammainc", 1.5, half)) / half)


def _argus_pdf(y: Any, chi: Any) -> Any:
    mass = np.log(apply("gammainc", 1.5, 0.5 * chi * chi)) - LOG_2
    rest = (1.0 - y) * (1.0 + y)
    return 3 * np.log(chi) - LOG_ROOT_2_PI - mass + np.log(y) + 0.5 * np.log(rest) - 0.5 * chi * chi * rest


def _semigamma(y: Any, c: Any) -> Any:
    return betainc(0.5 * c, 0.5 * c, 0.5 * (1.0 + y))


BOUNDED: dict[str, Continuous] = {
    "trapezoid": Continuous(
        _trapezoid_pdf, _trapezoid_cdf, _trapezoid_sf, _trapezoid_ppf, _trapezoid_isf, UNIT, valid=_is_trapezoid
    ),
    "triang": Continuous(
        lambda y, c: _trapezoid_pdf(y, c, c), lambda y, c: _trapezoid_cdf(y, c, c), lambda y, c: _trapezoid_sf(y, c, c),
        lambda q, c: _trapezoid_ppf(q, c, c), lambda q, c: _trapezoid_isf(q, c, c), UNIT,
        valid=lambda c: (c >= 0) & (c <= 1),
    ),
    "semicircular": quantiles("semicircular", Continuous(
        lambda y: LOG_2 - LOG_PI + 0.5 * (np.log1p(-y) + np.log1p(y)), _half_circle, lambda y: _half_circle(-y),
        _half_circle, _half_circle, BOTH, 0.0,
    )),
    "anglit": Continuous(
        lambda y: np.log(np.cos(2 * y)), lambda y: np.sin(y + math.pi / 4) ** 2, lambda y: np.cos(y + math.pi / 4) ** 2,
        lambda q: np.arcsin(np.sqrt(q)) - math.pi / 4, lambda q: math.pi / 4 - np.arcsin(np.sqrt(q)),
        (-math.pi / 4, math.pi / 4), 0.0,
    ),
    "arcsine": Continuous(
        lambda y: -LOG_PI - 0.5 * (np.log(y) + np.log1p(-y)), lambda y: 2 / math.pi * np.arcsin(np.sqrt(y)),
        lambda y: 2 / math.pi * np.arccos(np.sqrt(y)), lambda q: np.sin(0.5 * math.pi * q) ** 2,
        lambda q: np.cos(0.5 * math.pi * q) ** 2, UNIT,
    ),
    "cosine": quantiles("cosine", Continuous(
        lambda y: np.log1p(np.cos(y)) - LOG_2 - LOG_PI, lambda y: (math.pi + y + np.sin(y)) / (2 * math.pi),
        lambda y: (math.pi - y - np.sin(y)) / (2 * math.pi), np.sin, np.sin, (-math.pi, math.pi), 0.0,
    )),
    "wrapcauchy": Continuous(
        lambda y, c: np.log1p(-c) + np.log1p(c) - LOG_2 - LOG_PI - np.log1p(c * (c - 2.0 * np.cos(y))), _wrapped,
        lambda y, c: _wrapped(2 * math.pi - y, c), _unwrapped, lambda q, c: 2 * math.pi - _unwrapped(q, c),
        (0.0, 2 * math.pi), valid=lambda c: (c > 0) & (c < 1),
    ),
    "bradford": Continuous(
        lambda y, c: np.log(c) - np.log1p(c * y) - np.log(np.log1p(c)), lambda y, c: np.log1p(c * y) / np.log1p(c),
        lambda y, c: np.log1p(c * (1.0 - y) / (1.0 + c * y)) / np.log1p(c),
        lambda q, c: np.expm1(q * np.log1p(c)) / c, lambda q, c: np.expm1((1.0 - q) * np.log1p(c)) / c, UNIT,
    ),
    "rdist": Continuous(
        lambda y, c: (0.5 * c - 1.0) * (np.log1p(-y) + np.log1p(y)) - betaln(0.5, 0.5 * c), _semigamma,
        lambda y, c: _semigamma(-y, c), lambda q, c: 2.0 * betaincinv(0.5 * c, 0.5 * c, q) - 1.0,
        lambda q, c: 1.0 - 2.0 * betaincinv(0.5 * c, 0.5 * c, q), BOTH, 0.0,
    ),
    "johnsonsb": Continuous(
        lambda y, a, b: np.log(b) - np.log(y) - np.log1p(-y) - 0.5 * (a + b * apply("logit", y)) ** 2 - LOG_ROOT_2_PI,
        lambda y, a, b: ndtr(a + b * apply("logit", y)), lambda y, a, b: ndtr(-a - b * apply("logit", y)),
        lambda q, a, b: expit((ndtri(q) - a) / b), lambda q, a, b: expit((-ndtri(q) - a) / b), UNIT,
        valid=lambda a, b: (b > 0) & (a == a),
    ),
    "argus": Continuous(
        _argus_pdf, lambda y, chi: 1.0 - _argus(y, chi), _argus, _argus_ppf, lambda q, chi: _argus_ppf(1.0 - q, chi),
        UNIT,
    ),
    "loguniform": Continuous(
        lambda y, a, b: -np.log(y) - np.log(np.log(b / a)), lambda y, a, b: np.log(y / a) / np.log(b / a),
        lambda y, a, b: np.log(b / y) / np.log(b / a), lambda q, a, b: a * np.exp(q * np.log(b / a)),
        lambda q, a, b: b * np.exp(-q * np.log(b / a)), valid=lambda a, b: (a > 0) & (b > a),
        ends=lambda a, b: (a, b, a),
    ),
    "truncexpon": Continuous(
        lambda y, b: -y - np.log(_cut_exponential(b)), lambda y, b: np.expm1(-y) / np.expm1(-b),
        lambda y, b: np.exp(-b) * np.expm1(b - y) / _cut_exponential(b),
        lambda q, b: -np.log1p(q * np.expm1(-b)), lambda q, b: -np.log1p((1.0 - q) * np.expm1(-b)),
        ends=lambda b: (0.0, b, 0.5 * b),
    ),
    "truncweibull_min": Continuous(
        lambda y, c, a, b: np.log(c) + xlogy(c - 1, y) + a**c - y**c - np.log(-np.expm1(a**c - b**c)), _cut_weibull,
        _cut_weibull_sf, _cut_weibull_ppf, lambda q, c, a, b: _cut_weibull_ppf(1.0 - q, c, a, b),
        valid=lambda c, a, b: (c > 0) & (a >= 0) & (b > a),
        ends=lambda c, a, b: (a, b, 0.5 * (a + where(b < INF, b, a + 1.0))),
    ),
    "truncpareto": Continuous(
        lambda y, b, c: np.log(b / np.expm1(-b * np.log(c)) * -1.0) - (b + 1.0) * np.log(y), _cut_pareto,
        lambda y, b, c: 1.0 - _cut_pareto(y, b, c), _cut_pareto_ppf, lambda q, b, c: _cut_pareto_ppf(1.0 - q, b, c),
        valid=lambda b, c: (c > 1) & (b != 0), ends=lambda b, c: (1.0, c, 0.5 * (1.0 + c)),
    ),
    "genhalflogistic": by_survival(
        lambda y, c: -np.log((1.0 + (1.0 - c * y) ** (-1.0 / c)) / 2.0),
        lambda s, c: (1.0 - (2.0 * np.exp(-s) - 1.0) ** -c) / c,
        lambda y, c: LOG_2 + (1.0 / c - 1.0) * np.log1p(-c * y) - 2 * np.log1p((1.0 - c * y) ** (1.0 / c)),
        ends=lambda c: (0.0, 1.0 / c, 0.5 / c),
    ),
}  # fmt: skip
CONTINUOUS.update(BOUNDED)
CONTINUOUS["reciprocal"] = BOUNDED["loguniform"]

__all__ = ["BOUNDED"]
