"""Ways into the lanes of `vmap` and out of them, for tensors, for cotangents, and for what is made inside.

A cotangent that comes out of a level to what all lanes share is the sum over the lanes; while the level is open,
inside the function, it stays a gradient of each lane. Each way is a node of the gradient graph, whose pullback is
the way back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ....compiler.ops.reduce import sum_
from ....compiler.ops.shape import transpose
from ....compiler.passes.batch import widened
from ..reverse.modes import mode
from ..reverse.nodes import Edge, Flow, Node
from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import Operation
from ..trace.tape import record
from ..value.cells import Cell, DualCell, Kind, LaneCell, kind_of, levels_of
from ..value.core import Core, requires, wrap
from .lanes import READS, Level, open_levels

WIDEN = Operation("widen", "WidenBackward0", lambda m, x, size: m(widened(m.b, x.value, size)))
TOTAL = Operation("total", "TotalBackward0", lambda m, x: m(sum_(m.b, x.value, axes=(0,))))
"""The same for all lanes, and the sum over them: of a cell of the level around."""




def _swap(m: Any, x: Any) -> Any:
    return m(transpose(m.b, x.value, axes=(1, 0, *range(2, len(x.value.type.shape)))))


SWAP = Operation("swap", "SwapBackward0", _swap)
"""Of the axes of two levels."""


def _recorded(operation: Operation, cell: Cell, *attributes: Any) -> Cell:
    return record(fragment_for((operation, attributes, cell.kind)), [cell])[0]


def _inner(cell: Cell, level: Level) -> Cell:
    """One example of a cell whose first axis is that of a level; the newest of a cell's levels is outermost."""
    kind = kind_of(cell.kind.dtype, cell.kind.shape[1:])
    if type(cell) is LaneCell and cell.level.number > level.number:
        return LaneCell(kind, _inner(_recorded(SWAP, cell.whole), level), cell.level)
    return LaneCell(kind, cell, level)


def _outer(cell: Any, level: Level) -> Cell:
    """The cell over which one example stands in a level; of what is the same in all lanes, that in every lane."""
    if level not in levels_of([cell])[0]:
        return _recorded(WIDEN, cell, level.size)
    if cell.level is level:
        return cell.whole
    shape = (level.size, *cell.kind.shape)
    return LaneCell(kind_of(cell.kind.dtype, shape), _recorded(SWAP, _outer(cell.whole, level)), cell.level)


class Crossing(Node):
    """A way into a level or out of one."""

    level: Level
    results: list[Kind]

    @property
    def outputs(self) -> int:
        return 1

    def free(self, useful: Any = None) -> None:
        """It has saved nothing."""

    def pull_back(self, cotangents: Sequence[Flow | None], create: bool) -> list[tuple[int, Flow]]:
        return [] if cotangents[0] is None else [(0, self._back(cotangents[0], create))]

    def _back(self, flow: Flow, create: bool) -> Flow:
        raise NotImplementedError


class IntoLanesBackward0(Crossing):
    def _back(self, flow: Flow, create: bool) -> Flow:
        return out_of(flow, self.level, create)


class OutOfLanesBackward0(Crossing):
    def _back(self, flow: Flow, create: bool) -> Flow:
        return into(flow, self.level, create)


class SumOfLanesBackward0(Crossing):
    def _back(self, flow: Flow, create: bool) -> Flow:
        return every(flow, self.level, create)


class EveryLaneBackward0(Crossing):
    def _back(self, flow: Flow, create: bool) -> Flow:
        return total(flow, self.level, create)


def _crossed(kind: type[Crossing], cell: Cell, edge: Edge | None, level: Level, create: bool) -> Flow:
    """A cell on the other side, with a node if its gradient is kept."""
    if edge is None or not create:
        return cell, None
    node = kind([edge], None)
    node.level, node.results, node.lanes = level, [cell.kind], levels_of([cell])
    return cell, (node, 0)


def _in_parts(cross: Callable[[Flow], Flow], flow: Flow) -> Flow:
    """A crossing of a cell and of its tangents."""
    cell, edge = flow
    if type(cell) is not DualCell:
        return cross(flow)
    primal, edge = _in_parts(cross, (cell.primal, edge))
    tangent, source = _in_parts(cross, (cell.tangent, cell.edge))
    known = cell.known and (source is not None or cell.edge is None)
    return DualCell(primal, tangent, cell.level, source, known), edge


def into(flow: Flow, level: Level, create: bool) -> Flow:
    """One example of a cell whose first axis is that of the lanes."""

    def cross(flow: Flow) -> Flow:
        return _crossed(IntoLanesBackward0, _inner(flow[0], level), flow[1], level, create)

    return _in_parts(cross, flow)


def out_of(flow: Flow, level: Level, create: bool) -> Flow:
    """The whole of a cell of one example; of what is the same for all lanes, that in every lane."""

    def cross(flow: Flow) -> Flow:
        edge = flow[1]
        kind = OutOfLanesBackward0 if edge is None or not create else _called(type(edge[0]).__name__)
        return _crossed(kind, _outer(flow[0], level), edge, level, create)

    return _in_parts(cross, flow)


@cache
def _called(name: str) -> type[Crossing]:
    """The way out of lanes under the name of what was done last within them, which is what PyTorch's result shows."""
    return type(name, (OutOfLanesBackward0,), {"__slots__": (), "__module__": __name__})


def every(flow: Flow, level: Level, create: bool) -> Flow:
    """A cell that is the same for all lanes as one that is of each lane, so that what comes back is a sum."""

    def cross(flow: Flow) -> Flow:
        cell = _inner(_recorded(WIDEN, flow[0], level.size), level)
        return _crossed(EveryLaneBackward0, cell, flow[1], level, create)

    return _in_parts(cross, flow)


def total(flow: Flow, level: Level, create: bool) -> Flow:
    """The sum over the lanes."""

    def cross(flow: Flow) -> Flow:
        cell = _recorded(TOTAL, _outer(flow[0], level))
        return _crossed(SumOfLanesBackward0, cell, flow[1], level, create)

    return _in_parts(cross, flow)


def settled(flow: Flow, edge: Edge, create: bool) -> Flow:
    """A cotangent as it comes to an edge: summed over the lanes of levels that are over, if it is outside of them."""

    def cross(flow: Flow) -> Flow:
        for level in levels_of([flow[0]])[0]:
            if not level.open and not level.holds(*edge):
                flow = total(flow, level, create)
        return flow

    return _in_parts(cross, flow)


# ---- cells that are made inside


def alike(made: Core, x: Core) -> Any:
    """A fresh tensor as one of each lane that `x` has another value in, so that it can be written to like `x`."""
    (levels,) = ((),) if x._is_late else levels_of([x._read()])  # calls within lanes are not recognised
    return wrap(_spread(made._read(), levels)) if levels else made


def _spread(cell: Cell, levels: Sequence[Level]) -> Cell:
    if not levels:
        return cell
    wide = _recorded(WIDEN, cell, levels[0].size)
    return LaneCell(cell.kind, _spread(wide, levels[1:]), levels[0])


# ---- random numbers


def drawing_levels() -> list[Level]:
    """The open levels in each of whose lanes other random numbers are drawn, the outermost first."""
    if any(level.randomness == "error" for level in open_levels()):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or"
            " 'different' randomness flags on vmap or perform the randomness operation out of vmap"
        )
    return [level for level in open_levels() if level.randomness == "different"]


def over_lanes(cells: Sequence[Cell]) -> tuple[list[Cell], list[Level]]:
    """Cells with the axes of all lanes in which they or the random numbers differ in front, and the levels of these."""
    wanted = {*drawing_levels(), *itertools.chain(*levels_of(cells))}
    levels, made = [level for level in open_levels() if level in wanted], []
    for cell in cells:
        while type(cell) is DualCell:
            cell = cell.primal
        for level in reversed(levels):
            cell = _outer(cell, level)
        made.append(cell)
    return made, levels


def of_lanes(cell: Cell, levels: Sequence[Level]) -> Cell:
    """One example of a cell whose first axes are those of levels."""
    for level in levels:
        cell = LaneCell(kind_of(cell.kind.dtype, cell.kind.shape[1:]), cell, level)
    return cell


# ---- the same for tensors


def _flow(x: Core) -> Flow:
    cell = x._read()
    return cell, x._edge() if mode.enabled and requires(x) else None


def _tensor(flow: Flow) -> Any:
    cell, edge = flow
    return wrap(cell) if edge is None else wrap(cell, *edge)


def enter(x: Core, level: Level) -> Any:
    """One example of a tensor whose first axis is that of the lanes."""
    return _tensor(into(_flow(x), level, True))


def leave(x: Core, level: Level) -> Any:
    """The whole of a tensor of one example, the lanes first."""
    return _tensor(out_of(_flow(x), level, True))


def check_one(x: Core) -> None:
    """Raise PyTorch's error where a program asks for the value of a tensor that has one in every lane."""
    if not x._is_late and type(x._read()) is LaneCell:
        raise RuntimeError(READS)


def has_lanes(x: Core, level: Level) -> bool:
    """Whether a tensor is another one in each lane of a level."""
    return level in levels_of([x._read()])[0]


__all__ = ["alike", "check_one", "drawing_levels", "enter", "has_lanes", "leave", "of_lanes", "over_lanes", "settled"]
