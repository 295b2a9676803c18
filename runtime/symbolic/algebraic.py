"""Parts that SymPy writes with complex numbers though their values may be real, as plans to read them.

    rules()[sympy.RootSum]     the sum of f(r) over the roots r of a polynomial: conjugate ones are twice a real part
    rules()[sympy.exp_polar]   a number with its angle: exp of it, on the sheet of the plane on which functions are read
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...compiler.ops.expression import Plan, UnknownFunction
from .library import sympy_module

DIGITS = 30
"""Of the roots, before they are floats."""


def rules() -> dict[type, Any]:
    sympy = sympy_module()

    return {sympy.RootSum: _over_roots, sympy.exp_polar: _polar}


def _over_roots(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """At the roots as numbers; without complex numbers, f of real coefficients is conjugate at conjugate roots."""
    sympy = sympy_module()

    if e.poly.free_symbols_in_domain:
        fix = "give them numbers, or solve for the roots yourself"
        raise UnknownFunction(f"{e} is over roots whose coefficients are no numbers: {fix}")
    (x,), body = e.fun.variables, e.fun.expr
    roots = e.poly.nroots(n=DIGITS, maxsteps=200)
    if reader.complex:
        parts = [body.xreplace({x: r}) for r in roots]
    elif body.has(sympy.I):
        raise UnknownFunction(f"I in {e} is not a real number: lambdify(args, expr, dtype=complex) computes with it")
    else:
        parts = [body.xreplace({x: r}) for r in roots if r.is_real]
        parts += [2 * _real_part(body.xreplace({x: r})) for r in roots if sympy.im(r) > 0]
    return Plan(("over roots", e), (sympy.Add(*parts),), lambda m, term: term)


def _real_part(e: Any) -> Any:
    """Where symbols are real numbers, whatever is assumed of them."""
    sympy = sympy_module()

    real = {s: sympy.Dummy(s.name, real=True) for s in e.free_symbols}
    made = e.xreplace(real).as_real_imag()[0]
    made = made.replace(sympy.arg, lambda w: sympy.atan2(*reversed(w.as_real_imag())))
    return made.xreplace({stands: s for s, stands in real.items()})


def _polar(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    sympy = sympy_module()

    angle = sympy.im(e.args[0])
    if not (angle.is_number and abs(angle) <= sympy.pi):
        raise UnknownFunction(f"{e} is on another sheet than numbers are: sympy.unpolarify(expr) gives up the sheet")
    return Plan(("polar", e), (sympy.exp(e.args[0]),), lambda m, term: term)


__all__ = ["rules"]
