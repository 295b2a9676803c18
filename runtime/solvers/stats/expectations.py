"""Expected values under scipy.stats' distributions with traced parameters: `norm.expect(f, loc=m, scale=s)`.

Of continuous ones an integral by `integrals.quad` in standard form, cut where most of the mass is, as SciPy cuts it; of
whole numbers a sum, whose number of terms is known before values are.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import Array, unknown
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.numpy.scipy.stats.methods import f64, standard
from ....compiler.frontend.numpy.ufuncs import where
from ....compiler.frontend.patched.recoded import concrete, recode
from ...rules import stop_gradient
from ..closed import vector
from ..integrate.integrals import quad

CUT = 0.05
"""The mass beyond the first and the last cut."""


def _number(x: Any) -> Any:
    return x if isinstance(x, Array) or not np.isinf(x) else float(x)


def _endless(x: Any) -> bool:
    return isinstance(x, float) and math.isinf(x)


def _end(support: Any, bound: Any, within: Any) -> Any:
    return support if bound is None else within(f64(bound), support)


def expect(
    self: Any, func: Any = None, args: Any = (), loc: Any = 0, scale: Any = 1, lb: Any = None, ub: Any = None,
    conditional: bool = False, **kwds: Any,
) -> Any:  # fmt: skip
    """E f(X) between two ends, over the mass between them if conditional."""
    of = standard(self, "logpdf")
    loc, scale, shapes = f64(loc), f64(scale), [f64(x) for x in args]
    if any(x.ndim for x in (loc, scale, *shapes)):
        raise unknown(f"scipy.stats.{self.name}.expect", " with arrays of parameters, of which each has an integral,")
    support = self._get_support(*args) if concrete(args) else of.support if of.ends is None else of.ends(*shapes)[:2]
    there, wide = stop_gradient(loc), stop_gradient(scale)
    low, high = (
        end if _endless(end) and bound is None else (_end(loc + scale * end, bound, within) - there) / wide
        for end, bound, within in zip(map(_number, support), (lb, ub), (np.maximum, np.minimum), strict=True)
    )

    def under(u: Any) -> Any:
        """The function at places that no parameter moves, so that a kink of it stays between the same two."""
        x = there + wide * u
        density = np.exp(of.logpdf((x - loc) / scale, *shapes)) * (wide / scale)
        empty = density == 0.0  # where the function may overflow
        x = where(empty, there + wide * inside, x)
        return vector(x if func is None else R.call(func, x)) * vector(density)

    inside = of.safe if of.ends is None else of.ends(*shapes)[2]
    edges = [low, high]
    if concrete((lb, ub)) and lb is None and ub is None:
        edges = [low, *(stop_gradient(getattr(self, q)(CUT, *shapes)) for q in ("ppf", "isf")), high]
    kwds = {"epsabs": 1e-12, "epsrel": 1e-11, **kwds}  # so that parts are small about a kink, which slopes see
    total = sum(quad(under, a, b, **kwds)[0] for a, b in itertools.pairwise(edges))
    if conditional and not (lb is None and ub is None):
        ends = [1.0 if bound is None and k else 0.0 if bound is None else self.cdf(bound, *args, loc=loc, scale=scale)
                for k, bound in enumerate((lb, ub))]  # fmt: skip
        total = total / (ends[1] - ends[0])
    return total


def expect_whole(
    self: Any, func: Any = None, args: Any = (), loc: Any = 0, lb: Any = None, ub: Any = None,
    conditional: bool = False, maxcount: int = 1000, tolerance: float = 1e-10, chunksize: int = 32,
) -> Any:  # fmt: skip
    """The sum of f(k) pmf(k) from lb to ub, which are the support's ends if nothing is said."""
    of = standard(self, "logpmf")
    name, shapes = f"scipy.stats.{self.name}.expect", [f64(x) for x in args]
    first = float(of.first) if of.start is None else of.start(*shapes)
    last = math.inf if of.last is None else of.last(*shapes)
    lb, ub = given(name, "lb", lb), given(name, "ub", ub)
    low, high = (end if bound is None else float(bound) for end, bound in zip((first, last), (lb, ub), strict=True))
    if isinstance(low, Array) or isinstance(high, Array) or not np.all(np.isfinite([low, high])):
        said = " of a sum whose number of terms depends on values: give lb and ub as numbers,"
        raise unknown(name, said)
    k = np.arange(np.floor(low), np.floor(high) + 1.0)
    mass = self.pmf(k + loc, *args, loc=loc)
    values = k + loc if func is None else func(k + loc)
    total = np.sum(values * mass)
    return total / np.sum(mass) if conditional else total


recode("scipy.stats._distn_infrastructure", {"rv_continuous.expect": expect, "rv_discrete.expect": expect_whole})

__all__ = ["expect", "expect_whole"]
