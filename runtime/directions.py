"""Products with derivatives, and what is made of many of them: vjp, jvp, hvp, jacrev, jacfwd and hessian.

A pullback is linear in its cotangent, so the pullback of a pullback is a pushforward: jvp needs no rules of its own.
The rows of a Jacobian or Hessian are products with the vectors of a basis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..compiler.frontend.array import Array
from .blocks import Rows, by_columns, by_rows, floats, leaf
from .compiled.byname import Around, ByName, made_of
from .compiled.compiled import MISS
from .compiled.derive import Gradient, NotScalar, has_floats, inner
from .compiled.eager import with_tensors
from .compiled.function import Function
from .compiled.out import named
from .transforms import grad, jit


def hvp(function: Callable[..., Any]) -> Callable[..., Any]:
    """The product of the Hessian with a vector: `hvp(f)(x, v)`, or `hvp(f)(x, *more, v)`.

    The Hessian is that for the first argument; v is like it, and comes last.

    >>> hvp(lambda x: x ** 3)(2.0, 1.0)
    12.0
    """
    return Product(function)


class Product(Function):
    """A Hessian-vector product; pickles hold the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        slope = grad(function)

        def along(x: Any, *rest: Any) -> Any:
            if not rest:
                raise TypeError(f"hvp({function.__name__}) takes the arguments and then a vector: hvp(f)(x, v)")
            return inner(slope(x, *rest[:-1]), rest[-1])

        super().__init__(along, Gradient("grad", 0, False, False))
        self.plain = lambda *args: function(*args[:-1])
        self._function = function
        _name(self, function, "hvp")
        made_of(self, function)

    def __slow__(self, *args: Any, **kwargs: Any) -> Any:
        made = with_tensors("hvp", self._function, args, args[:1], kwargs.get("out"))
        return super().__slow__(*args, **kwargs) if made is MISS else made


def _name(made: Any, function: Any, transform: str) -> None:
    made.__name__ = getattr(function, "__name__", transform)
    made.__doc__ = getattr(function, "__doc__", None)


def hessian(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Hessian for the first argument: `hessian(f)(x)` has the shape of x twice.

    Where x is a dict, list or tuple, nested or not, it is a container of containers of blocks. So it is in the
    containers that f returns; a result that is an array has its own shape first. `hessian(f)(x, out=h)` writes it into
    the array h, or into arrays in containers like it.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return Hessian(function)


class Hessian(Around):
    """All second derivatives of a function; see `hessian`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._product, self._function = hvp(function), function
        slope: Any = grad(function)
        self._slope, self._several = slope, Pushing(Pulling(function, "hessian"), "hessian")

        def along(k: int) -> Callable[..., Any]:
            return lambda row, x, *rest: grad(lambda x: inner(leaf(slope(x, *rest), k), row))(x)

        self._rows = Rows(along, function)
        super().__init__(function)

    def __call__(self, x: Any, *rest: Any, out: Any = None) -> Any:
        if (made := with_tensors("hessian", self._function, (x, *rest), x, out)) is not MISS:
            return made
        try:
            if isinstance(x, float) or (isinstance(x, Array) and not x.shape):
                return self._product(x, *rest, 1.0, **named(out))
            given = floats("hessian", self._slope, x)
            return by_rows("hessian", self._rows, given, given, (x, *rest), out)
        except NotScalar:
            return self._several(x, *rest, **named(out))


@functools.lru_cache(maxsize=64)
def _pair(function: Callable[..., Any], argnums: tuple[int, ...]) -> tuple[Any, Any]:
    primal = jit(function)

    def along(*args: Any) -> Any:
        return inner(primal(*args[:-1]), args[-1])

    pullback: Any = grad(along, argnums=argnums)
    pullback.plain = lambda *args: function(*args[:-1])
    _name(pullback, function, "vjp")
    return primal, pullback


def vjp(function: Callable[..., Any], *args: Any, out: Any = None) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """The value of a function and its pullback: `out, pullback = vjp(f, *args)`.

    `pullback(ct)` takes a cotangent like `out` and returns a tuple with one for each argument, None for those without
    floats. `out=` of vjp takes the value, `pullback(ct, out=(a, None))` the cotangents.

    >>> out, pullback = vjp(np.sin, np.zeros(2))
    >>> pullback(np.array([1.0, 3.0]))
    (array([1., 3.]),)
    """
    if (made := with_tensors("vjp", function, args, args, out)) is not MISS:
        return made
    floats = tuple(k for k, each in enumerate(args) if has_floats(each))
    if not floats:
        raise TypeError(f"vjp needs an argument with floats, got {', '.join(type(a).__name__ for a in args) or 'none'}")
    return _pair(function, floats)[0](*args, **named(out)), Pullback(function, floats, args)


class Pullback(ByName):
    """A pullback at the arguments of `vjp`; pickles hold these and the function."""

    def __init__(self, function: Callable[..., Any], floats: tuple[int, ...], args: tuple[Any, ...]) -> None:
        self._back, self._floats, self._args = _pair(function, floats)[1], floats, args
        made_of(self, function, floats, args)

    def __call__(self, cotangent: Any, out: Any = None) -> tuple[Any, ...]:
        args, floats = self._args, self._floats
        if out is not None and not (type(out) is tuple and len(out) == len(args)):
            raise TypeError(f"out of a pullback is {out!r:.60}, expected a tuple of {len(args)}, or None")
        made = iter(self._back(*args, cotangent, **named(out and tuple([out[k] for k in floats]))))
        return tuple([next(made) if k in floats else None for k in range(len(args))])


@functools.lru_cache(maxsize=64)
def _forward(function: Callable[..., Any]) -> Any:
    primal = jit(function)

    def both(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        value = primal(*primals)

        def along(cotangent: Any) -> Any:
            pulled = grad(lambda p: inner(primal(*p), cotangent))(primals)
            return inner(pulled, tangents)

        return value, grad(along)(value)

    made: Any = jit(both)
    made.plain = lambda primals, _: function(*primals)
    _name(made, function, "jvp")
    return made


def jvp(function: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """The value of a function and its derivative along a direction: `out, tangent = jvp(f, (x,), (v,))`.

    primals    the arguments, all of floats
    tangents   the direction: as many, each like its argument

    `tangent` is like `out`, whose leaves must be floats. TypeError where a tangent is not like its argument.

    >>> jvp(np.sin, (0.0,), (2.0,))
    (0.0, 2.0)
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp takes a tuple of {name}, got {type(given).__name__}")
    if len(primals) != len(tangents) or not primals:
        raise TypeError(f"jvp takes a tangent for each primal, got {len(primals)} primals and {len(tangents)} tangents")
    if (made := with_tensors("jvp", function, (tuple(primals), tuple(tangents)), primals)) is not MISS:
        return made
    return _forward(function)(tuple(primals), tuple(tangents))


def jacrev(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian for the first argument by pullbacks, a row for each element of the result.

    `jacrev(f)(x)` has the shape of f(x) and then that of x, arrays or floats. Where f returns a dict, list or tuple,
    nested or not, it is the same container of such blocks; where x is one, each block is a container like x. Better
    than `jacfwd` where the result is smaller than the argument. TypeError for leaves that are no floats.

    >>> jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return Pulling(function)


class Pulling(Around):
    """A Jacobian by pullbacks; see `jacrev`."""

    def __init__(self, function: Callable[..., Any], title: str = "jacrev") -> None:
        value: Any = jit(function)
        self._title, self._value, self._function = title, value, function

        def along(k: int) -> Callable[..., Any]:
            return lambda row, x, *rest: grad(lambda x: inner(leaf(value(x, *rest), k), row))(x)

        self._rows = Rows(along, function)
        super().__init__(function, title)

    def __call__(self, x: Any, *rest: Any, out: Any = None) -> Any:
        title, value = self._title, self._value
        if (made := with_tensors(title, self._function, (x, *rest), x, out)) is not MISS:
            return made
        given = floats(title, value, x)
        results = floats(title, value, value(x, *rest), result=True)
        return by_rows(title, self._rows, results, given, (x, *rest), out)


def jacfwd(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian for the first argument by pushforwards, a column for each element of the argument.

    `jacfwd(f)(x)` has the shape of f(x) and then that of x, arrays or floats. Where f returns a dict, list or tuple,
    nested or not, it is the same container of such blocks; where x is one, each block is a container like x. Better
    than `jacrev` where the result is larger than the argument. TypeError for leaves that are no floats.

    >>> jacfwd(lambda x: (x * x, np.sum(x)))(np.array([1.0, 2.0]))
    (array([[2., 0.],
           [0., 4.]]), array([1., 1.]))
    """
    return Pushing(function)


class Pushing(Around):
    """A Jacobian by pushforwards; see `jacfwd`."""

    def __init__(self, function: Callable[..., Any], title: str = "jacfwd") -> None:
        value: Any = jit(function)

        def along(k: int) -> Callable[..., Any]:
            def column(row: Any, x: Any, *rest: Any) -> Any:
                y = value(x, *rest)
                floats(title, value, y, result=True)
                return grad(lambda ct: inner(leaf(grad(lambda x: inner(value(x, *rest), ct))(x), k), row))(y)

            return column

        self._title, self._value, self._rows, self._function = title, value, Rows(along, function), function
        super().__init__(function, title)

    def __call__(self, x: Any, *rest: Any, out: Any = None) -> Any:
        title, value = self._title, self._value
        if (made := with_tensors(title, self._function, (x, *rest), x, out)) is not MISS:
            return made
        return by_columns(title, self._rows, value, floats(title, value, x), (x, *rest), out)


__all__ = ["hessian", "hvp", "jacfwd", "jacrev", "jvp", "vjp"]
