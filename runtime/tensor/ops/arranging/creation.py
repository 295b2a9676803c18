"""Making tensors: from numbers, sequences and arrays, or filled with constants."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...calls.forgetting import forget_calls
from ...trace.fragments.fragment_cache import forget_fragments
from ...trace.fragments.fragments import Operation
from ...trace.states import may_save
from ...trace.tape import force, tapes
from ...transforms.crossings import alike, check_one
from ...value.axes import check_sizes, sizes
from ...value.cells import cell_of, shown
from ...value.core import REVIEW, Core, Storage, Tensor, wrap
from ...value.devices import chosen, is_meta
from ...value.devices import made as shapes
from ...value.dtypes import ALL, DType, bool_, default_complex, dtype_of, get_default_dtype, int64
from ...value.dtypes import set_default_dtype as _set_default
from ...value.foreign import array_behind
from ...value.formats import order_of_format
from ...value.numbers import number_of
from ...value.paths import part_of
from ...value.promotion import common_dtype
from ...value.views import view
from ..elementwise.elementary import cast_to
from .nesting import dtype_within, holds_dtypes, kind_within, not_numbers, plain_numbers


def set_default_dtype(d: DType) -> None:
    """Make Python's floats become tensors of dtype `d`."""
    if d is get_default_dtype():
        return
    forget_calls()
    _set_default(d)
    forget_fragments()


def finished(array: np.ndarray, requires_grad: bool = False, on: Any = None) -> Any:
    """A tensor of an array that is its own."""
    if (on is not None or chosen.default is not None) and is_meta(on):
        return shapes.shapes(array.shape, array.dtype, requires_grad)
    made = wrap(cell_of(array))
    return made.requires_grad_() if requires_grad else made


def constant(array: np.ndarray) -> Any:
    """A tensor of an array that is its own, laid out in rows if it is not yet."""
    return wrap(cell_of(np.ascontiguousarray(array).reshape(array.shape)))


# ---- from data


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A copy of numbers, nested sequences or an array as a tensor."""
    if isinstance(data, Core):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or"
            " sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
        data = data._array()
    array = _array_of(data, dtype)
    if requires_grad and not (dtype_of(array.dtype).is_floating_point or dtype_of(array.dtype).is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return finished(array, requires_grad, device)


def _array_of(data: Any, dtype: Any) -> np.ndarray:
    behind = array_behind(data)
    data = data if behind is None else behind
    if isinstance(data, (np.ndarray, np.generic)):
        return _converted(np.asarray(data), dtype_of(dtype if dtype is not None else data.dtype))
    plain = plain_numbers(data)
    array = np.array(plain)
    if array.dtype.kind not in "biufc":
        raise not_numbers(kind_within(plain))
    if dtype is not None:
        if array.dtype.kind == "c" and not dtype_of(dtype).is_complex:
            raise TypeError(f"new(): a complex number cannot become {dtype_of(dtype)}")
        return _converted(array, dtype_of(dtype))
    if holds_dtypes(data):
        return _converted(array, ALL[dtype_within(data) or get_default_dtype().code])
    if array.dtype.kind in "fc":
        return _converted(array, get_default_dtype() if array.dtype.kind == "f" else default_complex())
    return _converted(array, int64 if array.dtype.kind in "iu" else bool_)


def _converted(array: np.ndarray, dtype: DType) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.array(array, dtype.numpy, order="C", copy=True)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor, sharing its memory where that is possible."""
    if isinstance(data, Core):
        wanted = dtype_of(dtype).code if dtype is not None else None
        same = wanted is None or wanted == data._kind_of().dtype
        return data if same else cast_to(data, str(wanted))  # type: ignore[return-value]
    behind = array_behind(data)
    data = data if behind is None else behind
    if isinstance(data, np.ndarray) and (dtype is None or dtype_of(dtype).numpy == data.dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


READ_ONLY = (
    "The given NumPy array is not writable. A tensor on its memory can be read; writing to it is an error. Copy the"
    " array, or make it writable, before it is made a tensor."
)


def from_numpy(ndarray: np.ndarray) -> Any:
    """A tensor on an array's memory.  It is read when an operation is written, and in-place functions write it."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.dtype.isnative:
        raise ValueError(
            f"the array has the byte order of {ndarray.dtype.str!r}, not this machine's; convert it with"
            " array.astype(array.dtype.newbyteorder('='))"
        )
    if not ndarray.flags.writeable:
        warnings.warn(READ_ONLY, stacklevel=2)
    return on_memory(ndarray)


def on_memory(ndarray: np.ndarray) -> Any:
    """A tensor on an array's memory, if tensors can lie so."""
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
    check_one(x)
    storage = x._shared()
    while (cell := storage.cell) is not None:
        array = np.array(shown(force(cell)), order="C", copy=True)
        if storage.hand_out(cell, array):
            tape = tapes.tape
            if (storage.viewed or tape.number_of(cell) is not None) and may_save(tape.state):
                tape.blur()
    return part_of(storage.array, x._path).view()  # type: ignore[arg-type]


# ---- constants


def filled(shape: Any, value: Any, dtype: Any, requires_grad: bool, on: Any) -> Any:
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if (on is not None or chosen.default is not None) and is_meta(on):
        return shapes.shapes(check_sizes(sizes(shape)), kind.numpy, requires_grad)
    array = np.full(check_sizes(sizes(shape)), value, kind.numpy)
    return finished(array, requires_grad)


def zeros(
    *args: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None
) -> Any:
    """Zeros."""
    return filled(args if size is None else (size,), 0, dtype, requires_grad, device)


def ones(
    *args: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None
) -> Any:
    """Ones."""
    return filled(args if size is None else (size,), 1, dtype, requires_grad, device)


def empty(
    *args: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None
) -> Any:
    """Elements that nobody should count on; they are zeros."""
    return filled(args if size is None else (size,), 0, dtype, requires_grad, device)


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """One number in every element; its class gives the dtype."""
    if isinstance(fill_value, Core):
        fill_value = fill_value._array().item()
    number = number_of(fill_value)
    if number is None:
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(fill_value).__name__}")
    if dtype is None:
        dtype = type(number) if isinstance(number, (float, complex)) else np.asarray(number).dtype
    return filled((size,), fill_value, dtype, requires_grad, device)


# ---- in the shape of another


TURN = Operation("permute", "PermuteBackward0", REVIEW.emit)


def turned_back(made: Core, axes: tuple[int, ...]) -> Any:
    """The tensor whose axes, in this order, are those of `made`."""
    return view(made, (("transpose", tuple(axes.index(k) for k in range(len(axes)))),), TURN)


def like(
    x: Core, value: Any, dtype: Any, requires_grad: bool, on: Any = None, memory_format: Any = None
) -> Any:
    """One number in a tensor of the shape of `x`, whose elements lie in the order of those of `x`."""
    kind = x._kind_of()
    wanted = dtype_of(dtype).numpy if dtype is not None else kind.numpy
    if (on is not None or x.is_meta) and is_meta(on, x):  # type: ignore[attr-defined]
        return shapes.shapes(kind.shape, wanted, requires_grad)
    on = on or "cpu"  # that of x, whatever the default is
    axes = order_of_format(x, memory_format)
    if axes is None:
        return alike(finished(np.full(kind.shape, value, wanted), requires_grad, on), x)
    made = alike(turned_back(finished(np.full([kind.shape[k] for k in axes], value, wanted), False, on), axes), x)
    return made.requires_grad_() if requires_grad else made


def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros in the shape of `input`."""
    return like(input, 0, dtype, requires_grad, device, memory_format)


def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones in the shape of `input`."""
    return like(input, 1, dtype, requires_grad, device, memory_format)


def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros, which nobody should count on, in the shape of `input`."""
    return like(input, 0, dtype, requires_grad, device, memory_format)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """One number in the shape of `input`."""
    if isinstance(fill_value, Core):
        fill_value = fill_value._array().item()
    return like(input, fill_value, dtype, requires_grad, device, memory_format)


def result_type(*tensors: Any, **named: Any) -> DType:
    """The dtype that an operation on these tensors and numbers has."""
    if not named.keys() <= {"tensor", "other", "scalar", "scalar1", "scalar2"}:
        raise TypeError(f"result_type(): expected tensor and other, or scalar and tensor, got {sorted(named)}")
    tensors = (*tensors, *named.values())
    arguments = [x._kind_of() if isinstance(x, Core) else type(x) for x in tensors]
    return ALL[common_dtype(arguments)]
