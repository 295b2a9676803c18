"""The transforms: grad, value_and_grad, jit, vjp, hvp, hessian and check.

    @grad
    def slope(x): return x * np.sin(x)

    slope(2.0)                       a float for a float, an array for an array
    @grad(argnums=(0, 1))            decorators take options, or none

What is traced and what is static: Python floats and ints, NumPy scalars and arrays, and Tensors are traced. Strings,
None, bools, functions, types and other objects are static: another one means another compilation. An int that is a
size or an exponent is made static with static_argnums or static_argnames.

Where results go: every function made here takes out=, an array for its result, or arrays in dicts, lists and tuples
like it, with None where a fresh one is wanted: value, slope = step(w, x, out=(None, buffer)). They are written and
returned; dtype and shape are the result's, and arrays C-contiguous. The memory of an argument is fine: w = step(w, x,
out=w). If a call raises, what is in them is undefined. A function with a parameter `out` of its own, or with **names,
keeps it.

What is compiled for which sizes: with sizes="auto" a dimension above 16 that comes with a second size becomes a name,
and what is traced then serves all sizes. sizes="static" compiles every size for itself; sizes={"x": ("n", 3)} names
from the first call on, and checks the numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from ..compiler.frontend.array import Array
from .check import check
from .derive import Gradient, Jit, has_floats, inner
from .foreign import CFunction
from .function import Function
from .out import filled, named
from .report import Memory, Report
from .sizes import Rule

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Argnums = int | tuple[int, ...]
Names = str | tuple[str, ...]


class Transformed(Protocol[P, R_co]):
    """What a transform returns, to type checkers: a function with the arguments of the one it was made of."""

    __name__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: type) -> Transformed[P, R_co]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[..., R_co]: ...
    def ir(self, stage: str = "graph", *args: Any, **kwargs: Any) -> str: ...
    def sympy(self, *args: Any, **kwargs: Any) -> Any: ...
    def report(self, *args: Any, **kwargs: Any) -> Report: ...
    def memory(self, *args: Any, **kwargs: Any) -> Memory: ...
    def cfunc(self, *args: Any, form: str | None = None) -> CFunction: ...
    @property
    def address(self) -> int: ...
    @property
    def ctypes(self) -> Any: ...


def _decorated(function: Callable[..., Any] | None, plan: Any, static: tuple[Any, Any, Any]) -> Any:
    """A Function, or the decorator that makes one."""
    if function is None:
        return lambda f: Function(f, plan, *static)
    return Function(function, plan, *static)


def _numbers(name: str, argnums: Any) -> Argnums:
    if isinstance(argnums, (int, np.integer)) and not isinstance(argnums, bool):
        return int(argnums)
    if isinstance(argnums, (tuple, list)) and argnums and all(isinstance(k, (int, np.integer)) for k in argnums):
        return tuple(int(k) for k in argnums)
    raise TypeError(f"{name}: argnums is {argnums!r}, expected an int or a tuple of ints")


@overload
def jit(
    function: Callable[P, R], *, static_argnums: Argnums = (), static_argnames: Names = (), sizes: Rule = "auto"
) -> Transformed[P, R]: ...
@overload
def jit(
    *, static_argnums: Argnums = (), static_argnames: Names = (), sizes: Rule = "auto"
) -> Callable[[Callable[P, R]], Transformed[P, R]]: ...
def jit(function: Any = None, *, static_argnums: Any = (), static_argnames: Any = (), sizes: Any = "auto") -> Any:
    """Compile a function.

    >>> @jit
    ... def length(x): return np.sqrt(np.sum(x * x))
    """
    return _decorated(function, Jit(), (static_argnums, static_argnames, sizes))


@overload
def grad(
    function: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
) -> Transformed[P, Any]: ...
@overload
def grad(
    *,
    argnums: Argnums = 0,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
) -> Callable[[Callable[P, Any]], Transformed[P, Any]]: ...
def grad(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    static_argnums: Any = (),
    static_argnames: Any = (),
    sizes: Any = "auto",
) -> Any:
    """The gradient of a function that returns a float scalar.

    argnums   which argument, or a tuple of them (in a class, counted after self)
    has_aux   the function returns (value, aux), the gradient (gradient, aux)

    A gradient has its argument's structure, dtype and kind: a float for a float, a dict for a dict.

    >>> grad(lambda x: x ** 3)(2.0)
    12.0
    """
    plan = Gradient("grad", _numbers("grad", argnums), has_aux, False)
    return _decorated(function, plan, (static_argnums, static_argnames, sizes))


@overload
def value_and_grad(
    function: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
) -> Transformed[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    *,
    argnums: Argnums = 0,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
) -> Callable[[Callable[P, R]], Transformed[P, tuple[R, Any]]]: ...
def value_and_grad(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    static_argnums: Any = (),
    static_argnames: Any = (),
    sizes: Any = "auto",
) -> Any:
    """The value of a function and its gradient, in one call: (value, gradient).

    With has_aux it is ((value, aux), gradient). See `grad`.

    >>> value_and_grad(lambda x: x ** 3)(2.0)
    (8.0, 12.0)
    """
    plan = Gradient("value_and_grad", _numbers("value_and_grad", argnums), has_aux, True)
    return _decorated(function, plan, (static_argnums, static_argnames, sizes))


# ---- products with derivatives


def hvp(function: Callable[..., Any]) -> Callable[..., Any]:
    """The product of the Hessian with a vector: `hvp(f)(x, v)`, or `hvp(f)(x, *more, v)`.

    The Hessian is that for the first argument; v is like it, and comes last.

    >>> hvp(lambda x: x ** 3)(2.0, 1.0)
    12.0
    """
    slope = grad(function)

    def along(x: Any, *rest: Any) -> Any:
        if not rest:
            raise TypeError(f"hvp({function.__name__}) takes the arguments and then a vector: hvp(f)(x, v)")
        return inner(slope(x, *rest[:-1]), rest[-1])

    made = grad(along)
    _name(made, function, "hvp")
    return made


def _name(made: Any, function: Any, transform: str) -> None:
    made.__name__ = getattr(function, "__name__", transform)
    made.__doc__ = getattr(function, "__doc__", None)


def hessian(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Hessian for the first argument, an array or a float: `hessian(f)(x)` of shape x.shape + x.shape.

    `hessian(f)(x, out=h)` writes it into the array h.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    product = hvp(function)

    def full(x: Any, *rest: Any, out: Any = None) -> Any:
        if isinstance(x, float) or (isinstance(x, Array) and not x.shape):
            return product(x, *rest, 1.0, **named(out))
        shape, dtype = np.shape(x) if not isinstance(x, Array) else x.shape, getattr(x, "dtype", None)
        if dtype is None:
            raise TypeError(f"hessian takes an array or a float as its first argument, got {type(x).__name__}")
        size = int(np.prod(shape, dtype=int))
        if not size:
            return filled("hessian", np.zeros((*shape, *shape), dtype), out)
        basis = np.eye(size, dtype=dtype).reshape(size, *shape)
        rows = np.stack([product(x, *rest, np.ascontiguousarray(each)) for each in basis])
        return filled("hessian", np.reshape(rows, (*shape, *shape)), out)

    functools.update_wrapper(full, function, updated=())
    return full


@functools.lru_cache(maxsize=64)
def _pair(function: Callable[..., Any], argnums: tuple[int, ...]) -> tuple[Any, Any]:
    def along(*args: Any) -> Any:
        return inner(function(*args[:-1]), args[-1])

    pullback = grad(along, argnums=argnums)
    _name(pullback, function, "vjp")
    return jit(function), pullback


def vjp(function: Callable[..., Any], *args: Any, out: Any = None) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """The value of a function and its pullback: `out, pullback = vjp(f, *args)`.

    `pullback(ct)` takes a cotangent like `out` and returns a tuple with one for each argument, None for those without
    floats. `out=` of vjp takes the value, `pullback(ct, out=(a, None))` the cotangents.

    >>> out, pullback = vjp(np.sin, np.zeros(2))
    >>> pullback(np.array([1.0, 3.0]))
    (array([1., 3.]),)
    """
    floats = tuple(k for k, each in enumerate(args) if has_floats(each))
    if not floats:
        raise TypeError(f"vjp needs an argument with floats, got {', '.join(type(a).__name__ for a in args) or 'none'}")
    primal, back = _pair(function, floats)

    def pullback(cotangent: Any, out: Any = None) -> tuple[Any, ...]:
        if out is not None and not (type(out) is tuple and len(out) == len(args)):
            raise TypeError(f"out of a pullback is {out!r:.60}, expected a tuple of {len(args)}, or None")
        made = iter(back(*args, cotangent, **named(out and tuple([out[k] for k in floats]))))
        return tuple([next(made) if k in floats else None for k in range(len(args))])

    return primal(*args, **named(out)), pullback


__all__ = ["check", "grad", "hessian", "hvp", "jit", "value_and_grad", "vjp"]
