"""The distributions of scipy.stats in standard form: densities, distribution functions and quantiles, by name.

    CONTINUOUS["expon"] = Continuous(logpdf=lambda y: -y, cdf=lambda y: -np.expm1(-y), ...)

Formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, and with Kemp, Univariate Discrete
Distributions, in the parameters that scipy.stats takes. They are over the NumPy functions that traced arrays have, and
SciPy's special functions by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...ufuncs import where
from ..special.functions import apply

Formula = Callable[..., Any]
INF = math.inf
LOG_2, LOG_PI, LOG_ROOT_2_PI = math.log(2), math.log(math.pi), 0.5 * math.log(2 * math.pi)
ROOT_2 = math.sqrt(2)


class Continuous(NamedTuple):
    """A distribution without location and scale: functions of a point or a probability, and of its shapes.

    safe     a point inside of the support
    valid    where the shapes are some; that is above zero if nothing is said
    ends     the support and a point inside of it, where they depend on the shapes
    logcdf   and logsf, where they have more digits than the logarithms of `cdf` and `sf`
    """

    logpdf: Formula
    cdf: Formula
    sf: Formula
    ppf: Formula
    isf: Formula
    support: tuple[float, float] = (-INF, INF)
    safe: float = 0.5
    logcdf: Formula | None = None
    logsf: Formula | None = None
    valid: Formula | None = None
    ends: Formula | None = None


class Discrete(NamedTuple):
    """A distribution on whole numbers from `first` on; `valid` says where the shapes are.

    cdf, sf  None where they are sums of the probabilities
    start    the first of them, where that depends on the shapes, as `last` does
    """

    logpmf: Formula
    cdf: Formula | None
    sf: Formula | None
    valid: Formula
    first: int = 0
    last: Formula | None = None
    start: Formula | None = None


def _f(name: str) -> Formula:
    return lambda *xs: apply(name, *xs)


ndtr, log_ndtr, ndtri, gammaln, betaln = map(_f, ("ndtr", "log_ndtr", "ndtri", "gammaln", "betaln"))
xlogy, xlog1py, erf, expit, log_expit = map(_f, ("xlogy", "xlog1py", "erf", "expit", "log_expit"))
gammainc, gammaincc, gammaincinv, gammainccinv = map(_f, ("gammainc", "gammaincc", "gammaincinv", "gammainccinv"))
betainc, betaincc, betaincinv, betainccinv = map(_f, ("betainc", "betaincc", "betaincinv", "betainccinv"))
stdtr, stdtrit, fdtr, fdtrc, fdtri = map(_f, ("stdtr", "stdtrit", "fdtr", "fdtrc", "fdtri"))
HALF = (0.0, INF)


def _exponential(y: Any) -> Any:
    return -np.expm1(-y)


def _log_exponential(y: Any) -> Any:
    """log(1 - e^-y), by whichever logarithm keeps the digits."""
    near = y < LOG_2
    return where(near, np.log(-np.expm1(-where(near, y, 0.5))), np.log1p(-np.exp(-where(near, 1.0, y))))


def _off_zero(logpdf: Formula) -> Formula:
    """A density that vanishes at zero, where its formula has infinities of both signs."""

    def formula(y: Any, *shapes: Any) -> Any:
        zero = y == 0
        return where(zero, -INF, logpdf(where(zero, 1.0, y), *shapes))

    return formula


def _t(y: Any, df: Any) -> Any:
    return -betaln(0.5 * df, 0.5) - 0.5 * np.log(df) - 0.5 * (df + 1) * np.log1p(y * y / df)


def _fisher(y: Any, n: Any, d: Any) -> Any:
    a, b = 0.5 * n, 0.5 * d
    return a * np.log(n) + b * np.log(d) + xlogy(a - 1, y) - (a + b) * np.log(d + n * y) - betaln(a, b)


def _laplace_cdf(y: Any) -> Any:
    tail = 0.5 * np.exp(-np.abs(y))
    return where(y > 0, 1 - tail, tail)


def _laplace_ppf(q: Any) -> Any:
    return where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q))


CONTINUOUS: dict[str, Continuous] = {
    "norm": Continuous(
        lambda y: -0.5 * y * y - LOG_ROOT_2_PI, ndtr, lambda y: ndtr(-y), ndtri, lambda q: -ndtri(q),
        logcdf=log_ndtr, logsf=lambda y: log_ndtr(-y),
    ),
    "t": Continuous(
        _t, lambda y, df: stdtr(df, y), lambda y, df: stdtr(df, -y), lambda q, df: stdtrit(df, q),
        lambda q, df: -stdtrit(df, q),
    ),
    "gamma": Continuous(
        lambda y, a: xlogy(a - 1, y) - y - gammaln(a), lambda y, a: gammainc(a, y), lambda y, a: gammaincc(a, y),
        lambda q, a: gammaincinv(a, q), lambda q, a: gammainccinv(a, q), HALF,
    ),
    "beta": Continuous(
        lambda y, a, b: xlog1py(b - 1, -y) + xlogy(a - 1, y) - betaln(a, b),
        lambda y, a, b: betainc(a, b, y), lambda y, a, b: betaincc(a, b, y),
        lambda q, a, b: betaincinv(a, b, q), lambda q, a, b: betainccinv(a, b, q), (0.0, 1.0),
    ),
    "expon": Continuous(
        lambda y: -y, _exponential, lambda y: np.exp(-y), lambda q: -np.log1p(-q), lambda q: -np.log(q), HALF,
        logcdf=_log_exponential, logsf=lambda y: -y,
    ),
    "lognorm": Continuous(
        _off_zero(lambda y, s: -0.5 * (np.log(y) / s) ** 2 - np.log(s * y) - LOG_ROOT_2_PI),
        lambda y, s: ndtr(np.log(y) / s), lambda y, s: ndtr(-np.log(y) / s), lambda q, s: np.exp(s * ndtri(q)),
        lambda q, s: np.exp(-s * ndtri(q)), HALF,
        logcdf=lambda y, s: log_ndtr(np.log(y) / s), logsf=lambda y, s: log_ndtr(-np.log(y) / s),
    ),
    "weibull_min": Continuous(
        lambda y, c: np.log(c) + xlogy(c - 1, y) - np.power(y, c), lambda y, c: _exponential(np.power(y, c)),
        lambda y, c: np.exp(-np.power(y, c)), lambda q, c: np.power(-np.log1p(-q), 1 / c),
        lambda q, c: np.power(-np.log(q), 1 / c), HALF,
        logcdf=lambda y, c: _log_exponential(np.power(y, c)), logsf=lambda y, c: -np.power(y, c),
    ),
    "uniform": Continuous(lambda y: 0.0 * y, lambda y: y, lambda y: 1 - y, lambda q: q, lambda q: 1 - q, (0.0, 1.0)),
    "laplace": Continuous(
        lambda y: -np.abs(y) - LOG_2, _laplace_cdf, lambda y: _laplace_cdf(-y), _laplace_ppf,
        lambda q: -_laplace_ppf(q),
    ),
    "logistic": Continuous(
        lambda y: log_expit(y) + log_expit(-y), expit, lambda y: expit(-y), _f("logit"), lambda q: -apply("logit", q),
        logcdf=log_expit, logsf=lambda y: log_expit(-y),
    ),
    "cauchy": Continuous(
        lambda y: -LOG_PI - np.log1p(y * y), lambda y: np.arctan2(1.0, -y) / math.pi,
        lambda y: np.arctan2(1.0, y) / math.pi, lambda q: np.tan(math.pi * q - math.pi / 2),
        lambda q: np.tan(math.pi / 2 - math.pi * q),
    ),
    "chi2": Continuous(
        lambda y, df: xlogy(0.5 * df - 1, y) - 0.5 * y - gammaln(0.5 * df) - 0.5 * LOG_2 * df,
        lambda y, df: gammainc(0.5 * df, 0.5 * y), lambda y, df: gammaincc(0.5 * df, 0.5 * y),
        lambda q, df: 2 * gammaincinv(0.5 * df, q), lambda q, df: 2 * gammainccinv(0.5 * df, q), HALF,
    ),
    "f": Continuous(
        _fisher, lambda y, n, d: fdtr(n, d, y), lambda y, n, d: fdtrc(n, d, y), lambda q, n, d: fdtri(n, d, q),
        lambda q, n, d: fdtri(n, d, 1 - q), HALF,
    ),
    "pareto": Continuous(
        lambda y, b: np.log(b) - (b + 1) * np.log(y), lambda y, b: _exponential(b * np.log(y)),
        lambda y, b: np.power(y, -b), lambda q, b: np.exp(-np.log1p(-q) / b), lambda q, b: np.power(q, -1 / b),
        (1.0, INF), 1.5, logsf=lambda y, b: -b * np.log(y),
    ),
    "halfnorm": Continuous(
        lambda y: LOG_2 - LOG_ROOT_2_PI - 0.5 * y * y, lambda y: erf(y / ROOT_2), lambda y: 2 * ndtr(-y),
        lambda q: ndtri(0.5 * (1 + q)), lambda q: -ndtri(0.5 * q), HALF, logsf=lambda y: LOG_2 + log_ndtr(-y),
    ),
    "halfcauchy": Continuous(
        lambda y: LOG_2 - LOG_PI - np.log1p(y * y), lambda y: 2 / math.pi * np.arctan(y),
        lambda y: 2 / math.pi * np.arctan2(1.0, y), lambda q: np.tan(math.pi / 2 * q),
        lambda q: 1 / np.tan(math.pi / 2 * q), HALF,
    ),
    "invgamma": Continuous(
        _off_zero(lambda y, a: -(a + 1) * np.log(y) - gammaln(a) - 1 / y), lambda y, a: gammaincc(a, 1 / y),
        lambda y, a: gammainc(a, 1 / y), lambda q, a: 1 / gammainccinv(a, q), lambda q, a: 1 / gammaincinv(a, q), HALF,
    ),
    "gumbel_r": Continuous(
        lambda y: -y - np.exp(-y), lambda y: np.exp(-np.exp(-y)), lambda y: _exponential(np.exp(-y)),
        lambda q: -np.log(-np.log(q)), lambda q: -np.log(-np.log1p(-q)),
        logcdf=lambda y: -np.exp(-y), logsf=lambda y: _log_exponential(np.exp(-y)),
    ),
    "gumbel_l": Continuous(
        lambda y: y - np.exp(y), lambda y: _exponential(np.exp(y)), lambda y: np.exp(-np.exp(y)),
        lambda q: np.log(-np.log1p(-q)), lambda q: np.log(-np.log(q)),
        logcdf=lambda y: _log_exponential(np.exp(y)), logsf=lambda y: -np.exp(y),
    ),
}  # fmt: skip

# ---- distributions on whole numbers


def _is_probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def _binomial(k: Any, n: Any, p: Any) -> Any:
    count = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return count + xlogy(k, p) + xlog1py(n - k, -p)


def _up_to(k: Any, n: Any, p: Any, upper: bool) -> Any:
    """All of them from n on."""
    inside = k < n
    at = where(inside, k, 0.0)
    rest = where(inside, n - k, 1.0)
    part = betainc(at + 1, rest, p) if upper else betaincc(at + 1, rest, p)
    return where(inside, part, 0.0 if upper else 1.0)


def _log_beta(a: Any, b: Any) -> Any:
    return gammaln(a) + gammaln(b) - gammaln(a + b)


DISCRETE: dict[str, Discrete] = {
    "poisson": Discrete(
        lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu, lambda k, mu: gammaincc(k + 1, mu),
        lambda k, mu: gammainc(k + 1, mu), lambda mu: mu >= 0,
    ),
    "binom": Discrete(
        _binomial, lambda k, n, p: _up_to(k, n, p, False), lambda k, n, p: _up_to(k, n, p, True),
        lambda n, p: (n >= 0) & (n == np.floor(n)) & _is_probability(p), last=lambda n, p: n,
    ),
    "bernoulli": Discrete(
        lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p), lambda k, p: where(k < 1, 1 - p, 1.0),
        lambda k, p: where(k < 1, p, 0.0), _is_probability, last=lambda p: 1,
    ),
    "nbinom": Discrete(
        lambda k, n, p: gammaln(n + k) - gammaln(k + 1) - gammaln(n) + n * np.log(p) + xlog1py(k, -p),
        lambda k, n, p: betainc(n, k + 1, p), lambda k, n, p: betaincc(n, k + 1, p),
        lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    ),
    "betabinom": Discrete(
        lambda k, n, a, b: _log_beta(k + a, n - k + b) - _log_beta(a, b) - np.log(n + 1) - _log_beta(n - k + 1, k + 1),
        None, None, lambda n, a, b: (n >= 0) & (n == np.floor(n)) & (a > 0) & (b > 0), last=lambda n, a, b: n,
    ),
    "geom": Discrete(
        lambda k, p: xlog1py(k - 1, -p) + np.log(p), lambda k, p: -np.expm1(k * np.log1p(-p)),
        lambda k, p: np.exp(k * np.log1p(-p)), lambda p: (p > 0) & (p <= 1), first=1,
    ),
}  # fmt: skip

__all__ = ["CONTINUOUS", "DISCRETE", "Continuous", "Discrete", "gammaln", "xlogy"]
