"""scipy.stats' ranks and what is made of them on traced samples, and tests of shapes and spreads: with p-values where
these have a formula.

Ranks change by steps: they have values, and slopes of zero.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from ....array import unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ...ufuncs import where
from ..special.functions import apply, as_float, given
from .hypotheses import rows
from .summaries import Correlation, kurtosis, pearsonr, refuse_options, skew


class Tested(NamedTuple):
    """A statistic, and how probable one as far out is without an effect."""

    statistic: Any
    pvalue: Any


def _tail(z: Any, alternative: str) -> Any:
    """The normal probability of what is as far out as z."""
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    if alternative == "two-sided":
        return 2.0 * apply("ndtr", -np.abs(z))
    return apply("ndtr", z if alternative == "less" else -z)


def _above(statistic: Any, free: Any) -> Any:
    return apply("chdtrc", float(free), statistic)


# ---- ranks


def rankdata(a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate") -> Any:
    if nan_policy != "propagate" or method not in ("average", "min", "max", "dense", "ordinal"):
        raise unknown("scipy.stats.rankdata", f" with method={method!r} and nan_policy={nan_policy!r}")
    if method in ("dense", "ordinal"):
        raise unknown("scipy.stats.rankdata", f" with method={method!r}")
    x = as_float(as_operand(a))
    x = np.ravel(x) if axis is None else np.moveaxis(x, axis, -1)
    if x.ndim == 1:
        order = np.sort(x)
        low, high = np.searchsorted(order, x, "left"), np.searchsorted(order, x, "right")
    else:
        each, other = np.expand_dims(x, -1), np.expand_dims(x, -2)
        low, high = np.sum(other < each, axis=-1), np.sum(other <= each, axis=-1)
    ranks = {"average": 0.5 * (low + high + 1.0), "min": low + 1.0, "max": high + 0.0}[method]
    ranks = where(np.any(np.isnan(x), axis=-1, keepdims=True), math.nan, ranks)
    return ranks if axis is None else np.moveaxis(ranks, -1, axis)


def spearmanr(
    a: Any, b: Any = None, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided"
) -> Any:
    """Student's t with n - 2 degrees of freedom tells the probability."""
    if nan_policy != "propagate" or b is None or np.ndim(as_operand(a)) != 1 or np.ndim(as_operand(b)) != 1:
        raise unknown("scipy.stats.spearmanr", " but of two samples along one axis")
    x, y = rankdata(a), rankdata(b)
    r = pearsonr(x, y).statistic
    free = x.shape[0] - 2.0
    t = r * np.sqrt(where(np.abs(r) < 1, free / ((1.0 - r) * (1.0 + r)), math.inf))
    t = where(np.abs(r) < 1, t, np.sign(r) * math.inf)
    if alternative == "two-sided":
        return Tested(r, 2.0 * apply("stdtr", free, -np.abs(t)))
    return Tested(r, apply("stdtr", free, t if alternative == "less" else -t))


def kendalltau(x: Any, y: Any, **options: Any) -> Any:
    """Tau-b; its probability is that of the normal approximation if asked for with method='asymptotic'."""
    method, variant = options.pop("method", "auto"), options.pop("variant", "b")
    alternative = options.pop("alternative", "two-sided")
    refuse_options("kendalltau", **options)
    x, y = as_float(as_operand(x)), as_float(as_operand(y))
    if variant != "b" or x.ndim != 1 or x.shape != y.shape:
        raise unknown("scipy.stats.kendalltau", " but tau-b of two samples of one size")
    n = x.shape[0]
    u, v = (np.sign(z[:, None] - z[None, :]) for z in (x, y))
    made = 0.5 * np.sum(u * v)
    pairs = 0.5 * n * (n - 1)
    ties = [pairs - 0.5 * np.sum(np.abs(z)) for z in (u, v)]
    tau = made / np.sqrt(pairs - ties[0]) / np.sqrt(pairs - ties[1])
    if method != "asymptotic":
        return Tested(tau, _Later("scipy.stats.kendalltau", "p-value", "method='asymptotic'"))
    counts = [np.sum(1.0 - np.abs(z), axis=1) for z in (u, v)]
    # a group of t ties has t elements that count t each: sums over elements are sums over groups of t f(t)
    second, third = ([np.sum(f(t)) for t in counts] for f in (
        lambda t: (t - 1.0) * (t - 2.0), lambda t: (t - 1.0) * (2.0 * t + 5.0)
    ))  # fmt: skip
    m = n * (n - 1.0)
    spread = (m * (2.0 * n + 5.0) - third[0] - third[1]) / 18.0
    spread = spread + 2.0 * ties[0] * ties[1] / m + second[0] * second[1] / (9.0 * m * (n - 2.0))
    return Tested(tau, _tail(made / np.sqrt(spread), alternative))


class _Later:
    """In place of a number that the call did not ask for as it can be had."""

    def __init__(self, name: str, what: str, fix: str) -> None:
        self._said = (name, f"'s {what}, but with {fix}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__add__", "__mul__"):
            raise AttributeError(name)
        raise unknown(*self._said)


# ---- shapes: D'Agostino's and Anscombe's tests, and Jarque's and Bera's


def _skew_z(x: Any) -> Any:
    n, b = float(x.shape[-1]), skew(x, axis=-1)
    if n < 8:
        raise ValueError(f"skewtest requires at least 8 observations; only {int(n)} observations were given.")
    y = b * math.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta = 3.0 * (n * n + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    square = -1 + math.sqrt(2 * (beta - 1))
    alpha = math.sqrt(2.0 / (square - 1))
    return np.arcsinh(y / alpha) / math.sqrt(0.5 * math.log(square))


def _kurtosis_z(x: Any) -> Any:
    n, b = float(x.shape[-1]), kurtosis(x, axis=-1, fisher=False)
    mean = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1.0) * (n + 3) * (n + 5))
    at = (b - mean) / math.sqrt(variance)
    skewed = 6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    skewed *= math.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6.0 + 8.0 / skewed * (2.0 / skewed + math.sqrt(1 + 4.0 / skewed**2))
    low = 1 - 2 / (9.0 * a)
    below = 1 + at * math.sqrt(2 / (a - 4.0))
    return (low - np.sign(below) * ((1 - 2.0 / a) / np.abs(below)) ** (1 / 3)) / math.sqrt(2 / (9.0 * a))


def _shape_test(z: Any) -> Any:
    def test(a: Any, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided", **more: Any) -> Any:
        refuse_options("skewtest", nan_policy=nan_policy, **more)
        made = z(rows(a, axis))
        return Tested(made, _tail(made, alternative))

    return test


def normaltest(a: Any, axis: Any = 0, nan_policy: str = "propagate", **more: Any) -> Any:
    refuse_options("normaltest", nan_policy=nan_policy, **more)
    x = rows(a, axis)
    made = _skew_z(x) ** 2 + _kurtosis_z(x) ** 2
    return Tested(made, _above(made, 2))


def jarque_bera(x: Any, *, axis: Any = None, nan_policy: str = "propagate", **more: Any) -> Any:
    refuse_options("jarque_bera", nan_policy=nan_policy, **more)
    x = rows(x, axis)
    made = x.shape[-1] / 6.0 * (skew(x, axis=-1) ** 2 + kurtosis(x, axis=-1) ** 2 / 4.0)
    return Tested(made, _above(made, 2))


# ---- spreads of several samples


def _samples(name: str, samples: tuple[Any, ...], axis: Any, more: dict[str, Any]) -> list[Any]:
    refuse_options(name, **more)
    return [rows(each, axis) for each in samples]


def levene(*samples: Any, center: str = "median", proportiontocut: float = 0.05, axis: Any = 0, **more: Any) -> Any:
    if center not in ("median", "mean"):
        raise unknown("scipy.stats.levene", f" with center={center!r}")
    xs, of = _samples("levene", samples, axis, more), np.median if center == "median" else np.mean
    zs = [np.abs(x - of(x, axis=-1, keepdims=True)) for x in xs]
    sizes = [z.shape[-1] for z in zs]
    n, k = sum(sizes), len(zs)
    means = [np.mean(z, axis=-1) for z in zs]
    whole = sum(s * m for s, m in zip(sizes, means, strict=True)) / n
    between = sum(s * (m - whole) ** 2 for s, m in zip(sizes, means, strict=True))
    within = sum(np.sum((z - m[..., None]) ** 2, axis=-1) for z, m in zip(zs, means, strict=True))
    made = (n - k) / (k - 1.0) * between / within
    return Tested(made, apply("fdtrc", k - 1.0, float(n - k), made))


def bartlett(*samples: Any, axis: Any = 0, **more: Any) -> Any:
    xs = _samples("bartlett", samples, axis, more)
    sizes, k = [x.shape[-1] for x in xs], len(xs)
    n = sum(sizes)
    spreads = [np.var(x, axis=-1, ddof=1) for x in xs]
    pooled = sum((s - 1.0) * v for s, v in zip(sizes, spreads, strict=True)) / (n - k)
    made = (n - k) * np.log(pooled) - sum((s - 1.0) * np.log(v) for s, v in zip(sizes, spreads, strict=True))
    made = made / (1.0 + (sum(1.0 / (s - 1.0) for s in sizes) - 1.0 / (n - k)) / (3.0 * (k - 1.0)))
    return Tested(made, _above(made, k - 1))


def kruskal(*samples: Any, axis: Any = 0, **more: Any) -> Any:
    xs = _samples("kruskal", samples, axis, more)
    if any(x.ndim != 1 for x in xs):
        raise unknown("scipy.stats.kruskal", " but of samples along one axis")
    joint = np.concatenate(xs)
    ranks, n = rankdata(joint), joint.shape[0]
    ends = np.cumsum([0, *[x.shape[0] for x in xs]])
    parts = sum(np.sum(ranks[a:b]) ** 2 / (b - a) for a, b in itertools.pairwise(ends))
    made = (12.0 / (n * (n + 1.0)) * parts - 3.0 * (n + 1)) / _tie_correction(joint)
    return Tested(made, _above(made, len(xs) - 1))


def _tie_correction(x: Any) -> Any:
    """1 - sum(t^3 - t) / (n^3 - n) over groups of t ties: an element of a group stands for t^2 - 1."""
    n = x.shape[0]
    t = rankdata(x, "max") - rankdata(x, "min") + 1.0
    return 1.0 - np.sum(t * t - 1.0) / (float(n) ** 3 - n)


def mannwhitneyu(
    x: Any, y: Any, use_continuity: bool = True, alternative: str = "two-sided", axis: Any = 0, method: str = "auto",
    **more: Any,
) -> Any:  # fmt: skip
    refuse_options("mannwhitneyu", **more)
    x, y = rows(x, axis), rows(y, axis)
    if x.ndim != 1 or y.ndim != 1:
        raise unknown("scipy.stats.mannwhitneyu", " but of two samples along one axis")
    m, n = x.shape[0], y.shape[0]
    joint = np.concatenate([x, y])
    first = np.sum(rankdata(joint)[:m]) - m * (m + 1) / 2
    if method != "asymptotic" and not (method == "auto" and min(m, n) > 8):
        return Tested(first, _Later("scipy.stats.mannwhitneyu", "p-value", "method='asymptotic'"))
    second = m * n - first
    u = {"greater": first, "less": second}.get(alternative)
    u = np.maximum(first, second) if u is None else u
    spread = m * n / 12.0 * (m + n + 1.0) * _tie_correction(joint)
    z = (u - m * n / 2 - (0.5 if use_continuity else 0.0)) / np.sqrt(spread)
    probability = apply("ndtr", -z) * (2.0 if alternative == "two-sided" else 1.0)
    return Tested(first, np.clip(probability, 0.0, 1.0))


def chisquare(f_obs: Any, f_exp: Any = None, ddof: Any = 0, axis: Any = 0, **more: Any) -> Any:
    """SciPy's check that both sum to the same is of numbers, and left to the caller."""
    more.pop("sum_check", None)
    refuse_options("chisquare", **more)
    seen = rows(f_obs, axis)
    wanted = np.mean(seen, axis=-1, keepdims=True) if f_exp is None else rows(f_exp, axis)
    made = np.sum((seen - wanted) ** 2 / wanted, axis=-1)
    return Tested(made, _above(made, seen.shape[-1] - 1 - given("scipy.stats.chisquare", "ddof", ddof)))


def ks_2samp(data1: Any, data2: Any, alternative: str = "two-sided", method: str = "auto", **more: Any) -> Any:
    refuse_options("ks_2samp", **more)
    x, y = np.sort(rows(data1, None)), np.sort(rows(data2, None))
    both = np.concatenate([x, y])
    m, n = x.shape[0], y.shape[0]
    steps = np.searchsorted(x, both, "right") / m - np.searchsorted(y, both, "right") / n
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError(f"Invalid value for alternative: {alternative}")
    far = np.abs(steps) if alternative == "two-sided" else steps if alternative == "greater" else -steps
    return Tested(np.max(far), _Later("scipy.stats.ks_2samp", "p-value", "SciPy's own outside of the function"))


recode("scipy.stats", {
    "rankdata": rankdata, "spearmanr": spearmanr, "kendalltau": kendalltau, "skewtest": _shape_test(_skew_z),
    "kurtosistest": _shape_test(_kurtosis_z), "normaltest": normaltest, "jarque_bera": jarque_bera, "levene": levene,
    "bartlett": bartlett, "kruskal": kruskal, "mannwhitneyu": mannwhitneyu, "chisquare": chisquare,
    "ks_2samp": ks_2samp,
})  # fmt: skip

__all__ = ["Correlation", "Tested", "rankdata"]
