"""Expressions where it is known whether a condition holds, and conditions of expressions that have cases.

    assumed(Piecewise((x, p), (y, True)) + z, p, True)         x + z
    compared(Lt, Piecewise((x, p), (y, True)), 1)              (p & (x < 1)) | (~p & (y < 1))

Relations of the same two sides, such as x < 0 and x >= 0, tell of one another, and so do bounds: x < 0 and x < 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..shared.library import sympy_module
from ..shared.parts import found

OUTCOMES = {
    "Equality": "=", "Unequality": "<>", "StrictLessThan": "<", "LessThan": "<=", "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}  # fmt: skip
"""Of a relation's class, whether it holds where the left side is less (<), equal, and greater than the right one."""

SWAPPED = str.maketrans("<>", "><")

COMPARED = 4
"""The most conditions that a comparison is written out by: each may double it."""


def asked_by(p: Any) -> tuple[Any, Any]:
    """What a condition asks about, and where: a bound of it, or None. One answer tells about another of the same."""
    sympy = sympy_module()

    if not p.is_Relational:
        return frozenset([p, sympy.Not(p)]), None
    x, bound = _bounded(p)
    return (frozenset(p.args), None) if x is None else (x, bound)


def is_condition(e: Any) -> bool:
    """Whether it is true or false: SymPy's `is_Boolean` leaves relations out, and its class takes symbols in."""
    sympy = sympy_module()

    return isinstance(e, sympy.logic.boolalg.Boolean) and not isinstance(e, sympy.Expr)


def assumed(e: Any, p: Any, holds: bool, made: dict[Any, Any] | None = None) -> Any:
    """The expression where it is known whether p holds; `made` keeps what came of its parts, by a loop."""
    sympy = sympy_module()

    made = {} if made is None else made
    truths: dict[Any, Any] = {p: sympy.sympify(holds), sympy.Not(p): sympy.sympify(not holds)}
    stack = [(e, False)]
    while stack:
        x, parts_done = stack.pop()
        if x in made:
            continue
        if not x.args or isinstance(x, (sympy.Indexed, sympy.IndexedBase)):
            made[x] = truths.get(x, x)
        elif is_condition(x):
            made[x] = _decided(x, p, holds, truths)
        elif not parts_done:
            stack.append((x, True))
            stack += [(a, False) for a in x.args if a not in made]
        elif isinstance(x, sympy.Piecewise):
            made[x] = _remaining([(made[pair].args[0], made[pair].args[1]) for pair in x.args])
        elif type(x).__name__ == "ExprCondPair":
            made[x] = sympy.Tuple(made[x.args[0]], made[x.args[1]])
        else:
            args = [made[a] for a in x.args]
            made[x] = x if all(a is b for a, b in zip(args, x.args, strict=True)) else x.func(*args)
    return made[e]


def _remaining(pairs: list[tuple[Any, Any]]) -> Any:
    """The cases that are not excluded."""
    sympy = sympy_module()

    kept = []
    for value, condition in pairs:
        if condition == True:  # noqa: E712
            kept.append((value, True))
            break
        if condition != False:  # noqa: E712
            kept.append((value, condition))
    return kept[0][0] if kept and kept[0][1] is True else sympy.Piecewise(*kept)


def _decided(condition: Any, p: Any, holds: bool, truths: dict[Any, Any]) -> Any:
    """A condition, with truths for the parts that are told."""
    sympy = sympy_module()

    if p.is_Relational:
        others = condition.atoms(sympy.core.relational.Relational)
        told = {q: truth for q in others if (truth := _truth(q, p, holds)) is not None}
        return condition.xreplace(truths | told)
    return condition.xreplace(truths)


def _truth(q: Any, p: Any, holds: bool) -> Any:
    """Whether the relation q holds, if p tells; None if not."""
    sympy = sympy_module()

    if type(q).__name__ not in OUTCOMES or type(p).__name__ not in OUTCOMES:
        return None
    if {*q.args} == {*p.args}:
        given, right = _outcomes(p, p.args), _outcomes(q, p.args)
        every = {*"<=>"}
    else:
        (x, a), (y, b) = _bounded(p), _bounded(q)
        if x is None or x != y:
            return None
        ends = sorted({a, b})
        given, right = _cells(p, x, a, ends), _cells(q, x, b, ends)
        every = {*range(2 * len(ends) + 1)}
    left = given if holds else every - given
    if left <= right:
        return sympy.true
    return None if left & right else sympy.false


def _bounded(q: Any) -> tuple[Any, Any]:
    """What a relation compares with a number, and that number; twice None for other relations."""
    x, y = q.args
    if y.is_Rational or y.is_Float:
        return x, y
    return (y, x) if x.is_Rational or x.is_Float else (None, None)


def _cells(q: Any, x: Any, bound: Any, ends: list[Any]) -> set[Any]:
    """Where a relation of x with its bound holds: at which of the ends (odd numbers), and between which (even ones)."""
    outcomes, at = _outcomes(q, (x, bound)), 2 * ends.index(bound) + 1
    return {c for c in range(2 * len(ends) + 1) if ("<" if c < at else ">" if c > at else "=") in outcomes}


def either(p: Any, a: Any, b: Any) -> Any:
    """The condition that is a where p holds, and b elsewhere."""
    sympy = sympy_module()

    if p in (sympy.true, sympy.false):
        return a if p == sympy.true else b
    return a if a == b else sympy.Or(both(p, a), both(sympy.Not(p), b))


def both(p: Any, q: Any) -> Any:
    """Where both conditions hold: one relation of what they relate the same way."""
    sympy = sympy_module()

    told: dict[Any, set[str]] = {}
    kept, firsts = [], {}
    for each in sympy.And.make_args(sympy.And(p, q)):
        if type(each).__name__ not in OUTCOMES:
            kept.append(each)
            continue
        sides = frozenset(each.args)
        first = firsts.setdefault(sides, each)
        told[sides] = told.get(sides, {*"<=>"}) & _outcomes(each, first.args)
    relations = [_relation(told[sides], first) for sides, first in firsts.items()]
    bounds: dict[Any, list[Any]] = {}
    for each in relations:
        if type(each).__name__ in OUTCOMES and (x := _bounded(each)[0]) is not None:
            bounds.setdefault(x, []).append(each)
    implied = {q for alike in bounds.values() for q in alike
               for p in alike if p is not q and _truth(q, p, True) == True}  # noqa: E712
    return sympy.And(*kept, *[each for each in relations if each not in implied])


def _relation(outcomes: set[str], first: Any) -> Any:
    """The relation of the sides of `first` that holds in these cases."""
    sympy = sympy_module()

    spelled = "".join([c for c in "<=>" if c in outcomes])
    if spelled in ("", "<=>"):
        return sympy.sympify(bool(spelled))
    name = next(name for name, each in OUTCOMES.items() if {*each} == outcomes)
    return first if name == type(first).__name__ else getattr(sympy, name)(*first.args)


def _outcomes(q: Any, sides: Any) -> set[str]:
    """Where a relation holds, as one of these sides."""
    spelled = OUTCOMES[type(q).__name__]
    return {*(spelled if q.args == sides else spelled.translate(SWAPPED))}


def compared(relation: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """A relation without cases in its sides: they are in the condition that is made, if they are few."""
    sympy = sympy_module()

    def written(x: Any, y: Any, left: int) -> Any:
        conditions = [c for side in (x, y) for c in _conditions(side)]
        if not conditions or not left:
            return _of_numbers(relation(x, y))
        p = conditions[0]
        yes, no = (written(assumed(x, p, holds), assumed(y, p, holds), left - 1) for holds in (True, False))
        return either(p, yes, no)

    return written(sympy.sympify(x), sympy.sympify(y), COMPARED)


def _of_numbers(p: Any) -> Any:
    """A comparison with infinity, which no number reaches: floats end somewhere, and are kept from there."""
    sympy = sympy_module()

    ends = [side in (sympy.oo, -sympy.oo) for side in p.args]
    if type(p).__name__ not in OUTCOMES or sum(ends) != 1:
        return p
    less = p.args[0] == -sympy.oo or p.args[1] == sympy.oo  # the left side than the right one
    return sympy.sympify(("<" if less else ">") in _outcomes(p, p.args))


def _conditions(e: Any) -> list[Any]:
    """What an expression is told apart by, without cases in them."""
    sympy = sympy_module()

    conditions = [c for each in found(e, sympy.Piecewise) for _, c in each.args if c != True]  # noqa: E712
    return [c for c in conditions if not found(c, sympy.Piecewise)]


__all__ = ["asked_by", "assumed", "both", "compared", "either", "is_condition"]
