"""Derivatives as linear functions, and linear functions turned around: linearize and linear_transpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...compiler.frontend import tracing
from ...compiler.frontend.errors import message
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph
from ...compiler.passes import dead
from ..compiled.byname import ByName, made_of
from ..compiled.chosen import Argnums, each_of, places_in
from ..compiled.compiled import MISS
from ..compiled.derive import Jit, inner, owner_line, value_of
from ..compiled.eager import with_tensors
from ..compiled.function import Function
from ..compiled.out import filled, named
from ..compiled.tracebacks import boundary
from ..transforms import grad
from .derived import Derived, Site
from .halves import halves_of
from .products import NONE, Pushed, Statics, given_places, into, made_once, pushed, statics_of


class Linear(Derived):
    """The derivative along a direction alone."""

    title, trailing = "linearize", 1

    @staticmethod
    def body(site: Site, value: Callable[[Any], Any], x: Any, *last: Any) -> Any:
        site.given(x)
        return pushed(value, x, last[0], value(x))


@dataclass(frozen=True)
class Independent(Jit):
    """A function whose result does not depend on its first arguments, those that are `opened`; else TypeError."""

    def derive(self, traced: Trace, owner: Function) -> tuple[Graph, Any]:
        graph = dead(traced.graph)
        opened = places_in(traced.signature, owner, self.opens[:-1])
        moving = {graph.params[k] for place in opened for k in place.leaves}
        read = {*graph.results, *[x for op in graph.body for x in op.args]}
        if moving & read:
            fix = "vjp(f, *args) has the pullback of what is not linear"
            verdict = f"{self.name}: {owner.__name__} is not linear in the arguments that are transposed"
            raise TypeError(message(verdict, owner_line(owner), fix))
        return traced.graph, traced.result


class Transposed(Derived):
    """The transpose of a linear function; its arguments only say what is passed."""

    title, trailing = "linear_transpose", 1

    def _plan(self, opens: Argnums, has_aux: bool) -> Any:
        return Independent(self.title, opens=opens)

    @staticmethod
    def body(site: Site, value: Callable[[Any], Any], x: Any, *last: Any) -> Any:
        site.given(x)
        return grad(lambda x: inner(value(x), last[0]))(x)


class Linearized(Pushed):
    """The value and the derivative along a direction, together, to be cut in two."""

    title = "linearize"


@boundary
def linearize(
    function: Callable[..., Any], *primals: Any, argnums: Argnums | None = None, has_aux: bool = False,
    static_argnums: Any = (), static_argnames: Any = (),
) -> Any:
    """The value of a function and its derivative there, a linear function: `out, push = linearize(f, *primals)`.

    argnums   the arguments that change; those of floats that are not static, if not given
    has_aux   f returns (value, aux), and linearize (value, push, aux)
    static_argnums, static_argnames
              arguments whose values decide how the program looks; see `grad`

    `push(*tangents)` takes a tangent like each argument that changes, and gives one like `out`. It holds what the
    derivative needs of the point, the fewest bytes that do, and runs the linear part alone. A function that loops over
    a state, or that was traced for the numbers of a call, is run once more instead.

    >>> out, push = linearize(lambda x: x ** 2, 3.0)
    >>> out, push(1.0), push(0.5)
    (9.0, 6.0, 3.0)
    """
    statics = statics_of(function, static_argnums, static_argnames)
    given = given_places("linearize", function, primals, argnums, statics)
    own = [primals[k] for k in each_of(given) if isinstance(k, int)]
    if (made := with_tensors("linearize", function, primals, own, None, (given, has_aux))) is not MISS:
        return made
    push = Pushforward(function, given, primals, has_aux, statics)
    value, aux = push.taken()
    return (value, push, aux) if has_aux else (value, push)


class Pushforward(ByName):
    """A derivative at the arguments of `linearize`; pickles hold these and the function."""

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], has_aux: bool = False,
        statics: Statics = NONE,
    ) -> None:
        self._key = function, argnums, has_aux, statics
        self._argnums, self._args, self._halves = argnums, args, None
        self._count = len(each_of(argnums))
        found = None
        if tracing.current() is None:
            own = tuple([args[k] for k in each_of(argnums) if isinstance(k, int)])
            if len(own) == self._count:
                whole = made_once(Linearized, *self._key)
                found = halves_of(whole, args, own if isinstance(argnums, tuple) else own[0])
        if found is None:
            made = made_once(Linear, *self._key).value(*args)
            self._value = made if has_aux else (made, None)
        else:
            self._halves, leaves = found
            value, aux, self._saved = self._halves.at(leaves)
            self._value = value, aux
        made_of(self, function, argnums, args, has_aux, statics)

    def taken(self) -> tuple[Any, Any]:
        """The value, and what the function returns beside it; they are not kept."""
        found, self._value = self._value, (None, None)
        return found

    def __call__(self, *tangents: Any, out: Any = None) -> Any:
        if len(tangents) != self._count:
            raise TypeError(f"what linearize made takes a tangent for each argument that changes, {self._count}, got "
                            f"{len(tangents)}")
        given = tangents if isinstance(self._argnums, tuple) else tangents[0]
        if self._halves is not None and tracing.current() is None:
            made = self._halves.along(given, self._saved)
            if made is not MISS:
                return filled("linearize", made, out)
        push = made_once(Linear, *self._key)
        made = push(*self._args, given, **into(out, push.has_aux))
        return made[0] if push.has_aux else made


@boundary
def linear_transpose(
    function: Callable[..., Any], *primals: Any, argnums: Argnums | None = None, has_aux: bool = False,
    static_argnums: Any = (), static_argnames: Any = (),
) -> Any:
    """The transpose of a linear function: `linear_transpose(f, x)(ct)` is the transpose of its matrix times ct.

    primals   what f is called with: arrays or numbers, of which only the shapes and dtypes matter for those that are
              transposed
    argnums   the arguments in which f is linear; those of floats that are not static, if not given
    has_aux   f returns (value, aux), of which the value is linear and transposed; aux is left out
    static_argnums, static_argnames
              arguments whose values decide how the program looks; see `grad`

    The result takes a cotangent like what f returns, and gives a tuple with one for each of these arguments; with
    argnums, what belongs to these. TypeError where f is not linear in them.

    >>> linear_transpose(lambda x: 3.0 * x[:2], np.zeros(3))(np.array([1.0, 2.0]))
    (array([3., 6., 0.]),)
    """
    statics = statics_of(function, static_argnums, static_argnames)
    given = given_places("linear_transpose", function, primals, argnums, statics)
    return Transpose(value_of(function) if has_aux else function, given, primals, statics)


class Transpose(ByName):
    """A transpose of `linear_transpose`; pickles hold its function and arguments."""

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], statics: Statics = NONE
    ) -> None:
        self._back, self._args = made_once(Transposed, function, argnums, False, statics), args
        made_of(self, function, argnums, args, statics)

    def __call__(self, cotangent: Any, out: Any = None) -> Any:
        return self._back(*self._args, cotangent, **named(out))


__all__ = ["Linear", "linear_transpose", "linearize"]
