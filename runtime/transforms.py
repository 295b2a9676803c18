"""The transforms: grad, value_and_grad and jit.

    @grad
    def slope(x): return x * np.sin(x)

    slope(2.0)                       a float for a float, an array for an array
    @grad(argnums=(0, 1))            decorators take options, or none

What is traced and what is static: Python floats and ints, NumPy scalars and arrays are traced. Strings,
None, bools, functions, types and other objects are static: another one means another compilation. An int that is a
size or an exponent is made static with static_argnums or static_argnames.

Functions of Tensors run as they are, and their transforms are those of `func`, where all that is differentiated is a
Tensor; out= and max_memory= mean nothing for them. Functions of NumPy's take Tensors as the arrays that they hold.

Where results go: every function made here takes out=, an array for its result, or arrays in dicts, lists and tuples
like it, with None where a fresh one is wanted: value, slope = step(w, x, out=(None, buffer)). They are written and
returned; dtype and shape are the result's, and arrays C-contiguous. The memory of an argument is fine: w = step(w, x,
out=w). If a call raises, what is in them is undefined. A function with a parameter `out` of its own, or with **names,
keeps it.

What is compiled for which sizes: with sizes="auto" a dimension above 16 that comes with a second size becomes a name,
and what is traced then serves all sizes. sizes="static" compiles every size for itself; sizes={"x": ("n", 3)} names
from the first call on, and checks the numbers.

How much memory the gradient of a long loop takes: what its forward sweep saves for its backward sweep, unless
max_memory="50 MB" (or a number of bytes) says that it may keep less; then parts of the loop run twice.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from . import solvers  # noqa: F401  # registers what SciPy's solvers mean
from .compiled.chosen import Argnums, checked
from .compiled.derive import Gradient, Jit
from .compiled.foreign import CFunction
from .compiled.function import Function
from .compiled.sizes import Rule
from .compiled.tracebacks import boundary
from .limits import bytes_of

if TYPE_CHECKING:
    from .compiled.report import Memory, Report
    from .compiled.sparsity import Pattern
    from .inspect.diagnosis import Diagnosis
    from .inspect.profile import Profile
    from .inspect.text import Text
    from .symbolic.readout.latex import Latex

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Numbers = int | tuple[int, ...]
Names = str | tuple[str, ...]
Limit = int | str | None


class Transformed(Protocol[P, R_co]):
    """What a transform returns, to type checkers: a function with the arguments of the one it was made of."""

    __name__: str
    __wrapped__: Callable[..., Any]
    plain: Callable[..., Any] | None

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: type) -> Transformed[P, R_co]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[..., R_co]: ...
    def ir(self, stage: str = "graph", *args: Any, **kwargs: Any) -> Text: ...
    def sympy(self, *args: Any, matrices: bool = False, intermediates: bool | None = None, **kwargs: Any) -> Any: ...
    def latex(self, *args: Any, intermediates: bool = True, **kwargs: Any) -> Latex: ...
    def report(self, *args: Any, **kwargs: Any) -> Report: ...
    def memory(self, *args: Any, **kwargs: Any) -> Memory: ...
    def explore(self, path: Any = None, *args: Any, **kwargs: Any) -> Path: ...
    def diagnose(self, *args: Any, **kwargs: Any) -> Diagnosis: ...
    def profile(self, *args: Any, **kwargs: Any) -> Profile: ...
    def sparsity(self, *args: Any, **kwargs: Any) -> Pattern: ...
    def cfunc(self, *args: Any, form: str | None = None) -> CFunction: ...
    @property
    def address(self) -> int: ...
    @property
    def ctypes(self) -> Any: ...


@boundary
def _decorated(function: Callable[..., Any] | None, plan: Any, static: tuple[Any, Any, Any]) -> Any:
    """A Function, or the decorator that makes one; around one if the decorator stands above @classmethod."""
    if function is None:
        return functools.partial(_decorated, plan=plan, static=static)
    if isinstance(function, (staticmethod, classmethod)):
        made = Function(function.__func__, plan, *static)
        made.bound = int(isinstance(function, classmethod))
        return type(function)(made)
    return Function(function, plan, *static)


@overload
def jit(
    function: Callable[P, R],
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
    max_memory: Limit = None,
) -> Transformed[P, R]: ...
@overload
def jit(
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
    max_memory: Limit = None,
) -> Callable[[Callable[P, R]], Transformed[P, R]]: ...
@boundary
def jit(
    function: Any = None,
    *,
    static_argnums: Any = (),
    static_argnames: Any = (),
    sizes: Any = "auto",
    max_memory: Any = None,
) -> Any:
    """Compile a function; `max_memory` is for the gradients in it.

    >>> @jit
    ... def length(x): return np.sqrt(np.sum(x * x))
    """
    return _decorated(function, Jit(max_memory=bytes_of("jit", max_memory)), (static_argnums, static_argnames, sizes))


@overload
def grad(
    function: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
    max_memory: Limit = None,
    holomorphic: bool = False,
) -> Transformed[P, Any]: ...
@overload
def grad(
    *,
    argnums: Argnums = 0,
    has_aux: bool = False,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
    max_memory: Limit = None,
    holomorphic: bool = False,
) -> Callable[[Callable[P, Any]], Transformed[P, Any]]: ...
@boundary
def grad(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    static_argnums: Any = (),
    static_argnames: Any = (),
    sizes: Any = "auto",
    max_memory: Any = None,
    holomorphic: bool = False,
) -> Any:
    """The gradient of a function that returns a float scalar.

    argnums      which argument: its number or name, or a tuple of them (in a class, counted after self)
    has_aux      the function returns (value, aux), the gradient (gradient, aux)
    static_argnums, static_argnames
                 arguments whose values decide how the program looks, such as a count: another value is another
                 compilation. Texts, None, bools and functions are so by themselves
    sizes        "auto": one form serves all sizes of a dimension above 16 that has come with two; "static": each size
                 is compiled for itself; {"x": ("n", 3)}: named from the first call on, and the 3 is checked
    max_memory   bytes that loops may keep for it, or a text such as "50 MB"; ValueError where that cannot be
    holomorphic  the function takes and returns complex numbers and is holomorphic: its derivative

    A gradient has its argument's structure, dtype and kind: a float for a float, a dict for a dict. Arguments may be
    containers of all sorts, nested: see `register`. In them ints, texts and None are static, and ints have None for a
    gradient.

    The function is traced at the first call of each kind of arguments. What it reads outside (globals, closures,
    attributes) is a constant then, and looked at in each call: where it is another, the function is traced again.

    Of a real function of complex numbers it is the derivative along x plus i times that along y, as PyTorch has it.

    >>> grad(lambda x: x ** 3)(2.0)
    12.0
    >>> grad(lambda z: z ** 3, holomorphic=True)(1j)
    (-3+0j)
    """
    plan = Gradient("grad", checked("grad", argnums), has_aux, False, bytes_of("grad", max_memory), holomorphic)
    return _decorated(function, plan, (static_argnums, static_argnames, sizes))


@overload
def value_and_grad(
    function: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
    max_memory: Limit = None,
    holomorphic: bool = False,
) -> Transformed[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    *,
    argnums: Argnums = 0,
    has_aux: bool = False,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    sizes: Rule = "auto",
    max_memory: Limit = None,
    holomorphic: bool = False,
) -> Callable[[Callable[P, R]], Transformed[P, tuple[R, Any]]]: ...
@boundary
def value_and_grad(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    static_argnums: Any = (),
    static_argnames: Any = (),
    sizes: Any = "auto",
    max_memory: Any = None,
    holomorphic: bool = False,
) -> Any:
    """The value of a function and its gradient, in one call: (value, gradient).

    With has_aux it is ((value, aux), gradient). See `grad`.

    >>> value_and_grad(lambda x: x ** 3)(2.0)
    (8.0, 12.0)
    """
    name = "value_and_grad"
    plan = Gradient(name, checked(name, argnums), has_aux, True, bytes_of(name, max_memory), holomorphic)
    return _decorated(function, plan, (static_argnums, static_argnames, sizes))


__all__ = ["grad", "jit", "value_and_grad"]
