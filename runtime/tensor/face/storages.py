"""The memory of a tensor, as `storage` and `untyped_storage` show it: its address, its size, its elements.

It is there to be looked at: whether two tensors share memory, and how much of it there is. Writing goes through the
tensors.

    x = torch.zeros(4)
    x[1:].untyped_storage() == x.untyped_storage()       # True
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..ops.arranging.shapes import ALIAS
from ..value.core import Core
from ..value.dtypes import CPU, DType, Size, device
from ..value.views import view
from .queries import address


class UntypedStorage:
    """The bytes of a memory. Two are equal if they are those of the same memory."""

    def __init__(self, tensor: Any = None, **options: Any) -> None:
        if not isinstance(tensor, Core):
            raise NotImplementedError(
                f"{type(self).__name__}: memory is no object of its own here; make a tensor, such as torch.empty(n)"
            )
        tensor._read()
        self._memory = tensor._shared()
        self._dtype = tensor.dtype  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._memory is self._memory

    def __hash__(self) -> int:
        return hash(id(self._memory))

    def _values(self) -> np.ndarray:
        return np.ascontiguousarray(self._memory.value()).reshape(-1)

    @property
    def device(self) -> device:
        return CPU

    def data_ptr(self) -> int:
        """The address of the first element now; the next operation may move it."""
        return address(self._memory, ())

    def nbytes(self) -> int:
        return self._values().nbytes

    def size(self) -> int:
        """How many elements there are, here bytes."""
        return len(self.tolist())

    def __len__(self) -> int:
        return self.size()

    def tolist(self) -> list[Any]:
        """The elements, here bytes."""
        return self._values().view(np.uint8).tolist()

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]

    def __repr__(self) -> str:
        return f"<{self.nbytes()} bytes of memory on the processor>"


class TypedStorage(UntypedStorage):
    """The elements of a memory."""

    __hash__ = UntypedStorage.__hash__

    @property
    def dtype(self) -> DType:
        return self._dtype

    def element_size(self) -> int:
        return self._dtype.itemsize

    def untyped(self) -> UntypedStorage:
        made = object.__new__(UntypedStorage)
        made._memory, made._dtype = self._memory, self._dtype
        return made

    def tolist(self) -> list[Any]:
        return self._values().tolist()

    def __repr__(self) -> str:
        return f"<{self.size()} elements of {self._dtype} in memory on the processor>"


def is_storage(obj: Any) -> bool:
    """Whether something is the memory of a tensor."""
    return isinstance(obj, UntypedStorage)


def untyped_storage(input: Core) -> UntypedStorage:
    """The bytes of the memory that the tensor is a part of."""
    return UntypedStorage(input)


def storage(input: Core) -> TypedStorage:
    """The elements of the memory that the tensor is a part of."""
    warnings.warn("TypedStorage is deprecated; use tensor.untyped_storage()", UserWarning, stacklevel=2)
    return TypedStorage(input)


def new(input: Any, *args: Any, device: Any = None) -> Any:
    """A tensor of the dtype of `input`: of these sizes, of the numbers of a sequence, or on the memory of a tensor."""
    if len(args) == 1 and isinstance(args[0], Core):
        (other,) = args
        if other.dtype != input.dtype:  # type: ignore[attr-defined]
            raise TypeError(f"new(): expected a tensor of {input.dtype}, got {other.dtype}")  # type: ignore[attr-defined]
        return other.detach()  # type: ignore[attr-defined]
    if len(args) == 1 and not isinstance(args[0], (Size, int)):
        if not isinstance(args[0], (list, tuple, np.ndarray)):
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        return input.new_tensor(args[0])
    return input.new_empty(*(args or (0,)))


def make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    """A leaf of a subclass of Tensor on the memory of `data`, whatever the class's own `__new__` takes."""
    made: Any = Core.__new__(cls)
    made._cell, made._storage = data._read(), data._shared()
    made._path, made._seen = data._path, data._seen
    return made.requires_grad_(require_grad)


def as_subclass(input: Any, cls: type) -> Any:
    """The tensor as an object of a subclass, on the same memory and with its history."""
    if not issubclass(cls, Core):
        raise TypeError(f"as_subclass(cls): expected a subclass of Tensor, got {cls}")
    made: Any = view(input, (), ALIAS)
    made.__class__ = cls
    return made
