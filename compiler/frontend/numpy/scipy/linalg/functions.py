"""scipy.linalg's functions on traced arguments: what they mean in np.linalg's, with SciPy's defaults and results.

They ask no protocol; see `recoded`. What is written over, checked for infinities, or computed by which routine of
LAPACK is of no consequence here. A factor's other triangle, which SciPy leaves as it was, is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....ops.complex import matrix_formulas
from .....ops.linalg import factor
from .....ops.linalg.solutions import triangular
from .....ops.require import require
from ....array import FUNCTIONS, Array, unknown
from ....errors import TraceValueError, message
from ....patched.recoded import recode
from ....tracing import user_line
from ...complex.complexes import ANY, joined
from ...complex.linalg import adjoint, hermitian_of, paired, unpaired
from ...matrices.linalg import alike, as_float, default_rtol, emitted, holds, matrices, mirrored, turned
from ...products import matmul
from ...reductions import traced
from ...shaping import concatenate, reshape
from ...ufuncs import elementwise

BY_PROTOCOL: Any = np.linalg
"""NumPy's functions, which tell real matrices from complex ones."""


def refused(name: str, **given: Any) -> None:
    """Refuse arguments that are not what they are by default."""
    for argument, (value, default) in given.items():
        if value is not default and value != default:
            raise unknown(f"scipy.linalg.{name}", f" with {argument}={value!r}")


def _floats(x: Any) -> Array:
    return as_float(traced(x)[1])


def _columns(b: Any) -> tuple[Array, Callable[[Array], Array]]:
    """A right-hand side as columns, and what makes the solution have its shape."""
    y = _floats(b)
    return (y[:, None], lambda x: x[..., 0]) if y.ndim == 1 else (y, lambda x: x)


def _conjugate(x: Any) -> Any:
    return elementwise(np.conjugate, x) if x.type.is_complex else x


def of_triangle(x: Array, upper: bool, is_hermitian: bool = True) -> Array:
    """The Hermitian or symmetric matrix of which a triangle is given."""
    if not x.type.is_complex:
        return mirrored(x, upper)
    return hermitian_of(x, upper) if is_hermitian else joined(*(mirrored(part, upper) for part in x.parts))


# ---- solutions


def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: str | None = None, transposed: bool = False,
) -> Array:  # fmt: skip
    x = matrices("solve", a)
    if transposed and x.type.is_complex:
        raise unknown("scipy.linalg.solve", " of complex numbers with transposed=True, which SciPy has not, either")
    if assume_a in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        x = of_triangle(x, not lower, is_hermitian=not assume_a.startswith("sym"))
        if assume_a.startswith("pos"):
            return cho_solve((BY_PROTOCOL.cholesky(x), True), b)
    elif assume_a not in (None, "gen", "general"):
        raise unknown("scipy.linalg.solve", f" with assume_a={assume_a!r}")
    return BY_PROTOCOL.solve(turned(x) if transposed else x, b)


def inv(
    a: Any, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: str | None = None, lower: bool = False
) -> Array:
    refused("inv", assume_a=(assume_a, None))
    return BY_PROTOCOL.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    made = BY_PROTOCOL.det(a)  # in double precision, whatever the matrix is
    return made.astype(np.complex128 if made.dtype.kind == "c" else np.float64)


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:  # fmt: skip
    x, (y, shaped) = matrices("solve_triangular", a), _columns(b)
    if y.shape[-2] != x.shape[-1]:
        raise TraceValueError(message(f"shapes of a {x.shape} and b {y.shape} are incompatible", user_line()))
    if unit_diagonal:
        off = elementwise(np.multiply, x, 1 - np.eye(x.shape[-1], dtype=x.dtype))
        x = elementwise(np.add, off, np.eye(x.shape[-1], dtype=x.dtype))
    else:
        diagonal = FUNCTIONS[np.diagonal](x, 0, -2, -1)
        holds(elementwise(np.not_equal, diagonal, 0), "singular matrix: resolution failed")
    if trans in (1, "T"):
        x = _conjugate(x)
    return shaped(substituted(x, y, not lower, trans in (1, 2, "T", "C")))


def substituted(a: Array, b: Array, upper: bool, is_turned: bool) -> Array:
    """The solution for a triangle of a, or for the triangle's adjoint."""
    if a.type.is_complex or b.type.is_complex:
        triangle = FUNCTIONS[np.triu if upper else np.tril](a)
        return BY_PROTOCOL.solve(adjoint(triangle) if is_turned else triangle, b)
    a, b = alike(*(v.astype(np.result_type(a.dtype, b.dtype)) for v in (a, b)))
    return emitted(triangular, a, b, upper=int(upper), turned=int(is_turned))[0]


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    return BY_PROTOCOL.cholesky(traced(a)[1], upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    c, lower = c_and_lower
    x, (y, shaped) = matrices("cho_solve", c), _columns(b)
    first = substituted(x, y, not lower, not lower)
    return shaped(substituted(x, first, not lower, bool(lower)))


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    x = matrices("lu_factor", a, square=False)
    if x.type.is_complex:
        packed, pivots, _ = emitted(matrix_formulas.lu_factor, paired(x))
        packed = unpaired(packed)
    else:
        packed, pivots, _ = emitted(factor.lu_factor, x)
    return packed, elementwise(np.subtract, pivots, np.int32(1))


def _permutation(packed: Array, pivots: Any) -> Array:
    """P of A = P L U, for swaps counted from 0."""
    swaps = elementwise(np.add, traced(pivots)[1].astype(np.int32), np.int32(1))
    kind = {"c64": "f32", "c128": "f64"}.get(packed.type.dtype, packed.type.dtype)
    (made,) = emitted(factor.permutation, swaps, rows=packed.shape[-2], dtype=kind)
    return made


def _unit_lower(packed: Array) -> Array:
    part = FUNCTIONS[np.tril](packed, -1)
    return elementwise(np.add, part, np.eye(*packed.shape[-2:], dtype=packed.dtype))


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    packed, (y, shaped) = matrices("lu_solve", lu_and_piv[0]), _columns(b)
    order = _permutation(packed, lu_and_piv[1])
    low = _unit_lower(packed)
    if trans in (0, "N"):
        return shaped(substituted(packed, substituted(low, matmul(turned(order), y), False, False), True, False))
    if trans in (1, "T"):
        packed, low = _conjugate(packed), _conjugate(low)
    return shaped(matmul(order, substituted(low, substituted(packed, y, True, True), False, True)))


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    refused("lu", p_indices=(p_indices, False))
    packed, pivots = lu_factor(a)
    n = min(packed.shape[-2:])
    order = _permutation(packed, pivots)
    low, up = _unit_lower(packed)[..., :n], FUNCTIONS[np.triu](packed)[..., :n, :]
    return (matmul(order, low), up) if permute_l else (order, low, up)


def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    x = matrices("pinv", a, square=False)
    refused("pinv", atol=(atol, None))
    bound = default_rtol(x) if rtol is None else rtol
    made = BY_PROTOCOL.pinv(x, rtol=bound)
    return (made, BY_PROTOCOL.matrix_rank(x, rtol=bound)) if return_rank else made


def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """Of the Hermitian matrix whose lower triangle a has, or upper one."""
    return pinv(of_triangle(matrices("pinvh", a), not lower), atol=atol, rtol=rtol, return_rank=return_rank)


def lstsq(
    a: Any, b: Any, cond: Any = None, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:  # fmt: skip
    x, y = matrices("lstsq", a, square=False), _floats(b)
    made, residuals, rank, s = BY_PROTOCOL.lstsq(x, y, -1 if cond is None else cond)
    if x.shape[0] > x.shape[1] and y.ndim == 1:
        residuals = residuals[0]
    return made, residuals, rank.astype(np.int64), s


# ---- norms, and matrices of a pattern


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Array:
    """What SciPy has of BLAS and LAPACK is a float of Python, in double precision."""
    made, x = BY_PROTOCOL.norm(a, ord, axis, keepdims), traced(a)[1]
    is_length = x.ndim == 1 and x.size and ord in (None, 2)
    is_sum = x.ndim == 2 and ord in (1, np.inf) and min(x.shape) > 1
    if not (is_length or is_sum) or axis is not None or keepdims:
        return made
    return Array(x.tracing, made.astype(np.float64).value, True)


def block_diag(*arrs: Any) -> Array:
    parts = [traced(x)[1] for x in arrs]
    parts = [reshape(x, (1, -1)) if x.ndim < 2 else x for x in parts]
    if any(x.ndim > 2 for x in parts):
        raise unknown("scipy.linalg.block_diag", " of arrays of more than two dimensions")
    dtype, width, start, rows = np.result_type(*(x.dtype for x in parts)), sum(x.shape[1] for x in parts), 0, []
    for x in parts:
        n, k = x.shape
        around = [np.zeros((n, size), dtype) for size in (start, width - start - k)]
        rows.append(concatenate([around[0], x.astype(dtype), around[1]], 1))
        start += k
    return concatenate(rows, 0)


def toeplitz(c: Any, r: Any = None) -> Array:
    for x in (c, r):
        if x is not None and (ndim := traced(x)[1].ndim) > 1:
            raise unknown("scipy.linalg.toeplitz", f" of an array of {ndim} dimensions")
    column = traced(c)[1].ravel()
    row = elementwise(np.conjugate, column) if r is None else traced(r)[1].ravel()
    places = np.arange(column.shape[0])[::-1, None] + np.arange(row.shape[0])
    return concatenate([column[::-1], row[1:]], 0)[places]


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Array:
    """By the matrix written out, in double precision."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    y = _floats(b)
    if y.ndim not in (1, 2):
        raise unknown("scipy.linalg.solve_toeplitz", f" with b of {y.ndim} dimensions")
    return BY_PROTOCOL.solve(*(x.astype(np.result_type(x.dtype, np.float64)) for x in (toeplitz(c, r), y)))


def solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Array:
    """By the matrix written out."""
    refused(
        "solve_circulant", singular=(singular, "raise"), tol=(tol, None), caxis=(caxis, -1), baxis=(baxis, 0),
        outaxis=(outaxis, 0),
    )  # fmt: skip
    y = _floats(b)
    if y.ndim not in (1, 2):
        raise unknown("scipy.linalg.solve_circulant", f" with b of {y.ndim} dimensions")
    x = _floats(c)
    if x.ndim != 1:
        raise unknown("scipy.linalg.solve_circulant", f" with c of {x.ndim} dimensions")
    return BY_PROTOCOL.solve(circulant(x), y)


def circulant(c: Any) -> Array:
    """Of each vector along the last axis."""
    column = traced(c)[1]
    if column.ndim == 0:
        raise unknown("scipy.linalg.circulant", " of a number")
    n = np.arange(column.shape[-1])
    return column[..., (n[:, None] - n) % max(len(n), 1)]


def hankel(c: Any, r: Any = None) -> Array:
    if any(traced(x)[1].ndim == 0 for x in (c, r) if x is not None):
        raise unknown("scipy.linalg.hankel", " of an array of no dimensions")
    column = traced(c)[1].ravel()
    row = elementwise(np.multiply, column, 0) if r is None else traced(r)[1].ravel()
    places = np.arange(column.shape[0])[:, None] + np.arange(row.shape[0])
    return concatenate([column, row[1:]], 0)[places]


def khatri_rao(a: Any, b: Any) -> Array:
    x, y = traced(a)[1], traced(b)[1]
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ValueError("Both arrays must have the same number of columns, and two dimensions.")
    return reshape(elementwise(np.multiply, x[:, None, :], y[None, :, :]), (-1, x.shape[1]))


def companion(a: Any) -> Array:
    """The matrix whose eigenvalues are the roots of the polynomial, of each along the last axis."""
    x = _floats(a)
    if x.ndim == 0 or x.shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    is_not_zero = FUNCTIONS[np.all](elementwise(np.not_equal, x[..., 0], 0))
    text = "The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero."
    emitted(require, is_not_zero, error="ValueError", text=text)
    first = elementwise(np.negative, elementwise(np.true_divide, x[..., 1:], x[..., :1]))
    n = x.shape[-1] - 1
    rest = np.broadcast_to(np.eye(n - 1, n, dtype=x.dtype), (*x.shape[:-1], n - 1, n))
    return concatenate([first[..., None, :], rest], -2)


MEANINGS = (
    solve, inv, det, solve_triangular, cholesky, cho_factor, cho_solve, lu_factor, lu_solve, lu, pinv, pinvh, lstsq,
    norm, block_diag, toeplitz, circulant, hankel, khatri_rao, solve_toeplitz, solve_circulant, companion,
)  # fmt: skip
recode("scipy.linalg", {each.__name__: each for each in MEANINGS})
ANY.update(MEANINGS)

__all__ = ["BY_PROTOCOL", "of_triangle", "refused", "substituted"]
