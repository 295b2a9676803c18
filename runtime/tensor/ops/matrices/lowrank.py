"""Factorisations of the larger part of a matrix, and those of which LAPACK's form is asked for.

Halko, Martinsson and Tropp, "Finding structure with randomness" (2011): a matrix applied to random vectors spans what
its largest singular vectors span, the better the more often it is applied.
"""

from __future__ import annotations

from typing import Any

from .....compiler.ops.linalg import matrices as M
from .....compiler.ops.linalg.factor import geqrf as _geqrf
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.dtypes import ALL
from ...value.found import returned
from ..arranging.shapes import shape_of
from ..elementwise.arithmetic import sub
from ..elementwise.complexes import adjoint
from ..folds.reductions import mean
from ..random.draws import randn
from .factorings import HOUSEHOLDER, householder_product, lu_factor_ex, qr
from .products import matmul
from .solving import check_matrices, check_rank, fail
from .spectra import results_of, several, svd

GEQRF = several("geqrf", "GeqrfBackward0", _geqrf)
geqrf_result = returned("geqrf", "a", "tau")


def geqrf(input: Core) -> Any:
    """QR with R from the diagonal on, the vectors of reflections below it, and their factors."""
    check_rank("torch.geqrf", input)
    return results_of(geqrf_result, GEQRF, check_matrices("torch.geqrf", input))


def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The first columns of a product of reflections: `linalg.householder_product` by its older name."""
    return householder_product(input, input2)


def _times(m: Any, v: Any, tau: Any, other: Any, left: bool, turned: bool) -> Any:
    """The whole product of reflections times other matrices, or these times it."""
    *lead, rows, _ = M.shape_of(v)
    count = M.shape_of(tau)[-1]
    v = M.corner(m, v, rows, count)
    if count < rows:
        v = M.beside(m, v, m.number(0.0, v.value.type.with_shape((*lead, rows, rows - count))))
    q = HOUSEHOLDER.emit(m, v, tau)
    q = M.adjoint(m, q) if turned else q
    return M.product(m, q, other) if left else M.product(m, other, q)


ORMQR = Operation("ormqr", "OrmqrBackward0", _times)


def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product of the orthogonal matrix that `geqrf` gave, or its transpose, with other matrices."""
    tau, other = input2, input3
    a, c = check_rank("torch.ormqr", input), check_rank("torch.ormqr", other)
    if c[-2 if left else -1] != a[-2]:
        word = "other.shape[-2]" if left else "other.shape[-1]"
        raise RuntimeError(f"torch.ormqr: {word} must be equal to input.shape[-2], got {c} and {a}")
    if shape_of(tau)[-1] > a[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]")
    return apply(ORMQR, (input, tau, other), (left, transpose))


def lu(A: Core, pivot: bool = True, get_infos: bool = False) -> Any:
    """LU in one matrix, the row that each row was swapped with, and whether that was possible."""
    made = lu_factor_ex(A, pivot=pivot)
    if get_infos:
        return made.LU, made.pivots, made.info
    fail("torch.lu", made.info._array(), lambda k: f"U[{k},{k}] is zero")
    return made.LU, made.pivots


# ---- by random vectors


def _basis(A: Any, q: int, niter: int) -> Any:
    *_, n = shape_of(A)
    from_left = matmul(A, randn(n, q, dtype=ALL[A._kind_of().dtype]))
    for _ in range(niter):
        from_left = matmul(A, _orthonormal(matmul(adjoint(A), _orthonormal(from_left))))
    return _orthonormal(from_left)


def _orthonormal(A: Any) -> Any:
    return qr(A)[0]


def svd_lowrank(A: Core, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """U, S and V of the q largest singular values of A, or of A - M, about."""
    A = A if M is None else sub(A, M)
    rows, columns = shape_of(A)[-2:]
    A = adjoint(A) if rows < columns else A  # so that fewer numbers are drawn, as in PyTorch
    basis = _basis(A, min(6 if q is None else q, rows, columns), 2 if niter is None else niter)
    u, s, vh = svd(matmul(adjoint(basis), A), False)
    left, right = matmul(basis, u), adjoint(vh)
    return (right, s, left) if rows < columns else (left, s, right)


def pca_lowrank(A: Core, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """The principal components of the rows of A, about: U, S and V of the matrix, without its mean if `center`."""
    rows, columns = check_rank("pca_lowrank", A)[-2:]
    count = min(6, rows, columns) if q is None else q
    if not 0 <= count <= min(rows, columns):
        raise ValueError(f"q(={count}) must be an int from 0 to min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(sub(A, mean(A, -2, True)) if center else A, count, niter)

