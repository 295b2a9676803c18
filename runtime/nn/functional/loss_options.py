"""Options of losses that say how PyTorch is to compute: they are checked, and make no difference here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...tensor.value.dtypes import DType

POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch is to cut the logits of `linear_cross_entropy` into pieces, and in which precision to add them up.

    Here they share kernels with the loss and are not cut: memory and rounding are ours, whatever the options say, and
    backward may go through the loss again where `retain_graph=True` says so.  Options that PyTorch refuses are a
    ValueError.

    allow_retain_graph   whether a second backward is meant
    batch_chunk_size     rows of a piece, a positive int
    chunking_method      "auto", "aspect_ratio", "aspect_ratio:2" and so on, or None
    acc_policy           "auto", "accurate", "balanced" or "compact"
    acc_dtype            a dtype of floats, or None

        >>> import pullback.nn as nn
        >>> nn.LinearCrossEntropyOptions(batch_chunk_size=2).acc_policy
        'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        rows, method, dtype = self.batch_chunk_size, self.chunking_method, self.acc_dtype
        if self.acc_policy not in POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if method not in (None, "auto"):
            name, given, factor = str(method).partition(":")
            if name != "aspect_ratio" or (given and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {method!r}")
        if rows is not None and not (isinstance(rows, int) and rows > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {rows!r}")
        if dtype is not None and not (isinstance(dtype, DType) and dtype.is_floating_point):
            raise ValueError(f"acc_dtype must be one of the floating-point dtypes or None, got {dtype!r}")


__all__ = ["LinearCrossEntropyOptions"]
