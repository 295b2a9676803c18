"""Numbers to the nearest of a grid of quantised ones, as floats: what training that knows of quantisation computes.

A number x stands for the whole number q = round(x / scale) + zero_point, which is held between quant_min and quant_max;
the result is (q - zero_point) * scale. Its gradient is handed on where q was not held.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ...calls.asking import check_values
from ...face.required import check_tensors
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply, number_of
from ...value.promotion import c_name
from ..arranging.creation import tensor
from ..arranging.shapes import expand, reshape, shape_of


def _whole(m: Any, x: Any, scale: Any, zero: Any) -> Any:
    return m.rint(x * (1.0 / scale)) + zero


def _nearest(m: Any, x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    q = _whole(m, x, scale, zero)
    q = m.select(m.gt(q, float(high)), 0.0 * q + float(high), q)
    return (m.select(m.lt(q, float(low)), 0.0 * q + float(low), q) - zero) * scale


def _pull(m: Any, inputs: Any, results: Any, cts: Any, low: int, high: int) -> Any:
    (x, scale, zero), (ct,) = inputs, cts
    q = _whole(m, x, scale, zero)
    inside = m.and_(m.ge(q, float(low)), m.ge(float(high) + 0.0 * q, q))
    return [m.select(inside, ct, 0.0 * ct), None, None]


BY_NUMBERS, BY_TENSORS, BY_CHANNEL = (
    Operation(f"fake_quantize_per_{each}_affine", f"FakeQuantizePer{each.title()}AffineCachemask{rest}Backward0",
              _nearest, pull=_pull)
    for each, rest in (("tensor", ""), ("tensor", "TensorQparams"), ("channel", ""))
)  # fmt: skip


def _check_ends(low: Any, high: Any) -> tuple[int, int]:
    low, high = index(low), index(high)
    if low > high:
        raise RuntimeError(f"`quant_min` should be less than or equal to `quant_max`, got {low} and {high}.")
    return low, high


def _check_float(name: str, input: Any) -> None:
    check_tensors(name, input=input)
    if input._kind_of().dtype not in ("f32", "f64"):
        raise RuntimeError(f"{name}: expected float32 or float64, got {c_name(input._kind_of().dtype)}")


def _spread(x: Any, input: Tensor) -> Tensor:
    return expand(x.detach().to(input.dtype), shape_of(input))


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """The nearest quantised numbers as floats; `scale` and `zero_point` are numbers or tensors of one element."""
    name = "fake_quantize_per_tensor_affine"
    _check_float(name, input)
    low, high = _check_ends(quant_min, quant_max)
    zero = number_of(zero_point)
    if zero is not None and not low <= zero <= high:
        raise RuntimeError(f"`zero_point` must be between `quant_min` and `quant_max`, got {zero}, {low} and {high}.")
    dtype = input.dtype
    given: list[Any] = [x if isinstance(x, Core) else tensor(x, dtype=dtype) for x in (scale, zero_point)]
    operation = BY_TENSORS if isinstance(scale, Core) else BY_NUMBERS
    return apply(operation, (input, *[_spread(reshape(x, ()), input) for x in given]), (low, high))


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """The nearest quantised numbers as floats, with a `scale` and a `zero_point` for each index along `axis`."""
    name = "fake_quantize_per_channel_affine"
    _check_float(name, input)
    low, high = _check_ends(quant_min, quant_max)
    if scale._kind_of().dtype != "f32":
        raise RuntimeError(f"Scale must be Float, found {c_name(scale._kind_of().dtype)}")
    if zero_point._kind_of().dtype not in ("i32", "f32", "f16"):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {c_name(zero_point._kind_of().dtype)}")
    shape = shape_of(input)
    at = axis_of(axis, len(shape))
    wide = (*(1,) * at, shape[at], *(1,) * (len(shape) - at - 1))
    for what, x in (("scale", scale), ("zero-point", zero_point)):
        if shape_of(x) != (shape[at],):
            found = f"{list(shape_of(x))} and {list(shape)}"
            raise RuntimeError(f"dimensions of {what} and input tensor do not match along axis {at}: {found}")

    def within(values: np.ndarray) -> None:
        if values.size and not (values.min() >= low and values.max() <= high):
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")

    check_values(zero_point, within)
    return apply(BY_CHANNEL, (input, *[_spread(reshape(x, wide), input) for x in (scale, zero_point)]), (low, high))


__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]
