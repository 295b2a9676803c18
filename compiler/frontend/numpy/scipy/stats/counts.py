"""More distributions of scipy.stats on whole numbers: of draws without replacement, of ranks, differences and series.

    COUNTS["planck"] = Discrete(logpmf=lambda k, rate: ..., cdf=..., sf=..., valid=lambda rate: rate > 0)

Whose distribution functions have no formula are summed, where it is a number of now up to where.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....array import Array, unknown
from ...ufuncs import where
from ..special.functions import apply
from .densities import DISCRETE, INF, Discrete, betaln, gammaln, xlogy


def _choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _whole(*xs: Any) -> Any:
    good = True
    for x in xs:
        good = (x >= 0) & (x == np.floor(x)) & good
    return good


def _top(a: Any, b: Any) -> Any:
    return np.minimum(a, b)


def _skellam(k: Any, a: Any, b: Any) -> Any:
    root = np.sqrt(a * b)
    size = np.abs(k)
    return 0.5 * k * np.log(a / b) - (np.sqrt(a) - np.sqrt(b)) ** 2 + np.log(apply("ive", size, 2.0 * root))


def _skellam_cdf(k: Any, a: Any, b: Any) -> Any:
    low = k < 0
    under, over = where(low, -2.0 * k, 2.0), where(low, 2.0, 2.0 * (k + 1.0))
    return where(low, apply("chndtr", 2.0 * b, under, 2.0 * a), 1.0 - apply("chndtr", 2.0 * a, over, 2.0 * b))


def _skellam_sf(k: Any, a: Any, b: Any) -> Any:
    return _skellam_cdf(-k - 1.0, b, a)


def _two_sided(k: Any, a: Any) -> Any:
    """The discrete Laplace distribution's upper tail from k + 1 on, k >= 0, and what that is below."""
    upper = k >= 0
    tail = np.exp(-a * where(upper, k, -k - 1.0)) / (np.exp(a) + 1.0)
    return where(upper, 1.0 - tail, tail)


def _zipf_tail(k: Any, a: Any) -> Any:
    return _hurwitz(a, k + 1.0) / _hurwitz(a, 1.0)


def _hurwitz(a: Any, q: Any) -> Any:
    return apply("hurwitz", a, q)


def _harmonic(n: Any, a: Any) -> Any:
    """The sum of j^-a up to n, a number of now."""
    if isinstance(n, Array):
        raise unknown("scipy.stats.zipfian", " with a traced n")
    j = np.arange(1, int(np.max(n)) + 1)
    terms = np.exp(-np.expand_dims(a, -1) * np.log(j))
    return np.sum(where(j <= np.expand_dims(n, -1), terms, 0.0), axis=-1)


COUNTS: dict[str, Discrete] = {
    "betanbinom": Discrete(
        lambda k, n, a, b: betaln(a + n, b + k) - betaln(a, b) + gammaln(n + k) - gammaln(n) - gammaln(k + 1.0),
        None, None, lambda n, a, b: _whole(n) & (a > 0) & (b > 0),
    ),
    "hypergeom": Discrete(
        lambda k, M, n, N: _choose(n, k) + _choose(M - n, N - k) - _choose(M, N), None, None,
        lambda M, n, N: _whole(M, n, N) & (n <= M) & (N <= M), start=lambda M, n, N: np.maximum(N - (M - n), 0.0),
        last=lambda M, n, N: _top(n, N),
    ),
    "nhypergeom": Discrete(
        lambda k, M, n, r: _choose(k + r - 1.0, k) + _choose(M - r - k, n - k) - _choose(M, n), None, None,
        lambda M, n, r: _whole(M, n, r) & (n <= M) & (r <= M - n), last=lambda M, n, r: n,
    ),
    "randint": Discrete(
        lambda k, low, high: -np.log(high - low) + 0.0 * k, lambda k, low, high: (k - low + 1.0) / (high - low),
        lambda k, low, high: (high - k - 1.0) / (high - low), lambda low, high: high > low,
        start=lambda low, high: low, last=lambda low, high: high - 1.0,
    ),
    "boltzmann": Discrete(
        lambda k, rate, N: np.log(np.expm1(-rate) / np.expm1(-rate * N)) - rate * k,
        lambda k, rate, N: np.expm1(-rate * (k + 1.0)) / np.expm1(-rate * N),
        lambda k, rate, N: (np.exp(-rate * N) - np.exp(-rate * (k + 1.0))) / np.expm1(-rate * N),
        lambda rate, N: (rate > 0) & (N > 0) & (np.floor(N) == N), last=lambda rate, N: N - 1.0,
    ),
    "planck": Discrete(
        lambda k, rate: np.log(-np.expm1(-rate)) - rate * k, lambda k, rate: -np.expm1(-rate * (k + 1.0)),
        lambda k, rate: np.exp(-rate * (k + 1.0)), lambda rate: rate > 0,
    ),
    "dlaplace": Discrete(
        lambda k, a: np.log(np.tanh(0.5 * a)) - a * np.abs(k), _two_sided, lambda k, a: _two_sided(-k - 1.0, a),
        lambda a: a > 0, start=lambda a: -INF,
    ),
    "logser": Discrete(
        lambda k, p: xlogy(k, p) - np.log(k) - np.log(-np.log1p(-p)), None, None, lambda p: (p > 0) & (p < 1), first=1
    ),
    "zipf": Discrete(
        lambda k, a: -a * np.log(k) - np.log(_hurwitz(a, 1.0)), lambda k, a: 1.0 - _zipf_tail(k, a), _zipf_tail,
        lambda a: a > 1, first=1,
    ),
    "zipfian": Discrete(
        lambda k, a, n: -a * np.log(k) - np.log(_harmonic(n, a)), None, None,
        lambda a, n: (a >= 0) & _whole(n) & (n > 0),
        first=1, last=lambda a, n: n,
    ),
    "yulesimon": Discrete(
        lambda k, a: np.log(a) + betaln(k, a + 1.0), lambda k, a: 1.0 - k * np.exp(betaln(k, a + 1.0)),
        lambda k, a: k * np.exp(betaln(k, a + 1.0)), lambda a: a > 0, first=1,
    ),
    "skellam": Discrete(
        _skellam, _skellam_cdf, _skellam_sf, lambda a, b: (a > 0) & (b > 0), start=lambda a, b: -INF
    ),
}  # fmt: skip


DISCRETE.update(COUNTS)

__all__ = ["COUNTS"]
