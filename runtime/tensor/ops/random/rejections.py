"""Draws that take an unknown number of steps, from parameters to rows of numbers as PyTorch has them on the processor.

    gamma(source, n, "f32", a)              concentrations a: Marsaglia and Tsang (2000)
    poisson(source, n, "f32", rate)         by products below 10, by transformed rejection (Hoermann 1993) from there
    binomial(source, n, "f32", count, p)    by geometric steps, or by transformed rejection from 10 expected on

Each number takes as many uniform ones as it needs, so they are drawn one by one. `Stream` reads ahead and gives back
what nobody asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from .laws import FLOATS
from .twister import Twister

AHEAD = 16, 2048
"""The least and the most that is read at once."""
STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip
"""What log(k!) has beyond Stirling's formula of k + 1, for k up to 9."""


class Stream:
    """Uniform and normal float64 of a source, one at a time."""

    def __init__(self, source: Twister) -> None:
        self.source, self.normal = source, source.normal
        self.block: list[float] = []
        self.at, self.size, self.start = 0, AHEAD[0], source.state()

    def unit(self) -> float:
        """In [0, 1)."""
        if self.at == len(self.block):
            self.start = self.source.state()
            self.block, self.at = self.source.doubles(self.size).tolist(), 0
            self.size = min(2 * self.size, AHEAD[1])
        self.at += 1
        return self.block[self.at - 1]

    def gauss(self) -> float:
        """By Box and Muller; the second of a pair is kept for the next call."""
        made = self.normal
        if made is not None:
            self.normal = None
            return made
        angle = 2.0 * math.pi * self.unit()
        radius = math.sqrt(-2.0 * math.log1p(-self.unit()))
        self.normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def close(self) -> None:
        """Leave the source where the last number that was asked for ended."""
        left = 2 * (len(self.block) - self.at)
        if 0 < left < self.source.at:  # they are the last of the words at hand
            self.source.at -= left
        elif left:
            self.source.go_to(self.start)
            self.source.words(2 * self.at)
        self.source.normal = self.normal


@contextmanager
def _read(source: Twister) -> Iterator[Stream]:
    stream = Stream(source)
    try:
        yield stream
    finally:
        stream.close()


def gamma(source: Twister, n: int, dtype: str, a: np.ndarray) -> np.ndarray:
    """Gamma distributed, of rate 1 and these concentrations; never zero, unless the concentration is."""
    number = FLOATS[dtype]
    a = np.asarray(a, number)
    with np.errstate(divide="ignore"):
        inverse = (number(1) / a).astype(np.float64)
    d = (np.where(a < 1, a + number(1), a) - number(np.float32(1) / np.float32(3))).astype(np.float64)
    c = 1.0 / np.sqrt(9.0 * d)
    with _read(source) as stream:
        rows = zip((a < 1).tolist(), (a == 0).tolist(), inverse.tolist(), d.tolist(), c.tolist(), strict=True)
        made = np.array([_gamma(stream, *row) for row in rows], np.float64)
    return np.maximum(made.astype(number), np.finfo(number).tiny)


SQUARE = float(np.float32(0.0331))
"""Of what is below 1 - 0.0331 x^4 no logarithm need be taken."""


def _gamma(stream: Stream, below: bool, zero: bool, inverse: float, d: float, c: float) -> float:
    if zero or d != d:
        return 0.0 if zero else d
    scale = (1.0 - stream.unit()) ** inverse if below else 1.0
    while True:
        x = stream.gauss()
        y = 1.0 + c * x
        while y <= 0:
            x = stream.gauss()
            y = 1.0 + c * x
        v = y * y * y
        u, square = 1.0 - stream.unit(), x * x
        if u < 1.0 - SQUARE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def poisson(source: Twister, n: int, dtype: str, rate: np.ndarray) -> np.ndarray:
    """Counts of events at these rates."""
    with _read(source) as stream:
        made = [_events(stream, r) if r < 10 else _many_events(stream, r) for r in rate.astype(np.float64).tolist()]
    return np.array(made, np.float64).astype(FLOATS[dtype])


def _events(stream: Stream, rate: float) -> float:
    """As long as a product of uniform numbers stays above e^-rate."""
    if rate == 0:
        return 0.0
    end, made, product, unit = math.exp(-rate), 0, stream.unit(), stream.unit
    while product > end:
        made += 1
        product *= unit()
    return made


def _many_events(stream: Stream, rate: float) -> float:
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse, tight = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = stream.unit() - 0.5, stream.unit()
        rest = 0.5 - abs(u)
        k = math.floor((2 * a / rest + b) * u + rate + 0.43) if rest else -1
        if rest >= 0.07 and v <= tight:
            return k
        if k < 0 or (rest < 0.013 and v > rest) or v == 0:
            continue
        left = math.log(v) + math.log(inverse) - math.log(a / (rest * rest) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def binomial(source: Twister, n: int, dtype: str, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """How many of so many trials of these probabilities succeed."""
    number = FLOATS[dtype]
    counts, probs = count.astype(number), prob.astype(number)
    with _read(source) as stream:
        made = [_trials(stream, float(k), p, number) for k, p in zip(counts, probs, strict=True)]
    return np.array(made, np.float64).astype(number)


def _trials(stream: Stream, count: float, prob: np.floating, number: type) -> float:
    if not (count > 0 and prob > 0):
        return 0.0 if count == count and prob == prob else math.nan
    if prob >= 1:
        return count
    p = float(prob if prob <= 0.5 else number(1.0 - float(prob)))
    way: Callable[[Stream, float, float], float] = _steps if count * p < 10.0 else _rejected
    return way(stream, count, p) if prob <= 0.5 else count - way(stream, count, p)


def _steps(stream: Stream, count: float, prob: float) -> float:
    """By how many trials it takes from one success to the next."""
    log_failure, total, made = math.log1p(-prob), 0.0, 0
    while True:
        u = stream.unit()
        total += math.ceil(math.log(u) / log_failure) if u else math.inf
        if total > count:
            return made
        made += 1


def _rejected(stream: Stream, count: float, prob: float) -> float:
    spread = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c, tight, odds = count * prob + 0.5, 0.92 - 4.2 / b, prob / (1 - prob)
    alpha, m = (2.83 + 5.1 / b) * spread, math.floor((count + 1) * prob)
    while True:
        u, v = stream.unit() - 0.5, stream.unit()
        rest = 0.5 - abs(u)
        k = math.floor((2 * a / rest + b) * u + c) if rest else -1
        if k < 0 or k > count:
            continue
        if rest >= 0.07 and v <= tight:
            return k
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _tail(m) + _tail(count - m) - _tail(k) - _tail(count - k)
        )  # fmt: skip
        if v == 0 or math.log(v * alpha / (a / (rest * rest) + b)) <= bound:
            return k


def _tail(k: float) -> float:
    if k <= 9:
        return STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
