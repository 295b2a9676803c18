"""The gamma function itself, whose logarithm `log_gamma` has: products near 2, Stirling's series far out."""

from __future__ import annotations

import math
from typing import Any

from . import special_tables as T
from .log_gamma import BERNOULLI
from .special import Special, within

_FAR = 12.0


def _near(m: Any, y: Any) -> Any:
    """From 1/2 to 12: steps of the recurrence lead to between 1.5 and 2.5, where the logarithm is small."""
    w, product = y, 0.0 * y + 1.0
    for _ in range(10):
        large = m.ge(w, 2.5)
        w = m.select(large, w - 1.0, w)
        product = m.select(large, product * w, product)
    low = m.lt(w, 1.5)
    by = m.select(low, w, 1.0)
    w = m.minimum(m.select(low, w + 1.0, w), 2.5)
    return m.exp((w - 2.0) * within(T.GAMMA, w, 1.5, 2.5)) * product / by


def _stirling(m: Any, y: Any) -> Any:
    """sqrt(2 pi) y^(y - 1/2) e^-y, the power in two halves, which overflow later than the whole."""
    square, tail = 1.0 / (y * y), 0.0
    for k in range(6, -1, -1):
        tail = square * tail + BERNOULLI[k] / ((2 * k + 2) * (2 * k + 1))
    half = m.pow(y, 0.5 * y - 0.25)
    return (math.sqrt(2 * math.pi) * m.exp(tail / y)) * (half * m.exp(-y)) * half


def _gamma(m: Any, x: Any) -> Any:
    below = m.lt(x, 0.5)
    y = m.select(below, 1.0 - x, x)
    far = m.gt(y, _FAR)
    made = m.select(far, _stirling(m, m.minimum(m.select(far, y, 20.0), 200.0)), _near(m, m.select(far, 2.0, y)))
    made = m.select(m.ne(x, x), x, made)
    whole = m.eq(x, m.floor(x))
    rest = x - m.rint(x)  # sin(pi x) by what is left of x, which alternates
    sine = m.sin(math.pi * rest) * (1.0 - 2.0 * m.abs(m.rint(x) - 2.0 * m.rint(0.5 * m.rint(x))))
    pole = m.select(m.eq(x, 0.0), 1.0 / x, math.nan)
    lost = 1.0 - (y + x)  # by rounding 1 - x, which many steps make large
    turned = made * (1.0 + lost * (m.log(y) - 0.5 / y))
    return m.select(below, m.select(whole, pole, math.pi / (sine * turned)), made)


gamma = Special("gamma", _gamma, [lambda m, ct, x, r: ct * (r * m.polygamma(x, n=0))])

__all__ = ["gamma"]
