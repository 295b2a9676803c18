"""Expressions with few conditions, case by case: one Piecewise around, none inside.

    folded(Piecewise((0, p), (1, True)) * x + Piecewise((y, p), (z, True)))    Piecewise((y, p), (x + z, True))

A gradient of a branch is a sum of products that are masked by its condition; read case by case it is what one expects.
"""

from __future__ import annotations

from typing import Any

from .cases import assumed, both
from .library import sympy_module

ASKED, OPERATIONS = 3, 600
"""The most that conditions ask about, and operations of an expression that is folded: each may triple it."""


def folded(e: Any) -> Any:
    """The expression case by case, where that is short."""
    sympy = sympy_module()

    if not isinstance(e, sympy.Expr) or not e.has(sympy.Piecewise):
        return e
    if isinstance(e, sympy.Piecewise) and not any(x.has(sympy.Piecewise) for pair in e.args for x in pair.args):
        return e
    whole = [c for each in e.atoms(sympy.Piecewise) for _, c in each.args if c != True]  # noqa: E712
    parts = [p for c in whole for p in c.atoms(sympy.core.relational.Relational)]
    found = _few(parts) or _few(whole)
    if not found or e.count_ops() > OPERATIONS:
        return e
    bound = [x for x in e.atoms(sympy.Sum, sympy.Product, sympy.Lambda) if x.has(sympy.Piecewise)]
    if bound:  # a condition may be on what they bind
        return e
    return _cases(e, sorted(found, key=lambda p: (isinstance(p, sympy.Eq), sympy.default_sort_key(p))))


def _few(conditions: list[Any]) -> set[Any]:
    """The conditions, if they ask about few things; those that have conditions in them come of themselves."""
    sympy = sympy_module()

    plain = {p for p in conditions if not p.has(sympy.Piecewise)}
    asked = {frozenset(p.args) if p.is_Relational else frozenset([p, sympy.Not(p)]) for p in plain}
    return plain if len(asked) <= ASKED else set()


def _cases(e: Any, conditions: list[Any]) -> Any:
    """By the first of the conditions that the expression is told apart by, and so on."""
    sympy = sympy_module()

    remaining = [p for p in conditions if e.has(p)] if e.has(sympy.Piecewise) else []
    if not remaining:
        return e
    p, *rest = remaining
    yes, no = (_cases(assumed(e, p, holds), rest) for holds in (True, False))
    if yes == no:
        return yes
    inner = yes.args if isinstance(yes, sympy.Piecewise) else ((yes, True),)
    outer = no.args if isinstance(no, sympy.Piecewise) else ((no, True),)
    return sympy.Piecewise(*[(v, both(p, c)) for v, c in inner], *outer)


__all__ = ["folded"]
