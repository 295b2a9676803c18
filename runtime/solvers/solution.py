"""What a solver of SciPy's finds on numbers, as a value of the graph that its equation differentiates.

The solver runs in an `external` call, on functions that are compiled; nothing of its steps is kept. The equation is
for `implicit`, which solves one linear system for all parameters and has derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend.errors import TraceAttributeError, TraceError, message
from ...compiler.frontend.results import Unreturned
from ...compiler.frontend.tracing import user_line
from ..external import External
from ..implicit import Implicit
from ..rules import stop_gradient
from .closed import Closed

Functions = list[Callable[..., Any]]


def solution(
    name: str,
    functions: Sequence[Closed],
    equation: Callable[..., Any],
    starts: Sequence[Any],
    gives: Any,
    solve: Callable[..., Any],
    held: Sequence[Any] = (),
    shown: int = 0,
) -> Any:
    """What `solve` returns, where `equation` is zero.

    solve      solve(functions, *starts) -> a tree like `gives`, whose only floats are the unknowns, on numbers
    equation   equation(functions, made, *starts) -> an array for each array of unknowns, on traced values
    held       types of further results of `solve`, which the equation reads and holds constant
    shown      how many of these are returned, too
    """
    count = len(starts)

    def of(kind: Callable[..., Any], outside: Sequence[Any]) -> Functions:
        left = iter(outside)
        return [partial(_first, kind, f, list(islice(left, len(f.outside)))) for f in functions]

    def call(*given: Any) -> Any:
        return solve(of(Closed.numeric, given[count:]), *given[:count])

    def residual(made: Any, *given: Any) -> Any:
        return equation(of(Closed.traced, given[count:]), made, *given[:count])

    call.__name__ = call.__qualname__ = name
    opaque = External(call, (*gives, *held) if held else gives, None, False, None)
    outside = [x for f in functions for x in f.outside]
    size = len(gives) if held else 0

    def solver(*given: Any) -> Any:
        return given[0][:size] if held else opaque(*given)

    def zero(made: Any, *given: Any) -> Any:
        return residual((*made, *given[0][size:]), *given[1:]) if held else residual(made, *given)

    solver.__name__ = solver.__qualname__ = name
    known: Any = (stop_gradient(opaque(*map(stop_gradient, (*starts, *outside)))),) if held else ()
    made = Implicit(solver, zero, fixed=False, tolerance=1e-12)(*known, *starts, *outside)
    return (*made, *known[0][size : size + shown]) if shown else made


def _first(kind: Callable[..., Any], function: Closed, outside: Sequence[Any], *given: Any) -> Any:
    return kind(function, given, outside)[0]


class Solved(dict):
    """A result with SciPy's attributes, as its OptimizeResult; those that are no numbers are refused by name."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name.startswith("__"):
            raise AttributeError(name)
        self._missing(name)

    def __missing__(self, name: str) -> NoReturn:
        self._missing(name)

    def _missing(self, name: str) -> NoReturn:
        fix = "read it from a call of the solver outside of the function"
        said = f"a solution has no {name!r} in a traced function, where there are {', '.join(self)}"
        raise TraceAttributeError(message(said, user_line(), fix))


class Ends(Unreturned):
    """An array of steps, of which there are as many as a call takes: the first and the last can be read.

    Steps are along the last axis, or along the first one where it is `across`.
    """

    def __init__(self, name: str, first: Any, last: Any, across: bool = False) -> None:
        self._name, self._first, self._last, self._across = name, first, last, across

    def __getitem__(self, key: Any) -> Any:
        keys = list(key) if isinstance(key, tuple) else [key]
        if not self._across and len(keys) < 1 + np.ndim(self._first) and keys[-1] is not ... and keys[0] is not ...:
            return Ends(self._name, self._first[key], self._last[key])
        k = keys.pop(0 if self._across else -1)
        if type(k) is not int or k not in (0, -1):
            self._unknown()
        end = self._last if k else self._first
        keys = [each for each in keys if each is not ...]
        return end[tuple(keys)] if keys else end

    @property
    def T(self) -> Ends:
        return Ends(self._name, self._first, self._last, not self._across)

    def _unknown(self, *_: Any, **__: Any) -> NoReturn:
        raise TraceError(message(*self._verdict()))

    def unreturned(self) -> tuple[str, str]:
        fix = f"read the first or the last: sol.{self._name}[..., -1]; or give the times, t_eval=, for sol.t and sol.y"
        return f"solve_ivp: how many steps sol.{self._name} has is not known while tracing", fix

    def _verdict(self) -> tuple[Any, ...]:
        verdict, fix = self.unreturned()
        return verdict, user_line(), fix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise TraceAttributeError(message(*self._verdict()))

    __iter__ = __len__ = __array__ = __array_ufunc__ = __array_function__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __pow__ = __neg__ = _unknown


def default(name: str, **given: Any) -> None:
    """Refuse arguments that are not what they are by default: (value, default)."""
    for argument, (value, usual) in given.items():
        if value is not usual and not (np.isscalar(value) and value == usual):
            R.refuse(f"{name} with {argument}={value!r:.40} on traced parameters", f"leave {argument} out")


__all__ = ["Ends", "Functions", "Solved", "default", "solution"]
