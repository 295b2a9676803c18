"""`torch.autograd`: gradients of given tensors with respect to given tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import backward as B
from .core import Core
from .modes import enable_grad, no_grad, set_grad_enabled
from .nodes import Node
from .tensor import Tensor


def _all(tensors: Any) -> list[Core]:
    made = [tensors] if isinstance(tensors, Core) else list(tensors)
    for k, t in enumerate(made):
        if not isinstance(t, Core):
            raise TypeError(f"expected Tensors, but element {k} is a {type(t).__name__}")
    return made


def _weights(weights: Any, count: int) -> list[Any]:
    if weights is None:
        return [None] * count
    made = [weights] if isinstance(weights, Core) else list(weights)
    if len(made) != count:
        raise RuntimeError(f"got {count} tensors and {len(made)} gradients")
    return made


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of `outputs`, weighted with `grad_outputs`, with respect to `inputs`."""
    results, sources = _all(outputs), _all(inputs)
    weights = _weights(grad_outputs, len(results))
    made = B.gradients(
        results, sources, weights, retain_graph, create_graph, bool(allow_unused), materialize_grads
    )
    return tuple(made)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of the leaves they were made of, or of `inputs`."""
    results = _all(tensors)
    weights = _weights(grad_tensors, len(results))
    wanted = None if inputs is None else _all(inputs)
    B.backward(results, weights, retain_graph, create_graph, wanted)


__all__ = ["Node", "backward", "enable_grad", "grad", "no_grad", "set_grad_enabled"]
