"""`torch.autograd`: gradients of given tensors with respect to given tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls.calls import recorded
from ..face.tensor import Tensor
from ..transforms.crossings import enter, leave
from ..transforms.lanes import Level
from ..value.core import Core
from . import backward as B
from . import graph
from .anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from .custom import Function
from .modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .nodes import Node


class _IsTensor(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_IsTensor):
    """What tensors with a gradient were called once: `Variable(x)` is a tensor on the memory of `x`."""

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        if not isinstance(data, Core):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}; make one of it first")
        made = data.detach()
        return made.requires_grad_() if requires_grad else made


def _all(tensors: Any, name: str) -> list[Any]:
    one = isinstance(tensors, (Core, graph.GradientEdge))
    made = [tensors] if one else list(tensors)
    for k, t in enumerate(made):
        if not isinstance(t, (Core, graph.GradientEdge)):
            raise TypeError(f"{name}: expected Tensors, but element {k} is a {type(t).__name__}")
    return made


def _weights(weights: Any, count: int) -> list[Any]:
    if weights is None:
        return [None] * count
    made = [weights] if isinstance(weights, Core) else list(weights)
    if len(made) != count:
        raise RuntimeError(f"got {count} tensors and {len(made)} gradients")
    return made


def grad(
    outputs: Core | Sequence[Any],
    inputs: Core | Sequence[Any],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of `outputs`, weighted with `grad_outputs`, with respect to `inputs`.

    allow_unused        None, and no error, for inputs that make no difference
    materialize_grads   zeros for them
    is_grads_batched    grad_outputs have a dimension more, the first, and so have the gradients
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    results, sources = _all(outputs, "outputs"), _all(inputs, "inputs")
    if not sources:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty: give the tensors to differentiate by.")
    weights = _weights(grad_outputs, len(results))

    def once(rows: Sequence[Any], retain: bool | None) -> list[Any]:
        unused = bool(allow_unused) or materialize_grads
        return _gradients(results, sources, rows, retain, create_graph, unused, materialize_grads)

    if not is_grads_batched:
        return tuple(once(weights, retain_graph))
    if any(w is None for w in weights):
        raise RuntimeError("is_grads_batched: grad_outputs must be given for all outputs, with a batch in dimension 0")
    sizes = {w.shape[0] for w in weights}
    if len(sizes) != 1:
        raise ValueError(f"is_grads_batched: expected grad_outputs with one batch size in dimension 0, got {sizes}")
    with Level(sizes.pop()) as level:
        made = once([enter(w, level) for w in weights], retain_graph)
        return tuple([x if x is None else leave(x, level) for x in made])


_gradients = recorded(B.gradients, exact=True)


def backward(
    tensors: Core | Sequence[Any],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Core | Sequence[Any] | None = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of the leaves they were made of, or of `inputs`."""
    results = _all(tensors, "tensors")
    weights = _weights(grad_tensors if grad_variables is None else grad_variables, len(results))
    wanted = None if inputs is None else _all(inputs, "inputs")
    B.backward(results, weights, retain_graph, create_graph, wanted)


__all__ = [
    "Function",
    "Node",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
