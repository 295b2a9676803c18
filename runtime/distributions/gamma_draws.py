"""Draws from gamma distributions of rate 1, with their gradient: how far a draw of the same quantile moves.

With F the distribution function and f the density at a draw z, dz/da = -(dF/da) / f (implicit reparametrisation;
Figurnov, Mohamed and Mnih, 2018). F is the series z^a e^-z sum of z^n / gamma(a + n + 1), differentiated term by term.
From a = 3,000 on that takes too many terms; there the cube of a normal quantile (Wilson and Hilferty, 1931) is
differentiated, whose relative error falls with 1 / a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ops.scipy.log_gamma import polygamma
from ..tensor.face.functions import finfo
from ..tensor.ops.arranging.creation import from_numpy
from ..tensor.ops.random.distributions import drawn_gamma
from ..tensor.reverse.custom import Function
from ..tensor.reverse.once import once_differentiable

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
