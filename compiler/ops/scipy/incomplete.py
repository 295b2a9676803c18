"""Moments of logarithms below or above a point of the gamma and beta distributions: derivatives in their parameters.

    gamma_moment a, x {n=1, upper=0}    the integral from 0 to x of t^(a-1) e^-t (log t - digamma(a))^n / gamma(a)

With n = 0 this is the incomplete gamma function. Its derivative in `a` is the moment with n = 1, since the factor in
brackets is the derivative of the logarithm of the density; the next ones follow, so the family is closed. Which tail is
short is integrated, over the logarithm of t (of t / (1 - t)), by the trapezoidal rule after the substitution
exp(u - exp(-u)) (Takahasi and Mori, 1974); the other is what is left of the whole moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..library import Library
from .log_gamma import lgamma, polygamma

STEP, FALLEN = 1 / 64, 45.0
BLOCK = 1 << 13

Moments = Callable[..., np.ndarray]


def _psi(x: np.ndarray, n: int = 0) -> np.ndarray:
    return polygamma.evaluate([x], {"n": n}, ())[0]


def _log_gamma(x: np.ndarray) -> np.ndarray:
    return lgamma.evaluate([x], {}, ())[0]


def _nodes(scale: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances and their weights for each tail that falls at least as exp(-rate y), and changes within `scale`."""
    good = np.isfinite(scale) & (rate > 0)
    reach = np.log(np.max(FALLEN / (rate * scale), where=good, initial=FALLEN))
    u = np.arange(-4.3, reach + 2 * STEP, STEP)
    y = np.exp(u - np.exp(-u))
    return scale[:, None] * y, STEP * y * (1 + np.exp(-u))


def in_blocks(moments: Moments, *arrays: np.ndarray) -> np.ndarray:
    """The function of some thousand elements at a time: each has hundreds of nodes."""
    dtype, shape = arrays[0].dtype, arrays[0].shape
    flat = [np.asarray(a, np.float64).ravel() for a in arrays]
    parts = [moments(*(a[k : k + BLOCK] for a in flat)) for k in range(0, flat[0].size, BLOCK)]
    return np.concatenate(parts or [np.zeros(0)]).reshape(shape).astype(dtype)


def _whole(kappa: list[np.ndarray], n: int) -> np.ndarray:
    """The n-th central moment by the cumulants from the second on."""
    made = [np.ones_like(kappa[0]), np.zeros_like(kappa[0])]
    for k in range(2, n + 1):
        choose, total = 1, np.zeros_like(kappa[0])
        for j in range(2, k + 1):
            choose = _binomial(k - 1, j - 1)
            total = total + choose * kappa[j - 2] * made[k - j]
        made.append(total)
    return made[n]


def _binomial(n: int, k: int) -> int:
    made = 1
    for j in range(k):
        made = made * (n - j) // (j + 1)
    return made


def _gamma(a: np.ndarray, x: np.ndarray, n: int, upper: int) -> np.ndarray:
    centre = _psi(a)
    above = x > np.exp(centre)
    log = np.log(x)
    prefix = np.exp(a * log - x - _log_gamma(a))
    side = np.where(above, 1.0, -1.0)
    scale = np.minimum(1 / (np.abs(a - x) + np.sqrt(np.where(above, x, a))), 1.0)
    y, weights = _nodes(scale, np.where(above, x, a))
    y = side[:, None] * y
    inside = np.exp(a[:, None] * y - x[:, None] * np.expm1(y)) * ((log - centre)[:, None] + y) ** n
    tail = prefix * scale * np.sum(np.where(np.isfinite(inside), inside, 0.0) * weights, axis=1)
    whole = _whole([_psi(a, k) for k in range(1, max(n, 2))], n)
    made = np.where(above == bool(upper), tail, whole - tail)
    made = np.where(x == 0, whole if upper else 0.0, np.where(np.isposinf(x), 0.0 if upper else whole, made))
    return np.where((a > 0) & (x >= 0), made, np.nan)


def _beta(a: np.ndarray, b: np.ndarray, x: np.ndarray, i: int, j: int, upper: int) -> np.ndarray:
    both = _psi(a + b)
    ends = (_psi(a) - both, _psi(b) - both)
    above = x > a / (a + b)
    log, rest = np.log(x), np.log1p(-x)
    z = log - rest
    prefix = np.exp(a * log + b * rest + _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b))
    side = np.where(above, 1.0, -1.0)
    p, q = np.where(above, b, a), np.where(above, 1 - x, x)  # how the tail falls, and how far it is from the end
    far = (a + b) * np.where(above, x, 1 - x)
    scale = np.minimum(1 / (np.abs(p - (a + b) * q) + np.sqrt(np.minimum(p, far))), 1.0)
    y, weights = _nodes(scale, p)
    y = side[:, None] * y
    moved = np.logaddexp(0.0, z[:, None] + y)
    inside = np.exp(a[:, None] * y - (a + b)[:, None] * (moved + rest[:, None]))
    inside = inside * (z[:, None] + y - moved - ends[0][:, None]) ** i * (-moved - ends[1][:, None]) ** j
    tail = prefix * scale * np.sum(np.where(np.isfinite(inside), inside, 0.0) * weights, axis=1)
    whole = _mixed(a, b, i, j)
    made = np.where(above == bool(upper), tail, whole - tail)
    made = np.where(x == 0, whole if upper else 0.0, np.where(x == 1, 0.0 if upper else whole, made))
    return np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), made, np.nan)


def _mixed(a: np.ndarray, b: np.ndarray, i: int, j: int) -> np.ndarray:
    """The whole moment: cumulants are derivatives of log gamma(a) + log gamma(b) - log gamma(a + b)."""
    if i + j == 0:
        return np.ones_like(a)
    if i == 0:
        return _mixed(b, a, j, i)
    total = np.zeros_like(a)
    for k in range(i):
        for h in range(j + 1):
            if k + h == 0:
                continue
            order = k + h
            kappa = -_psi(a + b, order) + (_psi(a, order) if h == 0 else 0.0)
            total = total + _binomial(i - 1, k) * _binomial(j, h) * kappa * _mixed(a, b, i - 1 - k, j - h)
    return total


def _gamma_pull(m: Any, inputs: Any, results: Any, cts: Any, n: int, upper: int) -> Any:
    """The rule of the density's logarithm; that of its centre follows n."""
    a, x = inputs
    in_a = m.gamma_moment(a, x, n=n + 1, upper=upper)
    if n:
        in_a = in_a - float(n) * m.polygamma(a, n=1) * m.gamma_moment(a, x, n=n - 1, upper=upper)
    in_x = m.exp(m.xlogy(a - 1.0, x) - x - m.lgamma(a))
    for _ in range(n):
        in_x = in_x * (m.log(x) - m.polygamma(a, n=0))
    return [cts[0] * in_a, cts[0] * (-in_x if upper else in_x)]


def _beta_pull(m: Any, inputs: Any, results: Any, cts: Any, i: int, j: int, upper: int) -> Any:
    a, b, x = inputs

    def moment(i: int, j: int) -> Any:
        return m.beta_moment(a, b, x, i=i, j=j, upper=upper)

    shared, in_a, in_b = m.polygamma(a + b, n=1), moment(i + 1, j), moment(i, j + 1)
    if i:
        lower = float(i) * moment(i - 1, j)
        in_a, in_b = in_a - (m.polygamma(a, n=1) - shared) * lower, in_b + shared * lower
    if j:
        lower = float(j) * moment(i, j - 1)
        in_a, in_b = in_a + shared * lower, in_b - (m.polygamma(b, n=1) - shared) * lower
    log_beta = m.lgamma(a) + m.lgamma(b) - m.lgamma(a + b)
    in_x = m.exp(m.xlogy(a - 1.0, x) + m.xlog1py(b - 1.0, -x) - log_beta)
    both = m.polygamma(a + b, n=0)
    for _ in range(i):
        in_x = in_x * (m.log(x) - (m.polygamma(a, n=0) - both))
    for _ in range(j):
        in_x = in_x * (m.log1p(-x) - (m.polygamma(b, n=0) - both))
    return [cts[0] * in_a, cts[0] * in_b, cts[0] * (-in_x if upper else in_x)]


def _drawn(*bounds: tuple[float, float], attrs: list[dict[str, int]]) -> Any:
    return lambda rng: [
        ([rng.uniform(low, high, shape) for low, high in bounds], each)
        for each in attrs
        for shape in ((), (7,), (2, 3))
    ]


gamma_moment = Library(
    "gamma_moment", lambda a, x, n, upper: a,
    lambda a, x, n, upper: in_blocks(lambda a, x: _gamma(a, x, n, upper), a, x), _gamma_pull,
    {"n": "axis", "upper": "axis"},
    samples=_drawn((0.5, 4), (0.5, 4), attrs=[{"n": n, "upper": u} for n in (0, 1, 2) for u in (0, 1)]),
)  # fmt: skip
beta_moment = Library(
    "beta_moment", lambda a, b, x, i, j, upper: a,
    lambda a, b, x, i, j, upper: in_blocks(lambda a, b, x: _beta(a, b, x, i, j, upper), a, b, x), _beta_pull,
    {"i": "axis", "j": "axis", "upper": "axis"},
    samples=_drawn((0.5, 4), (0.5, 4), (0.2, 0.8),
                   attrs=[{"i": i, "j": j, "upper": u} for i, j, u in ((0, 0, 0), (1, 0, 1), (0, 1, 0), (1, 1, 1))]),
)  # fmt: skip

__all__ = ["beta_moment", "gamma_moment", "in_blocks"]
