"""Derivatives as linear functions, and linear functions turned around: linearize and linear_transpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...compiler.frontend.errors import message
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph
from ...compiler.passes import dead
from ..compiled.byname import ByName, made_of
from ..compiled.chosen import Argnums, each_of, places_in
from ..compiled.compiled import MISS
from ..compiled.derive import Jit, inner, owner_line
from ..compiled.eager import with_tensors
from ..compiled.function import Function
from ..compiled.out import named
from ..transforms import grad
from .derived import Derived, Site
from .products import given_places, into, made_once, pushed


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


def linearize(
    function: Callable[..., Any], *primals: Any, argnums: Argnums | None = None, has_aux: bool = False
) -> Any:
    """The value of a function and its derivative there, a linear function: `out, push = linearize(f, *primals)`.

    argnums   the arguments that change; those of floats, if not given
    has_aux   f returns (value, aux), and linearize (value, push, aux)

    `push(*tangents)` takes a tangent like each argument that changes, and gives one like `out`. It runs the part of
    `f` that it needs once more: it takes the arguments with it, and no intermediate results.

    >>> out, push = linearize(lambda x: x ** 2, 3.0)
    >>> out, push(1.0), push(0.5)
    (9.0, 6.0, 3.0)
    """
    given = given_places("linearize", function, primals, argnums)
    own = [primals[k] for k in each_of(given) if isinstance(k, int)]
    if (made := with_tensors("linearize", function, primals, own, None, (given, has_aux))) is not MISS:
        return made
    made = made_once(Linear, function, given, has_aux).value(*primals)
    push = Pushforward(function, given, primals, has_aux)
    return (made[0], push, made[1]) if has_aux else (made, push)


class Pushforward(ByName):
    """A derivative at the arguments of `linearize`; pickles hold these and the function."""

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], has_aux: bool = False
    ) -> None:
        self._push, self._argnums, self._args = made_once(Linear, function, argnums, has_aux), argnums, args
        made_of(self, function, argnums, args, has_aux)

    def __call__(self, *tangents: Any, out: Any = None) -> Any:
        wanted = len(each_of(self._argnums))
        if len(tangents) != wanted:
            raise TypeError(f"what linearize made takes a tangent for each argument that changes, {wanted}, got "
                            f"{len(tangents)}")
        aux = self._push.has_aux
        given = tangents if isinstance(self._argnums, tuple) else tangents[0]
        made = self._push(*self._args, given, **into(out, aux))
        return made[0] if aux else made


def linear_transpose(function: Callable[..., Any], *primals: Any, argnums: Argnums | None = None) -> Any:
    """The transpose of a linear function: `linear_transpose(f, x)(ct)` is the transpose of its matrix times ct.

    primals   what f is called with: arrays or numbers, of which only the shapes and dtypes matter for those that are
              transposed
    argnums   the arguments in which f is linear; those of floats, if not given

    The result takes a cotangent like what f returns, and gives a tuple with one for each of these arguments; with
    argnums, what belongs to these. TypeError where f is not linear in them.

    >>> linear_transpose(lambda x: 3.0 * x[:2], np.zeros(3))(np.array([1.0, 2.0]))
    (array([3., 6., 0.]),)
    """
    given = given_places("linear_transpose", function, primals, argnums)
    return Transpose(function, given, primals)


class Transpose(ByName):
    """A transpose of `linear_transpose`; pickles hold its function and arguments."""

    def __init__(self, function: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...]) -> None:
        self._back, self._args = made_once(Transposed, function, argnums), args
        made_of(self, function, argnums, args)

    def __call__(self, cotangent: Any, out: Any = None) -> Any:
        return self._back(*self._args, cotangent, **named(out))


__all__ = ["Linear", "linear_transpose", "linearize"]
