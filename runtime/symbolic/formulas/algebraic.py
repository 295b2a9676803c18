"""Parts that SymPy writes with complex numbers though their values may be real, as plans to read them.

    rules()[sympy.RootSum]     the sum of f(r) over the roots r of a polynomial: conjugate ones are twice a real part
    rules()[sympy.exp_polar]   a number with its angle: exp of it, on the sheet of the plane on which functions are read
    of_parts(reader, Abs(x + I))    sqrt(x**2 + 1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....compiler.ops.expression import Plan, UnknownFunction
from ..shared.library import sympy_module

DIGITS = 30
"""Of the roots, before they are floats."""


def rules() -> dict[type, Any]:
    sympy = sympy_module()

    made = {sympy.RootSum: _over_roots, sympy.exp_polar: _polar, sympy.polar_lift: _lifted}
    return made | {type(sympy.zoo): _undefined}


def _undefined(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan | None:
    """NaN where SymPy divides by a Piecewise with a case of 0: 1/Piecewise((0, p), (x, True)) is zoo where p holds.

    Where no case leaves it out it is refused like other things that are no numbers.
    """
    sympy = sympy_module()

    open_, seen = list(reader.whole), set()
    while open_:
        x = open_.pop()
        if x == e:
            return None
        if x not in seen and not isinstance(x, sympy.Piecewise):
            seen.add(x)
            open_ += x.args
    return Plan(("undefined",), (), lambda m: float("nan"), True)


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
        parts += [2 * _parts_of(body.xreplace({x: r}))[0] for r in roots if sympy.im(r) > 0]
    return Plan(("over roots", e), (sympy.Add(*parts),), lambda m, term: term)


def _parts_of(e: Any) -> tuple[Any, Any]:
    """The real and the imaginary part, where symbols are real numbers, whatever is assumed of them."""
    sympy = sympy_module()

    real = {s: sympy.Dummy(s.name, real=True) for s in e.free_symbols}
    both = e.xreplace(real).as_real_imag()
    if any(p.has(sympy.I) for p in both):
        both = sympy.expand_complex(e.xreplace(real)).as_real_imag()
    made = [p.replace(sympy.arg, lambda w: sympy.atan2(*reversed(w.as_real_imag()))) for p in both]
    back = {stands: s for s, stands in real.items()}
    return made[0].xreplace(back), made[1].xreplace(back)


def mention(exprs: Sequence[Any], atom: Any) -> bool:
    """Whether an atom is in one of several expressions, which may be deep and share parts."""
    seen: set[int] = set()
    stack = list(exprs)
    while stack:
        e = stack.pop()
        if e is atom:
            return True
        if id(e) not in seen:
            seen.add(id(e))
            stack.extend(e.args)
    return False


def of_parts(reader: Any, e: Any) -> Plan | None:
    """Abs, arg, re or im of something with I in it by its parts, where no number is complex and the parts have no I.

    Abs(x + I) is sqrt(x**2 + 1) of a real x.
    """
    sympy = sympy_module()

    if reader.complex or not reader.imaginary or not mention(e.args, sympy.I):
        return None
    re, im = _parts_of(e.args[0])
    if re.has(sympy.I) or im.has(sympy.I):
        return None
    forms = {"Abs": lambda: sympy.sqrt(re**2 + im**2), "arg": lambda: sympy.atan2(im, re), "re": lambda: re}
    made = forms.get(type(e).__name__, lambda: im)()
    return Plan(("of parts", e), (made,), lambda m, term: term)


def _lifted(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return Plan(("lifted", e), e.args, lambda m, term: term)


def _polar(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    sympy = sympy_module()

    angle = sympy.im(e.args[0])
    if not (angle.is_number and abs(angle) <= sympy.pi):
        raise UnknownFunction(f"{e} is on another sheet than numbers are: sympy.unpolarify(expr) gives up the sheet")
    return Plan(("polar", e), (sympy.exp(e.args[0]),), lambda m, term: term)


__all__ = ["mention", "of_parts", "rules"]
