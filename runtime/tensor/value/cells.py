"""The value behind a tensor: a kind, and an array once it has been computed.

A cell never changes its meaning.  Writing into a tensor in place gives the tensor another cell, so whatever
was recorded before still reads what it read then. A node that saved it finds by `home` what was written unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import prod
from typing import Any

import numpy as np

from ....compiler.ir.symint import SymInt
from ....compiler.ir.types import DTYPES, FLOATING, STORED, Type
from .dtypes import COMPLEX
from .orders import Order
from .slots import CellBase

NAMES = {dtype: name for name, dtype in STORED.items()}

PARTS = {"c64": "f32", "c128": "f64"}
"""The dtypes of complex numbers, and of their parts."""


class Kind:
    """A dtype, a shape, and the order of axes in PyTorch's memory, as in orders.py.  There is one object for each.

    Complex numbers lie in arrays, and in the graph, as real numbers with an axis of two at the end: `type` says that,
    `dtype`, `shape` and `numpy` do not.  `is_float` holds for all that can have a gradient.
    """

    __slots__ = ("number", "dtype", "shape", "order", "is_float", "is_complex", "size", "type", "numpy")

    def __init__(self, number: int, dtype: str, shape: tuple[int, ...], order: Order = None) -> None:
        self.number, self.dtype, self.shape, self.order = number, dtype, shape, order
        self.is_complex = dtype in PARTS
        self.is_float = self.is_complex or dtype in FLOATING
        self.type = Type(PARTS[dtype], (*shape, 2)) if self.is_complex else Type(dtype, shape)
        self.size = prod(shape)
        self.numpy = COMPLEX[dtype] if self.is_complex else self.type.numpy

    def __repr__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


_KINDS: dict[tuple[str, tuple[int, ...], Order], Kind] = {}


def kind_of(dtype: str, shape: tuple[int, ...] = (), order: Order = None) -> Kind:
    """The one Kind of this dtype (a graph's name for it), shape and order."""
    kind = _KINDS.get((dtype, shape, order))
    if kind is None:
        made = Kind(len(_KINDS), dtype, shape, order)
        kind = _KINDS.setdefault((dtype, shape, order), made)
    return kind


def symbolic_kind(dtype: str, shape: tuple[Any, ...], order: Order = None) -> Kind:
    """The same where sizes may be SymInts: there it is another each time, as a table would find the example's."""
    return Kind(-1, dtype, shape, order) if any(type(n) is SymInt for n in shape) else kind_of(dtype, shape, order)


def in_order(kind: Kind, order: Order) -> Kind:
    """The same dtype and shape in this order."""
    return kind if kind.order == order else symbolic_kind(kind.dtype, kind.shape, order)


def is_alike(a: Kind, b: Kind) -> bool:
    """Whether two kinds are of one dtype and shape."""
    return a is b or (a.dtype == b.dtype and a.shape == b.shape)


class Cell(CellBase):
    """A value, computed (`array`) or still on a tape (value `number` of the trace `serial`).

    `home` is the memory whose value it is, from when that can be written to, and `version` says which of its
    values: where `home.version` has gone on, the cell is what the memory held before.
    """

    __slots__ = ()

    home: Home | None

    def __init__(self, kind: Kind, array: np.ndarray | None, serial: int = 0, number: int = 0) -> None:
        self.kind, self.array, self.serial, self.number = kind, array, serial, number
        self.stale, self.checked, self.home = 0, None, None


class StandIn(Cell):
    """A cell that is recorded as others: `level` says how. Duals stand over lanes, and the newer over the older."""

    __slots__ = ("level",)
    level: Any


class LaneCell(StandIn):
    """One example of a batch: `whole` has the axis of the lanes in front."""

    __slots__ = ("whole",)

    def __init__(self, kind: Kind, whole: Cell, level: Any) -> None:
        super().__init__(kind, None)  # on no tape of its own: whoever reads it asks its level
        self.whole, self.level = whole, level


class DualCell(StandIn):
    """A value with a tangent; `edge` is the history of the tangent, as far as it is `known`."""

    __slots__ = ("primal", "tangent", "edge", "known")

    def __init__(self, primal: Cell, tangent: Cell, level: Any, edge: Any = None, known: bool = True) -> None:
        super().__init__(primal.kind, None)
        self.primal, self.tangent, self.level, self.edge, self.known = primal, tangent, level, edge, known


numbers = count(1)
"""Numbers of levels."""


def newest(cells: Sequence[Cell]) -> Any:
    """The outermost level that a cell stands in, None if there is no such cell: the newest, those of duals first."""
    found, best = None, (False, 0)
    for cell in cells:
        if isinstance(cell, StandIn):
            rank = type(cell) is DualCell, cell.level.number
            if rank > best:
                found, best = cell.level, rank
    return found


def levels_of(cells: Sequence[Cell]) -> tuple[tuple[Any, ...], ...]:
    """The levels in which each cell has another value for each example, tangents aside, the newest first."""
    found = []
    for cell in cells:
        levels = []
        while isinstance(cell, StandIn):
            if type(cell) is LaneCell:
                levels.append(cell.level)
            cell = cell.whole if type(cell) is LaneCell else cell.primal  # type: ignore[attr-defined]
        found.append(tuple(levels))
    return tuple(found)


class Home:
    """Memory, as cells know it: how often it was written, and where and by which thread it was last."""

    __slots__ = ("version", "written", "writer")

    def __init__(self, version: int = 0, written: Any = None, writer: int = 0) -> None:
        self.version, self.written, self.writer = version, written, writer

    def source(self) -> Cell | None:
        """Another cell of the same memory, if it tells whether that was written to."""
        return None


def cell_of(array: np.ndarray, order: Order = None) -> Cell:
    """A cell of an array that nobody will write to, in row-major order; `order` is that in PyTorch's memory."""
    if array.dtype.kind == "c":
        dtype = "c64" if array.dtype.itemsize == 8 else "c128"
        return Cell(kind_of(dtype, array.shape, order), array[..., None].view(DTYPES[PARTS[dtype]]))
    return Cell(kind_of(NAMES[array.dtype], array.shape, order), array)


def cell_of_part(part: np.ndarray, order: Order = None) -> Cell:
    """A cell of a part of such an array; of a copy where its elements do not follow each other."""
    return cell_of(part if part.flags.c_contiguous else np.ascontiguousarray(part).reshape(part.shape), order)


def shown(cell: Cell) -> np.ndarray:
    """The array of a computed cell as programs know it: complex numbers as such."""
    assert cell.array is not None
    return cell.array.view(cell.kind.numpy)[..., 0] if cell.kind.is_complex else cell.array


def number_cell(value: float, dtype: str) -> Cell:
    """A cell of one Python number."""
    if dtype in PARTS:
        return cell_of(np.array(value, COMPLEX[dtype]))
    return Cell(kind_of(dtype), np.array(value, STORED[dtype]))
