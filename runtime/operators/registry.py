"""`torch.ops`: operators by namespace, name and overload, and what a call of one runs.

    torch.ops.mylib.scaled(x, 2.0)             the first overload whose schema takes the arguments
    torch.ops.mylib.scaled.default(x, 2.0)     the overload without a name
    torch.ops.aten.sin(x)                      this package's function of that name
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import contextmanager
from threading import local
from types import ModuleType
from typing import Any

from ..tensor.reverse.modes import mode, no_grad, watch
from ..tensor.transforms.mapping import in_lanes, mapped_by
from ..tensor.value.core import Core, requires
from ..tensor.value.trees import leaves
from . import aten
from .differentiated import Formula, OperatorCall, function_of
from .lanes import LaneRule
from .schemas import Schema

AUTOGRAD = ("Autograd", "AutogradCPU")
BELOW = ("CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
"""Dispatch keys whose kernels run here, the first that is there counts."""


class _Depth(local):
    below = False


_depth = _Depth()


@contextmanager
def below_autograd() -> Any:
    """Within it, operators run the kernels that stand below those of the key Autograd."""
    before, _depth.below = _depth.below, True
    try:
        yield
    finally:
        _depth.below = before


class Operator:
    """One overload: its schema, its kernels by dispatch key, and its derivative."""

    def __init__(self, schema: Schema, tags: Any = ()) -> None:
        self._schema = schema
        self.namespace, _, self._opname = schema.name.partition("::")
        self._overloadname = schema.overload_name or "default"
        self.tags = list(tags) if isinstance(tags, tuple | list | set) else [tags]
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fake: Callable[..., Any] | None = None
        self.lanes: Callable[..., Any] | None = None
        self.formula: Formula | None = None
        self.function: Any = None
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__, self.__module__ = self.__name__, f"torch.ops.{self.namespace}"

    def name(self) -> str:
        """`mylib::scaled`, with the overload's name if it has one."""
        return self._schema.name + (f".{self._schema.overload_name}" if self._schema.overload_name else "")

    @property
    def overloadpacket(self) -> Packet:
        """All overloads of the name."""
        return getattr(getattr(ops, self.namespace), self._opname)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.run(*self._schema.bind(args, kwargs))

    def run(self, args: list[Any], named: dict[str, Any]) -> Any:
        """The result for arguments as the schema binds them."""
        key = None if _depth.below else next((k for k in AUTOGRAD if k in self.kernels), None)
        if key is not None:
            return self.invoke(self.kernels[key], args, named)
        tensors = [x for x in leaves(args) if isinstance(x, Core)]
        if watch.lanes and (self.lanes is not None or "CompositeImplicitAutograd" not in self.kernels):
            rule = LaneRule(self)
            level = mapped_by(rule, tuple(tensors), True)
            if level is not None:
                call = OperatorCall(self, args, named)
                return call.result(in_lanes(rule, (call, *tensors), level))
        if self.formula is None:
            return self.invoke(self.kernel(), args, named)
        functional = self._schema.returns and not self._schema.is_mutable
        followed = watch.duals or (mode.enabled and not _depth.below and any(map(requires, tensors)))
        if functional and followed:
            call = OperatorCall(self, args, named)
            return call.result(function_of(self).apply(call, *tensors))
        with no_grad():
            return self.invoke(self.kernel(), args, named)

    def invoke(self, kernel: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> Any:
        """A kernel's result; it is not told what the schema's defaults are."""
        places, by_name = self._schema.said(args, named)
        return kernel(*places, **by_name)

    def kernel(self) -> Callable[..., Any]:
        """What runs on the processor, below derivatives; NotImplementedError if there is nothing."""
        found = next((self.kernels[key] for key in BELOW if key in self.kernels), None)
        if found is None:
            raise NotImplementedError(
                f"Could not run '{self.name()}' with arguments from the 'CPU' backend: it has no kernel for the"
                f" processor. '{self.name()}' is only available for these backends: {list(self.kernels)}"
            )
        return found

    def has_kernel_for_dispatch_key(self, key: str) -> bool:
        """Whether there is a kernel under the key."""
        return key in self.kernels


class Packet:
    """The overloads of a name; called, it runs the first whose schema takes the arguments."""

    def __init__(self, namespace: str, name: str) -> None:
        self.__name__, self._qualified_op_name = name, f"{namespace}::{name}"
        self.__module__ = f"torch.ops.{namespace}"
        self._namespace = namespace

    def _found(self) -> dict[str, Operator]:
        return OPERATORS.get(self._qualified_op_name, {})

    def overloads(self) -> list[str]:
        """The overloads' names, `default` for the one without."""
        return list(self._found())

    def __getattr__(self, name: str) -> Operator:
        found = self._found().get(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        found = list(self._found().values())
        for operator in found[:-1]:
            try:
                bound = operator._schema.bind(args, kwargs)
            except RuntimeError:
                continue
            return operator.run(*bound)
        if not found:
            raise RuntimeError(f"operator {self._qualified_op_name} does not exist")
        return found[-1](*args, **kwargs)

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class Namespace(ModuleType):
    """The operators of a library."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.__file__, self._name = "torch.ops", name

    def __getattr__(self, name: str) -> Any:
        if f"{self._name}::{name}" in OPERATORS:
            return Packet(self._name, name)
        found = aten.packet(name) if self._name == "aten" and not name.startswith("__") else None
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> list[str]:
        own = [name.partition("::")[2] for name in OPERATORS if name.startswith(f"{self._name}::")]
        return sorted({*super().__dir__(), *own})


class Ops(ModuleType):
    """`torch.ops`: a namespace for each name that is asked for."""

    loaded_libraries: frozenset[str] = frozenset()

    def __init__(self) -> None:
        super().__init__("torch.ops", "Operators by namespace and name.")
        self.__file__ = "_ops.py"

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
        made = Namespace(name)
        setattr(self, name, made)
        return made

    def load_library(self, path: Any) -> None:
        """An OSError: operators compiled for PyTorch are for its own tensors."""
        raise OSError(
            f"Could not load this library: {os.path.abspath(path)} (operators that were compiled for PyTorch take its"
            " own tensors only; pullback.external takes functions of other libraries)"
        )


OPERATORS: dict[str, dict[str, Operator]] = {}
"""By `namespace::name`, then by overload."""

ops = Ops()
"""The operators."""

__all__ = ["ops"]
