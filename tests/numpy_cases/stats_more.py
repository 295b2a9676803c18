"""Cases of more of scipy.stats' distributions: all that one has in one case, by all of its parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from tests.numpy_cases import Case, spread

stats: Any = scipy.stats
Q = np.array([0.13, 0.86])
LOC, SCALE = np.array(0.1), np.array(1.3)

SHAPES: dict[str, tuple[float, ...]] = {
    "alpha": (3.57,), "anglit": (), "arcsine": (), "argus": (1.3,), "betaprime": (5.0, 6.0), "bradford": (0.3,),
    "burr": (10.5, 4.3), "cosine": (), "crystalball": (2.0, 3.0), "dgamma": (1.1,), "dweibull": (2.07,),
    "exponpow": (2.7,), "fatiguelife": (0.9,), "foldcauchy": (4.7,), "foldnorm": (1.95,), "genexpon": (9.1, 16.2, 3.3),
    "genhalflogistic": (0.77,), "genlogistic": (0.41,), "gibrat": (), "gompertz": (0.95,), "halfgennorm": (0.8,),
    "halflogistic": (), "invweibull": (10.6,), "jf_skew_t": (8.0, 4.0), "johnsonsb": (4.3, 3.2), "kappa3": (1.0,),
    "kappa4": (0.1, -0.2), "laplace_asymmetric": (2.0,), "levy": (), "levy_l": (), "loglaplace": (3.25,),
    "loguniform": (0.5, 2.5), "mielke": (10.4, 4.6), "nakagami": (4.97,), "pearson3": (-1.2,),
    "powerlognorm": (2.1, 0.45), "powernorm": (4.5,), "rdist": (1.8,), "recipinvgauss": (0.63,), "rice": (0.78,),
    "semicircular": (), "skewcauchy": (0.5,), "trapezoid": (0.3, 0.7), "triang": (0.16,), "truncexpon": (4.7,),
    "truncpareto": (1.8, 5.3), "truncweibull_min": (2.5, 0.25, 1.75), "tukeylambda": (0.4,), "wald": (),
    "weibull_max": (2.9,), "wrapcauchy": (0.31,), "ncx2": (4.2, 1.1),
}  # fmt: skip
BY_NODES = {"vonmises": (3.99,), "vonmises_line": (0.6,)}
"""Those that SciPy integrates, to some 1e-8."""
METHODS = ("logpdf", "cdf", "sf", "ppf", "isf")
DENSITY_ONLY: dict[str, tuple[float, ...]] = {
    "nct": (14.0, 0.24), "ncf": (27.0, 27.0, 0.4), "geninvgauss": (2.3, 1.5),
    "genhyperbolic": (0.5, 1.5, -0.5),
}  # fmt: skip
WHOLE = ("mean", "var", "entropy")
WITHOUT = dict.fromkeys([
    "argus", "betaprime", "burr", "foldnorm", "mielke", "ncx2", "rice", "pearson3", "rdist", "truncweibull_min", "wald",
], "entropy")  # fmt: skip
NONE = {
    "alpha", "crystalball", "exponpow", "fatiguelife", "foldcauchy", "genexpon", "genhalflogistic", "jf_skew_t",
    "johnsonsb", "kappa3", "kappa4", "levy", "levy_l", "powerlognorm", "powernorm", "recipinvgauss", "skewcauchy",
    "tukeylambda", "wrapcauchy", "truncpareto", "gompertz", "norminvgauss", "vonmises", "vonmises_line",
}  # fmt: skip


def _all(name: str, methods: tuple[str, ...]) -> Callable[..., Any]:
    """Densities and tails at points, quantiles, and what there is on the whole, of a frozen one."""
    said = () if name in NONE or "ppf" not in methods else tuple(each for each in WHOLE if WITHOUT.get(name) != each)

    def function(x: Any, *given: Any) -> Any:
        *shapes, loc, scale = given
        of = getattr(stats, name)(*shapes, loc=loc, scale=scale)
        made = [getattr(of, each)(Q if each in ("ppf", "isf") else x) for each in methods]
        return [*made, *[np.positive(getattr(of, each)()) for each in said]]

    return function


def _case(name: str, shapes: tuple[float, ...], methods: tuple[str, ...]) -> Case:
    given = (*map(np.array, shapes), LOC, SCALE)
    x = getattr(stats, name).ppf(Q, *given)
    return Case(f"scipy.stats.{name}.{methods[0]}", _all(name, methods), (x, *given), 2, False, 1e-9)


COUNTS: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "boltzmann": ((1.4, 19), (0,)), "dlaplace": ((0.8,), (0,)), "hypergeom": ((30, 12, 6), ()),
    "logser": ((0.6,), (0,)), "nhypergeom": ((40, 16, 8), ()), "planck": ((0.51,), (0,)), "randint": ((2, 9), ()),
    "skellam": ((3.0, 4.5), (0, 1)), "yulesimon": ((2.8,), (0,)), "zipf": ((3.4,), (0,)), "zipfian": ((1.25, 10), (0,)),
    "betabinom": ((5, 2.3, 0.63), (1, 2)), "betanbinom": ((5, 9.3, 1.0), (1, 2)), "nbinom": ((5.0, 0.4), (0, 1)),
}  # fmt: skip


def _counts(name: str, shapes: tuple[float, ...], free: tuple[int, ...]) -> Case:
    """By the shapes that are not whole; the points, and whole ones, are numbers."""
    of = getattr(stats, name)
    k = np.unique(of.ppf([0.2, 0.55], *shapes))

    def function(factor: Any, *traced: Any) -> Any:
        at = dict(zip(free, traced, strict=True))
        given = [at.get(i, x) for i, x in enumerate(shapes)]
        values = [getattr(of, each)(k, *given) for each in ("logpmf", "pmf", "cdf", "sf")]
        return [factor * x for x in (*values, of.ppf(0.45, *given))]

    return Case(f"scipy.stats.{name}.pmf", function, (SCALE, *[np.array(shapes[i]) for i in free]), 2, False, 1e-10)


CASES = [
    *(_case(name, shapes, METHODS) for name, shapes in SHAPES.items()),
    *(_case(name, shapes, ("logpdf",)) for name, shapes in DENSITY_ONLY.items()),
    *(_case(name, shapes, METHODS)._replace(rtol=1e-7) for name, shapes in BY_NODES.items()),
    *(_counts(name, *given) for name, given in COUNTS.items()),
    Case("scipy.stats.norminvgauss.cdf", lambda x, a, b: _all("norminvgauss", METHODS[:3])(x, a, b, 0.3, 1.2), (
        np.array([-2.0, 0.1, 1.4]), np.array([1.25, 0.7, 3.0]), np.array([0.5, -0.2, 2.9])), f32=False, rtol=1e-7),
    Case("scipy.stats.vonmises.cdf turns", lambda x, k: stats.vonmises.cdf(x, k), (
        np.array([-9.0, -4.0, 2.5, 8.0, 13.0]), np.array([0.1, 200.0, 3.0, 40.0, 1.0])), f32=False, rtol=1e-8),
    Case("scipy.stats.multivariate_normal.cdf", lambda x, m, r: [
        stats.multivariate_normal.cdf(x, m, r @ r.T), stats.multivariate_normal(m, r @ r.T).logcdf(x[0]),
        stats.multivariate_normal.cdf(x[:, :1], m[:1], r[:1, :1] ** 2)
    ], (spread(5, 2), np.array([0.2, -0.3]), np.array([[1.2, 0.0], [-0.7, 0.4]])), f32=False, rtol=1e-7),
]
