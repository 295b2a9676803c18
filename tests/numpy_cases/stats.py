"""Cases of scipy.stats' distributions: their methods with all parameters traced, positional and by keyword, frozen."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats
from scipy.stats import norm

from tests.numpy_cases import Case, spread

stats: Any = scipy.stats
REAL = np.array([-1.3, 0.2, 0.9, 1.7, 3.1])
INSIDE = spread(5, low=0.15, high=0.85, seed=3)
DENSITIES = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf")

SHAPES: dict[str, tuple[float, ...]] = {
    "norm": (), "t": (3.2,), "gamma": (1.7,), "beta": (1.4, 2.3), "expon": (), "lognorm": (0.8,), "weibull_min": (1.6,),
    "uniform": (), "laplace": (), "logistic": (), "cauchy": (), "chi2": (3.3,), "f": (3.1, 5.5), "pareto": (2.2,),
    "halfnorm": (), "halfcauchy": (), "invgamma": (2.4,), "gumbel_r": (), "gumbel_l": (),
    "rayleigh": (), "lomax": (2.2,), "genpareto": (0.3,), "genextreme": (0.1,), "maxwell": (), "chi": (2.6,),
    "gengamma": (1.4, 1.3), "exponweib": (1.4, 1.3), "fisk": (2.1,), "burr12": (2.1, 1.3), "powerlaw": (1.7,),
    "truncnorm": (-1.6, 3.4), "hypsecant": (), "loggamma": (1.8,), "johnsonsu": (0.4, 1.3),
}  # fmt: skip
NO_QUANTILE: dict[str, tuple[float, ...]] = {
    "gennorm": (1.7,), "invgauss": (0.9,), "skewnorm": (1.4,), "exponnorm": (1.2,), "moyal": (),
}
FROM = {"pareto": 1.2, "invgamma": 0.4}


def _methods(name: str, methods: tuple[str, ...]) -> Callable[..., Any]:
    def function(x: Any, *given: Any) -> Any:
        *shapes, loc, scale = given
        return [getattr(getattr(stats, name), each)(x, *shapes, loc=loc, scale=scale) for each in methods]

    return function


def _continuous(name: str, shapes: tuple[float, ...]) -> list[Case]:
    bounded = name in ("uniform", "beta", "powerlaw")
    points = INSIDE if bounded else np.abs(REAL) + FROM.get(name, 0.1) if _is_positive(name) else REAL
    loc, scale = np.array(0.04), np.array(1.1)
    x = points * scale + loc
    parameters = (*map(np.array, shapes), loc, scale)
    return [
        Case(f"scipy.stats.{name}.logpdf", _methods(name, DENSITIES[:2]), (x, *parameters)),
        Case(f"scipy.stats.{name}.cdf", _methods(name, DENSITIES[2:]), (x, *parameters)),
        Case(f"scipy.stats.{name}.ppf", _methods(name, ("ppf", "isf")), (INSIDE, *parameters), 2, name != "f", 1e-11),
    ]


def _whole(name: str, method: str) -> Callable[..., Any]:
    of = getattr(getattr(stats, name), method)
    return lambda *given: np.positive(of(*given[:-2], loc=given[-2], scale=given[-1]))


def _is_positive(name: str) -> bool:
    return getattr(stats, name).a >= 0


K, P = np.array([0.0, 1.0, 2.0, 4.0, 5.0, -1.0, 2.5]), np.array(0.3)


def _discrete(name: str) -> Callable[..., Any]:
    of = getattr(stats, name)
    methods = ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf")
    return lambda k, *given: [getattr(of, each)(k, *given) for each in methods]


def _of_parameters(name: str, k: np.ndarray) -> Callable[..., Any]:
    """Points where nothing is infinite."""
    of = getattr(stats, name)
    return lambda *given: [getattr(of, each)(k, *given) for each in ("logpmf", "pmf", "cdf", "sf")]


ROOT, MEAN, POINTS = np.array([[1.0, 0.3], [0.2, 0.8]]), np.array([0.1, 0.4]), spread(3, 2)
PARTS, ALPHA = np.array([0.2, 0.3, 0.5]), np.array([1.2, 2.0, 3.0])
COUNTS = np.array([[1.0, 2.0, 3.0], [0.0, 4.0, 2.0]])


def _share(p: Any) -> Any:
    return p / np.sum(p)


CASES = [
    *(case for name, shapes in SHAPES.items() for case in _continuous(name, shapes)),
    *(case for name, shapes in NO_QUANTILE.items() for case in _continuous(name, shapes)[:2]),
    *(Case(f"scipy.stats.{name}.{method}", _whole(name, method), (*map(np.array, shapes), np.array(0.3), np.array(1.2)))
      for name, shapes in {"norm": (), "gamma": (1.7,), "beta": (1.4, 2.3), "lognorm": (0.8,), "expon": (),
                           "weibull_min": (1.6,), "logistic": ()}.items()
      for method in ("mean", "var", "std", "entropy")),
    Case("scipy.stats.binom.mean", lambda p: stats.binom(10, p).mean() * stats.poisson.std(p), (P,)),
    Case("scipy.stats.vonmises.logpdf", lambda x, k, m: stats.vonmises.logpdf(x, k, loc=m), (REAL, P + 1, P)),
    Case("scipy.stats.genpareto.logpdf zero", lambda x: stats.genpareto.logpdf(x, 0.0), (np.abs(REAL),), 1, False),
    Case("scipy.stats.genextreme.cdf negative", lambda x, c: stats.genextreme.sf(x, -c), (REAL + 0.5, P), f32=False),
    Case("scipy.stats.truncnorm.logpdf far", lambda x: stats.truncnorm.logpdf(x, 4.0, 9.0), (INSIDE + 5,), f32=False),
    Case("scipy.stats.truncnorm.logpdf inside", lambda x, a: stats.truncnorm.logpdf(x[:2], a, 1.0), (REAL, -P - 2)),
    *(Case(f"scipy.stats.{name}.pmf values", _discrete(name), (K, *given), 0)
      for name, given in (("poisson", (np.array(2.3),)), ("binom", (5.0, P)), ("nbinom", (np.array(3.5), P)),
                          ("geom", (P,)), ("bernoulli", (P,)))),
    Case("scipy.stats.poisson.logpmf", _of_parameters("poisson", np.array([0.0, 1, 3])), (np.array(2.3),)),
    Case("scipy.stats.binom.logpmf", lambda p: _of_parameters("binom", np.array([0.0, 1, 3]))(5, p), (P,)),
    Case("scipy.stats.nbinom.logpmf", _of_parameters("nbinom", np.array([0.0, 1, 3])), (np.array(3.5), P)),
    Case("scipy.stats.geom.logpmf", _of_parameters("geom", np.array([1.0, 2, 3])), (P,)),
    Case("scipy.stats.bernoulli.logpmf", lambda p: stats.bernoulli.logpmf(np.array([0, 1]), p), (P,)),
    Case("scipy.stats.norm.logpdf positional", lambda x, m: norm.logpdf(x, m, 0.7), (REAL, np.array(0.3))),
    Case("scipy.stats.norm.logpdf frozen", lambda x, m, s: stats.norm(m, scale=s).logpdf(x), (REAL, np.array(0.3), P)),
    Case("scipy.stats.gamma.sf frozen", lambda x, a: stats.gamma(a, scale=2.0).sf(x), (np.abs(REAL), np.array(1.3))),
    Case(
        "scipy.stats.multivariate_normal frozen",
        lambda x, m, r: [stats.multivariate_normal(m, r @ r.T).logpdf(x), stats.multivariate_normal(m).pdf(x),
                         stats.multivariate_normal(cov=r @ r.T).entropy(), stats.multivariate_normal.entropy(m, 2.0)],
        (POINTS, MEAN, ROOT),
    ),
    Case(
        "scipy.stats.multivariate_normal.logpdf",
        lambda x, m, r: stats.multivariate_normal.logpdf(x, m, r @ r.T), (POINTS, MEAN, ROOT),
    ),
    Case(
        "scipy.stats.multivariate_normal.pdf",
        lambda x, m: stats.multivariate_normal.pdf(x, mean=m, cov=np.array([0.5, 2.0])), (POINTS, MEAN),
    ),
    Case("scipy.stats.multivariate_normal.logpdf of numbers", lambda x: stats.multivariate_normal.logpdf(x), (REAL,)),
    Case(
        "scipy.stats.multivariate_normal.logpdf frozen",
        lambda x: stats.multivariate_normal(MEAN, ROOT @ ROOT.T).logpdf(x), (POINTS,),
    ),
    Case("scipy.stats.dirichlet.logpdf", lambda a, p: stats.dirichlet.logpdf(_share(p), a), (ALPHA, PARTS), f32=False),
    Case("scipy.stats.dirichlet.pdf", lambda p: stats.dirichlet.pdf(p, ALPHA), (PARTS[:2],)),
    Case("scipy.stats.multinomial.logpmf", lambda p: stats.multinomial.logpmf(COUNTS, 6, _share(p)), (PARTS,)),
    Case("scipy.stats.multinomial.pmf", lambda p: stats.multinomial.pmf(COUNTS, np.array([6, 7]), _share(p)), (PARTS,)),
    Case("scipy.stats.betabinom.logpmf", lambda a, b: stats.betabinom.logpmf([0.0, 2, 5], 7, a, b), (P, P + 1)),
    Case("scipy.stats.betabinom.pmf", lambda a: stats.betabinom.pmf(np.array([-1.0, 2, 8]), 7, a, 1.3), (P,)),
    Case(
        "scipy.stats.multivariate_t.logpdf",
        lambda x, m, r, n: stats.multivariate_t.logpdf(x, m, r @ r.T, n), (POINTS, MEAN, ROOT, P + 3),
    ),
    Case(
        "scipy.stats.multivariate_t.pdf frozen",
        lambda x: stats.multivariate_t(MEAN, ROOT @ ROOT.T, df=4).pdf(x), (POINTS,),
    ),
    Case(
        "scipy.stats.wishart.logpdf",
        lambda r, q, n: stats.wishart.logpdf(r @ r.T, n, q @ q.T + np.eye(2)), (ROOT, ROOT * 1.3, P + 3),
    ),
    Case(
        "scipy.stats.invwishart.logpdf",
        lambda r, q, n: stats.invwishart.logpdf(r @ r.T, n, q @ q.T + np.eye(2)), (ROOT, ROOT * 1.3, P + 3),
    ),
]
