"""Inverses, solutions of linear equations and determinants.

A matrix that has no inverse is an error where the function is called, as in PyTorch, so the value is computed there;
the functions that end in `_ex` record without asking, and say in `info` what went wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....compiler.ops.complex.pair import Pair
from .....compiler.ops.custom import stop_gradient
from .....compiler.ops.linalg import matrices as M
from .....compiler.ops.linalg.factor import lu_factor as _lu
from .....compiler.ops.linalg.factor import permutation as _permutation
from .....compiler.ops.linalg.lapack import lu as _pivoted
from .....compiler.ops.linalg.solutions import slogdet as _slogdet
from .....compiler.ops.linalg.solutions import solved, substituted
from ...face.required import check_tensors
from ...trace.fragments.fragments import Operation, widen
from ...value.cells import PARTS
from ...value.core import Core, Tensor, apply, apply_all, wrap
from ...value.dtypes import ALL, LARGEST
from ...value.found import returned
from ...value.promotion import c_name, common_shape
from ..arranging.creation import tensor
from ..arranging.shapes import expand, shape_of
from ..elementwise.arithmetic import gt, where
from ..elementwise.elementary import log


class _LinAlgError(RuntimeError):
    """A matrix has no inverse or no factorisation of the kind that was asked for."""


LinAlgError = _LinAlgError

# ---- what is given


def check_float(name: str, A: Any) -> Any:
    """The matrices, if they are floats; PyTorch's errors otherwise."""
    check_tensors(name.replace(".", "_"), A=A)
    kind = A._kind_of()
    if not kind.is_float:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {c_name(kind.dtype)}")
    if kind.dtype in LARGEST and name not in ("linalg.norm", "linalg.matrix_norm", "linalg.vecdot"):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {c_name(kind.dtype)}")
    return A


def check_matrices(name: str, A: Any) -> Any:
    """The matrices, if they have two dimensions and are floats."""
    check_rank(name, A)
    return check_float(name, A)


def check_rank(name: str, A: Any) -> tuple[int, ...]:
    """The shape, if there are two dimensions."""
    check_tensors(name.replace(".", "_"), A=A)
    shape = shape_of(A)
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions, got {len(shape)}.")
    return shape


def check_square(name: str, A: Any) -> Any:
    """The matrices, if they are square."""
    *_, rows, columns = check_rank(name, A)
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    return check_float(name, A)


def check_alike(name: str, A: Any, B: Any) -> None:
    """Raise PyTorch's error unless the dtypes are the same."""
    a, b = A._kind_of().dtype, B._kind_of().dtype
    if a != b:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {c_name(a)} and B of type"
            f" {c_name(b)} instead"
        )


def fail(name: str, info: np.ndarray, why: Callable[[int], str]) -> None:
    """Raise LinAlgError for the first matrix whose `info` is not zero."""
    if info.any():
        at = int(np.flatnonzero(info)[0])
        batch = f"(Batch element {at}): " if info.ndim else ""
        raise LinAlgError(f"{name}: {batch}{why(int(info.flat[at]))}")


def broken(A: Any, made: Any) -> np.ndarray:
    """The place of the first pivot of zero in each matrix, 0 where there is none: asked only if there are NaNs."""
    if not np.isnan(made._array()).any():
        return np.zeros((), np.int32)
    return _pivots(A._array())


def _pivots(array: np.ndarray) -> np.ndarray:
    return _pivoted(array)[2]


def results(m: Any, prim: Any, x: Any, **attributes: Any) -> tuple[Any, ...]:
    """All results of a primitive of matrices, which of complex ones has a formula (`ops.complex.matrix_formulas`)."""
    if isinstance(x, Pair):
        return getattr(m, prim.name)(x, **attributes)
    return tuple(map(m, m.b.emit(prim, x.value, **attributes)))


def widened(m: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast as NumPy does, each part of complex matrices."""
    if isinstance(x, Pair):
        return Pair(m, *(m.real(widen(m.b, part.value, shape)) for part in (x.re, x.im)))
    return m(widen(m.b, x.value, shape))


def permuting(m: Any, pivots: Any, rows: int, dtype: str) -> Any:
    """P of A = P L U by the swaps of its rows; of a complex dtype too."""
    made = _permutation(m.b, pivots.value, rows=rows, dtype=PARTS.get(dtype, dtype))
    return m.pair(m.real(made)) if dtype in PARTS else m(made)


SINGULAR = Operation("lu_info", "", lambda m, x: results(m, _lu, x)[2])

# ---- inverse

INVERSE = Operation("linalg_inv", "LinalgInvExBackward0", lambda m, x: m.inverse(x))
PINV = Operation("linalg_pinv", "LinalgPinvBackward0", lambda m, x, a, r: _pinv(m, x, a, r))

inv_ex_result = returned("linalg_inv_ex", "inverse", "info")
solve_ex_result = returned("linalg_solve_ex", "result", "info")


def inverted(A: Tensor, name: str) -> Tensor:
    """The inverses, NaN where there is none."""
    return apply(INVERSE, (check_square(name, A),))


def inv(A: Tensor, name: str = "linalg.inv") -> Tensor:
    """The inverses of square matrices; LinAlgError if one has none."""
    made = inverted(A, name)
    fail(name, broken(A, made), lambda k: f"the matrix is singular: element {k} of the diagonal of its factor U is 0")
    return made


def inv_ex(A: Core, *, check_errors: bool = False) -> Any:
    """The inverses, and for each matrix 0, or the place of the pivot that is zero."""
    made = inv(A) if check_errors else inverted(A, "linalg.inv_ex")
    return inv_ex_result(made, apply(SINGULAR, (A,)))


def _pinv(m: Any, x: Any, atol: Any, rtol: Any) -> Any:
    lead = M.shape_of(x)[:-2]
    return m.pinv(x, *(widened(m, t, lead) for t in (atol, rtol)))


def tolerances(A: Core, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Both bounds; where none is given, rtol is the larger size times the distance of 1 to the next float."""
    kind = A._kind_of()
    eps = float(np.finfo(ALL[kind.dtype].numpy).eps) * max(kind.shape[-2:])
    if rtol is None:
        is_free = atol is None or (not isinstance(atol, Core) and atol <= 0)
        rtol = where(gt(atol, 0), 0.0, eps) if isinstance(atol, Core) else eps if is_free else 0.0
    made = []
    for given in (0.0 if atol is None else atol, rtol):
        bound: Any = given if isinstance(given, Core) else tensor(float(given))
        made.append(bound.to(ALL[kind.type.dtype]))
    return made[0], made[1]


def pinv(A: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Tensor:
    """The Moore-Penrose inverses; singular values up to max(atol, rtol * the largest) count as zero."""
    if len(shape_of(A)) < 2 or not A._kind_of().is_float:
        raise RuntimeError(f"linalg.pinv: expected floats of 2 or more dimensions, got {A._kind_of()}")
    if hermitian:
        A = mirrored(check_square("linalg.pinv", A))
    atol, rtol = tolerances(A, atol, rtol if rcond is None else rcond)
    lead = common_shape([shape_of(A)[:-2], shape_of(atol), shape_of(rtol)])
    if lead != shape_of(A)[:-2]:
        A = expand(A, (*lead, *shape_of(A)[-2:]))
    return apply(PINV, (A, atol, rtol))


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose inverses; singular values up to rcond times the largest count as zero."""
    return pinv(input, rtol=rcond)


MIRRORED = Operation(
    "mirrored", "LinalgEighBackward0", lambda m, x: M.lower(m, x) + M.turned(m, M.lower(m, x, -1)),
    pull=lambda m, inputs, results, cts: [0.5 * (cts[0] + M.turned(m, cts[0]))],
)  # fmt: skip
"""One triangle on both sides; the gradient is symmetric, as that of eigenvalues is."""


def mirrored(A: Tensor) -> Tensor:
    """One triangle on both sides, conjugated on the other."""
    return apply(HERMITIAN if A._kind_of().is_complex else MIRRORED, (A,))


def _hermitian(m: Any, x: Any) -> Any:
    """The gradient is Hermitian, too: what the formula takes is half of x and its adjoint, of one triangle twice."""
    low = M.lower(m, x, -1)
    kept = low + M.adjoint(m, low) + M.real_diagonal(m, x)
    even = 0.5 * (x + M.adjoint(m, x))

    def still(z: Any) -> Any:
        return Pair(m, *(m.real(stop_gradient(m.b, part.value)) for part in (z.re, z.im)))

    return even + still(kept - even)


HERMITIAN = Operation("mirrored", "LinalgEighBackward0", _hermitian)

# ---- solutions


def _solve(m: Any, a: Any, b: Any, is_vector: bool) -> Any:
    if is_vector:
        b = M.columns(m, b, 1)
    lead = common_shape([M.shape_of(x)[:-2] for x in (a, b)])
    a, b = (widened(m, x, (*lead, *M.shape_of(x)[-2:])) for x in (a, b))
    made = solved(m, a, b)
    return M.reshaped(m, made, M.shape_of(made)[:-1]) if is_vector else made


SOLVE = Operation("linalg_solve", "LinalgSolveExBackward0", _solve)


def _is_vector(A: Core, B: Core) -> bool:
    a, b = shape_of(A), shape_of(B)
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


def solution(name: str, A: Tensor, B: Tensor, left: bool) -> Tensor:
    """X with A X = B, or with X A = B; NaN if A is singular."""
    check_square(name, A)
    check_alike(name, A, B)
    a, b = shape_of(A), shape_of(B)
    is_vector = _is_vector(A, B)
    if not b:
        raise RuntimeError(f"{name}: expected B to have at least 1 dimension, got a scalar")
    if is_vector and not left:
        raise RuntimeError(f"{name}: vectors are solved for from the left: expected left=True for B of shape {list(b)}")
    if b[-1 if is_vector or not left else -2] != a[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
            f" ({a[-2]}x{a[-1]} and {'x'.join(map(str, b[-2:]))})"
        )
    if not left:
        return apply(SOLVE, (A.mT, B.mT), (False,)).mT
    return apply(SOLVE, (A, B), (is_vector,))


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B, or with X A = B; LinAlgError if A is singular."""
    made = solution("linalg.solve", A, B, left)
    fail("torch.linalg.solve", broken(A, made), lambda k: "The solver failed because the input matrix is singular.")
    return made


def solve_ex(A: Core, B: Core, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solutions, and for each matrix 0, or the place of the pivot that is zero."""
    made = solve(A, B, left=left) if check_errors else solution("linalg.solve_ex", A, B, left)
    return solve_ex_result(made, apply(SINGULAR, (A,)))


def _solve_triangular(m: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    if unit:
        a = M.where(m, a, lambda m, i, j: m.ne(i, j)) + M.identity(m, a)
    lead = common_shape([M.shape_of(x)[:-2] for x in (a, b)])
    a, b = (widened(m, x, (*lead, *M.shape_of(x)[-2:])) for x in (a, b))
    return substituted(m, a, b, upper)


SOLVE_TRIANGULAR = Operation("linalg_solve_triangular", "LinalgSolveTriangularBackward0", _solve_triangular)


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A X = B, or with X A = B, for triangular A, of which the other triangle is not read."""
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_rank(name, B)
    check_alike(name, A, B)
    a, b = shape_of(A), shape_of(B)
    if b[-2 if left else -1] != a[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
            f" ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    if left:
        return apply(SOLVE_TRIANGULAR, (A, B), (upper, unitriangular))
    return apply(SOLVE_TRIANGULAR, (A.mT, B.mT), (not upper, unitriangular)).mT


# ---- determinants

DET = Operation("linalg_det", "LinalgDetBackward0", lambda m, x: m.det(x))
SLOGDET = Operation("linalg_slogdet", "LinalgSlogdetBackward0", lambda m, x: results(m, _slogdet, x))


def det(A: Tensor) -> Tensor:
    """The determinants of square matrices."""
    return apply(DET, (check_square("linalg.det", A),))


def _sign_and_log(kind: Any, A: Core) -> Any:
    (sign, value), node = apply_all(SLOGDET, (check_square("linalg.slogdet", A),))
    return kind(wrap(sign, node, 0), wrap(value, node, 1))


linalg_slogdet, slogdet_result = (returned(n, "sign", "logabsdet") for n in ("linalg_slogdet", "slogdet"))


def slogdet(A: Core) -> Any:
    """The signs of the determinants and the logarithms of their sizes."""
    return _sign_and_log(linalg_slogdet, A)


def torch_slogdet(input: Core) -> Any:
    """The signs of the determinants and the logarithms of their sizes."""
    return _sign_and_log(slogdet_result, input)


torch_slogdet.__name__ = torch_slogdet.__qualname__ = "slogdet"


def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants: NaN where one is negative; of complex ones with the angle."""
    sign, value = _sign_and_log(slogdet_result, input)
    if sign._kind_of().is_complex:
        return value + log(sign)
    return where(sign == -1, float("nan"), value)
