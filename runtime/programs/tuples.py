"""What packages import of `torch.autograd.functional` beside what is public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor.face import functions as T


def as_tuple(given: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, tuple[Any, ...]]:
    """Whether it is a tuple, and the tuple that it is or that holds it alone."""
    if isinstance(given, tuple):
        return True, given
    if not T.is_tensor(given):
        raise TypeError(f"{fn_name}: {arg_name} must be a Tensor or a tuple of Tensors but got {type(given)}")
    return False, (given,)


def basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> tuple[Any, ...]:
    """For each tensor the rows of an identity matrix, of all elements together, that belong to it."""
    total, at, made = sum(tensor_numels), 0, []
    for x, count in zip(tensors, tensor_numels, strict=True):
        rows = T.zeros(total, count, dtype=x.dtype)
        rows[at : at + count] = T.eye(count, dtype=x.dtype)
        made.append(rows)
        at += count
    return tuple(made)


def grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """What is handed out: without history unless a graph is wanted."""
    if create_graph:
        return inputs
    if T.is_tensor(inputs):
        return inputs.detach()
    return tuple([grad_postprocess(x, create_graph) for x in inputs])


def tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """The tuple, or its only element where one came in; the second of two flags is for tuples within it."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple([each[0] for each in res])
    return res if outer else res[0]


__all__ = ["as_tuple", "basis_for", "grad_postprocess", "tuple_postprocess"]
