"""Convolution layers as functions: conv1d, conv2d, conv3d."""

from __future__ import annotations

from typing import Any

from .....compiler.ops.convolve import convolve
from .....compiler.ops.reduce import spread
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.promotion import c_name
from ..arranging.shapes import shape_of, squeeze, unsqueeze
from .windows import Window, numbers


def _emit(m: Any, x: Any, w: Any, *rest: Any) -> Any:
    *bias, window, groups = rest
    made = convolve(m.b, x.value, w.value, window.stride, window.padding, window.dilation, groups)
    if not bias:
        return m(made)
    return m(made) + m(spread(m.b, bias[0].value, shape=made.type.shape, axes=(1,)))


CONVOLUTION = Operation("convolution", "ConvolutionBackward0", _emit, lies="format")


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The kernels `weight` [outputs, channels / groups, k] slid along `input` [batch, channels, n]."""
    return _convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The kernels `weight` [outputs, channels / groups, k, l] slid over `input` [batch, channels, height, width]."""
    return _convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The kernels `weight` [outputs, channels / groups, j, k, l] slid over `input` [batch, channels, d, h, w]."""
    return _convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _convolution(
    name: str,
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    tensors = (input, weight) if bias is None else (input, weight, bias)
    for word, x in zip(("input", "weight", "bias"), tensors, strict=False):
        if not isinstance(x, Core):
            raise TypeError(f"{name}(): {word} must be a Tensor, not {type(x).__name__}")
    shape, kernel = shape_of(input), shape_of(weight)
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size:"
            f" {list(shape)}"
        )
    if len(kernel) != rank + 2:
        raise RuntimeError(f"{name}: expected {rank + 2}D weight, but got weight of size {list(kernel)}")
    check_dtypes(tensors)
    window = _window(name, kernel[2:], stride, padding, dilation)
    channels, sizes = shape[-rank - 1], shape[-rank:]
    _check_channels(channels, shape, kernel, bias, groups)
    _check_reach(sizes, window)
    if len(shape) == rank + 2:
        return apply(CONVOLUTION, tensors, (window, groups))
    made = apply(CONVOLUTION, (unsqueeze(input, 0), *tensors[1:]), (window, groups))
    return squeeze(made, 0)


def _window(name: str, kernel: tuple[int, ...], stride: Any, padding: Any, dilation: Any) -> Window:
    rank = len(kernel)
    stride, dilation = numbers(stride, rank, name, "stride"), numbers(dilation, rank, name, "dilation")
    for word, each in (("stride", stride), ("dilation", dilation)):
        if min(each) < 1:
            raise RuntimeError(f"non-positive {word} is not supported: {name} got {word}={list(each)}")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: {padding!r}: use 'same', 'valid' or ints")
        same = padding == "same"
        if same and max(stride) > 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        around = [(k - 1) * d if same else 0 for k, d in zip(kernel, dilation, strict=True)]
        return Window(kernel, stride, tuple([(n // 2, n - n // 2) for n in around]), dilation)
    padding = numbers(padding, rank, name, "padding")
    if min(padding) < 0:
        raise RuntimeError(f"negative padding is not supported: {name} got padding={list(padding)}")
    return Window(kernel, stride, tuple([(n, n) for n in padding]), dilation)


def check_dtypes(tensors: tuple[Core, ...]) -> None:
    first = tensors[0]._kind_of().dtype
    for word, x in zip(("input", "weight", "bias"), tensors, strict=False):
        have = x._kind_of().dtype
        if have != first:
            raise RuntimeError(
                f"Input type ({c_name(first).lower()}) and {word} type ({c_name(have).lower()}) should be the same"
            )
    if first == "bool":
        raise RuntimeError("convolution is not implemented for 'Bool': convert the tensors first")


def _check_channels(
    channels: int, shape: tuple[int, ...], kernel: tuple[int, ...], bias: Core | None, groups: Any
) -> None:
    outputs = kernel[0]
    if isinstance(groups, bool) or not hasattr(groups, "__index__"):
        raise TypeError(f"groups must be an int, not {type(groups).__name__}")
    if groups < 1:
        raise RuntimeError(f"non-positive groups is not supported: got groups={groups}")
    said = f"Given groups={groups}, weight of size {list(kernel)}"
    if outputs < groups or outputs % groups:
        raise RuntimeError(f"{said}, expected a multiple of {groups} outputs at dimension 0 of weight")
    if channels != kernel[1] * groups:
        raise RuntimeError(
            f"{said}, expected input{list(shape)} to have {kernel[1] * groups} channels, but got {channels} channels"
            " instead"
        )
    if bias is not None and shape_of(bias) != (outputs,):
        raise RuntimeError(
            f"Given weight of size {list(kernel)}, expected bias to be 1-dimensional with {outputs} elements, but"
            f" got bias of size {list(shape_of(bias))} instead"
        )


def _check_reach(sizes: tuple[int, ...], window: Window) -> None:
    padded = [n + low + high for n, (low, high) in zip(sizes, window.padding, strict=True)]
    if any(r > n for r, n in zip(window.reach, padded, strict=True)) or 0 in window.kernel:
        sides = [" x ".join(map(str, each)) for each in (padded, window.reach)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({sides[0]}). Kernel size: ({sides[1]}). Kernel size can't"
            " be greater than actual input size"
        )


__all__ = ["conv1d", "conv2d", "conv3d"]
