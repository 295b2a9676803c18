"""Families of integrals that are closed under differentiation: elliptic, of Macdonald's function, sums of zeta's.

    carlson x, y, z, p {i, j, k, l, t}   integral from 0 to infinity of
                                         s^t (s+x)^-(i+1/2) (s+y)^-(j+1/2) (s+z)^-(k+1/2) (s+p)^-l
    elliptic phi, m {i, k}               integral from 0 to phi of sin(s)^2i (1 - m sin(s)^2)^-(k+1/2)
    macdonald v, x {n}                   integral from 0 to infinity of exp(-x (cosh(s) - 1)) s^n cosh(v s),
                                         sinh for odd n
    zeta_logs s, q {n}                   sum over k from 0 on of log(q + k)^n (q + k)^-s

The derivative of each is one of the same family with other attributes. They are computed by the trapezoidal rule after
doubly exponential substitutions (Takahasi and Mori, 1974), and the sums by Euler's and Maclaurin's formula.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..library import Library
from .log_gamma import BERNOULLI

_U = np.arange(-4.6, 4.6, 1 / 32)
_HALF_LINE = np.exp(math.pi / 2 * np.sinh(_U))
_ON_HALF_LINE = _HALF_LINE * (math.pi / 64) * np.cosh(_U)
_V = np.arange(-104, 105) / 32  # symmetric: read backwards, the rule gives distances from the other end
_UNIT = 1 / (1 + np.exp(-math.pi * np.sinh(_V)))
_ON_UNIT = (math.pi / 32) * np.cosh(_V) * _UNIT * _UNIT[::-1]
_EVEN = np.arange(0.0, 30.0, 1 / 32)


def _f64(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(a, np.float64)[..., None] for a in arrays]


def _carlson(x: Any, y: Any, z: Any, p: Any, i: int, j: int, k: int, l: int, t: int) -> np.ndarray:  # noqa: E741
    dtype = x.dtype
    x, y, z, p = _f64(x, y, z, p)
    logs = [np.where(of > 0, np.log(np.where(of > 0, of, 1.0)), 0.0) for of in (x, y, z)]
    s = _HALF_LINE * np.exp(sum(logs) / np.maximum(sum((of > 0) * 1.0 for of in (x, y, z)), 1.0))
    made = s ** (t + 1.0) * (s + p) ** -float(l)
    for of, n in ((x, i), (y, j), (z, k)):
        made = made * (s + of) ** -(n + 0.5)
    weights = _ON_HALF_LINE / _HALF_LINE
    outside = (x < 0) | (y < 0) | (z < 0) | ((p <= 0) & (l > 0))
    return np.where(outside[..., 0], np.nan, np.sum(np.where(np.isfinite(made), made, 0.0) * weights, -1)).astype(dtype)


def _carlson_pull(m: Any, inputs: Any, results: Any, cts: Any, **n: int) -> Any:
    made = []
    for name, half in (("i", 0.5), ("j", 0.5), ("k", 0.5), ("l", 0.0)):
        factor = n[name] + half
        made.append(None if not factor else cts[0] * -factor * m.carlson(*inputs, **{**n, name: n[name] + 1}))
    return made


def _quarter(m: np.ndarray, phi: np.ndarray, i: int, k: int) -> np.ndarray:
    """Over a part of the first quarter turn, from its end down, where 1 - m sin^2 may nearly vanish."""
    down = phi * _UNIT[::-1]  # phi - s, small where the rule is dense
    s = phi * _UNIT
    gap = math.pi / 2 - phi
    cosine = np.sin(gap + down)
    inside = np.sin(s) ** (2 * i) * ((1 - m) + m * cosine * cosine) ** -(k + 0.5)
    return np.sum(np.where(np.isfinite(inside), inside, 0.0) * _ON_UNIT, -1) * phi[..., 0]


def _elliptic(phi: Any, m: Any, i: int, k: int) -> np.ndarray:
    dtype = phi.dtype
    phi, m = _f64(phi, m)
    turns = np.rint(phi / math.pi)
    rest = phi - turns * math.pi
    part = np.sign(rest[..., 0]) * _quarter(m, np.abs(rest), i, k)
    whole = np.where(turns[..., 0] == 0, 0.0, 2 * turns[..., 0] * _quarter(m, np.full_like(phi, math.pi / 2), i, k))
    good = (1 - m * np.sin(np.where(turns == 0, rest, math.pi / 2)) ** 2)[..., 0] > 0
    return np.where(good, part + whole, np.nan).astype(dtype)


def _elliptic_pull(m: Any, inputs: Any, results: Any, cts: Any, i: int, k: int) -> Any:
    phi, param = inputs
    square = m.sin(phi) * m.sin(phi)
    along = m.exp(-(k + 0.5) * m.log1p(-(param * square)))
    for _ in range(i):
        along = along * square
    return [cts[0] * along, cts[0] * ((k + 0.5) * m.elliptic(phi, param, i=i + 1, k=k + 1))]


def _macdonald(v: Any, x: Any, n: int) -> np.ndarray:
    """With the factor exp(x), so that it neither vanishes nor overflows where its exponential does."""
    dtype = v.dtype
    v, x = _f64(v, x)
    reach = np.arccosh(1 + (60 + np.abs(v) * 12) / np.maximum(x, 1e-300))
    s = _EVEN / _EVEN[-1] * reach
    sign = -1.0 if n % 2 else 1.0
    fall = -2 * x * np.sinh(s / 2) ** 2
    inside = s**n * (np.exp(fall + v * s) + sign * np.exp(fall - v * s)) / 2
    inside[..., 0] /= 2
    made = np.sum(inside, -1) * (reach[..., 0] / (_EVEN.size - 1))
    return np.where(x[..., 0] > 0, made, np.nan).astype(dtype)


def _macdonald_pull(m: Any, inputs: Any, results: Any, cts: Any, n: int) -> Any:
    v, x = inputs
    around = 0.5 * (m.macdonald(v + 1.0, x, n=n) + m.macdonald(v - 1.0, x, n=n))
    return [cts[0] * m.macdonald(v, x, n=n + 1), cts[0] * (results[0] - around)]


def _zeta_logs(s: Any, q: Any, n: int) -> np.ndarray:
    """After steps that take q to s + 10; the f^(j)(z) of the formula are z^(-s-j) times polynomials in log z."""
    dtype = s.dtype
    s, q = (np.asarray(each, np.float64) for each in (s, q))
    total, z = np.zeros(s.shape), q.copy()
    while np.any(small := (z < np.abs(s) + 10)):
        total = np.where(small, total + np.log(z) ** n * z**-s, total)
        z = np.where(small, z + 1, z)
    log = np.log(z)
    made = total + 0.5 * log**n * z**-s
    for k in range(n + 1):
        made = made + math.factorial(n) / math.factorial(k) * log**k * z ** (1 - s) / (s - 1) ** (n - k + 1)
    powers = [np.zeros_like(s) for _ in range(n)] + [np.ones_like(s)]
    for order in range(1, 2 * len(BERNOULLI)):
        power = s + (order - 1)
        powers = [(k + 1) * (powers[k + 1] if k < n else 0.0) - power * powers[k] for k in range(n + 1)]
        if order % 2:
            value = z ** (-s - order) * sum(c * log**k for k, c in enumerate(powers))
            made = made - BERNOULLI[order // 2] / math.factorial(order + 1) * value
    return np.where(q > 0, made, np.nan).astype(dtype)


def _zeta_logs_pull(m: Any, inputs: Any, results: Any, cts: Any, n: int) -> Any:
    s, q = inputs
    along = -(s * m.zeta_logs(s + 1.0, q, n=n))
    if n:
        along = along + float(n) * m.zeta_logs(s + 1.0, q, n=n - 1)
    return [cts[0] * -m.zeta_logs(s, q, n=n + 1), cts[0] * along]


def _drawn(attrs: list[dict[str, int]], *bounds: tuple[float, float]) -> Any:
    return lambda rng: [
        ([rng.uniform(low, high, shape) for low, high in bounds], each)
        for each in attrs
        for shape in ((), (7,), (2, 3))
    ]


carlson = Library(
    "carlson", lambda x, y, z, p, **_: x, _carlson, _carlson_pull, dict.fromkeys("ijklt", "axis"),
    samples=_drawn([dict(zip("ijklt", n, strict=True)) for n in ((0, 1, 0, 1, 0), (1, 0, 0, 0, 1))], *[(0.5, 2.0)] * 4),
)  # fmt: skip
elliptic = Library(
    "elliptic", lambda phi, m, **_: phi, _elliptic, _elliptic_pull, {"i": "axis", "k": "axis"},
    samples=_drawn([{"i": n, "k": n} for n in (0, 1)], (0.3, 4.0), (0.1, 0.8)),
)  # fmt: skip
macdonald = Library(
    "macdonald", lambda v, x, n: v, _macdonald, _macdonald_pull, {"n": "axis"},
    samples=_drawn([{"n": n} for n in (0, 1)], (0.3, 3.0), (0.5, 3.0)),
)  # fmt: skip
zeta_logs = Library(
    "zeta_logs", lambda s, q, n: s, _zeta_logs, _zeta_logs_pull, {"n": "axis"},
    samples=_drawn([{"n": n} for n in (0, 1, 2)], (1.5, 4.0), (0.5, 3.0)),
)  # fmt: skip

__all__ = ["carlson", "elliptic", "macdonald", "zeta_logs"]
