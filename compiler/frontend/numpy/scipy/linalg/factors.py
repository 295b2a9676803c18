"""scipy.linalg's factors, eigenvalues and functions of matrices on traced arguments, in np.linalg's and `expm`.

Of complex matrices too: signs and phases of vectors are LAPACK's choice, as everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .....ops.linalg import spectra
from ....array import Array, unknown
from ....errors import TraceValueError, message
from ....patched.recoded import recode
from ....tracing import user_line
from ...complex.complexes import ANY, imag, real
from ...complex.linalg import adjoint, embedded, left_half
from ...matrices.linalg import alike, emitted, matrices
from ...reductions import traced
from ...shaping import concatenate
from ...ufuncs import elementwise
from .functions import BY_PROTOCOL, of_triangle, refused, substituted

# ---- eigenvalues and factors


def eigh(
    a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, subset_by_index: Any = None,
    subset_by_value: Any = None, driver: Any = None,
) -> Any:  # fmt: skip
    """A v = w B v by the Cholesky factor of B."""
    refused("eigh", type=(type, 1), subset_by_value=(subset_by_value, None))
    x = of_triangle(matrices("eigh", a), not lower)
    root = None
    if b is not None:
        root = BY_PROTOCOL.cholesky(of_triangle(matrices("eigh", b), not lower))
        half = substituted(root, x, False, False)
        x = substituted(root, adjoint(half), False, False)
    w, v = BY_PROTOCOL.eigh(x)
    if root is not None:
        v = substituted(root, v, False, True)
    if subset_by_index is not None:
        chosen = slice(subset_by_index[0], subset_by_index[1] + 1)
        w, v = w[..., chosen], v[..., chosen]
    return w if eigvals_only else (w, v)


def eigvalsh(a: Any, b: Any = None, **given: Any) -> Array:
    return eigh(a, b, eigvals_only=True, **given)


def eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    refused("eig", b=(b, None), left=(left, False), homogeneous_eigvals=(homogeneous_eigvals, False))
    made = BY_PROTOCOL.eig(matrices("eig", a))
    return tuple(made) if right else made.eigenvalues


def eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Array:
    refused("eigvals", b=(b, None), homogeneous_eigvals=(homogeneous_eigvals, False))
    return BY_PROTOCOL.eigvals(matrices("eigvals", a))


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    made = BY_PROTOCOL.svd(a, full_matrices, compute_uv)
    return tuple(made) if compute_uv else made


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    return BY_PROTOCOL.svdvals(a)


def qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    refused("qr", mode=(mode if mode == "raw" else "full", "full"))
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    order: tuple[Any, ...] = ()
    if pivoting:
        x = matrices("qr", a, square=False)
        if x.ndim != 2 or x.type.is_complex:
            raise unknown("scipy.linalg.qr", " with pivoting of complex numbers or of several matrices")
        order = (_pivots(x),)
        a = x[:, order[0]]
    q, r = BY_PROTOCOL.qr(a, "reduced" if mode == "economic" else "complete")
    return (r, *order) if mode == "r" else (q, r, *order)


def _pivots(x: Any) -> Any:
    """Columns in the order in which each is the longest of what those before it leave of the rest.

    As LAPACK's `geqp3`, whose column is exchanged with the one that stands there: so of equal ones it takes the same.
    """
    rows, n = x.shape
    at, order = np.arange(n), traced(np.arange(n, dtype=np.int32))[1]
    for k in range(min(rows, n)):
        lengths = np.where(at < k, -1.0, np.sum(x * x, axis=0)[order])
        found = np.argmax(lengths)
        longest, here = order[found], order[k]
        order = np.where(at == k, longest, np.where(at == found, here, order))
        column = x[:, longest]
        square = np.sum(column * column)
        x = x - np.outer(column, (column @ x) / np.where(square > 0, square, 1.0))
    return order


# ---- functions of matrices


def expm(A: Any) -> Array:
    """Of complex matrices by real ones of twice the size, which multiply alike."""
    x = matrices("expm", A)
    if x.type.is_complex:
        return left_half(emitted(spectra.matrix_exp, embedded(x))[0])
    return emitted(spectra.matrix_exp, x)[0]


def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True) -> Any:
    """The upper right block of exp [[A, E], [0, A]] (Higham, "Functions of Matrices", 2008, section 3.1)."""
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method!r}")
    x, e = matrices("scipy.linalg.expm_frechet", A), matrices("scipy.linalg.expm_frechet", E)
    if x.shape[-1] != e.shape[-1]:
        raise TraceValueError(message("expected A and E to be square matrices of one shape", user_line()))
    x, e = alike(x, e)
    kind, n = np.result_type(x.dtype, e.dtype, np.float64), x.shape[-1]
    x, e = x.astype(kind), e.astype(kind)
    zeros = elementwise(np.multiply, x, 0)
    made = expm(concatenate([concatenate([x, e], -1), concatenate([zeros, x], -1)], -2))
    return (made[..., :n, :n], made[..., :n, n:]) if compute_expm else made[..., :n, n:]


def _turning(a: Any) -> tuple[Array, Array]:
    """exp(iA) and exp(-iA)."""
    x = matrices("expm", a)
    return expm(elementwise(np.multiply, x, 1j)), expm(elementwise(np.multiply, x, -1j))


def cosm(A: Any) -> Array:
    x = matrices("cosm", A)
    if not x.type.is_complex:
        return real(_turning(x)[0])
    made = elementwise(np.add, *_turning(x))
    return elementwise(np.multiply, made, 0.5)


def sinm(A: Any) -> Array:
    x = matrices("sinm", A)
    if not x.type.is_complex:
        return imag(_turning(x)[0])
    made = elementwise(np.subtract, *_turning(x))
    return elementwise(np.multiply, made, -0.5j)


def _growing(name: str, a: Any) -> tuple[Array, Array]:
    x = matrices(name, a)
    return expm(x), expm(elementwise(np.negative, x))


def coshm(A: Any) -> Array:
    return elementwise(np.multiply, elementwise(np.add, *_growing("coshm", A)), 0.5)


def sinhm(A: Any) -> Array:
    return elementwise(np.multiply, elementwise(np.subtract, *_growing("sinhm", A)), 0.5)


def tanm(A: Any) -> Array:
    return BY_PROTOCOL.solve(cosm(A), sinm(A))


def tanhm(A: Any) -> Array:
    return BY_PROTOCOL.solve(coshm(A), sinhm(A))


MEANINGS = (
    eigh, eigvalsh, eig, eigvals, svd, svdvals, qr, expm, expm_frechet, cosm, sinm, coshm, sinhm, tanm, tanhm
)
recode("scipy.linalg", {each.__name__: each for each in MEANINGS})
ANY.update(MEANINGS)
