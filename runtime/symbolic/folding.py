"""Expressions with few conditions, case by case: one Piecewise around, none inside.

    folded(Piecewise((0, p), (1, True)) * x + Piecewise((y, p), (z, True)))    Piecewise((y, p), (x + z, True))

A gradient of a branch is a sum of products that are masked by its condition; read case by case it is what one expects.
"""

from __future__ import annotations

from typing import Any

from .library import sympy_module

CONDITIONS, OPERATIONS = 3, 600
"""The most conditions and operations of an expression that is folded: each condition may double it."""


def folded(e: Any) -> Any:
    """The expression case by case, where that is short."""
    sympy = sympy_module()

    if not isinstance(e, sympy.Expr) or not e.has(sympy.Piecewise):
        return e
    found: dict[Any, None] = {}
    for each in e.atoms(sympy.Piecewise):
        for _, condition in each.args:
            if condition != True and sympy.Not(condition) not in found:  # noqa: E712
                found[condition] = None
    if not 0 < len(found) <= CONDITIONS or e.count_ops() > OPERATIONS:
        return e
    bound = [x for x in e.atoms(sympy.Sum, sympy.Product, sympy.Lambda) if x.has(sympy.Piecewise)]
    if bound:  # a condition may be on what they bind
        return e
    return _cases(e, sorted(found, key=sympy.default_sort_key))


def _cases(e: Any, conditions: list[Any]) -> Any:
    sympy = sympy_module()

    if not conditions or not e.has(sympy.Piecewise):
        return e
    p, *rest = conditions
    yes, no = (_cases(_assumed(e, p, holds), rest) for holds in (True, False))
    if yes == no:
        return yes
    cases = []
    for value, condition in ((yes, p), (no, sympy.Not(p))):
        inner = value.args if isinstance(value, sympy.Piecewise) else ((value, True),)
        cases += [(v, sympy.And(condition, c)) for v, c in inner]
    *most, (last, _) = cases
    return sympy.Piecewise(*most, (last, True))


def _assumed(e: Any, p: Any, holds: bool) -> Any:
    """The expression where it is known whether p holds."""
    sympy = sympy_module()

    against = sympy.Not(p)

    def known(pairs: Any) -> Any:
        kept = []
        for value, condition in pairs.args:
            truth = condition.xreplace({p: sympy.sympify(holds), against: sympy.sympify(not holds)})
            if truth == True:  # noqa: E712
                kept.append((value, True))
                break
            if truth != False:  # noqa: E712
                kept.append((value, truth))
        return kept[0][0] if kept and kept[0][1] is True else sympy.Piecewise(*kept)

    return e.replace(lambda x: isinstance(x, sympy.Piecewise), known)


__all__ = ["folded"]
