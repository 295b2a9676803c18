"""A recurrence as a SymPy expression: what a loop that is no sum and no product leaves.

    Iterated(Lambda((k, x), (x + 1/x,)), (a,), n, 0)      x after n rounds of x -> x + 1/x that begin with a

The step takes the number of the round, from 0 on, and the state; `which` chooses one component of the last state.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from .library import sympy_module


@cache
def iterated() -> Any:
    """The class, made when SymPy is there."""
    sympy = sympy_module()

    class Iterated(sympy.Expr):
        """The component `which` of the state after n rounds of `step` that begin with `start`."""

        def __new__(cls, step: Any, start: Any, n: Any, which: Any) -> Any:
            return sympy.Expr.__new__(cls, step, sympy.Tuple(*start), sympy.sympify(n), sympy.sympify(which))

        @property
        def rounds(self) -> Any:
            return self.args[2]

        def _eval_is_real(self) -> bool:
            return True

        def doit(self, **hints: Any) -> Any:
            """The rounds written out, where their number is known."""
            step, start, n, which = self.args
            if not n.is_Integer:
                return self
            state = [s.doit(**hints) if hints.get("deep", True) else s for s in start]
            for k in range(int(n)):
                state = list(step(k, *state))
            return state[int(which)]

        def _eval_evalf(self, prec: int) -> Any:
            step, start, n, which = self.args
            state = [s._evalf(prec) for s in start]
            if not n.is_Integer:
                return self
            for k in range(int(n)):
                state = [s._evalf(prec) for s in step(k, *state)]
            return state[int(which)]

        def _eval_subs(self, old: Any, new: Any) -> Any:
            return self.func(*[a._subs(old, new) for a in self.args])

        def _eval_derivative(self, s: Any) -> Any:
            made = self.doit()
            if made == self:
                raise NotImplementedError("a recurrence of a number of rounds that is not known is not differentiated")
            return made.diff(s)

        def _latex(self, printer: Any) -> str:
            step, start, n, which = self.args
            k, *state = step.variables
            rows = []
            for s, first, following in zip(state, start, step.expr, strict=True):
                name = printer._print(s)
                rows.append(f"{name}_{{0}} = {printer._print(first)}")
                rows.append(f"{name}_{{{printer._print(k)}+1}} = {printer._print(following)}")
            told = r",\ ".join(rows)
            return rf"\left.{printer._print(state[int(which)])}_{{{printer._print(n)}}}\right|_{{{told}}}"

    return Iterated


__all__ = ["iterated"]
