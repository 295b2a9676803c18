"""Cases of NumPy's statistics, folds with masks, differences and histograms."""

from typing import Any

import numpy as np

from tests.numpy_cases import Case, spread

X = spread(3, 5)
Y = spread(3, 5, low=-1.0, high=3.1, seed=3)
V = spread(7, seed=1)
U = spread(7, low=0.3, high=2.0, seed=5)
T = spread(2, 3, 4, seed=2)
W = spread(5, low=0.2, high=1.4, seed=4)
MASK = X > -0.7
HOLES = np.where(X > 1.5, np.nan, X)
COUNTS = np.array([1, 2, 1, 3, 2])
POINTS = np.array([-1.52, -0.47, 0.33, 1.21, 2.12])
RAMP = np.array([0.0, 0.4, 1.0, 1.7, 2.9])
BINS: Any = (3, RAMP, 2)


def _holes(x: np.ndarray) -> np.ndarray:
    return np.where(X > 1.5, np.nan, x)


MASKED = [
    Case("np.sum where", lambda x: np.sum(x**2, axis=1, where=MASK), (X,)),
    Case("np.sum initial", lambda x: np.sum(x**2, axis=0, initial=3.0, keepdims=True), (X,)),
    Case("np.sum where traced", lambda x: np.sum(x**2, where=x > 0.01), (X,)),
    Case("np.prod where", lambda x: np.prod(x, axis=1, where=MASK, initial=2.0), (X,)),
    Case("np.max where", lambda x: np.max(x, axis=1, where=MASK, initial=-5.0) ** 2, (X,)),
    Case("np.max initial", lambda x: np.max(x[:0], axis=0, initial=0.5), (X,), order=0),
    Case("np.min where", lambda x: np.min(x, where=MASK, initial=9.0) ** 2, (X,)),
    Case("np.mean where", lambda x: np.mean(x**2, axis=1, where=MASK, keepdims=True), (X,)),
    Case("np.var where", lambda x: np.var(x, axis=1, where=MASK, ddof=1), (X,)),
    Case("np.var mean", lambda x: np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)), (X,)),
    Case("np.std correction", lambda x: np.std(x, axis=0, correction=1), (X,)),
    Case("np.std where", lambda x: np.std(x, where=MASK), (X,)),
    Case("np.any where", lambda x: np.any(x > 1, axis=1, where=MASK), (X,), order=0),
    Case("np.all where", lambda x: np.all(x > 0, axis=0, where=MASK), (X,), order=0),
    Case("np.count_nonzero", lambda x: np.count_nonzero(x > 0, axis=1, keepdims=True), (X,), order=0),
    Case("np.argmax", lambda x: np.argmax(x, axis=1, keepdims=True), (X,), order=0),
    Case("np.argmin", lambda x: np.argmin(x), (X,), order=0),
    Case("np.cumulative_sum", lambda x: np.cumulative_sum(x**2, axis=1, include_initial=True), (X,)),
    Case("np.cumulative_sum dtype", lambda x: np.cumulative_sum(x, dtype=np.float64), (V,)),
    Case("np.cumulative_prod", lambda x: np.cumulative_prod(x, axis=0), (X,)),
]

NANS = [
    Case("np.nansum", lambda x: np.nansum(_holes(x) ** 2, axis=1), (X,)),
    Case("np.nansum all", lambda x: np.nansum(x, keepdims=True, where=MASK, initial=1.0), (HOLES,), order=0),
    Case("np.nanprod", lambda x: np.nanprod(_holes(x), axis=0, keepdims=True), (X,)),
    Case("np.nanmean", lambda x: np.nanmean(_holes(x) ** 2, axis=1), (X,)),
    Case("np.nanmean whole numbers", lambda x: np.nanmean(np.floor(x).astype(int), axis=1), (X,), order=0),
    Case("np.nanvar", lambda x: np.nanvar(_holes(x), axis=1, ddof=1, keepdims=True), (X,)),
    Case("np.nanstd", lambda x: np.nanstd(_holes(x)), (X,)),
    Case("np.nanmax", lambda x: np.nanmax(_holes(x), axis=1) ** 2, (X,)),
    Case("np.nanmin", lambda x: np.nanmin(_holes(x), axis=0, keepdims=True) ** 2, (X,)),
    Case("np.nanmin where", lambda x: np.nanmin(x, axis=1, where=MASK, initial=0.3), (HOLES,), order=0),
    Case("np.nanargmax", lambda x: np.nanargmax(x, axis=1), (HOLES,), order=0),
    Case("np.nanargmin", lambda x: np.nanargmin(x), (HOLES,), order=0),
    Case("np.nancumsum", lambda x: np.nancumsum(_holes(x) ** 2, axis=1), (X,)),
    Case("np.nancumprod", lambda x: np.nancumprod(_holes(x)), (X,)),
]

MOMENTS = [
    Case("np.average", lambda x: np.average(x**2, axis=1, weights=W), (X,)),
    Case("np.average weights", lambda x, w: np.average(x, weights=w**2), (X, Y)),
    Case("np.average returned", lambda x, w: np.average(x, axis=0, weights=w[:3], returned=True), (X, W)),
    Case("np.average axes", lambda x, w: np.average(x, axis=(2, 0), weights=w.T, keepdims=True), (T, spread(2, 4) + 3)),
    Case("np.average unweighted", lambda x: np.average(x, axis=1, returned=True), (X,)),
    Case("np.cov", lambda x: np.cov(x), (X,)),
    Case("np.cov two", lambda x, y: np.cov(x, y, rowvar=False, bias=True), (X, Y)),
    Case("np.cov weights", lambda x, w: np.cov(x, fweights=COUNTS, aweights=w, ddof=1), (X, W)),
    Case("np.cov vectors", lambda x, y: np.cov(x, y, ddof=0), (V, U)),
    Case("np.cov vector", lambda x: np.cov(x), (V,)),
    Case("np.corrcoef", lambda x: np.corrcoef(x)[0, 1:], (X,)),
    Case("np.corrcoef two", lambda x, y: np.corrcoef(x, y)[0, 1], (V, U)),
    Case("np.corrcoef all", lambda x: np.corrcoef(x, rowvar=False), (X,), order=0),
]

DIFFERENCES = [
    Case("np.diff", lambda x: np.diff(x**2, n=2, axis=0), (X,)),
    Case("np.diff prepend", lambda x: np.diff(x**2, prepend=0.0, append=x[:, :2]), (X,)),
    Case("np.ediff1d", lambda x: np.ediff1d(x**2), (X,)),
    Case("np.ediff1d ends", lambda x, y: np.ediff1d(x**2, to_begin=y[:2], to_end=1.0), (V, U)),
    Case("np.gradient", lambda x: np.gradient(x**2), (X,)),
    Case("np.gradient vector", lambda x: np.gradient(x**2, 0.5, edge_order=2), (V,)),
    Case("np.gradient spacings", lambda x: np.gradient(x**2, 0.5, 2.0), (X,)),
    Case("np.gradient points", lambda x, p: np.gradient(x**2, p, axis=1), (X, RAMP)),
    Case("np.gradient points twice", lambda x, p: np.gradient(x, p, axis=-1, edge_order=2), (X, RAMP)),
    Case("np.gradient even points", lambda x: np.gradient(x, np.arange(5.0), axis=1), (X,)),
    Case("np.trapezoid", lambda x: np.trapezoid(x**2, dx=0.5), (X,)),
    Case("np.trapezoid points", lambda y, x: np.trapezoid(y**2, x, axis=1), (X, RAMP)),
    Case("np.trapezoid axis", lambda y, x: np.trapezoid(y, x, axis=0), (X, Y)),
    Case("np.interp", lambda x, p, f: np.interp(x, p, f) ** 2, (X, POINTS, W)),
    Case("np.interp ends", lambda x, f: np.interp(x, POINTS, f, left=-1.0, right=5.0), (X, W)),
    Case("np.interp period", lambda x, f: np.interp(x * 3, RAMP, f, period=3.0), (V, W)),
    Case("np.interp one", lambda x, f: np.interp(x, POINTS[:1], f[:1]), (X, W)),
    Case("np.interp number", lambda f: np.interp(0.4, POINTS, f), (W,)),
    Case("np.unwrap", lambda x: np.unwrap(x * 5), (X,)),
    Case("np.unwrap axis", lambda x: np.unwrap(x * 3, axis=0, period=2.0, discont=1.5), (X,)),
    Case("np.unwrap whole numbers", lambda x: np.unwrap(np.floor(x * 9).astype(int), period=4), (V,), order=0),
]

HISTOGRAMS = [
    Case("np.bincount", lambda w: np.bincount(COUNTS, w**2, minlength=6), (W,), f32=False),
    Case("np.histogram", lambda x: np.histogram(x, bins=4, range=(-1.0, 2.0)), (X,), order=0),
    Case("np.histogram weights", lambda w: np.histogram(X, bins=RAMP, weights=w**2)[0], (Y,)),
    Case("np.histogram density", lambda w: np.histogram(X, bins=RAMP, weights=w**2, density=True)[0], (Y,)),
    Case("np.histogram found", lambda x: np.histogram(x, 5), (V,), f32=False),
    Case("np.histogram traced edges", lambda e: np.histogram(X, np.sort(e) + 0.05, density=True)[0], (U,), f32=False),
    Case("np.histogram_bin_edges", lambda x: np.histogram_bin_edges(x, 3), (V,)),
    Case("np.histogram2d", lambda x, y: np.histogram2d(x, y, bins=(3, 2), range=((-1, 2), (0, 2))), (V, U), order=0),
    Case("np.histogram2d weights", lambda w: np.histogram2d(V, U, 3, weights=w**2)[0], (U,)),
    Case("np.histogramdd", lambda w: np.histogramdd(X.T, BINS, weights=w, density=True)[0], (W,)),
]

CASES = [*MASKED, *NANS, *MOMENTS, *DIFFERENCES, *HISTOGRAMS]
