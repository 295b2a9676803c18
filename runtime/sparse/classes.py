"""Older ways to make sparse Tensors: `torch.sparse.FloatTensor(indices, values, size)` in, one in coordinates out."""

from __future__ import annotations

from typing import Any

from ..tensor.value.core import Core
from ..tensor.value.dtypes import DType, bfloat16, float16, float32, float64, int16, int32, int64, uint8
from .tensors import COO, SparseTensor, sparse_coo_tensor


class _SparseOfDtype(type):
    """Classes of which the sparse tensors of one dtype, in coordinates, are instances."""

    kind: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, SparseTensor) and instance.layout is COO and instance.dtype is cls.kind


def _class(name: str, dtype: DType) -> Any:
    """`name(indices, values, size)`, whose dtype is that of `values`; or `name(sizes...)` without entries."""

    def new(cls: Any, *args: Any) -> Any:
        if all(isinstance(a, int) and not isinstance(a, bool) for a in args):
            return sparse_coo_tensor(args or (0,), dtype=dtype)
        if len(args) == 1 and isinstance(args[0], tuple):
            return sparse_coo_tensor(args[0], dtype=dtype)
        if len(args) not in (2, 3) or not all(isinstance(a, Core) for a in args[:2]):
            raise TypeError(f"new(): sparse.{name} takes two Tensors, indices and values, and a size; or sizes alone;"
                            f" got ({', '.join(type(a).__name__ for a in args)})")
        if args[0].dtype is not int64:
            raise RuntimeError(f"expected indices of dtype torch.int64 but found {args[0].dtype}")
        return sparse_coo_tensor(*args)

    made = _SparseOfDtype(name, (), {"__new__": new, "__doc__": f"A sparse tensor of dtype {dtype}, in coordinates."})
    made.kind = dtype
    return made


HalfTensor, BFloat16Tensor = _class("HalfTensor", float16), _class("BFloat16Tensor", bfloat16)
FloatTensor, DoubleTensor = _class("FloatTensor", float32), _class("DoubleTensor", float64)
LongTensor, IntTensor, ShortTensor = (
    _class("LongTensor", int64), _class("IntTensor", int32), _class("ShortTensor", int16),
)  # fmt: skip
ByteTensor = _class("ByteTensor", uint8)

__all__ = [
    "BFloat16Tensor", "ByteTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
]  # fmt: skip
