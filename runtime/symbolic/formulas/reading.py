"""SymPy expressions as operations of the function that is being traced: what `reading_of` has no rule for.

    reader = ExpressionReader(functions={"f": np.tanh})
    reader.check([e], keys)                 everything in e can be read, or an UnknownFunction names what cannot
    reader.read([e], m, {x: term})          the terms over an algebra of `algebras`

A rule takes the reader, a part of the expression and what stands for symbols, and gives a `Plan`: the parts to read
first, and what to make of their terms. Rules are found by the class itself, never by its name, so that nobody's class
is taken for one of SymPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from ....compiler.ops.expression import FUNCTIONS, Plan, Reading, UnknownFunction, reading_of
from ....compiler.ops.scipy.called import TABLE
from ..shared import hypergeometric
from ..shared.library import sympy_module
from . import algebraic, calculus, matrices, polylogarithms, special, sums
from .algebras import load_scipy
from .alike import Group, Uses, groups_of
from .functions import OTHERS, REFUSED
from .sums import size_of
from .vectorized import vectorized_sum


class ExpressionReader:
    """How expressions are read.

    functions    by name, what functions of no class of SymPy's stand for, and numbers for symbols and constants
    use_imps     whether functions of `implemented_function` are called
    complex      whether numbers may be complex
    quadrature   whether integrals that SymPy cannot solve are computed by quadrature
    whole        what is computed, by which it is known what parts have in common

    `sizes` are the symbols that the shapes of arguments give values to.
    """

    def __init__(
        self,
        functions: Mapping[str, Any],
        use_imps: bool = True,
        complex: bool = False,
        quadrature: bool = False,
        whole: Sequence[Any] = (),
    ) -> None:
        self.use_imps, self.complex, self.quadrature = use_imps, complex, quadrature
        self.functions = {name: each for name, each in functions.items() if callable(each)}
        self.constants = {name: each for name, each in functions.items() if name not in self.functions}
        self.sizes: set[Any] = set()
        self._numbered: tuple[Mapping[Any, Any], Mapping[Any, int]] = ({}, {})
        self.whole = whole
        self._uses: Uses | None = None
        self._grouped: dict[Any, list[Group]] = {}
        self._readings: dict[tuple[int, ...], tuple[tuple[Any, ...], tuple[Any, ...], Reading]] = {}

    def check(self, exprs: Sequence[Any], keys: Sequence[Any]) -> None:
        """Read over nothing, so that what cannot be computed is refused here and now."""
        self._reading(exprs, dict.fromkeys(keys))

    def read(self, exprs: Sequence[Any], m: Any, env: Mapping[Any, Any]) -> list[Any]:
        """The terms of the expressions, which share their common parts."""
        return self._reading(exprs, env).terms(m, env)

    def _reading(self, exprs: Sequence[Any], env: Mapping[Any, Any]) -> Reading:
        """How the expressions are read: found once, though a function is traced again and again."""
        key, keys = tuple(map(id, exprs)), tuple(env)
        known = self._readings.get(key)  # which holds the expressions, so that no others have their ids
        if known is not None and known[1] == keys:
            return known[2]
        made = reading_of(exprs, env, number, self.more)
        if made.again:
            self._readings[key] = tuple(exprs), keys, made
        return made

    def more(self, e: Any, env: Mapping[Any, Any]) -> Plan | None:
        """How to read what is no elementary function of numbers; None for what is, and for what nobody knows."""
        kind = type(e)
        if self.constants and e.is_Atom and e not in env and str(e) in self.constants:
            return Plan(("constant", str(e)), (), lambda m: self.constants[str(e)])
        if self.functions and e.is_Function and kind.__name__ in self.functions:
            return self._theirs(e, self.functions[kind.__name__])
        if e.is_Add and not e.is_Matrix:
            return vectorized_sum(self, e, env)
        if kind in _elementary():
            return self._of_numbers(e)
        if self.sizes and e in self.sizes and e not in env:
            return Plan(("size", e), (), lambda m: float(size_of(m, e)))
        rule = _rules().get(kind)
        if rule is None or kind in _keys():
            try:
                if e in env:
                    return Plan((e,), (), None, True)
            except TypeError:  # what cannot be hashed is no key
                pass
        return rule(self, e, env) if rule is not None else self._others(e, env)

    def _of_numbers(self, e: Any) -> Plan | None:
        """An elementary function is one of numbers."""
        if kind_of(e) == "Abs" and (made := algebraic.of_parts(self, e)) is not None:
            return made
        if e.is_Function and any(a.is_Matrix for a in e.args):
            name = kind_of(e)
            fix = f"A.applyfunc({name}) takes it of each element, and modules={{'{name}': function}} gives another one"
            raise UnknownFunction(f"{_short(e)} is of a matrix, and {name} is computed of numbers: {fix}")
        return None

    def _others(self, e: Any, env: Mapping[Any, Any]) -> Plan | None:
        sympy = sympy_module()
        from sympy.core.function import AppliedUndef

        function = self.function_of(e)
        if function is not None:
            return self._theirs(e, function)
        if kind_of(e) in OTHERS:
            raise UnknownFunction(f"{_short(e)} is no number that is computed: {OTHERS[kind_of(e)]}")
        if e.is_Atom:
            return None
        if isinstance(e, AppliedUndef):
            name = kind_of(e)
            if name in TABLE and not hasattr(sympy, name):  # of SciPy's alone, as formulas that were read out have them
                return Plan((name, len(e.args)), e.args, partial(_of_scipy, name))
            fix = f"modules={{'{name}': function}} gives one, or {e} among the arguments its values"
            raise UnknownFunction(f"{e}: the function {name} has no formula: {fix}")
        if isinstance(e, sympy.Expr) and e.is_number:
            return self._constant(e)
        if isinstance(e, sympy.Poly):
            return Plan(("rewritten", e), (e.as_expr(),), lambda m, term: term)
        made = rewritten(e)
        if made is None and not isinstance(e, sympy.Function):
            name = kind_of(e)
            raise UnknownFunction(f"{_short(e)} is no number that is computed: it is a {name}")
        if made is None and isinstance(e, sympy.Function):
            name = kind_of(e)
            fix = f"modules={{'{name}': function}} gives one, of NumPy or pullback.external(...) around any other"
            why = REFUSED.get(name, "is computed by nothing known here")
            raise UnknownFunction(f"{e}: {name} {why}: {fix}")
        return made

    def _constant(self, e: Any) -> Plan | None:
        """The value of what has no symbols."""
        value = e.evalf(20)
        if value.is_Number:
            return Plan((value,), (), lambda m: number(value))
        parts = value.as_real_imag()
        if not all(part.is_Float or part.is_Integer for part in parts):
            return None
        if not self.complex:
            fix = "lambdify(args, expr, dtype=complex) computes with complex ones"
            raise UnknownFunction(f"{_short(e)} is not a real number, but about {value.evalf(5)}: {fix}")
        return Plan((value,), (), lambda m: complex(*map(float, parts)))

    def _theirs(self, e: Any, function: Callable[..., Any]) -> Plan:
        """By a function of the user's, whether or not SymPy knows one of that name."""

        def join(m: Any, *terms: Any) -> Any:
            made = function(*map(m.array, terms))
            return made if wide and np.ndim(made) > len(m.batch) else m.term(made)

        wide = any(getattr(a, "is_Matrix", False) for a in e.args)
        return Plan((kind_of(e), e.func), e.args, join)

    @cached_property
    def imaginary(self) -> bool:
        """Whether I is anywhere in what is computed."""
        return algebraic.mention(self.whole, sympy_module().I)

    def uses(self) -> Uses:
        """What functions are parts of, counted when it is first asked."""
        if self._uses is None:
            self._uses = Uses(self.whole)
        return self._uses

    def groups(self, e: Any, env: Mapping[Any, Any]) -> list[Group]:
        """The terms of a sum that are computed as arrays: found once, though a function is traced again and again."""
        if e not in self._grouped:
            if self._numbered[0] is not env:
                self._numbered = env, {key: k for k, key in enumerate(env)}
            self._grouped[e] = found = groups_of(e.args, self._numbered[1], self.uses(), sort=True)
            for group in found:
                self.check([group.template], [column.symbol for column in group.columns])
        return self._grouped[e]

    def function_of(self, e: Any) -> Callable[..., Any] | None:
        """What computes an applied function that is the user's."""
        from sympy.core.function import AppliedUndef

        name = type(e).__name__
        if isinstance(e, AppliedUndef) and name in self.functions:
            return self.functions[name]
        made = getattr(type(e), "_imp_", None) if self.use_imps else None
        return made if callable(made) else None


def _of_scipy(name: str, m: Any, *terms: Any) -> Any:
    load_scipy(name, True)
    return getattr(m, name)(*terms)


def _short(e: Any) -> str:
    """A part of an expression as messages have it."""
    try:
        said = str(e)
    except Exception:  # of somebody's own class
        return f"a {kind_of(e)}"
    return said if len(said) <= 80 else said[:77] + "..."


def number(e: Any) -> float:
    """The float nearest to a real number of SymPy's."""
    try:
        return float(e)
    except OverflowError:
        return math.inf if e > 0 else -math.inf


def kind_of(e: Any) -> str:
    return type(e).__name__


def rewritten(e: Any) -> Plan | None:
    """By the means that SymPy has to write a function in terms of others."""
    sympy = sympy_module()

    if not isinstance(e, sympy.Function):
        return None
    for way in (sympy.expand_func, lambda e: e.rewrite(sympy.Piecewise), lambda e: e.rewrite(sympy.gamma)):
        try:
            made = way(e)
        except (NotImplementedError, ValueError, TypeError, AttributeError):
            continue
        if made != e and not made.has(type(e)):
            return Plan(("rewritten", e), (made,), lambda m, term: term)
    return None


# ---- rules by class


@cache
def _elementary() -> frozenset[type]:
    """The classes that `reading_of` has rules for."""
    sympy = sympy_module()

    return frozenset([getattr(sympy, name) for name in (*FUNCTIONS, "Piecewise") if hasattr(sympy, name)])


@cache
def _keys() -> frozenset[type]:
    """The classes with a rule whose expressions may be arguments, too."""
    sympy = sympy_module()
    from sympy.matrices.expressions.matexpr import MatrixElement

    return frozenset([sympy.Derivative, sympy.Indexed, MatrixElement])


@cache
def _rules() -> dict[type, Callable[[ExpressionReader, Any, Mapping[Any, Any]], Plan | None]]:
    made = special.rules() | sums.rules() | matrices.rules() | calculus.rules()
    return made | algebraic.rules() | hypergeometric.rules() | polylogarithms.rules()


__all__ = ["ExpressionReader", "number"]
