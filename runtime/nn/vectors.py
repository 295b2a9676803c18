"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensor.face.tensor import Tensor
from ..tensor.ops.arranging.pieces import cat
from ..tensor.value.core import Core


def parameters_to_vector(parameters: Iterable[Any]) -> Tensor:
    """The elements of all parameters, one after the other."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any]) -> None:
    """Give the parameters the elements of a vector, one after the other."""
    if not isinstance(vec, Core):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].reshape(p.shape).detach().clone()
        at += p.numel()


__all__ = ["parameters_to_vector", "vector_to_parameters"]
