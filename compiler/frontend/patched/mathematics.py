"""Functions of `math` that are no ufuncs of NumPy's: what they mean for traced Python numbers, in NumPy's functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..numpy.scipy.special.functions import apply


def _named(name: str) -> Callable[..., Any]:
    return lambda *xs: apply(name, *xs)


def modf(x: Any) -> Any:
    whole = np.trunc(x)
    return np.copysign(np.where(np.abs(x) < math.inf, x - whole, 0.0), x), whole


def hypot(*xs: Any) -> Any:
    """Of any number of coordinates; Python's own has the last bit, too."""
    return functools.reduce(np.hypot, xs) if len(xs) > 1 else np.abs(*xs)


def dist(p: Iterable[Any], q: Iterable[Any]) -> Any:
    p, q = list(p), list(q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return hypot(*[np.subtract(a, b) for a, b in zip(p, q, strict=True)])


def fsum(seq: Iterable[Any]) -> Any:
    """Neumaier's sum: what each addition loses is added in the end."""
    total: Any = 0.0
    lost: Any = 0.0
    for x in seq:
        made = np.add(total, x)
        more = np.where(np.abs(total) >= np.abs(x), (total - made) + x, (x - made) + total)
        total, lost = made, lost + np.where(np.abs(made) < math.inf, more, 0.0)
    return total + lost


def remainder(x: Any, y: Any) -> Any:
    """x - n y for the whole n nearest to x / y, an even one if two are: without rounding."""
    size = np.abs(y)
    rest = np.remainder(np.abs(x), 2 * size)
    near = np.where(rest <= 0.5 * size, rest, np.where(rest < 1.5 * size, rest - size, rest - 2 * size))
    return np.where(np.signbit(x), -near, np.where(np.isinf(y) & np.isfinite(x), x, near))


NUMBERS: dict[str, Callable[..., Any]] = {
    "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt, "exp2": np.exp2, "erf": _named("erf"),
    "erfc": _named("erfc"), "gamma": _named("gamma"), "lgamma": _named("gammaln"), "copysign": np.copysign,
    "fmod": np.fmod, "remainder": remainder, "hypot": hypot,
}  # fmt: skip
"""Of numbers."""

LISTS: dict[str, Callable[..., Any]] = {"dist": dist, "fsum": fsum}
"""Of lists of numbers."""

__all__ = ["LISTS", "NUMBERS", "hypot", "modf"]
