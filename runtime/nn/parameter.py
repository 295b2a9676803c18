"""Parameters: tensors that a module counts as its own."""

from __future__ import annotations

from typing import Any

from ...compiler.frontend.tree import FOLLOWED, register_leaf
from ..tensor.calls import running  # noqa: F401 - calls of functions with Tensors, registered when it is imported
from ..tensor.calls.natively import recordable
from ..tensor.face.meta import Shapes, shapes_of
from ..tensor.face.overriding import disabled
from ..tensor.face.tensor import Tensor, from_array, is_followed
from ..tensor.ops.arranging.creation import empty
from ..tensor.value.core import Core


class Parameter(Tensor):
    """A leaf that requires a gradient, found by `module.parameters()`."""

    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if not isinstance(data, Core):
            raise TypeError(f"Parameter(data): expected a Tensor, got {type(data).__name__}")
        if isinstance(data, Shapes):
            return shapes_of(data, MetaParameter if cls is Parameter else cls, requires_grad)
        return cls._make_subclass(cls, data, requires_grad)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """What there is to make, `__new__` has made: a subclass may have one of its own and take other arguments."""

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A parameter of its own, without the gradient."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]


class MetaParameter(Shapes, Parameter):  # type: ignore[misc]
    """A parameter of which the shape and the dtype are known alone."""

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Shapes.__repr__(self)


def blank(*size: int, dtype: Any = None, device: Any = None) -> Parameter:
    """A parameter that nothing else shares, to be filled."""
    values = empty(*size, dtype=dtype, device=device)
    made = Core.__new__(MetaParameter if values.is_meta else Parameter)
    made._cell = values._read()
    return made.requires_grad_()


register_leaf(Parameter, Core._array, from_array)
FOLLOWED[Parameter] = is_followed
recordable(Parameter)
