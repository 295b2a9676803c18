"""Linear algebra by the standard's signatures: its functions in the namespace, and the extension `linalg`."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..tensor.face import functions as T
from ..tensor.face import linalg_functions as L
from ..tensor.value.dtypes import DType
from . import arranging


class EigResult(NamedTuple):
    """Eigenvalues in any order, and their vectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues in increasing order, and their vectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Orthonormal columns, and what they are combined with."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its size."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """Left vectors as columns, singular values in decreasing order, right vectors as rows."""

    U: Any
    S: Any
    Vh: Any


def matmul(x1: Any, x2: Any, /) -> Any:
    """The product of matrices."""
    return T.matmul(x1, x2)


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    return x.mT


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sums of products over axes of both."""
    return T.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Sums of products of vectors along an axis, the first conjugated."""
    if x1.dtype.is_floating_point or x1.dtype.is_complex or x2.dtype.is_floating_point or x2.dtype.is_complex:
        return L.vecdot(x1, x2, dim=axis)
    made = x1 * x2
    return T.sum(made, axis, dtype=made.dtype)


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The triangle whose product with its own transpose is x."""
    return L.cholesky(x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector product."""
    return L.cross(x1, x2, dim=axis)


def det(x: Any, /) -> Any:
    """The determinant."""
    return L.det(x)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of the last two axes."""
    return T.diagonal(x, offset, -2, -1)


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and vectors of a square matrix, which are complex."""
    return EigResult(*L.eig(x))


def eigvals(x: Any, /) -> Any:
    """Eigenvalues of a square matrix, which are complex."""
    return L.eigvals(x)


def eigh(x: Any, /) -> EighResult:
    """Eigenvalues and vectors of a symmetric matrix."""
    return EighResult(*L.eigh(x))


def eigvalsh(x: Any, /) -> Any:
    """Eigenvalues of a symmetric matrix."""
    return L.eigvalsh(x)


def inv(x: Any, /) -> Any:
    """The inverse."""
    return L.inv(x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of matrices."""
    return L.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x: Any, n: int, /) -> Any:
    """A matrix multiplied with itself."""
    return L.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values are larger than the largest times `rtol`."""
    return L.matrix_rank(x, rtol=rtol)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of elements of two vectors."""
    return T.outer(x1, x2)


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudoinverse."""
    return L.pinv(x, rtol=rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """Orthonormal columns and a triangle."""
    return QRResult(*L.qr(x, mode))


def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its size."""
    return SlogdetResult(*L.slogdet(x))


def solve(x1: Any, x2: Any, /) -> Any:
    """The solution of linear equations; x2 is a vector if it has one axis, else a stack of matrices."""
    return L.solve(x1, x2.unsqueeze(-1)).squeeze(-1) if x2.ndim == 1 else L.solve(x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values and vectors."""
    return SVDResult(*L.svd(x, full_matrices))


def svdvals(x: Any, /) -> Any:
    """Singular values."""
    return L.svdvals(x)


def trace(x: Any, /, *, offset: int = 0, dtype: DType | None = None) -> Any:
    """The sum of a diagonal."""
    return arranging.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    """A norm of vectors."""
    return L.vector_norm(x, ord, axis, keepdims)


__all__ = [
    "EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "cross", "det", "diagonal",
    "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
    "vecdot", "vector_norm",
]  # fmt: skip
