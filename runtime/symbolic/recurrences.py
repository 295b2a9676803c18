"""Loops of a graph as mathematics: written out, sums, products, and recurrences of a number of rounds or a test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...compiler.ir.graph import Graph
from .cases import is_condition
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
    places, state, given = _state(reading, carried)
    made = reading.run(body, [scalar(n - 1 - k if backwards else k), *given, *rest])
    start = {(c, index): _counted(carried[c][index]) for c, index in places}
    steps = {(c, index): _counted(made[c][index]) for c, index in places}
    fixed = {state[p]: start[p] for p in places if steps[p] == state[p]}
    steps = {p: e.xreplace(fixed) for p, e in steps.items()}
    found = _closed(steps, start, state, k, n)
    moving = [p for p in places if p not in found and state[p] not in fixed]
    if moving:
        found |= _recurrence(moving, steps, start, state, k, lambda variables: n)
    found |= {p: start[p] for p in places if state[p] in fixed}
    return _carried(found, carried)


def ended(
    reading: Any, body: Graph, test: Graph, carried: Sequence[Any], rest: Sequence[Any]
) -> Sequence[Any]:
    """What is carried after a loop that goes on while a test holds, and its rounds, as recurrences."""
    k = reading.symbol("k", integer=True)
    carried = [*carried, scalar(sympy_module().Integer(0))]  # the rounds are counted
    places, state, given = _state(reading, carried)
    holds = reading.run(test, [*given[:-1], *rest])[0][()]
    made = [*reading.run(body, [scalar(k), *given[:-1], *rest]), scalar(given[-1][()] + 1)]
    start = {(c, index): _counted(carried[c][index]) for c, index in places}
    steps = {(c, index): _counted(made[c][index]) for c, index in places}
    rounds = lambda variables: sympy_module().Lambda(variables, holds)  # noqa: E731
    found = _recurrence(places, steps, start, state, k, rounds, holds.free_symbols)
    return _carried(found, carried)


def _state(reading: Any, carried: Sequence[Any]) -> tuple[list[Any], dict[Any, Any], list[SymbolicArray]]:
    """The places of what is carried, a symbol for each of them, and arrays of these."""
    if any(not isinstance(c, SymbolicArray) or c.size > EXPLICIT for c in carried):
        raise NoExpression("sympy() cannot read a long loop that carries large arrays, or what a gradient needs")
    places = [(c, index) for c, each in enumerate(carried) for index in np.ndindex(*each.shape)]
    state = {place: reading.symbol("s", real=True) for place in places}
    return places, state, _carried(state, carried)


def _counted(e: Any) -> Any:
    """A truth as 0 or 1, as the state of a recurrence is numbers; other things as they are."""
    return sympy_module().Piecewise((1, e), (0, True)) if is_condition(e) else e


def _carried(found: dict[Any, Any], carried: Sequence[Any]) -> list[SymbolicArray]:
    """Arrays of what is found for what was carried: conditions for the truths."""
    def value(c: int, each: SymbolicArray, *index: Any) -> Any:
        made = found[c, index]
        return sympy_module().Eq(made, 1) if is_condition(each[index]) else made

    return [SymbolicArray(each.shape, partial(value, c, each)) for c, each in enumerate(carried)]


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
    moving: list[Any], steps: dict[Any, Any], start: dict[Any, Any], state: dict[Any, Any], k: Any,
    rounds: Callable[[tuple[Any, ...]], Any], asked: Collection[Any] = (),
) -> dict[Any, Any]:
    """Recurrences of what moves, each with all that it needs, and with what is asked before each round."""
    sympy = sympy_module()

    made = {}
    for p in moving:
        used = _needed({p, *[q for q in state if state[q] in asked]}, steps, state)
        variables = (k, *[state[q] for q in used])
        step = sympy.Lambda(variables, sympy.Tuple(*[steps[q] for q in used]))
        made[p] = iterated()(step, [start[q] for q in used], rounds(variables), used.index(p))
    return made


def _needed(moving: set[Any], steps: dict[Any, Any], state: dict[Any, Any]) -> list[Any]:
    """The places that a recurrence of some is about, in their order."""
    needed = moving
    while more := {p for q in needed for p in state if state[p] in steps[q].free_symbols} - needed:
        needed = needed | more
    return [p for p in state if p in needed]


__all__ = ["ended", "looped", "unrolled"]
