"""Distributions of scipy.stats that tests' statistics have where a hypothesis fails, and mixtures of normal ones.

    ALTERNATIVES["ncx2"] = Continuous(...)

Their densities are Bessel's and Kummer's functions, in whose orders and parameters `called_series` has the slopes.
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
    ROOT_2,
    Continuous,
    betaln,
    gammainc,
    gammaincc,
    gammaln,
    log_ndtr,
    ndtr,
    xlogy,
)  # fmt: skip
from .made_of import NONE, quantiles

# ---- the alternatives of tests: noncentral distributions


def _rice(y: Any, b: Any) -> Any:
    return np.log(y) - 0.5 * (y - b) ** 2 + np.log(apply("i0e", y * b))


def _rice_cdf(y: Any, b: Any) -> Any:
    return apply("chndtr", y * y, 2.0, b * b)


def _noncentral_chi2(y: Any, df: Any, nc: Any) -> Any:
    """With Bessel's function by itself where nothing is noncentral."""
    order = 0.5 * df - 1.0
    some = nc > 0
    at = where(some, nc, 1.0)
    root = np.sqrt(y * at)
    made = 0.5 * order * np.log(y / at) - 0.5 * (np.sqrt(y) - np.sqrt(at)) ** 2
    made = made + np.log(apply("ive", order, root)) - LOG_2
    return where(some, made, xlogy(order, y) - 0.5 * y - gammaln(0.5 * df) - 0.5 * LOG_2 * df)


def _noncentral_f(y: Any, n: Any, d: Any, nc: Any) -> Any:
    a, b, whole = 0.5 * n, 0.5 * d, d + n * y
    log = a * np.log(n) + b * np.log(d) + xlogy(a - 1, y) - (a + b) * np.log(whole) - betaln(a, b)
    return log - 0.5 * nc + np.log(apply("hyp1f1", a + b, a, 0.5 * nc * n * y / whole))


def _noncentral_t(y: Any, df: Any, nc: Any) -> Any:
    """Its density by two of Kummer's functions, of which the odd one may be below zero."""
    far = df + y * y
    z = 0.5 * nc * nc * y * y / far
    log = 0.5 * df * np.log(df / far) + gammaln(df + 1.0) - 0.5 * nc * nc - LOG_2 * df - gammaln(0.5 * df)
    odd = ROOT_2 * nc * y / far * np.exp(-gammaln(0.5 * (df + 1.0))) * apply("hyp1f1", 0.5 * df + 1.0, 1.5, z)
    even = np.exp(-gammaln(0.5 * df + 1.0)) / np.sqrt(far) * apply("hyp1f1", 0.5 * (df + 1.0), 0.5, z)
    return log + np.log(odd + even)


def _inverse_gaussian(y: Any, mu: Any, sign: float) -> Any:
    """The reciprocal's: distribution function for a sign of -1, survival for 1."""
    root = 1.0 / np.sqrt(y)
    return ndtr(sign * root * (1.0 / mu - y)) + sign * np.exp(2.0 / mu + log_ndtr(-root * (1.0 / mu + y)))


def _normal_inverse_gaussian(y: Any, a: Any, b: Any) -> Any:
    far = np.sqrt(1.0 + y * y)
    free = np.sqrt(a * a - b * b)
    return np.log(a) - LOG_PI + free - a * far + b * y + np.log(apply("k1e", a * far)) - np.log(far)


def _generalized_inverse_gaussian(y: Any, p: Any, b: Any) -> Any:
    return (p - 1.0) * np.log(y) - 0.5 * b * (y - 1.0) ** 2 / y - LOG_2 - np.log(apply("kve", p, b))


def _hyperbolic(y: Any, p: Any, a: Any, b: Any) -> Any:
    square = a * a - b * b
    far = np.sqrt(1.0 + y * y)
    norm = 0.5 * p * np.log(square) - LOG_ROOT_2_PI - (p - 0.5) * np.log(a) - np.log(apply("kve", p, np.sqrt(square)))
    tail = np.log(apply("kve", p - 0.5, a * far)) - a * far + np.sqrt(square) + b * y
    return norm + tail + (p - 0.5) * np.log(far)


def _pearson(y: Any, skew: Any) -> tuple[Any, Any, Any]:
    """The gamma distribution's shape and rate, and where it is; the normal one is near a skew of zero."""
    normal = np.abs(skew) < 1.6e-5
    some = where(normal, 1.0, skew)
    beta = 2.0 / some
    return normal, beta * beta, beta * (y + beta)


def _pearson_logpdf(y: Any, skew: Any) -> Any:
    normal, alpha, at = _pearson(y, skew)
    inside = at > 0
    at = where(inside, at, 1.0)
    made = 0.5 * np.log(alpha) + xlogy(alpha - 1.0, at) - at - gammaln(alpha)
    return where(normal, -0.5 * y * y - LOG_ROOT_2_PI, where(inside, made, -INF))


def _pearson_tail(upper: bool) -> Any:
    def tail(y: Any, skew: Any) -> Any:
        normal, alpha, at = _pearson(y, skew)
        inside = at > 0
        at = where(inside, at, 1.0)
        below, above = gammainc(alpha, at), gammaincc(alpha, at)
        below, above = where(inside, below, 0.0), where(inside, above, 1.0)
        made = where((skew > 0) != upper, below, above)
        return where(normal, ndtr(-y if upper else y), made)

    return tail


def _crystal(beta: Any, m: Any) -> tuple[Any, Any]:
    """The mass of the power's tail and of the normal part, relative to the normal density at zero."""
    return m / beta / (m - 1.0) * np.exp(-0.5 * beta * beta), math.sqrt(2 * math.pi) * ndtr(beta)


def _crystal_logpdf(y: Any, beta: Any, m: Any) -> Any:
    tail, rest = _crystal(beta, m)
    normal = y > -beta
    ratio = m / beta
    far = m * np.log(ratio) - 0.5 * beta * beta - m * np.log(ratio - beta - where(normal, -beta, y))
    return where(normal, -0.5 * y * y, far) - np.log(tail + rest)


def _crystal_cdf(y: Any, beta: Any, m: Any) -> Any:
    tail, rest = _crystal(beta, m)
    normal, ratio = y > -beta, m / beta
    share = np.exp((m - 1.0) * (np.log(ratio) - np.log(ratio - beta - where(normal, -beta, y))))
    body = tail + math.sqrt(2 * math.pi) * (ndtr(where(normal, y, 0.0)) - ndtr(-beta))
    return where(normal, body, tail * share) / (tail + rest)


def _crystal_sf(y: Any, beta: Any, m: Any) -> Any:
    normal = y > -beta
    tail, rest = _crystal(beta, m)
    return where(normal, math.sqrt(2 * math.pi) * ndtr(-y) / (tail + rest), 1.0 - _crystal_cdf(y, beta, m))


# ---- distribution functions that are sums over fixed nodes

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_EVEN = np.linspace(-1.0, 1.0, 161)


def _mises(y: Any, kappa: Any) -> Any:
    return kappa * (np.cos(y) - 1.0) - 2 * LOG_ROOT_2_PI - np.log(apply("i0e", kappa))


def _mises_cdf(y: Any, kappa: Any) -> Any:
    """Gauss' rule from 0 on, as far as there is mass; a turn more adds 1."""
    turns = np.rint(y / (2 * math.pi))
    y = y - 2 * math.pi * turns
    far = np.minimum(np.abs(y), 12.0 / np.sqrt(where(kappa > 0, kappa, 1.0) + 1.0 - (kappa > 0)))
    at = 0.5 * far[..., None] * (_NODES + 1.0)
    mass = 0.5 * far * np.sum(np.exp(_mises(at, (kappa + 0.0 * y)[..., None])) * _WEIGHTS, axis=-1)
    return 0.5 + turns + where(y < 0, -mass, mass)


def _mises_sf(y: Any, kappa: Any) -> Any:
    return 1.0 - _mises_cdf(y, kappa)


def _gaussian_mixture(y: Any, a: Any, b: Any) -> Any:
    """A normal distribution function whose variance is inverse Gaussian, by the trapezoidal rule in its logarithm."""
    steep = np.sqrt(a * a - b * b) + 0.0 * y
    reach = np.arccosh(1.0 + 45.0 / steep)
    s = reach[..., None] * _EVEN
    variance = np.exp(s) / steep[..., None]
    weight = np.exp(-0.5 * s - steep[..., None] * (np.cosh(s) - 1.0))
    below = ndtr((y[..., None] - (b + 0.0 * y)[..., None] * variance) / np.sqrt(variance))
    return reach * 0.0125 * np.sqrt(steep / (2 * math.pi)) * np.sum(below * weight, axis=-1)


ALTERNATIVES: dict[str, Continuous] = {
    "rice": quantiles("rice", Continuous(
        _rice, _rice_cdf, lambda y, b: 1.0 - _rice_cdf(y, b), NONE, NONE, HALF, valid=lambda b: b >= 0
    )),
    "ncx2": quantiles("ncx2", Continuous(
        _noncentral_chi2, lambda y, df, nc: apply("chndtr", y, df, nc),
        lambda y, df, nc: 1.0 - apply("chndtr", y, df, nc),
        NONE, NONE, HALF, valid=lambda df, nc: (df > 0) & (nc >= 0),
    )),
    "ncf": quantiles("ncf", Continuous(
        _noncentral_f, lambda y, n, d, nc: apply("ncfdtr", n, d, nc, y),
        lambda y, n, d, nc: 1.0 - apply("ncfdtr", n, d, nc, y), NONE, NONE, HALF,
        valid=lambda n, d, nc: (n > 0) & (d > 0) & (nc >= 0),
    )),
    "nct": quantiles("nct", Continuous(
        _noncentral_t, lambda y, df, nc: apply("nctdtr", df, nc, y),
        lambda y, df, nc: apply("nctdtr", df, -nc, -y), NONE, NONE, valid=lambda df, nc: (df > 0) & (nc == nc),
    )),
    "recipinvgauss": quantiles("recipinvgauss", Continuous(
        lambda y, mu: -LOG_ROOT_2_PI - 0.5 * np.log(y) - (1.0 - mu * y) ** 2 / (2 * y * mu * mu),
        lambda y, mu: _inverse_gaussian(y, mu, -1.0), lambda y, mu: _inverse_gaussian(y, mu, 1.0), NONE, NONE, HALF,
    )),
    "pearson3": quantiles("pearson3", Continuous(
        _pearson_logpdf, _pearson_tail(False), _pearson_tail(True), NONE, NONE, valid=lambda skew: skew == skew
    )),
    "crystalball": quantiles("crystalball", Continuous(
        _crystal_logpdf, _crystal_cdf, _crystal_sf, NONE, NONE, valid=lambda beta, m: (beta > 0) & (m > 1)
    )),
    "norminvgauss": quantiles("norminvgauss", Continuous(
        _normal_inverse_gaussian, _gaussian_mixture, lambda y, a, b: _gaussian_mixture(-y, a, -b), NONE, NONE,
        valid=lambda a, b: (a > 0) & (np.abs(b) < a),
    )),
    "vonmises": quantiles("vonmises", Continuous(
        _mises, _mises_cdf, _mises_sf, NONE, NONE, valid=lambda kappa: kappa >= 0
    )),
    "vonmises_line": quantiles("vonmises_line", Continuous(
        _mises, _mises_cdf, _mises_sf, NONE, NONE, (-math.pi, math.pi), valid=lambda kappa: kappa > 0
    )),
    "geninvgauss": Continuous(
        _generalized_inverse_gaussian, NONE, NONE, NONE, NONE, HALF, valid=lambda p, b: (p == p) & (b > 0)
    ),
    "genhyperbolic": Continuous(
        _hyperbolic, NONE, NONE, NONE, NONE, valid=lambda p, a, b: (p == p) & (a > 0) & (np.abs(b) < a)
    ),
}  # fmt: skip
CONTINUOUS.update(ALTERNATIVES)

__all__ = ["ALTERNATIVES"]
