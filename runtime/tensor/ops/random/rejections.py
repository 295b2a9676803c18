"""Draws that take an unknown number of steps, from parameters to rows of numbers as PyTorch has them on the processor.

    gamma(source, n, "f32", a)              concentrations a: Marsaglia and Tsang (2000)
    poisson(source, n, "f32", rate)         by products below 10, by transformed rejection (Hoermann 1993) from there
    binomial(source, n, "f32", count, p)    by geometric steps, or by transformed rejection from 10 expected on

Each number takes as many uniform ones as it needs, so they are drawn one by one. The functions of a `stream` say how,
and are what native code is made of (`streams`): `stream.unit()` is the next number in [0, 1), and `stream.normal` the
second one of a pair of normal numbers, NaN where there is none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .laws import FLOATS
from .streams import Loop
from .twister import Twister

STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip
"""What log(k!) has beyond Stirling's formula of k + 1, for k up to 9."""
SQUARE = float(np.float32(0.0331))
"""Of what is below 1 - 0.0331 x^4 no logarithm need be taken."""


def gamma(source: Twister, n: int, dtype: str, a: np.ndarray) -> np.ndarray:
    """Gamma distributed, of rate 1 and these concentrations; never zero, unless the concentration is."""
    number = FLOATS[dtype]
    a = np.asarray(a, number)
    with np.errstate(divide="ignore"):
        inverse = (number(1) / a).astype(np.float64)
    d = (np.where(a < 1, a + number(1), a) - number(np.float32(1) / np.float32(3))).astype(np.float64)
    c = 1.0 / np.sqrt(9.0 * d)
    return np.maximum(GAMMAS.run(source, a, inverse, d, c).astype(number), np.finfo(number).tiny)


def poisson(source: Twister, n: int, dtype: str, rate: np.ndarray) -> np.ndarray:
    """Counts of events at these rates."""
    return COUNTS.run(source, rate).astype(FLOATS[dtype])


def binomial(source: Twister, n: int, dtype: str, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """How many of so many trials of these probabilities succeed."""
    number = FLOATS[dtype]
    counts, probs = count.astype(number), prob.astype(number)
    rarer = np.where(probs <= 0.5, probs, (1.0 - probs.astype(np.float64)).astype(number))
    return SUCCESSES.run(source, counts, probs, rarer).astype(number)


def _gauss(stream: Any) -> float:
    """A normal number by Box and Muller; the second of a pair is kept for the next call."""
    made = stream.normal
    if made == made:
        stream.normal = math.nan
        return made
    angle = 2.0 * math.pi * stream.unit()
    radius = math.sqrt(-2.0 * math.log1p(-stream.unit()))
    stream.normal = radius * math.sin(angle)
    return radius * math.cos(angle)


def _gamma(stream: Any, a: float, inverse: float, d: float, c: float) -> float:
    if a == 0:
        return 0.0
    if d != d:
        return d
    scale = 1.0
    if a < 1:
        scale = (1.0 - stream.unit()) ** inverse
    while True:
        x = _gauss(stream)
        y = 1.0 + c * x
        while y <= 0:
            x = _gauss(stream)
            y = 1.0 + c * x
        v = y * y * y
        u, square = 1.0 - stream.unit(), x * x
        if u < 1.0 - SQUARE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _events(stream: Any, rate: float) -> float:
    """As long as a product of uniform numbers stays above e^-rate; if many are expected, by rejection."""
    if rate >= 10:
        return _many_events(stream, rate)
    if rate == 0:
        return 0.0
    end, made, product = math.exp(-rate), 0.0, stream.unit()
    while product > end:
        made += 1
        product *= stream.unit()
    return made


def _many_events(stream: Any, rate: float) -> float:
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse, tight = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u = stream.unit() - 0.5
        v, rest = stream.unit(), 0.5 - abs(u)
        if rest == 0:
            continue
        k = math.floor((2 * a / rest + b) * u + rate + 0.43)
        if rest >= 0.07 and v <= tight:
            return k
        if k < 0 or (rest < 0.013 and v > rest) or v == 0:
            continue
        left = math.log(v) + math.log(inverse) - math.log(a / (rest * rest) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _successes(stream: Any, count: float, prob: float, rarer: float) -> float:
    """How many succeed, by how many of the rarer outcome there are."""
    if count != count or prob != prob:
        return math.nan
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    made = 0.0
    if count * rarer < 10:
        made = _steps(stream, count, rarer)
    else:
        made = _rejected(stream, count, rarer)
    if prob > 0.5:
        return count - made
    return made


def _steps(stream: Any, count: float, prob: float) -> float:
    """By how many trials it takes from one success to the next."""
    log_failure, total, made = math.log1p(-prob), 0.0, 0.0
    while True:
        u = stream.unit()
        if u == 0:
            return made
        total += math.ceil(math.log(u) / log_failure)
        if total > count:
            return made
        made += 1


def _rejected(stream: Any, count: float, prob: float) -> float:
    spread = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c, tight, odds = count * prob + 0.5, 0.92 - 4.2 / b, prob / (1 - prob)
    alpha, m = (2.83 + 5.1 / b) * spread, math.floor((count + 1) * prob)
    while True:
        u = stream.unit() - 0.5
        v, rest = stream.unit(), 0.5 - abs(u)
        if rest == 0:
            continue
        k = math.floor((2 * a / rest + b) * u + c)
        if k < 0 or k > count:
            continue
        if rest >= 0.07 and v <= tight:
            return k
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _tail(stream, m) + _tail(stream, count - m) - _tail(stream, k) - _tail(stream, count - k)
        )  # fmt: skip
        if v == 0 or math.log(v * alpha / (a / (rest * rest) + b)) <= bound:
            return k


def _tail(stream: Any, k: float) -> float:
    if k <= 9:
        return STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


GAMMAS, COUNTS, SUCCESSES = Loop(_gamma), Loop(_events), Loop(_successes)
