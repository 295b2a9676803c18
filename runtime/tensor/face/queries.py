"""What tensors and dtypes are: `is_*`, finfo, iinfo, promotion as a question, names of types, layout in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..ops.arranging.shapes import shape_of, whole_of
from ..trace.tape import force
from ..value.cells import cell_of, shown
from ..value.core import Core, Tensor, requires
from ..value.dtypes import ALL, LARGEST, DType, bfloat16, dtype_of, epsilon, get_default_dtype
from ..value.formats import Layout as Layout
from ..value.formats import MemoryFormat as MemoryFormat
from ..value.formats import channels_last as channels_last
from ..value.formats import contiguous_format as contiguous_format
from ..value.formats import preserve_format as preserve_format
from ..value.formats import strided as strided
from ..value.paths import Path, part_of
from ..value.paths import strided as layout_of
from ..value.promotion import wider
from ..value.storage import Storage
from ..value.writing import assign, check_writable
from .required import check_tensors

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None


# ---- dtypes


class finfo:
    """The limits of a floating-point dtype."""

    def __init__(self, type: DType | None = None) -> None:
        kind = get_default_dtype() if type is None else dtype_of(type)
        if not (kind.is_floating_point or kind.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type, got {kind}. Use torch.iinfo.")
        if kind is bfloat16:
            self.bits, self.dtype, self.max, self.eps = 16, "bfloat16", LARGEST["bf16"], epsilon(kind)
            self.min = -self.max
            self.tiny = self.smallest_normal = 2.0**-126
            self.resolution = 0.01
            return
        real = np.finfo(kind.numpy)
        self.bits, self.dtype = real.bits, str(real.dtype)
        self.min, self.max, self.eps, self.tiny = map(float, (real.min, real.max, real.eps, real.tiny))
        self.smallest_normal, self.resolution = self.tiny, 10.0**-real.precision

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        parts = [f"{n}={getattr(self, n):.6g}" for n in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")]
        return f"finfo({', '.join(parts)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type: DType) -> None:
        kind = dtype_of(type)
        if kind.numpy.kind not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type, got {kind}. Use torch.finfo.")
        whole = np.iinfo(kind.numpy)
        self.bits, self.min, self.max, self.dtype = whole.bits, int(whole.min), int(whole.max), kind.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:.6g}, max={self.max:.6g}, dtype={self.dtype})"


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that holds both."""
    for k, each in enumerate((type1, type2), 1):
        if not isinstance(each, DType):
            raise TypeError(
                f"promote_types(): argument 'type{k}' (position {k}) must be torch.dtype, not {type(each).__name__}"
            )
    return ALL[wider(type1.code, type2.code)]


def _level(kind: DType) -> int:
    return 3 if kind.is_complex else 2 if kind.is_floating_point else 0 if kind.code == "bool" else 1


def can_cast(from_: DType, to: DType) -> bool:
    """Whether one dtype may be written into another: not a float into integers, nor a number into bools."""
    return _level(from_) <= _level(to)


def typename(obj: Any) -> str:
    """The name of the type of an object; of a tensor, with its dtype."""
    if isinstance(obj, Core):
        return type_of(obj)
    module = getattr(obj, "__module__", None) or ""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if name is None or not isinstance(module, str):
        module, name = type(obj).__module__ or "", type(obj).__qualname__
    return name if module in ("", "builtins", "__builtin__") else f"{module}.{name}"


LEGACY = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
}  # fmt: skip


def type_of(x: Core) -> str:
    """What PyTorch calls the class of tensors with this dtype: `torch.FloatTensor`."""
    return f"torch.{LEGACY[ALL[x._kind_of().dtype].name]}Tensor"


def type_(input: Core, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type; or the tensor in another dtype, given as such or by that name."""
    if dtype is None:
        return type_of(input)
    if isinstance(dtype, str):
        found = next((n for n, c in LEGACY.items() if dtype == f"torch.{c}Tensor"), None)
        if found is None:
            raise ValueError(f"invalid type: {dtype!r}")
        dtype = next((d for d in ALL.values() if d.name == found), found)
    elif isinstance(dtype, type):  # torch.LongTensor
        dtype = getattr(dtype, "kind", dtype)
    code = dtype_of(dtype).code
    return input if code == input._kind_of().dtype else input.to(ALL[code])  # type: ignore[attr-defined]


def _with_dtype(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of `type_` with the dtype itself in place of a class of such tensors."""
    x, given, *rest = args if len(args) > 1 else (None, None)
    dtype = getattr(given, "kind", None) if isinstance(given, type) else None
    return args if dtype is None else (x, dtype, *rest)


type_.prepared = _with_dtype  # type: ignore[attr-defined]


# ---- tensors


def is_floating_point(input: Core) -> bool:
    """Whether the elements are floating-point numbers."""
    check_tensors("is_floating_point", input=input)
    return ALL[input._kind_of().dtype].is_floating_point


def is_complex(input: Core) -> bool:
    """Whether the elements are complex numbers."""
    check_tensors("is_complex", input=input)
    return ALL[input._kind_of().dtype].is_complex


def is_signed(input: Core) -> bool:
    """Whether the elements can be negative."""
    return ALL[input._kind_of().dtype].name not in ("bool", "uint8")


def is_nonzero(input: Core) -> bool:
    """Whether the only element is not zero."""
    return bool(input)


def is_inference(input: Core) -> bool:
    """Whether the tensor was made in an inference mode."""
    return input.is_inference()


def get_device(input: Core) -> int:
    """The number of the device: -1, the processor."""
    return -1


def is_conj(input: Core) -> bool:
    """Whether the tensor is a view that is conjugated when it is read: never."""
    return False


def is_neg(input: Core) -> bool:
    """Whether the tensor is a view that is negated when it is read: never."""
    return False


def numel(input: Core) -> int:
    """How many elements there are."""
    return input._kind_of().size


def is_set_to(input: Core, tensor: Core) -> bool:
    """Whether both are the same part of the same memory."""
    for x in (input, tensor):
        x._read()
    same = input is tensor or (input._storage is not None and input._storage is tensor._storage)
    if not same or shape_of(input) != shape_of(tensor) or storage_offset(input) != storage_offset(tensor):
        return False
    first, second = (layout_of(whole_of(x), x._path).strides for x in (input, tensor))
    return first == second


def storage_offset(input: Core) -> int:
    """Where in its memory the first element lies, counted in elements."""
    input._read()
    if not input._path:
        return 0
    if not input._kind_of().size:
        return 0
    whole = whole_of(input)
    return int(part_of(np.arange(prod(whole)).reshape(whole), input._path).ravel()[0])


def data_ptr(input: Core) -> int:
    """The address of the first element now; the next operation may move it."""
    array, storage = input._array(), input._storage
    if storage is None:
        return array.ctypes.data
    return address(storage, input._path)


def address(storage: Storage, path: Path) -> int:
    """The address of a part of a memory now."""
    memory, cell, _ = storage.now()
    return part_of(shown(force(cell)) if memory is None else memory, path).ctypes.data


def nbytes(input: Core) -> int:
    """How many bytes the elements take."""
    return input._kind_of().size * input._kind_of().numpy.itemsize


# ---- Python functions of elements


def apply_(input: Any, callable: Callable[[Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it."""
    return _replaced("apply_", input, callable, [])


def map_(input: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it and of that of another tensor."""
    return _replaced("map_", input, callable, [tensor])


def map2_(input: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it and of those of two other tensors."""
    return _replaced("map2_", input, callable, [x, y])


def _replaced(name: str, input: Any, function: Callable[..., Any], others: list[Any]) -> Any:
    if any(requires(x) for x in (input, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if not callable(function):
        raise TypeError(f"{name}(): {type(function).__name__!r} object is not callable")
    check_writable(input)
    kind = input._kind_of()
    wide = [np.broadcast_to(x._array(), kind.shape).ravel().tolist() for x in (input, *others)]
    values = [function(*each) for each in zip(*wide, strict=True)]
    assign(input, cell_of(np.array(values, kind.type.numpy).reshape(kind.shape)))
    return input


def detach(input: Tensor) -> Tensor:
    """The same memory without history."""
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """Forget the history."""
    return input.detach_()
