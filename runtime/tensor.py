"""The Tensor: PyTorch's define-by-run face.  Methods are the functions of the modules beside this one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from weakref import ref

import numpy as np

from ..compiler.frontend.tree import register_leaf
from .arithmetic import eq
from .axes import axis_of
from .backward import backward
from .cells import cell_of
from .core import Core, alias, instances_are, requires
from .creation import export, full, ones, tensor, zeros
from .dtypes import ALL, CPU, DType, Size, device
from .elementary import clone
from .extremes import any_
from .nodes import Node
from .operators import Operators
from .paths import strided
from .pieces import unbind
from .printing import text_of
from .shapes import whole_of

UNREAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't"
    " be populated during backward(). If you want it for a non-leaf Tensor, use .retain_grad() on it; if you"
    " access it by mistake, make sure you access the leaf Tensor instead."
)


@instances_are
class Tensor(Operators):
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

    # ---- gradients

    @property
    def requires_grad(self) -> bool:
        return requires(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        if self.grad_fn is not None:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed"
                " variable in a subgraph that doesn't require differentiation use"
                " var_no_grad = var.detach()."
            )
        if requires_grad and not self._read().kind.is_float:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self._requires = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        self._read()
        return self._node is None

    @property
    def grad_fn(self) -> Node | None:
        self._read()
        return self._node

    @property
    def output_nr(self) -> int:
        return self._index

    @property
    def grad(self) -> Any:
        if self._grad is None and not self.is_leaf and not self._retains:
            warnings.warn(UNREAD, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            if not isinstance(value, Core):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value)}")
            mine, given = self._read().kind, value._read().kind
            if given.shape != mine.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(given.shape)}' to a tensor of size"
                    f" '{list(mine.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
            if given.dtype != mine.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype {ALL[given.dtype]} to a tensor with dtype"
                    f" {ALL[mine.dtype]}; convert it first"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def retain_grad(self) -> None:
        if not requires(self):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._node is not None:
            self._retains = True
            self._node.retained = {**(self._node.retained or {}), self._index: ref(self)}

    @property
    def retains_grad(self) -> bool:
        return self._retains

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add to the `grad` of the leaves the gradients of this tensor, weighted with `gradient`."""
        wanted = [inputs] if isinstance(inputs, Core) else inputs
        backward([self], [gradient], retain_graph, create_graph, wanted)

    def detach(self) -> Tensor:
        return alias(self)

    def detach_(self) -> Tensor:
        self._read()
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._node, self._requires, self._index = None, False, 0
        return self

    @property
    def data(self) -> Tensor:
        return alias(self)

    @data.setter
    def data(self, value: Tensor) -> None:
        if value is not self and value._read() is not self._read():
            self._cell, self._storage = value._read(), None
            self._path, self._base = (), None

    @property
    def _version(self) -> int:
        return self._storage.version if self._storage is not None else self._written

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


register_leaf(Tensor, Core._array, from_array)
