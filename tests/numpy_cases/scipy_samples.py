"""Cases of scipy.stats' descriptions, ranks and kernel densities, and of scipy.signal's responses and resampling."""

from typing import Any

import numpy as np
import scipy.signal
import scipy.stats

from tests.numpy_cases import Case, spread

stats: Any = scipy.stats
signal: Any = scipy.signal
X, Y, ROWS = spread(18), spread(18, seed=5), spread(4, 9, seed=2)
POSITIVE, POWER = X**2 + 0.5, np.array([0.4])
TAPS, TIMES = np.array([0.5, 0.3, -0.2]), spread(40, seed=3)
SECTIONS = scipy.signal.butter(4, 0.3, output="sos")


def _described(x: Any) -> Any:
    made = stats.describe(x, axis=1, bias=False)
    return [*made.minmax, made.mean, made.variance, made.skewness, made.kurtosis]


def _ranked(x: Any) -> Any:
    tested = [stats.spearmanr(x, Y), stats.kruskal(x[:8], x[8:]), stats.kendalltau(x, Y, method="asymptotic"),
              stats.mannwhitneyu(x[:8], x[8:], method="asymptotic")]  # fmt: skip
    return [x * stats.rankdata(np.round(x)), *[each[k] * x for each in tested for k in (0, 1)]]


def _shapes(x: Any) -> Any:
    tests = (stats.skewtest, stats.kurtosistest, stats.normaltest, stats.jarque_bera)
    return [each for test in tests for each in tuple(test(x))]


CASES = [
    Case("scipy.stats.describe", _described, (ROWS,), 2, False),
    Case("scipy.stats.boxcox", lambda x, p: [
        stats.boxcox(x, p[0]), stats.boxcox_llf(p[0], x) * p
    ], (POSITIVE, POWER), 2, False),
    Case("scipy.stats.yeojohnson", lambda x, p: [
        stats.yeojohnson(x, p[0]), stats.yeojohnson_llf(p[0], x) * p
    ], (X, POWER), 2, False),
    Case("scipy.stats.gzscore", lambda x: [stats.gzscore(x), stats.gstd(x), stats.pmean(x, 2.5)],
         (POSITIVE,), 2, False),
    Case("scipy.stats.circmean", lambda x: [stats.circmean(x), stats.circvar(x), stats.circstd(x)], (X[:6],), 2, False),
    Case("scipy.stats.rankdata", _ranked, (X,), 1, False),
    Case("scipy.stats.normaltest", _shapes, (np.exp(X),), 2, False, 1e-11),
    Case("scipy.stats.levene", lambda x: [*stats.levene(x[:7], x[7:]), *stats.bartlett(x[:7], x[7:])], (X,), 1, False),
    Case("scipy.stats.chisquare", lambda x: [*stats.chisquare(x)], (POSITIVE,), 2, False),
    Case("scipy.stats.wasserstein_distance", lambda x, y: [
        stats.wasserstein_distance(x, y), stats.energy_distance(x, y), stats.ks_2samp(x, y).statistic * x[0]
    ], (X, Y[:11] + 0.11), 2, False),
    Case("scipy.stats.pearsonr confidence", lambda x: [*stats.pearsonr(x, Y).confidence_interval(0.9)], (X,), 2, False),
    Case("scipy.stats.gaussian_kde", lambda x, at: [
        stats.gaussian_kde(x).logpdf(at), stats.gaussian_kde(x, bw_method=0.3).integrate_box_1d(at[0], 1.0)
    ], (X, TAPS), 2, False),
    Case("scipy.stats.gaussian_kde weights", lambda x, w: stats.gaussian_kde(x, weights=w**2)(X[:8].reshape(2, 4)),
         (ROWS[:2], X[:9]), 1, False),
    Case("scipy.signal.freqz", lambda b, a: [
        signal.freqz(b, np.concatenate([np.ones(1), a]), worN=6, fs=50.0)[1],
        signal.freqs(b, a, worN=np.array([0.1, 2.0]))[1],
    ], (TAPS, X[:2] * 0.3), 2, False),
    Case("scipy.signal.sosfreqz", lambda b: signal.sosfreqz(b, worN=5)[1], (SECTIONS,), 1, False),
    Case("scipy.signal.sosfiltfilt", lambda x: signal.sosfiltfilt(SECTIONS, x), (np.stack([TIMES, TIMES[::-1]]),), 1,
         False, 1e-10),
    Case("scipy.signal.resample", lambda x: [signal.resample(x, n) for n in (10, 25, 9)], (X,)),
    Case("scipy.signal.resample_poly", lambda x: signal.resample_poly(x, 3, 2), (X,)),
    Case("scipy.signal.upfirdn", lambda x: signal.upfirdn(TAPS, x, 2, 3), (X,), 2, False),
    Case("scipy.signal.decimate", lambda x: [signal.decimate(x, 2), signal.decimate(x, 2, ftype="fir")], (TIMES,), 1,
         False, 1e-9),
    Case("scipy.signal.stft", lambda x: signal.stft(x, nperseg=8)[2], (X,), 1, False),
    Case("scipy.signal.spectrogram", lambda x: [
        signal.spectrogram(x, nperseg=8)[2], signal.csd(x, Y, nperseg=8)[1], signal.coherence(x, Y, nperseg=6)[1]
    ], (X,), 2, False, 1e-10),
    Case("np.einsum lists", lambda x: [
        np.einsum(x, [0, 1], x, [2, 1], [0, 2]), np.einsum(x, [0, 1], [1]),
        np.einsum(x, [..., 3], x, [..., 3]),  # type: ignore[call-overload]
    ], (ROWS,), 2),
]
