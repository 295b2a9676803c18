"""np.linalg on traced complex matrices.

Solutions and inverses are found by real matrices of twice the size, [[X, -Y], [Y, X]] for X + iY. Eigenvalues, singular
values, determinants and Cholesky's factors are primitives (`ops.complex.complex_matrices`), of values whose last axis
holds both parts. The eigenvalues of a matrix that is not symmetric are always complex here, where NumPy's dtype depends
on the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.complex import complex_matrices, matrix_formulas, similarities
from ...array import FUNCTIONS, Array, implements
from ...promotion import result_dtype
from ..matrices import linalg
from ..matrices.decompositions import BEYOND_QR, BEYOND_SVD, checked_mode, spanning
from ..matrices.linalg import NOT_GIVEN, emitted, holds, is_finite, matrices, turned
from ..matrices.norms import norm as real_norm
from ..matrices.norms import vector_norm as real_vector_norm
from ..reductions import Axis, amax, sum_, traced
from ..shaping import concatenate, expand_dims
from ..ufuncs import elementwise
from .complexes import ANY, joined, own

_SLOGDET: Any = type(np.linalg.slogdet(np.eye(1)))
_EIG: Any = type(np.linalg.eig(np.eye(1)))
_SVD: Any = type(np.linalg.svd(np.eye(1)))
_QR: Any = type(np.linalg.qr(np.eye(1)))
_EIGH: Any = type(np.linalg.eigh(np.eye(1)))

# ---- between complex arrays and real ones


def embedded(x: Array) -> Array:
    """[[X, -Y], [Y, X]]."""
    re, im = _parts(x)
    upper = concatenate([re, elementwise(np.negative, im)], -1)
    return concatenate([upper, concatenate([im, re], -1)], -2)


def _columns(x: Array) -> Array:
    """[[X], [Y]]."""
    return concatenate(list(_parts(x)), -2)


def _of_columns(x: Array) -> Array:
    n = x.shape[-2] // 2
    return joined(x[..., :n, :], x[..., n:, :])


def _parts(x: Array) -> tuple[Array, Array]:
    x = traced(x)[1]
    if x.type.is_complex:
        return x.parts
    return x, elementwise(np.multiply, x, 0)


def paired(x: Array) -> Array:
    """Both parts along a last axis, as primitives have them."""
    return concatenate([expand_dims(part, -1) for part in _parts(x)], -1)


def unpaired(x: Array) -> Array:
    return joined(x[..., 0], x[..., 1])


def adjoint(x: Array) -> Array:
    return elementwise(np.conjugate, turned(x))


def hermitian_of(x: Array, upper: bool = False) -> Array:
    """One triangle on both sides of the real parts of the diagonal."""
    part = FUNCTIONS[np.triu if upper else np.tril](x, 1 if upper else -1)
    middle = elementwise(np.multiply, x.parts[0], np.eye(x.shape[-1], dtype=x.parts[0].dtype))
    return elementwise(np.add, elementwise(np.add, part, adjoint(part)), middle)


# ---- solutions and inverses


@own(np.linalg.solve)
def solve(a: Any, b: Any) -> Array:
    x, y = matrices("solve", a), traced(b)[1]
    kind = result_dtype(x, y)
    x, y = x.astype(kind), y.astype(kind)
    is_vector = y.ndim == 1
    made = _of_columns(FUNCTIONS[np.linalg.solve](embedded(x), _columns(y[:, None] if is_vector else y)))
    return made[..., 0] if is_vector else made


def left_half(x: Array) -> Array:
    """The matrix that an embedded one stands for."""
    rows, columns = x.shape[-2] // 2, x.shape[-1] // 2
    return joined(x[..., :rows, :columns], x[..., rows:, :columns])


@own(np.linalg.inv)
def inv(a: Any) -> Array:
    return left_half(FUNCTIONS[np.linalg.inv](embedded(matrices("inv", a))))


@own(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NOT_GIVEN) -> Array:
    x = matrices("pinv", a, square=False)
    if rtol is None:
        rtol = linalg.default_rtol(x)
    whole = embedded(hermitian_of(x) if hermitian else x)
    return left_half(linalg.pinv(whole, rcond, False, **({} if rtol is NOT_GIVEN else {"rtol": rtol})))


# ---- determinants


@own(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    sign, size = emitted(complex_matrices.slogdet, paired(matrices("slogdet", a)))
    return _SLOGDET(unpaired(sign), size)


@own(np.linalg.det)
def det(a: Any) -> Array:
    sign, size = slogdet(a)
    return elementwise(np.multiply, sign, elementwise(np.exp, size))


# ---- eigenvalues, singular values and what is made of them


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """Complex in any case, as the shape of a graph does not depend on values."""
    x = matrices("eig", a)
    holds(is_finite(x), "Array must not contain infs or NaNs")
    given = paired(x) if x.type.is_complex else x
    values, vectors = emitted(complex_matrices.eig, given, is_complex=int(x.type.is_complex))
    return _EIG(unpaired(values), unpaired(vectors))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Array:
    return eig(a).eigenvalues


@own(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    x = hermitian_of(matrices("eigh", a), UPLO.upper() == "U")
    values, vectors = emitted(complex_matrices.eigh, paired(x), upper=0)
    return _EIGH(values, unpaired(vectors))


@own(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    return eigh(a, UPLO).eigenvalues


@own(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    x = hermitian_of(matrices("cholesky", a), upper)
    (made,) = emitted(complex_matrices.cholesky, paired(x))
    factor = unpaired(made)
    if factor.size:
        diagonal = FUNCTIONS[np.diagonal](factor.parts[0], 0, -2, -1)
        holds(elementwise(np.greater, diagonal, 0), "Matrix is not positive definite")
    return adjoint(factor) if upper else factor


@own(np.linalg.svdvals)
def singular_values(x: Any, /) -> Array:
    return svd(x, compute_uv=False)


@own(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    x = matrices("svd", a, square=False)
    given = paired(hermitian_of(x) if hermitian else x)
    u, s, vh = emitted(complex_matrices.svd, given, full=0)
    if compute_uv and full_matrices and x.shape[-2] != x.shape[-1]:
        n = min(x.shape[-2:])
        left, _, right = emitted(complex_matrices.svd, given, full=1)
        if x.shape[-2] > n:
            u = concatenate([u, spanning(left[..., n:, :], given, BEYOND_SVD, similarities.complement)], -2)
        else:
            z, whole = (paired(adjoint(unpaired(each))) for each in (right[..., n:, :, :], given))
            z = spanning(z, whole, BEYOND_SVD, similarities.complement)
            vh = concatenate([vh, paired(adjoint(unpaired(z)))], -3)
    return _SVD(unpaired(u), s, unpaired(vh)) if compute_uv else s


@own(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    checked_mode(mode)
    x = matrices("qr", a, square=False)
    given, n = paired(x), x.shape[-1]
    q, r = emitted(matrix_formulas.qr, given, mode="reduced")
    if mode == "complete" and x.shape[-2] > n:
        whole = emitted(matrix_formulas.qr, given, mode="complete")[0]
        q = concatenate([q, spanning(whole[..., n:, :], given, BEYOND_QR, similarities.complement)], -2)
        r = concatenate([r, np.zeros((*x.shape[:-2], x.shape[-2] - n, n, 2), r.dtype)], -3)
    return unpaired(r) if mode == "r" else _QR(unpaired(q), unpaired(r))


@own(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    y = traced(x)[1]
    axes = tuple(range(y.ndim)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if ord in (2, -2, "nuc") and len(axes) == 2:
        rest = [k for k in range(y.ndim) if k not in [each % y.ndim for each in axes]]
        values = singular_values(FUNCTIONS[np.transpose](y, (*rest, *axes)))
        made = sum_(values, -1) if ord == "nuc" else (amax if ord > 0 else FUNCTIONS[np.amin])(values, -1)
        return FUNCTIONS[np.expand_dims](made, tuple(axes)) if keepdims else made
    return real_norm(elementwise(np.absolute, y), ord, axis, keepdims)


@own(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Array:
    return real_vector_norm(elementwise(np.absolute, traced(x)[1]), axis=axis, keepdims=keepdims, ord=ord)


@own(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    return norm(x, ord, (-2, -1), keepdims)


ANY.update((np.linalg.eig, np.linalg.eigvals, np.linalg.tensorsolve, np.linalg.tensorinv))
ANY.update((np.linalg.cond, np.linalg.matrix_rank, np.linalg.lstsq))

__all__ = ["adjoint", "eig", "eigvals", "embedded", "hermitian_of", "left_half", "paired", "unpaired"]
