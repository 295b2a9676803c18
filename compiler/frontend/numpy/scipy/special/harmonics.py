"""Spherical harmonics and Legendre's functions of scipy.special at traced places; degrees and orders are known.

They are the recursion in the degree of the normalised functions, from sin(theta)**m on, so slopes hold at the poles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....array import Array
from ....errors import TraceError, message
from ....patched.patches import NOT_MINE
from ....patched.recoded import recode
from ....tracing import user_line
from .functions import as_float, given


def _column(n: int, m: int, c: Any, s: Any, squared: Any = None) -> Any:
    """The function of degree n and order m, normalised on the sphere, of the cosine and the sine of theta.

    The square of the sine may be given: the sine of a cosine is a root, which has no slope at the ends.
    """
    order = abs(m)
    if order > n or n < 0:
        return 0.0 * c
    factor = math.prod((2 * k - 1) / (2 * k) for k in range(1, order + 1)) * (2 * order + 1) / (4 * math.pi)
    sign = -1.0 if order % 2 and m > 0 else 1.0
    power = s**order if squared is None else squared ** (order // 2) * (s if order % 2 else 1.0)
    before, now = 0.0, 0.0 * c + sign * math.sqrt(factor) * power
    for k in range(order + 1, n + 1):
        rise = math.sqrt((4 * k * k - 1) / (k * k - order * order))
        fall = math.sqrt(((k - 1) ** 2 - order**2) / (4 * (k - 1) ** 2 - 1)) if k - 1 > order else 0.0
        before, now = now, rise * (c * now - fall * before)
    return now


def _over(name: str, n: Any, m: Any, columns: Callable[[int, int], Any], places: Any) -> Any:
    """One column for each pair of a degree and an order, at places that the pairs broadcast with."""
    n, m = (given(f"scipy.special.{name}", key, x) for key, x in (("n", n), ("m", m)))
    degrees, orders = np.broadcast_arrays(np.asarray(n), np.asarray(m))
    shape = np.broadcast_shapes(degrees.shape, places.shape)
    pairs = sorted({(int(a), int(b)) for a, b in zip(degrees.flat, orders.flat, strict=True)})
    if len(pairs) == 1:
        return np.broadcast_to(columns(*pairs[0]), shape)
    rows = np.stack([np.reshape(columns(*pair), (-1,)) for pair in pairs])
    which = {pair: k for k, pair in enumerate(pairs)}
    row = np.array([which[int(a), int(b)] for a, b in zip(degrees.flat, orders.flat, strict=True)])
    flat = np.arange(math.prod(places.shape)).reshape(places.shape)
    return rows[np.broadcast_to(row.reshape(degrees.shape), shape), np.broadcast_to(flat, shape)]


def _scale(n: int, m: int, norm: bool) -> float:
    """What makes the unnormalised function, or the one whose square integrates to 1 over [-1, 1]."""
    if norm or abs(m) > n:
        return math.sqrt(2 * math.pi)
    logs = math.lgamma(n + m + 1) - math.lgamma(n - m + 1) + math.log(4 * math.pi / (2 * n + 1))
    return math.exp(0.5 * logs)


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    theta, phi = (as_float(x) for x in (theta, phi))
    c, s = np.cos(theta), np.sin(theta)
    whole = phi + 0.0 * theta
    column = lambda n, m: _column(n, m, c, s) * np.exp(1j * m * whole)  # noqa: E731
    return _over("sph_harm_y", n, m, column, whole)


def sph_legendre_p(n: Any, m: Any, theta: Any) -> Any:
    theta = as_float(theta)
    c, s = np.cos(theta), np.sin(theta)
    return _over("sph_legendre_p", n, m, lambda n, m: _column(n, m, c, s), theta)


def assoc_legendre_p(n: Any, m: Any, z: Any, branch_cut: Any = 2, norm: bool = False) -> Any:
    if branch_cut != 2:
        fix = "leave branch_cut out"
        raise TraceError(message("scipy.special.assoc_legendre_p with another branch_cut", user_line(), fix))
    z = as_float(z)
    squared = (1.0 - z) * (1.0 + z)
    column = lambda n, m: _scale(n, m, norm) * _column(n, m, z, np.sqrt(squared) if m % 2 else 1.0, squared)  # noqa: E731
    return _over("assoc_legendre_p", n, m, column, z)


def legendre_p(n: Any, z: Any) -> Any:
    z = as_float(z)
    return _over("legendre_p", n, 0, lambda n, m: _scale(n, 0, False) * _column(n, 0, z, 1.0), z)


_MEANINGS = {each.__name__: each for each in (sph_harm_y, sph_legendre_p, assoc_legendre_p, legendre_p)}


def _several(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of one of SciPy's functions that choose among ufuncs."""
    meaning = _MEANINGS.get(self.__name__)
    if meaning is None or any(isinstance(x, Array) and x.type.is_complex for x in args):
        return NOT_MINE
    diff = kwargs.pop("diff_n", 0)
    if diff != 0:
        fix = "take pullback.grad or pullback.jacobian of the function"
        raise TraceError(message(f"scipy.special.{self.__name__} with diff_n={diff!r}", user_line(), fix))
    made = meaning(*args, **kwargs)
    return made if meaning is sph_harm_y else made[None]  # their first axis is for derivatives, diff_n + 1 of them


recode("scipy.special._multiufuncs", {"MultiUFunc.__call__": _several})

__all__ = ["assoc_legendre_p", "legendre_p", "sph_harm_y", "sph_legendre_p"]
