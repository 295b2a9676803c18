"""Solutions of linear equations, inverses and determinants, by LAPACK, with pullbacks of our own.

Matrices of up to four rows are written out (`small`). The rules are those of Giles, "Collected matrix derivative
results for forward and reverse mode algorithmic differentiation" (2008), and of Golub and Pereyra (1973) for the
pseudoinverse. Matrices are the last two axes. What does not exist is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.graph import Value
from ...ir.types import Type
from ..complex.pair import Pair
from ..library import Library, each, near_one, rectangles, right_side, square
from ..shape import transpose
from ..source import iota
from . import lapack, small
from . import matrices as M

# ---- inverse and solutions


def _inverse_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    turned = M.turned(m, results[0])
    return [-M.product(m, turned, cts[0], turned)]


def squares(rng: np.random.Generator) -> Any:
    return [([near_one(rng, *shape)], {}) for shape in ((3, 3), (2, 4, 4), (1, 1))]


def _factors(m: Any, a: Any) -> tuple[Any, Any]:
    """LU of a matrix in columns, and the swaps: one value, whoever asks for it."""
    factors, swaps = lapack.getrf(m.b, M.turned(m, a).value)
    return m(factors), m(swaps)


def _by_factors(m: Any, a: Any, b: Any, turned: int = 0) -> Any:
    """X with A X = B or A' X = B, by LAPACK if it takes these."""
    if not lapack.is_called(a.value.type, b.value.type):
        return None
    low, on_side = _cholesky_factor(m, a)
    if low is not None:
        return m(lapack.trsm(m.b, low, b.value, upper=0, turned=int(turned != on_side)))
    factors, swaps = _factors(m, a)
    return M.turned(m, m(lapack.getrs(m.b, factors.value, swaps.value, M.turned(m, b).value, turned=turned)))


def _cholesky_factor(m: Any, a: Any) -> tuple[Value | None, int]:
    """The lower triangle that a matrix is by the way it was made, or whose transpose it is, and whether it is that."""
    value, is_turned = a.value, 0
    for op in reversed(m.b.body):
        if value in op.results and op.prim is lapack.potrf:
            return value, is_turned
        if value in op.results:
            rank = len(value.type.shape)
            if op.prim is not transpose or op.attrs["axes"] != (*range(rank - 2), rank - 1, rank - 2):
                break
            value, is_turned = op.args[0], 1 - is_turned
    return None, 0


def _are_small(a: Type, b: Type) -> bool:
    """Whether systems are written out."""
    return small.is_small(a) and small.is_small(b)


def _inverse_written(m: Any, a: Any) -> Any:
    if not small.is_small(a.value.type):
        if not lapack.is_called(a.value.type):
            return None
        factors, swaps = _factors(m, a)
        return M.turned(m, m(lapack.getri(m.b, factors.value, swaps.value)))
    rows = small.elements(m, a)
    zero, one = (m.number(v, rows[0][0].value.type) for v in (0.0, 1.0))
    lu = small.LU(m, rows)
    return small.matrix(m, lu.solve([[one if i == j else zero for j in range(len(rows))] for i in range(len(rows))]))


inverse = Library(
    "inverse", square, lambda a: each(np.linalg.inv, a), _inverse_pull, samples=squares, written=_inverse_written
)


def _solve_pull(m: Any, inputs: Any, results: Any, cts: Any, turned: int) -> Any:
    ct = m.solve(inputs[0], cts[0], turned=1 - turned)
    x, y = (results[0], ct) if turned else (ct, results[0])
    return [-M.product(m, x, M.turned(m, y)), ct]


def _solve(a: np.ndarray, b: np.ndarray, turned: int) -> np.ndarray:
    return each(np.linalg.solve, np.swapaxes(a, -1, -2) if turned else a, b)


def _solve_written(m: Any, a: Any, b: Any, turned: int) -> Any:
    if not _are_small(a.value.type, b.value.type):
        return _by_factors(m, a, b, turned)
    lu, columns = small.LU(m, small.elements(m, a)), b.value.type.shape[-1]
    of_rows = b.value.type.rank == 2 and columns > 1  # rows are vectors; of a batch, each element is one
    lu, right = (lu.along(columns), small.lines(m, b)) if of_rows else (lu, small.elements(m, b))
    made = (lu.solve_transposed if turned else lu.solve)(right)
    return (small.of_lines if of_rows else small.matrix)(m, made)


solve = Library(
    "solve", lambda a, b, turned: right_side(a, b), _solve, _solve_pull, {"turned": "axis"},
    samples=lambda rng: [([a, rng.normal(size=(*a.shape[:-1], 2))], {"turned": k})
                         for (a,), _ in [*squares(rng), ([near_one(rng, 6, 6)], {})] for k in (0, 1)],
    written=_solve_written,
)  # fmt: skip
"""X with A X = B, or with A' X = B where it is `turned`: by one factorisation, where a program needs both."""


def _pinv_types(a: Type, *_: Type) -> Type:
    *lead, rows, columns = a.shape
    return a.with_shape((*lead, columns, rows))


def _pinv(a: np.ndarray, atol: np.ndarray, rtol: np.ndarray) -> np.ndarray:
    u, s, vh = each(lambda x: tuple(np.linalg.svd(x, full_matrices=False)), a)
    top = s[..., :1] if s.shape[-1] else np.zeros((*s.shape[:-1], 1), s.dtype)
    cut = np.maximum(atol[..., None], rtol[..., None] * top)
    inverted = np.where(s > cut, 1 / s, 0) + 0 * s
    return np.swapaxes(vh, -1, -2) @ (inverted[..., None] * np.swapaxes(u, -1, -2))


def _pinv_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    a, (p,), (ct,) = inputs[0], results, cts
    pt, gt = M.turned(m, p), M.turned(m, ct)
    ap, pa = M.product(m, a, p), M.product(m, p, a)
    outer, inner = M.identity(m, ap) - ap, M.identity(m, pa) - pa
    made = M.product(m, outer, gt, p, pt) + M.product(m, pt, p, gt, inner) - M.product(m, pt, ct, pt)
    return [made, None, None]


pinv = Library(
    "pinv", _pinv_types, _pinv, _pinv_pull,
    samples=lambda rng: [([a, np.zeros(a.shape[:-2]), np.full(a.shape[:-2], 1e-12)], {})
                         for (a,), _ in rectangles(rng)],
)  # fmt: skip


def _triangle(m: Any, x: Any, upper: int) -> Any:
    return (M.upper if upper else M.lower)(m, x)


def _triangular_pull(m: Any, inputs: Any, results: Any, cts: Any, upper: int, turned: int) -> Any:
    ct = m.triangular(inputs[0], cts[0], upper=upper, turned=1 - turned)
    x, y = (results[0], ct) if turned else (ct, results[0])
    return [-_triangle(m, M.product(m, x, M.turned(m, y)), upper), ct]


def _triangular_written(m: Any, a: Any, b: Any, upper: int, turned: int) -> Any:
    if not _are_small(a.value.type, b.value.type):
        if not lapack.is_called(a.value.type, b.value.type):
            return None
        return m(lapack.trsm(m.b, a.value, b.value, upper=upper, turned=turned))
    rows = small.elements(m, a)
    if turned:
        rows = [list(column) for column in zip(*rows, strict=True)]
    return small.matrix(m, small.substituted(m, rows, small.elements(m, b), from_below=bool(upper) != bool(turned)))


triangular = Library(
    "triangular", lambda a, b, upper, turned: right_side(a, b), lapack.triangular, _triangular_pull,
    {"upper": "axis", "turned": "axis"},
    samples=lambda rng: [([a, rng.normal(size=(*a.shape[:-1], 2))], {"upper": j, "turned": k})
                         for (a,), _ in [*squares(rng), ([near_one(rng, 6, 6)], {})] for j in (0, 1) for k in (0, 1)],
    written=_triangular_written,
)  # fmt: skip
"""X with T X = B, or with T' X = B where it is `turned`, for the lower or `upper` triangle T of a matrix."""


def solved(m: Any, a: Any, b: Any, turned: bool = False) -> Any:
    """X with A X = B or A' X = B, the adjoint of complex ones."""
    if isinstance(a, Pair) or isinstance(b, Pair):
        return m.solve(m.pair(a), m.pair(b), turned=int(turned))
    return m(m.b.emit(solve, a.value, b.value, turned=int(turned))[0])


def substituted(m: Any, a: Any, b: Any, upper: bool = False, turned: bool = False) -> Any:
    """X with T X = B or T' X = B, for a triangle T of A, the adjoint of a complex one."""
    if isinstance(a, Pair) or isinstance(b, Pair):
        return m.triangular(m.pair(a), m.pair(b), upper=int(upper), turned=int(turned))
    return m(m.b.emit(triangular, a.value, b.value, upper=int(upper), turned=int(turned))[0])


def _are_zero(m: Any, pivots: Any) -> Any:
    """Whether one of the elements in the last axis is zero."""
    one, zero = (m.number(v, pivots.value.type) for v in (1.0, 0.0))
    return m.gt(_summed(m, m.select(m.eq(pivots, 0.0), one, zero)), 0.0)


def _of_factors(few: Callable[[small.LU], Any], many: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """How something of a matrix is written: by factors that are written out where it is small, else by LAPACK's."""

    def written(m: Any, a: Any) -> Any:
        if small.is_small(a.value.type):
            return few(small.LU(m, small.elements(m, a)))
        return many(m, a) if lapack.is_called(a.value.type) else None

    return written


def _has_zero_pivot(m: Any, a: Any) -> Any:
    low, _ = _cholesky_factor(m, a)
    return _are_zero(m, M.diagonal(m, _factors(m, a)[0] if low is None else m(low)))


singular = Library(
    "singular", lambda a: scalar(a).with_dtype("bool"), lambda a: lapack.lu(a)[2] != 0, samples=squares,
    written=_of_factors(small.LU.is_singular, _has_zero_pivot),
)  # fmt: skip
"""Whether a pivot is exactly zero, for which LAPACK refuses to solve: by the factors that a solution is made of."""


# ---- determinants


def scalar(a: Type) -> Type:
    return a.with_shape(square(a).shape[:-2])


def _det_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    (a,) = inputs
    return [M.scalars(m, cts[0], M.shape_of(a)) * m.cofactor(a)]


def _cofactor(a: np.ndarray) -> np.ndarray:
    """det(a) times the inverse's transpose, which exists for singular matrices too; by singular values."""
    u, s, vh = each(lambda x: tuple(np.linalg.svd(x)), a)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    n = s.shape[-1]
    others = [np.prod(np.delete(s, k, -1), -1) for k in range(n)]
    made = np.stack(others, -1) if n else s
    return ((sign[..., None] * made)[..., None, :] * u) @ vh


def _cofactor_written(m: Any, a: Any) -> Any:
    return small.matrix(m, small.cofactors(m, small.elements(m, a))) if small.is_small(a.value.type) else None


def _cofactor_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    """By polynomials for few rows, else by the inverse, so only where there is one."""
    (a,), (ct,) = inputs, cts
    if not isinstance(a, Pair) and small.is_small(a.value.type):
        return [small.matrix(m, small.cofactors_pulled(m, small.elements(m, a), small.elements(m, ct)))]
    turned = M.turned(m, m.inverse(a))
    trace = M.diagonal(m, M.product(m, M.turned(m, ct), turned))
    total = _summed(m, trace)
    shape = M.shape_of(a)
    made = M.scalars(m, total, shape) * turned - M.product(m, turned, M.turned(m, ct), turned)
    return [M.scalars(m, m.det(a), shape) * made]


def _summed(m: Any, v: Any) -> Any:
    return m(M.sum_(m.b, v.value, axes=(len(M.shape_of(v)) - 1,)))


def _sign_and_logarithm(m: Any, a: Any) -> Any:
    """By LU, as NumPy: the sign is odd where the swaps and the negative pivots are; 0 and -inf for a pivot of zero."""
    factors, swaps = _factors(m, a)
    pivots = M.diagonal(m, factors)
    places = m(iota(m.b, type=swaps.value.type, axis=len(M.shape_of(swaps)) - 1)) + 1
    one, zero = m.number(1.0, pivots.value.type), m.number(0.0, pivots.value.type)
    odd = m.select(m.xor(m.ne(swaps, places), m.lt(pivots, 0.0)), one, zero)
    count, missing = _summed(m, odd), _summed(m, m.select(m.eq(pivots, 0.0), one, zero))
    sign = 1.0 - 2.0 * (count - 2.0 * m.floor(0.5 * count))
    return m.select(m.gt(missing, 0.0), 0.0, sign), _summed(m, m.log(m.abs(pivots)))


def _determinant(m: Any, a: Any) -> Any:
    sign, logarithm = _sign_and_logarithm(m, a)
    return sign * m.exp(logarithm)


det = Library(
    "det", scalar, lambda a: np.linalg.det(a), _det_pull, samples=squares,
    written=_of_factors(small.LU.determinant, _determinant),
)  # fmt: skip
cofactor = Library(
    "cofactor", square, _cofactor, _cofactor_pull, samples=squares,
    written=_cofactor_written,
)  # fmt: skip


def _slogdet_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    (a,) = inputs
    return [M.scalars(m, cts[1], M.shape_of(a)) * M.turned(m, m.inverse(a))]


slogdet = Library(
    "slogdet", lambda a: (scalar(a), scalar(a)), lambda a: tuple(np.linalg.slogdet(a)), _slogdet_pull,
    samples=squares, written=_of_factors(small.LU.sign_and_logarithm, _sign_and_logarithm),
)  # fmt: skip

__all__ = ["cofactor", "det", "inverse", "pinv", "scalar", "singular", "slogdet", "solve", "solved", "squares",
           "substituted", "triangular"]
