"""Walking the gradient graph from outputs to leaves, newest node first.

What a node computes on the way back is recorded on the tape like everything else; with `create_graph` it gets
nodes of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .arithmetic import ADD, add
from .cells import Cell
from .core import Core, overwrite, requires, wrap
from .elementary import cast_to
from .modes import set_grad_enabled
from .nodes import AccumulateGrad, Edge, Flow, Node, added, zeros
from .tape import begin_backward

Wanted = dict[Node, set[int]]
Held = dict[Node, list[Flow | None]]
"""The cotangents of the results of nodes that are still to come."""


def run_backward(
    roots: Sequence[tuple[Edge, Flow]], retain: bool, create: bool, inputs: Sequence[Edge] | None
) -> dict[Edge, Flow]:
    """Carry cotangents from `roots` to the leaves, or only to the edges `inputs`, whose cotangents it returns."""
    begin_backward()
    wanted: Wanted = {}
    for node, index in inputs or ():
        wanted.setdefault(node, set()).add(index)
    order = _ordered(node for (node, _), _ in roots)
    useful = None if inputs is None else _useful(order, wanted)
    held: Held = {}
    for edge, flow in roots:
        _give(held, edge, flow, create)
    found: dict[Edge, Flow] = {}
    for node in order:
        flows = held.pop(node, None)
        if flows is None or (useful is not None and node not in useful):
            continue
        if node.retained:
            _retain(node, flows, create)
        for index in wanted.get(node, ()):
            flow = flows[index]
            if flow is not None:
                found[node, index] = flow
        if isinstance(node, AccumulateGrad):
            if inputs is None and flows[0] is not None:
                accumulate(node.variable, flows[0], create)
            continue
        edges = node.edges
        if useful is not None and not any(e and e[0] in useful for e in edges):
            continue
        for k, flow in node.pull_back(flows, create):
            _give(held, edges[k], flow, create)
        if not retain:
            node.free()
    return found


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    """All nodes that can be reached, each before what it leads to."""
    seen: dict[Node, None] = {}  # in the order of finding, so that equal programs record equal traces
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen[node] = None
            pending += [e[0] for e in node.edges if e is not None and e[0] not in seen]
    return sorted(seen, key=attrgetter("sequence"), reverse=True)


def _useful(order: Sequence[Node], wanted: Wanted) -> set[Node]:
    """The nodes from which a wanted one can be reached."""
    useful = set(wanted)
    for node in reversed(order):
        if any(e is not None and e[0] in useful for e in node.edges):
            useful.add(node)
    return useful


def _give(held: Held, edge: Edge | None, flow: Flow, create: bool) -> None:
    assert edge is not None
    node, index = edge
    flows = held.get(node)
    if flows is None:
        flows = held[node] = [None] * node.outputs
    have = flows[index]
    flows[index] = flow if have is None else added(ADD, have, flow, create)


def _retain(node: Node, flows: Sequence[Flow | None], create: bool) -> None:
    for index, kept in (node.retained or {}).items():
        tensor, flow = kept(), flows[index]
        if tensor is not None and flow is not None:
            accumulate(tensor, flow, create)


def _tensor(flow: Flow) -> Core:
    cell, edge = flow
    return wrap(cell) if edge is None else wrap(cell, edge[0], edge[1])


def accumulate(leaf: Core, flow: Flow, create: bool) -> None:
    """Add a cotangent to `leaf.grad`."""
    new = _tensor(flow)
    have = leaf._grad
    if have is None:
        leaf._grad = new
    elif create:
        leaf._grad = add(have, new)
    else:
        with set_grad_enabled(False):
            overwrite(have, add(have, new))


def backward(
    tensors: Sequence[Core],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Core] | None = None,
) -> None:
    """Add the gradients of `tensors`, weighted with `gradients`, to the `grad` of the leaves or of `inputs`."""
    roots = _roots(tensors, gradients, create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, retain, create_graph, None)
        return
    if not inputs:
        raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
    edges = _input_edges(inputs)
    found = run_backward(roots, retain, create_graph, edges)
    for tensor, edge in zip(inputs, edges, strict=True):
        if edge in found:
            accumulate(tensor, found[edge], create_graph)


def gradients(
    outputs: Sequence[Core],
    inputs: Sequence[Core],
    weights: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
    materialize: bool,
) -> list[Core | None]:
    """The gradients of `outputs`, weighted, with respect to `inputs`, without touching any `grad`."""
    roots = _roots(outputs, weights, create_graph)
    edges = _input_edges(inputs)
    retain = create_graph if retain_graph is None else retain_graph
    found = run_backward(roots, retain, create_graph, edges)
    made: list[Core | None] = []
    for k, (tensor, edge) in enumerate(zip(inputs, edges, strict=True)):
        flow = found.get(edge)
        if flow is not None:
            made.append(_tensor(flow))
        elif materialize:
            made.append(wrap(zeros(tensor._read().kind)))
        elif allow_unused:
            made.append(None)
        else:
            raise RuntimeError(
                f"The differentiated Tensor at index {k} appears to not have been used in the graph."
                " Set allow_unused=True if this is the desired behavior."
            )
    return made


def _input_edges(inputs: Sequence[Core]) -> list[Edge]:
    edges = []
    for k, tensor in enumerate(inputs):
        edge = tensor._edge() if requires(tensor) else None
        if edge is None:
            raise RuntimeError(f"tensor {k} of the inputs does not require grad")
        edges.append(edge)
    return edges


def _roots(
    tensors: Sequence[Core], weights: Sequence[Any], create: bool
) -> list[tuple[Edge, Flow]]:
    roots = []
    for k, (tensor, weight) in enumerate(zip(tensors, weights, strict=True)):
        edge = tensor._edge() if requires(tensor) else None
        if edge is None:
            raise RuntimeError(
                f"element {k} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append((edge, _seed(k, tensor, weight, create)))
    return roots


def _seed(k: int, tensor: Core, weight: Any, create: bool) -> Flow:
    kind = tensor._read().kind
    if weight is None:
        if kind.size != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs;"
                f" this one has shape {list(kind.shape)}: give backward(gradient)"
            )
        return Cell(kind, np.ones(kind.shape, kind.type.numpy)), None
    if not isinstance(weight, Core):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(weight).__name__}"
        )
    given = weight._read().kind
    if given.shape != kind.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{k}] has a shape of torch.Size({list(given.shape)})"
            f" and output[{k}] has a shape of torch.Size({list(kind.shape)})."
        )
    if given.dtype != kind.dtype:
        weight = cast_to(weight, kind.dtype)
    edge = weight._edge() if create and requires(weight) else None
    return weight._read(), edge
