"""The bytes of a tensor in, read as elements of another dtype out: `x.view(torch.int32)`.

The result lies in the same memory, so that writing to one is seen in the other. It has no history and keeps none, as
bits have no derivative. The last axis holds the bytes, so it is longer or shorter where elements have another size.

    torch.ones(2).view(torch.int32)             # tensor([1065353216, 1065353216], dtype=torch.int32)
    torch.zeros(4, 6).view(torch.complex64)     # of shape (4, 3)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...value.cells import cell_of
from ...value.core import Core, Storage, wrap
from ...value.dtypes import ALL, DType, dtype_of
from ...value.located import located
from ...value.orders import layout
from ...value.paths import strided
from ...value.views import alias
from .creation import export, on_memory

NAMES = {
    "bool": "Bool", "u8": "Byte", "i8": "Char", "i16": "Short", "i32": "Int", "i64": "Long", "f16": "Half",
    "bf16": "BFloat16", "f32": "Float", "f64": "Double", "c64": "ComplexFloat", "c128": "ComplexDouble",
    "u16": "UInt16", "u32": "UInt32", "u64": "UInt64",
}  # fmt: skip
"""What errors call the dtypes."""


def reinterpreted(input: Core, dtype: Any) -> Any:
    """The memory of `input` as elements of another dtype."""
    have, wanted = ALL[input._kind_of().dtype], dtype_of(dtype)
    if have is wanted:
        return alias(input)
    whole, _, path = located(input)
    if have.itemsize != wanted.itemsize:
        _check(input, have, wanted)
    lies = strided(whole, path)
    array = export(input).view(wanted.numpy)
    memory: Any = input._shared().array
    if lies.flags.c_contiguous or memory is None or not memory.flags.c_contiguous:
        return on_memory(array)
    strides = [s * have.itemsize // wanted.itemsize for s in lies.strides[:-1]]
    offset = input.storage_offset() * have.itemsize // wanted.itemsize  # type: ignore[attr-defined]
    strides += lies.strides[-1:] if have.itemsize == wanted.itemsize else (1,)
    made = wrap(cell_of(np.array(array, order="C", copy=True)))
    made._storage = Storage(None, memory.reshape(-1).view(wanted.numpy))
    made._path = (("strided", array.shape, tuple(strides), offset),)
    return made


def _check(input: Core, have: DType, wanted: DType) -> None:
    """Raise PyTorch's errors where the last axis does not hold whole elements."""
    said = f"to view {NAMES[have.code]} as {NAMES[wanted.code]} (different element sizes)"
    shape = input._kind_of().shape
    if not shape:
        raise RuntimeError(f"self.dim() cannot be 0 {said}")
    *strides, last = layout(*located(input)).strides
    ratio = wanted.itemsize // have.itemsize
    offset = input.storage_offset()  # type: ignore[attr-defined]
    if ratio > 1 and shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {said}, but got {shape[-1]}")
    if ratio > 1 and offset % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {said}, but got {offset}")
    if last != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {said}, but got {last}")
    for axis, stride in enumerate(strides):
        if ratio > 1 and stride % ratio:
            raise RuntimeError(f"self.stride({axis}) must be divisible by {ratio} {said}, but got {stride}")


def of_other_dtype(input: Any, *shape: Any, dtype: Any = None, size: Any = None) -> Any:
    """What `view` gives where it is asked for a dtype; else NotImplemented."""
    asked = shape[0] if len(shape) == 1 else dtype
    return reinterpreted(input, asked) if isinstance(asked, DType) else NotImplemented


__all__ = ["of_other_dtype", "reinterpreted"]
