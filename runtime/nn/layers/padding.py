"""What is put around a tensor, as layers."""

from __future__ import annotations

from typing import Any

from ...tensor.face.tensor import Tensor
from .. import functional as F
from ..module import Module


class _Pad(Module):
    rank: int
    mode = "constant"
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        many = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)
        if len(many) != 2 * self.rank:
            raise ValueError(f"{type(self).__name__}: padding must be an int or {2 * self.rank} ints, got {padding}")
        self.padding = many

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPad(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise ValueError(f"expected {self.rank + 1}D or {self.rank + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class ConstantPad1d(_ConstantPad):
    """A number put around the last dimension."""

    rank = 1


class ZeroPad1d(_ZeroPad):
    """Zeros put around the last dimension."""

    rank = 1


class ReflectionPad1d(_Pad):
    """The mirror image put around the last dimension."""

    rank, mode = 1, "reflect"


class ReplicationPad1d(_Pad):
    """The edge put around the last dimension."""

    rank, mode = 1, "replicate"


class CircularPad1d(_CircularPad):
    """The other end put around the last dimension."""

    rank = 1


class ConstantPad2d(_ConstantPad):
    """A number put around the last two dimensions."""

    rank = 2


class ZeroPad2d(_ZeroPad):
    """Zeros put around the last two dimensions."""

    rank = 2


class ReflectionPad2d(_Pad):
    """The mirror image put around the last two dimensions."""

    rank, mode = 2, "reflect"


class ReplicationPad2d(_Pad):
    """The edge put around the last two dimensions."""

    rank, mode = 2, "replicate"


class CircularPad2d(_CircularPad):
    """The other end put around the last two dimensions."""

    rank = 2


class ConstantPad3d(_ConstantPad):
    """A number put around the last three dimensions."""

    rank = 3


class ZeroPad3d(_ZeroPad):
    """Zeros put around the last three dimensions."""

    rank = 3


class ReflectionPad3d(_Pad):
    """The mirror image put around the last three dimensions."""

    rank, mode = 3, "reflect"


class ReplicationPad3d(_Pad):
    """The edge put around the last three dimensions."""

    rank, mode = 3, "replicate"


class CircularPad3d(_CircularPad):
    """The other end put around the last three dimensions."""

    rank = 3


