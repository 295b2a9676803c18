"""Functions of Tensors under the transforms of functions: they run as they are written, with Tensors, as under `func`.

    grad(lambda t: (t.sin() * linalg.norm(t)).sum())(randn(3))

A function that names NumPy, SciPy or math, and none that only takes Tensors, is one of arrays, and the call gives
MISS: it is compiled then. So is one for which NumPy asks a Tensor for its array all the same.
"""

from __future__ import annotations

import contextlib
import dis
import types
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ....compiler.frontend.errors import TraceError
from ....compiler.frontend.state.hidden import scan
from ....compiler.frontend.tree import CALLS
from ....compiler.frontend.tree import DIRECTIONS as BY_TYPE
from ...compiled.compiled import MISS
from ...compiled.function import Function
from ..face.tensor import Tensor, is_followed
from ..transforms import func, jacobians
from ..value.core import Core
from ..value.exchange import AsArray, as_tensors
from ..value.trees import leaves
from .compiled_calls import call_followed


def call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], into: Any) -> Any:
    """A transform's call with Tensors among its arguments."""
    run, own = None, type(function) is Function  # products and maps are functions of compiled ones
    own = own and not is_of_arrays(function.__wrapped__)
    if own and function.plan.name in ("grad", "value_and_grad"):
        run = _gradient(function, args, kwargs)
    elif own and function.plan.name == "jit":
        run = function.__wrapped__
    if run is not None:
        made = attempt(run, args, kwargs, lambda: _check(function, into))
        if made is not MISS:
            return made
    if not any(isinstance(x, Tensor) and is_followed(x) for x in leaves((args, kwargs))):
        return MISS
    if into is not None:
        raise TypeError(f"{function.__name__}: out must be None: what is computed of Tensors with a history is new")
    return call_followed(function, args, kwargs)


def attempt(run: Callable[..., Any], args: Any, kwargs: Any, accepted: Callable[[], None] = lambda: None) -> Any:
    """What a function makes of Tensors; MISS if NumPy asks for their arrays."""
    try:
        with as_tensors():
            made = run(*args, **kwargs)
    except AsArray:
        return MISS
    accepted()
    return made


def _check(function: Function, into: Any) -> None:
    """Refuse options that mean nothing for Tensors."""
    title = f"{function.plan.name} of {function.__name__}"
    if into is not None:
        raise TypeError(f"{title}: out must be None, because this part of the result is a Tensor")
    if function.plan.max_memory is not None:
        raise TypeError(f"{title}: max_memory is for functions of arrays; for Tensors use utils.checkpoint")


def _gradient(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """The gradient of a function for arguments that are Tensors throughout; None for others."""
    plan: Any = function.plan
    try:
        found = function.places_of(plan.argnums, args[0] if args else None, len(args), tuple(kwargs))
    except TypeError:  # the call with arrays tells what is wrong
        return None
    numbers = tuple([k for k in found if isinstance(k, int) and is_of_tensors(args[k])])
    if len(numbers) != len(found):
        return None
    chosen = numbers if isinstance(plan.argnums, tuple) else numbers[0]
    if not plan.with_value:
        return func.grad(function.__wrapped__, chosen, plan.has_aux)
    both = func.grad_and_value(function.__wrapped__, chosen, plan.has_aux)
    return lambda *args, **kwargs: both(*args, **kwargs)[::-1]


def is_of_tensors(given: Any) -> bool:
    """Whether all leaves of a tree are Tensors, and there is one."""
    found = leaves(given)
    return bool(found) and all(isinstance(x, Core) for x in found)


ARRAYS = ("numpy", "scipy", "math")
"""Packages whose functions mean that a function is one of arrays."""


OF_TENSORS = tuple([f"{__name__.rpartition('.tensor.')[0]}.{part}." for part in ("tensor.ops", "tensor.face", "nn")])
"""Where functions are that only take Tensors, and the layers that are made of them."""


def is_of_arrays(function: Any) -> bool:
    """Whether a function, with those that it names, names functions of NumPy's, SciPy's or math's and none of Tensors.

    `linalg.solve(a, tensor(np.eye(3)))` is of Tensors: arrays would not get as far as what NumPy has made.
    """
    known = _of_arrays.get(function) if isinstance(function, types.FunctionType) else None
    if known is None:
        try:
            named = [each for read in scan(function).reads for each in _all_named(read)]
            known = any(map(_is_of_packages, named)) and not any(map(_is_of_tensors, named))
        except TraceError:  # what it reads cannot be told: whoever compiles it says so
            known = True
        if isinstance(function, types.FunctionType):
            _of_arrays[function] = known
    return known


_of_arrays: WeakKeyDictionary[types.FunctionType, bool] = WeakKeyDictionary()


def _all_named(function: types.FunctionType) -> Iterator[Any]:
    """What stands in the code of a function, and in those within it."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return _named(function.__code__, function.__globals__, cells)


def _named(code: types.CodeType, names: dict[str, Any], cells: dict[str, types.CellType]) -> Iterator[Any]:
    """What a code names: `a.b.c` of modules as what stands at its end, and modules that it imports."""
    found: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(found, types.ModuleType):
            found = getattr(found, step.argval, None)
            continue
        yield found
        found = None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found = names.get(step.argval)
        elif step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and step.argval in cells:
            with contextlib.suppress(ValueError):  # not bound yet
                found = cells[step.argval].cell_contents
        elif step.opname == "IMPORT_NAME" and step.argval.partition(".")[0] in ARRAYS:
            found = np  # stands for all three: what is taken from it is a local, whose use is not looked at
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _named(each, names, cells)


def _is_of_tensors(found: Any) -> bool:
    home = getattr(found, "__module__", None)
    return isinstance(home, str) and home.startswith(OF_TENSORS)


def _is_of_packages(found: Any) -> bool:
    """Whether something is a function of these packages, a module of theirs, or stands for an import of one.

    A constant, such as `np.pi`, `math.e` or `np.newaxis`, says nothing of what the function's arguments are.
    """
    if isinstance(found, types.ModuleType):
        home = found.__name__
    else:
        home = getattr(found, "__module__", None) if callable(found) else None
    return isinstance(found, np.ufunc) or (isinstance(home, str) and home.partition(".")[0] in ARRAYS)


Options = tuple[Any, bool]
"""Which arguments a transform is about, and whether the function returns something beside its value."""


def _hvp(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    argnums, has_aux = options

    def product(*args: Any, **kwargs: Any) -> Any:
        *own, vector = args
        single = not isinstance(argnums, tuple)
        places = (argnums,) if single else argnums

        def slope(*moved: Any) -> Any:
            whole = list(own)
            for k, x in zip(places, moved, strict=True):
                whole[k] = x
            return func.grad(function, argnums, has_aux)(*whole, **kwargs)

        tangents = (vector,) if single else tuple(vector)
        return func.jvp(slope, tuple([own[k] for k in places]), tangents, has_aux=has_aux)[1:][: 1 + has_aux]

    return lambda *args, **kwargs: _alone(product(*args, **kwargs))


def _alone(made: tuple[Any, ...]) -> Any:
    return made[0] if len(made) == 1 else made


def _hessian(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    argnums, has_aux = options
    return jacobians.jacfwd(jacobians.jacrev(function, argnums, has_aux=has_aux), argnums, has_aux)


def _jacobian(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    return jacobians.jacrev(function, options[0], has_aux=options[1])


def _chosen(function: Callable[..., Any], args: Any, argnums: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function of the chosen arguments alone, and these."""
    places = argnums if isinstance(argnums, tuple) else (argnums,)

    def of(*moved: Any) -> Any:
        whole = list(args)
        for k, x in zip(places, moved, strict=True):
            whole[k] = x
        return function(*whole)

    return of, tuple([args[k] for k in places])


def _vjp(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        of, given = _chosen(function, args, options[0])
        made = func.vjp(of, *given, has_aux=options[1])
        if isinstance(options[0], tuple):
            return made
        pullback = made[1]
        return (made[0], lambda ct: pullback(ct)[0], *made[2:])

    return run


def _jvp(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    def run(primals: Any, tangents: Any) -> Any:
        of, given = _chosen(function, primals, options[0])
        return func.jvp(of, given, tangents if isinstance(options[0], tuple) else (tangents,), has_aux=options[1])

    return run


def _linearize(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    if options[1]:
        raise TypeError("linearize: has_aux is for functions of arrays; of Tensors use vjp or jvp")

    def run(*args: Any) -> Any:
        of, given = _chosen(function, args, options[0])
        return func.linearize(of, *given)

    return run


def _check_tensors(*_: Any) -> Any:
    raise TypeError("check is for functions of arrays; for Tensors use autograd.gradcheck or autograd.gradgradcheck")


DIRECTIONS: dict[str, Callable[[Any, Options], Callable[..., Any]]] = {
    "hessian": _hessian, "jacfwd": lambda function, options: jacobians.jacfwd(function, *options),
    "jacrev": _jacobian, "jacobian": _jacobian, "hvp": _hvp, "vjp": _vjp, "jvp": _jvp,
    "linearize": _linearize, "check": _check_tensors,
}  # fmt: skip


def direction(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], first: Any, out: Any, options: Options, kwargs: Any
) -> Any:
    """A transform of `DIRECTIONS` at `args`, if what it differentiates, `first`, is of Tensors; else MISS."""
    if not is_of_tensors(first) or is_of_arrays(function):
        return MISS
    if name not in DIRECTIONS:
        raise TypeError(f"{name} is for functions of arrays: write it with NumPy, or see pullback.func")
    made = attempt(DIRECTIONS[name](function, options), args, kwargs)
    if made is not MISS and out is not None:
        raise TypeError(f"{name}: out must be None, because this part of the result is a Tensor")
    return made


CALLS[Tensor], BY_TYPE[Tensor] = call, direction

__all__ = ["call", "direction", "is_of_arrays", "is_of_tensors"]
