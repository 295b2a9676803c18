"""Walking the gradient graph from outputs to leaves, newest node first, and each leaf as soon as that can be.

What a node computes on the way back is recorded on the tape like everything else; with `create_graph` it gets
nodes of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..ops.elementwise.elementary import cast_to, clone
from ..trace.peeking import went_on
from ..trace.tape import tapes
from ..transforms.crossings import settled
from ..value.cells import Cell, Kind
from ..value.core import Core, requires, wrap
from ..value.slots import HOOKED
from .accumulate import accumulate, summed, tensor_of
from .anomaly import check_nan
from .hook_calls import after_node, before_node, call_posts, call_tensor_hooks, call_watched, hooked_flow
from .hooks import Watched
from .modes import mode, watch
from .nodes import AccumulateGrad, Edge, Flow, Node, reachable, zeros
from .ready import Ready
from .segment_nodes import SegmentNode, leads_to, open_here

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
    found: dict[Edge, Flow] = {}
    task: set[Node] = set()
    steps = walk(roots, retain, create, inputs, fill, found, task)
    before, outer, mode.enabled, mode.task = mode.enabled, mode.task, create, task
    try:
        pause = next(steps, None)
        while pause is not None:
            at, flow = pause
            if type(at) is Watched:
                flow = call_watched(at, flow, create)
            elif flow is None:
                call_posts(at)
            else:
                flow = hooked_flow(at._hooks or {}, flow, "register_hook")
            pause = go_on(steps, flow)
    finally:
        mode.enabled, mode.task = before, outer
    return found


Pause = tuple[Any, Any]
"""Where hooks are to run: at a `Watched` result of a node with its gradient; at a leaf, before its gradient is added
to, with what is to be added, and after."""

Walk = Generator[Pause, Any, None]


def go_on(steps: Walk, flow: Any) -> Pause | None:
    """Where a walk pauses next, None at its end; the gradient that it paused with is another one."""
    try:
        return steps.send(flow)
    except StopIteration:
        return None


def walk(
    roots: Sequence[tuple[Edge, Flow]], retain: bool, create: bool, inputs: Sequence[Edge] | None, fill: bool,
    found: dict[Edge, Flow], task: set[Node], in_parts: bool = False,
) -> Walk:  # fmt: skip
    """The same, which pauses where hooks of leaves and of watched results are to run, and goes on with what they give.

    found, task   are filled with what it finds, and with the nodes that it comes to
    in_parts      pause at nodes of Functions, too, which are events of the trace: with the cotangents of their results,
                  and go on with those of their arguments, as (number, cotangent)
    """
    wanted: Wanted = {}
    for node, index in inputs or ():
        wanted.setdefault(node, set()).add(index)
    begins = [node for (node, _), _ in roots]
    order = _opened(begins, create)
    went_on(order)
    useful = None if inputs is None else _useful(order, wanted)
    task.update(order if useful is None else useful)
    ready = Ready(order, begins)
    held: Held = {}
    for edge, flow in roots:
        _give(held, edge, flow, create)
    freed: list[Node] = []
    while ready.heap:
        node = ready.pop()
        flows = held.pop(node, None)
        if flows is None or (useful is not None and node not in useful):
            ready.passed(node)
            continue
        hooks, leaf = node.hooks, _hooked_leaf(node, flows)
        if hooks is not None:
            for index, watched in hooks.watched.items():
                if flows[index] is not None:
                    flows[index] = yield watched, flows[index]
            call_tensor_hooks(node, hooks, flows, create)
        elif leaf is not None:
            flows[0] = yield leaf, flows[0]
        for index in wanted.get(node, ()):
            flow = flows[index]
            if flow is not None:
                found[node, index] = flow
        if useful is None or fill or any(leads_to(e, useful) for e in node.edges):
            if in_parts and node.joined is not None and (hooks is None or not (hooks.before or hooks.after)):
                pulled = _ways(node, (yield node.joined, flows))
            else:
                pulled = _run(node, flows, create, held)
            for edge, flow in pulled:
                _give(held, edge, flow, create)
            if leaf is not None and hooks is None:
                yield leaf, None
            if not retain:
                node.free(useful)
                freed.append(node)
        ready.passed(node)
    call = tapes.tape.call
    if call is not None:
        call.walked(order, freed)


def _opened(begins: Sequence[Node], create: bool) -> list[Node]:
    """The nodes that can be reached; those of segments where their own are needed, for the order of hooks, errors, or
    gradients that can be differentiated."""
    order = list(reachable(begins))
    segments = [node for node in order if type(node) is SegmentNode and node.opened is None]
    if segments:
        needed = create or watch.anomaly or any(map(_is_hooked_leaf, order))
        chosen = [node for node in segments if needed or node.is_disturbed()]
        for node in chosen:
            node.open()
        order = list(reachable(begins)) if chosen else order
    return order


def _is_hooked_leaf(node: Node) -> bool:
    return isinstance(node, AccumulateGrad) and bool(node.variable._flags & HOOKED or node.hooks)


def _hooked_leaf(node: Node, flows: Flows) -> Core | None:
    """The leaf whose gradient arrives at a node, if it has hooks, or had."""
    hooked = isinstance(node, AccumulateGrad) and node.variable._flags & HOOKED and flows[0] is not None
    return node.variable if hooked and node.variable._requires else None  # type: ignore[attr-defined]


def _useful(order: Sequence[Node], wanted: Wanted) -> set[Any]:
    """The nodes from which a wanted one can be reached; of segments also the results, as edges."""
    useful: set[Any] = set(wanted)
    for node in sorted(order, key=attrgetter("sequence")):
        if type(node) is SegmentNode and node.opened is None:
            leading = node.leading(useful)
            useful.update(leading, [node] if leading else [])
        elif any(leads_to(e, useful) for e in node.edges):
            useful.add(node)
    return useful


def _passed_by() -> None:
    """Note that a leaf required a gradient in forward and does no more: what is said of leaves by then tells nobody."""
    call = tapes.tape.call
    if call is not None:
        call.refuse("comes to a leaf that requires no gradient any more")


def _run(node: Node, flows: Flows, create: bool, held: Held) -> list[tuple[Edge, Flow]]:
    """Run one node between its own hooks: the cotangents of its inputs, and where they go."""
    hooks = node.hooks
    if hooks is not None and hooks.before:
        flows = before_node(hooks, flows)
    if isinstance(node, AccumulateGrad):
        if flows[0] is not None and not node.variable._requires:
            _passed_by()
        elif flows[0] is not None:
            accumulate(node.variable, flows[0], create)
            if hooks is not None:  # after which there may be hooks of the node
                call_posts(node.variable)
        pulled = []
    else:
        adds = type(node) is SegmentNode and not create
        pulled = node.pull_added(flows, held) if adds else node.pull_back(flows, create)  # type: ignore[attr-defined]
        if watch.anomaly and watch.check_nan:
            check_nan(node, pulled)
    if hooks is not None and hooks.after:
        pulled = after_node(node, hooks, flows, pulled)
    return _ways(node, pulled)


def _ways(node: Node, pulled: Any) -> list[tuple[Edge, Flow]]:
    """Where the cotangents of a node's inputs go."""
    return [(edge, flow) for k, flow in pulled if (edge := node.edges[k]) is not None]


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
    flows[index] = flow if have is None else summed(have, flow, create)


def backward(
    tensors: Sequence[Core],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Core] | None = None,
) -> None:
    """Add the gradients of `tensors`, weighted with `gradients`, to the `grad` of the leaves or of `inputs`."""
    roots = roots_of(tensors, gradients, create_graph)
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
    open_here(outputs, tapes.tape)
    roots = roots_of(outputs, weights, create_graph)
    edges = _input_edges(inputs)
    retain = create_graph if retain_graph is None else retain_graph
    found = run_backward(roots, retain, create_graph, edges)
    made: list[Core | None] = []
    for k, (tensor, edge) in enumerate(zip(inputs, edges, strict=True)):
        flow = found.get(edge)
        if flow is not None:
            made.append(tensor_of(flow))
        elif materialize:
            made.append(wrap(zeros(tensor._kind_of() if isinstance(tensor, Core) else _result_kind(tensor))))
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
        if isinstance(tensor, Core):
            tensor._open()
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


def roots_of(
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
        return node.variable._kind_of()
    kinds = node.fragment.results if node.fragment is not None else node.results  # type: ignore[attr-defined]
    return kinds[index]


def _seed(k: int, tensor: Core, weight: Any, create: bool) -> Flow:
    kind = tensor._kind_of() if isinstance(tensor, Core) else _result_kind(tensor)
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
    given = weight._kind_of()
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
