"""The Tensor: PyTorch's define-by-run face.  Methods are the functions of the modules beside this one."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from ...compiler.frontend.tree import EAGER, FOLLOWED, STACKS, register_leaf
from .arithmetic import eq
from .axes import axis_of
from .batched import vmap
from .cells import cell_of
from .core import Core, instances_are, requires
from .creation import export, full, ones, tensor, zeros
from .dtypes import ALL, CPU, DType, Size, device
from .elementary import clone
from .extremes import any_
from .history import History
from .modes import is_grad_enabled
from .paths import strided
from .pieces import stack, unbind
from .printing import text_of
from .shapes import whole_of


@instances_are
class Tensor(History):
    """An array that remembers how it was computed, and is computed when somebody looks at it."""

    def __init__(self, data: Any = ()) -> None:
        made = data if isinstance(data, Core) else tensor(data, dtype=np.float32)
        self._cell = made._read()

    # ---- what it is

    @property
    def dtype(self) -> DType:
        return ALL[self._read().kind.dtype]

    @property
    def shape(self) -> Size:
        return Size(self._read().kind.shape)

    @property
    def ndim(self) -> int:
        return len(self._read().kind.shape)

    @property
    def device(self) -> device:
        return CPU

    def dim(self) -> int:
        return len(self._read().kind.shape)

    def size(self, dim: int | None = None) -> Any:
        shape = self.shape
        return shape if dim is None else shape[axis_of(dim, len(shape))]

    def numel(self) -> int:
        return self._read().kind.size

    nelement = numel

    def element_size(self) -> int:
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        strides = strided(whole_of(self), self._path).strides
        return strides if dim is None else strides[dim]

    def is_contiguous(self) -> bool:
        return strided(whole_of(self), self._path).flags.c_contiguous

    def contiguous(self) -> Tensor:
        return self if self.is_contiguous() else clone(self)

    def is_floating_point(self) -> bool:
        return self._read().kind.is_float

    # ---- its value

    def item(self) -> Any:
        array = self._array()
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        return array.item()

    def tolist(self) -> Any:
        return self._array().tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        if requires(self) and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return export(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        made = self.numpy()
        return made if dtype is None and not copy else np.array(made, dtype, copy=True)

    __array_priority__ = 1000

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def __index__(self) -> int:
        value = self._single()
        if not isinstance(value, int):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(value)

    def _single(self) -> Any:
        array = self._array()
        if array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return array.item()

    def __bool__(self) -> bool:
        array = self._array()
        if array.size != 1:
            what = "no values" if array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(array.item())

    def __repr__(self) -> str:
        return text_of(self)

    def __format__(self, spec: str) -> str:
        if self.dim() == 0:
            return format(self.item(), spec)
        return format(repr(self), spec)

    def __len__(self) -> int:
        if not self._read().kind.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._read().kind.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._read().kind.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(unbind(self, 0))

    def __contains__(self, value: Any) -> bool:
        return bool(any_(eq(self, value)))

    __hash__ = object.__hash__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
            )
        made = type(self).__new__(type(self))
        made._cell = self._read()
        made._requires = self._requires
        memo[id(self)] = made
        if self._grad is not None:
            made._grad = deepcopy(self._grad, memo)
        return made

    def __reduce__(self) -> Any:
        if self.grad_fn is not None:
            raise RuntimeError("only leaf tensors can be pickled; use tensor.detach()")
        return _restored, (type(self), np.array(self._array()), self._requires)

    # ---- others like it

    def new_zeros(self, *size: Any, dtype: Any = None) -> Tensor:
        return zeros(*size, dtype=dtype or self.dtype)

    def new_ones(self, *size: Any, dtype: Any = None) -> Tensor:
        return ones(*size, dtype=dtype or self.dtype)

    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
        return full(size, fill_value, dtype=dtype or self.dtype)

    def new_tensor(self, data: Any, *, dtype: Any = None) -> Tensor:
        return tensor(data, dtype=dtype or self.dtype)


def _restored(cls: type[Tensor], array: np.ndarray, requires_grad: bool) -> Tensor:
    made = cls.__new__(cls)
    made._cell, made._requires = cell_of(array), requires_grad
    return made


def from_array(array: np.ndarray) -> Tensor:
    """A tensor of an array that nobody writes to any more."""
    made = Tensor.__new__(Tensor)
    made._cell = cell_of(np.ascontiguousarray(array).reshape(array.shape))
    return made


def is_followed(x: Tensor) -> bool:
    """Whether what is computed with a tensor now can be differentiated later."""
    return x.requires_grad and is_grad_enabled()


register_leaf(Tensor, Core._array, from_array)
STACKS[Tensor], EAGER[Tensor], FOLLOWED[Tensor] = stack, vmap, is_followed
