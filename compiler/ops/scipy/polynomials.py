"""Orthogonal polynomials by their recurrences, of any degree in each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..custom import refused
from ..library import Library

Step = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(k, x, the polynomial of degree k, that of degree k - 1) -> that of degree k + 1."""


def _doubled(k: int, x: np.ndarray, p: np.ndarray, before: np.ndarray) -> np.ndarray:
    return 2 * x * p - before


FAMILIES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Step]] = {
    "chebyshev_t": (lambda x: x, _doubled),
    "chebyshev_u": (lambda x: 2 * x, _doubled),
    "chebyshev_v": (lambda x: 2 * x - 1, _doubled),
    "chebyshev_w": (lambda x: 2 * x + 1, _doubled),
    "hermite_h": (lambda x: 2 * x, lambda k, x, p, before: 2 * x * p - 2 * k * before),
    "hermite_he": (lambda x: x, lambda k, x, p, before: x * p - k * before),
    "laguerre_l": (lambda x: 1 - x, lambda k, x, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1)),
    "legendre_p": (lambda x: x, lambda k, x, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1)),
}
"""The polynomial of degree 1, and the recurrence; that of degree 0 is 1."""


def _polynomial(x: np.ndarray, n: np.ndarray, family: str) -> np.ndarray:
    """Zero where the degree is negative."""
    first, step = FAMILIES[family]
    dtype, x = x.dtype, np.asarray(x, np.float64)
    degree = np.trunc(n)
    before, p = np.ones_like(x), first(x)
    made = np.where(degree == 0, before, np.where(degree == 1, p, np.where(degree < 0, 0.0, np.nan)))
    for k in range(1, int(np.max(degree[np.isfinite(degree)], initial=0))):
        before, p = p, step(k, x, p, before)
        made = np.where(degree == k + 1, p, made)
    return made.astype(dtype)


def _pull(m: Any, inputs: Any, results: Any, cts: Any, family: str) -> Any:
    text = f"the derivative of {family} polynomials is not implemented"
    return [m(refused.of(m.b, x.value.type, text, [each.value for each in (cts[0], *inputs)])) for x in inputs]


polynomial = Library(
    "polynomial", lambda x, n, family: x, _polynomial, _pull, {"family": "word"},
    samples=lambda rng: [([rng.uniform(-1, 1, 6), np.arange(6.0)], {"family": family}) for family in FAMILIES],
)  # fmt: skip

__all__ = ["FAMILIES", "polynomial"]
