"""Parameters that are computed from others: `layer.weight` becomes a function of what is learned.

    register_parametrization(layer, "weight", Symmetric())

What was learned as `weight` is learned as `parametrizations.weight.original` from then on; reading `layer.weight` calls
the modules registered for it, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..tensor.reverse.modes import no_grad
from ..tensor.value.core import Core
from .containers import ModuleDict, ModuleList
from .hooks import attributes_of
from .module import Module
from .parameter import Parameter


class _Cache:
    """Values that were read, while there is a block of `cached()`."""

    depth = 0
    values: dict[tuple[int, str], Any]


CACHE = _Cache()
CACHE.values = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within the block each parametrized tensor is computed once."""
    CACHE.depth += 1
    try:
        yield
    finally:
        CACHE.depth -= 1
        if not CACHE.depth:
            CACHE.values.clear()


def _held(value: Any, like: Any) -> Any:
    return Parameter(value, like.requires_grad) if isinstance(like, Parameter) else value


class ParametrizationList(ModuleList):
    """The functions of one tensor, with what they are functions of: `original`, or original0, original1 ..."""

    is_tensor: bool
    ntensors: int

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        new = original
        with no_grad():
            for module in reversed(list(modules)):
                with suppress(NotImplementedError):  # where there is no inverse, the tensor is what it was
                    new = module.right_inverse(new) if hasattr(module, "right_inverse") else new
        if not isinstance(new, Core | Sequence):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got"
                             f" {type(new).__name__}")
        self.is_tensor = isinstance(new, Core)
        self.ntensors = 1 if isinstance(new, Core) else len(new)
        if isinstance(new, Core):
            self._keep("original", original if new is original else _held(new, original), original)
        else:
            for k, each in enumerate(new):
                if not isinstance(each, Core):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
                                     f" Got element {k} of the sequence with type {type(each).__name__}.")
                self._keep(f"original{k}", _held(each, original), original)
        made = self()
        if not unsafe and (not isinstance(made, Core) or made.dtype != original.dtype or made.shape != original.shape):
            raise ValueError("Registering a parametrization may not change the shape or dtype of the tensor: got"
                             f" {getattr(made, 'dtype', type(made))} {list(getattr(made, 'shape', ()))} of"
                             f" {original.dtype} {list(original.shape)}")

    def _keep(self, name: str, value: Any, like: Any) -> None:
        if isinstance(like, Parameter):
            self.register_parameter(name, value)
        else:
            self.register_buffer(name, value)

    def originals(self) -> list[Any]:
        """What is learned."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{k}") for k in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Make `value` what the tensor is from now on."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            values = [value] if isinstance(value, Core) else list(value)
            if len(values) != self.ntensors:
                raise ValueError(f"'right_inverse' must return {self.ntensors} tensors, got {len(values)}")
            for held, new in zip(self.originals(), values, strict=True):
                held.data = new.detach()

    def forward(self) -> Any:
        first, *rest = self
        made = first(*self.originals())
        for module in rest:
            made = module(made)
        return made


def _reading(name: str) -> property:
    def read(self: Any) -> Any:
        if not CACHE.depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in CACHE.values:
            CACHE.values[key] = self.parametrizations[name]()
        return CACHE.values[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, write)


def _class_of(base: type) -> Any:
    """A class of its own for a module that gets properties."""
    return type(f"Parametrized{base.__name__}", (base,), {"_base": base, "__reduce_ex__": _reduced})


def _reduced(module: Any, protocol: Any) -> Any:
    """How a module of such a class is copied and pickled: its copy has another class, with the same properties."""
    _, _, *rest = object.__reduce_ex__(module, 2)
    return _blank, (type(module)._base, tuple(module.parametrizations)), *rest


def _blank(base: type, names: Sequence[str]) -> Any:
    made = _class_of(base)
    for name in names:
        setattr(made, name, _reading(name))
    return made.__new__(made)


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Make `tensor_name` of the module what `parametrization` gives for what was learned."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        held: Any = module.parametrizations[tensor_name]
        made = parametrization(getattr(module, tensor_name))
        if not unsafe and made.shape != getattr(module, tensor_name).shape:
            raise ValueError("Registering a parametrization may not change the shape of the tensor")
        held.append(parametrization)
        held.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized"
                         f" element with name '{tensor_name}'")
    original = getattr(module, tensor_name)
    held = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _class_of(type(module))
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _reading(tensor_name))
    held.train(module.training)
    module.parametrizations[tensor_name] = held
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module, or this tensor of it, is computed from others."""
    held = attributes_of(module).get("_modules", {}).get("parametrizations")
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Learn the tensor itself again: what it was last, or what it was computed from."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if not leave_parametrized and not held.is_tensor:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in"
                         " terms of a sequence of tensors.")
    original = held.originals()[0]
    with no_grad():
        value = getattr(module, tensor_name).detach().clone() if leave_parametrized else original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module)._base  # type: ignore[attr-defined]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, value if value is original else Parameter(value, original.requires_grad))
    else:
        module.register_buffer(tensor_name, value)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of the module as it was."""
    return type(module)._base if is_parametrized(module) else type(module)  # type: ignore[attr-defined]


__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "type_before_parametrizations",
]  # fmt: skip
