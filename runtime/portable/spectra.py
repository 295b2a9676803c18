"""Eigenvalues and singular values by Jacobi's rotations, as loops of NumPy's operations: one matrix in.

Golub and Van Loan, "Matrix Computations", 4th edition: 8.5 for the symmetric one, 8.6.3 for the one-sided one, whose
small singular values are as exact as the large ones. Vectors have signs of their own, which nothing decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .counting import counted, unit
from .matrices import getrf, qr, solve
from .ordering import argsort

SWEEPS = 40
"""After that many it ends in any case; eight are usual."""


def eigh(a: Any, upper: int) -> tuple[Any, Any]:
    """Eigenvalues in order and vectors, of the symmetric matrix that one triangle says."""
    n, half = len(a), np.triu(a) if upper else np.tril(a)
    a = half + half.T - np.diag(np.diagonal(half))
    v, sweep, moved = unit(n, n, a.dtype), 0, True
    while moved and sweep < SWEEPS:
        moved = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                size = np.sqrt(np.abs(a[p, p])) * np.sqrt(np.abs(a[q, q]))
                if np.abs(a[p, q]) > np.finfo(a.dtype).eps * 0.5 * size and np.abs(a[p, q]) > np.finfo(a.dtype).tiny:
                    moved = True
                    c, s = _rotation(a[p, p], a[p, q], a[q, q])
                    left, right = a[p].copy(), a[q].copy()
                    a[p] = c * left - s * right
                    a[q] = s * left + c * right
                    left, right = a[:, p].copy(), a[:, q].copy()
                    a[:, p] = c * left - s * right
                    a[:, q] = s * left + c * right
                    left, right = v[:, p].copy(), v[:, q].copy()
                    v[:, p] = c * left - s * right
                    v[:, q] = s * left + c * right
        sweep = sweep + 1
    w = np.diagonal(a)
    order = argsort(w)
    return w[order], v[:, order]


def _rotation(pp: Any, pq: Any, qq: Any) -> tuple[Any, Any]:
    """Cosine and sine of the rotation that makes (pp, pq; pq, qq) a diagonal one."""
    tau = (qq - pp) / (2.0 * pq)
    t = np.where(tau >= 0, 1.0, -1.0) / (np.abs(tau) + np.hypot(1.0, tau))
    c = 1.0 / np.sqrt(1.0 + t * t)
    return c.astype(pq.dtype), (t * c).astype(pq.dtype)


def svd(a: Any, full: int) -> tuple[Any, Any, Any]:
    """U, the singular values from the largest on, and the transpose of V."""
    rows, columns = a.shape
    if rows < columns:
        v, s, u = svd(a.T, full)
        return u.T, s, v.T
    u, v, sweep, moved = a.copy(), unit(columns, columns, a.dtype), 0, True
    while moved and sweep < SWEEPS:
        moved = False
        for p in range(columns - 1):
            for q in range(p + 1, columns):
                left, right = u[:, p].copy(), u[:, q].copy()
                pp, pq, qq = left @ left, left @ right, right @ right
                if np.abs(pq) > np.finfo(a.dtype).eps * np.sqrt(pp) * np.sqrt(qq):
                    moved = True
                    c, s = _rotation(pp, pq, qq)
                    u[:, p] = c * left - s * right
                    u[:, q] = s * left + c * right
                    left, right = v[:, p].copy(), v[:, q].copy()
                    v[:, p] = c * left - s * right
                    v[:, q] = s * left + c * right
        sweep = sweep + 1
    s = np.sqrt(np.sum(u * u, axis=0))
    order = argsort(-s)
    u, s = u[:, order], s[order]
    q, r = qr(u, "complete" if full else "reduced")  # also where a value is zero, which has no column
    signs = np.where(np.diagonal(r) < 0, -1.0, 1.0).astype(a.dtype)
    if full:
        signs = np.concatenate([signs, np.ones(rows - columns, a.dtype)])
    return q * signs, s, v[:, order].T


def singular_values(a: Any) -> Any:
    """The singular values, from the largest on."""
    return svd(a, 0)[1]


def pinv(a: Any, atol: Any, rtol: Any) -> Any:
    """The inverse of Moore and Penrose, without singular values up to max(atol, rtol times the largest)."""
    u, s, vh = svd(a, 0)
    keeps = s > np.maximum(atol, rtol * np.max(s))
    return vh.T @ (np.where(keeps, 1.0 / np.where(keeps, s, 1.0), 0.0)[:, None].astype(a.dtype) * u.T)


def cofactor(a: Any) -> Any:
    """det(a) times the inverse's transpose, which exists for singular matrices too; by singular values."""
    u, s, vh = svd(a, 0)
    n, others = len(a), np.ones_like(s)
    for k in range(n):
        others[k] = np.prod(np.where(counted(n) == k, 1.0, s))
    sign = _turns(u) * _turns(vh)
    return ((sign * others) * u) @ vh


def _turns(q: Any) -> Any:
    """The determinant of an orthogonal matrix: 1 or -1."""
    factors, swaps = getrf(q)
    n = len(swaps)
    odd = (swaps != counted(n) + 1) ^ (np.diagonal(factors) < 0)
    return np.prod(np.where(odd, -1.0, 1.0)).astype(q.dtype)


_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
         10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0,
         1.0)  # fmt: skip


def matrix_exp(a: Any) -> Any:
    """Padé's approximant of order 13 of a matrix that is halved until its norm is below 5.4, and then squared.

    Higham, "The scaling and squaring method for the matrix exponential revisited" (2005).
    """
    c, n, x, halvings = _PADE, len(a), a.astype(np.float64), 0
    norm = np.max(np.sum(np.abs(x), axis=0))
    while norm > 5.37 and norm < np.inf:
        norm, x, halvings = 0.5 * norm, 0.5 * x, halvings + 1
    one = unit(n, n, np.float64)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    u = x @ (x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2) + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one)
    v = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2) + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    made = solve(v - u, v + u)
    for _ in range(halvings):
        made = made @ made
    return np.where(norm < np.inf, made, np.nan).astype(a.dtype)
