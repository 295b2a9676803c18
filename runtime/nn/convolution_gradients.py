"""Gradients of convolutions by their shapes: what the input or the kernels get from the cotangent of the result.

A convolution is linear in each, so its gradient is asked for at zeros, and has derivatives in its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor.face.tensor import Tensor
from ..tensor.ops.arranging.creation import zeros
from ..tensor.ops.windows.convolutions import conv1d, conv2d, conv3d
from ..tensor.reverse.autograd import grad
from ..tensor.reverse.modes import enable_grad, is_grad_enabled


def _pulled(of: Callable[[Tensor], Tensor], size: Any, given: Tensor, grad_output: Tensor) -> Tensor:
    """The cotangent of what has this size, and that `of` convolves with what is given."""
    keeps = is_grad_enabled() and (given.requires_grad or grad_output.requires_grad)
    at = zeros(tuple(size), dtype=grad_output.dtype, requires_grad=True)
    with enable_grad():
        made = of(at)
    return grad(made, at, grad_output, create_graph=keeps)[0]


def conv1d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv1d for an input of this size."""
    rest = stride, padding, dilation, groups
    return _pulled(lambda x: conv1d(x, weight, None, *rest), input_size, weight, grad_output)


def conv1d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv1d for kernels of this size."""
    rest = stride, padding, dilation, groups
    return _pulled(lambda w: conv1d(input, w, None, *rest), weight_size, input, grad_output)


def conv2d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv2d for an input of this size."""
    rest = stride, padding, dilation, groups
    return _pulled(lambda x: conv2d(x, weight, None, *rest), input_size, weight, grad_output)


def conv2d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv2d for kernels of this size."""
    rest = stride, padding, dilation, groups
    return _pulled(lambda w: conv2d(input, w, None, *rest), weight_size, input, grad_output)


def conv3d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv3d for an input of this size."""
    rest = stride, padding, dilation, groups
    return _pulled(lambda x: conv3d(x, weight, None, *rest), input_size, weight, grad_output)


def conv3d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv3d for kernels of this size."""
    rest = stride, padding, dilation, groups
    return _pulled(lambda w: conv3d(input, w, None, *rest), weight_size, input, grad_output)


__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
