"""scipy.stats' tests of means on traced samples: ttest_1samp, ttest_rel, ttest_ind and f_oneway, with p-values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....array import unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ..special.functions import apply, as_float
from .summaries import refuse_options


class Difference(NamedTuple):
    """Student's t, and how probable one as far out is without a difference."""

    statistic: Any
    pvalue: Any


class TwoMeans(Difference):
    """A difference with its degrees of freedom."""

    df: Any


class VarianceRatio(NamedTuple):
    """F, and how probable one as large is without differences."""

    statistic: Any
    pvalue: Any


def rows(x: Any, axis: Any) -> Any:
    x = as_float(as_operand(x))
    return np.ravel(x) if axis is None else np.moveaxis(x, axis, -1)


def _student(difference: Any, error: Any, free: Any, alternative: str) -> TwoMeans:
    """t of a difference and its error, for so many degrees of freedom."""
    t = difference / error
    if alternative == "two-sided":
        probability = 2.0 * apply("stdtr", free, -np.abs(t))
    elif alternative in ("less", "greater"):
        probability = apply("stdtr", free, t if alternative == "less" else -t)
    else:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    made = TwoMeans(t, probability)
    made.df = free
    return made


def ttest_1samp(a: Any, popmean: Any, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided",
                **more: Any) -> Any:  # fmt: skip
    refuse_options("ttest_1samp", nan_policy=nan_policy, **more)
    x, mean = rows(a, axis), as_operand(popmean)
    if np.ndim(mean) and axis is not None:
        mean = np.moveaxis(mean, axis, -1)[..., 0]
    n = x.shape[-1]
    error = np.sqrt(np.var(x, axis=-1, ddof=1) / n)
    return _student(np.mean(x, axis=-1) - mean, error, n - 1.0, alternative)


def ttest_rel(a: Any, b: Any, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided",
              **more: Any) -> Any:  # fmt: skip
    x, y = (as_float(as_operand(each)) for each in (a, b))
    if x.shape != y.shape:
        raise ValueError("unequal length arrays")
    return ttest_1samp(x - y, 0.0, axis, nan_policy, alternative, **more)


def ttest_ind(a: Any, b: Any, *, axis: Any = 0, equal_var: bool = True, nan_policy: str = "propagate",
              alternative: str = "two-sided", **more: Any) -> Any:  # fmt: skip
    """Student's with one variance, or Welch's with two."""
    refuse_options("ttest_ind", nan_policy=nan_policy, **more)
    x, y = rows(a, axis), rows(b, axis)
    m, n = x.shape[-1], y.shape[-1]
    u, v = np.var(x, axis=-1, ddof=1), np.var(y, axis=-1, ddof=1)
    if equal_var:
        free = m + n - 2.0
        square = ((m - 1) * u + (n - 1) * v) / free * (1.0 / m + 1.0 / n)
    else:
        square = u / m + v / n
        free = square**2 / ((u / m) ** 2 / (m - 1) + (v / n) ** 2 / (n - 1))
    return _student(np.mean(x, axis=-1) - np.mean(y, axis=-1), np.sqrt(square), free, alternative)


def f_oneway(*samples: Any, axis: Any = 0, equal_var: bool = True, **more: Any) -> VarianceRatio:
    refuse_options("f_oneway", **more)
    if len(samples) < 2:
        raise TypeError(f"at least two inputs are required; got {len(samples)}.")
    if not equal_var:
        raise unknown("scipy.stats.f_oneway", " with equal_var=False")
    groups = [rows(each, axis) for each in samples]
    whole, k = np.concatenate(groups, axis=-1), len(groups)
    n, middle = whole.shape[-1], np.mean(whole, axis=-1)
    between = sum(x.shape[-1] * (np.mean(x, axis=-1) - middle) ** 2 for x in groups)
    within = sum(x.shape[-1] * np.var(x, axis=-1) for x in groups)
    f = (between / (k - 1.0)) / (within / (n - k))
    return VarianceRatio(f, apply("fdtrc", k - 1.0, n - k + 0.0, f))


recode("scipy.stats", {each.__name__: each for each in (ttest_1samp, ttest_rel, ttest_ind, f_oneway)})

__all__ = ["f_oneway", "rows", "ttest_1samp", "ttest_ind", "ttest_rel"]
