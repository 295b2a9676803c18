"""SciPy's special ufuncs on traced arrays, by name: a formula over primitives, or a call of SciPy's with its slopes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...ops.called import NATIVE, TABLE, Functions
from ...ops.term import Term, Terms
from .ufuncs import RULES, rule

PRIMITIVES = "gamma erfc erfcx erfinv ndtri log_ndtr i0 i0e i1 i1e"
"""Primitives of SciPy's names."""

KNOWN = sorted({*PRIMITIVES.split(), *NATIVE, *TABLE})


def _rule(name: str) -> Callable[..., Any]:
    return lambda m, *xs: getattr(Functions(m.b), name)(*xs)


for _name in KNOWN:
    RULES[_name] = _rule(_name)


def _negative(m: Terms, x: Term) -> Term:
    """Whether the sign is minus, that of a zero, too."""
    return m.or_(m.lt(x, 0.0), m.and_(m.eq(x, 0.0), m.lt(1.0 / x, 0.0)))


@rule("signbit")
def _signbit(m: Terms, x: Term) -> Term:
    return _negative(m, x)


@rule("copysign")
def _copysign(m: Terms, x: Term, y: Term) -> Term:
    """x, or -x where the signs are not the same, so that the slope at zero is seen."""
    return m.select(m.xor(_negative(m, x), _negative(m, y)), -x, x)


@rule("fmod")
def _fmod(m: Terms, x: Term, y: Term) -> Term:
    """The remainder with the sign of x; |x| modulo |y| is exact."""
    if not x.value.type.is_float:
        rest = m.mod(m.abs(x), m.abs(y))
        return m.select(m.lt(x, 0), -rest, rest)
    rest = m.mod(m.abs(x), m.abs(y))
    finite = m.select(m.and_(m.eq(m.abs(y), math.inf), m.lt(m.abs(x), math.inf)), m.abs(x), rest)
    return m.select(_negative(m, x), -finite, finite)


__all__ = ["KNOWN"]
