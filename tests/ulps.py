"""Distances in units in the last place from what mpmath computes with 200 bits more than needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np

DIGITS = {"f64": 53, "f32": 24}
LEAST_EXPONENT = {"f64": -1074, "f32": -149}
TOP_EXPONENT = {"f64": 1024, "f32": 128}


class Exact(NamedTuple):
    """Finite real numbers as (whole + fraction) * 2**exponent, in units in the last place."""

    whole: np.ndarray
    fraction: np.ndarray
    exponent: np.ndarray

    def distance(self, got: np.ndarray) -> np.ndarray:
        """How far off the results are. Infinity counts as the number that would follow the
        greatest, and so do all exact values beyond; NaN is infinitely far off."""
        dtype = "f64" if got.dtype == np.float64 else "f32"
        top = 2.0 ** (TOP_EXPONENT[dtype] - 1)
        halves = np.where(np.isinf(got), np.copysign(top, got), got.astype(np.float64) / 2)
        near = np.where(np.abs(halves) < 0.25 * top, got.astype(np.float64), 0.0)
        far = np.where(np.abs(halves) < 0.25 * top, 0.0, halves)
        units = np.ldexp(near, -self.exponent) + np.ldexp(far, 1 - self.exponent)
        off = np.abs((units - self.whole) - self.fraction)
        return np.where(np.isnan(got), np.inf, off)


def exact(function: Callable[..., Any], args: tuple[np.ndarray, ...], dtype: str) -> Exact:
    """The values of an mpmath function at all arguments; it must be finite and real there."""
    rows = []
    with mpmath.workprec(DIGITS[dtype] + 200):
        limit = mpmath.ldexp(1, TOP_EXPONENT[dtype])
        for arguments in zip(*(a.tolist() for a in args), strict=True):
            value = function(*map(mpmath.mpf, arguments))
            value = min(max(value, -limit), limit)
            magnitude = mpmath.frexp(value)[1] if value else LEAST_EXPONENT[dtype]
            magnitude = min(magnitude, TOP_EXPONENT[dtype])
            exponent = max(magnitude - DIGITS[dtype], LEAST_EXPONENT[dtype])
            units = mpmath.ldexp(value, -exponent)
            whole = mpmath.nint(units)
            rows.append((float(whole), float(units - whole), exponent))
    whole, fraction, exponent = np.array(rows).T
    return Exact(whole, fraction, exponent.astype(np.int64))
