"""Routines of LAPACK and BLAS as operations: matrices in, factors and solutions out, by a call of the native library.

    %1: f64[9,9], %2: i64[9] = getrf %a
    %3: f64[1,9] = getrs %1, %2, %b {turned=0}

`solve`, `inverse`, `cholesky` and their kin expand to them, so that what needs the factors of one matrix shares one
factorisation. Matrices are in row-major order and the last two axes; what is the library's own order is said with each.
The NumPy meaning is here; native code calls the library by address. What does not exist is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...ir.types import Type
from ..custom import refused
from ..library import Library, each, near_one, positive, square


class Routine(Library):
    """One routine; `sizes` tells the native function how many matrices, rows, right sides and which attributes."""

    opaque = False
    expand: Any = None  # type: ignore[assignment]

    def pull(self, b, op, cotangents):
        if all(ct is None for ct in cotangents):
            return [None] * len(op.args)
        text = f"{self.name} is not differentiated: what expands to it is"
        return [refused.of(b, a.type, text, [*cotangents, *op.args]) if a.type.is_float else None for a in op.args]

    def sizes(self, types: Sequence[Type], attrs: Mapping[str, Any]) -> tuple[int, ...]:
        """Matrices, rows, what the last argument has of right sides if it has any, and the attributes as declared."""
        *lead, n, _ = types[0].static_shape()
        count = math.prod(lead)
        right = types[-1].size // (count * n) if types[-1].is_float else n  # type: ignore[operator]
        return count, n, right, *(int(attrs[key]) for key in self.attributes)


def is_called(*types: Type) -> bool:
    """Whether routines take these: real floats, none of them empty."""
    return all(t.dtype in ("f32", "f64") and all(isinstance(n, int) and n > 0 for n in t.shape) for t in types)


def swapped(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2)


# ---- factors

BLOCK = 32
"""Columns that LU takes in turn, and rows that a triangular system is solved for at once; the rest are products."""


def lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L below the diagonal and U from it on, the row that each row was swapped with, and the first pivot of zero."""
    *lead, rows, columns = a.shape
    lu, n = np.array(a).reshape(math.prod(lead), rows, columns), min(rows, columns)
    pivots, info = np.zeros((len(lu), n), np.int32), np.zeros(len(lu), np.int32)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        _lu_of_columns(lu, start, stop, pivots, info)
        if stop < columns:
            head = np.tril(lu[:, start:stop, start:stop], -1) + np.eye(stop - start, dtype=lu.dtype)
            lu[:, start:stop, stop:] = np.linalg.solve(head, lu[:, start:stop, stop:])
            lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ lu[:, start:stop, stop:]
    return lu.reshape(a.shape), pivots.reshape(*lead, n), info.reshape(lead)


def _lu_of_columns(lu: np.ndarray, start: int, stop: int, pivots: np.ndarray, info: np.ndarray) -> None:
    """Eliminate below the diagonal in these columns; rows are swapped as a whole."""
    batch = np.arange(len(lu))
    for k in range(start, stop):
        at = k + np.argmax(_sizes(lu[:, k:, k]), axis=1)
        pivots[:, k] = at + 1
        lu[batch, k], lu[batch, at] = lu[batch, at], lu[batch, k].copy()
        head = lu[:, k, k]
        info[(info == 0) & (head == 0)] = k + 1
        lu[:, k + 1 :, k] /= np.where(head == 0, 1, head)[:, None]
        lu[:, k + 1 :, k + 1 : stop] -= lu[:, k + 1 :, k, None] * lu[:, k, None, k + 1 : stop]


def _sizes(x: np.ndarray) -> np.ndarray:
    """By which LAPACK chooses pivots, also of complex numbers."""
    return np.abs(np.real(x)) + np.abs(np.imag(x)) if np.iscomplexobj(x) else np.abs(x)


def order_of(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Where each row of a matrix came from that was permuted by these swaps."""
    made = []
    for swaps in pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]).tolist():
        order = list(range(rows))
        for k, at in enumerate(swaps):
            order[k], order[at - 1] = order[at - 1], order[k]
        made.append(order)
    return np.array(made, np.int64).reshape(*pivots.shape[:-1], rows)


def _getrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    factors, pivots, _ = lu(swapped(a))
    return swapped(factors), pivots.astype(np.int64)


def _side(a: Type, *others: Type, **_: Any) -> Type:
    """The type of solutions, that of the right sides; native code would read anything else as what it should be."""
    *swaps, b = others
    wanted = [Type("i64", a.shape[:-1])] * len(swaps)
    if a.shape[-1:] != a.shape[-2:-1] or a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype or swaps != wanted:
        raise TypeError(f"a matrix of type {a} does not fit with {', '.join(map(str, others))}")
    return b


def _squares(rng: np.random.Generator) -> list[np.ndarray]:
    return [near_one(rng, *shape) for shape in ((6, 6), (2, 5, 5), (40, 40))]


potrf = Routine(
    "potrf", square, lambda a: each(np.linalg.cholesky, a),
    samples=lambda rng: [([positive(rng, 6, 6)], {}), ([positive(rng, 2, 5, 5)], {})],
)  # fmt: skip
"""The lower Cholesky factor, of which the upper triangle is zero."""

getrf = Routine(
    "getrf", lambda a: (a, Type("i64", square(a).shape[:-1])), _getrf,
    samples=lambda rng: [([a], {}) for a in _squares(rng)],
)  # fmt: skip
"""L below the diagonal and U from it on, of the transpose and transposed (in columns), and the swaps, from 1."""


# ---- solutions


def triangular(a: np.ndarray, b: np.ndarray, upper: int, turned: int) -> np.ndarray:
    """Block by block from the side where T has one element: what is beside a block on the diagonal are products."""
    t, from_below = (swapped(a) if turned else a), bool(upper) != bool(turned)
    x, n = np.empty_like(b), a.shape[-1]
    starts = range(0, n, BLOCK)
    for start in reversed(starts) if from_below else starts:
        rows = slice(start, min(start + BLOCK, n))
        done = slice(rows.stop, n) if from_below else slice(0, start)
        rest = b[..., rows, :] - t[..., rows, done] @ x[..., done, :] if done.start < done.stop else b[..., rows, :]
        x[..., rows, :] = each(np.linalg.solve, (np.triu if from_below else np.tril)(t[..., rows, rows]), rest)
    return x


def _getrs(factors: np.ndarray, pivots: np.ndarray, b: np.ndarray, turned: int) -> np.ndarray:
    packed, order = swapped(factors), order_of(pivots, factors.shape[-1])[..., None]
    low, right = np.tril(packed, -1) + np.eye(packed.shape[-1], dtype=packed.dtype), swapped(b)
    if turned:
        half = triangular(low, triangular(packed, right, 1, 1), 0, 1)
        x = np.empty_like(half)
        np.put_along_axis(x, np.broadcast_to(order, x.shape), half, -2)
    else:
        moved = np.take_along_axis(right, np.broadcast_to(order, right.shape), -2)
        x = triangular(packed, triangular(low, moved, 0, 0), 1, 0)
    missing = (np.diagonal(packed, axis1=-2, axis2=-1) == 0).any(-1)
    return np.where(missing[..., None, None], math.nan, swapped(x))


getri = Routine(
    "getri", lambda a, p: _side(a, p, a), lambda a, p: _getrs(a, p, np.zeros_like(a) + np.eye(a.shape[-1]), 0),
    samples=lambda rng: [([*_getrf(a)], {}) for a in _squares(rng)],
)  # fmt: skip
"""The inverse, by the factors of `getrf`; transposed."""

getrs = Routine(
    "getrs", _side, _getrs, None, {"turned": "axis"},
    samples=lambda rng: [([*_getrf(a), rng.normal(size=(*a.shape[:-2], 2, a.shape[-1]))], {"turned": k})
                         for a in _squares(rng) for k in (0, 1)],
)  # fmt: skip
"""X with A X = B, or with A' X = B where it is `turned`, by the factors of `getrf`; B and X are transposed."""

trsm = Routine(
    "trsm", _side, triangular, None, {"upper": "axis", "turned": "axis"},
    samples=lambda rng: [([a, rng.normal(size=(*a.shape[:-1], 2))], {"upper": j, "turned": k})
                         for a in _squares(rng) for j in (0, 1) for k in (0, 1)],
)  # fmt: skip
"""X with T X = B, or with T' X = B where it is `turned`, for the lower or `upper` triangle T of a matrix."""

__all__ = ["Routine", "getrf", "getri", "getrs", "is_called", "lu", "order_of", "potrf", "swapped", "triangular",
           "trsm"]
