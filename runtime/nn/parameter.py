"""Parameters: tensors that a module counts as its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.frontend.tree import register_leaf
from ..core import Core
from ..creation import empty
from ..tensor import Tensor, from_array


class Parameter(Tensor):
    """A leaf that requires a gradient, found by `module.parameters()`."""

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            data = empty(0)
        if not isinstance(data, Core):
            raise TypeError(f"Parameter(data): expected a Tensor, got {type(data).__name__}")
        self._cell = data._read()
        if data._storage is not None:
            self._storage, self._path, self._seen = data._storage, data._path, data._seen
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restored, (self.detach().clone(), self.requires_grad)


def _restored(data: Tensor, requires_grad: bool) -> Parameter:
    return Parameter(data, requires_grad)


register_leaf(Parameter, Core._array, from_array)
