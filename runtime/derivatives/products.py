"""Products with derivatives: vjp, jvp, hvp and gnvp.

A pullback is linear in its cotangent, so the pullback of a pullback is a pushforward: jvp needs no rules of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...compiler.frontend import tree
from ..compiled.byname import ByName, made_of
from ..compiled.chosen import Argnums, checked, each_of, places
from ..compiled.compiled import MISS
from ..compiled.derive import Jit, has_floats, inner
from ..compiled.eager import with_tensors
from ..compiled.function import Function
from ..compiled.out import named
from ..compiled.tracebacks import boundary
from ..rules import stop_gradient
from ..transforms import grad
from .derived import Derived, Site


def pushed(value: Callable[[Any], Any], x: Any, tangent: Any, y: Any) -> Any:
    """The derivative of `value` at x along a tangent: the pullback of its pullback, at any cotangent like y."""

    def along(cotangent: Any) -> Any:
        return inner(grad(lambda x: inner(value(x), cotangent))(x), tangent)

    return grad(along)(y)


class Hvp(Derived):
    """The product of a Hessian with a vector; see `hvp`."""

    title, trailing, order = "hvp", 1, 2

    @staticmethod
    def body(site: Site, value: Callable[[Any], Any], x: Any, *last: Any) -> Any:
        site.given(x)
        slope: Any = grad(value)
        slope.__name__ = site.title.removeprefix("hvp of ")
        return grad(lambda x: inner(slope(x), last[0]))(x)


@boundary
def hvp(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, static_argnums: Any = (),
    static_argnames: Any = (),
) -> Callable[..., Any]:
    """The product of the Hessian with a vector: `hvp(f)(x, v)`, or `hvp(f)(x, *more, v)`.

    argnums   for which argument, or a tuple of them; v comes last, and is like it, or a tuple like these
    has_aux   f returns (value, aux), and the product is (product, aux)

    >>> hvp(lambda x: x ** 3)(2.0, 1.0)
    12.0
    """
    return Hvp(function, argnums, has_aux, static_argnums, static_argnames)


class Gnvp(Derived):
    """The product of a Gauss–Newton matrix with a vector; see `gnvp`."""

    title, trailing = "gnvp", 1

    @staticmethod
    def body(site: Site, value: Callable[[Any], Any], x: Any, *last: Any) -> Any:
        site.given(x)
        y = value(x)
        site.result(y)
        along = pushed(value, x, last[0], y)
        return grad(lambda x: inner(value(x), stop_gradient(along)))(x)


@boundary
def gnvp(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, static_argnums: Any = (),
    static_argnames: Any = (),
) -> Callable[..., Any]:
    """The product of the Gauss–Newton matrix with a vector: `gnvp(f)(x, v)` is the transpose of J times J v.

    function   returns residuals, whose half sum of squares is minimised; J is their Jacobian, which is never formed
    argnums    for which argument, or a tuple of them; v comes last, and is like it, or a tuple like these
    has_aux    f returns (residuals, aux), and the product is (product, aux)

    The matrix itself is `j.T @ j` with `j = jacobian(f, sparse=True)(x)`.

    >>> gnvp(lambda x: x ** 2)(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 4., 16.])
    """
    return Gnvp(function, argnums, has_aux, static_argnums, static_argnames)


class Pulled(Derived):
    """The pullback of a function: of its arguments and a cotangent."""

    title, trailing = "vjp", 1

    @staticmethod
    def body(site: Site, value: Callable[[Any], Any], x: Any, *last: Any) -> Any:
        site.given(x)
        return grad(lambda x: inner(value(x), last[0]))(x)


class Pushed(Derived):
    """The value of a function and its derivative along a direction: of its arguments and a tangent."""

    title, trailing = "jvp", 1

    @staticmethod
    def body(site: Site, value: Callable[[Any], Any], x: Any, *last: Any) -> Any:
        site.given(x)
        y = value(x)
        return y, pushed(value, x, last[0], y)


Statics = tuple[tuple[int, ...], tuple[str, ...]]
"""The static arguments of a function, by their positions and by their names."""

NONE: Statics = ((), ())


def statics_of(function: Any, numbers: Any, names: Any) -> Statics:
    """The static arguments as a key; ValueError where the function has none such."""
    if isinstance(numbers, tuple) and isinstance(names, tuple) and not numbers and not names:
        return NONE
    found = Function(function, Jit(), numbers, names)._static
    return tuple(sorted(k for k in found if isinstance(k, int))), tuple(sorted(k for k in found if isinstance(k, str)))


def _made(
    kind: type[Derived], function: Callable[..., Any], argnums: Argnums, has_aux: bool = False, statics: Statics = NONE
) -> Derived:
    return kind(function, argnums, has_aux, *statics)


made_once: Callable[..., Derived] = functools.lru_cache(maxsize=256)(_made)
"""One for each function: what it has compiled serves all calls."""


@boundary
def vjp(
    function: Callable[..., Any], *args: Any, argnums: Argnums | None = None, has_aux: bool = False, out: Any = None,
    static_argnums: Any = (), static_argnames: Any = (),
) -> Any:
    """The value of a function and its pullback: `out, pullback = vjp(f, *args)`.

    argnums   the arguments that are differentiated; those of floats that are not static, if not given
    has_aux   f returns (value, aux), and vjp (value, pullback, aux)
    out       an array, or arrays in containers, for the value
    static_argnums, static_argnames
              arguments whose values decide how the program looks; see `grad`

    `pullback(ct)` takes a cotangent like `out` and returns a tuple with one for each argument, None for those without
    floats; with argnums it returns what belongs to these: one, or a tuple. `pullback(ct, out=(a, None))` puts the
    cotangents into arrays.

    >>> out, pullback = vjp(np.sin, np.zeros(2))
    >>> pullback(np.array([1.0, 3.0]))
    (array([1., 3.]),)
    """
    statics = statics_of(function, static_argnums, static_argnames)
    given = given_places("vjp", function, args, argnums, statics)
    if (made := with_tensors("vjp", function, args, _at(args, given), out, (given, has_aux))) is not MISS:
        return made
    value = made_once(Pulled, function, given, has_aux, statics).value(*args, **into(out, has_aux))
    pullback = Pullback(function, given, args, has_aux, argnums is None, statics)
    return (value[0], pullback, value[1]) if has_aux else (value, pullback)


def given_places(title: str, function: Any, args: tuple[Any, ...], argnums: Any, statics: Statics = NONE) -> Argnums:
    """The chosen arguments; where none are, those of floats that are not static."""
    if not callable(function):
        raise TypeError(f"{title} takes a function, got {type(function).__name__}: {function!r:.60}")
    if argnums is not None:
        made = checked(title, argnums)
        known = made_once(Pulled, function, made).value.argument_names(len(args))
        for k in places(f"{title} of {_name(function)}", made, 0, len(args), known, ()):
            if k in statics[0]:
                raise ValueError(f"{title} of {_name(function)}: argument {k} is differentiated and static: choose one")
        return made
    found = tuple([k for k, each in enumerate(args) if k not in statics[0] and has_floats(each)])
    if not found:
        said = ", ".join(_spelled(a) for a in args) or "none"
        unknown = next(filter(None, [tree.unregistered(tree.flatten(tree.opened(a), []), "") for a in args]), None)
        said += f": {unknown[2]}" if unknown is not None else ""
        raise TypeError(f"{title} needs an argument with floats, got {said}")
    return found


def into(out: Any, has_aux: bool) -> dict[str, Any]:
    """The argument `out=` for a result, if there is one; beside aux, which is made fresh."""
    return named((out, None) if has_aux and out is not None else out)


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _at(args: tuple[Any, ...], argnums: Argnums) -> tuple[Any, ...]:
    return tuple([args[k] for k in each_of(argnums) if isinstance(k, int)])


class Pullback(ByName):
    """A pullback at the arguments of `vjp`; pickles hold these and the function."""

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], has_aux: bool = False,
        every: bool = True, statics: Statics = NONE,
    ) -> None:
        self._back, self._floats = made_once(Pulled, function, argnums, has_aux, statics), argnums
        self._args, self._every = args, every
        made_of(self, function, argnums, args, has_aux, every, statics)

    def __call__(self, cotangent: Any, out: Any = None) -> Any:
        args, chosen = self._args, self._floats
        aux = self._back.has_aux
        if not self._every:
            made = self._back(*args, cotangent, **into(out, aux))
            return made[0] if aux else made
        assert isinstance(chosen, tuple)
        if out is not None and not (type(out) is tuple and len(out) == len(args)):
            raise TypeError(f"out of a pullback is {out!r:.60}, expected a tuple of {len(args)}, or None")
        places_ = out and tuple([out[k] for k in chosen if isinstance(k, int)])
        made = self._back(*args, cotangent, **into(places_, aux))
        found = iter(made[0] if aux else made)
        return tuple([next(found) if k in chosen else None for k in range(len(args))])


@boundary
def jvp(
    function: Callable[..., Any], primals: tuple[Any, ...], tangents: Any, *, argnums: Argnums | None = None,
    has_aux: bool = False, static_argnums: Any = (), static_argnames: Any = (),
) -> Any:
    """The value of a function and its derivative along a direction: `out, tangent = jvp(f, (x,), (v,))`.

    primals    the arguments, all of floats but for static ones
    tangents   the direction: as many as there are arguments that are not static, each like its argument
    argnums    the arguments that change; others may be of any kind, and `tangents` is then like those chosen: one, or
               a tuple
    has_aux    f returns (value, aux), and jvp (value, tangent, aux)
    static_argnums, static_argnames
               arguments whose values decide how the program looks; see `grad`

    `tangent` is like `out`, whose leaves must be floats. TypeError where a tangent is not like its argument.

    >>> jvp(np.sin, (0.0,), (2.0,))
    (0.0, 2.0)
    """
    statics = statics_of(function, static_argnums, static_argnames)
    chosen = moving_places("jvp", function, primals, tangents, argnums, statics)
    primals = tuple(primals)
    tensors = (primals, tangents if argnums is not None else tuple(tangents))
    if (made := with_tensors("jvp", function, tensors, _at(primals, chosen), None, (chosen, has_aux))) is not MISS:
        return made
    along = tangents if argnums is not None else tuple(tangents)
    made = made_once(Pushed, function, chosen, has_aux, statics)(*primals, along)
    return (*made[0], made[1]) if has_aux else made


def moving_places(
    title: str, function: Any, primals: Any, tangents: Any, argnums: Any, statics: Statics
) -> Argnums:
    """The arguments that change, checked against the tangents."""
    if not isinstance(primals, (tuple, list)):
        raise TypeError(f"{title} takes a tuple of primals, got {type(primals).__name__}")
    if argnums is not None:
        return given_places(title, function, tuple(primals), argnums, statics)
    if not isinstance(tangents, (tuple, list)):
        raise TypeError(f"{title} takes a tuple of tangents, got {type(tangents).__name__}")
    moving = tuple([k for k in range(len(primals)) if k not in statics[0]])
    if len(moving) != len(tangents) or not moving:
        counts = f"{len(moving)} primals and {len(tangents)} tangents"
        raise TypeError(f"{title} takes a tangent for each primal, got {counts}")
    return moving


def _spelled(x: Any) -> str:
    """An argument as users call it."""
    node = tree.flatten(tree.opened(x), [])
    return f"a {type(x).__name__}" if node[0] in tree.CONTAINERS else tree.spelled(node)


__all__ = [
    "NONE", "Hvp", "Statics", "given_places", "gnvp", "hvp", "into", "jvp", "made_once", "moving_places", "pushed",
    "statics_of", "vjp",
]
