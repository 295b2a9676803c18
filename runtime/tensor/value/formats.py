"""Orders of elements in memory that are asked for by name: `x.contiguous(memory_format=torch.channels_last)`."""

from __future__ import annotations

from typing import Any

from ..face.queries import channels_last, contiguous_format, preserve_format
from .located import located
from .paths import strided


def lies_in(x: Any, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie one after the other in this order."""
    if memory_format is channels_last:
        return len(x._kind_of().shape) == 4 and _lies_whole(x.permute(0, 2, 3, 1))
    return _lies_whole(x)


def _lies_whole(x: Any) -> bool:
    return bool(strided(*located(x)).flags.c_contiguous)


def ordered(x: Any, memory_format: Any = contiguous_format) -> Any:
    """The tensor, or a copy of it whose elements lie in this order."""
    if memory_format is preserve_format or lies_in(x, memory_format):
        return x
    if memory_format is not channels_last:
        return x.clone()
    if len(x._kind_of().shape) != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")
    return x.permute(0, 2, 3, 1).clone().permute(0, 3, 1, 2)
