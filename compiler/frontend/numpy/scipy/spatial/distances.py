"""scipy.spatial.distance on traced points: vectors, all pairs of two sets, and pairs of one set in a row or a square.

The distance of Euclid and its kin have slope 0 where points coincide, as np.linalg.norm has at zeros.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .....ops.require import require as required
from ....array import Array, here, unknown, value_of
from ....patched.recoded import recode
from ....promotion import as_operand
from ..special.functions import as_float, given

Metric = Callable[..., Any]
"""Of vectors along the last axis."""


def _f64(x: Any) -> Any:
    return as_float(as_operand(x)).astype(np.float64)


def _weighted(x: Any, w: Any) -> Any:
    return x if w is None else x * _f64(w)


def _root(w: Any, p: Any = 2.0) -> Any:
    return None if w is None else _f64(w) ** (1.0 / p)


def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted((u - v) ** 2, w), axis=-1)


def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.linalg.norm(_weighted(u - v, _root(w)), axis=-1)


def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted(np.abs(u - v), w), axis=-1)


def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    far = np.abs(u - v)
    return np.max(far if w is None else far * (np.asarray(w) > 0), axis=-1)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    if given("scipy.spatial.distance", "p", p) == np.inf:
        return chebyshev(u, v, w)
    return np.linalg.norm(_weighted(u - v, _root(w, p)), ord=p, axis=-1)


def canberra(u: Any, v: Any, w: Any = None) -> Any:
    size = np.abs(u) + np.abs(v)
    return np.sum(_weighted(np.where(size > 0, np.abs(u - v) / np.where(size > 0, size, 1.0), 0.0), w), axis=-1)


def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted(np.abs(u - v), w), axis=-1) / np.sum(_weighted(np.abs(u + v), w), axis=-1)


def cosine(u: Any, v: Any, w: Any = None) -> Any:
    squares = np.sum(_weighted(u * u, w), axis=-1) * np.sum(_weighted(v * v, w), axis=-1)
    return 1.0 - np.sum(_weighted(u * v, w), axis=-1) / np.sqrt(squares)


def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if not given("scipy.spatial.distance.correlation", "centered", centered):
        return cosine(u, v, w)
    n = 1.0 * u.shape[-1] if w is None else np.sum(_f64(w))
    u, v = (x - np.sum(_weighted(x, w), axis=-1, keepdims=True) / n for x in (u, v))
    return cosine(u, v, w)


def seuclidean(u: Any, v: Any, V: Any) -> Any:
    return np.linalg.norm((u - v) / np.sqrt(_f64(V)), axis=-1)


def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    far = u - v
    square = np.sum((far @ _f64(VI)) * far, axis=-1)
    apart = square > 0
    return np.where(apart, np.sqrt(np.where(apart, square, 1.0)), 0.0)


def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    p, q = (x / np.sum(x, axis=axis, keepdims=True) for x in (_f64(p), _f64(q)))
    m = (p + q) / 2.0
    parts = [np.sum(_times_log_of_quotient(x, m), axis=axis, keepdims=keepdims) for x in (p, q)]
    total = (parts[0] + parts[1]) / (1.0 if base is None else np.log(base))
    return np.sqrt(total / 2.0)


def _times_log_of_quotient(x: Any, m: Any) -> Any:
    here_ = x > 0
    return np.where(here_, x * np.log(np.where(here_, x, 1.0) / np.where(m > 0, m, 1.0)), 0.0)


METRICS: dict[str, Metric] = {
    f.__name__: f for f in (
        sqeuclidean, euclidean, cityblock, chebyshev, minkowski, canberra, braycurtis, cosine, correlation,
        seuclidean, mahalanobis,
    )
}  # fmt: skip
_ALIASES = {
    "euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
    "manhattan": "cityblock", "cblock": "cityblock", "cb": "cityblock", "c": "cityblock", "cos": "cosine",
    "chebychev": "chebyshev", "cheby": "chebyshev", "cheb": "chebyshev", "ch": "chebyshev", "co": "correlation",
    "m": "minkowski", "mi": "minkowski", "pnorm": "minkowski", "se": "seuclidean", "s": "seuclidean",
    "mahal": "mahalanobis", "mah": "mahalanobis",
}


def _of_vectors(metric: Metric) -> Metric:
    def meaning(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        u, v = _f64(u), _f64(v)
        if u.ndim != 1 or v.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
        return metric(u, v, *args, **kwargs)

    return meaning


def _chosen(function: str, metric: Any, points: Any, kwargs: dict[str, Any]) -> Metric:
    """The function of vectors along the last axis that a metric is."""
    kwargs = {k: x for k, x in kwargs.items() if x is not None}
    if callable(metric) and getattr(metric, "__module__", "") != "scipy.spatial.distance":
        return functools.partial(_by_pairs, functools.partial(metric, **kwargs))
    name = getattr(metric, "__name__", str(metric).lower())
    name = _ALIASES.get(name, name)
    if name not in METRICS:
        raise unknown(f"scipy.spatial.distance.{function}", f" with metric={name!r}")
    if name == "seuclidean":
        kwargs.setdefault("V", np.var(points, axis=0, ddof=1))
    if name == "mahalanobis" and "VI" not in kwargs:
        kwargs["VI"] = np.linalg.inv(np.cov(points.T)).T
    return functools.partial(METRICS[name], **kwargs)


def _by_pairs(metric: Metric, u: Any, v: Any) -> Any:
    """A function of two vectors for all pairs of rows."""
    shape = np.broadcast_shapes(u.shape, v.shape)
    u, v = (np.broadcast_to(x, shape).reshape(-1, shape[-1]) for x in (u, v))
    return np.stack([metric(u[k], v[k]) for k in range(u.shape[0])]).reshape(shape[:-1])


def _points(name: str, x: Any) -> Any:
    x = _f64(x)
    if x.ndim != 2:
        raise ValueError(f"{name} must be a 2-dimensional array.")
    return x


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **kwargs: Any) -> Any:
    a, b = _points("XA", XA), _points("XB", XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    of = _chosen("cdist", metric, np.concatenate([a, b]), kwargs)
    return of(a[:, None, :], b[None, :, :])


def pdist(X: Any, metric: Any = "euclidean", **kwargs: Any) -> Any:
    x = _points("X", X)
    i, j = np.triu_indices(x.shape[0], 1)
    return _chosen("pdist", metric, x, kwargs)(x[i], x[j])


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """From a row of distances to the matrix, and back."""
    x = as_operand(X)
    if force.lower().startswith("tov") and x.ndim != 2:
        raise ValueError("Forcing 'tovector' but input X is not a matrix or a square array")
    if force.lower().startswith("tom") and x.ndim != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if x.ndim == 1:
        n = int(np.ceil(np.sqrt(2 * x.shape[0]))) if x.shape[0] else 1
        if n * (n - 1) != 2 * x.shape[0]:
            text = "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2."
            raise ValueError(text)
        places, upper = np.full((n, n), x.shape[0]), np.triu_indices(n, 1)
        places[upper] = places.T[upper] = np.arange(x.shape[0])
        return np.concatenate([x, np.zeros(1, x.dtype)])[places]
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and isinstance(x, Array):
        _require(np.all(x == x.T), "Distance matrix 'X' must be symmetric.")
        _require(np.all(np.diagonal(x) == 0), "Distance matrix 'X' diagonal must be zero.")
    return x[np.triu_indices(x.shape[0], 1)]


def _require(holds: Any, text: str) -> None:
    now = here(holds)
    now.emit(required, value_of(now, holds), error="ValueError", text=text)


recode("scipy.spatial.distance", {
    **{name: _of_vectors(metric) for name, metric in METRICS.items()},
    "jensenshannon": jensenshannon, "cdist": cdist, "pdist": pdist, "squareform": squareform,
})  # fmt: skip

__all__ = ["cdist", "jensenshannon", "pdist", "squareform"]
