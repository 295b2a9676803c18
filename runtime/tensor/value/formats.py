"""Orders of elements in memory that are asked for by name: `x.contiguous(memory_format=torch.channels_last)`."""

from __future__ import annotations

from typing import Any

from .located import located, order_in_memory
from .orders import layout


class _Word:
    """A constant that prints and pickles as its name, under which a module has it."""

    def __init__(self, name: str, module: str = __name__) -> None:
        self.name, self.__module__ = name, module

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class Layout(_Word):
    """How a tensor lies in memory.  There is only one way."""


class MemoryFormat(_Word):
    """What `memory_format=` takes: the order in which dimensions lie in memory."""


strided = Layout("strided")
contiguous_format, preserve_format = MemoryFormat("contiguous_format"), MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")


def lies_in(x: Any, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie one after the other in this order."""
    if memory_format is channels_last:
        return len(x._kind_of().shape) == 4 and _lies_whole(x.permute(0, 2, 3, 1))
    return _lies_whole(x)


def _lies_whole(x: Any) -> bool:
    return bool(layout(*located(x)).flags.c_contiguous)


def ordered(x: Any, memory_format: Any = contiguous_format, copy: bool = False) -> Any:
    """The tensor, or a copy of it whose elements lie in this order; a `copy` always."""
    if memory_format is preserve_format or (not copy and lies_in(x, memory_format)):
        return x
    if memory_format is not channels_last:
        return x.clone(memory_format=contiguous_format)
    if len(x._kind_of().shape) != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")
    return x.permute(0, 2, 3, 1).clone(memory_format=contiguous_format).permute(0, 3, 1, 2)


def order_of_format(x: Any, memory_format: Any) -> tuple[int, ...] | None:
    """The order of axes, the outermost first, of a tensor that is made like `x`; None for the axes' own."""
    if memory_format is None or memory_format is preserve_format:
        return order_in_memory(x)
    if memory_format is not channels_last:
        return None
    if len(x._kind_of().shape) != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")
    return 0, 2, 3, 1
