"""Walking the gradient graph from outputs to leaves, newest node first, and each leaf as soon as that can be.

What a node computes on the way back is recorded on the tape like everything else; with `create_graph` it gets
nodes of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..ops.elementwise.arithmetic import ADD
from ..ops.elementwise.elementary import cast_to, clone
from ..trace.peeking import went_on
from ..trace.tape import tapes
from ..transforms.crossings import settled
from ..value.cells import Cell, Kind
from ..value.core import Core, requires, wrap
from .accumulate import accumulate, tensor_of
from .anomaly import check_nan
from .hooks import NodeHooks, Table
from .modes import mode, watch
from .nodes import AccumulateGrad, Edge, Flow, Node, added, reachable, zeros
from .ready import Ready

Wanted = dict[Node, set[int]]
Held = dict[Node, list[Flow | None]]
"""The cotangents of the results of nodes that are still to come."""

Flows = list[Flow | None]


def run_backward(
    roots: Sequence[tuple[Edge, Flow]], retain: bool, create: bool, inputs: Sequence[Edge] | None, fill: bool = False
) -> dict[Edge, Flow]:
    """Carry cotangents from `roots` to the leaves, or only to the edges `inputs`, whose cotangents it returns.

    fill   add to the `grad` of what is at `inputs`, too
    """
    wanted: Wanted = {}
    for node, index in inputs or ():
        wanted.setdefault(node, set()).add(index)
    begins = [node for (node, _), _ in roots]
    order = list(reachable(begins))
    if begins:
        went_on(begins[0])
    useful = None if inputs is None else _useful(order, wanted)
    ready = Ready(order, begins)
    held: Held = {}
    for edge, flow in roots:
        _give(held, edge, flow, create)
    found: dict[Edge, Flow] = {}
    freed: list[Node] = []
    before, mode.enabled = mode.enabled, create
    outer, mode.task = mode.task, set(order) if useful is None else useful
    try:
        while ready.heap:
            node = ready.pop()
            flows = held.pop(node, None)
            if flows is None or (useful is not None and node not in useful):
                ready.passed(node)
                continue
            hooks = node.hooks
            if hooks is not None:
                _call_tensor_hooks(node, hooks, flows, create)
            elif isinstance(node, AccumulateGrad) and node.variable._hooks:
                flows[0] = _hooked(node.variable._hooks, flows[0], "register_hook")
            for index in wanted.get(node, ()):
                flow = flows[index]
                if flow is not None:
                    found[node, index] = flow
            if useful is None or fill or any(e and e[0] in useful for e in node.edges):
                for edge, flow in _run(node, flows, create):
                    _give(held, edge, flow, create)
                if not retain:
                    node.free()
                    freed.append(node)
            ready.passed(node)
    finally:
        mode.enabled, mode.task = before, outer
    call = tapes.tape.call
    if call is not None:
        call.walked(order, freed)
    return found


def _useful(order: Sequence[Node], wanted: Wanted) -> set[Node]:
    """The nodes from which a wanted one can be reached."""
    useful = set(wanted)
    for node in sorted(order, key=attrgetter("sequence")):
        if any(e is not None and e[0] in useful for e in node.edges):
            useful.add(node)
    return useful


def _run(node: Node, flows: Flows, create: bool) -> list[tuple[Edge, Flow]]:
    """Run one node between its own hooks: the cotangents of its inputs, and where they go."""
    hooks = node.hooks
    if hooks is not None and hooks.before:
        flows = _before(hooks, flows)
    if isinstance(node, AccumulateGrad):
        if flows[0] is not None and node.variable._requires:
            accumulate(node.variable, flows[0], create)
            for hook in list((node.variable._posts or {}).values()):
                hook(node.variable)
        pulled = []
    else:
        pulled = node.pull_back(flows, create)
        if watch.anomaly and watch.check_nan:
            check_nan(node, pulled)
    if hooks is not None and hooks.after:
        pulled = _after(node, hooks, flows, pulled)
    return [(edge, flow) for k, flow in pulled if (edge := node.edges[k]) is not None]


# ---- hooks


def _call_tensor_hooks(node: Node, hooks: NodeHooks, flows: Flows, create: bool) -> None:
    """Hooks of results, in the order in which they were attached; then the `grad` of those that keep it."""
    for index, table in hooks.tensors.items():
        flows[index] = _hooked(table, flows[index], "register_hook")
    if isinstance(node, AccumulateGrad) and node.variable._hooks:
        flows[0] = _hooked(node.variable._hooks, flows[0], "register_hook")
    for index, kept in hooks.retained.items():
        tensor, flow = kept(), flows[index]
        if tensor is not None and flow is not None:
            accumulate(tensor, flow, create)


def _hooked(table: Table, flow: Flow | None, name: str) -> Flow | None:
    if flow is None:
        return None
    for hook in list(table.values()):
        made = hook(tensor_of(flow))
        if made is not None:
            flow = _checked(made, flow, name)
    return flow


def _checked(made: Any, flow: Flow, name: str) -> Flow:
    """What a hook returned, if it can stand for the gradient."""
    if not isinstance(made, Core):
        raise TypeError(f"expected Variable, but hook returned {type(made).__name__} ({name})")
    have, kind = made._read().kind, flow[0].kind
    if have.shape != kind.shape:
        raise RuntimeError(f"hook has changed the size of value: {list(kind.shape)} became {list(have.shape)}")
    if have.dtype != kind.dtype:
        raise RuntimeError(f"hook has changed the type of value: {kind.dtype} became {have.dtype}")
    return made._read(), made._edge() if requires(made) else None


def _tensors(flows: Iterable[Flow | None]) -> tuple[Core | None, ...]:
    return tuple([flow and tensor_of(flow) for flow in flows])


def _before(hooks: NodeHooks, flows: Flows) -> Flows:
    for hook in list(hooks.before.values()):
        made = hook(_tensors(flows))
        if made is not None:
            flows = _replaced(made, flows, "register_prehook")
    return flows


def _after(
    node: Node, hooks: NodeHooks, flows: Flows, pulled: list[tuple[int, Flow]]
) -> list[tuple[int, Flow]]:
    given: Flows = [None] * len(node.edges)
    for k, flow in pulled:
        given[k] = flow
    shown = node.shown()
    for hook in list(hooks.after.values()):
        inputs = [given[k] for k in shown]
        made = hook(_tensors(inputs), _tensors(flows))
        if made is not None:
            for k, flow in zip(shown, _replaced(made, inputs, "register_hook"), strict=True):
                given[k] = flow
    return [(k, flow) for k, flow in enumerate(given) if flow is not None]


def _replaced(made: Any, flows: Flows, name: str) -> Flows:
    values = (made,) if isinstance(made, Core) else tuple(made)
    if len(values) != len(flows):
        raise RuntimeError(f"hook has returned an incorrect number of values ({len(values)} instead of {len(flows)})")
    return [
        (m._read(), m._edge() if requires(m) else None) if isinstance(m, Core) and f is None
        else None if m is None or f is None
        else _checked(m, f, name)
        for m, f in zip(values, flows, strict=True)
    ]  # fmt: skip


# ---- gradients of leaves


def _give(held: Held, edge: Edge | None, flow: Flow, create: bool) -> None:
    assert edge is not None
    node, index = edge
    if type(flow[0]) is not Cell and watch.lanes:
        flow = settled(flow, edge, create)
    flows = held.get(node)
    if flows is None:
        flows = held[node] = [None] * node.outputs
    have = flows[index]
    flows[index] = flow if have is None else added(ADD, have, flow, create)


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
    for tensor in inputs:
        if isinstance(tensor, Core) and tensor._node is not None:
            tensor.retain_grad()  # type: ignore[attr-defined]
    run_backward(roots, retain, create_graph, edges, fill=True)


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
            made.append(tensor_of(flow))
        elif materialize:
            made.append(wrap(zeros(tensor._read().kind if isinstance(tensor, Core) else _result_kind(tensor))))
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
    for tensor in inputs:
        edge = _edge_of(tensor)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge)
    return edges


def _edge_of(tensor: Any) -> Edge | None:
    """The edge of a tensor, or one that was given as such."""
    if isinstance(tensor, Core):
        return tensor._edge() if requires(tensor) else None
    return tensor[0], tensor[1]


def _roots(
    tensors: Sequence[Core], weights: Sequence[Any], create: bool
) -> list[tuple[Edge, Flow]]:
    roots = []
    for k, (tensor, weight) in enumerate(zip(tensors, weights, strict=True)):
        edge = _edge_of(tensor)
        if edge is None:
            raise RuntimeError(
                f"element {k} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append((edge, _seed(k, tensor, weight, create)))
    return roots


def _result_kind(edge: Edge) -> Kind:
    """The kind of the result that an edge stands for."""
    node, index = edge
    if isinstance(node, AccumulateGrad):
        return node.variable._read().kind
    kinds = node.fragment.results if node.fragment is not None else node.results  # type: ignore[attr-defined]
    return kinds[index]


def _seed(k: int, tensor: Core, weight: Any, create: bool) -> Flow:
    kind = tensor._read().kind if isinstance(tensor, Core) else _result_kind(tensor)
    if weight is None:
        if kind.is_complex:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {kind}")
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
    if create and requires(weight):
        return weight._read(), weight._edge()
    return clone(weight)._read(), None  # type: ignore[arg-type]  # what arrives at a leaf is written to
