"""The gamma function and its logarithm of complex numbers: from pairs to formulas whose derivatives are right, too.

To the right, where Stirling's series is exact, by the recurrence; to the left of 0 by the reflection formula. The
logarithm is the one that SciPy has: continuous but on the negative axis, where it is not that of the gamma function.
Formulas: Abramowitz and Stegun 6.1 and 6.3.
"""

from __future__ import annotations

import math
from typing import Any

from .pair import Pair

STEPS = 9
"""How far to the right the series is taken; beyond, ten terms of it are exact."""

BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330
)  # fmt: skip


def _right(m: Any, z: Any) -> tuple[Any, Any]:
    """Whether a number is right of 0, and the number that is: it or 1 - z."""
    right = m.real.ge(z.re, 0.0)
    return right, m.select(right, z, 1.0 - z)


def _sines(m: Any, z: Any) -> tuple[Any, Any]:
    """sin(pi z) and cos(pi z), exactly periodic along the real axis."""
    turns = m.real.floor(0.5 * z.re + 0.25)
    angle = (z - 2.0 * turns) * math.pi
    return m.sin(angle), m.cos(angle)


def _poles(m: Any, z: Any, made: Any) -> Any:
    """NaN at 0, -1, -2 and so on."""
    whole = m.real.and_(m.real.eq(m.real.floor(z.re), z.re), m.real.eq(z.im, 0.0))
    pole = m.real.and_(whole, m.real.le(z.re, 0.0))
    return m.select(pole, math.nan + 0.0 * made, made)


def _by_series(m: Any, u: Any) -> Any:
    """The logarithm right of 0."""
    w = u + float(STEPS)
    inverse = 1.0 / w
    square, series = inverse * inverse, 0.0 * w
    for k in range(len(BERNOULLI), 0, -1):
        series = series * square + BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    made = (w - 0.5) * m.log(w) - w + 0.5 * math.log(2 * math.pi) + series * inverse
    for k in range(STEPS):
        made = made - m.log(u + float(k))
    return made


def loggamma(m: Any, z: Pair) -> Any:
    right, u = _right(m, z)
    made = _by_series(m, u)
    sine, _ = _sines(m, m.select(right, 0.5 + 0.0 * z, z))
    sheet = 2 * math.pi * m.real.floor(0.5 * z.re + 0.25)
    sheet = m.real.select(m.real.lt(z.im, 0.0), -sheet, sheet)
    left = math.log(math.pi) + Pair(m, 0.0 * sheet, sheet) - m.log(sine) - made
    return _poles(m, z, m.select(right, made, left))


def gamma(m: Any, z: Pair) -> Any:
    return m.exp(loggamma(m, z))


def rgamma(m: Any, z: Pair) -> Any:
    """Which has no poles, but zeros."""
    right, u = _right(m, z)
    made = _by_series(m, u)
    sine, _ = _sines(m, z)
    return m.select(right, m.exp(0.0 - made), m.exp(m.select(right, 0.0 * made, made)) * sine * (1 / math.pi))


def digamma(m: Any, z: Pair) -> Any:
    right, u = _right(m, z)
    w = u + float(STEPS)
    inverse = 1.0 / w
    square, series = inverse * inverse, 0.0 * w
    for k in range(len(BERNOULLI), 0, -1):
        series = (series + BERNOULLI[k - 1] / (2 * k)) * square
    made = m.log(w) - 0.5 * inverse - series
    for k in range(STEPS):
        made = made - 1.0 / (u + float(k))
    sine, cosine = _sines(m, m.select(right, 0.5 + 0.0 * z, z))
    return _poles(m, z, m.select(right, made, made - math.pi * (cosine / sine)))


__all__ = ["digamma", "gamma", "loggamma", "rgamma"]
