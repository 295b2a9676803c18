"""Tensors of one example that stand for a batch: what `vmap` hands to the function that it maps.

    x: f32[8,3]                        into a level of 8 lanes       x: f32[3], a LaneCell over f32[8,3]
    y = tanh(x) @ w                    w: f32[3] is the same for all lanes
    y: f32[], a LaneCell over f32[8]   out of the level              y: f32[8]

The function sees cells of one example's kind. Where one of them is recorded, the batch of its fragment is recorded
in its place, so everything else is as usual: promotion, views, the gradient graph, whose nodes see one example too.
A cotangent that comes out of a level to what all lanes share is the sum over the lanes; while the level is open,
inside the function, it stays a gradient of each lane.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ....compiler.ir.graph import Builder, Graph, Value, inline
from ....compiler.ir.primitive import NotBatchable
from ....compiler.ir.types import Type
from ....compiler.ops.shape import concatenate, reshape, slice_
from ....compiler.passes import common
from ....compiler.passes.batch import batched
from ..reverse.modes import watch
from ..reverse.nodes import AccumulateGrad, Node
from ..trace.fragments.fragments import Fragment, Operation
from ..trace.opened import LANES
from ..trace.tape import Place, record, tapes
from ..value.cells import Cell, LaneCell, kind_of, levels_of, numbers

KEPT = 1024
"""How many batches of fragments are kept."""


class ReadsLanes(RuntimeError):
    """A function of ours looked for the value of a tensor that has one in every lane of a level."""

    def __init__(self, level: Level) -> None:
        super().__init__(READS)
        self.level = level


class Level:
    """One run of a function on lanes.

    number       of levels that a cell belongs to, the innermost has the highest
    randomness   "error", "same" or "different": what drawing random numbers means for the lanes
    """

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness, self.number = size, randomness, next(numbers)
        self.open, watch.lanes = False, True

    def __enter__(self) -> Level:
        self.open = True
        _open.levels.append(self)
        tapes.tape.mode |= LANES
        return self

    def __exit__(self, *_: object) -> None:
        self.open = False
        _open.levels.remove(self)
        if not _open.levels:
            tapes.tape.mode &= ~LANES

    def holds(self, node: Node, index: int) -> bool:
        """Whether a result of a node has another value in each lane."""
        if isinstance(node, AccumulateGrad):
            return self in levels_of([node.variable._cell])[0]
        return self in getattr(node, "lanes", ((),) * (index + 1))[index]

    # ---- what a cell asks

    def record(self, fragment: Fragment, cells: Sequence[Cell], place: Place | None) -> list[Cell]:
        """Record the batch of a fragment, of whose cells one or more belong to this level."""
        flags = tuple([type(c) is LaneCell and c.level is self for c in cells])
        whole, wide = batch_of(fragment, flags, self.size)
        made = record(whole, [c.whole if f else c for c, f in zip(cells, flags, strict=True)], place)  # type: ignore
        return [
            LaneCell(kind, w, self) if f else w for kind, w, f in zip(fragment.results, made, wide, strict=True)
        ]

    def refuse(self) -> Any:
        """Raise the error for reading a value."""
        raise ReadsLanes(self)


READS = (
    "vmap: It looks like you're reading the value of a Tensor, as .item(), .tolist() and data-dependent control flow"
    " do: inside of vmap it has another value for each example. Use other operations, such as torch.where."
)


class _Open(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


_open = _Open()


def open_levels() -> list[Level]:
    """The levels that this thread has open, the innermost last."""
    return _open.levels


# ---- batches of fragments

_batches: dict[Any, tuple[Fragment, tuple[bool, ...]]] = {}


def batch_of(fragment: Fragment, flags: tuple[bool, ...], size: int) -> tuple[Fragment, tuple[bool, ...]]:
    """The fragment for `size` lanes, whose axis is the first of the inputs flagged; and which results have it."""
    key = fragment.number, flags, size
    found = _batches.get(key)
    if found is None:
        while len(_batches) >= KEPT:
            _batches.pop(next(iter(_batches)), None)
        try:
            graph, wide = _together(fragment, flags, size)
        except NotBatchable:
            graph, wide = _one_by_one(fragment, flags, size)
        operation = Operation(graph.name, fragment.operation.node, fragment.operation.emit)
        kinds = tuple(
            tuple([kind_of(k.dtype, (size, *k.shape)) if f else k for k, f in zip(own, with_axis, strict=True)])
            for own, with_axis in ((fragment.inputs, flags), (fragment.results, wide))
        )
        made = Fragment(graph, [None] * len(graph.params), operation, fragment.attributes, kinds)  # type: ignore
        found = _batches[key] = made, wide
    return found


def _builder(fragment: Fragment, flags: Sequence[bool], size: int) -> Builder:
    types = [_wide(k.type, size) if f else k.type for k, f in zip(fragment.inputs, flags, strict=True)]
    return Builder(f"{fragment.graph.name}_lanes", types)


def _wide(type: Type, size: int) -> Type:
    return type.with_shape((size, *type.shape))


def _together(fragment: Fragment, flags: Sequence[bool], size: int) -> tuple[Graph, tuple[bool, ...]]:
    """As array work over all lanes."""
    b = _builder(fragment, flags, size)
    values, wide = batched(b, fragment.graph, b.params, flags, size)
    return common(b.finish(values)), tuple(wide)


def _one_by_one(fragment: Fragment, flags: Sequence[bool], size: int) -> tuple[Graph, tuple[bool, ...]]:
    """Lane after lane, where an operation cannot take another axis."""
    b = _builder(fragment, flags, size)
    rows = []
    for k in range(size):
        given = [_row(b, p, k) if f else p for p, f in zip(b.params, flags, strict=True)]
        made = inline(fragment.graph, b, given)
        rows.append([reshape(b, v, shape=(1, *v.type.static_shape())) for v in made])
    columns = zip(*rows, strict=True)
    graph = b.finish([concatenate(b, *column, axis=0) for column in columns])
    return common(graph), (True,) * len(fragment.results)


def _row(b: Builder, value: Value, k: int) -> Value:
    shape = value.type.static_shape()[1:]
    zeros, ones = (0,) * len(shape), (1,) * len(shape)
    part = slice_(b, value, start=(k, *zeros), step=(1, *ones), shape=(1, *shape))
    return reshape(b, part, shape=shape)


__all__ = ["READS", "Level", "ReadsLanes", "open_levels"]
