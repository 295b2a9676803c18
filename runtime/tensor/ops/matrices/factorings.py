"""Factorisations of matrices: Cholesky, LU, QR; least squares and rank."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .....compiler.ops.linalg import factor as K
from .....compiler.ops.linalg import matrices as M
from ...trace.fragments.fragments import Operation
from ...transforms.lanes import open_levels
from ...value.core import Core, Tensor, apply, apply_all, wrap
from ...value.dtypes import ALL
from ...value.found import returned
from ..arranging.creation import empty, from_numpy, tensor
from ..arranging.shapes import reshape, shape_of, unsqueeze
from ..elementwise.arithmetic import gt, mul, where
from ..elementwise.complexes import adjoint
from ..elementwise.elementary import abs_
from ..elementwise.pointwise import maximum
from ..folds.reductions import sum_
from .products import matmul
from .solving import check_alike, check_matrices, check_rank, check_square, fail, permuting, pinv, results, tolerances
from .spectra import eigvalsh, results_of, several, svdvals

# ---- Cholesky

CHOLESKY = Operation("linalg_cholesky", "LinalgCholeskyExBackward0", lambda m, x: m.cholesky(x))
OLD_CHOLESKY = Operation("cholesky", "CholeskyBackward0", lambda m, x: m.cholesky(x))
CHOLESKY_INFO = Operation("cholesky_info", "", lambda m, x: m.cholesky_info(x))
cholesky_ex_result = returned("linalg_cholesky_ex", "L", "info")


def factored(name: str, operation: Operation, A: Tensor, upper: bool) -> Tensor:
    """L with A = L L', or U with A = U' U; NaN if A is not positive definite."""
    check_square(name, A)
    made = apply(operation, (adjoint(A) if upper else A,))
    return adjoint(made) if upper else made


def _factor(name: str, operation: Operation, A: Tensor, upper: bool) -> Tensor:
    made = factored(name, operation, A, upper)
    if np.isnan(made._array()).any():
        fail(name, K.minor(A._array()), _not_positive)
    return made


def _not_positive(k: int) -> str:
    return f"the input is not positive-definite: its leading minor of order {k} is not"


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """L with A = L L', or U with A = U' U; LinAlgError if A is not positive definite."""
    return _factor("linalg.cholesky", CHOLESKY, A, upper)


def cholesky_ex(A: Core, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The factors, and for each matrix 0, or the order of the first leading minor that is not positive.

    A matrix that is not positive definite has a factor as far as that, in the lanes of `vmap` NaN.
    """
    if check_errors:
        return cholesky_ex_result(cholesky(A, upper=upper), apply(CHOLESKY_INFO, (A,)))
    check_square("linalg.cholesky_ex", A)
    turned = adjoint(A) if upper else A
    made, info = apply(CHOLESKY, (turned,)), apply(CHOLESKY_INFO, (A,))
    if not open_levels() and (orders := info._array()).any():
        failed = reshape(gt(info, 0), *orders.shape, 1, 1)
        made = where(failed, from_numpy(_as_far_as(turned._array(), orders)), made)
    return cholesky_ex_result(adjoint(made) if upper else made, info)


def _as_far_as(a: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """What LAPACK leaves of matrices that are not positive definite: the columns before the minor that is not, its last
    pivot, and behind them the elements as they were. Zeros for matrices that are."""
    made = np.zeros_like(a)
    for at in zip(*np.nonzero(orders), strict=True) if orders.ndim else [()]:
        given, end = a[at], int(orders[at]) - 1
        low = np.tril(given)
        for k in range(end + 1):
            low[k:, k] = given[k:, k] - low[k:, :k] @ low[k, :k].conj() if k < end else low[k:, k]
            if k < end:
                low[k, k] = np.sqrt(low[k, k])
                low[k + 1 :, k] /= low[k, k]
        low[end, end] -= np.vdot(low[end, :end], low[end, :end]).real
        made[at] = low
    return made


def old_cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """L with A = L L', or U with A = U' U."""
    return _factor("cholesky", OLD_CHOLESKY, input, upper)


old_cholesky.__name__ = old_cholesky.__qualname__ = "cholesky"

# ---- LU

LU_FACTOR = several("linalg_lu_factor", "LinalgLuFactorExBackward0", K.lu_factor)
lu_factor_result = returned("linalg_lu_factor", "LU", "pivots")
lu_factor_ex_result = returned("linalg_lu_factor_ex", "LU", "pivots", "info")
lu_result, lu_unpack_result = returned("linalg_lu", "P", "L", "U"), returned("lu_unpack", "P", "L", "U")


def _check_lu(name: str, A: Any, pivot: bool) -> None:
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU, expected pivot=True")
    if len(check_rank(name, A)) and not A._kind_of().is_float:
        raise NotImplementedError(f"{name}: expected a floating-point tensor, got {A._kind_of()}")


def lu_factor_ex(A: Core, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """LU in one matrix, the row that each row was swapped with, and 0 or the place of a pivot that is zero."""
    _check_lu("torch.lu_factor", A, pivot)
    made = results_of(lu_factor_ex_result, LU_FACTOR, A)
    if check_errors:
        fail("torch.linalg.lu_factor_ex", made.info._array(), _zero_pivot)
    return made


def _zero_pivot(k: int) -> str:
    return f"U[{k},{k}] is zero, so LU cannot be used to solve; lu and lu_factor_ex factor without this check"


def lu_factor(A: Core, *, pivot: bool = True) -> Any:
    """LU in one matrix, and the row that each row was swapped with."""
    made = lu_factor_ex(A, pivot=pivot)
    info = made.info._array()
    if info.any():
        at = int(np.flatnonzero(info)[0])
        raise RuntimeError(f"torch.linalg.lu_factor: (Batch element {at}): {_zero_pivot(int(info.flat[at]))}")
    return lu_factor_result(made.LU, made.pivots)


def _unpack(m: Any, packed: Any, pivots: Any, dtype: str) -> Any:
    """L and U; P has the same dtype, so of complex ones it is complex."""
    *_, rows, columns = M.shape_of(packed)
    n = min(rows, columns)
    below = M.corner(m, packed, rows, n)
    low = M.lower(m, below, -1) + M.identity(m, below)
    swaps = permuting(m, pivots, rows, dtype)
    return swaps, low, M.upper(m, M.corner(m, packed, n, columns))


def _lu(m: Any, x: Any, dtype: str) -> Any:
    packed, pivots, _ = results(m, K.lu_factor, x)
    return _unpack(m, packed, pivots, dtype)


LU = Operation("linalg_lu", "LinalgLuBackward0", _lu)
UNPACK = Operation("lu_unpack", "LuUnpackBackward0", _unpack, "own")


def _three(kind: Any, operation: Operation, args: Any, attributes: Any) -> Any:
    (p, low, up), node = apply_all(operation, args, attributes)
    return kind(wrap(p), wrap(low, node, 1), wrap(up, node, 2))


def lu(A: Core, *, pivot: bool = True) -> Any:
    """P, L and U with A = P L U."""
    _check_lu("linalg.lu", A, pivot)
    return _three(lu_result, LU, (A,), (A._kind_of().dtype,))


def lu_unpack(LU_data: Core, LU_pivots: Core, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U of what `lu_factor` gave; those not asked for are empty."""
    if unpack_pivots and LU_pivots._kind_of().dtype != "i32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got"
            f" {LU_pivots._kind_of()}"
        )
    dtype = LU_data._kind_of().dtype
    p, low, up = _three(lu_unpack_result, UNPACK, (LU_data, LU_pivots), (dtype,))
    none = empty(0, dtype=ALL[dtype])
    return lu_unpack_result(p if unpack_pivots else none, *((low, up) if unpack_data else (none, none)))


# ---- QR and reflections

QR = several("linalg_qr", "LinalgQrBackward0", K.qr, "mode")
qr_result, old_qr_result = returned("linalg_qr", "Q", "R"), returned("qr", "Q", "R")


def qr(A: Core, mode: str = "reduced") -> Any:
    """Q and R with A = Q R; mode "complete" gives a square Q, mode "r" none."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr: expected the mode 'reduced' (default), 'complete' or 'r', got {mode!r}")
    check_matrices("linalg.qr", A)
    made = results_of(qr_result, QR, A, "reduced" if mode == "r" else mode)
    return made if mode != "r" else qr_result(empty(0, dtype=ALL[A._kind_of().dtype]), made.R)


def old_qr(input: Core, some: bool = True) -> Any:
    """Q and R with A = Q R; with `some` Q has as many columns as A has rows or columns."""
    return old_qr_result(*qr(input, "reduced" if some else "complete"))


old_qr.__name__ = old_qr.__qualname__ = "qr"


def _reflections(m: Any, v: Any, tau: Any) -> Any:
    """The first columns of the product of 1 - tau v v^H."""
    *lead, rows, columns = M.shape_of(v)
    low = M.lower(m, v, -1) + M.identity(m, v)
    made = M.identity(m, v)
    for k in reversed(range(M.shape_of(tau)[-1])):
        column = M.block(m, low, 0, k, rows, 1)
        factor = M.block(m, M.reshaped(m, tau, (*lead, 1, M.shape_of(tau)[-1])), 0, k, 1, 1)
        row = M.product(m, factor, M.product(m, M.adjoint(m, column), made))
        made = made - M.product(m, column, row)
    return M.corner(m, made, rows, columns)


HOUSEHOLDER = Operation("linalg_householder_product", "LinalgHouseholderProductBackward0", _reflections)


def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflections, whose vectors lie below the diagonal of A."""
    name = "torch.linalg.householder_product"
    a, t = check_rank(name, A), shape_of(tau)
    if a[-2] < a[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if not t or a[-1] < t[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if a[:-2] != t[:-1]:
        raise RuntimeError(f"{name}: expected batch dimensions {list(a[:-2])} of tau, got {list(t[:-1])}")
    if A._kind_of().dtype != tau._kind_of().dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match input dtype {A.dtype}")
    return apply(HOUSEHOLDER, (check_matrices(name, A), tau))


# ---- rank and least squares


def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values are above max(atol, rtol * the largest)."""
    check_rank("torch.linalg.matrix_rank", A)
    check_matrices("torch.linalg.matrix_rank", A)
    A = A.detach()
    if not prod(shape_of(A)):
        return tensor(np.zeros(shape_of(A)[:-2], np.int64))
    values = eigvalsh(A).abs() if hermitian else svdvals(A)
    absolute, relative = (tol, 0.0) if tol is not None else (atol, rtol)
    absolute, relative = tolerances(A, absolute, relative)
    bound = maximum(absolute, mul(relative, values.amax(-1)))
    return sum_(gt(values, unsqueeze(bound, -1)), -1)


lstsq_result = returned("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


def lstsq(A: Any, b: Any, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The X of least size among those that make |A X - b| least, by the pseudoinverse."""
    B, name = b, "torch.linalg.lstsq"
    a, right = check_rank(name, A), shape_of(B)
    if not right:
        raise RuntimeError(f"{name}: input other must have at least 1 dimension")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver!r}")
    is_vector = len(a) - 1 == len(right) and a[:-1] == right
    if not is_vector and (len(right) < 2 or right[-2] != a[-2]):
        raise RuntimeError(f"{name}: the sizes of A and B in the rows are not the same: {list(a)} and {list(right)}")
    check_alike(name, A, B)
    check_matrices(name, A)
    rtol = tolerances(A, None, None)[1] if rcond is None else rcond
    B = unsqueeze(B, -1) if is_vector else B
    made = matmul(pinv(A, rtol=rtol), B)
    rank = matrix_rank(A, rtol=rtol)
    real = ALL[A._kind_of().type.dtype]
    values = svdvals(A.detach()) if driver in ("gelsd", "gelss") else empty(0, dtype=real)
    residuals = empty(0, dtype=real)
    if a[-2] > a[-1] and driver != "gelsy" and driver is not None and (rank._array() == a[-1]).all():
        residuals = sum_(abs_(matmul(A, made) - B) ** 2, -2)
    if driver == "gels":
        rank = empty(0, dtype=ALL["i64"])
    return lstsq_result(reshape(made, shape_of(made)[:-1]) if is_vector else made, residuals, rank, values)
