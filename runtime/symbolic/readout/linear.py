"""Linear algebra of small matrices of expressions: determinants and adjugates, which need no pivots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ....compiler.ir.graph import Op
from ....compiler.ops.linalg import factor, solutions
from ..shared.library import sympy_module
from .elements import NoExpression, SymbolicArray, table

ROWS = 5
"""The largest matrix: the determinant of one of n rows has n! terms."""


def _matrix(x: SymbolicArray) -> Any:
    sympy = sympy_module()

    if len(x.shape) != 2 or max(x.shape) > ROWS:
        raise NoExpression(f"sympy() reads linear algebra of matrices of up to {ROWS} rows, and not of {x.shape}")
    return sympy.Matrix(*x.shape, x.all())


def _back(m: Any) -> SymbolicArray:
    values = np.empty(m.shape, object)
    for index in np.ndindex(*m.shape):
        values[index] = m[index]
    return table(values)


def _determinant(a: Any) -> Any:
    return _of_names(a, lambda named: named.det(method="berkowitz"))


def _adjugate(a: Any) -> Any:
    return _of_names(a, lambda named: named.adjugate(method="berkowitz"))


def _of_names(a: Any, made: Callable[[Any], Any]) -> Any:
    """What is made of a matrix, made of one of names: SymPy compares what stands in one again and again."""
    sympy = sympy_module()

    names = {e: sympy.Dummy() for e in a if not e.is_Number and not e.is_Atom}
    return made(a.xreplace(names)).xreplace({x: e for e, x in names.items()})


def _inverse(op: Op, a: SymbolicArray) -> SymbolicArray:
    m = _matrix(a)
    return _back(_adjugate(m) / _determinant(m))


def _solve(op: Op, a: SymbolicArray, b: SymbolicArray) -> SymbolicArray:
    m = _matrix(a)
    if op.attrs["turned"]:
        m = m.T
    return _back(_adjugate(m) * _matrix(b) / _determinant(m))


def _det(op: Op, a: SymbolicArray) -> SymbolicArray:
    value = _determinant(_matrix(a))
    return SymbolicArray((), lambda: value)


def _singular(op: Op, a: SymbolicArray) -> SymbolicArray:
    return SymbolicArray((), lambda: sympy_module().Eq(_determinant(_matrix(a)), 0))


def _cofactor(op: Op, a: SymbolicArray) -> SymbolicArray:
    return _back(_adjugate(_matrix(a)).T)


def _cholesky(op: Op, a: SymbolicArray) -> SymbolicArray:
    """The lower triangle alone is read, as LAPACK does."""
    sympy = sympy_module()

    m = _matrix(a)
    made = sympy.zeros(*m.shape)
    for i in range(m.rows):
        for j in range(i + 1):
            rest = m[i, j] - sum(made[i, k] * made[j, k] for k in range(j))
            made[i, j] = sympy.sqrt(rest) if i == j else rest / made[j, j]
    return _back(made)


def _logarithm(op: Op, a: SymbolicArray) -> Sequence[SymbolicArray]:
    sympy = sympy_module()

    value = _determinant(_matrix(a))
    parts = sympy.sign(value), sympy.log(sympy.Abs(value))
    return [SymbolicArray((), lambda: parts[0]), SymbolicArray((), lambda: parts[1])]


def _of_each(rule: Callable[..., Sequence[SymbolicArray]]) -> Callable[..., Sequence[SymbolicArray]]:
    """A rule for one matrix as one for a batch of them, whose number may be any index."""

    def made(reading: Any, op: Op, args: Sequence[SymbolicArray]) -> Sequence[SymbolicArray]:
        axes = len(args[0].shape) - 2
        if not axes:
            return rule(op, *args)
        known: dict[tuple[Any, ...], Sequence[SymbolicArray]] = {}

        def element(k: int, *index: Any) -> Any:
            number = index[:axes]
            if number not in known:
                parts = [SymbolicArray(x.shape[axes:], partial(_within, x, number)) for x in args]
                known[number] = rule(op, *parts)
            return known[number][k][index[axes:]]

        return [SymbolicArray(r.type.static_shape(), partial(element, k)) for k, r in enumerate(op.results)]

    return made


def _within(x: SymbolicArray, number: tuple[Any, ...], *index: Any) -> Any:
    return x[(*number, *index)]


def _one(rule: Callable[..., SymbolicArray]) -> Callable[..., Sequence[SymbolicArray]]:
    return _of_each(lambda op, *args: [rule(op, *args)])


RULES: dict[Any, Callable[..., Sequence[SymbolicArray]]] = {
    solutions.inverse: _one(_inverse),
    solutions.solve: _one(_solve),
    solutions.det: _one(_det),
    solutions.singular: _one(_singular),
    solutions.cofactor: _one(_cofactor),
    factor.cholesky: _one(_cholesky),
    solutions.slogdet: _of_each(_logarithm),
}

__all__ = ["RULES"]
