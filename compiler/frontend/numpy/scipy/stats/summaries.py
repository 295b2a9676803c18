"""scipy.stats' summaries of samples on traced arrays: moments, means, robust scales, lines through points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....array import unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ..special.functions import apply, as_float, given
from .densities import xlogy

NORMAL_QUARTILE = 0.6744897501960817
"""The upper quartile of the normal distribution."""

_DEFAULTS = {"nan_policy": "propagate", "keepdims": False}


def refuse_options(name: str, **given: Any) -> None:
    """Refuse options that are not what they are by default, or nothing."""
    for key, x in given.items():
        if x != _DEFAULTS.get(key) and x is not None:
            raise unknown(f"scipy.stats.{name}", f" with {key}")


def _summary(name: str, of: Callable[..., Any], places: str, default: Any = 0) -> Callable[..., Any]:
    """A function of samples along the last axis, as SciPy calls it: with these arguments by place."""

    def meaning(a: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.update(zip(places.split(), args, strict=False))
        axis = kwargs.pop("axis", default)
        for key, plain in _DEFAULTS.items():
            if kwargs.pop(key, plain) != plain:
                raise unknown(f"scipy.stats.{name}", f" with {key}")
        x = as_float(as_operand(a))
        return of(np.ravel(x) if axis is None else np.moveaxis(x, axis, -1), **kwargs)

    return meaning


def _moment(x: Any, order: int) -> Any:
    return np.mean((x - np.mean(x, axis=-1, keepdims=True)) ** order, axis=-1)


def _skew(x: Any, bias: bool = True) -> Any:
    made, n = _moment(x, 3) / _moment(x, 2) ** 1.5, x.shape[-1]
    return made if bias else made * np.sqrt((n - 1.0) * n) / (n - 2.0)


def _kurtosis(x: Any, fisher: bool = True, bias: bool = True) -> Any:
    made, n = _moment(x, 4) / _moment(x, 2) ** 2, x.shape[-1]
    if not bias:
        made = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * made - 3 * (n - 1) ** 2.0) + 3.0
    return made - 3.0 if fisher else made


def _central(x: Any, order: Any = 1, center: Any = None) -> Any:
    order = given("scipy.stats.moment", "order", order)
    if center is None:
        return _moment(x, order) if order > 1 else 0.0 * np.mean(x, axis=-1) + (order == 0)
    return np.mean((x - center) ** order, axis=-1)


def _variation(x: Any, ddof: int = 0) -> Any:
    return np.std(x, axis=-1, ddof=ddof) / np.mean(x, axis=-1)


def _weighted_mean(x: Any, weights: Any) -> Any:
    return np.mean(x, axis=-1) if weights is None else np.average(x, axis=-1, weights=as_operand(weights))


def _geometric(x: Any, dtype: Any = None, weights: Any = None) -> Any:
    return np.exp(_weighted_mean(np.log(x), weights))


def _harmonic(x: Any, dtype: Any = None, weights: Any = None) -> Any:
    return 1.0 / _weighted_mean(1.0 / x, weights)


def _error_of_mean(x: Any, ddof: int = 1) -> Any:
    return np.std(x, axis=-1, ddof=ddof) / np.sqrt(x.shape[-1])


def _between_quantiles(
    x: Any, rng: Any = (25, 75), scale: Any = 1.0, interpolation: Any = "linear"
) -> Any:
    if isinstance(scale, str):
        scale = {"normal": 2 * NORMAL_QUARTILE}[scale.lower()]
    low, high = np.percentile(x, list(rng), axis=-1, method=interpolation)
    return (high - low) / scale


def _trimmed(x: Any, proportiontocut: float) -> Any:
    n = x.shape[-1]
    cut = int(given("scipy.stats.trim_mean", "proportiontocut", proportiontocut) * n)
    return np.mean(np.sort(x, axis=-1)[..., cut : n - cut], axis=-1)


def _median_deviation(x: Any, center: Any = None, scale: Any = 1.0) -> Any:
    if isinstance(scale, str):
        scale = {"normal": NORMAL_QUARTILE}[scale.lower()]
    middle = (center or np.median)(x, axis=-1)
    return np.median(np.abs(x - np.reshape(middle, (*middle.shape, 1))), axis=-1) / scale


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    return zmap(a, a, axis, ddof, nan_policy)


def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    if nan_policy != "propagate":
        raise unknown("scipy.stats.zmap", " with nan_policy")
    x, among = as_float(as_operand(scores)), as_float(as_operand(compare))
    spread = np.std(among, axis=axis, ddof=ddof, keepdims=True)
    return (x - np.mean(among, axis=axis, keepdims=True)) / spread


def _entropy(x: Any, qk: Any = None, base: Any = None) -> Any:
    if qk is not None and x.ndim > 1:
        raise unknown("scipy.stats.entropy", " of several distributions and qk")
    p = x / np.sum(x, axis=-1, keepdims=True)
    if qk is None:
        made = -np.sum(xlogy(p, p), axis=-1)
    else:
        q = as_float(as_operand(qk))
        made = np.sum(apply("rel_entr", p, q / np.sum(q, axis=-1, keepdims=True)), axis=-1)
    return made if base is None else made / np.log(base)


class _Correlation(NamedTuple):
    statistic: Any
    pvalue: Any


class Correlation(_Correlation):
    """Pearson's coefficient of so many pairs, and how probable one as large is without a relation."""

    pairs: int = 0

    def confidence_interval(self, confidence_level: float = 0.95, method: Any = None) -> Any:
        """By Fisher's transformation, which is normal."""
        if method is not None:
            raise unknown("scipy.stats.pearsonr", ".confidence_interval with a method")
        far = apply("ndtri", 0.5 + as_operand(confidence_level) / 2) / np.sqrt(self.pairs - 3.0)
        z = np.arctanh(self.statistic)
        return _Interval(np.tanh(z - far), np.tanh(z + far))

    @property
    def correlation(self) -> Any:
        return self.statistic


class _Interval(NamedTuple):
    low: Any
    high: Any


class _Line(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class Line(_Line):
    """A line through points: five numbers, as SciPy's, and beside them the error of the intercept."""

    intercept_stderr: Any


def pearsonr(x: Any, y: Any, **kwargs: Any) -> Correlation:
    if any(each not in (0, "two-sided", None) for each in kwargs.values()):
        raise unknown("scipy.stats.pearsonr", f" with {', '.join(kwargs)}")
    x, y = as_float(as_operand(x)), as_float(as_operand(y))
    x, y = x - np.mean(x), y - np.mean(y)
    r = np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y))
    half = x.shape[0] / 2.0 - 1.0
    made = Correlation(r, 2.0 * apply("betainc", half, half, 0.5 * (1.0 - np.abs(r))))
    made.pairs = x.shape[0]
    return made


def linregress(x: Any, y: Any, alternative: str = "two-sided", **kwargs: Any) -> Line:
    if any(each not in (0, "propagate", False) for each in kwargs.values()):
        raise unknown("scipy.stats.linregress", f" with {', '.join(kwargs)}")
    sign = {"two-sided": 0.0, "less": 1.0, "greater": -1.0}.get(alternative)
    if sign is None:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    x, y = as_float(as_operand(x)), as_float(as_operand(y))
    u, v = x - np.mean(x), y - np.mean(y)
    xx, xy, yy, free = np.mean(u * u), np.mean(u * v), np.mean(v * v), x.shape[0] - 2.0
    r, slope = xy / np.sqrt(xx * yy), xy / xx
    error = np.sqrt((1.0 - r**2) * yy / xx / free)
    t = r * np.sqrt(free / ((1.0 - r) * (1.0 + r)))
    probability = apply("stdtr", free, sign * t) if sign else 2.0 * apply("stdtr", free, -np.abs(t))
    made = Line(slope, np.mean(y) - slope * np.mean(x), r, probability, error)
    made.intercept_stderr = error * np.sqrt(xx + np.mean(x) ** 2)
    return made


skew = _summary("skew", _skew, "axis bias nan_policy")
kurtosis = _summary("kurtosis", _kurtosis, "axis fisher bias nan_policy")
recode("scipy.stats", {
    "skew": skew, "kurtosis": kurtosis,
    "moment": _summary("moment", _central, "order axis nan_policy"),
    "variation": _summary("variation", _variation, "axis nan_policy ddof"),
    "gmean": _summary("gmean", _geometric, "axis dtype weights"),
    "hmean": _summary("hmean", _harmonic, "axis dtype"),
    "sem": _summary("sem", _error_of_mean, "axis ddof nan_policy"),
    "iqr": _summary("iqr", _between_quantiles, "axis rng scale nan_policy interpolation", None),
    "trim_mean": _summary("trim_mean", _trimmed, "proportiontocut axis"),
    "entropy": _summary("entropy", _entropy, "qk base axis"),
    "median_abs_deviation": _summary("median_abs_deviation", _median_deviation, "axis center scale nan_policy"),
    "zscore": zscore, "zmap": zmap, "pearsonr": pearsonr, "linregress": linregress,
})  # fmt: skip


__all__ = ["kurtosis", "linregress", "pearsonr", "refuse_options", "skew", "zmap", "zscore"]
