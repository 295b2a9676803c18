"""Factorisations of matrices of a few rows, written out: their elements are values, pivots are chosen by selects.

A call of NumPy's LAPACK takes some 12 µs whatever the size, a 4 x 4 solution written out a hundredth of it; it stays in
the registers of the loop around it, and of a batch several go in the lanes of a vector. The factors are those of LAPACK
(partial pivoting, the first of the largest), so the results are NumPy's to rounding. What does not exist is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from ...ir.types import Type
from ..reduce import spread
from ..shape import concatenate, reshape, slice_

ROWS = 4
"""Up to so many rows a matrix is written out: the number of operations grows with the cube."""

Rows = list[list[Any]]


def is_small(type: Type) -> bool:
    """Whether matrices of this type are written out."""
    return type.rank >= 2 and all(isinstance(n, int) and 0 < n <= ROWS for n in type.shape[-2:])


def elements(m: Any, x: Any) -> Rows:
    """The elements of matrices, each a value in the shape of the batch."""
    *lead, rows, columns = x.value.type.shape
    return [[_element(m, x, lead, i, j) for j in range(columns)] for i in range(rows)]


def _element(m: Any, x: Any, lead: list[Any], i: int, j: int) -> Any:
    start, step = (*[0] * len(lead), i, j), (1,) * (len(lead) + 2)
    part = slice_(m.b, x.value, start=start, step=step, shape=(*lead, 1, 1))
    return m(reshape(m.b, part, shape=tuple(lead)))


def matrix(m: Any, rows: Rows) -> Any:
    """The matrices with these elements."""
    lead = rows[0][0].value.type.shape
    parts = [reshape(m.b, x.value, shape=(*lead, 1)) for row in rows for x in row]
    flat = concatenate(m.b, *parts, axis=len(lead)) if len(parts) > 1 else parts[0]
    return m(reshape(m.b, flat, shape=(*lead, len(rows), len(rows[0]))))


def lines(m: Any, x: Any) -> Rows:
    """The rows of one matrix, each a value."""
    rows, columns = x.value.type.shape
    cuts = [slice_(m.b, x.value, start=(i, 0), step=(1, 1), shape=(1, columns)) for i in range(rows)]
    return [[m(reshape(m.b, cut, shape=(columns,)))] for cut in cuts]


def of_lines(m: Any, rows: Rows) -> Any:
    """The matrix with these rows."""
    (columns,) = rows[0][0].value.type.shape
    return m(concatenate(m.b, *[reshape(m.b, row[0].value, shape=(1, columns)) for row in rows], axis=0))


def _spread(m: Any, x: Any, columns: int) -> Any:
    return m(spread(m.b, x.value, shape=(columns,), axes=()))


class LU:
    """P A = L U, where the swaps are remembered as the conditions under which they take place.

    Below a pivot of zero there are zeros only, of which its reciprocal makes NaNs: they reach all that follows, so a
    singular matrix needs no look on the way, which the next pivot would wait for. `upper` is D^-1 U, with the pivots
    in D: so an unknown waits for a product and a difference of each one before, not for its own pivot as well.
    """

    def __init__(self, m: Any, a: Rows) -> None:
        self.m, self.rows = m, [list(row) for row in a]
        self.swaps: list[tuple[int, int, Any]] = []
        self.inverses: list[Any] = []
        n = len(a)
        for k in range(n):
            for i in range(k + 1, n):
                larger = m.gt(m.abs(self.rows[i][k]), m.abs(self.rows[k][k]))
                self.swaps.append((k, i, larger))
                exchange(m, self.rows, k, i, larger)
            pivot = self.rows[k][k]
            inverse = 1.0 / pivot
            self.inverses.append(m.select(m.eq(pivot, 0.0), math.nan, inverse) if k == n - 1 else inverse)
            for i in range(k + 1, n):
                factor = self.rows[i][k] * self.inverses[k]
                self.rows[i][k] = factor
                for j in range(k + 1, n):
                    self.rows[i][j] = self.rows[i][j] - factor * self.rows[k][j]
        self.upper = [[x * inverse for x in row] for row, inverse in zip(self.rows, self.inverses, strict=True)]

    def along(self, columns: int) -> LU:
        """The same for right sides whose rows are values of so many elements."""
        made = copy(self)
        made.rows = [[_spread(self.m, x, columns) for x in row] for row in self.rows]
        made.upper = [[_spread(self.m, x, columns) for x in row] for row in self.upper]
        made.inverses = [_spread(self.m, x, columns) for x in self.inverses]
        made.swaps = [(k, i, _spread(self.m, larger, columns)) for k, i, larger in self.swaps]
        return made

    @property
    def pivots(self) -> list[Any]:
        return [self.rows[k][k] for k in range(len(self.rows))]

    def solve(self, b: Rows) -> Rows:
        """X with A X = B."""
        m, n, x = self.m, len(self.rows), [list(row) for row in b]
        for k, i, larger in self.swaps:
            exchange(m, x, k, i, larger)
        for i in range(n):
            for k in range(i):
                x[i] = [p - self.rows[i][k] * q for p, q in zip(x[i], x[k], strict=True)]
        for i in reversed(range(n)):
            x[i] = [p * self.inverses[i] for p in x[i]]
            for k in reversed(range(i + 1, n)):
                x[i] = [p - self.upper[i][k] * q for p, q in zip(x[i], x[k], strict=True)]
        return x

    def solve_transposed(self, b: Rows) -> Rows:
        """X with A' X = B, by the same factors."""
        m, n, x = self.m, len(self.rows), [list(row) for row in b]
        for i in range(n):
            for k in range(i):
                x[i] = [p - self.upper[k][i] * q for p, q in zip(x[i], x[k], strict=True)]
        x = [[p * inverse for p in row] for row, inverse in zip(x, self.inverses, strict=True)]
        for i in reversed(range(n)):
            for k in reversed(range(i + 1, n)):
                x[i] = [p - self.rows[k][i] * q for p, q in zip(x[i], x[k], strict=True)]
        for k, i, larger in reversed(self.swaps):
            exchange(m, x, k, i, larger)
        return x

    def is_singular(self) -> Any:
        """Whether a pivot is zero: those after the first such one are NaN."""
        return _any(self.m, [self.m.eq(p, 0.0) for p in self.pivots])

    def sign(self) -> Any:
        """1, or -1 where the number of swaps is odd."""
        made: Any = self.m.number(1.0, self.rows[0][0].value.type)
        for _, _, larger in self.swaps:
            made = self.m.select(larger, -made, made)
        return made

    def determinant(self) -> Any:
        made = self.sign()
        for p in self.pivots:
            made = made * p
        return self.m.select(self.is_singular(), 0.0, made)

    def sign_and_logarithm(self) -> tuple[Any, Any]:
        """Of the determinant; 0 and -inf where it is zero."""
        sign, total = self.sign(), None
        for p in self.pivots:
            sign = sign * self.m.sign(p)
            part = self.m.log(self.m.abs(p))
            total = part if total is None else total + part
        bad = self.is_singular()
        return self.m.select(bad, 0.0, sign), self.m.select(bad, -math.inf, total)


def substituted(m: Any, a: Rows, b: Rows, from_below: bool) -> Rows:
    """X with T X = B for one triangle T of A: the upper one is solved from below."""
    n, x = len(a), [list(row) for row in b]
    order = list(reversed(range(n))) if from_below else list(range(n))
    for place, i in enumerate(order):
        for k in order[:place]:
            x[i] = [p - a[i][k] * q for p, q in zip(x[i], x[k], strict=True)]
        inverse = 1.0 / a[i][i]
        x[i] = [p * inverse for p in x[i]]
    return _unless(m, [m.eq(a[k][k], 0.0) for k in range(n)], x)


def exchange(m: Any, rows: Rows, i: int, j: int, under: Any) -> None:
    """Swap two rows where the condition holds."""
    pairs = list(zip(rows[i], rows[j], strict=True))
    rows[i] = [m.select(under, q, p) for p, q in pairs]
    rows[j] = [m.select(under, p, q) for p, q in pairs]


def _any(m: Any, bad: list[Any]) -> Any:
    wrong = bad[0]
    for each in bad[1:]:
        wrong = m.or_(wrong, each)
    return wrong


def _unless(m: Any, bad: list[Any], x: Rows) -> Rows:
    wrong = _any(m, bad)
    return [[m.select(wrong, math.nan, p) for p in row] for row in x]


def cholesky(m: Any, a: Rows) -> Rows:
    """The lower factor, of which the upper triangle is zero."""
    n, bad = len(a), []
    zero = m.number(0.0, a[0][0].value.type)
    low: Rows = [[zero] * n for _ in range(n)]
    for j in range(n):
        square = a[j][j]
        for k in range(j):
            square = square - low[j][k] * low[j][k]
        bad.append(m.not_(m.gt(square, 0.0)))
        low[j][j] = m.sqrt(square)
        inverse = 1.0 / low[j][j]
        for i in range(j + 1, n):
            rest = a[i][j]
            for k in range(j):
                rest = rest - low[i][k] * low[j][k]
            low[i][j] = rest * inverse
    return _unless(m, bad, low)


def _minors(m: Any, a: Rows) -> Callable[[Sequence[int], Sequence[int]], Any]:
    """The determinant of some rows and columns; shared parts are made once."""
    made = dict[Any, Any]()

    def minor(rows: Sequence[int], columns: Sequence[int]) -> Any:
        if (rows, columns) not in made:
            total: Any = m.number(1.0, a[0][0].value.type) if not rows else None
            for k, column in enumerate(columns):
                rest = minor(rows[1:], (*columns[:k], *columns[k + 1 :])) if len(rows) > 1 else None
                term = a[rows[0]][column] if rest is None else a[rows[0]][column] * rest
                total = term if total is None else total - term if k % 2 else total + term
            made[rows, columns] = total
        return made[rows, columns]

    return minor


def _without(n: int, *gone: int) -> tuple[int, ...]:
    return tuple(k for k in range(n) if k not in gone)


def cofactors(m: Any, a: Rows) -> Rows:
    """The determinants of what is left without a row and a column, with their signs."""
    n, minor = len(a), _minors(m, a)
    found = [[minor(_without(n, i), _without(n, j)) for j in range(n)] for i in range(n)]
    return [[-x if (i + j) % 2 else x for j, x in enumerate(row)] for i, row in enumerate(found)]


def cofactors_pulled(m: Any, a: Rows, ct: Rows) -> Rows:
    """The sums of what each cofactor changes by, as polynomials: the matrix may be singular."""
    n, minor = len(a), _minors(m, a)

    def element(i: int, j: int) -> Any:
        total: Any = m.number(0.0, a[0][0].value.type)
        for k in _without(n, i):
            for el in _without(n, j):
                term = ct[k][el] * minor(_without(n, i, k), _without(n, j, el))
                odd = (k + el + i - (i > k) + j - (j > el)) % 2
                total = total - term if odd else total + term
        return total

    return [[element(i, j) for j in range(n)] for i in range(n)]


__all__ = ["LU", "ROWS", "cholesky", "cofactors", "cofactors_pulled", "elements", "is_small", "matrix", "substituted"]
