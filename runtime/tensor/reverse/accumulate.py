"""Adding to the gradients of leaves."""

from __future__ import annotations

from typing import Any

from ....compiler.locks import reentrant_lock
from ..ops.elementwise.arithmetic import ADD, add
from ..trace.tape import force, tapes
from ..trace.undo import note
from ..value.cells import Cell, levels_of
from ..value.core import Core, wrap
from ..value.writing import overwrite
from .modes import watch
from .nodes import Flow, added


def tensor_of(flow: Flow) -> Core:
    """The cotangent as a tensor; one that is apart is so already."""
    cell, edge = flow
    if isinstance(cell, Core):
        return cell
    return wrap(cell) if edge is None else wrap(cell, edge[0], edge[1])


def summed(a: Flow, b: Flow, create: bool) -> Flow:
    """The sum of two cotangents, of which either may be apart."""
    if not isinstance(a[0], Core) and not isinstance(b[0], Core):
        return added(ADD, a, b, create)
    tensors: list[Any] = sorted(map(tensor_of, (a, b)), key=lambda x: x._apart)  # the dense one first, if there is one
    return tensors[0] + tensors[1], None


def accumulate(leaf: Core, flow: Flow, create: bool) -> None:
    """Add a cotangent to the `grad` of a leaf, or of a tensor that keeps its own, which becomes another tensor then."""
    call = tapes.tape.call
    if call is not None:
        call.adds(leaf)
    new, apart = tensor_of(flow), create or leaf._node is not None
    if new._apart or (leaf._grad is not None and leaf._grad._apart):
        have: Any = leaf._grad
        leaf._grad = new if have is None else new + have if have._apart and not new._apart else have + new
        return
    if watch.lanes and levels_of([flow[0]])[0] and not levels_of([leaf._cell])[0]:
        raise RuntimeError(
            "backward() called inside a function that vmap maps, for a leaf that is the same for all examples. Use"
            " torch.func.grad or vjp there, or call backward() outside of vmap."
        )
    again = tapes.tape.again
    if again is not None and id(leaf) in again.grads:
        again.grads[id(leaf)] = _sum(again.grads[id(leaf)], new, apart)
        return
    while True:
        have = leaf._grad
        if have is not None and _is_elsewhere(have):
            force(have._read())
        with _adding:
            if leaf._grad is not have or (have is not None and _is_elsewhere(have)):
                continue
            total = _sum(have, new, apart)
            if total is not have:
                note(tapes.tape, total._read(), leaf, "_grad")
                leaf._grad = total
        return


def keep(result: Core, made: Core) -> None:
    """Let a result of the trace, which keeps its gradient, have it as `grad`, or add it to what it has there."""
    have = result._grad
    total = made if have is None else add(have, made)
    note(tapes.tape, total._read(), result, "_grad")
    result._grad = total


def _sum(have: Core | None, new: Core, apart: bool) -> Core:
    """The gradient with something added: in place, or as a tensor of its own."""
    if have is None:
        return new
    if apart:
        return add(have, new)
    overwrite(have, add(have, new))
    return have


_adding = reentrant_lock()
"""Held while a gradient is added to, which threads may do at the same time."""


def _is_elsewhere(x: Core) -> bool:
    """Whether the value is still to be computed, from what another thread has recorded."""
    cell = x._read()
    return type(cell) is Cell and cell.array is None and cell.serial != tapes.tape.serial and tapes.tape.again is None
