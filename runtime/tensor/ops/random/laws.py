"""Rows of random numbers as PyTorch draws them on the processor: from a source of words and a count to an array.

    uniform(source, 3, "f32", 0.0, 1.0)
    kept(source, 3, 0.7)                    bools that are true with that chance
    integers(source, 3, 0, 10)

One function stands for one of PyTorch's loops over the elements: which words it takes and where it rounds decides the
numbers. Those that go through logarithms are done in float64, where NumPy's functions do if the result is a float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .normals import BLOCK, blocks, by_libm, few
from .twister import CHUNK, Twister

FLOATS = {"f32": np.float32, "f64": np.float64}
LONG = 2**28
"""From so many integers on, each is drawn from 64 bits instead of 32."""
LARGEST = 2**32 // 20
"""Up to here orders take 32 bits an exchange."""


def unit(source: Twister, n: int, dtype: str) -> np.ndarray:
    """Evenly distributed in [0, 1)."""
    return source.floats(n) if dtype == "f32" else source.doubles(n)


def uniform(source: Twister, n: int, dtype: str, low: float, high: float) -> np.ndarray:
    """Evenly distributed in [low, high)."""
    number = FLOATS[dtype]
    low, width = float(number(low)), float(number(high) - number(low))
    return fused(unit(source, n, dtype), width, low)


def normal(source: Twister, n: int, dtype: str, mean: float = 0.0, std: float = 1.0, dense: bool = True) -> np.ndarray:
    """Normally distributed: in blocks of 16, if there are that many and they lie one after the other in memory."""
    if n < BLOCK or not dense:
        return fused(few(source, n), std, mean).astype(FLOATS[dtype])
    made, number = unit(source, n, dtype), FLOATS[dtype]
    whole = n // BLOCK * BLOCK
    made[:whole] = blocks(made[:whole])
    if whole < n:  # the last block overlaps the one before, and is drawn again
        made[-BLOCK:] = blocks(unit(source, BLOCK, dtype))
    return fused(made, float(number(std)), float(number(mean)))


def fused(x: np.ndarray, scale: float, shift: Any) -> np.ndarray:
    """x * scale + shift, rounded once, where x may be written over; the shift may be an array like x."""
    if np.ndim(shift):
        _fused_double(x, scale, shift)
        return x
    if shift == 0:
        return x if scale == 1 else np.multiply(x, x.dtype.type(scale), out=x)
    if x.dtype == np.float32:
        wide = x.astype(np.float64)
        wide *= scale
        wide += shift
        return wide.astype(np.float32)
    for k in range(0, len(x), CHUNK):
        _fused_double(x[k : k + CHUNK], scale, shift)
    return x


def _fused_double(x: np.ndarray, scale: float, shift: float) -> None:
    """By exact products (Dekker 1971) and sums (Knuth 1969)."""
    product = x * scale
    first, factor = _halves(x), _halves(np.float64(scale))
    left = first[0] * factor[0] - product
    left += first[0] * factor[1]
    left += first[1] * factor[0]
    left += first[1] * factor[1]
    total = product + shift
    part = total - product
    left += (product - (total - part)) + (shift - part)
    np.add(total, left, out=x)


def _halves(x: Any) -> tuple[Any, Any]:
    big = x * 134217729.0
    high = big - (big - x)
    return high, x - high


def kept(source: Twister, n: int, chance: float) -> np.ndarray:
    """True where a number of 53 bits is below the chance."""
    high, low = divmod(math.ceil(chance * 2**53), 2**32)
    made = np.empty(n, np.bool_)
    for k in range(0, n, CHUNK):
        pairs = source.pairs(min(CHUNK, n - k))
        first = pairs[:, 0] & np.uint32(0x1FFFFF)
        part = np.less(first, np.uint32(high), out=made[k : k + CHUNK])
        if low:
            part |= (first == np.uint32(high)) & (pairs[:, 1] < np.uint32(low))
    return made


def chosen(source: Twister, n: int, dtype: str, chances: np.ndarray) -> np.ndarray:
    """The same with a chance for each, in whose dtype it is drawn."""
    return unit(source, n, dtype) < chances.reshape(-1)


def _transformed(function: Callable[[float], float], numpys: Any, x: np.ndarray, dtype: str) -> np.ndarray:
    return numpys(x) if dtype == "f32" else by_libm(function, x)


def exponential(source: Twister, n: int, dtype: str, rate: float = 1.0) -> np.ndarray:
    """Waiting times of events of a rate."""
    return (_transformed(math.log1p, np.log1p, -source.doubles(n), dtype) * (-1 / rate)).astype(FLOATS[dtype])


def cauchy(source: Twister, n: int, dtype: str, median: float, sigma: float) -> np.ndarray:
    """Around the median, half of them within sigma."""
    tangents = _transformed(math.tan, np.tan, (source.doubles(n) - 0.5) * math.pi, dtype)
    return fused(tangents, sigma, median).astype(FLOATS[dtype])


def log_normal(source: Twister, n: int, dtype: str, mean: float, std: float) -> np.ndarray:
    """Exponentials of normal numbers, which are drawn one by one."""
    return _transformed(math.exp, np.exp, fused(few(source, n), std, mean), dtype).astype(FLOATS[dtype])


def geometric(source: Twister, n: int, chance: float) -> np.ndarray:
    """How many trials it takes, in float64."""
    with np.errstate(divide="ignore"):
        return np.ceil(np.log(source.doubles(n)) / math.log1p(-chance))


def integers(source: Twister, n: int, low: int, count: int, long: bool | None = None) -> np.ndarray:
    """Integers from low to low + count - 1, as int64, of 64 bits each if `long` or if there are many."""
    if long or (long is None and count >= LONG):
        words = source.long_words(n)
        words = words if count == 2**64 else words % np.uint64(count)
        return (words + np.uint64(low % 2**64)).view(np.int64)
    made = (source.words(n) % np.uint32(count)).astype(np.int64)
    return made + low if low else made


def places(source: Twister, n: int) -> np.ndarray:
    """With which element each but the last of n is exchanged, for `ordered`."""
    steps = max(n - 1, 0)
    left = np.arange(n, 1, -1)
    drawn = source.words(steps) if n < LARGEST else source.long_words(steps)
    return (drawn % left.astype(drawn.dtype)).astype(np.int64) + np.arange(steps)


def ordered(n: int, places: np.ndarray) -> np.ndarray:
    """The integers below n in random order, by exchanges (Fisher and Yates 1938; Durstenfeld 1964)."""
    row = list(range(n))
    for k, place in enumerate(places.tolist()):
        row[k], row[place] = row[place], row[k]
    return np.array(row, np.int64)
