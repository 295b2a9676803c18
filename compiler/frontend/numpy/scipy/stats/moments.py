"""Means, variances and entropies of scipy.stats' distributions, of unit scale, where SciPy's own formulas do not trace.

    mean, variance = MOMENTS["genextreme"](c)           ENTROPIES["pareto"](b)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ufuncs import where
from ..special.functions import apply
from .densities import INF, LOG_2, LOG_PI, LOG_ROOT_2_PI, Formula, betaln, gammaln
from .families import _mass
from .made_of import exp_ratio

EULER = float(np.euler_gamma)

# ---- means and variances


def _raw(moment: Formula, most: Formula | None = None, beyond: float = INF) -> Formula:
    """Of E X^n, which is infinite from `most` on: what SciPy says there is `beyond`."""

    def both(*shapes: Any) -> tuple[Any, Any]:
        made = []
        for n in (1, 2):
            there = True if most is None else n < most(*shapes)
            inside = shapes if most is None else [where(there, s, 4.0 + n) for s in shapes]
            made.append(where(there, moment(n, *inside), beyond))
        square = made[0] if most is None else where(most(*shapes) > 2, made[0], 0.0)
        return made[0], made[1] - square**2

    return both


def _beta(a: Any, b: Any) -> Any:
    return np.exp(betaln(a, b))


def _gamma_ratio(a: Any, b: Any) -> Any:
    return np.exp(gammaln(a) - gammaln(b))


def _zeta(k: int, terms: int = 500) -> float:
    """Riemann's, by a sum and the first terms of Euler's and Maclaurin's formula."""
    n = np.arange(terms, 0.0, -1.0)
    return float(np.sum(n**-k) + terms ** (1.0 - k) / (k - 1) - 0.5 * terms ** -float(k) + k * terms ** -(k + 1.0) / 12)


ZETA = [_zeta(k) for k in range(2, 31)]


def _series(c: Any, factor: Formula, first: int) -> Any:
    """The sum of zeta(k) (-c)^k factor(k) / k / c^first, near c = 0."""
    return sum(ZETA[k - 2] * (-1) ** k * factor(k) / k * c ** (k - first) for k in range(2, 31))


def _extremes(c: Any) -> tuple[Any, Any]:
    """(1 - g1) / c and (g2 - g1^2) / c^2 of g_k = gamma(1 + k c), by series of their logarithms near c = 0."""
    near, valid = np.abs(c) < 0.1, c > -0.5
    small, far = where(near, c, 0.0), where(near | ~valid, 0.5, c)
    first = where(near, _series(small, lambda k: 1.0, 1) - EULER, gammaln(1.0 + far) / far)
    log = where(near, small, far) * first
    apart = (gammaln(1 + 2 * far) - 2 * gammaln(1 + far)) / far**2
    second = where(near, _series(small, lambda k: 2.0**k - 2.0, 2), apart)
    at = where(near, small, far) ** 2
    variance = np.exp(2.0 * log) * exp_ratio(at * second) * second
    other = where((c > -1) & ~near, c, 0.5)
    mean = where(near, -first * exp_ratio(log), -np.expm1(gammaln(1.0 + other)) / other)
    return where(c > -1, mean, math.nan), where(valid, variance, math.nan)


def _excesses(c: Any) -> tuple[Any, Any]:
    one, two = where(c < 1, c, 0.0), where(c < 0.5, c, 0.0)
    return where(c < 1, 1.0 / (1.0 - one), INF), where(c < 0.5, (1.0 - two) ** -2.0 / (1.0 - 2.0 * two), math.nan)


def _cut_normal(a: Any, b: Any) -> tuple[Any, Any]:
    """By the densities at both ends over the mass between; an end at infinity has none."""
    mass = _mass(a, b)
    ends = [where(np.abs(x) < INF, x, 0.0) for x in (a, b)]
    low, high = (
        where(np.abs(x) < INF, np.exp(-0.5 * e * e - LOG_ROOT_2_PI - mass), 0.0)
        for x, e in zip((a, b), ends, strict=True)
    )
    mean = low - high
    return mean, 1.0 + ends[0] * low - ends[1] * high - mean**2


def _fisher(n: Any, d: Any) -> tuple[Any, Any]:
    one, two = where(d > 2, d, 3.0), where(d > 4, d, 5.0)
    spread = 2.0 * two**2 * (n + two - 2.0) / (n * (two - 2.0) ** 2 * (two - 4.0))
    return where(d > 2, one / (one - 2.0), INF), where(d > 4, spread, INF)


def _noncentral_f(n: Any, d: Any, nc: Any) -> tuple[Any, Any]:
    one, two = where(d > 2, d, 3.0), where(d > 4, d, 5.0)
    spread = 2.0 * (two / n) ** 2 * ((n + nc) ** 2 + (n + 2.0 * nc) * (two - 2.0)) / ((two - 2.0) ** 2 * (two - 4.0))
    return where(d > 2, one * (n + nc) / (n * (one - 2.0)), math.nan), where(d > 4, spread, math.nan)


def _noncentral_t(df: Any, nc: Any) -> tuple[Any, Any]:
    one, two = where(df > 1, df, 2.0), where(df > 2, df, 3.0)
    mean = lambda x: nc * np.sqrt(0.5 * x) * _gamma_ratio(0.5 * (x - 1.0), 0.5 * x)  # noqa: E731
    spread = two * (1.0 + nc * nc) / (two - 2.0) - mean(two) ** 2
    return where(df > 1, mean(one), math.nan), where(df > 2, spread, math.nan)


def _rice(b: Any) -> tuple[Any, Any]:
    half = 0.5 * b * b
    laguerre = (1.0 + half) * apply("ive", 0.0, 0.5 * half) + half * apply("ive", 1.0, 0.5 * half)
    mean = math.sqrt(0.5 * math.pi) * laguerre
    return mean, 2.0 + b * b - mean**2


def _argus(chi: Any) -> tuple[Any, Any]:
    square = chi * chi
    mass = 0.5 * apply("gammainc", 1.5, 0.5 * square)
    mean = math.sqrt(math.pi / 8) * chi * apply("ive", 1.0, 0.25 * square) / mass
    return mean, 1.0 - 3.0 / square + chi * np.exp(-0.5 * square - LOG_ROOT_2_PI) / mass - mean**2


def _johnson(a: Any, b: Any) -> tuple[Any, Any]:
    square = b**-2.0
    spread = 0.5 * np.expm1(square) * (np.exp(square) * np.cosh(2.0 * a / b) + 1.0)
    return -np.exp(0.5 * square) * np.sinh(a / b), spread


def _cut_weibull(n: int, c: Any, a: Any, b: Any) -> Any:
    order = n / c + 1.0
    inside = apply("gammainc", order, b**c) - apply("gammainc", order, a**c)
    return np.exp(gammaln(order)) * inside / (np.exp(-(a**c)) - np.exp(-(b**c)))


def _inverse_gaussians(p: Any, b: Any) -> tuple[Any, Any]:
    one, two = (apply("kve", p + n, b) / apply("kve", p, b) for n in (1.0, 2.0))
    return one, two - one**2


def _student(df: Any) -> tuple[Any, Any]:
    two = where(df > 2, df, 3.0)
    spread = where(df > 2, two / (two - 2.0), where(df > 1, INF, math.nan))
    return where(df > 1, 0.0 * df, INF), spread


def _zipf(n: int, a: Any) -> Any:
    return apply("hurwitz", a - n, 1.0) / apply("hurwitz", a, 1.0)


def _flat_top(n: int, c: Any, d: Any) -> Any:
    """By sums of powers: (1 - d^m) / (1 - d) has no division."""
    powers = sum((d**k for k in range(1, n + 2)), 1.0)
    return 2.0 / (1.0 + d - c) * (powers - c ** (n + 1)) / ((n + 1) * (n + 2))


def _is_double(of: Formula) -> Formula:
    """Of E Y^2 of a distribution that lies evenly about zero."""
    return lambda *shapes: (0.0, of(*shapes))


MOMENTS: dict[str, Formula] = {
    "poisson": lambda mu: (mu, mu), "nbinom": lambda n, p: (n * (1.0 - p) / p, n * (1.0 - p) / p**2),
    "t": _student, "trapezoid": _raw(_flat_top), "zipf": _raw(_zipf, lambda a: a - 1.0),
    "genextreme": _extremes, "genpareto": _excesses, "truncnorm": _cut_normal, "f": _fisher, "ncf": _noncentral_f,
    "nct": _noncentral_t, "rice": _rice, "argus": _argus, "johnsonsu": _johnson, "geninvgauss": _inverse_gaussians,
    "ncx2": lambda df, nc: (df + nc, 2.0 * df + 4.0 * nc),
    "chi": _raw(lambda n, df: 2.0 ** (n / 2) * _gamma_ratio(0.5 * (df + n), 0.5 * df)),
    "gengamma": _raw(lambda n, a, c: _gamma_ratio(a + n / c, a)),
    "lomax": _raw(lambda n, c: n / (c - 1.0) / (1.0 if n == 1 else c - 2.0), lambda c: c),
    "pareto": _raw(lambda n, b: b / (b - n), lambda b: b),
    "burr": _raw(lambda n, c, d: d * _beta(d + n / c, 1.0 - n / c), lambda c, d: c, math.nan),
    "fisk": _raw(lambda n, c: _beta(1.0 + n / c, 1.0 - n / c), lambda c: c, math.nan),
    "burr12": _raw(lambda n, c, d: d * _beta(1.0 + n / c, d - n / c), lambda c, d: c * d, math.nan),
    "mielke": _raw(lambda n, k, s: np.exp(gammaln(1.0 - n / s)) * _gamma_ratio((k + n) / s, k / s), lambda k, s: s),
    "invweibull": _raw(lambda n, c: np.exp(gammaln(1.0 - n / c)), lambda c: c),
    "betaprime": _raw(
        lambda n, a, b: a / (b - 1.0) * (1.0 if n == 1 else (a + 1.0) / (b - 2.0)), lambda a, b: b
    ),
    "weibull_max": _raw(lambda n, c: (-1) ** n * np.exp(gammaln(1.0 + n / c))),
    "dweibull": _is_double(lambda c: np.exp(gammaln(1.0 + 2.0 / c))),
    "dgamma": _is_double(lambda a: a * (a + 1.0)),
    "gennorm": _is_double(lambda b: _gamma_ratio(3.0 / b, 1.0 / b)),
    "halfgennorm": _raw(lambda n, b: _gamma_ratio((n + 1) / b, 1.0 / b)),
    "nakagami": _raw(lambda n, nu: _gamma_ratio(nu + n / 2, nu) * nu ** (-n / 2)),
    "truncweibull_min": _raw(_cut_weibull),
    "powerlaw": _raw(lambda n, a: a / (a + n)),
    "triang": lambda c: ((1.0 + c) / 3.0, (1.0 - c + c * c) / 18.0),
    "loguniform": _raw(lambda n, a, b: (b**n - a**n) / (n * np.log(b / a))),
    "truncexpon": _raw(lambda n, b: math.factorial(n) * apply("gammainc", n + 1.0, b) / -np.expm1(-b)),
    "norminvgauss": lambda a, b: (b / np.sqrt(a * a - b * b), a * a / (a * a - b * b) ** 1.5),
}  # fmt: skip

# ---- entropies


def _psi(x: Any) -> Any:
    return apply("psi", x)


def _gamma_entropy(a: Any) -> Any:
    return _psi(a) * (1 - a) + a + gammaln(a)


def _weibull_entropy(c: Any) -> Any:
    return EULER * (1.0 - 1.0 / c) - np.log(c) + 1.0


def _cut_normal_entropy(a: Any, b: Any) -> Any:
    mean, variance = _cut_normal(a, b)
    return 0.5 * (variance + mean**2) + LOG_ROOT_2_PI + _mass(a, b)


def _fisher_entropy(n: Any, d: Any) -> Any:
    a, b = 0.5 * n, 0.5 * d
    return np.log(d / n) + betaln(a, b) + (1 - a) * _psi(a) - (1 + b) * _psi(b) + (a + b) * _psi(a + b)


def _student_entropy(df: Any) -> Any:
    half = 0.5 * (df + 1.0)
    return half * (_psi(half) - _psi(0.5 * df)) + 0.5 * np.log(df) + betaln(0.5 * df, 0.5)


def _power_entropy(nu: Any, c: Any) -> Any:
    """Of Y^(1/c) for Y of the gamma distribution."""
    return gammaln(nu) + nu - np.log(np.abs(c)) + (1.0 / c - nu) * _psi(nu)


def _mises(kappa: Any) -> Any:
    zero = apply("i0e", kappa)
    return 2 * LOG_ROOT_2_PI + np.log(zero) + kappa * (1.0 - apply("i1e", kappa) / zero)


def _binary(p: Any) -> Any:
    return apply("entr", p) + apply("entr", 1.0 - p)


ENTROPIES: dict[str, Formula] = {
    "norm": lambda: 0.5 + LOG_ROOT_2_PI, "expon": lambda: 1.0, "uniform": lambda: 0.0, "laplace": lambda: LOG_2 + 1.0,
    "logistic": lambda: 2.0, "cauchy": lambda: 2 * LOG_2 + LOG_PI, "gumbel_r": lambda: EULER + 1.0,
    "gumbel_l": lambda: EULER + 1.0, "lognorm": lambda s: 0.5 + LOG_ROOT_2_PI + np.log(s), "gamma": _gamma_entropy,
    "gibrat": lambda: 0.5 + LOG_ROOT_2_PI, "erlang": _gamma_entropy,
    "chi2": lambda df: LOG_2 + _gamma_entropy(0.5 * df),
    "beta": lambda a, b: betaln(a, b) - (a - 1) * _psi(a) - (b - 1) * _psi(b) + (a + b - 2) * _psi(a + b),
    "weibull_min": _weibull_entropy, "weibull_max": _weibull_entropy,
    "dweibull": lambda c: LOG_2 + _weibull_entropy(c), "dgamma": lambda a: LOG_2 + _gamma_entropy(a),
    "t": _student_entropy, "f": _fisher_entropy, "truncnorm": _cut_normal_entropy, "vonmises": _mises,
    "pareto": lambda b: 1.0 + 1.0 / b - np.log(b), "lomax": lambda c: 1.0 + 1.0 / c - np.log(c),
    "powerlaw": lambda a: 1.0 - 1.0 / a - np.log(a), "genpareto": lambda c: 1.0 + c,
    "genextreme": lambda c: EULER * (1.0 - c) + 1.0, "rayleigh": lambda: 1.0 - 0.5 * LOG_2 + 0.5 * EULER,
    "maxwell": lambda: LOG_ROOT_2_PI + EULER - 0.5, "halfnorm": lambda: 0.5 * (LOG_PI - LOG_2) + 0.5,
    "halfcauchy": lambda: LOG_2 + LOG_PI, "hypsecant": lambda: LOG_2 + LOG_PI, "halflogistic": lambda: 2.0 - LOG_2,
    "invgamma": lambda a: a + gammaln(a) - (1 + a) * _psi(a),
    "chi": lambda df: 0.5 * LOG_2 + _power_entropy(0.5 * df, 2.0),
    "gengamma": _power_entropy, "gennorm": lambda b: 1.0 / b - np.log(0.5 * b) + gammaln(1.0 / b),
    "halfgennorm": lambda b: 1.0 / b - np.log(b) + gammaln(1.0 / b),
    "nakagami": lambda nu: _power_entropy(nu, 2.0) - 0.5 * np.log(nu),
    "moyal": lambda: 0.5 * (EULER + LOG_2 + 1.0) + LOG_ROOT_2_PI, "fisk": lambda c: 2.0 - np.log(c),
    "levy": lambda: 0.5 * (1.0 + 3.0 * EULER + math.log(16 * math.pi)), "levy_l": lambda: ENTROPIES["levy"](),
    "invweibull": lambda c: 1.0 + EULER + EULER / c - np.log(c), "loggamma": lambda c: gammaln(c) + c - c * _psi(c),
    "gompertz": lambda c: 1.0 - np.log(c) - np.exp(c) * apply("exp1", c),
    "genlogistic": lambda c: -np.log(c) + _psi(c + 1.0) + EULER + 1.0,
    "laplace_asymmetric": lambda k: 1.0 + np.log(k + 1.0 / k), "loglaplace": lambda c: LOG_2 + 1.0 - np.log(c),
    "triang": lambda c: 0.5 - LOG_2 + 0.0 * c, "arcsine": lambda: LOG_PI - 2 * LOG_2,
    "trapezoid": lambda c, d: 0.5 * (1.0 - d + c) / (1.0 + d - c) + np.log(0.5 * (1.0 + d - c)),
    "semicircular": lambda: LOG_PI - 0.5, "cosine": lambda: 2 * LOG_2 + LOG_PI - 1.0, "anglit": lambda: 1.0 - LOG_2,
    "bradford": lambda c: 0.5 * np.log1p(c) - np.log(c / np.log1p(c)),
    "loguniform": lambda a, b: 0.5 * np.log(a * b) + np.log(np.log(b / a)),
    "truncexpon": lambda b: np.log(-np.expm1(-b)) + 1.0 - b / np.expm1(b),
    "bernoulli": _binary, "geom": lambda p: _binary(p) / p,
    "planck": lambda rate: rate * np.exp(-rate) / -np.expm1(-rate) - np.log(-np.expm1(-rate)),
    "dlaplace": lambda a: a / np.sinh(a) - np.log(np.tanh(0.5 * a)),
}  # fmt: skip
"""The differential entropies, of unit scale, and those of counts."""

for _table in (MOMENTS, ENTROPIES):
    _table["reciprocal"] = _table["loguniform"]

__all__ = ["ENTROPIES", "MOMENTS"]
