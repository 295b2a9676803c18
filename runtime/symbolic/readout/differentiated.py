"""Derivatives of what was read out, by SymPy: of loops whose own gradients keep too much to be read.

    slopes([f], [x], 2)       the Hessians of f: for each result and two arguments an array of their shapes

A long loop read out is a Sum, a Product or a recurrence, and so is its derivative, with more of a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..shared.iterated import iterated
from ..shared.library import sympy_module
from ..shared.parts import found
from .elements import NoExpression, SymbolicArray, scalar
from .writing import result_of

MOST = 64
"""The most elements that an array of derivatives is made of."""


def slopes(values: Sequence[Any], given: Sequence[SymbolicArray], order: int = 1) -> list[Any]:
    """For each value, and for one argument or each two of them, all derivatives: the value's axes come first."""
    made = [_elements(v) for v in values]
    for _ in range(order):
        made = [_slope(each, x) for each in made for x in given]
    if any(each.size > MOST for each in made) and order > 1:
        raise NoExpression(f"sympy() cannot read more than {MOST} second derivatives of a long loop")
    return [result_of(each) for each in made]


def is_long(made: Sequence[Any]) -> bool:
    """Whether there are loops in what was read."""
    sympy = sympy_module()

    return any(found(e, sympy.Sum, sympy.Product, iterated()) for e in made if isinstance(e, sympy.Basic))


def along(value: Any, given: Sequence[SymbolicArray], vectors: Sequence[SymbolicArray]) -> list[Any]:
    """The Hessian of a value times a vector of the structure of the arguments."""
    sympy = sympy_module()

    elements, factors = ([e for x in each for e in x.all()] for each in (given, vectors))
    slope = sympy.Add(*[sympy.diff(value, e) * v for e, v in zip(elements, factors, strict=True)])
    return [result_of(_slope(scalar(slope), x)) for x in given]


def _slope(y: SymbolicArray, x: SymbolicArray) -> SymbolicArray:
    return SymbolicArray((*y.shape, *x.shape), partial(_element, y, x))


def _element(y: SymbolicArray, x: SymbolicArray, *index: Any) -> Any:
    axes = len(y.shape)
    sympy = sympy_module()
    try:
        made = sympy.diff(y[index[:axes]], x[index[axes:]])
        jumps = found(made, sympy.DiracDelta) + [d for d in found(made, sympy.Derivative) if d.expr.func == sympy.sign]
        return made.xreplace(dict.fromkeys(jumps, sympy.S.Zero)) if jumps else made
    except NotImplementedError as error:
        raise NoExpression(f"sympy() cannot read a gradient: {error}") from None


def _elements(e: Any) -> SymbolicArray:
    """A result as the array that it was made of."""
    from sympy.tensor.array import ArrayComprehension

    if isinstance(e, ArrayComprehension):
        names = [limit[0] for limit in e.limits]
        size = tuple([int(n) for n in e.shape])

        def value(*index: Any) -> Any:
            return e.function.xreplace(dict(zip(names, map(sympy_module().sympify, index), strict=True)))

        return SymbolicArray(size, value, base=True)
    shape = getattr(e, "shape", None)
    if not shape:
        return scalar(e)
    return SymbolicArray(tuple(map(int, shape)), lambda *index: e[index])


__all__ = ["along", "is_long", "slopes"]
