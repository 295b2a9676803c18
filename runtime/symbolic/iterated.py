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

        def __new__(cls, step: Any, start: Any, n: Any, which: Any) -> Any:
            return sympy.Expr.__new__(cls, step, sympy.Tuple(*start), sympy.sympify(n), sympy.sympify(which))

        @property
        def rounds(self) -> Any:
            return self.args[2]

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
            return self.func(*[a._subs(old, new) for a in self.args])

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
    whole = (k, *state, *moved)
    rounds = sympy.Lambda(whole, n(k, *state)) if tested else n
    first = (*start, *[x.diff(s) for x in start])
    return e.func(sympy.Lambda(whole, sympy.Tuple(*step.expr, *slopes)), first, rounds, len(state) + which)


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


__all__ = ["iterated"]
