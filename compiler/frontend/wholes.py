"""Python's integers, which have no end, in 64 bits: an operation whose result needs more raises an OverflowError.

A traced function that was walked checks its sums and products itself, since it knows how large their parts can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.require import require
from ..ops.term import Terms
from .array import Array
from .promotion import cast, conform
from .tracing import Tracing

TEXT = "a Python int needs more than 64 bits; use floats, or NumPy's integers, which wrap around"
EXACT: dict[np.ufunc, Callable[..., Any]] = {
    np.add: lambda m, x, y: x + y,
    np.subtract: lambda m, x, y: x - y,
    np.multiply: lambda m, x, y: x * y,
    np.power: lambda m, x, y: m.pow(x, y),
    np.left_shift: lambda m, x, y: x * m.exp2(y),
    np.negative: lambda m, x: -x,
    np.absolute: lambda m, x: m.abs(x),
}
"""The result in f64, by whose size that in 64 bits is known to be right."""

WALKED = (np.add, np.subtract, np.multiply, np.negative, np.absolute)
SHIFTS = (np.left_shift, np.right_shift)


def check_fits(now: Tracing, ufunc: np.ufunc, operands: tuple[Any, ...], made: Array) -> None:
    """Emit what raises the error if a Python integer that `ufunc` makes does not fit."""
    if made.dtype != np.int64 or (now.locate is not None and ufunc in WALKED):
        return
    m, whole = Terms(now.builder), np.dtype(np.int64)
    given = [m(conform(now, x, whole, ())) for x in operands]
    if ufunc in SHIFTS:
        now.emit(require, m.ge(given[1], 0).value, error="ValueError", text="negative shift count")
    if ufunc in EXACT:
        floats = [m(cast(now, g.value, np.dtype(np.float64))) for g in given]
        fits = m.lt(m.abs(EXACT[ufunc](m, *floats)), 2.0**63)
        now.emit(require, fits.value, error="OverflowError", text=TEXT)


__all__ = ["TEXT", "check_fits"]
