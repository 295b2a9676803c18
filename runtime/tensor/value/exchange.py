"""Memory shared with others: NumPy's and Python's buffers, DLPack.

    t = torch.zeros(3); a = np.from_dlpack(t); a[0] = 5; t       tensor([5., 0., 0.])

What others can write to is read when an operation is written, so changing it later changes nothing that was computed.
A tensor whose memory has been handed out reads it at each use, until nobody holds it any more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Self

import numpy as np

from ..ops.arranging.creation import as_tensor, export, from_numpy, on_memory, tensor
from ..ops.elementwise.elementary import clone
from ..reverse.modes import mode
from .core import Core, requires
from .devices import placed
from .dtypes import dtype_of, get_default_dtype
from .history import History

CPU = (1, 0)
"""DLPack's name of the processor."""


class AsArray(RuntimeError):
    """NumPy asks for the array of a Tensor whose function runs under a transform."""


class _Running(threading.local):
    """How many transforms run functions of Tensors in this thread."""

    transforms = 0


_running = _Running()


@contextmanager
def as_tensors() -> Iterator[None]:
    """While a transform runs a function of Tensors."""
    _running.transforms += 1
    try:
        yield
    finally:
        _running.transforms -= 1


class Exchange(History):
    """What others ask a tensor for."""

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """An array on the tensor's memory; with `force` also of a tensor that requires grad."""
        if mode.enabled and requires(self) and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        if self._kind_of().dtype == "bf16":
            raise TypeError("Got unsupported ScalarType BFloat16: NumPy has none; use .float().numpy()")
        return export(self)

    def pin_memory(self, device: Any = None) -> NoReturn:
        """Refuse memory that a device reads, as PyTorch does where there is no such device."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def share_memory_(self) -> Any:
        """The tensor; threads share memory, and other processes get copies of it: it has no effect."""
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if _running.transforms:
            raise AsArray("a function of Tensors under a transform cannot ask for arrays: their history would be lost")
        made = self.numpy()
        if dtype is None and not copy:
            return made
        if copy is False and np.dtype(dtype) != made.dtype:
            raise ValueError(f"a tensor of {made.dtype} cannot be an array of {np.dtype(dtype)} without a copy")
        return np.array(made, dtype, copy=copy or None)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """As of an object that NumPy does not know, but under a transform a function of arrays is no Tensor's."""
        if not all(issubclass(each, (Exchange, np.ndarray)) for each in types):
            return NotImplemented  # what else is among them knows better
        if _running.transforms and function not in (np.shape, np.ndim, np.size):
            raise AsArray(f"np.{function.__name__} of a Tensor under a transform")
        return function._implementation(*args, **kwargs)

    __array_priority__ = 1000

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Self:
        return from_numpy(np.asarray(array))

    def __buffer__(self, flags: int) -> memoryview:
        """The memory as Python's buffer; Python asks for it from version 3.12 on."""
        array: Any = self.numpy()
        return memoryview(array)

    def __dlpack__(
        self, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A capsule with the memory, for `from_dlpack` of another package."""
        if requires(self):
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if stream not in (None, -1):
            raise AssertionError(f"stream should be None on cpu, got {stream!r}")
        return export(self).__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


class _Given:
    """A bare capsule, as an object that NumPy reads."""

    def __init__(self, capsule: Any) -> None:
        self.capsule, self.old = capsule, '"dltensor"' in repr(capsule)

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


class _Writable:
    """An array's memory, which can be written to."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        place = array.__array_interface__
        self.__array_interface__ = {**place, "data": (place["data"][0], False)}


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor on the memory of another package's array, or on that in a capsule, which can be used once.

    copy   True for memory of its own, False to refuse where there would be a copy
    """
    if device is not None:
        placed(device)
    if not hasattr(ext_tensor, "__dlpack__"):
        if type(ext_tensor).__name__ != "PyCapsule":
            what = type(ext_tensor).__name__
            raise RuntimeError(f"from_dlpack received an invalid capsule: {what} is none, and has no __dlpack__")
        ext_tensor = _Given(ext_tensor)
    given = ext_tensor if isinstance(ext_tensor, _Given) else None
    try:
        array = np.from_dlpack(ext_tensor, copy=copy)
    except ValueError as error:
        if given is None:
            raise
        raise RuntimeError(
            "from_dlpack received an invalid capsule: one for a tensor can be consumed only once"
        ) from error
    if given is not None and given.old:  # it cannot say who may write
        array = np.asarray(_Writable(array))
    return on_memory(array)


def to_dlpack(tensor: Any) -> Any:
    """A capsule with the memory of a tensor."""
    return tensor.__dlpack__()


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A row on the memory of a bytearray, an array.array or any other object with a buffer."""
    size = dtype_of(dtype).itemsize
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError(f"object does not implement Python buffer protocol: a {type(buffer).__name__}") from None
    length = view.nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element"
            f" size ({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than"
            f" actual buffer length ({length} bytes)"
        )
    made = from_numpy(np.frombuffer(buffer, dtype_of(dtype).numpy, count, offset))
    return made.requires_grad_() if requires_grad else made


def asarray(
    obj: Any = None, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """A tensor of numbers, sequences, arrays, buffers, capsules: on their memory unless `copy`, where that can be."""
    if device is not None:
        placed(device)
    made = _shared(obj, dtype)
    if made is None:
        if copy is False:
            raise ValueError(f"can't alias arbitrary sequence into a tensor: {type(obj).__name__} has no memory for it")
        made = tensor(obj, dtype=dtype)
        return made.requires_grad_() if requires_grad else made
    wanted = made.dtype if dtype is None else dtype_of(dtype)
    if copy is False and wanted is not made.dtype:
        raise ValueError(f"can't alias tensor with dtype {made.dtype} into dtype {wanted}")
    if wanted is not made.dtype:
        made = made.to(wanted)
    elif copy:
        made = clone(made)
    return made.requires_grad_() if requires_grad and not made.requires_grad else made


def _shared(obj: Any, dtype: Any) -> Any:
    """A tensor on the memory of `obj`, if it has any."""
    if isinstance(obj, Core):
        return obj
    if isinstance(obj, np.ndarray) or hasattr(type(obj), "__array__"):
        return as_tensor(obj) if not isinstance(obj, np.generic) else None
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)) or type(obj).__module__ == "array":
        return frombuffer(obj, dtype=get_default_dtype() if dtype is None else dtype)
    return None


__all__ = ["Exchange", "asarray", "from_dlpack", "frombuffer", "to_dlpack"]
