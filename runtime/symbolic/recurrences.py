"""Loops of a graph as mathematics: written out, sums, products, and recurrences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler.ir.graph import Graph
from .elements import EXPLICIT, NoExpression, SymbolicArray, scalar
from .iterated import iterated
from .library import sympy_module


def unrolled(
    reading: Any, body: Graph, n: int, carried: Sequence[Any], rest: Sequence[Any], backwards: bool
) -> Sequence[Any]:
    """What is carried after n rounds, each written out."""
    sympy = sympy_module()

    made = list(carried)
    for i in reversed(range(n)) if backwards else range(n):
        made = reading.run(body, [scalar(sympy.Integer(i)), *made, *rest])
    return made


def looped(
    reading: Any, body: Graph, n: Any, carried: Sequence[Any], rest: Sequence[Any], backwards: bool
) -> Sequence[Any]:
    """What is carried after many rounds: a number that a round adds to is a Sum, one that it multiplies a Product, and
    what depends on what was carried before a recurrence."""
    k = reading.symbol("k", integer=True)
    if n.is_Integer:
        reading.m.ranges[k] = 0, int(n) - 1
    if any(not isinstance(c, SymbolicArray) or c.size > EXPLICIT for c in carried):
        raise NoExpression("sympy() cannot read a long loop that carries large arrays, or what a gradient needs")
    places = [(c, index) for c, each in enumerate(carried) for index in np.ndindex(*each.shape)]
    state = {place: reading.symbol("s", real=True) for place in places}
    given = [SymbolicArray(each.shape, lambda *index, c=c: state[c, index]) for c, each in enumerate(carried)]
    made = reading.run(body, [scalar(n - 1 - k if backwards else k), *given, *rest])
    start = {(c, index): carried[c][index] for c, index in places}
    steps = {(c, index): made[c][index] for c, index in places}
    fixed = {state[p]: start[p] for p in places if steps[p] == state[p]}
    steps = {p: e.xreplace(fixed) for p, e in steps.items()}
    found = _closed(steps, start, state, k, n)
    moving = [p for p in places if p not in found and state[p] not in fixed]
    if moving:
        found |= _recurrence(moving, steps, start, state, k, n)
    found |= {p: start[p] for p in places if state[p] in fixed}
    return [
        SymbolicArray(each.shape, lambda *index, c=c: found[c, index]) for c, each in enumerate(carried)
    ]


def _closed(steps: dict[Any, Any], start: dict[Any, Any], state: dict[Any, Any], k: Any, n: Any) -> dict[Any, Any]:
    """The sums and products."""
    sympy = sympy_module()

    symbols, found = set(state.values()), {}
    for p, e in steps.items():
        s = state[p]
        added = e - s if e.is_Add else None
        times = e / s if e.is_Mul else None
        if added is not None and not added.free_symbols & symbols:
            found[p] = start[p] + sympy.Sum(added, (k, 0, n - 1))
        elif times is not None and not times.free_symbols & symbols:
            found[p] = start[p] * sympy.Product(times, (k, 0, n - 1))
    return found


def _recurrence(
    moving: list[Any], steps: dict[Any, Any], start: dict[Any, Any], state: dict[Any, Any], k: Any, n: Any
) -> dict[Any, Any]:
    """A recurrence of all that is needed for what moves."""
    sympy = sympy_module()

    needed = list(moving)
    while more := [p for p in state if p not in needed
                   and any(state[p] in steps[q].free_symbols for q in needed)]:  # fmt: skip
        needed += more
    step = sympy.Lambda((k, *[state[p] for p in needed]), sympy.Tuple(*[steps[p] for p in needed]))
    begin = [start[p] for p in needed]
    return {p: iterated()(step, begin, n, w) for w, p in enumerate(needed) if p in moving}


__all__ = ["looped", "unrolled"]
