"""Cases of scipy.stats' summaries of samples."""

from typing import Any

import numpy as np
from scipy import stats

from tests.numpy_cases import Case, spread

S: Any = stats
ROW, ROWS, OTHER = spread(9), spread(6, 3), spread(9, seed=4) + 0.3
PART, PARTS, W = np.abs(ROW) + 0.1, np.abs(ROWS) + 0.1, np.linspace(1.0, 2.0, 9)


def case(of: str, function: Any, *args: Any) -> Case:
    return Case(f"scipy.stats.{of}", lambda *given: np.positive(function(*given)), args, f32=False, rtol=1e-10)


CASES = [
    *(case(name, getattr(S, name), ROWS) for name in ("skew", "kurtosis", "variation", "sem", "zscore", "iqr")),
    case("skew unbiased", lambda x: S.skew(x, None, bias=False), ROWS),
    case("kurtosis of Pearson", lambda x: S.kurtosis(x, axis=1, fisher=False, bias=False), ROWS.T * spread(3, 6)),
    *(case(f"moment {k}", lambda x, k=k: S.moment(x, k), ROWS) for k in (2, 3)),
    case("moment about", lambda x, c: S.moment(x, 3, center=c), ROW, np.array(0.3)),
    *(case(name, getattr(S, name), PARTS) for name in ("gmean", "hmean", "entropy")),
    case("gmean weights", lambda x, w: S.gmean(x, weights=w), PART, W),
    case("hmean axis", lambda x: S.hmean(x, axis=1), PARTS),
    case("entropy relative", lambda p, q: S.entropy(p, q, 2.0), PART, W),
    case("iqr normal", lambda x: S.iqr(x, axis=0, rng=(10, 80), scale="normal"), ROWS),
    case("trim_mean", lambda x: S.trim_mean(x, 0.2), ROWS),
    case("median_abs_deviation", S.median_abs_deviation, ROWS),
    case("median_abs_deviation normal", lambda x: S.median_abs_deviation(x, axis=None, scale="normal"), ROWS),
    case("zmap", lambda x, y: S.zmap(x, y, ddof=1), ROW, OTHER),
    case("pearsonr", lambda x, y: np.stack([*S.pearsonr(x, y)]), ROW, OTHER),
    case("pearsonr statistic", lambda x, y: S.pearsonr(x, y).statistic, ROW, OTHER),
    case("linregress", lambda x, y: np.stack([*S.linregress(x, y)]), ROW, OTHER),
    case("linregress intercept", lambda x, y: S.linregress(x, y).intercept_stderr, ROW, OTHER),
    *(case(f"linregress {way}", lambda x, y, way=way: S.linregress(x, y, alternative=way).pvalue, ROW, OTHER)
      for way in ("less", "greater")),
    *(case(f"{name} {way}", lambda x, y, name=name, way=way: np.stack([*getattr(S, name)(x, y, alternative=way)]), ROW,
           OTHER) for name in ("ttest_rel", "ttest_ind") for way in ("two-sided", "less", "greater")),
    case("ttest_ind Welch", lambda x, y: np.stack([*S.ttest_ind(x, y[:5], equal_var=False)]), ROW, OTHER),
    case("ttest_ind df", lambda x, y: S.ttest_ind(x, y[:5], equal_var=False).df, ROW, OTHER),
    case("ttest_1samp", lambda x, m: np.stack([*S.ttest_1samp(x, m)]), ROWS, np.array(0.3)),
    case("ttest_1samp axis", lambda x: S.ttest_1samp(x, 0.2, axis=1).pvalue, ROWS),
    case("f_oneway", lambda x, y: np.stack([*S.f_oneway(x, y, y[:4] * x[:4])]), ROW, OTHER),
    case("linregress slope", lambda x, y: S.linregress(x, y).slope, ROW, OTHER),
]
