"""Making tensors: from numbers, sequences and arrays, or filled with constants, counts and random numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import ceil
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from .axes import check_sizes, sizes
from .cells import cell_of
from .core import Core, Storage, wrap
from .dtypes import ALL, DType, bool_, device, dtype_of, float64, get_default_dtype, int64
from .dtypes import set_default_dtype as _set_default
from .elementary import cast_to
from .fragments import forget_fragments
from .paths import part_of
from .promotion import common_dtype
from .tape import force

if TYPE_CHECKING:
    from .tensor import Tensor


def set_default_dtype(d: DType) -> None:
    """Make Python's floats become tensors of dtype `d`."""
    _set_default(d)
    forget_fragments()


def finished(array: np.ndarray, requires_grad: bool = False, on: Any = None) -> Tensor:
    """A tensor of an array that is its own."""
    if on is not None:
        device(on)
    made = wrap(cell_of(array))
    return made.requires_grad_() if requires_grad else made


# ---- from data


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A copy of numbers, nested sequences or an array as a tensor."""
    if isinstance(data, Core):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or"
            " sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
        data = data._array()
    array = _array_of(data, dtype)
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return finished(array, requires_grad, device)


def _array_of(data: Any, dtype: Any) -> np.ndarray:
    if isinstance(data, (np.ndarray, np.generic)):
        return _converted(np.asarray(data), dtype_of(dtype if dtype is not None else data.dtype))
    plain = _plain(data, 0)
    _check_nesting(plain, 0)
    array = np.array(plain)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"new(): invalid data type {_odd(plain)!r}; expected numbers or sequences of them")
    if dtype is not None:
        return _converted(array, dtype_of(dtype))
    if array.dtype.kind == "f":
        return _converted(array, get_default_dtype())
    return _converted(array, int64 if array.dtype.kind in "iu" else bool_)


def _converted(array: np.ndarray, dtype: DType) -> np.ndarray:
    return np.array(array, dtype.numpy, order="C", copy=True)


def _plain(data: Any, depth: int) -> Any:
    """Nested sequences with the tensors in them replaced by numbers and lists."""
    if isinstance(data, Core):
        return data._array().tolist()
    if isinstance(data, (np.ndarray, np.generic)):
        return data.tolist()
    if isinstance(data, (list, tuple)):
        if depth > 32:
            raise ValueError("the sequences given to tensor() nest deeper than 32")
        return [_plain(d, depth + 1) for d in data]
    if isinstance(data, range):
        return list(data)
    if not isinstance(data, Number):
        raise TypeError(f"new(): invalid data type {type(data).__name__!r}; expected numbers or sequences")
    return data


def _check_nesting(data: Any, depth: int) -> None:
    if not isinstance(data, list) or not data:
        return
    first = len(data[0]) if isinstance(data[0], list) else None
    for d in data:
        n = len(d) if isinstance(d, list) else None
        if n != first:
            if first is None or n is None:
                raise TypeError("a sequence given to tensor() mixes numbers and sequences")
            raise ValueError(f"expected sequence of length {first} at dim {depth + 1} (got {n})")
        _check_nesting(d, depth + 1)


def _odd(data: Any) -> str:
    while isinstance(data, list) and data:
        data = data[0]
    return type(data).__name__


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing its memory where that is possible."""
    if isinstance(data, Core):
        wanted = dtype_of(dtype).code if dtype is not None else None
        same = wanted is None or wanted == data._read().kind.dtype
        return data if same else cast_to(data, str(wanted))  # type: ignore[return-value]
    if isinstance(data, np.ndarray) and (dtype is None or dtype_of(dtype).numpy == data.dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on an array's memory.  It is read when an operation is written, and in-place functions write it."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtype_of(ndarray.dtype, "the array's dtype")
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides"
            " are not supported. (You can probably work around this by making a copy of your array with"
            " array.copy().)"
        )
    made = wrap(cell_of(np.array(ndarray, order="C", copy=True)))
    made._storage = Storage(None, ndarray)
    return made


def export(x: Core) -> np.ndarray:
    """An array on the tensor's memory, which the program may write to."""
    x._read()
    storage = x._shared()
    if storage.array is None:
        assert storage.cell is not None
        value = force(storage.cell).array
        storage.array = np.array(value, order="C", copy=True)
        storage.cell = None
    return part_of(storage.array, x._path).view()


# ---- constants and counts


def _fill(shape: Any, value: Any, dtype: Any, requires_grad: bool, on: Any) -> Tensor:
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    array = np.full(check_sizes(sizes(shape)), value, kind.numpy)
    return finished(array, requires_grad, on)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros."""
    return _fill(size, 0, dtype, requires_grad, device)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones."""
    return _fill(size, 1, dtype, requires_grad, device)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Elements that nobody should count on; they are zeros."""
    return _fill(size, 0, dtype, requires_grad, device)


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number in every element; its class gives the dtype."""
    if isinstance(fill_value, Core):
        fill_value = fill_value._array().item()
    if dtype is None:
        dtype = float if isinstance(fill_value, float) else np.asarray(fill_value).dtype
    return _fill((size,), fill_value, dtype, requires_grad, device)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Ones on the diagonal."""
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    return finished(np.eye(n, m, dtype=kind.numpy), requires_grad, device)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... below end."""
    bounds = [b._array().item() if isinstance(b, Core) else b for b in (start, end, step)]
    if bounds[1] is None:
        bounds[:2] = [0, bounds[0]]
    first, last, stride = bounds
    if stride == 0:
        raise RuntimeError("step must be nonzero")
    if (last - first) * stride < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = dtype_of(dtype) if dtype is not None else None
    if kind is None:
        kind = int64 if all(isinstance(b, int) for b in bounds) else get_default_dtype()
    n = max(0, ceil((last - first) / stride))
    values = first + stride * np.arange(n)
    return finished(values.astype(kind.numpy), requires_grad, device)


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers evenly spaced from start to end, both included."""
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return finished(np.linspace(start, end, steps, dtype=float64.numpy).astype(kind.numpy), requires_grad, device)


def like(x: Core, value: Any, dtype: Any, requires_grad: bool) -> Tensor:
    """One number in a tensor of the shape of `x`."""
    kind = x._read().kind
    wanted = dtype_of(dtype).numpy if dtype is not None else kind.type.numpy
    return finished(np.full(kind.shape, value, wanted), requires_grad)


def zeros_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape of `input`."""
    return like(input, 0, dtype, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape of `input`."""
    return like(input, 1, dtype, requires_grad)


def empty_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros, which nobody should count on, in the shape of `input`."""
    return like(input, 0, dtype, requires_grad)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """One number in the shape of `input`."""
    return like(input, fill_value, dtype, requires_grad)


def result_type(*tensors: Any) -> DType:
    """The dtype that an operation on these tensors and numbers has."""
    arguments = [x._read().kind if isinstance(x, Core) else type(x) for x in tensors]
    return ALL[common_dtype(arguments)]
