"""Layers that keep the largest, the mean or a norm of every window, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor.face.tensor import Tensor
from ...tensor.ops.windows.windows import numbers
from .. import functional as F
from ..module import Module


class _MaxPool(Module):
    """The largest element of every window."""

    function: Callable[..., Any]

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

    def forward(self, input: Tensor) -> Any:
        move = self.kernel_size, self.stride, self.padding, self.dilation
        return type(self).function(input, *move, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation},"
            f" ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of every window along the last dimension."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest element of every window over the last two dimensions."""

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest element of every window over the last three dimensions."""

    function = staticmethod(F.max_pool3d)


class _Unpool(Module):
    rank: int
    function: Callable[..., Any]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = numbers(kernel_size, self.rank, name, "kernel_size")
        self.stride = numbers(kernel_size if stride is None else stride, self.rank, name, "stride")
        self.padding = numbers(padding, self.rank, name, "padding")

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return type(self).function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_Unpool):
    """The largest elements put back where MaxPool1d found them, among zeros."""

    rank, function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_Unpool):
    """The largest elements put back where MaxPool2d found them, among zeros."""

    rank, function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_Unpool):
    """The largest elements put back where MaxPool3d found them, among zeros."""

    rank, function = 3, staticmethod(F.max_unpool3d)


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

    function: Callable[..., Any] = staticmethod(F.avg_pool2d)

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
        return type(self).function(input, *move, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AvgPool3d(AvgPool2d):
    """The mean of every window over the last three dimensions."""

    function = staticmethod(F.avg_pool3d)


class _LPPool(Module):
    function: Callable[..., Any]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride},"
            f" ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The root of the sum of powers of every window along the last dimension."""

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The root of the sum of powers of every window over the last two dimensions."""

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The root of the sum of powers of every window over the last three dimensions."""

    function = staticmethod(F.lp_pool3d)


class _Adaptive(Module):
    function: Callable[..., Any]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means of `output_size` windows along the last dimension."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """The means of `output_size` windows over the last two dimensions; None keeps a dimension."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_Adaptive):
    """The means of `output_size` windows over the last three dimensions; None keeps a dimension."""

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self).function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest elements of `output_size` windows along the last dimension."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest elements of `output_size` windows over the last two dimensions; None keeps a dimension."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest elements of `output_size` windows over the last three dimensions; None keeps a dimension."""

    function = staticmethod(F.adaptive_max_pool3d)


class _Fractional(Module):
    rank: int
    function: Callable[..., Any]

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        self.kernel_size = numbers(kernel_size, self.rank, name, "kernel_size")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else numbers(output_size, self.rank, name, "output_size")
        many = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * self.rank
        self.output_ratio = None if output_ratio is None else tuple(many)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        given = self.output_size, self.output_ratio, self.return_indices
        return type(self).function(input, self.kernel_size, *given, _random_samples=self._random_samples)


class FractionalMaxPool2d(_Fractional):
    """The largest elements of windows at random places over the last two dimensions."""

    rank, function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_Fractional):
    """The largest elements of windows at random places over the last three dimensions."""

    rank, function = 3, staticmethod(F.fractional_max_pool3d)
