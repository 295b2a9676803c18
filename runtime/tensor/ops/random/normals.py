"""Normal numbers from uniform ones, by Box and Muller (1958), in the two ways that PyTorch has.

    few(source, n)            n numbers in float64, pair after pair; the second of a pair is kept for the next call
    blocks(uniform, dtype)    uniform numbers in blocks of 16, of which the first 8 give radii and the others angles

What is rounded where decides the last bit. In float32, PyTorch's logarithm, sine and cosine are those of the Cephes
library (Moshier 1989) with fused multiplications and additions, which is what its builds for processors with AVX2 do. A
fused one is made here of float64: the product of two float32 is exact there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....compiler.ops.elementwise import cast
from ...trace.fragments.fragment_cache import fragment_for
from ...trace.fragments.fragments import Operation
from ...value.cells import kind_of
from .twister import Twister

BLOCK = 16
LENGTHS = (64, 512, 4096)
"""So many pairs are worked on by one piece of code."""
ROOT = 0.707106781186547524
LOG = (
    -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
    -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
LOG_START, LOG_2 = 7.0376836292e-2, (-2.12194440e-4, 0.693359375)
EIGHTHS = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
COS, SIN = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2), (
    -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1,
)  # fmt: skip


def few(source: Twister, n: int) -> np.ndarray:
    """Numbers one by one; half of the time there is one left over for the next call."""
    made: list[float] = []
    if n and source.normal is not None:
        made.append(source.normal)
        source.normal = None
    pairs = (n - len(made) + 1) // 2
    drawn = source.doubles(2 * pairs)
    radii = np.sqrt(by_libm(math.log1p, -drawn[1::2]) * -2.0)
    turns = around(drawn[::2] * (2 * math.pi))
    rest = np.stack([radii * turns.real, radii * turns.imag], 1).reshape(-1)
    if len(made) + len(rest) > n:
        source.normal = float(rest[-1])
        rest = rest[:-1]
    return np.concatenate([made, rest]) if made else rest


def by_libm(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """A function of the C library for each number: NumPy's own may differ in the last bit."""
    return np.fromiter(map(function, x.tolist()), np.float64, len(x))


def around(angle: np.ndarray) -> Any:
    """Cosines and sines as the C library has them, as complex numbers."""
    return np.exp(1j * angle)


def blocks(uniform: np.ndarray) -> np.ndarray:
    """Normal numbers from a multiple of 16 uniform ones."""
    halves = uniform.reshape(-1, 2, BLOCK // 2)
    made = np.empty_like(halves)
    if uniform.dtype == np.float64:
        radii = np.sqrt(by_libm(math.log, (1.0 - halves[:, 0]).reshape(-1)) * -2.0).reshape(made[:, 0].shape)
        turns = around(halves[:, 1] * (2 * math.pi))
        np.multiply(radii, turns.real, out=made[:, 0])
        np.multiply(radii, turns.imag, out=made[:, 1])
        return made.reshape(-1)
    rows, k = len(halves), 0
    while k < rows:
        n = next((n for n in LENGTHS if (rows - k) * BLOCK // 2 <= n), LENGTHS[-1])
        end = k + n * 2 // BLOCK
        _fill(made[k:end], halves[k:end], n)
        k = end
    return made.reshape(-1)


def _fill(made: np.ndarray, halves: np.ndarray, n: int) -> None:
    given, count, kind = np.zeros((2, n), np.float32), len(halves) * 8, kind_of("f32", (n,))
    given[:, :count].reshape(2, -1, 8)[:] = halves.transpose(1, 0, 2)
    arrays = [given[0], given[1]]
    alone = fragment_for((PAIRS, (), kind, kind)).alone
    quick = alone.quick(arrays) if alone.quick is not None else None
    results = quick if type(quick) is list else alone.run(arrays)
    for k, result in enumerate(results):
        made[:, k] = result[:count].reshape(-1, 8)


# ---- float32, as graph operations


def _fused(m: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once to float32; a, b and c may be float64 of float32's values."""
    return _as(m, _wide(m, a) * _wide(m, b) + _wide(m, c), "f32")


def _as(m: Any, x: Any, dtype: str) -> Any:
    return m(cast(m.b, x.value, dtype=dtype))


def _wide(m: Any, x: Any) -> Any:
    return float(np.float32(x)) if isinstance(x, float) else x if x.value.type.dtype == "f64" else _as(m, x, "f64")


def _single(value: float) -> float:
    return float(np.float32(value))


def _log(m: Any, x: Any) -> Any:
    """Of numbers from 2**-24 to 1."""
    one = m.ge(x, 1.0)
    x, e = m.select(one, x * 0.5, x), m.select(one, x, 0.0 * x)
    for k in (16, 8, 4, 2, 1):
        low = m.lt(x, 2.0**-k)
        x, e = m.select(low, x * 2.0**k, x), m.select(low, e - float(k), e)
    low = m.lt(x, _single(ROOT))
    e = m.select(low, e - 1.0, e)
    x = x - 1.0 + m.select(low, x, 0.0 * x)
    square, y = x * x, _fused(m, x, LOG_START, LOG[0])
    for c in LOG[1:]:
        y = _fused(m, y, x, c)
    y = _fused(m, y * x, square, e * _single(LOG_2[0]))
    y = _fused(m, square, -0.5, y)
    return _fused(m, e, LOG_2[1], x + y)


def _circle(m: Any, x: Any) -> tuple[Any, Any]:
    """Cosine and sine of angles from 0 to 2 pi."""
    quarter = m.floor((m.floor(x * _single(4 / math.pi)) + 1.0) * 0.5)
    for c in EIGHTHS:
        x = _fused(m, quarter * 2.0, c, x)
    z = x * x
    cos, sin = _fused(m, _fused(m, z, COS[0], COS[1]), z, COS[2]), _fused(m, _fused(m, z, SIN[0], SIN[1]), z, SIN[2])
    cos = _fused(m, cos * z, z, z * -0.5) + 1.0
    sin = _fused(m, sin * z, x, x)
    even = m.eq(quarter - m.floor(quarter * 0.5) * 2.0, 0.0)
    first, second = m.select(even, cos, sin), m.select(even, sin, cos)
    left = m.and_(m.ge(quarter, 1.0), m.lt(quarter, 3.0))
    below = m.and_(m.ge(quarter, 2.0), m.lt(quarter, 4.0))
    return m.select(left, -first, first), m.select(below, -second, second)


def _pairs(m: Any, first: Any, second: Any) -> tuple[Any, Any]:
    radius = m.sqrt(_log(m, 1.0 - first) * -2.0)
    cos, sin = _circle(m, second * _single(2 * math.pi))
    return radius * cos, radius * sin


PAIRS = Operation("normal_pairs", "", _pairs)
