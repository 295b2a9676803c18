"""The value behind a tensor: a kind, and an array once it has been computed.

A cell never changes its meaning.  Writing into a tensor in place gives the tensor another cell, so whatever
was recorded or saved before still reads what it read then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.ir.types import DTYPES, FLOATS, NAMES, Type

if TYPE_CHECKING:
    from .tape import Trace


class Kind:
    """A dtype and a shape.  There is one object for each, so kinds are compared with `is`."""

    __slots__ = ("number", "dtype", "shape", "is_float", "size", "type")

    def __init__(self, number: int, dtype: str, shape: tuple[int, ...]) -> None:
        self.number, self.dtype, self.shape = number, dtype, shape
        self.is_float = dtype in FLOATS
        self.type = Type(dtype, shape)
        self.size = int(self.type.size)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return str(self.type)


_KINDS: dict[tuple[str, tuple[int, ...]], Kind] = {}


def kind_of(dtype: str, shape: tuple[int, ...] = ()) -> Kind:
    """The one Kind of this dtype (a graph's name for it) and shape."""
    kind = _KINDS.get((dtype, shape))
    if kind is None:
        made = Kind(len(_KINDS), dtype, shape)
        kind = _KINDS.setdefault((dtype, shape), made)
    return kind


class Cell:
    """A value, computed (`array`) or still on a tape (`at` names the trace and its number there).

    `home` is the memory whose value it is, from when that can be written to, and `version` says which of its
    values: where `home.version` has gone on, the cell is what the memory held before.
    """

    __slots__ = ("kind", "array", "at", "home", "version", "__weakref__")

    home: Home | None

    def __init__(
        self, kind: Kind, array: np.ndarray | None, at: tuple[Trace, int] | None = None
    ) -> None:
        self.kind, self.array, self.at, self.home = kind, array, at, None


class Home:
    """Memory, as cells know it: how often it was written, and where it was last."""

    __slots__ = ("version", "written")

    def __init__(self, version: int = 0, written: Any = None) -> None:
        self.version, self.written = version, written


def cell_of(array: np.ndarray) -> Cell:
    """A cell of an array that nobody will write to, in row-major order."""
    return Cell(kind_of(NAMES[array.dtype], array.shape), array)


def number_cell(value: float, dtype: str) -> Cell:
    """A cell of one Python number."""
    return Cell(kind_of(dtype), np.array(value, DTYPES[dtype]))
