"""Calling a node of the gradient graph: `y.grad_fn(gradient)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..trace.tape import tapes
from ..value.core import Core, requires, wrap
from .accumulate import accumulate
from .modes import mode
from .nodes import AccumulateGrad, Flow, Node


def call_node(node: Node, *gradients: Any) -> Any:
    """What a node makes of the gradients of its results: those of its inputs, without hooks and without a walk."""
    if type(node).pull_back is not Node.pull_back and not isinstance(node, AccumulateGrad):
        raise TypeError(f"{type(node).__name__!r} object is not callable")
    tapes.tape.catch_up()  # a backward that was recognised may have used it up
    flows: list[Any] = []
    results = [True] if node.fragment is None else [kind.is_float for kind in node.fragment.results]
    wanted = max([k + 1 for k, is_float in enumerate(results) if is_float], default=0)
    if len(gradients) not in (wanted, len(results)):
        raise TypeError(f"expected {wanted} arguments, got {len(gradients)} instead")
    gradients += (None,) * (len(results) - len(gradients))
    for k, g in enumerate(gradients):
        if g is not None and not isinstance(g, Core):
            raise TypeError(f"argument {k} is not a Variable, but a {type(g).__name__}")
        flows.append(None if g is None else (g._read(), g._edge() if requires(g) else None))
    if isinstance(node, AccumulateGrad):
        if flows[0] is not None:
            accumulate(node.variable, flows[0], mode.enabled)
        return ()
    _check_shapes(node, flows)
    found = dict(node.pull_back(flows, mode.enabled)) if any(flows) else {}
    made = tuple([_tensor(found[k]) if k in found else None for k in node.shown()])
    return made[0] if len(made) == 1 else made


def _tensor(flow: Flow) -> Core:
    cell, edge = flow
    return wrap(cell) if edge is None else wrap(cell, *edge)


def _check_shapes(node: Node, flows: Sequence[Any]) -> None:
    assert node.fragment is not None
    for flow, kind in zip(flows, node.fragment.results, strict=True):
        if flow is not None and flow[0].kind.shape != kind.shape:
            raise RuntimeError(
                f"The size of tensor a {list(flow[0].kind.shape)} must match that of the result of"
                f" {node.name()}, {list(kind.shape)}"
            )


__all__ = ["call_node"]
