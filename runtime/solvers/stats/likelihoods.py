"""Fits of scipy.stats' distributions to traced data: from `stats.gamma.fit(data, floc=0)` to differentiable parameters.

SciPy finds the parameters of the largest likelihood on numbers. They are a minimum within constraints (`multipliers`):
data are in the support, at whose end parameters such as the location of an exponential distribution are. SciPy stops
early; derivatives are of the maximum near by, and NaN where Newton's steps find none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.numpy.scipy.stats.methods import ends, f64, standard
from ....compiler.frontend.numpy.ufuncs import where
from ....compiler.frontend.patched.recoded import recode
from ...external import External
from ..closed import Closed, floats, vector
from ..optimize.multipliers import Rows, constrained

TURNING = ("dgamma", "dweibull", "laplace_asymmetric", "loglaplace")
"""Distributions whose density turns at its location: the fitted one is at a datum, or anywhere between two."""

PEAKED = ("triang",)
"""Distributions whose density has a peak that any free parameter moves: it is at a datum, too."""


def _normal(x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    loc = np.mean(x) if loc is None else loc
    return loc, np.sqrt(np.mean((x - loc) ** 2)) if scale is None else scale


def _laplace(x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    loc = np.median(x) if loc is None else loc
    return loc, np.mean(np.abs(x - loc)) if scale is None else scale


FORMULAS: dict[str, Callable[..., tuple[Any, Any]]] = {"norm": _normal, "laplace": _laplace}
"""Location and scale of the data, where these have a formula and are not given."""


def _fixed(distribution: Any, options: dict[str, Any]) -> tuple[list[str], dict[int, Any], dict[str, Any]]:
    """The parameters' names, those that are held at a value, and what else was said."""
    shapes = distribution.shapes.replace(",", " ").split() if distribution.shapes else []
    names, left, held = [*shapes, "loc", "scale"], dict(options), dict[int, Any]()
    for k, name in enumerate(names):
        several = (f"f{name}",) if k >= len(shapes) else (f"f{k}", f"f{name}", f"fix_{name}")
        said = [left.pop(each) for each in several if left.get(each) is not None]
        if len(said) > 1:
            raise ValueError(f"fit method got multiple keyword arguments to specify the same fixed parameter {name}")
        if said:
            held[k] = f64(said[0])
    return names, held, {key: x for key, x in left.items() if x is not None}


def _support(of: Any, x: Any, parameters: Callable[[Any], list[Any]]) -> Callable[[Any], Any]:
    """Rows that are at least zero where all data are in the support; one for each end that it may have."""
    least, most = np.min(x), np.max(x)

    def rows(theta: Any) -> Any:
        *shapes, loc, scale = parameters(theta)
        made = list[Any]()
        for end, sign, datum in zip(ends(of, shapes)[:2], (1.0, -1.0), (least, most), strict=True):
            if isinstance(end, float) and np.isinf(end):
                continue
            end = f64(end)
            there = np.isfinite(end)
            made.append(where(there, sign * (datum - loc - scale * where(there, end, 0.0)), 1.0))
        return np.stack(made) if made else np.zeros(0)

    return rows


def fit(self: Any, data: Any, *args: Any, **kwds: Any) -> Any:
    method = str(kwds.pop("method", "mle"))
    title = f"scipy.stats.{self.name}.fit"
    if method.lower() != "mle":
        R.refuse(f"{title} by the method {method!r} on traced data", "leave method out for the largest likelihood")
    if type(data).__name__ == "CensoredData":
        fix = "minimise -np.sum(logpdf(x)) - np.sum(logsf(censored)) by scipy.optimize.minimize"
        R.refuse(f"{title} of censored data that are traced", fix)
    of = standard(self, "logpdf")
    x = np.reshape(vector(data), (-1,))
    names, held, told = _fixed(self, kwds)
    told = {key: given(title, key, value) for key, value in told.items()}
    begin = given(title, "args", args)
    free = [k for k in range(len(names)) if k not in held]
    if not free:
        raise RuntimeError("All parameters fixed. There is nothing to optimize.")
    if self.name in FORMULAS:
        return FORMULAS[self.name](x, held.get(0), held.get(1))
    if self.name in TURNING and len(names) - 2 in free:
        R.refuse(f"{title} of a free location on traced data", "fix the location: floc=")
    return _fitted(self, of, x, names, free, held, begin, told)


def _fitted(
    distribution: Any, of: Any, x: Any, names: list[str], free: list[int], held: dict[int, Any], begin: Any,
    told: dict[str, Any],
) -> tuple[Any, ...]:  # fmt: skip
    """SciPy's parameters; those that are held are as they were given."""

    def parameters(theta: Any) -> list[Any]:
        return [held[k] if k in held else theta[free.index(k)] for k in range(len(names))]

    def unlikely(theta: Any) -> Any:
        *shapes, loc, scale = parameters(theta)
        return np.sum(np.log(scale) - of.logpdf((x - loc) / scale, *shapes))

    n, count = len(free), x.type.static_shape()[0]
    value = Closed("fit", unlikely, floats(n))
    support = Closed("fit_support", _support(of, x, parameters), floats(n))
    rows = Rows(value, support, n, smooth=True)
    size = support.shapes[0][0]

    def solve(f: Any, all_of: Any, *_: Any) -> tuple[np.ndarray]:
        keys = [f"f{k}" if k < len(names) - 2 else f"f{names[k]}" for k in held]
        fixed = dict(zip(keys, map(float, all_of[count:]), strict=True))
        made = distribution.fit(all_of[:count], *begin, **told, **fixed)
        return (np.array([float(made[k]) for k in free]),)

    begins = np.concatenate([x, *[np.reshape(each, (1,)) for each in held.values()]])
    if distribution.name in PEAKED:
        return tuple(parameters(_without_slopes(distribution, n, solve)(begins)[0]))
    sides = vector(np.zeros(size)), vector(np.full(size, np.inf))
    theta, _ = constrained(rows, begins, *sides, (), solve, refined=True)
    return tuple(parameters(theta))


def _without_slopes(distribution: Any, n: int, solve: Callable[..., tuple[np.ndarray]]) -> External:
    """Parameters that are at data, and refuse to be differentiated."""

    def fit(given: np.ndarray) -> tuple[np.ndarray]:
        return solve(None, given)

    fit.__name__ = fit.__qualname__ = f"scipy.stats.{distribution.name}.fit (its peak is at a datum)"
    return External(fit, (f"f64[{n}]",), None, False, None)


def _names() -> list[str]:
    """Where SciPy's distributions have a fit of their own, and where all have one."""
    import scipy.stats._continuous_distns as module

    return [f"{name}.fit" for name, each in vars(module).items() if isinstance(each, type) and "fit" in vars(each)]


recode("scipy.stats._continuous_distns", dict.fromkeys(_names(), fit))

__all__ = ["fit"]
