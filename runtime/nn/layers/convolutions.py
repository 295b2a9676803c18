"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

from ...tensor.face.tensor import Tensor
from ...tensor.ops.windows.windows import numbers
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter, blank


class _Convolution(Module):
    """Kernels slid over the input, with weights drawn evenly within 1/sqrt(elements of a kernel)."""

    rank: int
    transposed = False
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
        self.padding_mode, self.output_padding = padding_mode, (0,) * rank
        self._check()
        self.weight = blank(*self._weights(), *self.kernel_size, dtype=dtype, device=device)
        if bias:
            self.bias = blank(out_channels, dtype=dtype, device=device)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weights(self) -> tuple[int, int]:
        """The first two sizes of the weight."""
        return self.out_channels, self.in_channels // self.groups

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
            raise ValueError(
                "padding_mode must be one of 'zeros', 'reflect', 'replicate', 'circular', but got"
                f" padding_mode={self.padding_mode!r}"
            )

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """What is put around the input, as `pad` takes it."""
        sides = list[int]()
        given = (0,) * self.rank if self.padding == "valid" else self.padding
        for k in reversed(range(self.rank)):
            if isinstance(given, str):
                reach = self.dilation[k] * (self.kernel_size[k] - 1)
                sides += [reach // 2, reach - reach // 2]
            else:
                sides += [given[k]] * 2
        return sides

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        fan = math.prod(self.weight.shape[1:])
        bound = 1 / math.sqrt(fan) if fan > 0 else 0
        init.narrow_(self.weight)
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
        if self.bias is None:
            said += ", bias=False"
        return said if self.padding_mode == "zeros" else said + f", padding_mode={self.padding_mode}"


class _Straight(_Convolution):
    """A window that slides over the input."""

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input with what `padding_mode` puts around it, and the padding that is left to do."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), 0


class Conv1d(_Straight):
    """Kernels slid along [batch, in_channels, n]: [batch, out_channels, m]."""

    rank = 1

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The same with other kernels, which classes that change them call."""
        input, padding = self._padded(input)
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Straight):
    """Kernels slid over [batch, in_channels, height, width]: [batch, out_channels, rows, columns]."""

    rank = 2

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The same with other kernels, which classes that change them call."""
        input, padding = self._padded(input)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Straight):
    """Kernels slid over [batch, in_channels, depth, height, width]."""

    rank = 3

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The same with other kernels, which classes that change them call."""
        input, padding = self._padded(input)
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class _Transposed(_Convolution):
    """Kernels laid at every element of the input, and added."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        given = (stride, padding, dilation, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, *given)
        self.output_padding = numbers(output_padding, self.rank, type(self).__name__, "output_padding")

    def _weights(self) -> tuple[int, int]:
        return self.in_channels, self.out_channels // self.groups

    def _extra(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """What is added at the end of every dimension, so that the result has the size that is wanted."""
        if output_size is None:
            return self.output_padding
        batched = input.dim() == self.rank + 2
        wanted = tuple(output_size)
        wanted = wanted[2 if batched else 1 :] if len(wanted) == self.rank + (2 if batched else 1) else wanted
        if len(wanted) != self.rank:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {self.rank} or"
                f" {self.rank + (2 if batched else 1)} elements (got {len(wanted)})"
            )
        moves = zip(input.shape[-self.rank :], self.stride, self.padding, self.kernel_size, self.dilation, strict=True)
        least = [(n - 1) * s - 2 * int(p) + d * (k - 1) + 1 for n, s, p, k, d in moves]
        for n, low, s in zip(wanted, least, self.stride, strict=True):
            if not low <= n <= low + s - 1:
                raise ValueError(
                    f"requested an output size of {list(wanted)}, but valid sizes range from {least} to"
                    f" {[m + t - 1 for m, t in zip(least, self.stride, strict=True)]} (for an input of"
                    f" {list(input.shape[-self.rank :])})"
                )
        return tuple([n - low for n, low in zip(wanted, least, strict=True)])

    def extra_repr(self) -> str:
        said = super().extra_repr()
        if self.output_padding == (0,) * self.rank:
            return said
        first, mark, rest = said.partition(", groups=")
        if not mark:
            first, mark, rest = said.partition(", bias=")
        return f"{first}, output_padding={self.output_padding}{mark}{rest}"

    def _laid(self, function: Any, input: Tensor, output_size: Any) -> Tensor:
        extra = self._extra(input, output_size)
        move = (self.stride, self.padding, extra, self.groups, self.dilation)
        return function(input, self.weight, self.bias, *move)


class ConvTranspose1d(_Transposed):
    """The transpose of Conv1d."""

    rank = 1

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        return self._laid(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_Transposed):
    """The transpose of Conv2d."""

    rank = 2

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        return self._laid(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_Transposed):
    """The transpose of Conv3d."""

    rank = 3

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        return self._laid(F.conv_transpose3d, input, output_size)
