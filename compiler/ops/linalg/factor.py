"""Cholesky, LU and QR factors, by NumPy's LAPACK, with pullbacks of our own.

The rules are those of Murray, "Differentiation of the Cholesky decomposition" (2016), and of Walter and Lehmann,
"Algorithmic differentiation of linear algebra functions" (2010). Matrices are the last two axes. What does not exist
is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.types import Type
from ..custom import refused
from ..elementwise import cast
from ..library import Library, each, positive, rectangles, square
from ..reduce import min_
from ..source import iota
from . import matrices as M
from . import small
from .lapack import getrf, is_called, lu, order_of, potrf
from .solutions import scalar


def _symmetric(m: Any, x: Any) -> Any:
    return 0.5 * (x + M.turned(m, x))


def _cholesky_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    (low,), (ct,) = results, cts
    middle = M.lower(m, M.product(m, M.turned(m, low), M.lower(m, ct)))
    half = M.where(m, middle, lambda m, i, j: m.ne(i, j)) + 0.5 * M.where(m, middle, M.on_diagonal)

    def solved(x: Any) -> Any:
        return m.triangular(low, x, upper=0, turned=1)

    return [_symmetric(m, solved(M.turned(m, solved(M.turned(m, half)))))]


def _positives(rng: np.random.Generator) -> Any:
    return [([positive(rng, 3, 3)], {}), ([positive(rng, 2, 4, 4)], {})]


def _cholesky_written(m: Any, a: Any) -> Any:
    if small.is_small(a.value.type):
        return small.matrix(m, small.cholesky(m, small.elements(m, a)))
    return m(potrf(m.b, a.value)) if is_called(a.value.type) else None


cholesky = Library(
    "cholesky", square, lambda a: each(np.linalg.cholesky, a), _cholesky_pull, samples=_positives,
    written=_cholesky_written,
)  # fmt: skip


def minor(a: np.ndarray) -> np.ndarray:
    """The order of the first leading minor that is not positive, 0 if all are."""
    made = np.zeros(a.shape[:-2], np.int32)
    for at in np.ndindex(made.shape):
        if not _is_positive(a[at]):
            made[at] = next(n for n in range(1, len(a[at]) + 1) if not _is_positive(a[at][:n, :n]))
    return made


def _is_positive(a: np.ndarray) -> bool:
    try:
        return not np.isnan(np.linalg.cholesky(a).diagonal()).any()
    except np.linalg.LinAlgError:
        return False


cholesky_info = Library("cholesky_info", lambda a: scalar(a).with_dtype("i32"), minor, samples=_positives)


def lu_types(a: Type) -> tuple[Type, ...]:
    *lead, rows, columns = a.shape
    n = min(rows, columns)  # type: ignore[type-var]
    return a, Type("i32", (*lead, n)), Type("i32", tuple(lead))


def _permutation(pivots: np.ndarray, rows: int) -> np.ndarray:
    """P of A = P L U."""
    order = order_of(pivots, rows)
    return np.swapaxes(np.eye(rows)[order], -1, -2)


permutation = Library(
    "permutation",
    lambda p, rows, dtype: Type(dtype, (*p.shape[:-1], rows, rows)),
    lambda p, rows, dtype: _permutation(p, rows),
    attributes={"rows": "axis", "dtype": "word"},
    samples=lambda rng: [([np.array([[2, 2], [1, 3]], np.int32)], {"rows": 4, "dtype": "f64"})],
)


def lu_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    """Of P L U, where L may go on below the square part, or U beside it."""
    (a,), (packed, pivots, _), ct = inputs, results, cts[0]
    *_, rows, columns = M.shape_of(a)
    n = min(rows, columns)
    square, g = M.corner(m, packed, n, n), M.corner(m, ct, n, n)
    low, up = M.lower(m, square, -1) + M.identity(m, square), M.upper(m, square)
    of_low = M.product(m, M.adjoint(m, low), M.lower(m, g, -1))
    of_up = M.product(m, M.upper(m, g), M.adjoint(m, up))
    if columns > n:
        rest, rest_ct = (M.block(m, x, 0, n, n, columns - n) for x in (packed, ct))
        of_low = of_low - M.product(m, rest_ct, M.adjoint(m, rest))
    if rows > n:
        rest, rest_ct = (M.block(m, x, n, 0, rows - n, n) for x in (packed, ct))
        of_up = of_up - M.product(m, M.adjoint(m, rest), rest_ct)
    middle = M.lower(m, of_low, -1) + M.upper(m, of_up)
    made = _solved_right(m, m.triangular(low, middle, upper=0, turned=1), up)
    if columns > n:
        made = M.beside(m, made, m.triangular(low, rest_ct, upper=0, turned=1))
    if rows > n:
        made = M.above(m, made, _solved_right(m, rest_ct, up))
    return [M.product(m, m.permutation(pivots, rows=rows, dtype=a.value.type.dtype), made)]


def _solved_right(m: Any, x: Any, up: Any) -> Any:
    """x times the inverse of the adjoint."""
    return M.adjoint(m, m.triangular(up, M.adjoint(m, x), upper=1, turned=0))


def _lu_written(m: Any, a: Any) -> Any:
    """Of square matrices, by LAPACK."""
    kind = a.value.type
    if not is_called(kind) or kind.shape[-1] != kind.shape[-2]:
        return None
    factors, swaps = getrf(m.b, M.turned(m, a).value)
    packed, n = M.turned(m, m(factors)), kind.shape[-1]
    places = m(iota(m.b, type=swaps.type, axis=kind.rank - 2)) + 1
    zeros = m.select(m.eq(M.diagonal(m, packed), 0.0), places, n + 1)
    first = m(min_(m.b, zeros.value, axes=(kind.rank - 2,)))
    info = m.select(m.eq(first, n + 1), 0, first)
    return packed, m(cast(m.b, swaps, dtype="i32")), m(cast(m.b, info.value, dtype="i32"))


lu_factor = Library("lu_factor", lu_types, lu, lu_pull, samples=rectangles, written=_lu_written)


def qr_types(a: Type, mode: str) -> tuple[Type, Type]:
    *lead, rows, columns = a.shape
    n = rows if mode == "complete" else min(rows, columns)  # type: ignore[type-var]
    return a.with_shape((*lead, rows, n)), a.with_shape((*lead, n, columns))


def qr_pull(m: Any, inputs: Any, results: Any, cts: Any, mode: str) -> Any:
    (a,), (q, r), (gq, gr) = inputs, results, cts
    *_, rows, columns = M.shape_of(a)
    if mode == "complete" and rows > columns:
        text = "qr has no derivative where mode is 'complete' and there are more rows than columns"
        return [m(refused.of(m.b, a.value.type, text, [x.value for x in (gq, gr, a)]))]
    if rows >= columns:
        return [_qr_tall(m, q, r, gq, gr)]
    first = M.corner(m, r, rows, rows)
    g_first, g_rest = M.corner(m, gr, rows, rows), M.block(m, gr, 0, rows, rows, columns - rows)
    gq = gq + M.product(m, M.block(m, a, 0, rows, rows, columns - rows), M.adjoint(m, g_rest))
    return [M.beside(m, _qr_tall(m, q, first, gq, g_first), M.product(m, q, g_rest))]


def _qr_tall(m: Any, q: Any, r: Any, gq: Any, gr: Any) -> Any:
    middle = M.product(m, r, M.adjoint(m, gr)) - M.product(m, M.adjoint(m, gq), q)
    low = M.lower(m, middle, -1)
    both = low + M.adjoint(m, low) + M.real_diagonal(m, middle)
    return M.adjoint(m, m.triangular(r, M.adjoint(m, gq + M.product(m, q, both)), upper=1, turned=0))


qr = Library(
    "qr", qr_types, lambda a, mode: tuple(np.linalg.qr(a, mode)), qr_pull, {"mode": "word"},
    samples=lambda rng: rectangles(rng, mode="reduced"),
)  # fmt: skip


def packed_qr(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    packed, tau = np.linalg.qr(a, "raw")
    return np.swapaxes(packed, -1, -2), tau


def geqrf_types(a: Type) -> tuple[Type, Type]:
    *lead, rows, columns = a.shape
    return a, a.with_shape((*lead, min(rows, columns)))  # type: ignore[type-var]


def _geqrf_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    text = "the derivative of geqrf is not implemented"
    return [m(refused.of(m.b, inputs[0].value.type, text, [x.value for x in (*cts, *inputs)]))]


geqrf = Library("geqrf", geqrf_types, packed_qr, _geqrf_pull, samples=rectangles)
