"""The different parts of an expression, each once however often it is in others: SymPy's own walks go through a tree.

    parts_of(e)                        e and all that it is made of
    found(e, sympy.Piecewise)          those of a class
    operations(e)                      how many there are, counted as a tree is written

What a graph gives is a graph: twenty rounds that use the state twice are a million terms when they are written out.
"""

from __future__ import annotations

from typing import Any


def parts_of(*exprs: Any) -> list[Any]:
    """The expressions and their parts, by a loop; nothing is in front of what it is made of."""
    seen: set[Any] = set()
    made: list[Any] = []
    stack = [(e, False) for e in exprs]
    while stack:
        e, done = stack.pop()
        if done:
            made.append(e)
        elif e not in seen:
            seen.add(e)
            stack.append((e, True))
            stack += [(a, False) for a in e.args if a not in seen]
    return made


def found(e: Any, *kinds: type) -> list[Any]:
    """The parts of these classes."""
    return [x for x in parts_of(e) if isinstance(x, kinds)]


def operations(e: Any) -> int:
    """How many parts with parts an expression is written with, where each is counted whenever it is used."""
    count: dict[Any, int] = {}
    for x in parts_of(e):
        count[x] = sum([count[a] for a in x.args]) + bool(x.args)
    return count[e]


def summed(term: Any, *limits: Any) -> Any:
    """The Sum of a term; None if a sum in it has cases by its own index, which SymPy would take out of it."""
    import sympy

    for inner in found(term, sympy.Sum, sympy.Product):
        bound = {*inner.variables}
        conditions = [pair[1] for cases in found(inner.function, sympy.Piecewise) for pair in cases.args]
        if inner is not term and any(bound & p.free_symbols for p in conditions):
            return None
    return sympy.Sum(term, *limits)


__all__ = ["found", "operations", "parts_of", "summed"]
