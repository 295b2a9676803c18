"""LAPACK's factors and solutions as loops of NumPy's operations: one matrix in, what the routine gives out.

What a routine means, in which order it returns what and what it does where nothing exists, is said where it is declared
(`ops.linalg`). These are the textbook's algorithms, a column after the other (Golub and Van Loan, "Matrix
Computations", 4th edition: 3.2 and 3.4 for LU, 4.2.3 for Cholesky's, 5.2.1 for Householder's), for matrices of the
sizes that fit into a small machine: all of a column is computed and masked, so that every loop has the same length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .counting import counted, unit


def potrf(a: Any) -> Any:
    """The lower Cholesky factor; NaN everywhere if the matrix is not positive definite."""
    n, bad = len(a), 0.0
    rows, low = counted(n), np.zeros_like(a)
    for k in range(n):
        column = a[:, k] - low @ low[k]
        pivot = column[k]
        bad = bad + np.where(pivot > 0, 0.0, 1.0)
        low[:, k] = np.where(rows >= k, column / np.sqrt(np.where(pivot > 0, pivot, 1.0)), 0.0)
    return np.where(bad > 0, np.nan, low).astype(a.dtype)


def getrf(a: Any) -> tuple[Any, Any]:
    """The factors of the transpose, transposed, and the row that each row was swapped with, from 1."""
    n = len(a)
    rows, swaps, lu = counted(n), np.zeros(n, np.int64), a.T.copy()
    for k in range(n):
        at = np.argmax(np.where(rows >= k, np.abs(lu[:, k]), -1.0))
        swaps[k] = at + 1
        here, there = lu[k].copy(), lu[at].copy()
        lu[at] = here
        lu[k] = there
        below = lu[:, k] / np.where(there[k] == 0, 1.0, there[k]).astype(a.dtype)
        rest = np.where((rows[:, None] > k) & (rows > k), lu - np.outer(below, there), lu)
        lu[:] = np.where((rows[:, None] > k) & (rows == k), below[:, None], rest)
    return lu.T, swaps


def getri(factors: Any, swaps: Any) -> Any:
    """The inverse by the factors of `getrf`, transposed."""
    return getrs(factors, swaps, unit(len(factors), len(factors), factors.dtype), 0)


def getrs(factors: Any, swaps: Any, b: Any, turned: int) -> Any:
    """X with A X = B, or A' X = B, by the factors of `getrf`; B and X are transposed."""
    lu, x, n = factors.T, b.T.copy(), len(factors)
    if turned:
        x = _exchanged(trsm(lu, trsm(lu, x, 1, 1), 0, 1, unit=True), swaps, back=True)
    else:
        x = trsm(lu, trsm(lu, _exchanged(x, swaps, back=False), 0, 0, unit=True), 1, 0)
    singular = np.sum(np.where(lu[counted(n), counted(n)] == 0, 1.0, 0.0)) > 0
    return np.where(singular, np.nan, x.T).astype(b.dtype)


def _exchanged(x: Any, swaps: Any, back: bool) -> Any:
    """The rows as the swaps leave them, from the last to the first if `back`."""
    x, n = x.copy(), len(swaps)
    for step in range(n):
        k = n - 1 - step if back else step
        at = swaps[k] - 1
        here, there = x[k].copy(), x[at].copy()
        x[at] = here
        x[k] = there
    return x


def trsm(a: Any, b: Any, upper: int, turned: int, unit: bool = False) -> Any:
    """X with T X = B, or T' X = B where it is `turned`, for a triangle T of A; of ones on its diagonal if `unit`."""
    t, n, x = a.T if turned else a, len(a), np.zeros_like(b)
    rows, from_below = counted(n), bool(upper) != bool(turned)
    for step in range(n):
        k = n - 1 - step if from_below else step
        known = np.where(rows > k if from_below else rows < k, t[k], 0.0).astype(b.dtype)
        rest = b[k] - known @ x
        x[k] = rest if unit else rest / t[k, k]
    return x


def solve(a: Any, b: Any) -> Any:
    """X with A X = B."""
    factors, swaps = getrf(a.T)
    return getrs(factors, swaps, b.T, 0).T


def qr(a: Any, mode: str) -> tuple[Any, Any]:
    """Q and R by Householder's reflections, with LAPACK's signs."""
    rows, columns = a.shape
    n, size = min(rows, columns), rows if mode == "complete" else min(rows, columns)
    place, r, q = counted(rows), a.copy(), unit(rows, size, a.dtype)
    vectors, scales = np.zeros((n, rows), a.dtype), np.zeros(n, a.dtype)
    for k in range(n):
        below = np.where(place > k, r[:, k], 0.0)
        scale = np.max(np.abs(np.where(place >= k, r[:, k], 0.0)))
        safe = np.where(scale > 0, scale, 1.0)
        norm = scale * np.sqrt(np.sum((np.where(place >= k, r[:, k], 0.0) / safe) ** 2))
        rest = np.max(np.abs(below)) > 0
        head = r[k, k]
        beta = np.where(rest, np.where(head < 0, norm, -norm), head)
        v = np.where(place == k, 1.0, below / np.where(rest, head - beta, 1.0))
        tau = np.where(rest, (beta - head) / np.where(beta == 0, 1.0, beta), 0.0)
        vectors[k] = v.astype(a.dtype)
        scales[k] = tau.astype(a.dtype)
        r[:] = (r - np.outer(tau * v, v @ r)).astype(a.dtype)
    for step in range(n):
        k = n - 1 - step
        q[:] = q - np.outer(scales[k] * vectors[k], vectors[k] @ q)
    return q, np.triu(r)[:size]


def lu_factor(a: Any) -> tuple[Any, Any, Any]:
    """L below the diagonal and U from it on, the row that each row was swapped with, and the first pivot of zero."""
    rows, columns = a.shape
    n, place, beside = min(rows, columns), counted(rows)[:, None], counted(columns)
    pivots, info, lu = np.zeros(n, np.int32), 0, a.copy()
    for k in range(n):
        at = np.argmax(np.where(place[:, 0] >= k, np.abs(lu[:, k]), -1.0))
        pivots[k] = at + 1
        here, there = lu[k].copy(), lu[at].copy()
        lu[at] = here
        lu[k] = there
        info = np.where((info == 0) & (there[k] == 0), k + 1, info)
        below = lu[:, k] / np.where(there[k] == 0, 1.0, there[k]).astype(a.dtype)
        rest = np.where((place > k) & (beside > k), lu - np.outer(below, there), lu)
        lu[:] = np.where((place > k) & (beside == k), below[:, None], rest)
    return lu, pivots, np.int32(info)


def permutation(pivots: Any, rows: int, dtype: str) -> Any:
    """P of A = P L U."""
    return _exchanged(unit(rows, rows, {"f32": np.float32, "f64": np.float64}[dtype]), pivots, back=False).T


def cholesky_info(a: Any) -> Any:
    """The order of the first leading minor that is not positive, 0 if all are."""
    n, info = len(a), 0
    rows, low = counted(n), np.zeros_like(a)
    for k in range(n):
        column = a[:, k] - low @ low[k]
        good = column[k] > 0
        info = np.where((info == 0) & ~good, k + 1, info)
        low[:, k] = np.where(rows >= k, column / np.sqrt(np.where(good, column[k], 1.0)), 0.0)
    return np.int32(info)
