"""SymPy expressions as compiled functions: lambdify."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler.frontend.symbolic import from_sympy
from .compiled.byname import made_of
from .compiled.derive import Jit
from .compiled.function import Function


class Expression(Function):
    """A compiled SymPy expression; pickles hold the expression."""

    def __init__(self, args: Any, expr: Any) -> None:
        super().__init__(from_sympy(args, expr), Jit())
        made_of(self, args, expr)


def lambdify(args: Any, expr: Any) -> Callable[..., Any]:
    """A compiled function of SymPy symbols: `grad`, `jit` and `ir` take it like any other.

    args   a symbol, or a sequence of them: the arguments in order
    expr   an expression, a nested list or tuple of them, or a matrix

    Expressions may hold numbers, + * **, elementary functions, Piecewise and relations. The function takes floats, or
    arrays element by element, and is real: where SymPy's value is complex, it is NaN.

    >>> from sympy.abc import x
    >>> lambdify(x, x**2 + 1)(3.0)
    10.0
    """
    return Expression(args, expr)


__all__ = ["lambdify"]
