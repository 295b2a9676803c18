"""Dimensions as people write them: negative, missing, repeated; and PyTorch's errors about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....compiler.ir.symint import as_index
from .core import Core


def axis_of(dim: Any, rank: int) -> int:
    """The axis that `dim` means in a tensor of this rank; a scalar has one for this purpose."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"a dimension must be an int, got {type(dim).__name__}")
    dim, size = as_index(dim), max(rank, 1)
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})"
        )
    return dim % size


def axes_of(dim: Any, rank: int) -> tuple[int, ...]:
    """The axes that `dim` means, in increasing order: all of them for None or an empty tuple."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank))
    axes = [axis_of(d, rank) for d in (dim if isinstance(dim, (tuple, list)) else [dim])]
    for axis in axes:
        if axes.count(axis) > 1:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    return tuple(sorted(axes)) if rank else ()


def one(first: Any, second: Any, names: str, missing: Any = None) -> Any:
    """The argument that can be given under two names, such as dim and axis."""
    if first is not missing and second is not missing:
        raise TypeError(f"give only one of {names}")
    return second if first is missing else first


def sizes(shape: Sequence[Any]) -> tuple[int, ...]:
    """The shape given as separate integers or as one sequence."""
    if len(shape) == 1 and isinstance(shape[0], Iterable) and not isinstance(shape[0], Core):
        shape = tuple(shape[0])
    made = []
    for n in shape:
        if isinstance(n, Core):
            n = n._array().item()
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"a size must be an int, got {type(n).__name__}: {n!r}")
        made.append(as_index(n))
    return tuple(made)


def check_sizes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape`, if no size is negative."""
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape
