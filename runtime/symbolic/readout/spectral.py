"""Fourier transforms of few numbers, and eigenvalues and singular values of two rows, as expressions.

    fft of [a, b]                  a + b, a - b
    eigvalsh of [[a, b], [b, c]]   (a + c)/2 -+ sqrt((a - c)**2/4 + b**2)

Rules as in `operations`: the reading, the operation and the elements of its arguments; the elements of its results come
out. Vectors of eigenvalues are not read: their signs are the library's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....compiler.ir.graph import Op
from ....compiler.ops.complex import fourier
from ....compiler.ops.linalg import spectra
from ..shared.library import sympy_module
from .elements import NoExpression, SymbolicArray


def _wave(pairs: Sequence[tuple[Any, Any, int]]) -> tuple[Any, Any]:
    """cos and sin of 2 pi times the sum of j k / n over the axes."""
    sympy = sympy_module()

    angle = 2 * sympy.pi * sum((sympy.sympify(j) * k / n for j, k, n in pairs), sympy.S.Zero)
    return sympy.cos(angle), sympy.sin(angle)


def _transformed(reading: Any, op: Op, args: list[Any]) -> Sequence[SymbolicArray]:
    """Sums of what is turned, over the axes of a transform."""
    (x,) = args
    axes, sign = [len(x.shape) - 1 + a for a in op.attrs["axes"]], 1 if op.attrs["inverse"] else -1
    return [SymbolicArray(x.shape, lambda *index: _coefficient(reading, x, index, axes, sign))]


def _coefficient(reading: Any, x: SymbolicArray, index: Sequence[Any], axes: Sequence[int], sign: int) -> Any:
    *place, part = index
    sizes = [x.shape[a] for a in axes]

    def term(*inner: Any) -> Any:
        source = list(place)
        for a, j in zip(axes, inner, strict=True):
            source[a] = j
        cos, sin = _wave([(j, place[a], n) for a, j, n in zip(axes, inner, sizes, strict=True)])
        re, im = x[(*source, 0)], x[(*source, 1)]
        return re * cos - sign * im * sin if part == 0 else im * cos + sign * re * sin

    return reading.folded("sum", sizes, term)


def _halved(reading: Any, op: Op, args: list[Any]) -> Sequence[SymbolicArray]:
    """The first half of the coefficients of real numbers."""
    (x,) = args
    axis = len(x.shape) + op.attrs["axis"]
    shape, whole = list(x.shape), x.shape[axis]
    shape[axis] = whole // 2 + 1

    def element(*index: Any) -> Any:
        *place, part = index

        def term(j: Any) -> Any:
            cos, sin = _wave([(j, place[axis], whole)])
            return x[(*place[:axis], j, *place[axis + 1 :])] * (cos if part == 0 else -sin)

        return reading.folded("sum", [whole], term)

    return [SymbolicArray((*shape, 2), element)]


def _doubled(reading: Any, op: Op, args: list[Any]) -> Sequence[SymbolicArray]:
    """Real numbers from the first half of their coefficients, of which all but the ends count twice."""
    (x,) = args
    n, axis = op.attrs["n"], len(x.shape) - 1 + op.attrs["axis"]
    shape = list(x.shape[:-1])
    shape[axis] = n

    def element(*index: Any) -> Any:
        def at(k: Any, part: int) -> Any:
            return x[(*index[:axis], k, *index[axis + 1 :], part)]

        def term(k: Any) -> Any:
            cos, sin = _wave([(k + 1, index[axis], n)])
            return 2 * (at(k + 1, 0) * cos - at(k + 1, 1) * sin)

        ends = at(0, 0) + (0 if n % 2 else at(n // 2, 0) * _wave([(n // 2, index[axis], n)])[0])
        inner = (n - 1) // 2
        return ends + reading.folded("sum", [inner], term) if inner else ends

    return [SymbolicArray(tuple(shape), element)]


def _eigenvalues(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Of [[a, b], [b, c]], the lesser one first."""
    sympy = sympy_module()

    middle, radius = (a + c) / 2, sympy.sqrt((a - c) ** 2 / 4 + b**2)
    return middle - radius, middle + radius


def _of_two_rows(x: SymbolicArray, name: str, what: str) -> None:
    if min(x.shape[-2:]) > 2:
        raise NoExpression(f"sympy() cannot read {name} of shape {x.shape}: {what} of up to two rows have a formula")


def _eigh(reading: Any, op: Op, args: list[Any]) -> Sequence[SymbolicArray]:
    (x,) = args
    _of_two_rows(x, "eigh", "eigenvalues of symmetric matrices")
    corner = (0, 1) if op.attrs["upper"] else (1, 0)

    def value(*index: Any) -> Any:
        *lead, k = index
        if x.shape[-1] == 1:
            return x[(*lead, 0, 0)]
        return _eigenvalues(x[(*lead, 0, 0)], x[(*lead, *corner)], x[(*lead, 1, 1)])[k]

    def vector(*index: Any) -> Any:
        raise NoExpression("sympy() cannot read eigenvectors, whose signs are the library's")

    return [SymbolicArray(x.shape[:-1], value), SymbolicArray(x.shape, vector, base=True)]


def _singular(reading: Any, op: Op, args: list[Any]) -> Sequence[SymbolicArray]:
    """Roots of the eigenvalues of A A^T or A^T A, whichever is smaller."""
    sympy = sympy_module()

    (x,) = args
    _of_two_rows(x, "singular_values", "singular values of matrices")
    rows, columns = x.shape[-2:]
    few = min(rows, columns)

    def value(*index: Any) -> Any:
        *lead, k = index

        def dot(p: int, q: int) -> Any:
            if rows <= columns:
                return sum(x[(*lead, p, j)] * x[(*lead, q, j)] for j in range(columns))
            return sum(x[(*lead, j, p)] * x[(*lead, j, q)] for j in range(rows))

        if few == 1:
            return sympy.sqrt(dot(0, 0))
        return sympy.sqrt(_eigenvalues(dot(0, 0), dot(0, 1), dot(1, 1))[1 - k])

    return [SymbolicArray((*x.shape[:-2], few), value)]


RULES: dict[Any, Callable[..., Sequence[SymbolicArray]]] = {
    fourier.fft: _transformed,
    fourier.rfft: _halved,
    fourier.irfft: _doubled,
    spectra.eigh: _eigh,
    spectra.singular_values: _singular,
}

__all__ = ["RULES"]
