"""Types that annotations of PyTorch's programs name: one value or one for each axis, devices, numbers."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeVar

from ..tensor.face.functions import dtype, layout
from ..tensor.face.tensor import Tensor
from ..tensor.value.dtypes import Size, device

T = TypeVar("T")

Number = int | float | bool
Device = device | str | int | None
FileLike = str | os.PathLike[str] | IO[bytes]
_Number = (int, float, bool)
_int, _float, _bool, _str, _complex, _bytes = (
    builtins.int, builtins.float, builtins.bool, builtins.str, builtins.complex, builtins.bytes
)  # fmt: skip
_device, _dtype, _layout = device, dtype, layout
_size = Size | list[int] | tuple[int, ...]
_TensorOrTensors = Tensor | Sequence[Tensor]

_scalar_or_tuple_any_t = T | tuple[T, ...]
_scalar_or_tuple_1_t = T | tuple[T]
_scalar_or_tuple_2_t = T | tuple[T, T]
_scalar_or_tuple_3_t = T | tuple[T, T, T]
_scalar_or_tuple_4_t = T | tuple[T, T, T, T]
_scalar_or_tuple_5_t = T | tuple[T, T, T, T, T]
_scalar_or_tuple_6_t = T | tuple[T, T, T, T, T, T]
_size_any_t = _scalar_or_tuple_any_t[int]
_size_1_t = _scalar_or_tuple_1_t[int]
_size_2_t = _scalar_or_tuple_2_t[int]
_size_3_t = _scalar_or_tuple_3_t[int]
_size_4_t = _scalar_or_tuple_4_t[int]
_size_5_t = _scalar_or_tuple_5_t[int]
_size_6_t = _scalar_or_tuple_6_t[int]
_size_any_opt_t = tuple[int | None, ...]
_size_2_opt_t = tuple[int | None, int | None]
_size_3_opt_t = tuple[int | None, int | None, int | None]
_ratio_2_t = _scalar_or_tuple_2_t[float]
_ratio_3_t = _scalar_or_tuple_3_t[float]
_ratio_any_t = _scalar_or_tuple_any_t[float]
_tensor_list_t = Tensor | list[Tensor]
_maybe_indices_t = _scalar_or_tuple_2_t[Tensor]

__all__ = [
    "Device", "FileLike", "Number", "Size", "Tensor", "_Number", "_TensorOrTensors", "_bool", "_bytes", "_complex",
    "_device", "_dtype", "_float", "_int", "_layout", "_maybe_indices_t", "_ratio_2_t", "_ratio_3_t", "_ratio_any_t",
    "_scalar_or_tuple_1_t", "_scalar_or_tuple_2_t", "_scalar_or_tuple_3_t", "_scalar_or_tuple_4_t",
    "_scalar_or_tuple_5_t", "_scalar_or_tuple_6_t", "_scalar_or_tuple_any_t", "_size", "_size_1_t", "_size_2_opt_t",
    "_size_2_t", "_size_3_opt_t", "_size_3_t", "_size_4_t", "_size_5_t", "_size_6_t", "_size_any_opt_t",
    "_size_any_t", "_str", "_tensor_list_t",
]  # fmt: skip
