"""Solutions by factors that are known already, and equations between tensors."""

from __future__ import annotations

from math import prod
from typing import Any

from .....compiler.ops.complex.pair import Pair
from .....compiler.ops.custom import stop_gradient
from .....compiler.ops.linalg import matrices as M
from .....compiler.ops.linalg.solutions import solved
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.found import returned
from ...value.promotion import common_shape
from ..arranging.shapes import expand, movedim, reshape, shape_of
from .products import matmul
from .solving import check_alike, check_rank, check_square, inv, permuting, solve, solve_triangular

triangular_solve_result = returned("triangular_solve", "solution", "cloned_coefficient")


def triangular_solve(
    b: Core, A: Core, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """X with A X = b for triangular A, and a copy of A."""
    for given in (b, A):
        check_rank("torch.triangular_solve", given)
    made = solve_triangular(A.mT if transpose else A, b, upper=upper != transpose, unitriangular=unitriangular)
    return triangular_solve_result(made, A.clone())


def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, the first input, where the second, L, is the Cholesky factor of A."""
    B, L = input, input2
    for name, given in (("B", B), ("L", L)):
        if len(shape_of(given)) < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {len(shape_of(given))}")
    check_square("cholesky_solve", L)
    check_alike("cholesky_solve", L, B)
    if shape_of(L)[-1] != shape_of(B)[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for cholesky_solve: L is {shape_of(L)}, B {shape_of(B)}")
    lead = common_shape([shape_of(x)[:-2] for x in (B, L)])
    B, L = (expand(x, (*lead, *shape_of(x)[-2:])) for x in (B, L))
    return apply(CHOLESKY_SOLVE, (B, L), (upper,))


def _both_triangles(m: Any, b: Any, low: Any, upper: bool) -> Any:
    """The other triangle is not read, but has a gradient as if it were, as in PyTorch."""
    part = (M.upper if upper else M.lower)(m, low)
    part = low + _still(m, part - low)
    return solved(m, part, solved(m, part, b, upper), not upper)


def _still(m: Any, x: Any) -> Any:
    if isinstance(x, Pair):
        return Pair(m, *(_still(m.real, part) for part in (x.re, x.im)))
    return m(stop_gradient(m.b, x.value))


CHOLESKY_SOLVE = Operation("cholesky_solve", "CholeskySolveBackward0", _both_triangles)
CHOLESKY_INVERSE = Operation(
    "cholesky_inverse", "CholeskyInverseBackward0", lambda m, x, upper: _both_triangles(m, M.identity(m, x), x, upper)
)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, whose Cholesky factor is L."""
    return apply(CHOLESKY_INVERSE, (check_square("cholesky_inverse", L),), (upper,))


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B, where `lu_factor` gave LU and the pivots of A."""
    check_square("linalg.lu_solve", LU)
    check_alike("linalg.lu_solve", LU, B)
    check_rank("linalg.lu_solve", B)
    if pivots._kind_of().dtype != "i32":
        raise RuntimeError(f"linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, got {pivots.dtype}")
    if shape_of(pivots) != shape_of(LU)[:-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if shape_of(B)[-2 if left else -1] != shape_of(LU)[-1]:
        raise RuntimeError(f"linalg.lu_solve: Incompatible shapes of A and B: {shape_of(LU)} and {shape_of(B)}")
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    if not adjoint:
        turned = matmul(apply(PERMUTATION, (pivots,), (LU._kind_of().dtype,)).mT, B)
        made = solve_triangular(LU, turned, upper=False, unitriangular=True)
        return solve_triangular(LU, made, upper=True)
    made = solve_triangular(LU.mH, B, upper=False)
    made = solve_triangular(LU.mH, made, upper=True, unitriangular=True)
    return matmul(apply(PERMUTATION, (pivots,), (LU._kind_of().dtype,)), made)


def old_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X with A X = b, with the arguments in the older order."""
    return lu_solve(LU_data, LU_pivots, b)


old_lu_solve.__name__ = old_lu_solve.__qualname__ = "lu_solve"


def _permuting(m: Any, pivots: Any, dtype: str) -> Any:
    return permuting(m, pivots, M.shape_of(pivots)[-1], dtype)


PERMUTATION = Operation("permutation", "", _permuting)


# ---- equations between tensors


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a matrix, whose rows are its first `ind` dimensions."""
    if ind <= 0:
        raise RuntimeError("linalg.tensorinv: Expected a strictly positive integer for 'ind'")
    shape = shape_of(A)
    rows, columns = prod(shape[:ind]), prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "linalg.tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) =="
            f" prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    return reshape(inv(reshape(A, rows, columns)), (*shape[ind:], *shape[:ind]))


def tensorsolve(A: Tensor, other: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = other; the dimensions `dims` of A are moved to its end first."""
    if dims is not None:
        A = movedim(A, tuple(dims), tuple(range(len(shape_of(A)) - len(dims), len(shape_of(A)))))
    wanted = shape_of(A)[len(shape_of(other)) :]
    n, have = prod(wanted), prod(shape_of(other))
    if n != have:
        raise RuntimeError(
            "linalg.tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) =="
            f" prod(self.shape[:other.ndim]), but got {n} != {have}"
        )
    return reshape(solve(reshape(A, have, n), reshape(other, have)), wanted)
