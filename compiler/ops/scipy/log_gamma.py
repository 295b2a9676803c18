"""The logarithm of the gamma function and its derivatives: digamma shares all its work with the logarithm.

|x| is c + u with a whole number c and |u| <= 1/2. Up to 4 a polynomial in u stands for 2 + u, and the one or two steps
of the recurrence between are a product p, of which the logarithm is taken; beyond it is Stirling's series, where p is
the argument itself. So there is one logarithm and one quotient for both functions, and below zero those of the
reflection, with sines and cosines of pi u (Abramowitz and Stegun, 6.1.17, 6.3.7, 6.1.41, 6.3.18).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import special_tables as T
from .special import Special, powers

#: B(2k), the Bernoulli numbers
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


class Place(NamedTuple):
    """Where an argument y, not negative, stands: `u` beside the whole number, or `far`.

    `product` and `slope` are p and its derivative, but y and 1 far out; `sign` tells whether its logarithm is added.
    """

    y: Any
    u: Any
    far: Any
    product: Any
    slope: Any
    sign: Any


def _placed(m: Any, x: Any) -> Place:
    y = m.select(m.lt(x, 0.0), 1.0 - x, x)
    whole = m.rint(y)
    steps = m.abs(whole - 2.0)
    below, here, far = m.lt(whole, 2.0), m.eq(steps, 0.0), m.gt(y, 4.5)
    first = m.select(below, y, y - 1.0)
    second = m.select(below, y + 1.0, y - 2.0)
    twice = m.eq(steps, 2.0)
    product = m.select(twice, first * second, m.select(here, 1.0, first))
    slope = m.select(twice, first + second, m.select(here, 0.0, 1.0))
    sign = m.select(below, -1.0, 1.0)
    return Place(y, y - whole, far, m.select(far, y, product), m.select(far, 1.0, slope), sign)


def _lgamma(m: Any, x: Any) -> Any:
    at = _placed(m, x)
    inverse = at.slope / at.product
    stirling = m.muladd(powers(m, T.STIRLING, inverse * inverse), inverse, (math.log(2 * math.pi) - 1) / 2)
    factor = m.select(at.far, at.y - 0.5, at.sign)
    log = m.log(at.product)
    near = m.select(at.far, stirling, at.u * powers(m, T.LOG_GAMMA, at.u))
    made = m.muladd(factor, m.select(at.far, log - 1.0, log), near)
    rest = x - m.rint(x)
    turned = -made - m.log(m.abs(rest * powers(m, T.SINE, rest * rest)))
    return m.select(m.lt(x, 0.0), m.select(m.eq(x, -math.inf), math.inf, turned), made)


def _digamma(m: Any, x: Any) -> Any:
    at = _placed(m, x)
    inverse = at.slope / at.product
    stirling = -0.5 - inverse * powers(m, T.STIRLING_SLOPE, inverse * inverse)
    base = m.select(at.far, m.log(at.product), powers(m, T.DIGAMMA, at.u))
    made = m.muladd(inverse, m.select(at.far, stirling, at.sign), base)
    rest = x - m.rint(x)
    square = rest * rest
    cotangent = (0.25 - square) * powers(m, T.COSINE, square) / (rest * powers(m, T.SINE, square))
    turned = m.select(m.eq(rest, 0.0), math.nan, made - cotangent)
    return m.select(m.lt(x, 0.0), turned, made)


def _power(x: Any, n: int) -> Any:
    """x to the n, at least 1, by squaring."""
    result = None
    while n:
        if n & 1:
            result = x if result is None else result * x
        n >>= 1
        x = x * x if n else x
    return result


def _polygamma(m: Any, x: Any, n: int) -> Any:
    """Its asymptotic series after steps of the recurrence, below 1/2 the reflection."""
    if n == 0:
        return _digamma(m, x)
    y = m.select(m.lt(x, 0.5), 1.0 - x, x)
    steps, sign = 10 + n, -1.0 if n % 2 else 1.0
    passed = sum((_power(1.0 / (y + float(k)), n + 1) for k in range(steps - 1, 0, -1)), _power(1.0 / y, n + 1))
    z = y + float(steps)
    inverse = 1.0 / z
    square, tail = inverse * inverse, 0.0
    for k in range(10, 0, -1):
        tail = (tail + BERNOULLI[k - 1] * (math.factorial(2 * k + n - 1) / math.factorial(2 * k))) * square
    tail = (tail + (math.factorial(n - 1) + 0.5 * math.factorial(n) * inverse)) * _power(inverse, n)
    made = tail + math.factorial(n) * passed
    slope = math.pi ** (n + 1) * _cotangent(m, 1.0 / m.tan(_turned(m, x)), n)
    return m.select(m.lt(x, 0.5), -made - slope, -sign * made)


def _cotangent(m: Any, c: Any, n: int) -> Any:
    """The n-th derivative of cot by its value: a polynomial, since cot' = -(1 + cot^2)."""
    p = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        p = -p.deriv() * np.polynomial.Polynomial([1.0, 0.0, 1.0])
    made: Any = float(p.coef[-1])
    for k in p.coef[-2::-1]:
        made = c * made + float(k)
    return made


def _turned(m: Any, x: Any) -> Any:
    """pi times the distance to the nearest whole number."""
    return math.pi * (x - m.rint(x))


lgamma = Special("lgamma", _lgamma, [lambda m, ct, x, r: ct * m.polygamma(x, n=0)])
polygamma = Special(
    "polygamma", _polygamma, [lambda m, ct, x, r, n: ct * m.polygamma(x, n=n + 1)], {"n": "axis"}
)

__all__ = ["BERNOULLI", "lgamma", "polygamma"]
