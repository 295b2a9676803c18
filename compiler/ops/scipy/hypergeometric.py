"""Generalised hypergeometric and Meijer's functions of their argument, by mpmath: any numbers of fixed parameters.

    %1: f64[3] = hypergeometric %x {family="hyper", parameters="1,1/2;3,4"}     the upper parameters; the lower ones
    %1: f64[3] = hypergeometric %x {family="meijerg", parameters="1;;1/2;0"}    SymPy's an; aother; bm; bother

The slopes are the functions of shifted parameters (DLMF 16.3.1; Luke, The Special Functions, 1969, 5.4), so every order
follows. mpmath is there, since SymPy, which needs it, has made the function. NaN where the value is complex or none.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from ..term import Term
from .called import Called, Functions

BITS = 64
"""That mpmath keeps, of which a float has 53."""

Lists = Sequence[Sequence[Fraction]]
"""The lists of parameters."""


class _Context(threading.local):
    """A context of mpmath's for each thread, so that nobody's precision changes while another computes."""

    def __init__(self) -> None:
        from sympy.core.evalf import mp  # mpmath's context, which SymPy brings along

        self.mp: Any = mp.clone()
        self.mp.prec = BITS


@cache
def _context() -> _Context:
    return _Context()


def spelled(lists: Lists) -> str:
    """The parameters as an attribute has them."""
    return ";".join(",".join(map(str, each)) for each in lists)


def parameters_of(text: str) -> list[list[Fraction]]:
    """What `spelled` makes one text of."""
    return [[Fraction(p) for p in each.split(",") if p] for each in text.split(";")]


def _value(mp: Any, family: str, lists: list[list[Any]], x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    try:
        if family == "hyper":
            made = mp.hyper(lists[0], lists[1], x)
        else:
            made = mp.meijerg([lists[0], lists[1]], [lists[2], lists[3]], x)
    except (ValueError, ZeroDivisionError, mp.NoConvergence):
        return math.nan
    if abs(made.imag) > abs(made.real) * 2.0**-50:
        return math.nan
    return float(made.real)


def _values(x: np.ndarray, family: str, parameters: str) -> np.ndarray:
    mp = _context().mp
    lists = [[mp.mpf(p.numerator) / p.denominator for p in each] for each in parameters_of(parameters)]
    made = [_value(mp, family, lists, float(each)) for each in np.ravel(x)]
    return np.reshape(np.array(made, x.dtype), x.shape)


def _slope(m: Functions, x: Term, r: Term, family: str, parameters: str) -> Any:
    lists = parameters_of(parameters)

    def shifted(k: int, by: int) -> Any:
        """The function with the first parameter of a list shifted."""
        first, *rest = lists[k]
        made = spelled([*lists[:k], [first + by, *rest], *lists[k + 1 :]])
        return m(m.b.emit(hypergeometric, x.value, family=family, parameters=made)[0])

    if family == "hyper":
        factor = math.prod(lists[0]) / math.prod(lists[1], start=Fraction(1))
        made = spelled([[p + 1 for p in each] for each in lists])
        if not factor:
            return None
        return float(factor) * m(m.b.emit(hypergeometric, x.value, family=family, parameters=made)[0])
    if lists[0]:
        return (float(lists[0][0] - 1) * r + shifted(0, -1)) / x
    return (float(lists[2][0]) * r - shifted(2, 1)) / x if lists[2] else None


class Hypergeometric(Called):
    """Element by element."""

    def infer(self, types, attrs, regions):
        if len(types) != 1 or not types[0].is_float:
            raise TypeError(f"{attrs['family']} takes floats, got {', '.join(map(str, types))}")
        return (types[0],)

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        if ct is None:
            return [None]
        m = Functions(b)
        made = _slope(m, m(op.args[0]), m(op.results[0]), **op.attrs)
        return [None if made is None else (m(ct) * made).value]

    def samples(self, rng):
        forms = [("hyper", "1,1/2;3,4"), ("hyper", "1/2,1,2;3,4"), ("meijerg", "1;;1/2;0"), ("meijerg", ";1,2;0,1/2;")]
        return [([rng.uniform(0.2, 0.8, 3)], {"family": f, "parameters": p}) for f, p in forms]


hypergeometric = Hypergeometric(
    "hypergeometric", lambda x, **attributes: x, _values, None, {"family": "word", "parameters": "word"},
    samples=lambda rng: [],
)  # fmt: skip

__all__ = ["hypergeometric", "parameters_of", "spelled"]
