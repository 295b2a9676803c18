"""Solutions of equations, differentiated by the implicit function theorem: only the equation matters.

    @implicit(lambda x, a: np.cos(x) - a * x)          # residual(solution, arguments of the solver)
    def crossing(a, start):
        return while_loop(...)

    grad(crossing)(2.0, 1.0)

Where F(x, a) = 0 the cotangent w of the equation solves transpose(F_x) w = -ct, and that of a is transpose(F_a) w: one
linear system, no matter how many steps the solver took, and nothing of these steps is kept. See `linear` for how it is
solved; its solution is implicit, too, so second derivatives are right as well.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..compiler.frontend import region as R
from ..compiler.frontend import tracing
from ..compiler.frontend.array import Array, here, value_of
from ..compiler.frontend.errors import TraceError, message
from ..compiler.frontend.region import Region
from .compiled.byname import made_of
from .compiled.tracebacks import boundary
from .custom import Call, apply, defined, freeze_sizes, transposed
from .linear import System
from .rules import Ruled


@boundary
def implicit(
    residual: Callable[..., Any] | None = None,
    *,
    fixed_point: Callable[..., Any] | None = None,
    tolerance: float = 1e-12,
) -> Callable[[Callable[..., Any]], Implicit]:
    """A decorator for a function that solves an equation; its derivative is that of the solution.

    residual      residual(x, ...) is zero at the solution x; it has the solution's structure, shapes and dtype
    fixed_point   in its place: fixed_point(x, ...) is x at the solution
    tolerance     of the linear system for the adjoint, relative, where it has more than 64 unknowns

    After x these take arguments of the solver, by the solver's names for them. Those that they do not take, such as
    where to start, have the derivative zero. The solver can be anything that can be traced, `external` code included.

    >>> @implicit(lambda x, a: x * x - a)
    ... def root(a, start):
    ...     return while_loop(lambda x: abs(x * x - a) > 1e-9, lambda x: 0.5 * (x + a / x), start)
    >>> round(grad(root)(4.0, 1.0), 9)
    0.25
    """
    if (residual is None) == (fixed_point is None):
        raise TypeError("implicit takes a residual, or else a fixed_point")
    for name, each in (("residual", residual), ("fixed_point", fixed_point)):
        if each is not None and not callable(each):
            raise TypeError(f"implicit: {name} is of class {type(each).__name__}, expected a function")
    if not 0 < tolerance < 1:
        raise ValueError(f"implicit: tolerance is {tolerance!r}, expected a number between 0 and 1")
    return functools.partial(Implicit, equation=residual or fixed_point, fixed=residual is None, tolerance=tolerance)


class Implicit(Ruled):
    """A solver whose derivative is that of the equation it solves."""

    wants = ""

    def __init__(self, solver: Callable[..., Any], equation: Any, fixed: bool, tolerance: float) -> None:
        super().__init__(solver)
        self._rules, self._fixed, self._tolerance = (equation,), fixed, tolerance
        self._takes = self._matched(equation)
        made_of(self, solver, equation, fixed, tolerance)

    def _matched(self, equation: Any) -> list[str] | None:
        """The arguments of the solver that the equation takes; None for all."""
        try:
            theirs = list(inspect.signature(equation).parameters.values())
        except (TypeError, ValueError):
            return None
        if self._signature is None or any(p.kind is p.VAR_POSITIONAL for p in theirs):
            return None
        ours = [p.name for p in self._signature.parameters.values() if p.kind is not p.VAR_POSITIONAL]
        names = [p.name for p in theirs[1:]]
        for name in names:
            if name not in ours:
                verdict = f"the equation takes {name}, which is no argument of {self.__name__}({', '.join(ours)})"
                fix = "name the equation's arguments after the solution as the solver does"
                raise TraceError(message(verdict, defined(equation), fix))
        if not theirs:
            fix = "let the solution be its first argument"
            raise TraceError(message("the equation takes no solution", defined(equation), fix))
        return names

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        now = tracing.current()
        if now is None:
            return super().__call__(*args, **kwargs)
        given = self._positional(args, kwargs)
        freeze_sizes(f"the system of implicit {self.__name__}", given)
        name = self.__name__ if self.__name__.isidentifier() else "solver"
        return apply(now, self, name, self.__wrapped__, self._rule, given, closes=True)

    def _rule(self, call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> Sequence[Any]:
        now, n = here(), len(results)
        floats = [k for k, x in enumerate(results) if x.value.type.is_float]
        equation = self._traced(call, arrays, results, floats)
        outside = [Array(now, value_of(now, x) if isinstance(x, Array) else now.array(x)) for x in equation.extras]
        closed, given = replace(equation, extras=()), [*results, *arrays, *outside]
        system = System(closed, floats, self._tolerance)
        w = -system.solve(given, system.pack([cts[k] for k in floats]), across=True)
        inputs = [k for k in range(n, len(given)) if given[k].value.type.is_float]
        made = dict(zip(inputs, transposed(now, closed, inputs, given, system.unpack(w))[0], strict=True))
        assert call.closed is not None
        for k, x in enumerate(equation.extras, n + len(arrays)):
            if k in made and isinstance(x, Array):
                call.closed.append((x, made[k]))
        return [made[n + k] for k in call.floats]

    def _traced(self, call: Call, arrays: Sequence[Array], results: Sequence[Array], floats: Sequence[int]) -> Region:
        """The equation's residual on the leaves of the solution and the arrays of the arguments."""
        n, (equation,) = len(results), self._rules

        def residual(*given: Array) -> list[Any]:
            args = call.given(given[n:])
            if self._takes is not None:
                names = dict(zip(self._signature.parameters, args, strict=False)) if self._signature else {}
                args = tuple([names[name] for name in self._takes])
            leaves: list[Any] = []
            R.flatten(R.call(equation, call.returned(given[:n]), *args), leaves, "the equation")
            ours, theirs = [call.value.leaves[k].type for k in floats], [R.leaf_of(x).type for x in leaves]
            if ours != theirs:
                facts = {"solution": ", ".join(map(str, ours)), "equation": ", ".join(map(str, theirs))}
                verdict = f"the equation of {call.name} is not like its solution"
                fix = "return one number for each of the solution, of the same dtype"
                raise TraceError(message(verdict, defined(equation), fix, **facts))
            return [given[k] - x if self._fixed else x for k, x in zip(floats, leaves, strict=True)]

        return R.trace_region(here(), f"{call.name}_equation", [R.leaf_of(x) for x in (*results, *arrays)], residual)


__all__ = ["Implicit", "implicit"]
