"""scipy.linalg's functions of banded matrices, kept by their diagonals: systems of equations, symmetric eigenvalues.

SciPy solves on numbers, in time and memory of the bands; a complex array is a tuple of its two parts. The cotangent of
a right side solves the system of the adjoint matrix, whose diagonals are those of the matrix moved along, and that of
an element is a product of two vectors, made for the elements within the bands alone. So every order follows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import unknown
from ....compiler.frontend.numpy.complex.complexes import ANY
from ....compiler.frontend.numpy.matrices.linalg import holds
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ...control import scan
from ...external import External
from ...rules import custom_vjp
from .matrices import Parts, matrix, narrowed, parts, whole


def moved(row: Any, by: int) -> Any:
    """A row whose element j is what element j + by was, and zero where there was none."""
    n = row.shape[0]
    zeros = np.zeros(min(abs(by), n), row.dtype)
    if by >= 0:
        return np.concatenate([row[by:], zeros]) if by else row
    return np.concatenate([zeros, row[: max(n + by, 0)]])


def adjoint_bands(ab: Any, low: int, up: int) -> Any:
    """The diagonals of the adjoint matrix, which has `up` below its own and `low` above.

    Element i, j stands in row up + i - j of column j; that of the adjoint in row low + j - i of column i.
    """
    return np.conjugate(np.stack([moved(ab[low + up - r], r - low) for r in range(low + up + 1)]))


@lru_cache
def system(low: int, up: int) -> Any:
    """x with A x = b as a function of the diagonals of A and of b, a matrix; both real, or both complex."""

    def numbers(ab: Parts, b: Parts) -> Parts:
        import scipy.linalg

        made = scipy.linalg.solve_banded((low, up), whole(ab), whole(b), check_finite=False)
        return tuple(np.array(part, float) for part in parts(np.asarray(made)))

    solved = External(numbers, lambda ab, b: b, None, False, None)

    @custom_vjp
    def solution(ab: Parts, b: Parts) -> Any:
        return solved(ab, b)

    def forth(ab: Parts, b: Parts) -> Any:
        x = solution(ab, b)
        return x, (ab, x)

    def back(saved: Any, ct: Any) -> Any:
        ab, x = map(whole, saved)
        made = system(up, low)(parts(adjoint_bands(ab, low, up)), ct)
        w, right = whole(made), np.conjugate(x)
        rows = [-np.sum(np.stack([moved(each, r - up) for each in w.T], 1) * right, 1) for r in range(low + up + 1)]
        return parts(np.stack(rows)), made

    solution.defvjp(forth, back)
    return solution


def solved(ab: Any, low: int, up: int, b: Any) -> Any:
    """The solution in double precision; `b` is a vector, or a matrix with a column for each right side."""
    bands, right = matrix(ab), matrix(b)
    if bands.ndim != 2 or right.ndim not in (1, 2) or right.shape[0] != bands.shape[1]:
        R.refuse(
            f"a banded system of arrays of shapes {bands.shape} and {right.shape}",
            "give it the diagonals as an array of two axes, and as many rows on the right as a diagonal has",
        )
    if bands.shape[0] != low + up + 1:
        raise ValueError("invalid values for the number of lower and upper diagonals: l+u+1 must equal ab.shape[0]")
    kind = np.result_type(bands.dtype, right.dtype)
    columns = right.reshape((right.shape[0], -1)).astype(kind)
    return whole(system(low, up)(parts(bands.astype(kind)), parts(columns))).reshape(right.shape)


# ---- SciPy's names


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    low, up = given("scipy.linalg.solve_banded", "l_and_u", l_and_u)
    return narrowed(solved(ab, low, up, b), ab, b)


def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    half = matrix(ab)
    width = half.shape[0] - 1
    low, up = (width, 0) if lower else (0, width)
    other = adjoint_bands(half, low, up)
    own = np.real(half[up : up + 1]).astype(half.dtype)
    full = [other[:width], own, half[1:]] if lower else [half[:width], own, other[1:]]
    return narrowed(solved(np.concatenate(full), width, width, b), ab, b)


def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Of a factor that keeps the lower or the upper triangle: two systems, of it and of its adjoint."""
    cb, lower = cb_and_lower
    half = matrix(cb)
    width = half.shape[0] - 1
    low, up = (width, 0) if lower else (0, width)
    other = adjoint_bands(half, low, up)
    first, second = (half, other) if lower else (other, half)
    return narrowed(solved(second, 0, width, solved(first, width, 0, b)), cb, b)


def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """Column after column: each is what the columns before it, as many as there are diagonals beside, leave of it.

    What stands at the corners, outside of the matrix, is handed on, as by SciPy.
    """
    half = matrix(ab)
    if half.dtype.kind == "c":
        raise unknown("scipy.linalg.cholesky_banded", " of complex diagonals")
    width, n = half.shape[0] - 1, half.shape[1]
    rows = np.arange(width + 1)[:, None] + np.arange(n)
    inside = rows < n if lower else rows >= width
    known = np.where(inside, half, 0.0)
    if not lower:
        known = np.stack([moved(known[width - k], k) for k in range(width + 1)])

    def column(before: Any, own: Any) -> Any:
        """`before` is a row for each earlier column, from the row of the new one down."""
        left = own - before[:, 0] @ before
        made = left / np.sqrt(left[0])
        behind = np.concatenate([made[None, 1:], before[:, 1:]])[:width]
        return np.concatenate([behind, np.zeros((width, 1))], 1), made

    _, columns = scan(column, np.zeros((width, width + 1)), known.T)
    holds(columns[:, 0] > 0, "leading minor not positive definite")
    factor = columns.T
    if not lower:
        factor = np.stack([moved(factor[width - r], r - width) for r in range(width + 1)])
    return narrowed(np.where(inside, factor, half), ab)


def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """By the eigenvalues of the full matrix, whose derivatives these are."""
    name = "scipy.linalg.eigh_tridiagonal"
    kind = given(name, "select", select)
    if kind not in ("a", "i"):
        raise unknown(name, f" with select={kind!r}")
    diagonal, beside = matrix(d), matrix(e)
    full = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    chosen = slice(None)
    if kind == "i":
        first, last = given(name, "select_range", select_range)
        chosen = slice(int(first), int(last) + 1)
    if eigvals_only:
        return narrowed(np.linalg.eigvalsh(full)[chosen], d, e)
    values, vectors = np.linalg.eigh(full)
    return narrowed(values[chosen], d, e), narrowed(vectors[:, chosen], d, e)


def eigvalsh_tridiagonal(
    d: Any, e: Any, select: str = "a", select_range: Any = None, check_finite: bool = True, tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    return eigh_tridiagonal(d, e, True, select, select_range)


_MEANINGS = (solve_banded, solveh_banded, cho_solve_banded, cholesky_banded, eigh_tridiagonal, eigvalsh_tridiagonal)
recode("scipy.linalg", {each.__name__: each for each in _MEANINGS})
ANY.update((solve_banded, solveh_banded, cho_solve_banded))

__all__ = ["solve_banded", "solveh_banded"]
