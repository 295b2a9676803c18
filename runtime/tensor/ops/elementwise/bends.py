"""Shrinking and bending: the nonlinearities that are methods of tensors too."""

from __future__ import annotations

from typing import Any

from ...face.required import check_tensors
from ...trace.fragments.fragments import Operation, widen
from ...value.core import Tensor, apply
from ...value.given import real
from ..arranging.shapes import reshape, shape_of


def _hardshrink(m: Any, x: Any, lambd: Any) -> Any:
    return m.select(m.and_(m.ge(x, -lambd), m.le(x, lambd)), 0, x)


def _prelu(m: Any, x: Any, weight: Any) -> Any:
    return m.select(m.gt(x, 0), x, m(widen(m.b, weight.value, x.value.type.static_shape())) * x)


HARDSHRINK = Operation("hardshrink", "HardshrinkBackward0", _hardshrink, "first", True)
PRELU = Operation("prelu", "PreluKernelBackward0", _prelu)


def _float(name: str, input: Any) -> Any:
    check_tensors(name, input=input)
    if not input._kind_of().is_float:
        raise NotImplementedError(f"{name}: not implemented for {input.dtype}; convert the tensor to a float first")
    return input


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 within -lambd .. lambd, else x."""
    return apply(HARDSHRINK, (_float("hardshrink", input), real(lambd)))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or weight * x where x is not positive; a weight for each channel (dimension 1), or one for all."""
    _float("prelu", input)
    check_tensors("prelu", input=input, weight=weight)
    shape, slopes = shape_of(input), shape_of(weight)
    if input._kind_of().dtype != weight._kind_of().dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight._kind_of().size != 1:
        channels = shape[1] if len(shape) > 1 else 1
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if weight._kind_of().size != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers ="
                f" {weight._kind_of().size} and channel size = {channels}."
            )
    if len(slopes) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(slopes)}")
    layout = tuple(weight._kind_of().size if a == 1 else 1 for a in range(len(shape)))
    if len(slopes) != len(shape) and len(shape) != 1:
        weight = reshape(weight, layout)
    return apply(PRELU, (input, weight))


__all__ = ["hardshrink", "prelu"]
