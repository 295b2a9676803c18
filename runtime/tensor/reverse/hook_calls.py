"""Calling the hooks of tensors and nodes in a backward: gradients go in, and come out as the hooks made them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..value.cells import Kind
from ..value.core import Core, requires
from .accumulate import accumulate, tensor_of
from .hooks import NodeHooks, Table, Watched
from .nodes import AccumulateGrad, Flow, Node

Flows = list[Flow | None]


def call_posts(leaf: Core) -> None:
    """Call what is to run when the gradient of a leaf has been added to."""
    for hook in list((leaf._posts or {}).values()):
        made = hook(leaf)
        if isinstance(made, Core) and made is not leaf:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if made is not None and made is not leaf:
            raise TypeError(
                f"expected Variable, but hook returned '{type(made).__name__}'; "
                "a hook of register_post_accumulate_grad_hook returns None"
            )


def call_tensor_hooks(node: Node, hooks: NodeHooks, flows: Flows, create: bool) -> None:
    """Hooks of results, in the order in which they were attached; then the `grad` of those that keep it."""
    for index, table in hooks.tensors.items():
        flows[index] = hooked_flow(table, flows[index], "register_hook")
    if isinstance(node, AccumulateGrad) and node.variable._hooks:
        flows[0] = hooked_flow(node.variable._hooks, flows[0], "register_hook")
    for index, kept in hooks.retained.items():
        tensor, flow = kept(), flows[index]
        if tensor is not None and flow is not None:
            accumulate(tensor, flow, create)


def call_watched(watched: Watched, flow: Flow | None, create: bool) -> Flow | None:
    """The hooks of a result that was a value of the trace when they were attached; then its `grad`, if it keeps it."""
    flow, keeper = hooked_flow(watched.hooks, flow, "register_hook"), watched.keeper()
    if keeper is not None and flow is not None:
        accumulate(keeper, flow, create)
    return flow


def hooked_flow(table: Table, flow: Flow | None, name: str) -> Flow | None:
    if flow is None:
        return None
    for hook in list(table.values()):
        made = hook(tensor_of(flow))
        if made is not None:
            flow = _checked(made, flow, name)
    return flow


def _checked(made: Any, flow: Flow, name: str) -> Flow:
    made = checked(made, flow[0].kind, name)
    return made._read(), made._edge() if requires(made) else None


def checked(made: Any, kind: Kind, name: str) -> Any:
    """What a hook returned, if it can stand for a gradient of this kind."""
    if not isinstance(made, Core):
        raise TypeError(f"expected Variable, but hook returned {type(made).__name__} ({name})")
    have = made._kind_of()
    if have.shape != kind.shape:
        raise RuntimeError(f"hook has changed the size of value: {list(kind.shape)} became {list(have.shape)}")
    if have.dtype != kind.dtype:
        raise RuntimeError(f"hook has changed the type of value: {kind.dtype} became {have.dtype}")
    return made


def _tensors(flows: Iterable[Flow | None]) -> tuple[Core | None, ...]:
    return tuple([flow and tensor_of(flow) for flow in flows])


def before_node(hooks: NodeHooks, flows: Flows) -> Flows:
    for hook in list(hooks.before.values()):
        made = hook(_tensors(flows))
        if made is not None:
            flows = _replaced(made, flows, "register_prehook")
    return flows


def after_node(
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


__all__ = ["after_node", "before_node", "call_posts", "call_tensor_hooks", "call_watched", "checked", "hooked_flow"]
