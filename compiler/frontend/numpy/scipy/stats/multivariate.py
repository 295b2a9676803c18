"""scipy.stats' distributions of vectors and of covariances on traced values: multivariate_normal, dirichlet, wishart.

What SciPy looks at values for and raises (a point outside of the simplex, too few degrees of freedom), the call raises.
"""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from .....ops.linalg.solutions import triangular
from ....array import Array, here, unknown
from ....patched.recoded import recode
from ....promotion import as_operand, conform
from ...ordering import holds
from ...ufuncs import where
from ..special.functions import apply, as_float
from .densities import gammaln, xlogy
from .methods import f64

LOG_2_PI = math.log(2 * math.pi)


def _substituted(low: Any, columns: Any) -> Array:
    """X with L X = B, for a lower triangle."""
    now = here(low, columns)
    given = [conform(now, a, np.dtype(np.float64), a.shape) for a in (low, columns)]
    return Array(now, now.emit(triangular, *given, upper=0, turned=0))


# ---- the normal distribution


def _parameters(mean: Any, cov: Any) -> tuple[int, Any, Any]:
    """The dimension, the mean and the covariance, of which one may tell the others' shape."""
    mean, cov = (None if x is None else f64(getattr(x, "covariance", x)) for x in (mean, cov))
    if mean is None:
        dim = 1 if cov is None or cov.ndim < 2 else cov.shape[-1]
    else:
        dim = mean.size
    mean = np.zeros(dim) if mean is None else np.reshape(mean, (dim,))
    cov = np.ones(()) if cov is None else cov
    if cov.ndim == 0 or dim == 1:
        cov = np.reshape(cov, (1, 1)) * np.eye(dim)
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if cov.shape != (dim, dim):
        raise ValueError(f"Array 'cov' must be square if it is two dimensional, but cov.shape = {cov.shape}.")
    return dim, mean, cov


def _squares(x: Any, mean: Any, cov: Any) -> tuple[int, Any, Any]:
    """The dimension, the squared Mahalanobis distances, and half the logarithm of the determinant."""
    dim, mean, cov = _parameters(mean, cov)
    x = f64(x)
    if x.ndim == 0:
        x = np.reshape(x, (1,))
    elif x.ndim == 1:
        x = np.reshape(x, (-1, 1) if dim == 1 else (1, -1))
    apart = x - mean
    lead = apart.shape[:-1]
    columns = np.reshape(apart, (-1, dim)).T
    root = np.linalg.cholesky(cov)
    whitened = _substituted(root, columns)
    return dim, np.reshape(np.sum(whitened * whitened, axis=0), lead), np.sum(np.log(np.diagonal(root)))


def _normal(x: Any, mean: Any, cov: Any) -> Any:
    dim, square, spread = _squares(x, mean, cov)
    return np.squeeze(-0.5 * (dim * LOG_2_PI + square) - spread)


def _student(of: Any, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
    """Johnson and Kotz, Distributions in Statistics: Continuous Multivariate Distributions, 1972, chapter 37."""
    dim, square, spread = _squares(x, loc, shape)
    df = f64(df)
    if df.ndim:
        raise unknown("scipy.stats.multivariate_t", " with several df")
    made = gammaln(0.5 * (df + dim)) - gammaln(0.5 * df) - 0.5 * dim * np.log(math.pi * df) - spread
    return np.squeeze(made - 0.5 * (df + dim) * np.log1p(square / df))


# ---- distributions of covariances


def _covariances(name: str, x: Any, df: Any, scale: Any) -> tuple[int, Any, Any, Any, Any]:
    """The dimension, a covariance, the scale, the degrees of freedom, and the logarithm of the gamma function's.

    Several covariances lie along the last axis, as SciPy has them; here they lie along the first.
    """
    x, scale, df = f64(x), f64(scale), f64(df)
    scale = np.reshape(scale, (1, 1)) if scale.ndim == 0 else np.diag(scale) if scale.ndim == 1 else scale
    if scale.shape == (1, 1) and x.ndim < 2:
        x = np.reshape(x, (*x.shape, 1, 1))
    elif x.ndim == 3:
        x = np.moveaxis(x, -1, 0)
    if x.ndim not in (2, 3) or scale.shape != x.shape[-2:] or df.ndim:
        raise ValueError(
            f"scipy.stats.{name}: quantiles of shape {tuple(x.shape)} are no matrices like the scale, which has "
            f"shape {tuple(scale.shape)}, with several of them along the last axis"
        )
    p = scale.shape[0]
    _refused(df <= p - 1, "Degrees of freedom must be greater than the dimension of scale matrix minus 1.")
    steps = gammaln(0.5 * (df - np.arange(p)))
    return p, x, scale, df, 0.25 * p * (p - 1) * math.log(math.pi) + np.sum(steps)


def _log_determinant(x: Any) -> Any:
    return 2.0 * np.sum(np.log(np.diagonal(np.linalg.cholesky(x), axis1=-2, axis2=-1)), axis=-1)


def _trace(x: Any) -> Any:
    return np.sum(np.diagonal(x, axis1=-2, axis2=-1), axis=-1)


def _wishart(of: Any, x: Any, df: Any, scale: Any) -> Any:
    p, x, scale, df, gamma = _covariances("wishart", x, df, scale)
    sizes = 0.5 * (df - p - 1) * _log_determinant(x) - 0.5 * df * (p * math.log(2) + _log_determinant(scale))
    return sizes - 0.5 * _trace(np.linalg.inv(scale) @ x) - gamma


def _inverse_wishart(of: Any, x: Any, df: Any, scale: Any) -> Any:
    p, x, scale, df, gamma = _covariances("invwishart", x, df, scale)
    sizes = 0.5 * df * (_log_determinant(scale) - p * math.log(2)) - 0.5 * (df + p + 1) * _log_determinant(x)
    return sizes - 0.5 * _trace(np.linalg.inv(x) @ scale) - gamma


def _logpdf(of: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    if allow_singular:
        raise unknown("scipy.stats.multivariate_normal", " with allow_singular=True")
    return _normal(x, mean, cov)


def _pdf(of: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    return np.exp(_logpdf(of, x, mean, cov, allow_singular))


def _frozen_logpdf(frozen: Any, x: Any) -> Any:
    return _logpdf(frozen, x, frozen.mean, frozen.cov_object, frozen.allow_singular)


def _freeze(self: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False, *args: Any, **more: Any) -> None:
    if allow_singular:
        raise unknown("scipy.stats.multivariate_normal", " with allow_singular=True")
    dim, mean, cov = _parameters(mean, cov)
    self.__dict__.update(dim=dim, mean=mean, cov_object=SimpleNamespace(covariance=cov), allow_singular=False)


def _normal_entropy(mean: Any, cov: Any) -> Any:
    dim, _, spread = _squares(0.0 * _parameters(mean, cov)[1], mean, cov)
    return 0.5 * dim * (1.0 + LOG_2_PI) + spread


# ---- distributions on the simplex, and of counts


def _simplex(alpha: Any, x: Any) -> tuple[Any, Any]:
    """Points along the first axis, of which the last coordinate may be left out."""
    alpha, x = f64(alpha), f64(x)
    if x.shape[0] + 1 == alpha.shape[0]:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    elif x.shape[0] != alpha.shape[0]:
        raise ValueError(
            "Vector 'x' must have either the same number of entries as, or one entry fewer than, parameter vector"
            f" 'a', but alpha.shape = {alpha.shape} and x.shape = {x.shape}."
        )
    alpha = _positive(np.reshape(alpha, (-1, *(1,) * (x.ndim - 1))))
    _refused(x < 0, "Each entry in 'x' must be greater than or equal to zero.")
    _refused(x > 1, "Each entry in 'x' must be smaller or equal one.")
    _refused((x == 0) & (alpha < 1), "Each entry in 'x' must be greater than zero if its alpha is less than one.")
    apart = np.abs(np.sum(x, axis=0) - 1) > 1e-9
    _refused(apart, "The input vector 'x' must lie within the normal simplex.")
    return alpha, x


def _positive(alpha: Any) -> Any:
    _refused(alpha <= 0, "All parameters must be greater than 0")
    return alpha


def _refused(where_wrong: Any, text: str) -> None:
    """ValueError in the call if this is true anywhere; here and now of what is not traced."""
    if isinstance(where_wrong, Array):
        holds(np.logical_not(np.any(where_wrong)), text)
    elif np.any(where_wrong):
        raise ValueError(text)


def _dirichlet(of: Any, x: Any, alpha: Any) -> Any:
    alpha, x = _simplex(alpha, x)
    beta = np.sum(gammaln(alpha)) - gammaln(np.sum(alpha))
    return np.sum(xlogy(alpha - 1, x), axis=0) - beta


def _multinomial(of: Any, x: Any, n: Any, p: Any) -> Any:
    """Probabilities that do not sum to one have the last made of the others, as SciPy does."""
    kind, p = as_float(as_operand(p)).dtype, f64(p)
    x, n = f64(x), f64(n)
    if x.ndim == 0:
        raise ValueError("x must be an array.")
    if x.shape[-1] != p.shape[-1]:
        raise ValueError(
            f"Size of each quantile should be size of p: received {x.shape[-1]}, but expected {p.shape[-1]}."
        )
    rest = p[..., :-1]
    last = where(
        np.abs(1 - np.sum(p, axis=-1)) > 10 * np.finfo(kind).eps, 1 - np.sum(rest, axis=-1), p[..., -1]
    )
    p = np.concatenate([rest, last[..., None]], axis=-1)
    counted = np.all((x >= 0) & (x == np.floor(x)), axis=-1) & (np.sum(x, axis=-1) == n)
    at = where(x >= 0, x, 0.0)
    made = gammaln(n + 1) + np.sum(xlogy(at, p) - gammaln(at + 1), axis=-1)
    valid = np.all((p >= 0) & (p <= 1), axis=-1) & (n >= 0)
    return where(valid, where(counted, made, -math.inf), math.nan)


def _exponential(logarithm: Any) -> Any:
    return lambda *args, **kwargs: np.exp(logarithm(*args, **kwargs))


def _dirichlet_entropy(of: Any, alpha: Any) -> Any:
    alpha = _positive(f64(alpha))
    total, psi = np.sum(alpha), partial(apply, "psi")
    beta = np.sum(gammaln(alpha)) - gammaln(total)
    return beta + (total - alpha.shape[0]) * psi(total) - np.sum((alpha - 1) * psi(alpha))


def _dirichlet_mean(of: Any, alpha: Any) -> Any:
    alpha = _positive(f64(alpha))
    return alpha / np.sum(alpha)


def _dirichlet_variance(of: Any, alpha: Any) -> Any:
    mean = _dirichlet_mean(of, alpha)
    return mean * (1.0 - mean) / (np.sum(f64(alpha)) + 1.0)


# ---- with parameters that they keep


def _keeping(names: str, **defaults: Any) -> Any:
    """A constructor that keeps its arguments by name."""

    def freeze(self: Any, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(defaults, **dict(zip(names.split(), args, strict=False)), **kwargs)

    return freeze


def _kept(of: Any, names: str) -> Any:
    return lambda frozen, *x: of(frozen, *x, *[getattr(frozen, name) for name in names.split()])


def _freezing(name: str, parameters: str, methods: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """A distribution's methods, and those of it with its parameters kept."""
    made = {f"{name}_gen.{each}": of for each, of in methods.items()}
    made.update({f"{name}_frozen.{each}": _kept(of, parameters) for each, of in methods.items()})
    return {**made, f"{name}_frozen.__init__": _keeping(parameters, **defaults)}


def _pair(name: str, of: Any) -> dict[str, Any]:
    return {f"log{name}": of, name: _exponential(of)}


# ---- the normal distribution function

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)


def _distribution(
    of: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False, maxpts: Any = None,
    abseps: Any = 1e-5, releps: Any = 1e-5, *, lower_limit: Any = None, rng: Any = None,
) -> Any:  # fmt: skip
    """Of two variables by R. Plackett's integral over the correlation (Biometrika 41, 1954), in its arc sine."""
    dim, mean, cov = _parameters(mean, cov)
    if dim > 2 or lower_limit is not None or allow_singular:
        raise unknown("scipy.stats.multivariate_normal.cdf", f" of {dim} variables, or with lower_limit or singular,")
    x = f64(x)
    x = np.reshape(x, (-1, 1)) if dim == 1 else x
    away = (x - mean) / np.sqrt(np.diagonal(cov))
    if dim == 1:
        return np.squeeze(apply("ndtr", away[..., 0]))
    h, k = away[..., 0], away[..., 1]
    angle = np.arcsin(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
    at = 0.5 * angle * (_NODES + 1.0)
    h, k = h[..., None], k[..., None]
    under = np.exp(-(h * h + k * k - 2.0 * h * k * np.sin(at)) / (2.0 * np.cos(at) ** 2))
    turned = np.sum(under * _WEIGHTS, axis=-1) * angle / (4.0 * math.pi)
    return np.squeeze(apply("ndtr", h[..., 0]) * apply("ndtr", k[..., 0]) + turned)


def _log_distribution(of: Any, *given: Any, **options: Any) -> Any:
    return np.log(_distribution(of, *given, **options))


def _frozen_log_distribution(frozen: Any, x: Any, **options: Any) -> Any:
    return np.log(_frozen_distribution(frozen, x, **options))


def _frozen_distribution(frozen: Any, x: Any, **options: Any) -> Any:
    return _distribution(frozen, x, frozen.mean, frozen.cov_object, **options)


recode("scipy.stats._multivariate", {
    "multivariate_normal_gen.cdf": _distribution, "multivariate_normal_gen.logcdf": _log_distribution,
    "multivariate_normal_frozen.cdf": _frozen_distribution,
    "multivariate_normal_frozen.logcdf": _frozen_log_distribution,
    "multivariate_normal_gen.logpdf": _logpdf, "multivariate_normal_gen.pdf": _pdf,
    "multivariate_normal_gen.entropy": lambda of, mean=None, cov=1: _normal_entropy(mean, cov),
    "multivariate_normal_frozen.__init__": _freeze,
    "multivariate_normal_frozen.entropy": lambda frozen: _normal_entropy(frozen.mean, frozen.cov_object),
    "multivariate_normal_frozen.logpdf": _frozen_logpdf, "multivariate_normal_frozen.pdf": _exponential(_frozen_logpdf),
    **_freezing("multivariate_t", "loc shape df", _pair("pdf", _student), loc=None, shape=1, df=1),
    **_freezing("wishart", "df scale", _pair("pdf", _wishart)),
    **_freezing("invwishart", "df scale", _pair("pdf", _inverse_wishart)),
    **_freezing("multinomial", "n p", _pair("pmf", _multinomial)),
    **_freezing("dirichlet", "alpha", {
        **_pair("pdf", _dirichlet), "entropy": _dirichlet_entropy, "mean": _dirichlet_mean, "var": _dirichlet_variance
    }),
})  # fmt: skip
