"""The Tensor: PyTorch's define-by-run face.  Methods are the functions of the modules beside this one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from copy import deepcopy
from sys import getrefcount
from typing import Any

import numpy as np

from ....compiler.frontend.tree import EAGER, FOLLOWED, STACKS, register_leaf
from ..calls.recording import wrapped
from ..ops.arranging.creation import tensor
from ..ops.arranging.pieces import stack, unbind
from ..ops.arranging.shapes import ALIAS
from ..ops.elementwise.arithmetic import eq
from ..ops.folds.extremes import any_
from ..recorder import number_in
from ..reverse.called import call_node
from ..reverse.modes import is_grad_enabled
from ..reverse.nodes import Node
from ..trace.tape import tapes
from ..transforms.batched import vmap
from ..transforms.crossings import check_one
from ..value.aliases import may_wait, tell_alias
from ..value.axes import axis_of, sizes
from ..value.cells import StandIn, cell_of
from ..value.core import Core, instances_are, requires
from ..value.dtypes import ALL, CPU, DType, Size, device, get_default_dtype
from ..value.exchange import Exchange
from ..value.formats import lies_in, ordered
from ..value.located import located
from ..value.orders import layout
from ..value.paths import Path, part_of
from ..value.slots import LEAF, SPECIAL
from ..value.storage import PIECE, Storage
from ..value.views import view
from .overriding import overridable
from .printing import text_of
from .queries import contiguous_format

_rows = wrapped(unbind)


class _Passing:
    def references(self) -> int:
        return getrefcount(self)


PASSING = _Passing().references() + 1
"""References that a method finds to a tensor, `p.norm().item()`, that nobody holds but the tape: it depends on Python's
version how many are the caller's."""


HISTORY_IS_LOST = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)
_told: list[str] = []


def _tell_of_history(tensor: Core) -> None:
    """Warn, once in a process, that a number has no history, where others have."""
    if not _told and is_grad_enabled() and requires(tensor):
        _told.append(HISTORY_IS_LOST)
        warnings.warn(HISTORY_IS_LOST, stacklevel=3)


@instances_are
class Tensor(Exchange):
    """An array that remembers how it was computed, and is computed when somebody looks at it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self._is_late:  # `__new__` of a subclass has made it, and takes what arguments it likes
            return
        if kwargs:
            raise TypeError(f"new() got an unexpected keyword argument {next(iter(kwargs))!r}")
        data = args[0] if args else ()
        if len(args) > 1 or isinstance(data, (int, Size)):  # sizes
            data = np.zeros(sizes(args))
        if isinstance(data, Core):
            return self._stand_for(view(data, (), ALIAS))
        self._cell = tensor(data, dtype=get_default_dtype())._read()

    def _stand_for(self, made: Any) -> None:
        """Be what another tensor is, that nobody else has: an alias of a third one."""
        self._cell, self._node, self._storage = made._read(), made._node, made._storage
        self._flags |= made._flags & SPECIAL
        self.__dict__.update(made.__dict__)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of tensors by the array API standard."""
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"the array API is that of 2024.12 and versions before; got {api_version!r}")
        return sys.modules[__name__.partition(".")[0]].array_api

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The tensor on another device, of which there is one, the processor."""
        return self.to(device)

    # ---- what it is

    @property
    def dtype(self) -> DType:
        return ALL[self._kind_of().dtype]

    @property
    def shape(self) -> Size:
        return Size(self._kind_of().shape)

    @property
    def ndim(self) -> int:
        return len(self._kind_of().shape)

    @property
    def device(self) -> device:
        return CPU

    def dim(self) -> int:
        return len(self._kind_of().shape)

    def size(self, dim: int | None = None) -> Any:
        shape = self.shape
        return shape if dim is None else shape[axis_of(dim, len(shape))]

    def numel(self) -> int:
        return self._kind_of().size

    nelement = numel

    def element_size(self) -> int:
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        strides = layout(*located(self)).strides
        return strides if dim is None else strides[dim]

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        return lies_in(self, memory_format)

    def contiguous(self, memory_format: Any = contiguous_format) -> Tensor:
        return ordered(self, memory_format)

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    # ---- its value

    def item(self) -> Any:
        number = number_in(self)  # which a training step asks for each time
        if number is not NotImplemented:
            return number
        check_one(self)
        passing = getrefcount(self) == PASSING
        array = self._array(passing)
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        return array.item()

    def tolist(self) -> Any:
        check_one(self)
        passing = getrefcount(self) == PASSING
        return self._array(passing).tolist()

    def __float__(self) -> float:
        _tell_of_history(self)
        return float(self._real_number())

    def __int__(self) -> int:
        return int(self._real_number())

    def __complex__(self) -> complex:
        _tell_of_history(self)
        return complex(self._single())

    def _real_number(self) -> Any:
        value = self._single()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError("value cannot be converted to type double without overflow: it is complex")
            return value.real
        return value

    def __index__(self) -> int:
        value = self._single() if self.numel() == 1 else None
        if not isinstance(value, int):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(value)

    def _single(self) -> Any:
        check_one(self)
        array = self._array()
        if array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return array.item()

    def __bool__(self) -> bool:
        check_one(self)
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
        if spec:
            raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__: {spec!r}")
        return repr(self)

    def __len__(self) -> int:
        if not self._kind_of().shape:
            raise TypeError("len() of a 0-d tensor")
        return self._kind_of().shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._kind_of().shape:
            raise TypeError("iteration over a 0-d tensor")
        if may_wait(self) and not self._flags & LEAF and not self._is_late and self._cell.array is not None:
            return map(self._piece, range(len(self)))  # of known data: most are read and dropped
        return iter(_rows(self, 0))

    def _piece(self, k: int) -> Tensor:
        """A row as one of several views."""
        made = self[k]
        if made._key is not None and not made._origin:
            made._origin = PIECE
        return made

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (Core, int, float, complex, np.generic)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}."
            )
        return bool(any_(eq(self, value)))

    __hash__ = object.__hash__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
            )
        restore, given = _parts(self)
        made = memo[id(self)] = restore(*deepcopy(given, memo))
        if self._grad is not None:
            made._grad = deepcopy(self._grad, memo)
        made.__dict__.update(deepcopy(hung_on(self), memo))
        return made

    def __copy__(self) -> Any:
        """A leaf on the same memory, with what the user hung on this one."""
        made = Core.__new__(type(self))
        made._moved()
        made._have_memory_of(self)
        made._requires = self.requires_grad
        made.__dict__.update(hung_on(self))
        return made

    def __reduce__(self) -> Any:
        """What has a history comes back as a leaf; tensors that share memory share it again, if one pickle has them."""
        for hook in (self._hooks or {}).values():
            if not hasattr(hook, "__torch_unserializable__"):
                warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.", stacklevel=2)
        return *_parts(self), hung_on(self) or None


def _parts(x: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """A function that makes a tensor like `x`, and what it takes."""
    tapes.tape.catch_up()  # a call that shares its memory may be on the tape only
    tell_alias(x)
    path, array, requires_grad = x._path, x._array(), x.requires_grad
    if x._storage is not None:
        return sharing, (type(x), x._storage, path, requires_grad)
    return restored, (type(x), np.array(array), requires_grad)


def hung_on(x: Tensor) -> dict[str, Any]:
    """The attributes that the user gave a tensor; its own are known to the class."""
    return {name: value for name, value in x.__dict__.items() if not hasattr(type(x), name)}


def restored(cls: type[Tensor], array: np.ndarray, requires_grad: bool) -> Tensor:
    made = Core.__new__(cls)
    made._cell, made._requires = cell_of(array), requires_grad
    return made


def sharing(cls: type[Tensor], storage: Storage, path: Path, requires_grad: bool) -> Tensor:
    made = restored(cls, np.array(part_of(storage.value(), path), order="C"), requires_grad)
    made._storage, made._path, made._seen = storage, path, storage.edition
    return made


def from_array(array: np.ndarray) -> Tensor:
    """A tensor of an array that nobody writes to any more."""
    made = Core.__new__(Tensor)
    made._cell = cell_of(np.ascontiguousarray(array).reshape(array.shape))
    return made


def is_followed(x: Tensor) -> bool:
    """Whether what is computed with a tensor now is differentiated, later or beside it, or is of a batch."""
    return (x.requires_grad and is_grad_enabled()) or isinstance(x._read(), StandIn)


Node.__call__ = call_node  # type: ignore[attr-defined]
overridable(Tensor)
register_leaf(Tensor, Core._array, from_array)
STACKS[Tensor], EAGER[Tensor], FOLLOWED[Tensor] = stack, vmap, is_followed
