"""scipy.stats' transforms and descriptions of traced samples: Box and Cox's, means on circles, kernel densities.

    stats.boxcox(x, lmbda)      stats.describe(x).skewness      stats.gaussian_kde(x).logpdf(points)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .....ops.linalg.solutions import triangular
from ....array import Array, here, unknown
from ....patched.recoded import recode
from ....promotion import as_operand, conform
from ...ufuncs import where
from ..special.functions import apply, as_float, given, logsumexp
from .hypotheses import rows
from .summaries import kurtosis, refuse_options, skew, zscore


class Description(NamedTuple):
    """What describe tells."""

    nobs: Any
    minmax: Any
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


def describe(a: Any, axis: Any = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate") -> Any:
    refuse_options("describe", nan_policy=nan_policy)
    x = rows(a, axis)
    shape = {"axis": -1, "bias": bias}
    return Description(
        x.shape[-1], (np.min(x, axis=-1), np.max(x, axis=-1)), np.mean(x, axis=-1), np.var(x, axis=-1, ddof=ddof),
        skew(x, **shape), kurtosis(x, **shape),
    )  # fmt: skip


# ---- transforms to a normal shape


def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    if lmbda is None:
        said = " that looks for lmbda: maximise stats.boxcox_llf by scipy.optimize.minimize and give what it finds,"
        raise unknown("scipy.stats.boxcox", said)
    return apply("boxcox", x, lmbda)


def boxcox_llf(lmb: Any, data: Any, *, axis: Any = 0, **more: Any) -> Any:
    refuse_options("boxcox_llf", **more)
    x = rows(data, axis)
    spread = np.log(np.var(apply("boxcox", x, lmb), axis=-1))
    return (as_operand(lmb) - 1.0) * np.sum(np.log(x), axis=-1) - 0.5 * x.shape[-1] * spread


def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Box and Cox's of 1 + x above zero, and of 1 - x by 2 - lmbda below."""
    if lmbda is None:
        said = " that looks for lmbda: maximise stats.yeojohnson_llf by scipy.optimize.minimize and give what it finds,"
        raise unknown("scipy.stats.yeojohnson", said)
    x, power = as_float(as_operand(x)), as_operand(lmbda)
    upper = x >= 0
    high = apply("boxcox1p", where(upper, x, 0.0), power)
    return where(upper, high, -apply("boxcox1p", where(upper, 0.0, -x), 2.0 - power))


def yeojohnson_llf(lmb: Any, data: Any, *, axis: Any = 0, **more: Any) -> Any:
    refuse_options("yeojohnson_llf", **more)
    x = rows(data, axis)
    size = np.sum(np.sign(x) * np.log1p(np.abs(x)), axis=-1)
    return (as_operand(lmb) - 1.0) * size - 0.5 * x.shape[-1] * np.log(np.var(yeojohnson(x, lmb), axis=-1))


def gzscore(a: Any, *, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    return zscore(np.log(as_float(as_operand(a))), axis, ddof, nan_policy)


def gstd(a: Any, axis: Any = 0, ddof: int = 1, **more: Any) -> Any:
    refuse_options("gstd", **more)
    return np.exp(np.std(np.log(rows(a, axis)), axis=-1, ddof=ddof))


def pmean(a: Any, p: Any, *, axis: Any = 0, dtype: Any = None, weights: Any = None, **more: Any) -> Any:
    refuse_options("pmean", dtype=dtype, **more)
    x, power = rows(a, axis), given("scipy.stats.pmean", "p", p)
    mean = lambda y: np.mean(y, axis=-1) if weights is None else np.average(y, axis=-1, weights=weights)  # noqa: E731
    return np.exp(mean(np.log(x))) if power == 0 else mean(x**power) ** (1.0 / power)


# ---- on the circle


def _circle(samples: Any, high: Any, low: Any, axis: Any, more: dict[str, Any]) -> tuple[Any, Any, Any]:
    refuse_options("circmean", **more)
    angle = (rows(samples, axis) - low) * (2 * math.pi / (high - low))
    return np.mean(np.sin(angle), axis=-1), np.mean(np.cos(angle), axis=-1), (high - low) / (2 * math.pi)


def circmean(samples: Any, high: Any = 2 * math.pi, low: Any = 0, axis: Any = None, **more: Any) -> Any:
    s, c, unit = _circle(samples, high, low, axis, more)
    angle = np.arctan2(s, c)
    return where(angle < 0, angle + 2 * math.pi, angle) * unit + low


def circvar(samples: Any, high: Any = 2 * math.pi, low: Any = 0, axis: Any = None, **more: Any) -> Any:
    s, c, _ = _circle(samples, high, low, axis, more)
    return 1.0 - np.minimum(np.hypot(s, c), 1.0)


def circstd(
    samples: Any, high: Any = 2 * math.pi, low: Any = 0, axis: Any = None, *, normalize: bool = False, **more: Any
) -> Any:
    s, c, unit = _circle(samples, high, low, axis, more)
    spread = np.sqrt(-2.0 * np.log(np.minimum(np.hypot(s, c), 1.0)))
    return spread if normalize else spread * unit


# ---- of samples in order


def wasserstein_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    """The area between both distribution functions."""
    if u_weights is not None or v_weights is not None:
        raise unknown("scipy.stats.wasserstein_distance", " with weights")
    return _between(u_values, v_values, 1)


def energy_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    if u_weights is not None or v_weights is not None:
        raise unknown("scipy.stats.energy_distance", " with weights")
    return math.sqrt(2.0) * np.sqrt(_between(u_values, v_values, 2))


def _between(u: Any, v: Any, power: int) -> Any:
    u, v = np.sort(rows(u, None)), np.sort(rows(v, None))
    both = np.sort(np.concatenate([u, v]))
    below = both[:-1]
    apart = np.searchsorted(u, below, "right") / u.shape[0] - np.searchsorted(v, below, "right") / v.shape[0]
    return np.sum(np.abs(apart) ** power * np.diff(both))


# ---- kernel densities


def _freeze(self: Any, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
    points = np.atleast_2d(as_float(as_operand(dataset)))
    d, n = points.shape
    if n * d <= 1:
        raise ValueError("`dataset` input should have multiple elements.")
    if d > n:
        raise ValueError(
            "Number of dimensions is greater than number of samples. This results in a singular data covariance "
            "matrix. Consider interpreting each column of the dataset as a point instead of each row."
        )
    share = np.full(n, 1.0 / n) if weights is None else as_float(as_operand(weights))
    share = share / np.sum(share)
    size = 1.0 / np.sum(share**2)
    named = "scott" if bw_method is None else bw_method if isinstance(bw_method, str) else None
    if named == "scott":
        factor = size ** (-1.0 / (d + 4))
    elif named == "silverman":
        factor = (size * (d + 2.0) / 4.0) ** (-1.0 / (d + 4))
    elif named or callable(bw_method):
        raise ValueError("`bw_method` should be 'scott', 'silverman', or a scalar: of traced points no callable")
    else:
        factor = as_operand(bw_method)
    centred = points - np.sum(points * share, axis=1, keepdims=True)
    spread = (centred * share) @ centred.T / (1.0 - np.sum(share**2))
    self.__dict__.update(
        dataset=points, d=d, n=n, _weights=share, _neff=size, factor=factor, covariance=spread * factor**2
    )


def _log_density(self: Any, x: Any) -> Any:
    at = np.atleast_2d(as_float(as_operand(x)))
    points = as_float(as_operand(self.dataset))
    d = points.shape[0]
    if at.shape[0] != d:
        if at.shape[0] != 1 or at.shape[1] != d:
            raise ValueError(f"points have dimension {at.shape[0]}, dataset has dimension {d}")
        at = np.reshape(at, (d, 1))
    low = np.linalg.cholesky(as_float(as_operand(self.covariance)))
    apart = at[:, :, None] - points[:, None, :]
    flat = np.reshape(apart, (d, at.shape[1] * points.shape[1]))
    now = here(low, flat)
    terms = [conform(now, a, np.dtype(np.float64), a.shape) for a in (low, flat)]
    white = np.reshape(Array(now, now.emit(triangular, *terms, upper=0, turned=0)), apart.shape)
    norm = 0.5 * d * math.log(2 * math.pi) + np.sum(np.log(np.diagonal(low)))
    share = self._weights if "_weights" in self.__dict__ else self.weights
    return logsumexp(np.log(as_operand(share)) - 0.5 * np.sum(white**2, axis=0), axis=1) - norm


def _density(self: Any, x: Any) -> Any:
    return np.exp(_log_density(self, x))


def _between_ends(self: Any, low: Any, high: Any) -> Any:
    if self.d != 1:
        raise ValueError("integrate_box_1d() only handles 1D pdfs")
    spread = np.sqrt(as_operand(self.covariance)[0, 0])
    points = as_operand(self.dataset)[0]
    share = self._weights if "_weights" in self.__dict__ else self.weights
    upper, lower = (apply("ndtr", (as_operand(end) - points) / spread) for end in (high, low))
    return np.sum(share * (upper - lower))


recode("scipy.stats", {
    "describe": describe, "boxcox": boxcox, "boxcox_llf": boxcox_llf, "yeojohnson": yeojohnson,
    "yeojohnson_llf": yeojohnson_llf, "gzscore": gzscore, "gstd": gstd, "pmean": pmean, "circmean": circmean,
    "circvar": circvar, "circstd": circstd, "wasserstein_distance": wasserstein_distance,
    "energy_distance": energy_distance,
})  # fmt: skip
recode("scipy.stats._kde", {
    "gaussian_kde.__init__": _freeze, "gaussian_kde.evaluate": _density, "gaussian_kde.__call__": _density,
    "gaussian_kde.pdf": _density, "gaussian_kde.logpdf": _log_density, "gaussian_kde.integrate_box_1d": _between_ends,
})  # fmt: skip

__all__ = ["describe"]
