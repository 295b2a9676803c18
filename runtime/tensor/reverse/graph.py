"""`torch.autograd.graph`: what backward keeps and when users hear of it.

    with saved_tensors_hooks(pack, unpack):    # what is saved for backward passes through pack now,
        y = model(x)                           # and through unpack when backward reads it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..value.cells import Cell, Kind, is_alike
from ..value.core import Core, requires, wrap
from ..value.writing import assign
from .hooks import RemovableHandle
from .modes import mode, watch
from .nodes import Node


class GradientEdge(NamedTuple):
    """A place in the gradient graph that can stand for a tensor in `autograd.grad` and `backward`."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Core) -> GradientEdge:
    """Where a gradient for `tensor` goes."""
    edge = tensor._edge() if requires(tensor) else None
    edge = edge and edge[0].at(edge[1])
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensor: Core | Sequence[Core]) -> None:
    """Let backward know that the memory was written to by other means."""
    for x in [tensor] if isinstance(tensor, Core) else tensor:
        assign(x, wrap(x._read()).clone()._read())  # type: ignore[attr-defined]


# ---- saved tensors


class Held:
    """A saved value in the user's keeping."""

    __slots__ = ("kind", "value", "unpack")

    def __init__(self, kind: Kind, value: Any, unpack: Callable[[Any], Any]) -> None:
        self.kind, self.value, self.unpack = kind, value, unpack

    def cell(self) -> Cell:
        made = self.unpack(self.value)
        if not isinstance(made, Core):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type"
                f" {type(made).__name__}"
            )
        cell = made._read()
        if not is_alike(cell.kind, self.kind):
            raise RuntimeError(f"unpack_hook returned a tensor {cell.kind}, but {self.kind} was saved")
        return cell


class saved_tensors_hooks:
    """`with saved_tensors_hooks(pack_hook, unpack_hook):` keep what is saved for backward in another way.

    pack_hook    is given each tensor that is saved, and returns anything; it must not write to the tensor
    unpack_hook  is given that, and returns a tensor of the same kind, with the same values
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def _pack(self, cell: Cell) -> Held:
        tensor = wrap(cell)
        before, mode.enabled = mode.enabled, False
        try:
            value = self.pack_hook(tensor)
        finally:
            mode.enabled = before
        if tensor._version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can"
                " not be modified by in-place operations as this can lead to unexpected side-effects."
            )
        return Held(cell.kind, value, self.unpack_hook)

    def __enter__(self) -> None:
        if mode.packing_error is not None:
            raise RuntimeError(mode.packing_error)
        mode.packers.append(self._pack)
        watch.packers += 1

    def __exit__(self, *_: Any) -> None:
        mode.packers.pop()
        watch.packers -= 1


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved in the processor's memory, where it is already."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda x: x, lambda x: x)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Make `saved_tensors_hooks` an error with this message."""
    if mode.packers:
        raise RuntimeError(error_message)
    before, mode.packing_error = mode.packing_error, error_message
    try:
        yield
    finally:
        mode.packing_error = before


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Let what was saved be written over: backward reads the values that were saved.

    They are kept anyway, so this costs nothing.
    """
    before, watch.lenient = watch.lenient, True
    try:
        yield
    finally:
        watch.lenient = before


# ---- hooks of several tensors


def register_multi_grad_hook(
    tensors: Sequence[Core], fn: Callable[..., Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once in each backward that reaches the tensors.

    mode   all: fn(gradients) when that of every tensor is known, None for those that are not reached
           any: fn(gradient) when the first is known
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    register = _any if mode == "any" else _all
    handles = register(tensors, fn)
    return RemovableHandle(*[t for h in handles for t in h._tables], ids=[h.id for h in handles])


def _any(tensors: Sequence[Core], fn: Callable[..., Any]) -> list[RemovableHandle]:
    last: list[Any] = [None]

    def hook(grad: Any) -> None:
        if last[0] is not mode.task:
            last[0] = mode.task
            fn(grad)

    hook.needs_nodes = True  # type: ignore[attr-defined]
    return [t.register_hook(hook) for t in tensors]  # type: ignore[attr-defined]


def _all(tensors: Sequence[Core], fn: Callable[..., Any]) -> list[RemovableHandle]:
    edges = [get_gradient_edge(t) for t in tensors]
    state: dict[str, Any] = {"task": None, "grads": [], "left": 0}

    def hook_of(k: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            if state["task"] is not mode.task:
                reached = sum(e.node in mode.task for e in edges)
                state.update(task=mode.task, grads=[None] * len(edges), left=reached)
            state["grads"][k] = grad
            state["left"] -= 1
            if state["left"] == 0:
                fn(state["grads"])

        hook.needs_nodes = True  # type: ignore[attr-defined]
        return hook

    return [t.register_hook(hook_of(k)) for k, t in enumerate(tensors)]  # type: ignore[attr-defined]


__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
