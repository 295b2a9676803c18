"""Hypergeometric and Meijer's functions as plans: by SciPy where it has them, and else by mpmath.

    hyper([a], [b], z)            hyp1f1(a, b, z)
    hyper([1, 2, x], [3, 4], z)   what hyperexpand makes of it, or an UnknownFunction
    hyper([1, 2, 3], [4, 5], z)   a call of mpmath, whose derivative is SymPy's: the function of shifted parameters
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ....compiler.ops.expression import Plan, UnknownFunction
from ....compiler.ops.scipy.hypergeometric import hypergeometric, parameters_of, spelled
from .bounded import HASTY, within
from .library import sympy_module

BY_SCIPY = {(2, 1): "hyp2f1", (1, 1): "hyp1f1", (0, 1): "hyp0f1"}
"""By the numbers of upper and lower parameters, SciPy's name."""

DIGITS = 20
"""Of a parameter that is no fraction; a float has 16."""


def rules() -> dict[type, Any]:
    sympy = sympy_module()

    return {sympy.hyper: _hyper, sympy.meijerg: _meijer}


def _hyper(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan | None:
    sympy = sympy_module()

    size = len(e.ap), len(e.bq)
    plain = _on_one_sheet(e)
    if plain != e:
        return Plan(("rewritten", e), (plain,), lambda m, term: term)
    if size in ((0, 0), (1, 0)):  # the exponential and the binomial series
        made = sympy.exp(e.argument) if size == (0, 0) else (1 - e.argument) ** -e.ap[0]
        return Plan(("rewritten", e), (made,), lambda m, term: term)
    name = BY_SCIPY.get(size)
    if name is not None:
        return Plan((name,), (*e.ap, *e.bq, e.argument), lambda m, *terms: getattr(m, name)(*terms))
    return _of_numbers(reader, e, (*e.ap, *e.bq), f"hyper has {size[0]} and {size[1]} parameters")


def _on_one_sheet(e: Any) -> Any:
    """Without angles of the argument: around 0 the function has one sheet, where it has others it is told to be NaN."""
    sympy = sympy_module()

    angles = e.argument.atoms(sympy.exp_polar)
    if not angles:
        return e
    z = e.argument.xreplace({angle: sympy.exp(angle.args[0]) for angle in angles})
    made = sympy.hyper(e.ap, e.bq, z)
    one = len(e.ap) <= len(e.bq) or all(abs(sympy.im(angle.args[0])) <= sympy.pi for angle in angles)
    return made if one else sympy.Piecewise((made, sympy.Abs(z) < 1), (sympy.nan, True))


def _meijer(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return _of_numbers(reader, e, (*e.an, *e.aother, *e.bm, *e.bother), "meijerg is computed by mpmath")


def _of_numbers(reader: Any, e: Any, parameters: Any, what: str) -> Plan:
    """A function of its argument alone; where parameters are no numbers, what hyperexpand makes of it."""
    sympy = sympy_module()

    kind = type(e)
    if not all(p.is_extended_real and p.is_number for p in parameters):
        made = within(HASTY, sympy.hyperexpand, e)
        if made is None or made.has(sympy.hyper, sympy.meijerg):
            known = "only 2F1, 1F1, 0F1, 1F0, 0F0 and what sympy.hyperexpand makes elementary is computed of others"
            raise UnknownFunction(f"{e}: {what}; its parameters are no real numbers, and {known}")
        return Plan(("rewritten", e), (made,), lambda m, term: term)
    if reader.complex:
        raise UnknownFunction(f"{e}: {what}, and it is computed of real numbers, without dtype=complex")
    lists = (e.ap, e.bq) if kind is sympy.hyper else (e.an, e.aother, e.bm, e.bother)
    attributes = {"family": kind.__name__, "parameters": spelled([list(map(_fraction, each)) for each in lists])}

    def join(m: Any, x: Any) -> Any:
        return m(m.now.builder.emit(hypergeometric, m.term(x).value, **attributes)[0])

    return Plan(tuple(attributes.values()), e.args[-1:], join)


def _fraction(p: Any) -> Fraction:
    return Fraction(int(p.p), int(p.q)) if p.is_Rational else Fraction(str(p.evalf(DIGITS)))


def read_out(family: str, parameters: str, x: Any) -> Any:
    """A function of the graph as SymPy's."""
    sympy = sympy_module()

    lists = [[sympy.Rational(p.numerator, p.denominator) for p in each] for each in parameters_of(parameters)]
    return sympy.hyper(*lists, x) if family == "hyper" else sympy.meijerg(lists[:2], lists[2:], x)


__all__ = ["read_out", "rules"]
