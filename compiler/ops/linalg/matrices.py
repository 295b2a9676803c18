"""Products, transposes and parts of matrices, which are the last two axes, as formulas over terms.

A matrix of complex numbers is a `Pair` of terms, over the algebra of pairs; most of this is done with both its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...ir.types import Type
from ..complex.pair import Pair
from ..contract import contract
from ..reduce import spread, sum_
from ..shape import concatenate, reshape, slice_, transpose
from ..source import iota


def shape_of(x: Any) -> tuple[int, ...]:
    return x.value.type.static_shape()


def by_parts(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is linear, of terms; of pairs it is what it is of their parts."""

    @wraps(function)
    def each(m: Any, *args: Any) -> Any:
        if not any(isinstance(a, Pair) for a in args):
            return function(m, *args)
        pairs = [a if isinstance(a, (int, tuple)) else m.pair(a) for a in args]
        parts = [[getattr(a, k) if isinstance(a, Pair) else a for a in pairs] for k in ("re", "im")]
        return Pair(m, *(function(m.real, *given) for given in parts))

    return each


@by_parts
def turned(m: Any, x: Any) -> Any:
    """The transposes."""
    rank = len(shape_of(x))
    return m(transpose(m.b, x.value, axes=(*range(rank - 2), rank - 1, rank - 2)))


def adjoint(m: Any, x: Any) -> Any:
    """The transposes, and the conjugates of complex ones."""
    made = turned(m, x)
    return Pair(m, made.re, -made.im) if isinstance(made, Pair) else made


def product(m: Any, *factors: Any) -> Any:
    """The products, from the left."""
    made, *rest = factors
    for x in rest:
        made = _product(m, made, x)
    return made


def _product(m: Any, x: Any, y: Any) -> Any:
    if isinstance(x, Pair) or isinstance(y, Pair):
        x, y, r = m.pair(x), m.pair(y), m.real
        re = _product(r, x.re, y.re) - _product(r, x.im, y.im)
        return Pair(m, re, _product(r, x.re, y.im) + _product(r, x.im, y.re))
    rank = len(shape_of(x))
    batch = tuple((k, k) for k in range(rank - 2))
    attrs = {"batch": batch} if batch else {}
    return m(contract(m.b, x.value, y.value, left=(rank - 1,), right=(rank - 2,), **attrs))


def where(m: Any, x: Any, keep: Callable[[Any, Any, Any], Any], other: float = 0.0) -> Any:
    """The elements for which keep(m, row, column) holds, the others as `other`."""
    return m.select(mask(m, shape_of(x), keep), x, m.number(other, x.value.type))


def mask(m: Any, shape: tuple[int, ...], keep: Callable[[Any, Any, Any], Any]) -> Any:
    """Where keep(m, row, column) holds."""
    rank = len(shape)
    places = [m(iota(m.b, type=Type("i64", shape), axis=a)) for a in (rank - 2, rank - 1)]
    return keep(m, *places)


def lower(m: Any, x: Any, k: int = 0) -> Any:
    """What is on the k-th diagonal or below it."""
    return where(m, x, lambda m, i, j: m.le(j, i + k))


def upper(m: Any, x: Any, k: int = 0) -> Any:
    """What is on the k-th diagonal or above it."""
    return where(m, x, lambda m, i, j: m.ge(j, i + k))


def on_diagonal(m: Any, i: Any, j: Any) -> Any:
    return m.eq(i, j)


@by_parts
def diagonal(m: Any, x: Any) -> Any:
    """The elements on the diagonal; of a square matrix, or of one that has more rows or columns."""
    *lead, rows, columns = shape_of(x)
    n = min(rows, columns)
    if not isinstance(columns, int):  # a named size, by which nothing is stepped
        return m(sum_(m.b, where(m, corner(m, x, n, n), on_diagonal).value, axes=(len(lead) + 1,)))
    flat = reshape(m.b, x.value, shape=(*lead, rows * columns))
    start, step = (0,) * (len(lead) + 1), (*[1] * len(lead), columns + 1)
    return m(slice_(m.b, flat, start=start, step=step, shape=(*lead, n)))


def real_diagonal(m: Any, x: Any) -> Any:
    """The diagonal in its place, of complex matrices its real parts."""
    made = where(m, x, on_diagonal)
    return Pair(m, made.re, zeros(m.real, made.im)) if isinstance(made, Pair) else made


def diagonals(m: Any, v: Any) -> Any:
    """Square matrices with these diagonals."""
    return where(m, columns(m, v, shape_of(v)[-1]), on_diagonal)


@by_parts
def columns(m: Any, v: Any, n: int) -> Any:
    """Matrices of n equal columns."""
    shape = shape_of(v)
    return m(spread(m.b, v.value, shape=(*shape, n), axes=tuple(range(len(shape)))))


@by_parts
def rows(m: Any, v: Any, n: int) -> Any:
    """Matrices of n equal rows."""
    *lead, k = shape_of(v)
    return m(spread(m.b, v.value, shape=(*lead, n, k), axes=(*range(len(lead)), len(lead) + 1)))


@by_parts
def scalars(m: Any, v: Any, shape: tuple[int, ...]) -> Any:
    """One number for each matrix, in all its elements."""
    return m(spread(m.b, v.value, shape=shape, axes=tuple(range(len(shape_of(v))))))


def corner(m: Any, x: Any, n: int, k: int) -> Any:
    """The first n rows and k columns."""
    return block(m, x, 0, 0, n, k)


@by_parts
def block(m: Any, x: Any, row: int, column: int, n: int, k: int) -> Any:
    """n rows and k columns from a place on."""
    *lead, have_rows, have_columns = shape_of(x)
    if (row, column, n, k) == (0, 0, have_rows, have_columns):
        return x
    start, step = (*[0] * len(lead), row, column), (1,) * (len(lead) + 2)
    return m(slice_(m.b, x.value, start=start, step=step, shape=(*lead, n, k)))


@by_parts
def beside(m: Any, *parts: Any) -> Any:
    """Matrices side by side."""
    return m(concatenate(m.b, *[p.value for p in parts], axis=len(shape_of(parts[0])) - 1))


@by_parts
def above(m: Any, *parts: Any) -> Any:
    """Matrices one above the other."""
    return m(concatenate(m.b, *[p.value for p in parts], axis=len(shape_of(parts[0])) - 2))


@by_parts
def reshaped(m: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return x if shape_of(x) == shape else m(reshape(m.b, x.value, shape=shape))


def identity(m: Any, like: Any) -> Any:
    """Identity matrices in the shape of `like`."""
    one = m.number(1.0, like.value.type)
    return where(m, one, on_diagonal)


def zeros(m: Any, like: Any) -> Any:
    return m.number(0.0, like.value.type)
