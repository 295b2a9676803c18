"""Eigenvalues and singular values, by NumPy's LAPACK, and the exponential of matrices, with pullbacks of our own.

The rules are those of Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), and of Walter and Lehmann (2010).  Where values are equal, vectors have no derivative; that of
the values does not ask for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir.types import Type
from ..library import Library, each, near_one, positive, square
from . import matrices as M


def _apart(m: Any, differences: Any) -> Any:
    """Differences of eigenvalues, with ones on the diagonal."""
    return M.where(m, differences, lambda m, i, j: m.ne(i, j), 1.0)


def _eigh_pull(m: Any, inputs: Any, results: Any, cts: Any, upper: int) -> Any:
    (w, v), (gw, gv) = results, cts
    n = M.shape_of(w)[-1]
    turned = M.turned(m, v)
    if gv is None:
        return [M.product(m, v * M.rows(m, gw, n), turned)]
    sizes = M.product(m, turned, gv)
    middle = 0.5 * (sizes - M.turned(m, sizes))
    gaps = _apart(m, M.rows(m, w, n) - M.columns(m, w, n))
    whole = m(M.sum_(m.b, m.abs(sizes).value, axes=(len(M.shape_of(w)) - 1,)))
    least = 1e-13 * (M.rows(m, whole, n) + M.columns(m, whole, n))
    unasked = m.and_(m.eq(gaps, 0.0), m.le(m.abs(middle), least))  # equal values, of whose vectors nothing is made
    middle = M.where(m, middle / m.select(unasked, 1.0, gaps), lambda m, i, j: m.ne(i, j))
    return [M.product(m, v, middle if gw is None else middle + M.diagonals(m, gw), turned)]


def _eigh(a: np.ndarray, upper: int) -> tuple[np.ndarray, ...]:
    return each(lambda x: tuple(np.linalg.eigh(x, "U" if upper else "L")), a)


eigh = Library(
    "eigh", lambda a, upper: (a.with_shape(square(a).shape[:-1]), a), _eigh, _eigh_pull, {"upper": "axis"}, some=True,
    samples=lambda rng: [([positive(rng, *shape)], {"upper": k}) for k, shape in ((0, (3, 3)), (1, (2, 4, 4)))],
)  # fmt: skip


def _svd_types(a: Type, full: int) -> tuple[Type, ...]:
    *lead, rows, columns = a.shape
    n = min(rows, columns)  # type: ignore[type-var]
    u, v = (rows, columns) if full else (n, n)
    return a.with_shape((*lead, rows, u)), a.with_shape((*lead, n)), a.with_shape((*lead, v, columns))


def _svd(a: np.ndarray, full: int) -> tuple[np.ndarray, ...]:
    return each(lambda x: tuple(np.linalg.svd(x, full_matrices=bool(full))), a)


def _svd_pull(m: Any, inputs: Any, results: Any, cts: Any, full: int) -> Any:
    """U S Vh; the vectors beyond the singular values have no derivative of their own."""
    (u, s, vh), (gu, gs, gvh) = results, cts
    *_, rows, n = *M.shape_of(inputs[0])[:-1], M.shape_of(s)[-1]
    columns = M.shape_of(inputs[0])[-1]
    if full:
        u, vh = M.corner(m, u, rows, n), M.corner(m, vh, n, columns)
    if gu is None and gvh is None:
        return [M.product(m, u * M.rows(m, gs, rows), vh)]
    gu, gs, gvh = (m.number(0.0, r.value.type) if g is None else g for g, r in zip((gu, gs, gvh), results, strict=True))
    if full:
        gu, gvh = M.corner(m, gu, rows, n), M.corner(m, gvh, n, columns)
    v, gv = M.turned(m, vh), M.turned(m, gvh)
    ut = M.turned(m, u)
    squares = s * s
    gaps = _apart(m, M.rows(m, squares, n) - M.columns(m, squares, n))

    def skew(x: Any) -> Any:
        return M.where(m, (x - M.turned(m, x)) / gaps, lambda m, i, j: m.ne(i, j))

    across, down = M.rows(m, s, n), M.columns(m, s, n)
    middle = skew(M.product(m, ut, gu)) * across + down * skew(M.product(m, vh, gv)) + M.diagonals(m, gs)
    made = M.product(m, u, middle, vh)
    if rows > n:
        scaled = gu / M.rows(m, s, rows)
        made = made + M.product(m, scaled - M.product(m, u, ut, scaled), vh)
    if columns > n:
        scaled = gvh / M.columns(m, s, columns)
        made = made + M.product(m, u, scaled - M.product(m, scaled, v, vh))
    return [made]


svd = Library(
    "svd", _svd_types, _svd, _svd_pull, {"full": "axis"}, some=True,
    samples=lambda rng: [([near_one(rng, *shape)], {"full": 0}) for shape in ((3, 3), (5, 3), (2, 3, 4))],
)  # fmt: skip
singular_values = Library(
    "singular_values",
    lambda a: _svd_types(a, 0)[1],
    lambda a: each(lambda x: np.linalg.svd(x, compute_uv=False), a),
    lambda m, inputs, results, cts: [_values_pull(m, inputs[0], cts[0])],
    samples=lambda rng: [([near_one(rng, *shape)], {}) for shape in ((3, 3), (2, 4, 3))],
)


def _values_pull(m: Any, a: Any, ct: Any) -> Any:
    u, _, vh = m.b.emit(svd, a.value, full=0)
    u, vh = m(u), m(vh)
    return M.product(m, u * M.rows(m, ct, M.shape_of(u)[-2]), vh)


# ---- the exponential

_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)  # fmt: skip


def _exponential(a: np.ndarray) -> np.ndarray:
    """Padé's approximant of order 13 of a matrix that is halved until its norm is below 5.4, and then squared.

    Higham, "The scaling and squaring method for the matrix exponential revisited" (2005).
    """
    dtype, a = a.dtype, np.asarray(a, np.float64)
    if a.size == 0:
        return a.astype(dtype)
    norms = np.abs(a).sum(-2).max(-1)
    good = np.isfinite(norms)
    halvings = np.where(good & (norms > 5.37), np.ceil(np.log2(np.maximum(norms, 1e-300) / 5.37)), 0).astype(int)
    x = np.where(good[..., None, None], a, 0) / np.exp2(halvings)[..., None, None]
    one, c = np.eye(a.shape[-1]), _PADE
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    u = x @ (x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2) + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one)
    v = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2) + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    made = np.linalg.solve(v - u, v + u)
    for k in range(int(halvings.max(initial=0))):
        made = np.where((k < halvings)[..., None, None], made @ made, made)
    return np.where(good[..., None, None], made, math.nan).astype(dtype)


def _exponential_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    """The upper right block of the exponential of [[A', G], [0, A']]: its differential along G at the transpose."""
    a = M.turned(m, inputs[0])
    n = M.shape_of(a)[-1]
    both = M.above(m, M.beside(m, a, cts[0]), M.beside(m, M.zeros(m, a), a))
    return [M.block(m, m.matrix_exp(both), 0, n, n, n)]


matrix_exp = Library(
    "matrix_exp", square, _exponential, _exponential_pull,
    samples=lambda rng: [([rng.normal(size=shape)], {}) for shape in ((3, 3), (2, 4, 4))],
)  # fmt: skip
