"""SciPy's special ufuncs on traced arrays, by name: a formula over primitives, or a call of SciPy's with its slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....ops.scipy.called import NATIVE, TABLE, Functions
from ...ufuncs import RULES

PRIMITIVES = "gamma erfc erfcx erfi erfinv ndtri log_ndtr i0 i0e i1 i1e"
"""Primitives of SciPy's names."""

KNOWN = sorted({*PRIMITIVES.split(), *NATIVE, *TABLE})


def _rule(name: str) -> Callable[..., Any]:
    return lambda m, *xs: getattr(Functions(m.b), name)(*xs)


for _name in KNOWN:
    RULES[_name] = _rule(_name)


__all__ = ["KNOWN"]
