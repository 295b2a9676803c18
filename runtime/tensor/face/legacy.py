"""Older ways to make tensors: FloatTensor and its kin, and `range`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..ops.arranging.creation import empty, finished, tensor
from ..ops.arranging.shapes import ALIAS
from ..value.core import Core
from ..value.dtypes import (
    ALL,
    DType,
    Size,
    bfloat16,
    bool_,
    dtype_of,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..value.views import view


class _OfDtype(type):
    """Classes of which the tensors of one dtype are instances."""

    kind: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Core) and instance._kind_of().dtype == cls.kind.code


def _class(name: str, dtype: DType) -> Any:
    """`name(sizes...)`, elements that nobody should count on, or `name(sequence)`."""

    def new(cls: Any, *args: Any) -> Any:
        if args and all(isinstance(a, int) and not isinstance(a, bool) for a in args):
            return empty(*args, dtype=dtype)
        if len(args) == 1 and isinstance(args[0], Size):
            return empty(args[0], dtype=dtype)
        if len(args) > 1:
            raise TypeError(f"new(): {name} takes sizes or one sequence, got {len(args)} arguments")
        if args and isinstance(args[0], Core):
            have = ALL[args[0]._kind_of().dtype]
            if have is not dtype:
                raise TypeError(f"{name}(): a tensor of dtype {dtype} was expected, got {have}; convert it with"
                                f" x.to({dtype})")  # fmt: skip
            return view(args[0], (), ALIAS)
        return tensor(args[0] if args else [], dtype=dtype)

    made = _OfDtype(name, (), {"__new__": new, "__doc__": f"A tensor of dtype {dtype}, of sizes or a sequence."})
    made.kind = dtype
    return made


HalfTensor, BFloat16Tensor = _class("HalfTensor", float16), _class("BFloat16Tensor", bfloat16)
FloatTensor, DoubleTensor = _class("FloatTensor", float32), _class("DoubleTensor", float64)
LongTensor, IntTensor, ShortTensor = (
    _class("LongTensor", int64), _class("IntTensor", int32), _class("ShortTensor", int16),
)  # fmt: skip
CharTensor, ByteTensor, BoolTensor = (
    _class("CharTensor", int8), _class("ByteTensor", uint8), _class("BoolTensor", bool_),
)  # fmt: skip


def range(start: float = 0, end: Any = None, step: float = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """start, start + step, ... up to and with end."""
    warnings.warn("torch.range is deprecated; use torch.arange, which leaves out the end", stacklevel=2)
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    values = start + step * np.arange(int((end - start) / step) + 1)
    return finished(values.astype(kind.numpy), False, device)


__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "range",
]  # fmt: skip
