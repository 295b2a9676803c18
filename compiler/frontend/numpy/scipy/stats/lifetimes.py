"""More distributions of scipy.stats without ends: of lifetimes, signals and heavy tails.

    LIFETIMES["burr"] = by_logcdf(lambda y, c, d: -d * np.log1p(y**-c), ...)

Their formulas are those of SciPy's documentation, and of `densities`' sources.
"""

from __future__ import annotations

import math
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
    Continuous,
    betainc,
    betaincinv,
    betaln,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    log_expit,
    log_ndtr,
    ndtr,
    ndtri,
    xlogy,
)  # fmt: skip
from .made_of import NONE, by_logcdf, by_survival, doubled, exp_ratio, fixed, log_ratio, mirrored, quantiles

# ---- powers of other distribution functions


def _power_normal(y: Any, c: Any) -> Any:
    return c * log_ndtr(-y)


def _fatigue(y: Any, c: Any) -> Any:
    return (np.sqrt(y) - 1.0 / np.sqrt(y)) / c


def _fatigue_ppf(z: Any, c: Any) -> Any:
    half = 0.5 * c * z
    return (half + np.sqrt(half * half + 1.0)) ** 2


def _folded(y: Any, c: Any) -> Any:
    return ndtr(y - c) + ndtr(y + c) - 1.0


def _folded_cauchy(y: Any, c: Any) -> Any:
    return (np.arctan(y - c) + np.arctan(y + c)) / math.pi


def _skewed_cauchy(y: Any, a: Any) -> Any:
    side = 1.0 + where(y > 0, a, -a)
    return 0.5 * (1.0 - a) + side / math.pi * np.arctan(y / side)


def _skewed_cauchy_ppf(q: Any, a: Any) -> Any:
    left = 0.5 * (1.0 - a)
    side = 1.0 + where(q > left, a, -a)
    return side * np.tan(math.pi * (q - left) / side)


def _asymmetric(y: Any, k: Any) -> Any:
    """Laplace's with rates k to the right and 1/k to the left: F at zero is k^2 / (1 + k^2)."""
    left = y < 0
    low = k * k / (1.0 + k * k) * np.exp(where(left, y, 0.0) / k)
    return where(left, low, 1.0 - np.exp(-k * where(left, 0.0, y)) / (1.0 + k * k))


def _asymmetric_ppf(q: Any, k: Any) -> Any:
    middle = k * k / (1.0 + k * k)
    left = q < middle
    low = k * np.log(where(left, q, middle) / middle)
    return where(left, low, -np.log((1.0 - where(left, 0.0, q)) * (1.0 + k * k)) / k)


def _kappa_power(y: Any, k: Any) -> Any:
    """The logarithm of (1 - k y)^(1/k), which is -y for k = 0."""
    return -y * log_ratio(-k * y)


def _kappa_logcdf(y: Any, h: Any, k: Any) -> Any:
    power = np.exp(_kappa_power(y, k))
    return -power * log_ratio(-h * power)


def _kappa_ppf(s: Any, h: Any, k: Any) -> Any:
    """Of a logarithm s of F."""
    power = np.log(-s * exp_ratio(h * s))
    return -power * exp_ratio(k * power)


def _kappa_logpdf(y: Any, h: Any, k: Any) -> Any:
    return (1.0 - k) * _kappa_power(y, k) + (1.0 - h) * _kappa_logcdf(y, h, k)


def _kappa_ends(h: Any, k: Any) -> tuple[Any, Any, Any]:
    start = np.log(where(h > 0, h, 1.0))
    low = where(h > 0, start * exp_ratio(-k * start), where(k < 0, 1.0 / where(k < 0, k, -1.0), -INF))
    high = where(k > 0, 1.0 / where(k > 0, k, 1.0), INF)
    return low, high, _kappa_ppf(-0.7 + 0.0 * h, h, k)


def _tukey(q: Any, shape: Any) -> Any:
    return apply("boxcox", q, shape) - apply("boxcox", 1.0 - q, shape)


def _tukey_cdf(y: Any, shape: Any) -> Any:
    return apply("tklmbda", y, shape)


def _tukey_logpdf(y: Any, shape: Any) -> Any:
    p = _tukey_cdf(y, shape)
    return -np.log(p ** (shape - 1.0) + (1.0 - p) ** (shape - 1.0))


def _tukey_ends(shape: Any) -> tuple[Any, Any, Any]:
    high = where(shape > 0, 1.0 / where(shape > 0, shape, 1.0), INF)
    return -high, high, 0.0 * shape


def _skewed_t(y: Any, a: Any, b: Any) -> Any:
    """The beta distribution's variable."""
    return 0.5 * (1.0 + y / np.sqrt(a + b + y * y))


def _skewed_t_logpdf(y: Any, a: Any, b: Any) -> Any:
    z = y / np.sqrt(a + b + y * y)
    powers = (a + 0.5) * np.log1p(z) + (b + 0.5) * np.log1p(-z)
    return powers - (a + b - 1.0) * LOG_2 - betaln(a, b) - 0.5 * np.log(a + b)


def _skewed_t_ppf(q: Any, a: Any, b: Any) -> Any:
    z = betaincinv(a, b, q)
    return (2.0 * z - 1.0) * np.sqrt(a + b) / (2.0 * np.sqrt(z * (1.0 - z)))


WEIBULL, LOG_NORMAL = CONTINUOUS["weibull_min"], CONTINUOUS["lognorm"]

LEVY = Continuous(
    lambda y: -LOG_ROOT_2_PI - 1.5 * np.log(y) - 0.5 / y, lambda y: 2.0 * ndtr(-1.0 / np.sqrt(y)),
    lambda y: apply("erf", np.sqrt(0.5 / y)), lambda q: ndtri(0.5 * q) ** -2.0,
    lambda q: 0.5 * apply("erfinv", q) ** -2.0,
    HALF,
)  # fmt: skip
BURR = by_logcdf(
    lambda y, c, d: -d * np.log1p(y**-c), lambda s, c, d: np.expm1(-s / d) ** (-1.0 / c),
    lambda y, c, d: np.log(c) + np.log(d) - (c + 1) * np.log(y) - (d + 1) * np.log1p(y**-c), support=HALF,
)  # fmt: skip

LIFETIMES: dict[str, Continuous] = {
    "levy": LEVY, "levy_l": mirrored(LEVY), "weibull_max": mirrored(WEIBULL), "dweibull": doubled(WEIBULL),
    "dgamma": doubled(CONTINUOUS["gamma"]), "gibrat": fixed(LOG_NORMAL, 1.0), "erlang": CONTINUOUS["gamma"],
    "burr": BURR,
    "mielke": Continuous(
        lambda y, k, s: BURR.logpdf(y, s, k / s), lambda y, k, s: BURR.cdf(y, s, k / s),
        lambda y, k, s: BURR.sf(y, s, k / s), lambda q, k, s: BURR.ppf(q, s, k / s),
        lambda q, k, s: BURR.isf(q, s, k / s), HALF,
    ),
    "invweibull": by_logcdf(
        lambda y, c: -(y**-c), lambda s, c: (-s) ** (-1.0 / c), lambda y, c: np.log(c) - (c + 1) * np.log(y) - y**-c,
        support=HALF,
    ),
    "gompertz": by_survival(
        lambda y, c: -c * np.expm1(y), lambda s, c: np.log1p(-s / c), lambda y, c: np.log(c) + y - c * np.expm1(y),
        support=HALF,
    ),
    "exponpow": by_survival(
        lambda y, b: -np.expm1(y**b), lambda s, b: np.log1p(-s) ** (1.0 / b),
        lambda y, b: 1.0 + np.log(b) + xlogy(b - 1.0, y) + y**b - np.exp(y**b), support=HALF,
    ),
    "genexpon": quantiles("genexpon", by_survival(
        lambda y, a, b, c: -(a + b) * y - b / c * np.expm1(-c * y), NONE,
        lambda y, a, b, c: np.log(a - b * np.expm1(-c * y)) - (a + b) * y - b / c * np.expm1(-c * y), support=HALF,
    )),
    "halflogistic": Continuous(
        lambda y: LOG_2 - y - 2.0 * np.log1p(np.exp(-y)), lambda y: np.tanh(0.5 * y),
        lambda y: 2.0 * apply("expit", -y),
        lambda q: 2.0 * np.arctanh(q), lambda q: np.log((2.0 - q) / q), HALF,
    ),
    "genlogistic": by_logcdf(
        lambda y, c: c * log_expit(y), lambda s, c: -np.log(np.expm1(-s / c)),
        lambda y, c: np.log(c) + log_expit(-y) + c * log_expit(y),
    ),
    "nakagami": Continuous(
        lambda y, nu: LOG_2 + xlogy(nu, nu) - gammaln(nu) + xlogy(2 * nu - 1, y) - nu * y * y,
        lambda y, nu: gammainc(nu, nu * y * y), lambda y, nu: gammaincc(nu, nu * y * y),
        lambda q, nu: np.sqrt(gammaincinv(nu, q) / nu), lambda q, nu: np.sqrt(gammainccinv(nu, q) / nu), HALF,
    ),
    "halfgennorm": Continuous(
        lambda y, b: np.log(b) - gammaln(1 / b) - y**b, lambda y, b: gammainc(1 / b, y**b),
        lambda y, b: gammaincc(1 / b, y**b), lambda q, b: gammaincinv(1 / b, q) ** (1 / b),
        lambda q, b: gammainccinv(1 / b, q) ** (1 / b), HALF,
    ),
    "betaprime": Continuous(
        lambda y, a, b: xlogy(a - 1, y) - (a + b) * np.log1p(y) - betaln(a, b),
        lambda y, a, b: betainc(a, b, y / (1.0 + y)), lambda y, a, b: betainc(b, a, 1.0 / (1.0 + y)),
        lambda q, a, b: betaincinv(a, b, q) / apply("betainccinv", b, a, q),
        lambda q, a, b: apply("betainccinv", a, b, q) / betaincinv(b, a, q), HALF,
    ),
    "powernorm": by_survival(
        _power_normal, lambda s, c: -ndtri(np.exp(s / c)),
        lambda y, c: np.log(c) - 0.5 * y * y - LOG_ROOT_2_PI + (c - 1.0) * log_ndtr(-y),
    ),
    "powerlognorm": by_survival(
        lambda y, c, s: _power_normal(np.log(y) / s, c), lambda q, c, s: np.exp(-s * ndtri(np.exp(q / c))),
        lambda y, c, s: np.log(c / (y * s)) - 0.5 * (np.log(y) / s) ** 2 - LOG_ROOT_2_PI
        + (c - 1.0) * log_ndtr(-np.log(y) / s), support=HALF,
    ),
    "fatiguelife": Continuous(
        lambda y, c: np.log1p(y) - LOG_2 - np.log(c) - LOG_ROOT_2_PI - 1.5 * np.log(y) - 0.5 * _fatigue(y, c) ** 2,
        lambda y, c: ndtr(_fatigue(y, c)), lambda y, c: ndtr(-_fatigue(y, c)),
        lambda q, c: _fatigue_ppf(ndtri(q), c), lambda q, c: _fatigue_ppf(-ndtri(q), c), HALF,
    ),
    "alpha": Continuous(
        lambda y, a: -2.0 * np.log(y) - 0.5 * (a - 1.0 / y) ** 2 - LOG_ROOT_2_PI - log_ndtr(a),
        lambda y, a: ndtr(a - 1.0 / y) / ndtr(a), lambda y, a: 1.0 - ndtr(a - 1.0 / y) / ndtr(a),
        lambda q, a: 1.0 / (a - ndtri(q * ndtr(a))), lambda q, a: 1.0 / (a - ndtri((1.0 - q) * ndtr(a))), HALF,
    ),
    "foldnorm": quantiles("foldnorm", Continuous(
        lambda y, c: -LOG_ROOT_2_PI - 0.5 * (y - c) ** 2 + np.log1p(np.exp(-2.0 * c * y)), _folded,
        lambda y, c: ndtr(c - y) + ndtr(-y - c), NONE, NONE, HALF, valid=lambda c: c >= 0,
    )),
    "foldcauchy": quantiles("foldcauchy", Continuous(
        lambda y, c: -LOG_PI + np.log(1.0 / (1.0 + (y - c) ** 2) + 1.0 / (1.0 + (y + c) ** 2)), _folded_cauchy,
        lambda y, c: (np.arctan2(1.0, y - c) + np.arctan2(1.0, y + c)) / math.pi, NONE, NONE, HALF,
        valid=lambda c: c >= 0,
    )),
    "skewcauchy": Continuous(
        lambda y, a: -LOG_PI - np.log1p((y / (1.0 + where(y > 0, a, -a))) ** 2), _skewed_cauchy,
        lambda y, a: _skewed_cauchy(-y, -a), _skewed_cauchy_ppf, lambda q, a: -_skewed_cauchy_ppf(q, -a),
        valid=lambda a: np.abs(a) < 1,
    ),
    "laplace_asymmetric": Continuous(
        lambda y, k: -where(y >= 0, k, -1.0 / k) * y - np.log(k + 1.0 / k), _asymmetric,
        lambda y, k: _asymmetric(-y, 1.0 / k), _asymmetric_ppf, lambda q, k: -_asymmetric_ppf(q, 1.0 / k),
    ),
    "loglaplace": Continuous(
        lambda y, c: np.log(0.5 * c) + where(y < 1, c - 1.0, -c - 1.0) * np.log(y),
        lambda y, c: where(y < 1, 0.5 * np.exp(c * np.log(y)), 1.0 - 0.5 * np.exp(-c * np.log(y))),
        lambda y, c: where(y < 1, 1.0 - 0.5 * np.exp(c * np.log(y)), 0.5 * np.exp(-c * np.log(y))),
        lambda q, c: np.exp(where(q < 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q))) / c),
        lambda q, c: np.exp(where(q > 0.5, np.log(2.0 * (1.0 - q)), -np.log(2.0 * q)) / c), HALF,
    ),
    "kappa3": by_logcdf(
        lambda y, a: -np.log1p(a * y**-a) / a, lambda s, a: (a / np.expm1(-a * s)) ** (1.0 / a),
        lambda y, a: np.log(a) - (1.0 / a + 1.0) * np.log(a + y**a), support=HALF,
    ),
    "kappa4": by_logcdf(
        _kappa_logcdf, _kappa_ppf, _kappa_logpdf, valid=lambda h, k: (h == h) & (k == k), ends=_kappa_ends
    ),
    "tukeylambda": Continuous(
        _tukey_logpdf, _tukey_cdf, lambda y, shape: _tukey_cdf(-y, shape), _tukey, lambda q, shape: -_tukey(q, shape),
        valid=lambda shape: np.abs(shape) < INF, ends=_tukey_ends,
    ),
    "jf_skew_t": Continuous(
        _skewed_t_logpdf, lambda y, a, b: betainc(a, b, _skewed_t(y, a, b)),
        lambda y, a, b: betainc(b, a, _skewed_t(-y, b, a)), _skewed_t_ppf, lambda q, a, b: -_skewed_t_ppf(q, b, a),
    ),
}  # fmt: skip
CONTINUOUS.update(LIFETIMES)

__all__ = ["LIFETIMES"]
