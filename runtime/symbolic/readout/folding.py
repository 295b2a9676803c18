"""Expressions with few conditions, case by case: one Piecewise around, none inside.

    folded(Piecewise((0, p), (1, True)) * x + Piecewise((y, p), (z, True)))    Piecewise((y, p), (x + z, True))

A gradient of a branch is a sum of products that are masked by its condition; read case by case it is what one expects.
"""

from __future__ import annotations

import math
from typing import Any

from ..shared.library import sympy_module
from ..shared.parts import found, operations
from .cases import asked_by, assumed, both
from .ordered import order_place

CASES, OPERATIONS = 8, 600
"""The most cases, where each condition has two, and operations of an expression that is folded."""


def folded(e: Any) -> Any:
    """The expression case by case, where that is short."""
    sympy = sympy_module()

    if not isinstance(e, sympy.Expr):
        return e
    cases = found(e, sympy.Piecewise)
    if not cases or found(e, order_place()) or operations(e) > OPERATIONS:  # of places, one excludes the others
        return e
    if isinstance(e, sympy.Piecewise) and cases == [e]:
        return e
    whole = [c for each in cases for _, c in each.args if c != True]  # noqa: E712
    parts = [p for c in whole for p in c.atoms(sympy.core.relational.Relational)]
    few = _few(parts) or _few(whole)
    if not few:
        return e
    bound = [x for x in e.atoms(sympy.Sum, sympy.Product, sympy.Lambda) if x.has(sympy.Piecewise)]
    if bound:  # a condition may be on what they bind
        return e
    return _cases(e, sorted(few, key=lambda p: (isinstance(p, sympy.Eq), sympy.default_sort_key(p))))


def _few(conditions: list[Any]) -> set[Any]:
    """The conditions, if they ask about few things; those that have conditions in them come of themselves."""
    sympy = sympy_module()

    plain = {p for p in conditions if not p.has(sympy.Piecewise)}
    bounds: dict[Any, set[Any]] = {}
    for p in plain:
        x, bound = asked_by(p)
        bounds.setdefault(x, set()).add(bound)
    return plain if math.prod([1 + len(each) for each in bounds.values()]) <= CASES else set()


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
    return min(_joined(p, yes, no), _joined(sympy.Not(p), no, yes), key=_asked)


def _joined(p: Any, yes: Any, no: Any) -> Any:
    """What is `yes` where p holds, and `no` elsewhere, whose cases need not say so."""
    sympy = sympy_module()

    inner = yes.args if isinstance(yes, sympy.Piecewise) else ((yes, True),)
    outer = no.args if isinstance(no, sympy.Piecewise) else ((no, True),)
    return sympy.Piecewise(*[(v, both(p, c)) for v, c in inner], *outer)


def _asked(e: Any) -> int:
    """How much the cases of an expression ask."""
    sympy = sympy_module()

    conditions = [c for _, c in e.args] if isinstance(e, sympy.Piecewise) else []
    return sum(1 + c.count_ops() for c in conditions if c != True)  # noqa: E712


__all__ = ["folded"]
