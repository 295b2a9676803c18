"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

from ..tensor.tensor import Tensor
from ..tensor.windows import numbers
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter, blank


class _Convolution(Module):
    """Kernels slid over the input, with weights drawn evenly within 1/sqrt(elements of a kernel)."""

    rank: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name, rank = type(self).__name__, self.rank
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = numbers(kernel_size, rank, name, "kernel_size")
        self.stride = numbers(stride, rank, name, "stride")
        self.dilation = numbers(dilation, rank, name, "dilation")
        self.padding = padding if isinstance(padding, str) else numbers(padding, rank, name, "padding")
        self.padding_mode = padding_mode
        self._check()
        self.weight = blank(out_channels, in_channels // groups, *self.kernel_size, dtype=dtype, device=device)
        if bias:
            self.bias = blank(out_channels, dtype=dtype, device=device)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {self.groups}")
        for word, n in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if n % self.groups:
                raise ValueError(f"{word} must be divisible by groups, got {n} and {self.groups}")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of 'same', 'valid'")
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"padding_mode must be 'zeros', got padding_mode={self.padding_mode!r}")
        if self.padding_mode != "zeros":
            raise NotImplementedError(
                f"padding_mode={self.padding_mode!r} is not supported: widen the input with torch.cat and use padding=0"
            )

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        fan = math.prod(self.weight.shape[1:])
        bound = 1 / math.sqrt(fan) if fan > 0 else 0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        said = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self.rank:
            said += f", padding={self.padding}"
        if self.dilation != (1,) * self.rank:
            said += f", dilation={self.dilation}"
        if self.groups != 1:
            said += f", groups={self.groups}"
        return said if self.bias is not None else said + ", bias=False"


class Conv1d(_Convolution):
    """Kernels slid along [batch, in_channels, n]: [batch, out_channels, m]."""

    rank = 1

    def forward(self, input: Tensor) -> Tensor:
        return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Convolution):
    """Kernels slid over [batch, in_channels, height, width]: [batch, out_channels, rows, columns]."""

    rank = 2

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
