"""Tensors of the device "meta": a shape and a dtype, and no values. What is computed with them has such results.

    torch.empty(1000, 1000, device="meta") @ torch.empty(1000, 3, device="meta")      # shape (1000, 3)

They are made where the device is asked for. Writing to one does nothing, reading its values is an error, and nothing
keeps the history of what was computed with them.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..calls.recording import DRAWING
from ..reverse.modes import is_grad_enabled
from ..value.cells import cell_of
from ..value.core import Core
from ..value.devices import META, device, made, placed
from ..value.dtypes import ALL, dtype_of
from .overriding import DisableTorchFunctionSubclass
from .tensor import Tensor

NO_DATA = "Cannot copy out of meta tensor; no data!"
RESHAPING = {
    "requires_grad_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "resize_", "resize_as_",
    "as_strided_", "detach_", "retain_grad",
}  # fmt: skip
"""In-place functions that write no values."""


def shapes_of(x: Any, cls: type | None = None, requires_grad: bool = False) -> Any:
    """A tensor without values of the shape and dtype of another."""
    kind = x._kind_of()
    return shapes(kind.shape, ALL[kind.dtype].numpy, requires_grad, cls)


def shapes(shape: Any, dtype: Any, requires_grad: bool = False, cls: type | None = None) -> Any:
    """A tensor without values. Its zeros are memory that nobody has touched, and so takes none."""
    new: Any = Core.__new__(cls or MetaTensor)
    new._cell = cell_of(np.zeros(tuple(shape), dtype))
    return new.requires_grad_() if requires_grad else new


def _called(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a function of such tensors gives: their shapes are found by recording it, and nothing is computed."""
    kwargs, name = kwargs or {}, func.__name__
    if (name.endswith("_") and name not in RESHAPING and hasattr(Tensor, name)) or name in ("__setitem__", "setitem"):
        if not isinstance(args[0], Shapes):
            raise NotImplementedError(NO_DATA)
        return None if "setitem" in name else args[0]
    with DisableTorchFunctionSubclass():
        result = func(*args, **kwargs)
    if kwargs.get("device") is not None and placed(kwargs["device"]) is not META:
        return result  # which has values
    tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, Core)]
    follows = is_grad_enabled() and any(x.requires_grad for x in tensors)  # type: ignore[attr-defined]
    return _alone(result, tensors, follows)


def _alone(result: Any, given: list[Any], follows: bool) -> Any:
    if isinstance(result, Core):
        if any(result is x for x in given):
            return result
        return shapes_of(result, None, follows and result._kind_of().is_float)
    if isinstance(result, tuple | list):
        parts = [_alone(x, given, follows) for x in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def _no_data(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(NO_DATA)


def _no_number(self: Any) -> NoReturn:
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    raise RuntimeError("Tensor.item() cannot be called on meta tensors")


def _no_array(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("can't convert a tensor of the device meta to numpy: it has no values")


def _same(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


class Shapes:
    """What tensors without values do in their own way."""

    __torch_function__ = classmethod(_called)
    is_meta, is_cpu = True, False
    item = __bool__ = __float__ = __int__ = __index__ = __complex__ = _no_number
    numpy = __array__ = _no_array
    tolist = cpu = cuda = untyped_storage = storage = _no_data

    @property
    def device(self) -> device:
        return META

    @property
    def data(self) -> Any:
        return shapes_of(self)

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, Shapes):
            raise RuntimeError("a tensor without values cannot have data; put another Parameter in its place")
        self._cell = value._cell  # type: ignore[attr-defined]

    def detach(self) -> Any:
        return shapes_of(self)

    def clone(self, *, memory_format: Any = None) -> Any:
        return shapes_of(self, None, self.requires_grad)  # type: ignore[attr-defined]

    def to(self, *args: Any, device: Any = None, dtype: Any = None, **options: Any) -> Any:
        """Another dtype; other devices have values, which there are none of."""
        for a in args:
            if isinstance(a, Core):
                device, dtype = a.device, a.dtype  # type: ignore[attr-defined]
            elif isinstance(a, str) or type(a) is type(META):
                device = a
            elif not isinstance(a, bool):
                dtype = a
        if device is not None and placed(device) is not META:
            raise NotImplementedError(NO_DATA)
        own: Any = self
        if dtype is None or own.dtype is dtype_of(dtype):
            return self
        return shapes(own.shape, dtype_of(dtype).numpy)

    def data_ptr(self) -> int:
        return 0

    def __repr__(self) -> str:
        own: Any = self
        notes = [f"size={tuple(own.shape)}"] + ([f"dtype={own.dtype}"] if own.dtype is not dtype_of(float) else [])
        notes += ["requires_grad=True"] if own.requires_grad else []
        return "tensor(..., device='meta', " + ", ".join(notes) + ")"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = shapes_of(self, type(self), self.requires_grad)  # type: ignore[attr-defined]
        return memo[id(self)]

    def __reduce__(self) -> Any:
        own: Any = self
        return shapes, (tuple(own.shape), own.dtype.numpy, own.requires_grad, type(self))


for _name in DRAWING:
    if _name.endswith("_") and hasattr(Tensor, _name):
        setattr(Shapes, _name, _same)


class MetaTensor(Shapes, Tensor):  # type: ignore[misc]
    """A shape and a dtype."""


made.shapes = shapes

__all__ = ["MetaTensor", "Shapes", "shapes", "shapes_of"]
