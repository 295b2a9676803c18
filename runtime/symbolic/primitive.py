"""Elementwise functions made from a SymPy formula: value, slopes, both modes, batches, sparsity and LaTeX.

    @primitive
    def softplus(x):
        return sympy.log(1 + sympy.exp(x))

    softplus(0.5); grad(softplus)(0.5); softplus(np.ones(3)); softplus(Symbol("t")); softplus.latex()
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Sequence
from typing import Any

from ...compiler.frontend import tracing, tree
from ..compiled.tracebacks import boundary
from ..rules import custom_jvp
from .lambdified import lambdify
from .shared.library import sympy_module

POINTS, DIGITS = 7, 30
"""Where, and with how many digits, a partial is compared that SymPy cannot simplify to the derivative."""


class Primitive(custom_jvp):
    """A function of numbers, arrays and SymPy expressions, with the partials of its formula; see `primitive`."""

    def __init__(self, formula: Callable[..., Any], partials: Any = None, stable: bool = True) -> None:
        symbols, expr = _formula(formula)
        value = lambdify(symbols, expr, stable=stable)
        value.__name__ = value.__qualname__ = getattr(formula, "__name__", "primitive")  # type: ignore[attr-defined]
        super().__init__(value)
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(formula, name, getattr(value, name, None)))
        self.symbols, self.formula = tuple(symbols), expr
        self.partials = _partials(symbols, expr, partials, self.__name__)
        slopes = lambdify(symbols, list(self.partials), stable=stable)

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            made = slopes(*primals)
            total = made[0] * tangents[0]
            for slope, tangent in zip(made[1:], tangents[1:], strict=True):
                total = total + slope * tangent
            return self(*primals), total

        self.defjvp(rule)
        self._made_of = (formula, partials, stable)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(type(a) in tree.MADE_OF for a in args) and tracing.current() is None:
            return self.__wrapped__(*args, **kwargs)  # whose own operations backward() knows
        if not any(hasattr(a, "free_symbols") for a in args):
            return super().__call__(*args, **kwargs)
        if len(args) != len(self.symbols):
            raise TypeError(f"{self.__name__} takes {len(self.symbols)} arguments, got {len(args)}")
        return self.formula.subs(dict(zip(self.symbols, args, strict=True)), simultaneous=True)

    def latex(self) -> str:
        """The formula as LaTeX."""
        sympy = sympy_module()

        return sympy.latex(self.formula)


@boundary
def primitive(formula: Callable[..., Any] | None = None, *, partials: Any = None, stable: bool = True) -> Any:
    """An elementwise function of a SymPy formula, differentiable to every order and in every mode.

    formula    a function of symbols, which are real, that returns a SymPy expression
    partials   where SymPy's derivatives are not what should be computed: a function of symbols that returns one
               expression for each argument. They are checked: symbolically, and at points to 30 digits
    stable     compute with forms that keep their digits; see `lambdify`

    It takes floats, arrays element by element, and SymPy expressions, of which it gives the formula. ValueError for a
    partial that is not the derivative.

    >>> import sympy
    >>> softplus = primitive(lambda x: sympy.log(1 + sympy.exp(x)))
    >>> grad(grad(softplus))(0.0)
    0.25
    """
    if formula is None:
        return lambda function: Primitive(function, partials, stable)
    if not callable(formula):
        raise TypeError(f"primitive takes a function of symbols, got {type(formula).__name__}: {formula!r:.60}")
    return Primitive(formula, partials, stable)


def _formula(formula: Callable[..., Any]) -> tuple[list[Any], Any]:
    sympy = sympy_module()

    names = list(inspect.signature(formula).parameters)
    if not names:
        raise TypeError("primitive: the formula takes no arguments")
    symbols = [sympy.Symbol(name, real=True) for name in names]
    expr = formula(*symbols)
    if isinstance(expr, (int, float)):
        expr = sympy.sympify(expr)
    if not isinstance(expr, sympy.Expr):
        raise TypeError(f"primitive: the formula returned a {type(expr).__name__}, expected a SymPy expression")
    return symbols, expr


def _partials(symbols: Sequence[Any], expr: Any, given: Any, name: str) -> tuple[Any, ...]:
    """SymPy's derivatives, steps counting as constant between their jumps; or those given, if they are equal."""
    sympy = sympy_module()

    steps = {s: sympy.Dummy() for s in expr.atoms(sympy.floor, sympy.ceiling, sympy.sign, sympy.Heaviside)}
    back = {d: s for s, d in steps.items()}
    derived = [sympy.diff(expr.xreplace(steps), s).xreplace(back) for s in symbols]
    if given is None:
        return tuple(derived)
    made = given(*symbols)
    made = [made] if isinstance(made, sympy.Expr) else list(made)
    if len(made) != len(symbols):
        raise ValueError(f"{name}: {len(made)} partials for {len(symbols)} arguments")
    for s, mine, theirs in zip(symbols, derived, made, strict=True):
        if sympy.simplify(mine - theirs) != 0:
            _compared(symbols, mine, sympy.sympify(theirs), f"{name}: the partial by {s}")
    return tuple(made)


def _compared(symbols: Sequence[Any], mine: Any, theirs: Any, what: str) -> None:
    """ValueError where two expressions differ at a point at which both are real numbers."""
    sympy = sympy_module()

    draw = random.Random(7)
    met = 0
    for _ in range(10 * POINTS):
        at = {s: sympy.Rational(draw.randint(-300, 300), 97) for s in symbols}
        values = [e.subs(at).evalf(DIGITS) for e in (mine, theirs)]
        if not all(v.is_Float or v.is_Rational for v in values):
            continue
        met += 1
        if abs(values[0] - values[1]) > sympy.Float(10) ** (8 - DIGITS) * max(1, abs(values[0])):
            told = ", ".join(f"{s} = {float(v):.4g}" for s, v in at.items())
            raise ValueError(
                f"{what} is {theirs}, which is {float(values[1]):.6g} at {told}; the formula's derivative is "
                f"{float(values[0]):.6g}: {mine}"
            )
        if met == POINTS:
            return
    if not met:
        verdict = f"{what} cannot be compared with the formula's derivative {mine}"
        raise ValueError(f"{verdict}: no point was found at which both are real")


__all__ = ["Primitive", "primitive"]
