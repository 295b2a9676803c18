"""Schur's and Hessenberg's forms of square matrices, A = Z T Z^H, by SciPy's LAPACK, with pullbacks of our own.

Z^H dZ = K is skew, and what lies below the form has to stay zero: for the part L of K below the diagonal that is
T L - L T = -Z^H dA Z there, which `commutator` solves (LAPACK's Sylvester equations from block to block; column by
column for Hessenberg's form). What the form leaves free of K is LAPACK's choice where that is a condition: blocks of
two rows in the real Schur form have equal elements on the diagonal, and the first column of Hessenberg's Z is fixed.
Equal eigenvalues, and rotations times a number as blocks, have no derivative, which is NaN. Rules are read over pairs,
too (`ops.complex.similarities`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.types import Type
from ..complex.pair import Pair
from ..library import Library, each, near_one, square
from ..reduce import sum_
from . import matrices as M


def one_by_one(function: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """A function of one matrix each of many, NaN where a number is not finite."""

    def of_matrix(*given: np.ndarray) -> Any:
        if not all(np.isfinite(a).all() for a in given):
            raise np.linalg.LinAlgError
        return function(*given)

    def of_all(*given: np.ndarray) -> Any:
        if given[0].ndim > 2:
            raise np.linalg.LinAlgError
        return of_matrix(*given)

    return each(of_all, *arrays)


def schur_of(a: np.ndarray, sort: str) -> tuple[np.ndarray, ...]:
    """T and Z, and how many eigenvalues `sort` put first."""
    import scipy.linalg

    def one(x: np.ndarray) -> tuple[Any, ...]:
        made = scipy.linalg.schur(x, sort=sort if sort != "none" else None, check_finite=False)
        return *made[:2], np.float64(made[2] if len(made) > 2 else 0)

    return one_by_one(one, a)


def hessenberg_of(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import scipy.linalg

    return one_by_one(lambda x: tuple(scipy.linalg.hessenberg(x, calc_q=True, check_finite=False)), a)


# ---- T X - X T = C below the form


def commutator_of(t: np.ndarray, c: np.ndarray, form: str, turned: int) -> np.ndarray:
    function = _below_schur if form == "schur" else _below_hessenberg
    return one_by_one(lambda t, c: function(t, c, turned), t, c)


def _below_schur(t: np.ndarray, c: np.ndarray, turned: int) -> np.ndarray:
    """By halves, whose corner is a Sylvester equation; parts below are known before it, or after where it is turned."""
    n, x = len(t), np.zeros_like(c)
    if n < 2 or (n == 2 and _is_block(t, 0)):
        return x
    k = n // 2 + _is_block(t, n // 2 - 1)
    t11, t12, t22 = t[:k, :k], t[:k, k:], t[k:, k:]
    corner, head, tail = c[k:, :k], c[:k, :k], c[k:, k:]
    if turned:
        x[:k, :k], x[k:, k:] = _below_schur(t11, head, 1), _below_schur(t22, tail, 1)
        crossed = t12.conj().T
        x[k:, :k] = _sylvester(t22, t11, corner - crossed @ x[:k, :k] + x[k:, k:] @ crossed, "C")
    else:
        x[k:, :k] = _sylvester(t22, t11, corner, "N")
        x[:k, :k] = _below_schur(t11, head - t12 @ x[k:, :k], 0)
        x[k:, k:] = _below_schur(t22, tail + x[k:, :k] @ t12, 0)
    return x


def _is_block(t: np.ndarray, k: int) -> bool:
    """Whether rows k and k + 1 of the real Schur form are a block."""
    return not np.iscomplexobj(t) and bool(t[k + 1, k] != 0)


def _sylvester(a: np.ndarray, b: np.ndarray, c: np.ndarray, turned: str) -> np.ndarray:
    """X with A X - X B = C for matrices in Schur's form, NaN if they have an eigenvalue in common."""
    from scipy.linalg import get_lapack_funcs

    (trsyl,) = get_lapack_funcs(("trsyl",), (a, b, c))
    how = turned if np.iscomplexobj(c) or turned == "N" else "T"
    x, scale, info = trsyl(a, b, c, trana=how, tranb=how, isgn=-1)
    return x * (scale if info == 0 else np.nan)


def _below_hessenberg(h: np.ndarray, c: np.ndarray, turned: int) -> np.ndarray:
    """Column by column: each is known from those before it, or behind it where it is turned."""
    n, x, h = len(h), np.zeros_like(c), np.triu(h, -1)
    if turned:
        g = h.conj().T
        for k in range(n - 2, 0, -1):
            known = g[k + 1 :] @ x[:, k] - x[k + 1 :, k:] @ g[k:, k] - c[k + 1 :, k]
            x[k + 1 :, k - 1] = known / g[k - 1, k]
    else:
        for k in range(n - 2):
            known = h[k + 2 :] @ x[:, k] - x[k + 2 :, : k + 1] @ h[: k + 1, k] - c[k + 2 :, k]
            x[k + 2 :, k + 1] = known / h[k + 1, k]
    return x


def _kept(m: Any, t: Any, x: Any, form: str) -> Any:
    """The part of a matrix that lies in the form."""
    if form == "hessenberg":
        return M.upper(m, x, -1)
    if isinstance(t, Pair):
        return M.upper(m, x)
    return m.select(M.mask(m, M.shape_of(t), lambda m, i, j: m.or_(m.ge(j, i), _in_block(m, t, i, j))), x, 0.0)


def _in_block(m: Any, t: Any, i: Any, j: Any) -> Any:
    return m.and_(m.eq(j + 1, i), m.ne(t, 0.0))


def commutator_pull(m: Any, inputs: Any, results: Any, cts: Any, form: str, turned: int) -> Any:
    (t, _), (x,), (ct,) = inputs, results, cts
    made = m.commutator(t, ct, form=form, turned=1 - turned)
    if turned:
        across = M.adjoint(m, made)
        of_t = M.product(m, across, x) - M.product(m, x, across)
    else:
        across = M.adjoint(m, x)
        of_t = M.product(m, across, made) - M.product(m, made, across)
    return [_kept(m, t, of_t, form), made]


def commutator_type(t: Type, c: Type, form: str, turned: int) -> Type:
    if t.shape != c.shape or t.dtype != c.dtype:
        raise TypeError(f"a matrix of type {t} does not fit with {c}")
    return c


def _commutators(rng: np.random.Generator) -> Any:
    a = rng.normal(size=(2, 5, 5))
    made = [(schur_of(a, "none")[0], "schur"), (hessenberg_of(a)[0], "hessenberg")]
    return [([t, rng.normal(size=a.shape)], {"form": f, "turned": k}) for t, f in made for k in (0, 1)]


commutator = Library(
    "commutator", lambda t, c, form, turned: commutator_type(square(t), c, form, turned), commutator_of,
    commutator_pull, {"form": "word", "turned": "axis"}, samples=_commutators,
)  # fmt: skip
"""X with T X - X T = C below the form (T^H in place of T where it is `turned`), and zero elsewhere."""

# ---- the forms


def pulled(m: Any, results: Any, cts: Any, form: str, gauge: Callable[..., Any]) -> Any:
    """The cotangent of the matrix; gauge(m, t, slopes, gt, gz) adds what the conditions on K beside the form give."""
    (t, z), (gt, gz) = results, cts
    adjoint, gt = M.adjoint(m, t), _kept(m, t, gt, form)

    def along(x: Any) -> Any:
        return M.product(m, adjoint, x) - M.product(m, x, adjoint)

    slopes, middle = along(gt) + M.product(m, M.adjoint(m, z), gz), gt
    chosen = gauge(m, t, slopes, gt, gz)
    if chosen is not None:
        middle, slopes = middle + chosen, slopes + along(chosen)
    middle = middle - m.commutator(t, slopes - M.adjoint(m, slopes), form=form, turned=1)
    return M.product(m, z, middle, M.adjoint(m, z))


def no_gauge(*_: Any) -> None:
    """The form itself decides."""


def _equal_diagonal(m: Any, t: Any, slopes: Any, *_: Any) -> Any:
    """A block turns so that its elements on the diagonal stay equal: by half their difference over b + c."""
    n = M.shape_of(t)[-1]
    here = M.mask(m, M.shape_of(t), lambda m, i, j: _in_block(m, t, i, j))
    by = m.select(here, 2.0 * (t + M.turned(m, t)), 1.0)
    turns = m.select(here, (slopes - M.turned(m, slopes)) / by, 0.0)
    rank = len(M.shape_of(t))
    second, first = (m(sum_(m.b, turns.value, axes=(axis,))) for axis in (rank - 1, rank - 2))
    return M.where(m, M.columns(m, second - first, n), M.on_diagonal)


def _schur_pull(m: Any, inputs: Any, results: Any, cts: Any, sort: str) -> Any:
    return [pulled(m, results[:2], cts[:2], "schur", _equal_diagonal)]


schur = Library(
    "schur", lambda a, sort: (square(a), a, a.with_shape(a.shape[:-2])), schur_of, _schur_pull, {"sort": "word"},
    samples=lambda rng: [([near_one(rng, 3, 3)], {"sort": "none"}), ([rng.normal(size=(2, 5, 5))], {"sort": "lhp"})],
)  # fmt: skip
hessenberg = Library(
    "hessenberg", lambda a: (square(a), a), hessenberg_of,
    lambda m, inputs, results, cts: [pulled(m, results, cts, "hessenberg", no_gauge)],
    samples=lambda rng: [([near_one(rng, 3, 3)], {}), ([rng.normal(size=(2, 5, 5))], {})],
)  # fmt: skip

__all__ = [
    "commutator", "commutator_of", "commutator_pull", "commutator_type", "hessenberg", "hessenberg_of", "no_gauge",
    "one_by_one", "pulled", "schur", "schur_of",
]  # fmt: skip
