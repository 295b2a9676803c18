"""Memory that several tensors share."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..trace.fragments import Operation
from ..trace.tape import force
from .cells import Cell, Home, cell_of, shown
from .paths import Path, take

NO_GRAD, PIECE = "in a no_grad or inference mode", "by a function that returns several views"
CUSTOM = "inside a custom Function"
OWN = "in a no_grad mode, and requires a gradient of its own"
LOST = "in a no_grad mode or as one of several, and its memory was written to since"
"""Where views are made that must not be written to."""

AMBIGUOUS = (
    "A view was created in no_grad mode, or as one of several, and its base or another view of its base has been"
    " modified inplace. What its gradient is, is ambiguous: do both inside the no_grad block or both outside, or"
    " use a clone()."
)


class Storage(Home):
    """Memory that several tensors, or an array that the program holds, read and write.

    The value is `cell`, or `array` where NumPy can write to it without our knowing.  Every writing makes a new
    edition; `version` counts those that backward must know of, and `counted` is the edition that the last of them
    made.  `viewed` says whether there has been a view, `unseen` whether there was a writing that does not
    count, and `parts` how many `PartHome`s name it.
    Where it was `dropped`, since nobody shares it any more, its cell tells whether the memory was written to.
    """

    __slots__ = ("cell", "array", "edition", "counted", "viewed", "dropped", "unseen", "parts")

    def __init__(self, cell: Cell | None, array: np.ndarray | None = None) -> None:
        super().__init__()
        self.cell, self.array, self.viewed, self.dropped = cell, array, False, False
        self.edition = self.counted = self.parts = 0
        self.unseen = False

    def now(self) -> tuple[Any, Any, int]:
        """NumPy's memory or the cell, and the edition. Another thread may change them at any call."""
        return self.array, self.cell, self.edition

    def shape(self) -> tuple[int, ...]:
        """The shape of all of it."""
        array, cell = self.array, self.cell
        return array.shape if array is not None else cell.kind.shape  # type: ignore[union-attr]

    def value(self) -> np.ndarray:
        """All of it, as an array that must not be written to."""
        array, cell = self.array, self.cell
        return array if array is not None else shown(cell if cell.array is not None else force(cell))  # type: ignore

    def __reduce__(self) -> Any:
        """The value alone; a deep copy is made of that, too."""
        return _stored, (np.array(self.value(), order="C"),)

    def source(self) -> Cell | None:
        return self.cell if self.dropped else None

    def settle(self) -> None:
        """Take the array back if nobody else holds it any more."""
        array = self.array
        # The references are: this object's, the local name's and the call's.
        if array is not None and array.base is None and sys.getrefcount(array) <= 3:
            self.cell, self.array = cell_of(np.ascontiguousarray(array).reshape(array.shape)), None
            self.edition += 1  # views look again: it may have been written to since they did


class PartHome(Home):
    """The memory of a cell that is no more than a part of it, or was all of it before a writing unseen.

    Backward reads there what was written unseen, as PyTorch's does, whose saved tensors are the memory itself.
    """

    __slots__ = ("storage", "path")

    def __init__(self, storage: Storage, path: Path) -> None:
        self.storage, self.path = storage, path
        storage.parts += 1

    def __del__(self) -> None:
        self.storage.parts -= 1

    def __getattr__(self, name: str) -> Any:
        """Its version, and who wrote to it last: those of the memory."""
        return getattr(self.storage, name)

    def source(self) -> Cell | None:
        return self.storage.source()

    def whole(self) -> Cell | None:
        """All that the memory holds now, None if nobody wrote to it unseen."""
        unseen, storage = False, self.storage
        while True:
            array, whole, _ = storage.now()
            unseen, home = unseen or storage.unseen, None if whole is None else whole.home
            if type(home) is not PartHome or home.path:
                break
            storage = home.storage  # the same memory, which was dropped and is shared again
        if not unseen:
            return None
        return whole if array is None else cell_of(np.array(array, order="C", copy=True))


class Counter:
    """How often memory was written to by tensors whose writing backward need not know of."""

    __slots__ = ("written",)

    def __init__(self) -> None:
        self.written = 0


def _stored(array: np.ndarray) -> Storage:
    return Storage(cell_of(array))


def _retake(m: Any, x: Any, path: Path) -> Any:
    return m(take(m.b, x.value, path))


REVIEW = Operation("view", "AsStridedBackward0", _retake)
"""Reads a part again, because somebody has written to the whole."""
