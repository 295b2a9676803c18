"""`torch.distributed.nn`: collectives through which gradients flow, for the group of one process.

Each takes a tensor, or a list of one tensor for each process, and returns what this process gets: with one process
that is the tensor itself, as a copy with its history.
"""

from __future__ import annotations

from typing import Any

from .distributed import ReduceOp, get_world_size


def _given(tensors: Any, group: Any) -> Any:
    """The tensor for this process of a list with one for each."""
    if len(tensors) != get_world_size(group):
        raise ValueError(f"expected a list of 1 tensor, one for each process; got {len(tensors)}")
    return tensors[0].clone()


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The tensors of all processes, joined."""
    return _given([tensor], group)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of process `src`."""
    return _given([tensor], group)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The tensors of all processes, joined at one."""
    return _given([tensor], group)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes."""
    return (_given([tensor], group),)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, at one."""
    return (_given([tensor], group),)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """The tensor for this process of a list at one."""
    return _given(tensors, group)


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """What the processes have for this one, joined."""
    return _given(input_list, group)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> tuple[Any, ...]:
    """What each process has for this one."""
    return (_given(input_tensor_list, group),)


__all__ = [
    "all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip
