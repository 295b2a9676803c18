"""Cases of NumPy's sorting, searching and order statistics."""

from typing import Any

import numpy as np

from tests.numpy_cases import Case, spread

X = spread(3, 5)
V = spread(7, seed=1)
T = spread(2, 3, 4, seed=2)
Y = spread(3, 5, low=-1.0, high=3.1, seed=3)
EDGES = np.array([-1.0, 0.1, 0.1, 1.5])
RANKS = np.arange(1.0, 6.0)
HOLES = np.where(X > 2.1, np.nan, X)
Q = np.array([0.13, 0.52, 0.77])
WEIGHTS = np.array([0.5, 2.0, 0.0, 1.0, 0.25])
METHODS: list[Any] = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip


def _sorted_here(x: np.ndarray) -> np.ndarray:
    y = x * 2
    y.sort()
    return y * y


def _sorted_down(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y.sort(axis=0, kind="stable")
    return y * RANKS


def _parted_here(x: np.ndarray) -> np.ndarray:
    y = x * 1
    y.partition(2, axis=1)
    return y[:, 2] ** 2


SORTS = [
    Case("np.sort", lambda x: np.sort(x) ** 2 * RANKS, (X,)),
    Case("np.sort axis", lambda x: np.sort(x, axis=0) ** 2 * RANKS, (X,)),
    Case("np.sort flat", lambda x: np.sort(x, axis=None) ** 2, (X,)),
    Case("np.sort middle axis", lambda x: np.sort(x, 1, kind="stable") * np.arange(3.0)[:, None], (T,)),
    Case("np.sort whole numbers", lambda x: np.sort(np.floor(x * 3).astype(int), stable=True), (X,), order=0),
    Case("np.sort truth values", lambda x: np.sort(x > 0), (X,), order=0),
    Case("np.argsort", lambda x: np.argsort(x), (X,), order=0),
    Case("np.argsort axis", lambda x: np.argsort(x, axis=0), (X,), order=0),
    Case("np.argsort flat", lambda x: np.argsort(x, axis=None), (X,), order=0),
    Case("np.argsort stable", lambda x: np.argsort(np.floor(x), stable=True), (X,), order=0),
    Case("np.argsort gathered", lambda x, y: np.take_along_axis(y, np.argsort(x), -1) ** 2 * RANKS, (X, Y)),
    Case("np.partition", lambda x: np.partition(x, 2)[:, 2] ** 2, (X,)),
    Case("np.partition axis", lambda x: np.partition(x, (0, -1), axis=0)[[0, 2]] ** 3, (X,)),
    Case("np.partition flat", lambda x: np.partition(x, 4, axis=None)[4], (X,)),
    Case("np.argpartition", lambda x: np.argpartition(x, (1, 3))[:, [1, 3]], (X,), order=0),
    Case("np.lexsort", lambda x, y: np.lexsort((x, np.floor(y))), (X, Y), order=0),
    Case("np.lexsort axis", lambda x: np.lexsort(x, axis=0), (T,), order=0),
    Case("ndarray.sort", _sorted_here, (X,)),
    Case("ndarray.sort axis", _sorted_down, (X,)),
    Case("ndarray.partition", _parted_here, (X,)),
    Case("ndarray.argsort", lambda x: x.argsort(0), (X,), order=0),
    Case("ndarray.argpartition", lambda x: x.argpartition(2)[:, 2], (X,), order=0),
    Case("ndarray.cumprod", lambda x: x.cumprod(1), (X,)),
]

SEARCHES = [
    Case("np.searchsorted", lambda x: np.searchsorted(EDGES, x), (X,), order=0),
    Case("np.searchsorted right", lambda x: np.searchsorted(EDGES, x, side="right"), (X,), order=0),
    Case("np.searchsorted traced", lambda e, x: np.searchsorted(np.sort(e), x, "right"), (V, X), order=0),
    Case("np.searchsorted number", lambda e: np.searchsorted(np.sort(e), 0.3), (V,), order=0),
    Case("np.searchsorted sorter", lambda e, x: np.searchsorted(e, x, sorter=np.argsort(e)), (V, X), order=0),
    Case("ndarray.searchsorted", lambda e, x: np.sort(e).searchsorted(x), (V, X), order=0),
    Case("np.digitize", lambda x: np.digitize(x, EDGES), (X,), order=0),
    Case("np.digitize right", lambda x: np.digitize(x, EDGES[::-1], right=True), (X,), order=0),
    Case("np.digitize traced", lambda x, e: np.digitize(x, np.sort(e)[::-1]), (X, V), order=0),
    Case("np.isin", lambda x: np.isin(x, x[0, :3]), (X,), order=0),
    Case("np.isin invert", lambda x: np.isin(np.floor(x), [0, 1.0], invert=True), (X,), order=0),
    Case("np.isin nothing", lambda x: np.isin(x, []), (X,), order=0),
]

QUANTILES = [
    Case("np.median", lambda x: np.median(x) ** 2, (X,)),
    Case("np.median axis", lambda x: np.median(x, axis=1) ** 2, (T,)),
    Case("np.median axes", lambda x: np.median(x, axis=(0, 2), keepdims=True) ** 2, (T,)),
    Case("np.median NaN", lambda x: np.median(x, axis=0), (HOLES,), order=0),
    Case("np.median whole numbers", lambda x: np.median(np.floor(x * 3).astype(int), axis=0), (X,), order=0),
    Case("np.nanmedian", lambda x: np.nanmedian(x, axis=1) ** 2, (np.where(X > 1.5, np.nan, X),), order=0),
    Case("np.nanmedian numbers", lambda x: np.nanmedian(np.where(x > 1.5, np.nan, x), 0, keepdims=True) ** 2, (X,)),
    *(Case(f"np.quantile {m}", lambda x, m=m: np.quantile(x, Q, axis=1, method=m) ** 2, (X,)) for m in METHODS),
    *(Case(f"np.percentile {m}", lambda x, m=m: np.percentile(x, 37.0, method=m) ** 2, (X,)) for m in METHODS),
    *(
        Case(f"np.nanquantile {m}", lambda x, m=m: np.nanquantile(x, Q, axis=1, method=m), (HOLES,), order=0)
        for m in METHODS
    ),
    Case("np.quantile of q", lambda x, q: np.quantile(x, q, axis=0) ** 2, (X, Q)),
    Case("np.quantile of q hazen", lambda x, q: np.quantile(x, q * 0.88, method="hazen") ** 2, (X, Q)),
    Case("np.quantile of q lower", lambda x, q: np.quantile(x, q, method="lower"), (X, Q)),
    Case("np.quantile ends", lambda x: np.quantile(x, [0, 1], axis=0), (X,)),
    Case("np.quantile axes", lambda x: np.quantile(x, 0.3, axis=(0, 2), keepdims=True), (T,)),
    Case("np.quantile of NaN", lambda x: np.quantile(x, 0.3, axis=1), (HOLES,), order=0),
    Case("np.quantile whole numbers", lambda x: np.quantile(np.floor(x * 3).astype(int), 0.3), (X,), order=0),
    Case("np.quantile square q", lambda x: np.quantile(x, [[0.1, 0.2], [0.3, 0.9]], axis=1), (X,)),
    Case("np.quantile weights", lambda x: np.quantile(
        x, Q, axis=1, method="inverted_cdf", weights=WEIGHTS) ** 2, (X,)),
    Case("np.quantile traced weights", lambda x, w: np.quantile(
        x, 0.4, axis=0, method="inverted_cdf", weights=w), (X, np.abs(Y))),
    Case("np.percentile weights", lambda x: np.percentile(
        x, [20, 90], axis=1, method="inverted_cdf", weights=WEIGHTS, keepdims=True), (X,)),
    Case("np.percentile of q", lambda x, q: np.percentile(x, q * 100, axis=1), (X, Q)),
    Case("np.nanquantile", lambda x: np.nanquantile(np.where(x > 1.5, np.nan, x), 0.3) ** 2, (X,)),
    Case("np.nanquantile weights", lambda x: np.nanquantile(
        x, Q, axis=1, method="inverted_cdf", weights=np.abs(Y)), (HOLES,), order=0),
    Case("np.nanpercentile", lambda x: np.nanpercentile(x, [10, 60], 1, keepdims=True), (HOLES,), order=0),
]  # fmt: skip

CASES = [*SORTS, *SEARCHES, *QUANTILES]
