"""The incomplete gamma functions and Hurwitz's zeta function, which take as many steps as their arguments ask for."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..custom import refused
from ..library import Library
from .log_gamma import lgamma

STEPS = 100_000
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


@functools.cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's quadrature."""
    return np.polynomial.legendre.leggauss(64)


def _series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """P(a, x) / prefix as the sum of x^n / (a + 1) ... (a + n), for x below a + 1."""
    total = term = 1 / a
    n = a.copy()
    for _ in range(STEPS):
        n = n + 1
        term = term * x / n
        total = total + term
        if not np.any(np.abs(term) > np.abs(total) * 1e-17):
            break
    return total


def _fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Q(a, x) / prefix by Lentz's continued fraction, for x from a + 1 on."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full_like(x, 1 / tiny), 1 / np.where(b == 0, tiny, b)
    total = d
    for n in range(1, STEPS):
        factor = -n * (n - a)
        b = b + 2
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        total = total * (c * d)
        if not np.any(np.abs(c * d - 1) > 2e-16):
            break
    return total


def _integral(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P and Q for large a, by quadrature from x to far beyond the peak of the integrand, on whichever side is short.

    Press, Teukolsky, Vetterling, Flannery: Numerical Recipes, 3rd edition, 6.2.2, with 64 nodes.
    """
    top, width = a - 1, np.sqrt(a - 1)
    above = x > top
    end = np.where(above, np.maximum(top + 11.5 * width, x + 6 * width),
                   np.maximum(0, np.minimum(top - 7.5 * width, x - 5 * width)))  # fmt: skip
    half = (end - x) / 2
    nodes, weights = _rule()
    t = x[..., None] + half[..., None] * (nodes + 1)
    relative = (t - top[..., None]) / top[..., None]
    exponent = top[..., None] * (np.log1p(relative) - relative)
    area = np.abs(half) * np.sum(weights * np.exp(exponent), axis=-1)
    scale = np.sqrt(2 * math.pi * top) * np.exp((1 / 12 - 1 / (360 * top * top)) / top)  # Stirling's series
    made = np.clip(area / scale, 0, 1)
    return np.where(above, 1 - made, made), np.where(above, made, 1 - made)


def _incomplete(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P and Q, each with digits of its own."""
    dtype, shape = np.result_type(a, x), np.shape(a)
    a, x = (np.asarray(v, np.float64).ravel() for v in (a, x))
    p = np.full(a.shape, math.nan)
    good = (a >= 0) & (x >= 0)
    p = np.where(good & ((x == 0) & (a > 0) | np.isinf(a) & ~np.isinf(x)), 0.0, p)
    p = np.where(good & ((a == 0) & (x > 0) | np.isinf(x) & ~np.isinf(a)), 1.0, p)
    q = 1 - p
    inside = good & (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    (scale,) = lgamma.evaluate([np.where(inside, a, 1.0)], {}, ())
    prefix = np.exp(a * np.log(np.where(inside, x, 1.0)) - x - scale)
    large, low = inside & (a > 200), inside & (a <= 200) & (x < a + 1)
    high = inside & ~large & ~low
    p[low] = (prefix[low] * _series(a[low], x[low])).clip(0, 1)
    q[low] = 1 - p[low]
    q[high] = (prefix[high] * _fraction(a[high], x[high])).clip(0, 1)
    p[high] = 1 - q[high]
    p[large], q[large] = _integral(a[large], x[large])
    return p.astype(dtype).reshape(shape), q.astype(dtype).reshape(shape)


def _density(m: Any, a: Any, x: Any) -> Any:
    """dP/dx."""
    return m.exp((a - 1.0) * m.log(x) - x - m.lgamma(a))


def _no_slope(m: Any, name: str, of: str, *made_of: Any) -> Any:
    """That of the first, of which and the others it would be made."""
    text = f"the derivative of {name} with respect to {of} is not implemented"
    return m(refused.of(m.b, made_of[0].value.type, text, [x.value for x in made_of]))


def _pull(name: str, sign: float) -> Any:
    def pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
        a, x = inputs
        return [_no_slope(m, name, "its first argument", a, x, cts[0]), cts[0] * (sign * _density(m, a, x))]

    return pull


def _hurwitz(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Sum of (q + k)^-s by Euler and Maclaurin, after steps that take q to s + 10."""
    dtype = np.result_type(s, q)
    s, q = (np.asarray(v, np.float64) for v in (s, q))
    total, z, steps = np.zeros(s.shape), q.copy(), 0
    while np.any(small := (z < s + 10)) and steps < STEPS:
        total = np.where(small, total + np.power(z, -s), total)
        z, steps = np.where(small, z + 1, z), steps + 1
    made = total + np.power(z, 1 - s) / (s - 1) + 0.5 * np.power(z, -s)
    term = s * np.power(z, -s - 1)
    for k, b in enumerate(BERNOULLI, 1):
        made = made + term * (b / math.factorial(2 * k))
        term = term * (s + 2 * k - 1) * (s + 2 * k) / (z * z)
    pole = (q <= 0) & (q == np.floor(q))
    made = np.where(pole, math.inf, np.where((q < 0) & (s != np.floor(s)), math.nan, made))
    return np.where(s == 1, math.inf, np.where(s < 1, math.nan, made)).astype(dtype)


def _zeta_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    s, q = inputs
    return [cts[0] * -m.zeta_logs(s, q, n=1), cts[0] * (-s * m.zeta(s + 1.0, q))]


def _like_first(*types: Any) -> Any:
    return types[0]


def _pairs(rng: np.random.Generator) -> Any:
    return [([rng.uniform(1.5, 4.0, shape), rng.uniform(0.5, 3.0, shape)], {}) for shape in ((), (7,), (2, 3))]


gammainc = Library("gammainc", _like_first, lambda a, x: _incomplete(a, x)[0], _pull("igamma", 1.0), samples=_pairs)
gammaincc = Library("gammaincc", _like_first, lambda a, x: _incomplete(a, x)[1], _pull("igammac", -1.0), samples=_pairs)
zeta = Library("zeta", _like_first, _hurwitz, _zeta_pull, samples=_pairs)

__all__ = ["gammainc", "gammaincc", "zeta"]
