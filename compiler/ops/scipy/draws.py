"""How far draws from gamma and Dirichlet distributions move with the concentrations, at the same quantile.

    gamma_draw_slope a, z      dz/da of draws z of concentration a and rate 1
    share_draw_slope a, x      of shares x along the last axis, how each moves with its own concentration, over 1 - x

With F the distribution function and f the density at a draw z, dz/da = -(dF/da) / f (implicit reparametrisation;
Figurnov, Mohamed and Mnih, 2018). F is the series z^a e^-z sum of z^n / gamma(a + n + 1), differentiated term by term.
From a = 3,000 on that takes too many terms; there the cube of a normal quantile (Wilson and Hilferty, 1931) is
differentiated, whose relative error falls with 1 / a.

A share x of a Dirichlet distribution is beta distributed with a and the rest b of the concentrations. F is the series
x^a (1 - x)^b / (a B(a, b)) sum of (a + b)_n / (a + 1)_n x^n, or one less that of 1 - x, whichever has smaller terms.
All is computed in float64, and rounded to the dtype of the arguments once. Derivatives of the slopes are quotients of
moments (`incomplete`) and the density, and so are theirs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..library import Library
from ..reduce import spread, sum_
from .incomplete import in_blocks
from .log_gamma import polygamma

LARGE = 3_000.0

LARGEST = 1e7
"""Concentrations of shares, together, from which on the slope's derivatives are NaN: they are differences, which are
wrong by 1e-4 there."""

TERMS = 64
"""Terms of a series that are made together."""

Step = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def slope(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """dz/da of draws `z` of gamma distributions of concentration `a` and rate 1, in float64.

    >>> import numpy as np
    >>> from pullback.compiler.ops.scipy.draws import slope
    >>> slope(np.array([1.0]), np.array([1.0]))  # of z = -log(1 - u): by differences 1.0428
    array([1.04283...])
    """
    a, z = np.broadcast_arrays(np.asarray(a, "f8"), np.asarray(z, "f8"))
    made = np.empty(a.shape)
    large = a > LARGE
    made[large] = _cubes(a[large], z[large])
    made[~large] = in_blocks(_series, a[~large], z[~large])
    return made


def _series(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """-(dF/da) / f, where both F's terms and f have the factor z^a e^-z / gamma(a + 1)."""
    z = np.maximum(z, np.finfo(float).tiny)
    with np.errstate(divide="ignore"):
        gap = np.log(z) - polygamma.evaluate([a + 1], {"n": 0}, ())[0]

    def more(term: np.ndarray, gap: np.ndarray, n: np.ndarray, total: np.ndarray) -> np.ndarray:
        return (n <= z) | (np.abs(term * gap) > 1e-17 * np.abs(total))

    total = _summed(a + 1, gap, lambda n: (z[:, None] / n, -1 / n), more)
    return -total * z / a


def _summed(n: np.ndarray, slope: np.ndarray, step: Step, more: Callable[..., np.ndarray]) -> np.ndarray:
    """The sum of term times slope, from 1 times `slope` on: each term is the one before times a factor, each slope the
    one before and an increment, which `step` gives for numbers that grow by one, a block of terms at a time."""
    term, total = np.ones_like(slope), slope.copy()
    while np.any(more(term, slope, n, total)):
        factors, increments = step(n[:, None] + np.arange(TERMS))
        terms = term[:, None] * np.cumprod(factors, 1)
        slopes = slope[:, None] + np.cumsum(increments, 1)
        total = total + np.sum(terms * slopes, 1)
        term, slope, n = terms[:, -1], slopes[:, -1], n + TERMS
    return total


def _cubes(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The derivative of a (1 - 1 / 9a + x / 3 sqrt(a))^3 at the normal quantile x that gives z."""
    root = np.cbrt(z / a)
    x = 3 * np.sqrt(a) * (root - 1 + 1 / (9 * a))
    return z / a + 3 * a * root**2 * (1 / (9 * a**2) - x / (6 * a**1.5))


def share_slope(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """dx/da of draws `x` of beta distributions of concentrations `a` and `b`, in float64.

    >>> import numpy as np
    >>> from pullback.compiler.ops.scipy.draws import share_slope
    >>> share_slope(np.array([0.25]), np.array([1.0]), np.array([1.0]))  # F is x^a: -x log x
    array([0.34657359])
    """
    x, a, b = (np.array(each, "f8") for each in np.broadcast_arrays(x, a, b))
    x = np.clip(x, np.finfo(float).tiny, 1 - 2.0**-53)
    made, low = np.empty(a.shape), x <= (a + 1) / (a + b + 2)
    digamma = polygamma.evaluate([a + b], {"n": 0}, ())[0] - polygamma.evaluate([a], {"n": 0}, ())[0]
    log = np.log(x[low]) - 1 / a[low] + digamma[low]
    made[low] = -in_blocks(functools.partial(_shares, 1.0), x[low], a[low], b[low], log)
    high = ~low
    log = np.log1p(-(1 - x[high])) + digamma[high]
    made[high] = in_blocks(functools.partial(_shares, 0.0), 1 - x[high], b[high], a[high], log)
    return made


def _shares(first: float, x: np.ndarray, a: np.ndarray, b: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """x (1 - x) / a times the derivative of the sum with its factor: `slope` is that of the factor's logarithm, and a
    counts in the terms' denominators if `first` is 1."""

    def more(term: np.ndarray, slope: np.ndarray, n: np.ndarray, total: np.ndarray) -> np.ndarray:
        return (x * (b - 1) > (1 - x) * n) | (np.abs(term * slope) > 1e-17 * (1 - x) * np.abs(total))

    def step(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        above = n + (b[:, None] - 1)
        return x[:, None] * above / n, 1 / above - first / n

    return _summed(a + 1, slope, step, more) * x * (1 - x) / a


def _share_slopes(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    a, x, dtype = np.asarray(a, "f8"), np.asarray(x, "f8"), x.dtype
    made = share_slope(x, a, a.sum(-1, keepdims=True) - a) / np.maximum(1 - x, np.finfo(float).tiny)
    return made.astype(dtype)


def _gamma_pull(m: Any, inputs: Any, results: Any, cts: Any) -> list[Any]:
    """-F_a / f by the rule of quotients; F_aa is a moment of the tail that is short."""
    (a, z), (s,), (ct,) = inputs, results, cts
    is_large = m.gt(a, LARGE)
    far, (a, z) = _far_slopes(m, a, z), [m.select(is_large, 1.0, each) for each in (a, z)]
    log_slope, slope_of_log = m.log(z) - m.polygamma(a, n=0), (a - 1.0) / z - 1.0
    density = m.exp(m.xlogy(a - 1.0, z) - z - m.lgamma(a))

    def bent(upper: int) -> Any:
        moment = [m.gamma_moment(a, z, n=n, upper=upper) for n in (0, 2)]
        return moment[1] - m.polygamma(a, n=1) * moment[0]

    bend = m.select(m.gt(z, a), -bent(1), bent(0)) / density
    near = -bend - s * log_slope, -log_slope - s * slope_of_log
    return [ct * m.select(is_large, one, other) for one, other in zip(far, near, strict=True)]


def _far_slopes(m: Any, a: Any, z: Any) -> tuple[Any, Any]:
    """Of (3 r^2 - r^3 + r^2 / 3a) / 2 for r^3 = z / a, which is the slope by the cube of a normal quantile."""
    root = m.cbrt(z / a)
    square = root * root
    by_log = (3.0 * square - 1.5 * root * square + square / (3.0 * a)) / 3.0
    return -by_log / a - square / (6.0 * a * a), by_log / z


def _share_pull(m: Any, inputs: Any, results: Any, cts: Any) -> list[Any]:
    """The same of beta distributions, -F_a / f / (1 - x), with the rest of the concentrations for b."""
    (a, x), (s,), (ct,) = inputs, results, cts
    b = _others(m, a)
    both, shared = m.polygamma(a + b, n=0), m.polygamma(a + b, n=1)
    in_a, in_b = m.log(x) - m.polygamma(a, n=0) + both, m.log1p(-x) - m.polygamma(b, n=0) + both
    log_beta = m.lgamma(a) + m.lgamma(b) - m.lgamma(a + b)
    density = m.exp(m.xlogy(a - 1.0, x) + m.xlog1py(b - 1.0, -x) - log_beta)
    density = m.select(m.gt(a + b, LARGEST), math.nan, density)

    def bent(upper: int) -> tuple[Any, Any]:
        moment = {key: m.beta_moment(a, b, x, i=key[0], j=key[1], upper=upper) for key in ((0, 0), (2, 0), (1, 1))}
        return moment[2, 0] - (m.polygamma(a, n=1) - shared) * moment[0, 0], moment[1, 1] + shared * moment[0, 0]

    is_above = m.gt(x, a / (a + b))
    bends = [m.select(is_above, -up, low) / density for up, low in zip(bent(1), bent(0), strict=True)]
    slope = s * (1.0 - x)
    along_a, along_b = (ct * (-bend - slope * each) / (1.0 - x) for bend, each in zip(bends, (in_a, in_b), strict=True))
    along_x = -in_a - slope * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))
    return [along_a + _others(m, along_b), ct * (along_x + s) / (1.0 - x)]


def _others(m: Any, x: Any) -> Any:
    """The sum of the others along the last axis."""
    shape = x.value.type.shape
    whole = sum_(m.b, x.value, axes=(len(shape) - 1,))
    return m(spread(m.b, whole, shape=shape, axes=tuple(range(len(shape) - 1)))) - x


def _gammas(rng: np.random.Generator) -> list[Any]:
    a, z = rng.uniform(0.3, 4, (2, 5)), rng.uniform(0.1, 4, (2, 5))
    return [([a.astype(d), z.astype(d)], {}) for d in ("f8", "f4")]


def _concentrations(rng: np.random.Generator) -> list[Any]:
    a = rng.uniform(0.3, 4, (2, 3))
    return [([a.astype(d), rng.dirichlet((1, 2, 3), 2).astype(d)], {}) for d in ("f8", "f4")]


gamma_draw_slope = Library(
    "gamma_draw_slope", lambda a, z: z, lambda a, z: slope(a, z).astype(z.dtype), _gamma_pull, samples=_gammas)
share_draw_slope = Library("share_draw_slope", lambda a, x: x, _share_slopes, _share_pull, samples=_concentrations)

__all__ = ["gamma_draw_slope", "share_draw_slope", "share_slope", "slope"]
