"""Methods of scipy.stats' distributions on traced values: `stats.norm.logpdf(x, m, s)`, and of frozen ones.

Formulas are those of `densities`, in 64 bits, as SciPy's. Outside of the support a density is 0 and its logarithm -inf;
where parameters are none, it is NaN; and what is not chosen has a gradient of zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....array import unknown
from ....errors import TraceError, UnknownFunction, message
from ....patched.recoded import concrete, recode
from ....promotion import as_operand
from ....tracing import user_line
from ...ufuncs import where
from ..special.functions import apply, as_float
from . import alternatives, bounded, counts, families, lifetimes  # noqa: F401 - their distributions are in the tables
from .densities import CONTINUOUS, DISCRETE, Continuous, Discrete
from .made_of import NONE, numbers
from .moments import ENTROPIES, MOMENTS


def f64(x: Any) -> Any:
    """In the precision that scipy.stats computes in."""
    return as_float(as_operand(x)).astype(np.float64)


def _known(distribution: Any, table: dict[str, Any], method: str) -> Any:
    found = table.get(distribution.name)
    if found is not None and type(distribution).__module__.startswith("scipy.stats."):
        if getattr(found, method) is NONE or (getattr(found, method) is None and found.cdf is NONE):
            raise unknown(f"scipy.stats.{distribution.name}.{method}")
        return found
    name = f"scipy.stats.{distribution.name}.{method}"
    known = ", ".join(sorted(table))
    fix = f"known are {known}; call others through pullback.external(function, result, differences=True)"
    raise UnknownFunction(message(f"{name} is not supported in a traced function", user_line(), fix))


def standard(distribution: Any, method: str) -> Any:
    """A distribution's formulas in standard form, if it has this one."""
    return _known(distribution, DISCRETE if method == "logpmf" else CONTINUOUS, method)


def _valid(of: Continuous, shapes: Any, scale: Any) -> Any:
    made = scale > 0
    if of.valid is not None:
        return made & of.valid(*shapes)
    for each in shapes:
        made = made & (each > 0)
    return made


def ends(of: Continuous, shapes: Any) -> tuple[Any, Any, Any]:
    """The support, and a point inside of it."""
    return (*of.support, of.safe) if of.ends is None else of.ends(*shapes)


def _parts(distribution: Any, args: Any, kwargs: Any) -> tuple[list[Any], Any, Any]:
    """Shapes, location and scale."""
    shapes, loc, scale = distribution._parse_args(*args, **kwargs)
    return [f64(each) for each in shapes], f64(loc), f64(1.0 if scale is None else scale)


def _freeze(self: Any, dist: Any, *args: Any, **kwargs: Any) -> None:
    """With its parameters, of which SciPy would look at the values to tell the support."""
    self.__dict__.update(args=args, kwds=kwargs, dist=dist, a=dist.a, b=dist.b)


# ---- continuous distributions


def _logpdf(distribution: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    of: Continuous = _known(distribution, CONTINUOUS, "logpdf")
    shapes, loc, scale = _parts(distribution, args, kwargs)
    y = (f64(x) - loc) / scale
    low, high, safe = ends(of, shapes)
    inside = (y >= low) & (y <= high)
    made = of.logpdf(where(inside, y, safe), *shapes) - np.log(scale)
    made = where(inside, made, where(np.isnan(y), y, -math.inf))
    return where(_valid(of, shapes, scale), made, math.nan)


def _pdf(distribution: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return np.exp(_logpdf(distribution, x, *args, **kwargs))


def _tail(name: str, below: float, above: float) -> Callable[..., Any]:
    """A function of distribution: what it is below and above the support, and inside by its formula."""

    def meaning(distribution: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        of: Continuous = _known(distribution, CONTINUOUS, name)
        shapes, loc, scale = _parts(distribution, args, kwargs)
        y = (f64(x) - loc) / scale
        low, high, safe = ends(of, shapes)
        inside = (y > low) & (y < high)
        made = _formula(of, name)(where(inside, y, safe), *shapes)
        made = where(inside, made, where(y <= low, below, where(y >= high, above, math.nan)))
        return where(_valid(of, shapes, scale), made, math.nan)

    return meaning


def _formula(of: Continuous, name: str) -> Callable[..., Any]:
    own = getattr(of, name)
    if own is not None:
        return own
    plain = getattr(of, name.removeprefix("log"))
    return lambda *args: np.log(plain(*args))


def _quantile(name: str) -> Callable[..., Any]:
    def meaning(distribution: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
        of: Continuous = _known(distribution, CONTINUOUS, name)
        shapes, loc, scale = _parts(distribution, args, kwargs)
        q = f64(q)
        inside = (q > 0) & (q < 1)
        sides = ends(of, shapes)[:2][:: 1 if name == "ppf" else -1]
        made = getattr(of, name)(where(inside, q, 0.5), *shapes)
        made = where(inside, made, where(q == 0, sides[0], where(q == 1, sides[1], math.nan)))
        return where(_valid(of, shapes, scale), made * scale + loc, math.nan)

    return meaning


recode("scipy.stats._distn_infrastructure", {
    "rv_continuous.logpdf": _logpdf, "rv_continuous.pdf": _pdf, "rv_continuous.cdf": _tail("cdf", 0.0, 1.0),
    "rv_continuous.sf": _tail("sf", 1.0, 0.0), "rv_continuous.logcdf": _tail("logcdf", -math.inf, 0.0),
    "rv_continuous.logsf": _tail("logsf", 0.0, -math.inf), "rv_continuous.ppf": _quantile("ppf"),
    "rv_continuous.isf": _quantile("isf"),
})  # fmt: skip

# ---- what they are on the whole


def _first_two(distribution: Any, shapes: list[Any]) -> tuple[Any, Any]:
    """Mean and variance of unit scale, or None."""
    if distribution.name in MOMENTS:
        return MOMENTS[distribution.name](*shapes)
    more = {"moments": "mv"} if distribution._stats_has_moments else {}
    mean, variance = distribution._stats(*shapes, **more)[:2]
    if mean is None and "_munp" in vars(type(distribution)):
        mean = distribution._munp(1, *shapes)
        variance = distribution._munp(2, *shapes) - mean**2
    return mean, variance


def _of_moments(name: str, of: Callable[[Any, Any, Any, Any], Any]) -> Callable[..., Any]:
    """By SciPy's own formulas of the shapes, where there are some."""

    def meaning(distribution: Any, *args: Any, **kwargs: Any) -> Any:
        table: Any = DISCRETE if distribution.name in DISCRETE else CONTINUOUS
        known = _known(distribution, table, "logpmf" if table is DISCRETE else "logpdf")
        shapes, loc, scale = _parts(distribution, args, kwargs)
        try:
            mean, variance = _first_two(distribution, shapes)
        except (TraceError, ValueError, TypeError):  # it branches, or writes into arrays of its own
            raise unknown(f"scipy.stats.{distribution.name}.{name}") from None
        if (mean if name == "mean" else variance) is None:
            raise unknown(f"scipy.stats.{distribution.name}.{name}")
        valid = _valid(known, shapes, scale) if isinstance(known, Continuous) else known.valid(*shapes)
        return where(valid, of(mean, variance, loc, scale), math.nan)

    return meaning


def _entropy(distribution: Any, *args: Any, **kwargs: Any) -> Any:
    table: Any = DISCRETE if distribution.name in DISCRETE else CONTINUOUS
    known = _known(distribution, table, "logpmf" if table is DISCRETE else "logpdf")
    shapes, _, scale = _parts(distribution, args, kwargs)
    valid = _valid(known, shapes, scale) if isinstance(known, Continuous) else known.valid(*shapes)
    if distribution.name in ENTROPIES:
        return where(valid, ENTROPIES[distribution.name](*shapes) + np.log(scale), math.nan)
    if isinstance(known, Continuous) or known.last is None:
        raise unknown(f"scipy.stats.{distribution.name}.entropy")
    terms, _ = _probabilities(distribution, known, None, shapes, "entropy")
    return where(valid, np.sum(apply("entr", terms), axis=-1), math.nan)


recode("scipy.stats._distn_infrastructure", {
    "rv_frozen.__init__": _freeze,
    "rv_generic.mean": _of_moments("mean", lambda mean, variance, loc, scale: loc + scale * mean),
    "rv_generic.var": _of_moments("var", lambda mean, variance, loc, scale: scale**2 * variance),
    "rv_generic.std": _of_moments("std", lambda mean, variance, loc, scale: scale * np.sqrt(variance)),
    "rv_generic.entropy": _entropy,
})  # fmt: skip

# ---- discrete distributions


def _discrete(distribution: Any, method: str, args: Any, kwargs: Any) -> tuple[Discrete, list[Any], Any, Any]:
    of: Discrete = _known(distribution, DISCRETE, method)
    shapes, loc, _ = _parts(distribution, args, kwargs)
    return of, shapes, loc, of.valid(*shapes)


def _ends_of(of: Discrete, shapes: list[Any]) -> tuple[Any, Any]:
    """The first and the last number that there is."""
    first = float(of.first) if of.start is None else of.start(*shapes)
    return first, math.inf if of.last is None else of.last(*shapes)


def _safe(of: Discrete, first: Any) -> Any:
    return float(of.first) if of.start is None else where(np.abs(first) < math.inf, first, 0.0)


def _logpmf(distribution: Any, k: Any, *args: Any, **kwargs: Any) -> Any:
    of, shapes, loc, valid = _discrete(distribution, "logpmf", args, kwargs)
    k = f64(k) - loc
    first, last = _ends_of(of, shapes)
    inside = (k >= first) & (k == np.floor(k)) & (k <= last)
    made = of.logpmf(where(inside, k, _safe(of, first)), *shapes)
    return where(valid, where(inside, made, where(np.isnan(k), k, -math.inf)), math.nan)


def _probabilities(distribution: Any, of: Discrete, k: Any, shapes: list[Any], name: str) -> tuple[Any, Any]:
    """Those of all numbers up to the last one, or up to k, along a last axis; and the numbers."""
    ends = [x for x in (None if of.last is None else of.last(*shapes), k) if x is not None and concrete(x)]
    if not ends:
        said = " where neither the largest number that there is nor k is a number of now: make one static,"
        raise unknown(f"scipy.stats.{distribution.name}.{name}", said)
    j = np.arange(of.first, max(int(np.max(np.nan_to_num(ends[0]), initial=of.first)), of.first) + 1.0)
    shapes = [np.expand_dims(x, -1) for x in shapes]
    first, last = _ends_of(of, shapes)
    inside = (j >= first) & (j <= last)
    return where(inside, np.exp(of.logpmf(where(inside, j, _safe(of, first)), *shapes)), 0.0), j


def _summed(distribution: Any, of: Discrete, k: Any, shapes: list[Any], name: str) -> Any:
    terms, j = _probabilities(distribution, of, k, shapes, name)
    below = j <= np.expand_dims(k, -1)
    if name == "cdf" or of.last is not None:
        return np.sum(where(below if name == "cdf" else ~below, terms, 0.0), axis=-1)
    return 1.0 - np.sum(where(below, terms, 0.0), axis=-1)


def _pmf(distribution: Any, k: Any, *args: Any, **kwargs: Any) -> Any:
    return np.exp(_logpmf(distribution, k, *args, **kwargs))


def _steps(name: str, below: float, above: float) -> Callable[..., Any]:
    def meaning(distribution: Any, k: Any, *args: Any, **kwargs: Any) -> Any:
        of, shapes, loc, valid = _discrete(distribution, name, args, kwargs)
        k = np.floor(f64(k) - loc)
        first, last = _ends_of(of, shapes)
        inside = (k >= first) & (k < last)
        formula = getattr(of, name)
        if formula is None:
            made = _summed(distribution, of, k, shapes, name)
        else:
            made = formula(where(inside, k, _safe(of, first)), *shapes)
        made = where(inside, made, where(k < first, below, where(k >= last, above, math.nan)))
        return where(valid, made, math.nan)

    return meaning


def _logarithm(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda distribution, k, *args, **kwargs: np.log(plain(distribution, k, *args, **kwargs))


def _step_quantile(name: str) -> Callable[..., Any]:
    """What changes by steps has values, and a slope of zero."""

    def meaning(distribution: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
        _, shapes, loc, valid = _discrete(distribution, "logpmf", args, kwargs)
        return where(valid, numbers(distribution.name, name, f64(q), *shapes) + loc, math.nan)

    return meaning


_CDF, _SF = _steps("cdf", 0.0, 1.0), _steps("sf", 1.0, 0.0)
recode("scipy.stats._distn_infrastructure", {
    "rv_discrete.logpmf": _logpmf, "rv_discrete.pmf": _pmf, "rv_discrete.cdf": _CDF, "rv_discrete.sf": _SF,
    "rv_discrete.logcdf": _logarithm(_CDF), "rv_discrete.logsf": _logarithm(_SF),
    "rv_discrete.ppf": _step_quantile("ppf"), "rv_discrete.isf": _step_quantile("isf"),
})  # fmt: skip
