"""Memory that several tensors share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as np

from ..trace.fragments.fragments import Operation
from ..trace.tape import force
from .cells import Cell, Home, cell_of, cell_of_part, shown
from .orders import order_of_part
from .paths import Path, part_of, take

NO_GRAD, PIECE = "in a no_grad or inference mode", "by a function that returns several views"
CUSTOM = "inside a custom Function"
OWN = "in a no_grad mode, and requires a gradient of its own"
LOST = "in a no_grad mode or as one of several, and its memory was written to since"
"""Where views are made that must not be written to."""

SMALL = 32768
"""So many bytes are compared as copies, which is sooner done than arrays are prepared: 16 KiB take 1.6 µs so, and 6.4
as arrays of words, 64 KiB 5.1 and 5.6."""

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
    `order` is that of all of it in PyTorch's memory.  `was` is the cell whose values NumPy's array was made with, as
    long as nobody has found others in it, and `left` are tensors that had the memory until they got another.
    """

    __slots__ = ("cell", "array", "edition", "counted", "viewed", "dropped", "unseen", "taken", "parts", "was",
                 "left", "order")

    def __init__(self, cell: Cell | None, array: np.ndarray | None = None) -> None:
        super().__init__()
        self.cell, self.array, self.viewed, self.dropped = cell, array, False, False
        self.order = None if cell is None else cell.kind.order
        self.edition = self.counted = self.parts = self.unseen = self.taken = 0
        self.was, self.left = None, ()

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

    def hand_out(self, cell: Cell, array: np.ndarray) -> bool:
        """Let NumPy's `array`, a copy of what the cell holds, be the memory; who saved the cell looks at it again.

        Not if another thread has written to the memory since, or has handed it out: no call stands between the
        question and the answer, for at a call threads take turns.
        """
        if self.cell is not cell:
            return False
        self.array, self.cell, self.was = array, None, cell
        if type(cell.home) is not Swapped:
            cell.home, cell.version = PartHome(self, ()), self.version
        return True

    def leave(self, swapped: Swapped) -> None:
        """Note that a tensor has other memory from now on."""
        tensor = swapped.tensor()
        self.left = (*[s for s in self.left if (t := s.tensor()) is not None and t is not tensor], swapped)

    def stayed(self, tensor: Any) -> Any:
        """What views of a tensor that has left are views of: the memory that it had; of one that has not, itself.

        It is made for who asks, as a storage that kept it would keep itself.
        """
        left = next((s for s in self.left if s.tensor() is tensor), None)
        if left is None or tensor is None or tensor._storage is self:
            return tensor
        cls: Any = type(tensor)
        made = cls.__new__(cls)
        made._cell, made._node, made._whole = Cell(left.kind, None), None, None
        made._storage, made._path, made._seen = self, left.path, -1
        return made

    def read(self, array: np.ndarray, path: Path, cell: Cell, seen: int) -> Cell:
        """A part of `array`, which is NumPy's memory or what `self.cell` holds: `cell`, which was read in the edition
        `seen`, if it holds that still."""
        part = part_of(array, path)
        if array is self.array:
            known = cell.home is None or (type(cell.home) is PartHome and cell.version == self.version)
            if known and seen == self.edition and holds(cell, part):
                return cell
            self.was = None
        order = order_of_part(array.shape, self.order, path)
        return cell_of(np.array(part, order="C", copy=True), order)

    def is_read(self, cell: Cell, path: Path, seen: int) -> bool:
        """Whether a cell that was read in the edition `seen` holds what is in NumPy's memory still."""
        array = self.array
        return array is not None and seen == self.edition and holds(cell, part_of(array, path))

    def lodge(self, cell: Cell, path: Path) -> Cell:
        """Let a cell that was just read be this memory's."""
        if self.array is None or cell.home is None:
            cell.home = PartHome(self, path) if path or self.array is not None else self
            cell.version = self.version
        return cell

    def settle(self) -> None:
        """Take the array back if nobody else holds it any more."""
        array, was = self.array, self.was
        # The references are: this object's, the local name's and the call's.
        if array is not None and array.base is None and sys.getrefcount(array) <= 3:
            if was is not None and holds(was, array) and self._take_back(was, array):
                if type(was.home) is PartHome and not was.home.path:
                    was.home = self  # nothing was written that anybody would have to look for
                return
            self._take_back(cell_of(np.ascontiguousarray(array).reshape(array.shape), self.order), array)
            self.edition += 1  # views look again: it may have been written to since they did
            self.taken = self.edition

    def _take_back(self, cell: Cell, array: np.ndarray) -> bool:
        """Let a cell that holds what is in NumPy's array be the memory again; whether it does.

        Another thread may have begun to write to the array before, as long as it is the memory: what it wrote is in
        the array, where that is the cell's, and else seen afterwards. What comes later finds the array gone.
        """
        if self.array is not array:
            return False
        self.cell, self.array, self.was = cell, None, None
        written = None if holds(cell, array) else cell_of(np.ascontiguousarray(array).reshape(array.shape), self.order)
        if written is not None and self.cell is cell:
            self.cell = written
        return written is None


class PartHome(Home):
    """The memory of a cell that is no more than a part of it, or was all of it before a writing unseen.

    Backward reads there what was written unseen, as PyTorch's does, whose saved tensors are the memory itself.
    `edition` is that of the memory when the cell was read.
    """

    __slots__ = ("storage", "path", "edition")

    def __init__(self, storage: Storage, path: Path) -> None:
        self.storage, self.path, self.edition = storage, path, storage.edition
        storage.parts += 1

    def __del__(self) -> None:
        self.storage.parts -= 1

    def __getattr__(self, name: str) -> Any:
        """Its version, and who wrote to it last: those of the memory."""
        return getattr(self.storage, name)

    def source(self) -> Cell | None:
        return self.storage.source()

    def memories(self) -> Iterator[Storage]:
        """The storages that the memory has had since: one that was dropped is shared again as another."""
        storage = self.storage
        while True:
            yield storage
            home = None if storage.cell is None else storage.cell.home
            if type(home) is not PartHome or home.path:
                return
            storage = home.storage

    def whole(self, cell: Cell) -> Cell | None:
        """All that the memory holds now, None if nobody wrote to it unseen since it held what is in `cell`."""
        memories = [*self.memories()]
        since = [self.edition] + [0] * (len(memories) - 1)
        array, whole, _ = memories[-1].now()
        written = any(m.unseen > e for m, e in zip(memories, since, strict=True))
        if not written and array is None and all(m.taken <= e for m, e in zip(memories, since, strict=True)):
            return None
        if (whole is cell and not self.path) or (cell.array is None and array is None and not written):
            return None
        value = array if whole is None else None if whole.array is None else shown(whole)
        if value is not None and holds(cell, part_of(value, self.path)):
            return None
        return cell_of(np.array(array, order="C", copy=True)) if whole is None else whole

    def left(self) -> list[Swapped]:
        """The tensors that had the memory until they got another."""
        found = [] if self.path else [(storage, s) for storage in self.memories() for s in storage.left]
        return [s for storage, s in found if getattr(s.tensor(), "_storage", None) is not storage]


class Swapped(Home):
    """The memory that a tensor had until it got another, by `p.data = other`.

    Who saved the tensor, and not a result, reads what it is then, as PyTorch's backward does, which saves the tensor.

    before   the home until then
    tensor   the tensor; leaf says whether it required a gradient of its own, node and index where else it stood
    count    how often it had been written to
    kind, path   what it was, and which part of the memory
    """

    __slots__ = ("before", "tensor", "leaf", "node", "index", "count", "kind", "path")

    def __init__(self, before: Home, tensor: Any, count: int) -> None:
        self.before, self.tensor, self.count, self.leaf = before, ref(tensor), count, tensor._requires
        self.node, self.index = tensor._node and ref(tensor._node), tensor._index
        self.kind, self.path = tensor._kind_of(), tensor._path

    def __getattr__(self, name: str) -> Any:
        """Its version, and who wrote to it last: those of the memory of before."""
        return getattr(self.before, name)

    def source(self) -> Cell | None:
        return self.before.source()

    def is_at(self, edge: Any) -> bool:
        """Whether the tensor stood there in the graph, and not one that had the same memory."""
        if self.node is not None:
            node = self.node()
            return edge is not None and node is not None and node.at(self.index) == edge[0].at(edge[1])
        if self.leaf:
            return edge is not None and getattr(edge[0], "variable", None) is self.tensor()
        return edge is None


def holds(cell: Cell, array: np.ndarray) -> bool:
    """Whether a cell is known to hold the numbers that an array holds now, bit by bit."""
    if cell.array is None:
        return False
    a, b = shown(cell), array
    if a.nbytes <= SMALL:
        return a.tobytes() == b.tobytes()
    word = f"u{min(a.itemsize, 8)}"
    a, b = (np.ascontiguousarray(x).reshape(-1).view(word) for x in (a, b))
    return bool((a == b).all())


class Counter:
    """How often memory was written to by tensors whose writing backward need not know of."""

    __slots__ = ("written",)

    def __init__(self) -> None:
        self.written = 0


def part_of_cell(whole: Cell, path: Path) -> Cell:
    """A cell of a part of what has been computed."""
    kind = whole.kind
    return cell_of_part(part_of(shown(whole), path), order_of_part(kind.shape, kind.order, path))


def _stored(array: np.ndarray) -> Storage:
    return Storage(cell_of(array))


def _retake(m: Any, x: Any, path: Path) -> Any:
    return m(take(m.b, x.value, path))


REVIEW = Operation("view", "AsStridedBackward0", _retake, lies="part")
"""Reads a part again, because somebody has written to the whole."""
