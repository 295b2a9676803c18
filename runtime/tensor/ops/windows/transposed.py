"""Transposed convolutions: what the gradient of a convolution does to its input, as layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....compiler.ops.convolve import SPACE, correlate
from .....compiler.ops.reduce import spread
from .....compiler.ops.shape import pad, reshape, slice_, transpose
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ..arranging.shapes import shape_of, squeeze, unsqueeze
from .convolutions import check_dtypes
from .windows import numbers

Shape = tuple[int, ...]


def _spread(m: Any, x: Any, w: Any, *rest: Any) -> Any:
    """Every element of x, `stride` apart, times the kernel around it; a kernel turned around slides over that."""
    *bias, stride, padding, extra, groups, dilation = rest
    b, shape, kernel = m.b, x.value.type.static_shape(), w.value.type.static_shape()
    images, channels, *sizes = shape
    edge = [(k - 1) * d for k, d in zip(kernel[2:], dilation, strict=True)]
    moves = list(zip(sizes, edge, stride, padding, extra, strict=True))
    # What padding takes away is cut after the sum, so no start is negative.
    wide = tuple((n - 1) * s + 1 + 2 * e + max(o - p, 0) for n, e, s, p, o in moves)
    apart = pad(b, x.value, start=(0, 0, *edge), step=(1, 1, *stride), shape=(images, channels, *wide))
    apart = reshape(b, apart, shape=(images, groups, channels // groups, *wide))
    ends = tuple(range(2, len(kernel)))
    back = {"start": (0, 0, *(n - 1 for n in kernel[2:])), "step": (1, 1, *(-1 for _ in ends)), "shape": kernel}
    around = reshape(b, slice_(b, w.value, **back), shape=(groups, channels // groups, *kernel[1:]))
    around = transpose(b, around, axes=(0, 2, 1, *range(SPACE, SPACE + len(ends))))
    made = correlate(b, apart, around, stride=(1,) * len(ends), dilation=dilation)
    made = reshape(b, made, shape=(images, groups * kernel[1], *made.type.shape[SPACE:]))
    kept = tuple((n - 1) * s + 1 + e - 2 * p + o for n, e, s, p, o in moves)
    part = {"start": (0, 0, *padding), "step": (1,) * len(shape), "shape": (images, groups * kernel[1], *kept)}
    made = m(slice_(b, made, **part))
    return made + m(spread(b, bias[0].value, shape=made.value.type.shape, axes=(1,))) if bias else made


TRANSPOSED = Operation("convolution", "ConvolutionBackward0", _spread, lies="format")


def _function(rank: int) -> Callable[..., Any]:
    name = f"conv_transpose{rank}d"

    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        given = (stride, padding, output_padding, dilation)
        words = ("stride", "padding", "output_padding", "dilation")
        moves = [numbers(v, rank, name, word) for word, v in zip(words, given, strict=True)]
        return _transposed(name, rank, input, weight, bias, moves, groups)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The kernels `weight` [channels, outputs / groups, k...] laid at each element of `input`, added."
    return function


conv_transpose1d, conv_transpose2d, conv_transpose3d = _function(1), _function(2), _function(3)


def _transposed(
    name: str, rank: int, input: Any, weight: Any, bias: Any, moves: list[Shape], groups: int
) -> Any:
    stride, padding, extra, dilation = moves
    tensors = (input, weight) if bias is None else (input, weight, bias)
    for word, x in zip(("input", "weight", "bias"), tensors, strict=False):
        if not isinstance(x, Core):
            raise TypeError(f"{name}(): {word} must be a Tensor, not {type(x).__name__}")
    shape, kernel = shape_of(input), shape_of(weight)
    if len(shape) not in (rank + 1, rank + 2) or len(kernel) != rank + 2:
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size:"
            f" {list(shape)} and weight of size {list(kernel)}"
        )
    check_dtypes(tensors)
    channels = shape[-rank - 1]
    if channels != kernel[0] or channels % groups:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(kernel)} and groups={groups}, expected input{list(shape)} to"
            f" have {kernel[0]} channels, but got {channels} channels instead"
        )
    if bias is not None and shape_of(bias) != (kernel[1] * groups,):
        raise RuntimeError(f"Given transposed=1, weight of size {list(kernel)}, expected bias to be 1-dimensional with"
                           f" {kernel[1] * groups} elements, but got bias of size {list(shape_of(bias))} instead")
    _check_moves(shape[-rank:], kernel[2:], moves)
    attributes = (stride, padding, extra, groups, dilation)
    if len(shape) == rank + 2:
        return apply(TRANSPOSED, tensors, attributes)
    return squeeze(apply(TRANSPOSED, (unsqueeze(input, 0), *tensors[1:]), attributes), 0)


def _check_moves(sizes: Shape, kernel: Shape, moves: list[Shape]) -> None:
    stride, padding, extra, dilation = moves
    for word, each, low in (("stride", stride, 1), ("dilation", dilation, 1), ("padding", padding, 0)):
        if min(each) < low:
            raise RuntimeError(f"{'non-positive' if low else 'negative'} {word} is not supported: got {list(each)}")
    for o, s, d in zip(extra, stride, dilation, strict=True):
        if o < 0 or (o >= s and o >= d):
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got"
                               f" output_padding={list(extra)}, stride={list(stride)}, dilation={list(dilation)}")
    made = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1
            for n, k, s, p, o, d in zip(sizes, kernel, *moves, strict=True)]
    if min(made) < 1:
        raise RuntimeError(f"Given input size per channel: {list(sizes)}. Calculated output size per channel: {made}."
                           " Output size is too small")


__all__ = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
