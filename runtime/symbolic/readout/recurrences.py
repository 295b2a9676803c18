"""Loops of a graph as mathematics: written out, sums, products, and recurrences of a number of rounds or a test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from ....compiler.ir.graph import Graph
from ..shared.iterated import iterated
from ..shared.library import sympy_module
from ..shared.parts import operations, summed
from .cases import is_condition
from .elements import EXPLICIT, NoExpression, SymbolicArray, parameter, scalar
from .filled import Rounds, filled

LONGEST = 1_000
"""The most operations of a state that rounds are written out with, where a loop can be told otherwise."""


def unrolled(
    reading: Any, body: Graph, n: int, carried: Sequence[Any], rest: Sequence[Any], backwards: bool
) -> Sequence[Any] | None:
    """What is carried after n rounds, each written out; None where that grows with every round."""
    sympy = sympy_module()

    made = list(carried)
    alike = all(isinstance(x, SymbolicArray) and x.explicit for x in carried)
    for i in reversed(range(n)) if backwards else range(n):
        made = reading.run(body, [scalar(sympy.Integer(i)), *made, *rest])
        if alike and sum([operations(e) for x in made for e in x.all()]) > LONGEST:
            return None
    return made


def looped(
    reading: Any, body: Graph, n: Any, carried: Sequence[Any], rest: Sequence[Any], backwards: bool
) -> Sequence[Any]:
    """What is carried after many rounds: a number that a round adds to is a Sum, one that it multiplies a Product, and
    what depends on what was carried before a recurrence. An array that rounds fill is told by its index."""
    large = [each for each in carried if isinstance(each, SymbolicArray) and _may_be_filled(each, n)]
    if not large:
        return _of_rounds(reading, body, n, carried, rest, backwards, [])
    try:
        return _of_rounds(reading, body, n, carried, rest, backwards, large)
    except NoExpression:
        if any(each.size > EXPLICIT for each in large):
            raise
        return _of_rounds(reading, body, n, carried, rest, backwards, [])


def _may_be_filled(x: SymbolicArray, n: Any) -> bool:
    """Whether each of n rounds may put a value into an array."""
    return x.size > EXPLICIT or (n.is_Integer and x.size >= n)


def _of_rounds(
    reading: Any, body: Graph, n: Any, carried: Sequence[Any], rest: Sequence[Any], backwards: bool,
    large: Sequence[SymbolicArray],
) -> Sequence[Any]:
    k = reading.symbol("k", integer=True)
    if n.is_Integer:
        reading.m.ranges[k] = 0, int(n) - 1
    small = [each for each in carried if each not in large]
    places, state, given = _state(reading, small)
    names = [_named(reading, x) for x in large]
    numbers, arrays = iter(given), iter(names)
    mixed = [next(arrays) if each in large else next(numbers) for each in carried]
    made = reading.run(body, [scalar(n - 1 - k if backwards else k), *mixed, *rest])
    of_small = [x for x, each in zip(made, carried, strict=True) if each not in large]
    start = {(c, index): _counted(small[c][index]) for c, index in places}
    steps = {(c, index): _counted(of_small[c][index]) for c, index in places}
    fixed = {state[p]: start[p] for p in places if steps[p] == state[p]}
    rounds = Rounds(reading, k, start, steps, state, fixed)
    of_large = [x for x, each in zip(made, carried, strict=True) if each in large]
    for name, was, now in zip(names, large, of_large, strict=True):
        rounds.fill(name[[0] * len(name.shape)].base, was, now)
    rounds.told_all()
    found = _found(rounds, n)
    after = _after(rounds)
    whole = iter([filled(rounds, name[[0] * len(name.shape)].base, n, after, _found) for name in names])
    numbers = iter(_carried(found, small))
    return [next(whole) if each in large else next(numbers) for each in carried]


def _named(reading: Any, x: SymbolicArray) -> SymbolicArray:
    """An array of the shape of another one, by a name of its own."""
    name = reading.symbol("x").name
    return parameter(sympy_module().IndexedBase(name, x.shape, real=True), x.shape)


def _found(rounds: Rounds, n: Any) -> dict[Any, Any]:
    """What each of the numbers that are carried is after n rounds."""
    start, state, steps = rounds.start, rounds.state, rounds.steps
    found = {p: e.xreplace({rounds.k: n}) for p, s in state.items() if (e := rounds.known.get(s)) is not None}
    open_ = {p: e for p, e in steps.items() if p not in found}
    found |= _closed(open_, start, {p: state[p] for p in open_}, rounds.k, n)
    moving = [p for p in open_ if p not in found]
    if moving:
        found |= _recurrence(moving, open_, start, {p: state[p] for p in open_}, rounds.k, lambda variables: n)
    return found


def _after(rounds: Rounds) -> Callable[[Any, Any], Any]:
    """What of a number that is carried there is after some rounds: found for each number of rounds at once."""
    made: dict[Any, dict[Any, Any]] = {}

    def after(p: Any, n: Any) -> Any:
        if n == 0:
            return rounds.start[p]
        if n not in made:
            made[n] = _found(rounds, n)
        return made[n][p]

    return after


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
            total = summed(added, (k, 0, n - 1))
            if total is not None:
                found[p] = start[p] + total
        elif times is not None and not times.free_symbols & symbols:
            found[p] = start[p] * sympy.Product(times, (k, 0, n - 1))
    return found


def _recurrence(
    moving: list[Any], steps: dict[Any, Any], start: dict[Any, Any], state: dict[Any, Any], k: Any,
    rounds: Callable[[tuple[Any, ...]], Any], asked: Collection[Any] = (),
) -> dict[Any, Any]:
    """Recurrences of what moves, each with all that it needs, and with what is asked before each round."""
    sympy = sympy_module()

    named = {x: q for q, x in state.items()}
    below = {q: [named[x] for x in steps[q].free_symbols if x in named] for q in state}
    also = [named[x] for x in asked if x in named]
    made, steps_of = {}, {}
    for p in moving:
        used = _needed([p, *also], below)
        if used not in steps_of:
            order = [q for q in state if q in used]
            variables = (k, *[state[q] for q in order])
            step = sympy.Lambda(variables, sympy.Tuple(*[steps[q] for q in order]))
            steps_of[used] = step, order, [start[q] for q in order], rounds(variables)
        step, order, first, count = steps_of[used]
        made[p] = iterated()(step, first, count, order.index(p))
    return made


def _needed(moving: list[Any], below: dict[Any, list[Any]]) -> frozenset[Any]:
    """The places that a recurrence of some is about: of each, what its step is made of."""
    needed, open_ = set(moving), list(moving)
    while open_:
        more = [q for q in below[open_.pop()] if q not in needed]
        needed.update(more)
        open_ += more
    return frozenset(needed)


__all__ = ["ended", "looped", "unrolled"]
