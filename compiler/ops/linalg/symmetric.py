"""Factors L D L^H, or L D L^T, of symmetric and Hermitian matrices, by SciPy's LAPACK, with a pullback of our own.

In the order of the pivots, which are Bunch and Kaufman's and constant by steps, the matrix is L D L^H with a unit
triangle L and blocks of one or two rows D. M = L^-1 dA L^-H = X D + dD + D X^H for X = L^-1 dL, which is zero in the
blocks: dD are the blocks of M, and X = N(M) D^-1, where N takes what is below them. The rule is read over pairs, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.types import Type
from ..library import Library, positive, square
from . import matrices as M
from .similarity import one_by_one


def ldl_of(a: np.ndarray, lower: int, hermitian: int) -> tuple[np.ndarray, ...]:
    """L with its rows where the matrix has them, D, and the permutation that makes L a triangle."""
    import scipy.linalg

    def one(x: np.ndarray) -> tuple[np.ndarray, ...]:
        if hermitian and np.iscomplexobj(x):  # what lies beside the real diagonal counts for nothing
            x = x - 1j * np.diag(np.imag(np.diagonal(x)))
        made = scipy.linalg.ldl(x, lower=bool(lower), hermitian=bool(hermitian), check_finite=False)
        return *made[:2], np.eye(len(x), dtype=x.dtype)[made[2]]

    return one_by_one(one, a)


def ldl_pull(m: Any, inputs: Any, results: Any, cts: Any, lower: int, hermitian: int) -> Any:
    (factor, d, order), (g_factor, g_d, _) = results, cts
    turn, shape = M.adjoint if hermitian else M.turned, M.shape_of(d)
    moved = M.product(m, order, factor)
    slope = M.product(m, M.adjoint(m, moved), M.product(m, order, g_factor))
    off = M.mask(m, shape, lambda m, i, j: m.and_(m.ne(i, j), m.ne(d, 0.0)))
    strict = M.lower(m, slope, -1) if lower else M.upper(m, slope, 1)
    inside = m.select(off, g_d, 0.0) + M.where(m, g_d, M.on_diagonal)

    def outside(x: Any) -> Any:
        return m.select(off, 0.0, x)

    over = M.adjoint(m, m.solve(d, M.adjoint(m, outside(strict)), turned=0))
    over = outside(M.lower(m, over, -1) if lower else M.upper(m, over, 1)) + inside
    for _ in range(2):
        over = turn(m, m.triangular(moved, over, upper=1 - lower, turned=1))
    return [M.product(m, M.turned(m, order), over, order)]


def _types(a: Type, lower: int, hermitian: int) -> tuple[Type, Type, Type]:
    return square(a), a, a


ldl = Library(
    "ldl", _types, ldl_of, ldl_pull, {"lower": "axis", "hermitian": "axis"},
    samples=lambda rng: [([positive(rng, *shape) - 1.5 * np.eye(shape[-1])], {"lower": k, "hermitian": 1})
                         for shape in ((4, 4), (2, 5, 5)) for k in (0, 1)],
)  # fmt: skip

__all__ = ["ldl", "ldl_of", "ldl_pull"]
