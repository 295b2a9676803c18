"""A recurrence as a SymPy expression: what a loop that is no sum and no product leaves.

    Iterated(Lambda((k, x), (x + 1/x,)), (a,), n, 0)      x after n rounds of x -> x + 1/x that begin with a
    Iterated(Lambda((k, x), (x/2,)), (a,), Lambda((k, x), x > 1), 0)      after as many as begin with x > 1

The step takes the number of the round, from 0 on, and the state; `which` chooses one component of the last state.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from .library import sympy_module

MOST = 10_000
"""The most rounds of a loop with a test that are followed in SymPy's numbers, as there may be no end."""


@cache
def iterated() -> Any:
    """The class, made when SymPy is there."""
    sympy = sympy_module()

    class Iterated(sympy.Expr):
        """The component `which` of the state after the rounds of `step` that begin with `start`.

        n   how many rounds, or a Lambda of what `step` takes: the condition under which there is another one
        """

        precedence = 45  # between a sum and a product: what follows a bar is put in brackets

        def __new__(cls, step: Any, start: Any, n: Any, which: Any) -> Any:
            return sympy.Expr.__new__(cls, step, sympy.Tuple(*start), sympy.sympify(n), sympy.sympify(which))

        @property
        def rounds(self) -> Any:
            return self.args[2]

        def has(self, *patterns: Any) -> bool:
            """As of any expression, but for cases: SymPy takes those that it finds out of what they are in, with
            conditions on what is bound here."""
            asked = [p for p in patterns if p is not sympy.Piecewise]
            return bool(asked) and super().has(*asked)

        def _eval_is_real(self) -> bool:
            return True

        def doit(self, **hints: Any) -> Any:
            """The rounds written out, where their number is known."""
            made = _last(self, lambda s: s.doit(**hints) if hints.get("deep", True) else s)
            return self if made is None else made

        def _eval_evalf(self, prec: int) -> Any:
            made = _last(self, lambda s: s._evalf(prec))
            return self if made is None else made

        def _eval_subs(self, old: Any, new: Any) -> Any:
            bound = [isinstance(a, sympy.Lambda) and old in a.variables for a in self.args]
            return self.func(*[a if own else a._subs(old, new) for a, own in zip(self.args, bound, strict=True)])

        def _eval_derivative(self, s: Any) -> Any:
            return _derivative(self, s)

        def _latex(self, printer: Any) -> str:
            return _latex(self, printer)

    return Iterated


def _last(e: Any, value: Callable[[Any], Any]) -> Any:
    """The component after the rounds, each with `value` of what it gives; None if it is not known how many."""
    sympy = sympy_module()

    step, start, n, which = e.args
    tested = isinstance(n, sympy.Lambda)
    state = [value(s) for s in start]
    for k in itertools.count():
        if tested and k > MOST:
            return None
        holds = n(k, *state) if tested else sympy.Lt(k, n)
        if holds == False:  # noqa: E712
            return state[int(which)]
        if holds != True:  # noqa: E712
            return None
        state = [value(s) for s in step(k, *state)]


def _derivative(e: Any, s: Any) -> Any:
    """A recurrence of the state and its derivative by s; how many rounds there are has none."""
    sympy = sympy_module()

    step, start, n, which = e.args
    tested = isinstance(n, sympy.Lambda)
    if not tested and s in n.free_symbols:
        raise NotImplementedError("a recurrence is not differentiated by the number of its rounds")
    k, *state = step.variables
    moved = _derivatives_of(state, e.free_symbols | step.expr.free_symbols | {s})
    slopes = [
        following.diff(s) + sum((following.diff(x) * dx for x, dx in zip(state, moved, strict=True)), sympy.S.Zero)
        for following in step.expr
    ]
    first = (*start, *[x.diff(s) for x in start])
    rounds = n(k, *state) if tested else n
    return _without_twins(e.func, k, (*state, *moved), first, (*step.expr, *slopes), rounds, tested, len(state) + which)


def _without_twins(
    make: Any, k: Any, state: Sequence[Any], start: Sequence[Any], steps: Sequence[Any], n: Any, tested: bool,
    which: Any,
) -> Any:
    """A recurrence in which what begins alike and goes on alike is carried once, and what is always 0 not at all."""
    sympy = sympy_module()

    same = {x: sympy.S.Zero for x, first in zip(state, start, strict=True) if first == 0}
    same |= {x: y for j, x in enumerate(state) for i, y in enumerate(state[:j]) if start[i] == start[j] != 0}
    while True:
        told = dict(zip(state, [e.xreplace(same) for e in steps], strict=True))
        broken = [x for x, y in same.items() if told[x] != told.get(y, y)]
        if not broken:
            break
        for x in broken:
            del same[x]
    asked = state[int(which)]
    if same.get(asked) == 0:
        return sympy.S.Zero
    kept = [x for x in state if x not in same]
    whole = (k, *kept)
    first = [e for x, e in zip(state, start, strict=True) if x not in same]
    step = sympy.Lambda(whole, sympy.Tuple(*[told[x] for x in kept]))
    rounds = sympy.Lambda(whole, n.xreplace(same)) if tested else n
    return make(step, first, rounds, kept.index(same.get(asked, asked)))


def in_one_loop(e: Any) -> Any:
    """A sum whose terms are recurrences of as many rounds as the term has a number, as one recurrence; None for others.

    Each term by itself would begin with the first round again.
    """
    sympy = sympy_module()

    (k, low, high), term = e.limits[0], e.function
    found = [x for x in term.atoms(iterated()) if not isinstance(x.rounds, sympy.Lambda) and (x.rounds - k).is_Integer]
    ways: dict[Any, tuple[Any, list[Any]]] = {}
    for x in found:
        step, start, n, _ = x.args
        if k not in step.free_symbols | start.free_symbols and n.xreplace({k: low}).is_Integer:
            ways[step, start, n] = x, [sympy.Dummy(s.name, real=True) for s in step.variables[1:]]
    if not ways:
        return None
    total = sympy.Dummy("total", real=True)
    state, first, steps = [total], [sympy.S.Zero], []
    for (step, start, n), (x, names) in ways.items():
        state += names
        at = n.xreplace({k: low})
        first += start if at <= 0 else [x.func(step, start, at, j) for j in range(len(start))]
        now = n.xreplace({k: k + low})
        following = step(now, *names)
        if at < 0:  # rounds that there are none of
            following = [sympy.Piecewise((e, now >= 0), (s, True)) for e, s in zip(following, names, strict=True)]
        steps += following
    told = {x: ways[x.args[:3]][1][int(x.args[3])] for x in found if x.args[:3] in ways}
    term = term.xreplace(told).xreplace({k: k + low})
    whole = sympy.Lambda((k, *state), sympy.Tuple(total + term, *steps))
    return iterated()(whole, first, high - low + 1, 0)


def _latex(e: Any, printer: Any) -> str:
    sympy = sympy_module()

    step, start, n, which = e.args
    k, *state = step.variables
    rows = []
    for s, first, following in zip(state, start, step.expr, strict=True):
        name = f"{{{printer._print(s)}}}"
        rows.append(f"{name}_{{0}} = {printer._print(first)}")
        rows.append(f"{name}_{{{printer._print(k)}+1}} = {printer._print(following)}")
    last = printer._print(n)
    if isinstance(n, sympy.Lambda):
        last = printer._print(k)
        rows.append(rf"\text{{while }} {printer._print(n(*step.variables))}")
    told = r",\ ".join(rows)
    return rf"\left.{{{printer._print(state[int(which)])}}}_{{{last}}}\right|_{{{told}}}"


def _derivatives_of(state: Sequence[Any], taken: set[Any]) -> list[Any]:
    """Symbols for the derivatives of a state, of names that nothing else has."""
    sympy = sympy_module()

    names = {x.name for x in taken if hasattr(x, "name")} | {x.name for x in state}
    made = []
    for x in state:
        name = f"d{x.name}"
        while name in names:
            name = f"d{name}"
        names.add(name)
        made.append(sympy.Symbol(name, real=True))
    return made


__all__ = ["in_one_loop", "iterated"]
