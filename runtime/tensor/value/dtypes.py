"""What a Tensor's elements and shape are called: `torch.float32`, `torch.Size([3])`, `cpu`.

They print as PyTorch's do, because programs written for it compare and show these texts.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....compiler.ir.types import STORED
from .devices import CPU as CPU
from .devices import device as device

COMPLEX = {"c64": np.dtype(np.complex64), "c128": np.dtype(np.complex128)}
"""The dtypes of complex numbers, which the graph has as pairs."""

CODES = {dtype: code for code, dtype in (STORED | COMPLEX).items()}


class DType:
    """An element kind.  There is one object for each, so `is` and `==` agree.

    Some are names only, of which there are no tensors: they are not in `ALL`, and have no code or no `numpy`.
    """

    __slots__ = ("name", "code", "numpy", "itemsize")

    def __init__(self, name: str, code: str, itemsize: int = 0) -> None:
        self.name, self.code, self.itemsize = name, code, itemsize
        if code in STORED or code in COMPLEX:
            self.numpy = (STORED | COMPLEX)[code]
            self.itemsize = self.numpy.itemsize

    @property
    def is_floating_point(self) -> bool:
        return self.name.startswith(("float", "bfloat"))

    @property
    def is_complex(self) -> bool:
        return self.name.startswith("complex")

    @property
    def is_signed(self) -> bool:
        return not self.name.startswith(("uint", "bool"))

    def to_real(self) -> DType:
        """The dtype of its parts, if it is complex."""
        return {"c64": float32, "c128": float64}.get(self.code, self)

    def to_complex(self) -> DType:
        """The complex dtype whose parts have this one."""
        return {"f64": complex128}.get(self.code, complex64 if self.is_floating_point else self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name if self.name != "bool" else "bool_"


bool_ = DType("bool", "bool")
uint8, int8, int16 = DType("uint8", "u8"), DType("int8", "i8"), DType("int16", "i16")
uint16, uint32, uint64 = DType("uint16", "u16"), DType("uint32", "u32"), DType("uint64", "u64")
int32, int64 = DType("int32", "i32"), DType("int64", "i64")
float16, bfloat16 = DType("float16", "f16"), DType("bfloat16", "bf16", 2)
half, float8_e4m3fn, float8_e5m2 = float16, DType("float8_e4m3fn", "", 1), DType("float8_e5m2", "", 1)
float32, float64 = DType("float32", "f32"), DType("float64", "f64")
complex64, complex128 = DType("complex64", "c64"), DType("complex128", "c128")
chalf = complex32 = DType("complex32", "", 4)
float8_e4m3fnuz, float8_e5m2fnuz = DType("float8_e4m3fnuz", "", 1), DType("float8_e5m2fnuz", "", 1)
float8_e8m0fnu, float4_e2m1fn_x2 = DType("float8_e8m0fnu", "", 1), DType("float4_e2m1fn_x2", "", 1)
qint8, quint8, qint32 = DType("qint8", "", 1), DType("quint8", "", 1), DType("qint32", "", 4)
quint4x2, quint2x4 = DType("quint4x2", "", 1), DType("quint2x4", "", 1)
int1, int2, int3, int4, int5, int6, int7 = (DType(f"int{k}", "", 1) for k in range(1, 8))
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (DType(f"uint{k}", "", 1) for k in range(1, 8))

ALL = {
    d.code: d for d in (
        bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128, uint16,
        uint32, uint64,
    ) if hasattr(d, "numpy")
}  # fmt: skip

LARGEST = {"f16": 65504.0, "bf16": (2 - 2.0**-7) * 2.0**127}
"""The largest number of the floats that others compute for."""


def epsilon(dtype: DType) -> float:
    """The step from 1 to the next larger number of a floating-point dtype."""
    return 2.0**-7 if dtype is bfloat16 else float(np.finfo(dtype.numpy).eps)


_default = float32


def get_default_dtype() -> DType:
    """The dtype that Python's floats become."""
    return _default


def default_complex() -> DType:
    """The dtype that Python's complex numbers become."""
    return complex64 if _default is float32 else complex128


def set_default_dtype(d: DType) -> None:
    """Make Python's floats become `d`, a floating-point dtype."""
    global _default
    if d in (float16, bfloat16):
        raise NotImplementedError(f"{d!r} as the default dtype: use torch.float32 or torch.float64, and .to({d!r})")
    if not isinstance(d, DType) or not d.is_floating_point:
        raise TypeError(f"only floating-point dtypes are supported as the default, got {d!r}")
    _default = d


def dtype_of(what: Any, name: str = "dtype") -> DType:
    """The DType that `what` means: one of ours, a NumPy dtype, or Python's float, int or bool."""
    if isinstance(what, DType):
        if what.code not in ALL:
            known = ", ".join(map(repr, ALL.values()))
            fix = "install ml_dtypes: pip install 'pullback[bfloat16]'" if what is bfloat16 else f"there are {known}"
            raise NotImplementedError(f"elements of dtype {what!r} are not supported; {fix}")
        return what
    if what is float:
        return _default
    if what is complex:
        return default_complex()
    try:
        code = CODES.get(np.dtype(what))
    except TypeError:
        code = None
    if code is None:
        known = ", ".join(map(repr, ALL.values()))
        raise TypeError(f"{name} must be one of {known}; got {what!r}")
    return ALL[code]


class Size(tuple[int, ...]):
    """A shape."""

    def numel(self) -> int:
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return Size((*other, *self))
