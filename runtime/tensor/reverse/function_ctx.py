"""What `forward` of an `autograd.Function` hands to its `backward`: `ctx`, with the tensors that it saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ..value.cells import Cell
from ..value.core import Core, wrap
from ..value.trees import leaves
from .modes import mode, watch
from .nodes import AGAIN, Node
from .written import check_unwritten


class Saved:
    """A tensor that the user saved: its cell, and its place in the gradient graph."""

    def __init__(self, tensor: Core, result: int | None) -> None:
        cell = tensor._read()
        self.packed: Any = mode.packers[-1](cell) if watch.packers and mode.packers else cell
        self.result = result
        self.leaf = tensor if result is None and tensor._node is None else None
        self.edge = None if result is not None or tensor._node is None else (tensor._node, tensor._index)

    def tensor(self, node: Node) -> Core:
        """The tensor again, for the backward of `node`."""
        if self.leaf is not None and isinstance(self.packed, Cell):
            if self.packed.home is not None:
                check_unwritten(self.packed, node)
            return self.leaf
        cell = node.read(self.packed)
        edge = (node, self.result) if self.result is not None else self.edge
        return wrap(cell) if edge is None else wrap(cell, *edge)


class FunctionCtx:
    """What forward hands to backward: saved tensors, notes about the results, and any attributes of the user."""

    needs_input_grad: tuple[bool, ...] = ()
    _is_spent = False

    def __init__(self) -> None:
        self._kept: Sequence[Core | None] = ()
        self._saved: list[Saved | None] | None = []
        self._dirty: Sequence[Any] = ()
        self._constant: Sequence[Any] = ()
        self._materialize = True
        self._node: Callable[[], Node] | None = None
        self._at_hand: tuple[Any, ...] | None = None

    def _spent(self) -> FunctionCtx:
        """The same for after backward: without tensors."""
        made, self._saved = SpentCtx(), None
        gone = {name for name, value in vars(self).items() if _holds_tensors(value)}
        vars(made).update({name: value for name, value in vars(self).items() if name not in gone})
        made._kept, made._node, made._gone = (), lambda: made, frozenset(gone)  # type: ignore[assignment, return-value]
        return made

    def save_for_backward(self, *tensors: Core | None) -> None:
        """Keep inputs, results or other tensors; once in a forward."""
        for k, t in enumerate(tensors):
            if t is not None and not isinstance(t, Core):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {k} is of type {type(t).__name__}"
                )
        self._kept = tensors

    def save_for_forward(self, *tensors: Core | None) -> None:
        """Keep tensors for jvp."""
        self.save_for_backward(*tensors)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved; an error once backward has let them go."""
        if self._at_hand is not None:
            return self._at_hand
        if self._node is None:
            return tuple(self._kept)
        if self._saved is None:
            raise RuntimeError(AGAIN.format(name=self._node().name()))
        return tuple([s and s.tensor(self._node()) for s in self._saved])

    def mark_dirty(self, *tensors: Core) -> None:
        """Say which inputs forward wrote to; they must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Core) -> None:
        """Say which results have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward is given zeros, and not None, for results that nothing depends on."""
        self._materialize = value


def _holds_tensors(value: Any) -> bool:
    return any(isinstance(each, Core) for each in leaves(value))


class SpentCtx(FunctionCtx):
    """The ctx of a call that backward has passed."""

    _is_spent = True
    _gone: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:
        if name in self._gone:
            raise RuntimeError(AGAIN.format(name=f"ctx.{name} of a custom Function"))
        raise AttributeError(f"'FunctionCtx' object has no attribute '{name}'")

    def name(self) -> str:
        return "a custom Function"


def save(ctx: FunctionCtx, node: Node, kept: Sequence[Core | None], numbers: Sequence[int | None]) -> None:
    """Keep what forward saved as cells, with their places in the gradient graph."""
    ctx._saved = [None if t is None else Saved(t, k) for t, k in zip(kept, numbers, strict=True)]
    ctx._kept, ctx._node = (), ref(node)  # type: ignore[assignment]


__all__ = ["FunctionCtx", "Saved", "save"]
