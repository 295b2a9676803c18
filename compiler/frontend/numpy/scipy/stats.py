"""Methods of scipy.stats' distributions on traced values: `stats.norm.logpdf(x, m, s)`, and of frozen ones.

Formulas are those of `densities`, in 64 bits, as SciPy's. Outside of the support a density is 0 and its logarithm -inf;
where parameters are none, it is NaN; and what is not chosen has a gradient of zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import unknown
from ...errors import TraceError, UnknownFunction, message
from ...patched.recoded import recode
from ...promotion import as_operand
from ...tracing import user_line
from ..ufuncs import where
from .densities import CONTINUOUS, DISCRETE, Continuous, Discrete
from .families import ENTROPIES, NONE
from .scipy_functions import as_float


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


def _valid(of: Continuous, shapes: Any, scale: Any) -> Any:
    made = scale > 0
    if of.valid is not None:
        return made & of.valid(*shapes)
    for each in shapes:
        made = made & (each > 0)
    return made


def _ends(of: Continuous, shapes: Any) -> tuple[Any, Any, Any]:
    """The support, and a point inside of it."""
    return (*of.support, of.safe) if of.ends is None else of.ends(*shapes)


def _parts(distribution: Any, args: Any, kwargs: Any) -> tuple[list[Any], Any, Any]:
    """Shapes, location and scale."""
    shapes, loc, scale = distribution._parse_args(*args, **kwargs)
    return [f64(each) for each in shapes], f64(loc), f64(1.0 if scale is None else scale)


# ---- continuous distributions


def _logpdf(distribution: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    of: Continuous = _known(distribution, CONTINUOUS, "logpdf")
    shapes, loc, scale = _parts(distribution, args, kwargs)
    y = (f64(x) - loc) / scale
    low, high, safe = _ends(of, shapes)
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
        low, high, safe = _ends(of, shapes)
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
        ends = _ends(of, shapes)[:2][:: 1 if name == "ppf" else -1]
        made = getattr(of, name)(where(inside, q, 0.5), *shapes)
        made = where(inside, made, where(q == 0, ends[0], where(q == 1, ends[1], math.nan)))
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
    if distribution.name == "poisson":
        return shapes[0], shapes[0]
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
    known: Continuous = _known(distribution, CONTINUOUS, "logpdf")
    shapes, _, scale = _parts(distribution, args, kwargs)
    if distribution.name not in ENTROPIES:
        raise unknown(f"scipy.stats.{distribution.name}.entropy")
    return where(_valid(known, shapes, scale), ENTROPIES[distribution.name](*shapes) + np.log(scale), math.nan)


recode("scipy.stats._distn_infrastructure", {
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


def _logpmf(distribution: Any, k: Any, *args: Any, **kwargs: Any) -> Any:
    of, shapes, loc, valid = _discrete(distribution, "logpmf", args, kwargs)
    k = f64(k) - loc
    inside = (k >= of.first) & (k == np.floor(k))
    if of.last is not None:
        inside = inside & (k <= of.last(*shapes))
    made = where(inside, of.logpmf(where(inside, k, float(of.first)), *shapes), where(np.isnan(k), k, -math.inf))
    return where(valid, made, math.nan)


def _pmf(distribution: Any, k: Any, *args: Any, **kwargs: Any) -> Any:
    return np.exp(_logpmf(distribution, k, *args, **kwargs))


def _steps(name: str, below: float, above: float) -> Callable[..., Any]:
    def meaning(distribution: Any, k: Any, *args: Any, **kwargs: Any) -> Any:
        of, shapes, loc, valid = _discrete(distribution, name, args, kwargs)
        k = np.floor(f64(k) - loc)
        last = math.inf if of.last is None else of.last(*shapes)
        inside = (k >= of.first) & (k < last)
        made = getattr(of, name)(where(inside, k, float(of.first)), *shapes)
        made = where(inside, made, where(k < of.first, below, where(k >= last, above, math.nan)))
        return where(valid, made, math.nan)

    return meaning


def _logarithm(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda distribution, k, *args, **kwargs: np.log(plain(distribution, k, *args, **kwargs))


def _no_quantile(name: str) -> Callable[..., Any]:
    def meaning(distribution: Any, *args: Any, **kwargs: Any) -> Any:
        raise unknown(f"scipy.stats.{distribution.name}.{name}", ", which changes by steps,")

    return meaning


_CDF, _SF = _steps("cdf", 0.0, 1.0), _steps("sf", 1.0, 0.0)
recode("scipy.stats._distn_infrastructure", {
    "rv_discrete.logpmf": _logpmf, "rv_discrete.pmf": _pmf, "rv_discrete.cdf": _CDF, "rv_discrete.sf": _SF,
    "rv_discrete.logcdf": _logarithm(_CDF), "rv_discrete.logsf": _logarithm(_SF),
    "rv_discrete.ppf": _no_quantile("ppf"), "rv_discrete.isf": _no_quantile("isf"),
})  # fmt: skip
