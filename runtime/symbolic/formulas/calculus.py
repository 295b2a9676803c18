"""Derivatives, integrals and limits inside expressions: done by SymPy where it can, and numerically where asked.

The derivative of a function that is the user's is made by forward mode, to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....compiler.frontend.array import here
from ....compiler.ops.expression import Plan, UnknownFunction
from ....compiler.ops.term import Term
from ...derivatives.products import jvp
from ...solvers.integrate.integrals import quad
from ..shared.bounded import HASTY, PATIENT, solved
from ..shared.library import sympy_module
from .sums import outer_keys

EXACT: dict[str, Any] = {"epsabs": 1e-14, "epsrel": 1e-12, "limit": 200}
"""How near a quadrature comes: as near as a formula does."""


def rules() -> dict[type, Any]:
    sympy = sympy_module()

    return {sympy.Derivative: _derivative, sympy.Integral: _integral, sympy.Limit: _done, sympy.Subs: _substituted}


def _done(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    made = solved(e)
    if made is None or made.has(type(e)):
        raise UnknownFunction(f"SymPy finds no closed form of {e}")
    return Plan(("done", e), (made,), lambda m, term: term)


def _derivative(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """By SymPy, and by forward mode where the function is the user's, or SymPy has no derivative of it."""
    from sympy.core.function import AppliedUndef

    theirs = reader.function_of(e.expr)
    if theirs is None:
        made = _differentiated(reader, e)
        if made != e:
            return Plan(("done", e), (made,), lambda m, term: term)
        if isinstance(e.expr, AppliedUndef):
            fix = "pass the derivative itself among the arguments, or the function by modules={'f': ...}"
            raise UnknownFunction(f"the derivative {e} of a function without a formula: {fix}")
    places = {a: k for k, a in enumerate(e.expr.args)}
    orders: dict[int, int] = {}
    for variable, n in e.variable_count:
        clean = variable in places and not any(
            a.has(variable) for a in e.expr.args if a != variable
        )
        if not clean or not n.is_Integer:
            made = _differentiated(reader, e)
            if made == e:
                raise UnknownFunction(f"the derivative {e} is by more than arguments of the function")
            return Plan(("done", e), (made,), lambda m, term: term)
        orders[places[variable]] = orders.get(places[variable], 0) + int(n)
    applied = () if theirs is not None else _checked(reader, e.expr)

    def join(m: Any, *terms: Any) -> Any:
        function = theirs or _read(reader, m, *applied)
        for place, n in orders.items():
            for _ in range(n):
                function = _slope(function, place)
        return m.term(function(*[m.array(m.term(t)) for t in terms]))

    return Plan(("derivative", e), e.expr.args, join)


def _differentiated(reader: Any, e: Any) -> Any:
    """By SymPy's rules; what is in it is solved in the same go, if that does not take too long."""
    sympy = sympy_module()

    if not e.has(sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit):
        return e.doit()
    found = solved(e, HASTY if reader.quadrature else PATIENT)
    return e.doit(deep=False) if found is None else found


def _checked(reader: Any, e: Any) -> tuple[Any, list[Any]]:
    """A function that SymPy has no derivative of, with symbols for what is no number, and these."""
    sympy = sympy_module()

    symbols = [a if a.is_number else sympy.Dummy(real=a.is_extended_real) for a in e.args]
    applied = e.func(*symbols)
    reader.check([applied], [s for s in symbols if s.is_Symbol])
    return applied, symbols


def _read(reader: Any, m: Any, applied: Any, symbols: list[Any]) -> Callable[..., Any]:
    """It as a function of arrays."""

    def function(*given: Any) -> Any:
        inner = m.like(here())
        found = {s: inner.term(x) for s, x in zip(symbols, given, strict=True) if s.is_Symbol}
        return inner.array(inner.term(reader.read([applied], inner, found)[0]))

    return function


def _slope(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """The partial derivative by one argument, element by element."""

    def slope(*args: Any) -> Any:
        one = args[place] * 0.0 + 1.0
        return jvp(lambda x: function(*args[:place], x, *args[place + 1 :]), (args[place],), (one,))[1]

    return slope


def _substituted(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """An expression at a point: read with the point in place of its variables."""
    body, variables, point = e.expr, e.variables, e.point
    keys = outer_keys(body, env, variables)
    reader.check([body], [*keys, *variables])

    def join(m: Any, *terms: Any) -> Any:
        given = [m.term(t) for t in terms[: len(variables)]]
        inner = dict(zip([*variables, *keys], [*given, *terms[len(variables) :]], strict=True))
        return reader.read([body], m, inner)[0]

    return Plan(("at", body, variables), (*point, *keys), join)


def _integral(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """In closed form, or by quadrature where that is asked for."""
    sympy = sympy_module()

    found = solved(e, HASTY if reader.quadrature else PATIENT)
    made = e if found is None else found
    if not reader.complex and made.has(sympy.I, sympy.zoo, sympy.nan, sympy.exp_polar) and not e.has(sympy.I):
        made = e  # a form that is none for real numbers
    left = made.atoms(sympy.Integral)
    if reader.quadrature and (e in left or (not left and not _is_known(reader, made, env))):
        made = e  # also where the integral itself is one of the cases of its form
    if not made.has(sympy.Integral):
        return Plan(("done", e), (made,), lambda m, term: term)
    if not reader.quadrature:
        fix = "lambdify(args, expr, quadrature=True) computes definite ones numerically"
        if found is None:
            late = f"SymPy has found no closed form of {e} within {PATIENT:,} calls"
            raise UnknownFunction(f"{late}: {fix}; expr.doit() waits for one")
        raise UnknownFunction(f"SymPy finds no closed form of {e}: {fix}")
    if made.func is not sympy.Integral:
        return Plan(("done", e), (made,), lambda m, term: term)
    if len(made.limits) > 1:
        inner = made.func(made.func(made.function, *made.limits[:-1]), made.limits[-1])
        return _quadrature(reader, inner, env)
    return _quadrature(reader, made, env)


def _is_known(reader: Any, made: Any, env: Mapping[Any, Any]) -> bool:
    """Whether a closed form consists of functions that are computed."""
    try:
        reader.check([made], outer_keys(made, env, ()))
    except UnknownFunction:
        return False
    return True


def _quadrature(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    ((x, *ends),) = e.limits
    if len(ends) != 2:
        raise UnknownFunction(f"{e} has no bounds, so there is no number that it is")
    keys = outer_keys(e.function, env, (x,))
    reader.check([e.function], [*keys, x])

    def join(m: Any, low: Any, high: Any, *terms: Any) -> Any:
        if m.batch:
            raise TypeError(f"{e} is computed at numbers, not at arrays of shape {m.batch}: use pullback.vmap")
        outside = [m.array(t) for t in terms]
        numeric = [isinstance(t, Term) for t in terms]

        def body(at: Any, *given: Any) -> Any:
            inner = m.like(here())
            found = {k: inner.term(v) if n else v for k, v, n in zip(keys, given, numeric, strict=True)}
            return inner.array(reader.read([e.function], inner, {**found, x: inner.term(at)})[0])

        low, high = (m.array(end) if isinstance(end, Term) else float(end) for end in (low, high))
        return m.term(quad(body, low, high, tuple(outside), **EXACT)[0])

    return Plan(("quadrature", e), (*ends, *keys), join)


__all__ = ["rules"]
