"""Layers that keep the largest or the mean element of every window."""

from __future__ import annotations

from typing import Any

from ..tensor.tensor import Tensor
from ..tensor.windows import numbers
from . import functional as F
from .module import Module


class _MaxPool(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = kernel_size if stride is None else stride
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation},"
            f" ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of every window along the last dimension."""

    def forward(self, input: Tensor) -> Any:
        move = self.kernel_size, self.stride, self.padding, self.dilation
        return F.max_pool1d(input, *move, self.ceil_mode, self.return_indices)


class MaxPool2d(_MaxPool):
    """The largest element of every window over the last two dimensions."""

    def forward(self, input: Tensor) -> Any:
        move = self.kernel_size, self.stride, self.padding, self.dilation
        return F.max_pool2d(input, *move, self.ceil_mode, self.return_indices)


class _Pool(Module):
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_Pool):
    """The mean of every window along the last dimension."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = numbers(kernel_size, 1, "AvgPool1d", "kernel_size")
        self.stride = self.kernel_size if stride is None else numbers(stride, 1, "AvgPool1d", "stride")
        self.padding = numbers(padding, 1, "AvgPool1d", "padding")
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        move = self.kernel_size, self.stride, self.padding
        return F.avg_pool1d(input, *move, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_Pool):
    """The mean of every window over the last two dimensions."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        move = self.kernel_size, self.stride, self.padding
        return F.avg_pool2d(input, *move, self.ceil_mode, self.count_include_pad, self.divisor_override)


class _Adaptive(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means of `output_size` windows along the last dimension."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """The means of `output_size` windows over the last two dimensions; None keeps a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)
