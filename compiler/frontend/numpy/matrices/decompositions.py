"""Factors of matrices on traced arrays: np.linalg's cholesky, qr, eigh and svd.

Vectors beyond the rank that a matrix's size allows only span a space, and have that space's derivative: for a result
that depends on how they span it, the call raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.linalg import complements, factor, spectra
from ...array import FUNCTIONS, Array, implements, unknown
from ..ufuncs import elementwise
from .linalg import emitted, holds, matrices, mirrored, turned

_QR: Any = type(np.linalg.qr(np.eye(1)))
_EIGH: Any = type(np.linalg.eigh(np.eye(1)))
_SVD: Any = type(np.linalg.svd(np.eye(1)))
"""NumPy's own named tuples of results."""

# ---- triangular and orthogonal factors


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    x = mirrored(matrices("cholesky", a), upper)
    (made,) = emitted(factor.cholesky, x)
    if made.size:
        diagonal = FUNCTIONS[np.diagonal](made, 0, -2, -1)
        holds(elementwise(np.greater, diagonal, 0), "Matrix is not positive definite")
    return turned(made) if upper else made


def checked_mode(mode: str) -> None:
    """Refuse what is no mode of np.linalg.qr, and the one that has no meaning here."""
    if mode == "raw":
        raise unknown("np.linalg.qr", " with mode='raw'")
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    checked_mode(mode)
    x = matrices("qr", a, square=False)
    q, r = emitted(factor.qr, x, mode="reduced")
    rows, columns = x.shape[-2:]
    if mode == "r":
        return r
    if mode == "complete" and rows > columns:
        whole = emitted(factor.qr, x, mode="complete")[0]
        q = _joined(q, spanning(whole[..., columns:], x, BEYOND_QR), -1)
        r = FUNCTIONS[np.concatenate]([r, np.zeros((*x.shape[:-2], rows - columns, columns), r.dtype)], axis=-2)
    return _QR(q, r)


def _joined(x: Array, y: Array, axis: int) -> Array:
    return FUNCTIONS[np.concatenate]([x, y], axis=axis)


BEYOND_QR = "np.linalg.qr's columns beyond those of the matrix"
BEYOND_SVD = "np.linalg.svd's vectors beyond the singular values"


def spanning(z: Array, a: Array, what: str, prim: Any = complements.complement) -> Array:
    """An orthonormal basis of what is orthogonal to the columns of a."""
    text = f"{what} have no derivative but that of the space they span, as the projector z @ z.T has it"
    return emitted(prim, z, a, text=text)[0]


# ---- eigenvalues and singular values


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    return _EIGH(*_eigen("eigh", a, UPLO))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    return _eigen("eigvalsh", a, UPLO)[0]


def _eigen(name: str, a: Any, UPLO: str) -> tuple[Array, ...]:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    x = mirrored(matrices(name, a), UPLO.upper() == "U")
    made = emitted(spectra.eigh, x, upper=0)
    if x.shape[-1] > 2:  # of which LAPACK tells
        _converged(made[0], "Eigenvalues did not converge")
    return made


def _converged(values: Array, text: str) -> None:
    if values.size:
        holds(elementwise(np.logical_not, elementwise(np.isnan, values[..., 0])), text)


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    x = matrices("svd", a, square=hermitian)
    if hermitian:
        x = mirrored(x)
    if not compute_uv:
        return svdvals(x)
    u, s, vh = emitted(spectra.svd, x, full=0)
    _converged(s, "SVD did not converge")
    rows, columns = x.shape[-2:]
    if full_matrices and rows != columns:
        n, whole = min(rows, columns), emitted(spectra.svd, x, full=1)
        if rows > n:
            u = _joined(u, spanning(whole[0][..., n:], x, BEYOND_SVD), -1)
        else:
            vh = _joined(vh, turned(spanning(turned(whole[2][..., n:, :]), turned(x), BEYOND_SVD)), -2)
    return _SVD(u, s, vh)


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Array:
    given = matrices("svdvals", x, square=False)
    (made,) = emitted(spectra.singular_values, given)
    _converged(made, "SVD did not converge")
    return made
