"""Draws from gamma distributions of rate 1 and of shares of them, with their gradient: how far a draw of the same
quantile moves.

With F the distribution function and f the density at a draw z, dz/da = -(dF/da) / f (implicit reparametrisation;
Figurnov, Mohamed and Mnih, 2018). F is the series z^a e^-z sum of z^n / gamma(a + n + 1), differentiated term by term.
From a = 3,000 on that takes too many terms; there the cube of a normal quantile (Wilson and Hilferty, 1931) is
differentiated, whose relative error falls with 1 / a.

A share x of a Dirichlet distribution is beta distributed with a and the rest b of the concentrations. F is the series
x^a (1 - x)^b / (a B(a, b)) sum of (a + b)_n / (a + 1)_n x^n, or one less that of 1 - x, whichever has smaller terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...compiler.ops.scipy.log_gamma import polygamma
from ..tensor.face.functions import finfo
from ..tensor.ops.arranging.creation import from_numpy
from ..tensor.ops.random.distributions import drawn_gamma
from ..tensor.reverse.custom import Function
from ..tensor.reverse.once import once_differentiable
from ..tensor.value.dtypes import float64

LARGE = 3_000.0


def slope(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """dz/da of draws `z` of gamma distributions of concentration `a` and rate 1, in float64.

    >>> import numpy as np
    >>> from pullback.runtime.distributions.gamma_draws import slope
    >>> slope(np.array([1.0]), np.array([1.0]))  # of z = -log(1 - u): by differences 1.0428
    array([1.04283...])
    """
    a, z = np.broadcast_arrays(np.asarray(a, "f8"), np.asarray(z, "f8"))
    made = np.empty(a.shape)
    large = a > LARGE
    made[large] = _cubes(a[large], z[large])
    made[~large] = _series(a[~large], z[~large])
    return made


def _series(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """-(dF/da) / f, where both F's terms and f have the factor z^a e^-z / gamma(a + 1)."""
    z = np.maximum(z, np.finfo(float).tiny)
    with np.errstate(divide="ignore"):
        gap = np.log(z) - polygamma.evaluate([a + 1], {"n": 0}, ())[0]
    term, n, total = np.ones_like(z), a + 1, gap.copy()
    while np.any((n <= z) | (np.abs(term * gap) > 1e-17 * np.abs(total))):
        term, gap = term * z / n, gap - 1 / n
        total += term * gap
        n = n + 1
    return -total * z / a


def _cubes(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The derivative of a (1 - 1 / 9a + x / 3 sqrt(a))^3 at the normal quantile x that gives z."""
    root = np.cbrt(z / a)
    x = 3 * np.sqrt(a) * (root - 1 + 1 / (9 * a))
    return z / a + 3 * a * root**2 * (1 / (9 * a**2) - x / (6 * a**1.5))


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        drawn = drawn_gamma(concentration).clamp(min=finfo(concentration.dtype).tiny)
        ctx.save_for_backward(concentration, drawn)
        return drawn

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Any) -> Any:
        a, z = ctx.saved_tensors
        return gradient * from_numpy(slope(a.detach().numpy(), z.detach().numpy())).to(gradient.dtype)


def standard_gamma(concentration: Any) -> Any:
    """Draws from gamma distributions of rate 1; never zero, whose logarithm is infinite."""
    return _StandardGamma.apply(concentration)


def share_slope(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """dx/da of draws `x` of beta distributions of concentrations `a` and `b`, in float64.

    >>> import numpy as np
    >>> from pullback.runtime.distributions.gamma_draws import share_slope
    >>> share_slope(np.array([0.25]), np.array([1.0]), np.array([1.0]))  # F is x^a: -x log x
    array([0.34657359])
    """
    x, a, b = (np.array(each, "f8") for each in np.broadcast_arrays(x, a, b))
    x = np.clip(x, np.finfo(float).tiny, 1 - 2.0**-53)
    made, low = np.empty(a.shape), x <= (a + 1) / (a + b + 2)
    digamma = polygamma.evaluate([a + b], {"n": 0}, ())[0] - polygamma.evaluate([a], {"n": 0}, ())[0]
    made[low] = -_shares(x[low], a[low], b[low], np.log(x[low]) - 1 / a[low] + digamma[low], 1.0)
    high = ~low
    made[high] = _shares(1 - x[high], b[high], a[high], np.log1p(-(1 - x[high])) + digamma[high], 0.0)
    return made


def _shares(x: np.ndarray, a: np.ndarray, b: np.ndarray, slope: np.ndarray, first: float) -> np.ndarray:
    """x (1 - x) / a times the derivative of the sum with its factor: `slope` is that of the factor's logarithm, and a
    counts in the terms' denominators if `first` is 1."""
    term, n, total = np.ones_like(x), a + 1, slope.copy()
    while np.any((x * (b - 1) > (1 - x) * n) | (np.abs(term * slope) > 1e-17 * (1 - x) * np.abs(total))):
        slope = slope + 1 / (n + b - 1) - first / n
        term, n = term * x * (n + b - 1) / n, n + 1
        total += term * slope
    return total * x * (1 - x) / a


FEW = 64
"""Up to so many shares are added in the order in which PyTorch adds them, so that they have its bits."""


def _total(drawn: Any) -> Any:
    """The sum along the last dimension, kept: the rest of vectors of four first, then lane by lane of theirs."""
    if not 0 < drawn.shape[-1] <= FEW:
        return drawn.sum(-1, True)
    parts = drawn.unbind(-1)
    whole = len(parts) // 4 * 4
    rest = [reduce(add, parts[whole:])] if parts[whole:] else []
    return reduce(add, [*rest, *(_lane(parts[k:whole:4]) for k in range(min(whole, 4)))]).unsqueeze(-1)


def _lane(parts: Sequence[Any]) -> Any:
    """Four sums of every fourth, the rest added to the first of them."""
    whole = len(parts) // 4 * 4
    sums = [reduce(add, parts[k:whole:4]) for k in range(min(whole, 4))] or [parts[0]]
    sums[0] = reduce(add, parts[whole or 1 :], sums[0])
    return reduce(add, sums)


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        limits, drawn = finfo(concentration.dtype), drawn_gamma(concentration.to(float64))
        made = (drawn / _total(drawn)).to(concentration.dtype).clamp(limits.tiny, 1 - limits.eps / 2)
        ctx.save_for_backward(concentration, made)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Any) -> Any:
        a, x = (each.detach().numpy().astype("f8") for each in ctx.saved_tensors)
        along = gradient - (ctx.saved_tensors[1] * gradient).sum(-1, True)
        slopes = share_slope(x, a, a.sum(-1, keepdims=True) - a) / np.maximum(1 - x, np.finfo(float).tiny)
        return along * from_numpy(slopes).to(gradient.dtype)


def dirichlet(concentration: Any) -> Any:
    """Probabilities along the last dimension, none of them 0 or 1; what one gains the others lose in proportion."""
    return _Dirichlet.apply(concentration)
