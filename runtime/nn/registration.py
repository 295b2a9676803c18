"""Hooks on what is registered with any module, and the buffers that register themselves."""

from __future__ import annotations

from typing import Any

from ..tensor.face.overriding import disabled
from ..tensor.face.tensor import Tensor
from ..tensor.ops.arranging.creation import empty
from ..tensor.reverse.hooks import Hook, RemovableHandle, Table, attach
from ..tensor.value.core import Core

PARAMETERS: Table = {}
BUFFERS: Table = {}
MODULES: Table = {}


def registered(table: Table, module: Any, name: str, value: Any) -> Any:
    """The value, or what the last hook put in its place."""
    for hook in list(table.values()):
        made = hook(module, name, value)
        value = value if made is None else made
    return value


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a parameter is registered."""
    return attach(PARAMETERS, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a buffer is registered."""
    return attach(BUFFERS, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when a module is registered."""
    return attach(MODULES, hook)


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module it is assigned to."""

    persistent: bool
    __torch_function__ = staticmethod(disabled)

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        data = empty(0) if data is None else data
        if not isinstance(data, Core):
            raise TypeError(f"Buffer(data): expected a Tensor, got {type(data).__name__}")
        self._cell, self._storage = data._read(), data._shared()
        self._path, self._seen = data._path, data._seen
        self.persistent = persistent
