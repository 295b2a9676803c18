"""More distributions of scipy.stats in standard form: those of extremes, lifetimes, heavy tails, angles and truncation.

    MORE["rayleigh"] = Continuous(logpdf=lambda y: np.log(y) - 0.5 * y * y, ...)

Their shapes may have any sign, and their supports may end where the shapes say. Formulas are those of `densities`'
source, in SciPy's parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ufuncs import where
from ..special.functions import apply
from .densities import (
    CONTINUOUS,
    HALF,
    INF,
    LOG_2,
    LOG_PI,
    LOG_ROOT_2_PI,
    ROOT_2,
    Continuous,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    log_ndtr,
    ndtr,
    ndtri,
    xlogy,
)  # fmt: skip
from .made_of import NONE, by_survival, exp_ratio, fixed, log_ratio, quantiles

# ---- the generalised laws of extremes and of excesses


def _excess_survival(y: Any, c: Any) -> Any:
    """log(1 + c y) / -c, which is -y for c = 0."""
    return -y * log_ratio(c * y)


def _excess_inverse(s: Any, c: Any) -> Any:
    return -s * exp_ratio(-c * s)


def _excess_ends(c: Any) -> tuple[Any, Any, Any]:
    high = where(c < 0, -1.0 / where(c < 0, c, -1.0), INF)
    return 0.0, high, where(c < 0, 0.5 * where(c < 0, high, 1.0), 0.5)


def _extreme_exponent(y: Any, c: Any) -> Any:
    """The exponent s of F = exp(-exp(s)): log(1 - c y) / c, which is -y for c = 0."""
    return -y * log_ratio(-c * y)


def _extreme_inverse(s: Any, c: Any) -> Any:
    return -s * exp_ratio(c * s)


def _extreme_ends(c: Any) -> tuple[Any, Any, Any]:
    high = where(c > 0, 1.0 / where(c > 0, c, 1.0), INF)
    low = where(c < 0, 1.0 / where(c < 0, c, -1.0), -INF)
    return low, high, 0.0 * c


def _extreme_logpdf(y: Any, c: Any) -> Any:
    s = _extreme_exponent(y, c)
    return -np.exp(s) + s - np.log1p(-c * y)


# ---- truncation


def _mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal mass between a and b, by the tails on whichever side they are thin."""
    right = a + b > 0
    low, high = where(right, -b, a), where(right, -a, b)
    return log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))


def _truncated_sf(y: Any, a: Any, b: Any) -> Any:
    return np.exp(_mass(y, b) - _mass(a, b))


def _truncated_ppf(q: Any, a: Any, b: Any) -> Any:
    right = a + b > 0
    low, high = where(right, -b, a), where(right, -a, b)
    part = where(right, 1.0 - q, q)
    found = ndtri(ndtr(low) + part * (ndtr(high) - ndtr(low)))
    return where(right, -found, found)


def _inverse_normal(y: Any, mu: Any, sign: float) -> Any:
    root = 1.0 / np.sqrt(y)
    first, second = ndtr(sign * root * (y / mu - 1.0)), np.exp(2.0 / mu + log_ndtr(-root * (y / mu + 1.0)))
    return first + sign * second


def _generalized_ppf(q: Any, b: Any) -> Any:
    upper = q > 0.5
    found = gammainccinv(1 / b, 2 * where(upper, 1 - q, q)) ** (1 / b)
    return where(upper, found, -found)


MORE: dict[str, Continuous] = {
    "rayleigh": by_survival(
        lambda y: -0.5 * y * y, lambda s: np.sqrt(-2.0 * s), lambda y: np.log(y) - 0.5 * y * y, support=HALF
    ),
    "lomax": by_survival(
        lambda y, c: -c * np.log1p(y), lambda s, c: np.expm1(-s / c), lambda y, c: np.log(c) - (c + 1) * np.log1p(y),
        support=HALF,
    ),
    "genpareto": by_survival(
        _excess_survival, _excess_inverse, lambda y, c: _excess_survival(y, c) - np.log1p(c * y),
        valid=lambda c: c == c, ends=_excess_ends,
    ),
    "genextreme": Continuous(
        _extreme_logpdf, lambda y, c: np.exp(-np.exp(_extreme_exponent(y, c))),
        lambda y, c: -np.expm1(-np.exp(_extreme_exponent(y, c))), lambda q, c: _extreme_inverse(np.log(-np.log(q)), c),
        lambda q, c: _extreme_inverse(np.log(-np.log1p(-q)), c),
        logcdf=lambda y, c: -np.exp(_extreme_exponent(y, c)), valid=lambda c: c == c, ends=_extreme_ends,
    ),
    "maxwell": Continuous(
        lambda y: 0.5 * LOG_2 - 0.5 * LOG_PI + 2 * np.log(y) - 0.5 * y * y, lambda y: gammainc(1.5, 0.5 * y * y),
        lambda y: gammaincc(1.5, 0.5 * y * y), lambda q: np.sqrt(2 * gammaincinv(1.5, q)),
        lambda q: np.sqrt(2 * gammainccinv(1.5, q)), HALF,
    ),
    "chi": Continuous(
        lambda y, df: (1 - 0.5 * df) * LOG_2 - gammaln(0.5 * df) + xlogy(df - 1, y) - 0.5 * y * y,
        lambda y, df: gammainc(0.5 * df, 0.5 * y * y), lambda y, df: gammaincc(0.5 * df, 0.5 * y * y),
        lambda q, df: np.sqrt(2 * gammaincinv(0.5 * df, q)), lambda q, df: np.sqrt(2 * gammainccinv(0.5 * df, q)), HALF,
    ),
    "gengamma": Continuous(
        lambda y, a, c: np.log(np.abs(c)) + xlogy(c * a - 1, y) - y**c - gammaln(a),
        lambda y, a, c: where(c > 0, gammainc(a, y**c), gammaincc(a, y**c)),
        lambda y, a, c: where(c > 0, gammaincc(a, y**c), gammainc(a, y**c)),
        lambda q, a, c: where(c > 0, gammaincinv(a, q), gammainccinv(a, q)) ** (1 / c),
        lambda q, a, c: where(c > 0, gammainccinv(a, q), gammaincinv(a, q)) ** (1 / c), HALF,
        valid=lambda a, c: (a > 0) & (c != 0),
    ),
    "gennorm": Continuous(
        lambda y, b: np.log(0.5 * b) - gammaln(1 / b) - np.abs(y) ** b,
        lambda y, b: where(y > 0, 1 - 0.5 * gammaincc(1 / b, np.abs(y) ** b), 0.5 * gammaincc(1 / b, np.abs(y) ** b)),
        lambda y, b: where(y > 0, 0.5 * gammaincc(1 / b, np.abs(y) ** b), 1 - 0.5 * gammaincc(1 / b, np.abs(y) ** b)),
        lambda q, b: _generalized_ppf(q, b), lambda q, b: -_generalized_ppf(q, b),
    ),
    "exponweib": by_survival(
        lambda y, a, c: np.log1p(-((-np.expm1(-(y**c))) ** a)),
        lambda s, a, c: (-np.log1p(-((-np.expm1(s)) ** (1 / a)))) ** (1 / c),
        lambda y, a, c: np.log(a * c) + (a - 1) * np.log(-np.expm1(-(y**c))) - y**c + xlogy(c - 1, y), support=HALF,
    ),
    "fisk": by_survival(
        lambda y, c: -np.log1p(y**c), lambda s, c: np.expm1(-s) ** (1 / c),
        lambda y, c: np.log(c) + xlogy(c - 1, y) - 2 * np.log1p(y**c), support=HALF,
    ),
    "burr12": by_survival(
        lambda y, c, d: -d * np.log1p(y**c), lambda s, c, d: np.expm1(-s / d) ** (1 / c),
        lambda y, c, d: np.log(c) + np.log(d) + xlogy(c - 1, y) - (d + 1) * np.log1p(y**c), support=HALF,
    ),
    "powerlaw": Continuous(
        lambda y, a: np.log(a) + xlogy(a - 1, y), lambda y, a: y**a, lambda y, a: -np.expm1(a * np.log(y)),
        lambda q, a: q ** (1 / a), lambda q, a: np.exp(np.log1p(-q) / a), (0.0, 1.0),
    ),
    "truncnorm": Continuous(
        lambda y, a, b: -0.5 * y * y - LOG_ROOT_2_PI - _mass(a, b), lambda y, a, b: np.exp(_mass(a, y) - _mass(a, b)),
        _truncated_sf, _truncated_ppf, lambda q, a, b: _truncated_ppf(1.0 - q, a, b),
        valid=lambda a, b: a < b, ends=lambda a, b: (a, b, where(a > 0, a, where(b < 0, b, 0.0))),
    ),
    "invgauss": Continuous(
        lambda y, mu: -LOG_ROOT_2_PI - 1.5 * np.log(y) - (y / mu - 1.0) ** 2 / (2 * y),
        lambda y, mu: _inverse_normal(y, mu, 1.0), lambda y, mu: _inverse_normal(y, mu, -1.0), NONE, NONE, HALF,
    ),
    "skewnorm": Continuous(
        lambda y, a: LOG_2 - 0.5 * y * y - LOG_ROOT_2_PI + log_ndtr(a * y),
        lambda y, a: ndtr(y) - 2 * apply("owens_t", y, a), lambda y, a: ndtr(-y) + 2 * apply("owens_t", y, a), NONE,
        NONE, valid=lambda a: a == a,
    ),
    "exponnorm": Continuous(
        lambda y, k: -np.log(k) + (0.5 / k - y) / k + log_ndtr(y - 1 / k),
        lambda y, k: ndtr(y) - np.exp((0.5 / k - y) / k + log_ndtr(y - 1 / k)),
        lambda y, k: ndtr(-y) + np.exp((0.5 / k - y) / k + log_ndtr(y - 1 / k)), NONE, NONE,
    ),
    "moyal": Continuous(
        lambda y: -0.5 * (y + np.exp(-y)) - LOG_ROOT_2_PI, lambda y: apply("erfc", np.exp(-0.5 * y) / ROOT_2),
        lambda y: apply("erf", np.exp(-0.5 * y) / ROOT_2), lambda q: -2 * np.log(ROOT_2 * apply("erfcinv", q)),
        lambda q: -2 * np.log(ROOT_2 * apply("erfinv", q)),
    ),
    "hypsecant": Continuous(
        lambda y: -LOG_PI - np.log(np.cosh(y)), lambda y: 2 / np.pi * np.arctan(np.exp(y)),
        lambda y: 2 / np.pi * np.arctan(np.exp(-y)), lambda q: np.log(np.tan(np.pi * q / 2)),
        lambda q: -np.log(np.tan(np.pi * q / 2)),
    ),
    "loggamma": Continuous(
        lambda y, c: c * y - np.exp(y) - gammaln(c), lambda y, c: gammainc(c, np.exp(y)),
        lambda y, c: gammaincc(c, np.exp(y)), lambda q, c: np.log(gammaincinv(c, q)),
        lambda q, c: np.log(gammainccinv(c, q)),
    ),
    "johnsonsu": Continuous(
        lambda y, a, b: np.log(b) - 0.5 * np.log1p(y * y) - 0.5 * (a + b * np.arcsinh(y)) ** 2 - LOG_ROOT_2_PI,
        lambda y, a, b: ndtr(a + b * np.arcsinh(y)), lambda y, a, b: ndtr(-a - b * np.arcsinh(y)),
        lambda q, a, b: np.sinh((ndtri(q) - a) / b), lambda q, a, b: np.sinh((-ndtri(q) - a) / b),
        valid=lambda a, b: (b > 0) & (a == a),
    ),
}  # fmt: skip

for _name in ("invgauss", "skewnorm", "exponnorm"):
    MORE[_name] = quantiles(_name, MORE[_name])
MORE["wald"] = fixed(MORE["invgauss"], 1.0)
CONTINUOUS.update(MORE)

__all__ = ["MORE"]
