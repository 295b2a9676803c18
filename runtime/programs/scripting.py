"""`torch.jit`: what it would compile runs as plain Python, and is recorded, compiled and replayed like everything else.

`pullback.jit` is the compiler's own `jit`, a function; the names of PyTorch's namespace are attributes of it, so that
programs which write `@torch.jit.script` go on, and `jit(f)` is what it was. Who compiles functions of NumPy asks for
it, too: modules, with all of Tensors below them, are loaded once somebody derives one.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from ...compiler.later import later
from ..transforms import jit
from .inside.futures import Future
from .inside.settled import TracerWarning
from .refused import refused

if TYPE_CHECKING:
    from ..nn import module
else:
    module = later(__package__, "..nn.module")

T = TypeVar("T")

_derived: WeakSet[type] = WeakSet()


class _StandsForModule(type):
    """A class whose place Module takes where somebody derives from it."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, namespace)
        real = tuple([module.Module if isinstance(each, cls) else each for each in bases])
        made = types.new_class(name, real, options, lambda empty: empty.update(namespace))
        _derived.add(made)
        return made

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return module.Module(*args, **kwargs)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return subclass is cls or any(each in _derived for each in subclass.__mro__)

    def __instancecheck__(cls, instance: Any) -> bool:
        return issubclass(type(instance), cls)


class ScriptModule(metaclass=_StandsForModule):
    """The base class of modules that were written for TorchScript: a Module. `script` makes none."""


class ScriptFunction:
    """What `torch.jit.script` makes of a function in PyTorch; here it gives the function back, so there are none."""


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """The function, module or class itself, which runs as plain Python: TorchScript has no effect here."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself, of which nothing is fixed by the examples; it has no effect here."""
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself, as `trace` gives it; it has no effect here."""
    return mod


def unused(fn: T) -> T:
    """The function itself: this mark for TorchScript's compiler has no effect here."""
    return fn


def export(fn: T) -> T:
    """The method itself: this mark for TorchScript's compiler has no effect here."""
    return fn


def script_method(fn: T) -> T:
    """The method of a ScriptModule itself, which runs as plain Python: TorchScript has no effect here."""
    return fn


def interface(obj: T) -> T:
    """The class itself: this mark for TorchScript's compiler has no effect here."""
    return obj


def script_if_tracing(fn: T) -> T:
    """The function itself, as nothing is traced; it has no effect here."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, or a decorator that gives it: this mark for TorchScript's compiler has no effect here."""
    return drop if callable(drop) else unused


def annotate(the_type: Any, the_value: T) -> T:
    """The value. Its type is for TorchScript's compiler alone and has no effect here."""
    return the_value


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself, which must be in evaluation mode; freezing has no effect here."""
    if isinstance(mod, module.Module) and mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on"
                           " your module before freezing.")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself; it has no effect here."""
    return mod


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """What PyTorch's fuser should do; it has no effect here. Returns what was set before: nothing."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Kernels are fused by this package's own compiler, so this has no effect here."""


def onednn_fusion_enabled() -> bool:
    """No: kernels are fused by this package's own compiler."""
    return False


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block, which has no effect here."""
    yield


@contextmanager
def strict_fusion() -> Iterator[None]:
    """A block in which PyTorch's fuser would have to fuse everything; it has no effect here."""
    yield


def is_scripting() -> bool:
    """Whether TorchScript's compiler reads this code: never."""
    return False


def is_tracing() -> bool:
    """Whether TorchScript's tracer follows this code: never."""
    return False


def isinstance_of(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, of a union, or of a container such as `List[int]`, elements included."""
    if isinstance(target_type, tuple):
        return any(isinstance_of(obj, each) for each in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return isinstance(obj, target_type if isinstance(target_type, type) else type(target_type))
    if not isinstance(origin, type) or origin.__name__ == "UnionType":  # Union[int, str], int | str
        return any(isinstance_of(obj, each) for each in inner)
    if not isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance_of(k, inner[0]) and isinstance_of(v, inner[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(inner) and all(map(isinstance_of, obj, inner))
    return all(isinstance_of(each, inner[0]) for each in obj)


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call the function now, as PyTorch does outside of TorchScript; `wait` gives what it returned."""
    made = Future[T]()
    made.set_result(functools.partial(func, *args, **kwargs)())
    return made


def wait(future: Future[T]) -> T:
    """What the function that was forked returned."""
    return future.wait()


class Error(RuntimeError):
    """What TorchScript raises in PyTorch."""


class Attribute(typing.NamedTuple):
    value: Any
    type: Any
Attribute.__doc__ = "A value with its type, which is for TorchScript's compiler alone and has no effect here."

FILES = "a file of TorchScript is a program, which is not read here; use pullback.save(model.state_dict(), ...)"
save, load = refused("torch.jit.save", FILES), refused("torch.jit.load", FILES)
CompilationUnit = refused("torch.jit.CompilationUnit", "text is not compiled as TorchScript; write Python functions")
export_opnames = refused("torch.jit.export_opnames", "there is no TorchScript; pullback.jit(f).ir() prints a graph")

NAMES = {
    "Attribute": Attribute, "CompilationUnit": CompilationUnit, "Error": Error, "Final": Final, "Future": Future,
    "ScriptFunction": ScriptFunction, "ScriptModule": ScriptModule, "TracerWarning": TracerWarning,
    "annotate": annotate, "_overload": unused, "_overload_method": unused,
    "enable_onednn_fusion": enable_onednn_fusion, "export": export, "export_opnames": export_opnames, "fork": fork,
    "freeze": freeze, "ignore": ignore, "interface": interface, "is_scripting": is_scripting,
    "is_tracing": is_tracing, "isinstance": isinstance_of, "load": load,
    "onednn_fusion_enabled": onednn_fusion_enabled, "optimize_for_inference": optimize_for_inference,
    "optimized_execution": optimized_execution, "save": save, "script": script, "script_if_tracing": script_if_tracing,
    "script_method": script_method, "set_fusion_strategy": set_fusion_strategy, "strict_fusion": strict_fusion,
    "trace": trace, "trace_module": trace_module, "unused": unused, "wait": wait,
}  # fmt: skip
"""What `jit` has as attributes."""

vars(jit).update(NAMES)

__all__ = ["jit"]
