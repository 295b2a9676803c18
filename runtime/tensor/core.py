"""What a tensor is: a cell, its storage where several tensors share one, and its place in the gradient graph.

Tensors that share memory in PyTorch share a `Storage` here.  A view is the path from the storage's whole to
its part; it is read again after somebody has written, and writing to it puts the part back into the whole.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import numpy as np

from ...compiler.ir.types import DTYPES
from .cells import Cell, Home, cell_of, number_cell
from .fragments import Operation, fragment_for
from .hooks import Table
from .modes import mode, watch
from .nodes import AccumulateGrad, Edge, Node, emit
from .paths import Path, part_of, take
from .tape import force

if TYPE_CHECKING:
    from .tensor import Tensor

NUMBERS = (int, float, bool)
FLOAT_MAX = float(np.finfo(np.float32).max)


class Storage(Home):
    """Memory that several tensors, or an array that the program holds, read and write.

    The value is `cell`, or `array` where NumPy can write to it without our knowing.  Every writing makes a new
    edition; `version` counts those that backward must know of.  `viewed` says whether there has been a view.
    """

    __slots__ = ("cell", "array", "edition", "viewed")

    def __init__(self, cell: Cell | None, array: np.ndarray | None = None) -> None:
        super().__init__()
        self.cell, self.array, self.edition, self.viewed = cell, array, 0, False

    def known(self) -> Cell:
        """The value, where NumPy cannot write to it."""
        assert self.cell is not None
        return self.cell

    def settle(self) -> None:
        """Take the array back if nobody else holds it any more."""
        array = self.array
        # The references are: this object's, the local name's and the call's.
        if array is not None and array.base is None and sys.getrefcount(array) <= 3:
            self.cell, self.array = cell_of(np.ascontiguousarray(array).reshape(array.shape)), None


NO_GRAD, PIECE = "in a no_grad or inference mode", "by a function that returns several views"
CUSTOM = "inside a custom Function"
LOST = "in a no_grad mode, and its memory was written to since"
"""Where views are made that must not be written to."""


class Core:
    """The state of a tensor.  `Tensor` adds the functions."""

    _cell: Cell
    _node: Node | None = None
    _index = 0
    _requires = False
    _storage: Storage | None = None
    _path: Path = ()
    _base: Core | None = None
    _part: Path = ()
    _seen = 0
    _written = 0
    _grad: Core | None = None
    _accumulator: ref[AccumulateGrad] | None = None
    _retains = False
    #: functions of the gradient of a leaf, and functions of the leaf when its `grad` has been added to
    _hooks: Table | None = None
    _posts: Table | None = None
    #: of a view, where it was made if that is why it must not be written to while gradients are kept
    _origin = ""
    _inference = False
    _counted = True

    # ---- the value

    def _read(self) -> Cell:
        """The cell that holds the value now."""
        storage = self._storage
        if storage is None or (storage.array is None and self._seen == storage.edition):
            return self._cell
        return self._refresh(storage)

    def _refresh(self, storage: Storage) -> Cell:
        """Read the storage again: somebody may have written to it through another tensor, or through NumPy."""
        storage.settle()
        base = self._base
        if self._seen != storage.edition and base is not None:
            tracked = not self._origin
            if self._origin and (base._node is not None or base._requires):
                self._origin = LOST
            before, mode.enabled = mode.enabled, tracked
            try:
                again = apply(REVIEW, (base,), (self._part,))
            finally:
                mode.enabled = before
            self._cell = again._cell
            if self._origin == LOST:
                self._node, self._requires = None, True
            elif again._node is not None:
                self._node, self._index = again._node, again._index
        elif storage.array is not None:
            part = part_of(storage.array, self._path)
            self._cell = cell_of(np.array(part, order="C", copy=True))
        elif self._path and self._seen != storage.edition:
            whole = storage.known()
            fragment = fragment_for((REVIEW, (self._path,), whole.kind))
            (self._cell,) = emit(fragment, [whole], None)[0]
        elif not self._path:
            self._cell = storage.known()
        self._seen = storage.edition
        self._cell.home, self._cell.version = storage, storage.version
        return self._cell

    def _array(self) -> np.ndarray:
        """The value as an array that must not be written to."""
        cell = self._read()
        array = cell.array
        if array is None:
            array = force(cell).array
        assert array is not None
        return array

    def _shared(self) -> Storage:
        """The storage, made when a second tensor is about to share it."""
        if self._storage is None:
            self._storage = Storage(self._cell)
            self._storage.version = self._storage.edition = self._seen = self._written
        return self._storage

    def _check_known(self) -> None:
        """Raise PyTorch's error where nobody can say what the history is."""
        if self._origin == LOST:
            raise RuntimeError(
                "A view was created in no_grad mode, or as one of several, and its base or another view of its base"
                " has been modified inplace. What its gradient is, is ambiguous: do both inside the no_grad block or"
                " both outside, or use a clone()."
            )

    # ---- the place in the gradient graph

    def _edge(self) -> Edge | None:
        """Where a gradient for this tensor goes."""
        node = self._node
        if node is not None:
            return node, self._index
        return self._leaf_edge() if self._requires else None

    def _leaf_edge(self) -> Edge | None:
        if self._origin in (NO_GRAD, LOST):  # its gradient is nobody's
            if mode.enabled:
                self._check_known()
            return None
        kept = self._accumulator and self._accumulator()
        if kept is None:
            kept = AccumulateGrad(self)
            self._accumulator = ref(kept)
        return kept, 0


_tensor: type[Core] = Core


Class = TypeVar("Class", bound=type[Core])


def instances_are(cls: Class) -> Class:
    """Class decorator: what operations return is of this class."""
    global _tensor
    _tensor = cls
    return cls


def wrap(cell: Cell, node: Node | None = None, index: int = 0) -> Tensor:
    """A tensor of a cell."""
    made = _tensor.__new__(_tensor)
    made._cell = cell
    if node is not None:
        made._node, made._index = node, index
    if watch.inference and mode.inference:
        made._inference = True
    return made  # type: ignore[return-value]


def _presented(cell: Cell, edge: Edge | None) -> Core:
    """A saved value as a tensor: the leaf itself, if it is one."""
    if edge is None or not isinstance(edge[0], AccumulateGrad):
        return wrap(cell) if edge is None else wrap(cell, *edge)
    leaf = edge[0].variable
    return leaf if leaf._cell is cell else wrap(cell)


Node.present = staticmethod(_presented)


def number_of(value: Any) -> float | None:
    """Python's number for one of Python's or NumPy's, None for anything else."""
    if type(value) in NUMBERS:
        return value
    if isinstance(value, (np.generic, *NUMBERS)) and not isinstance(value, np.complexfloating):
        plain = value.item() if isinstance(value, np.generic) else value
        return next((t(plain) for t in (bool, int, float) if isinstance(plain, t)), None)
    return None


def apply_all(
    operation: Operation, args: Sequence[Any], attributes: tuple[Any, ...] = ()
) -> tuple[list[Cell], Node | None]:
    """Record an operation on tensors and numbers; the cells of its results, and its node."""
    key: list[Any] = [operation, attributes]
    cells: list[Any] = []
    edges: list[Edge | None] = []
    requires = False
    for a in args:
        edge = None
        if isinstance(a, Core):
            cell = a._read()
            node = a._node
            if node is not None:
                edge, requires = (node, a._index), True
            elif a._requires:
                edge, requires = a._leaf_edge(), True
            elif a._base is not None:
                requires = requires or a._base._node is not None or a._base._requires
            key.append(cell.kind)
            cells.append(cell)
        else:
            number = a if type(a) in NUMBERS else _number(operation, a)
            key.append(type(number))
            cells.append(number)
        edges.append(edge)
    fragment = fragment_for(tuple(key))
    if fragment.has_numbers:
        for k, dtype in enumerate(fragment.numbers):
            if dtype is not None:
                cells[k] = _cell_of_number(cells[k], dtype)
    if not requires or not mode.enabled:
        return emit(fragment, cells, None)
    made = emit(fragment, cells, edges)
    if watch.inference and made[1] is not None:
        _check_saved(made[1], args)
    return made


def _check_saved(node: Node, args: Sequence[Any]) -> None:
    """No tensor of an inference mode may be read by backward."""
    for a in args:
        if isinstance(a, Core) and a._inference and a._cell in node.saved:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a"
                " normal tensor and use it in autograd."
            )


def _number(operation: Operation, a: Any) -> float:
    number = number_of(a)
    if number is None:
        raise TypeError(f"{operation.name}(): expected a Tensor or a number, got {type(a).__name__}")
    return number


def _cell_of_number(value: float, dtype: str) -> Cell:
    if dtype in ("i32", "i64"):
        info = np.iinfo(DTYPES[dtype])
        if not info.min <= value <= info.max:
            raise RuntimeError(f"value {value} cannot be converted to {dtype} without overflow")
    elif not -FLOAT_MAX < value < FLOAT_MAX:
        with np.errstate(over="ignore"):
            return number_cell(value, dtype)
    return number_cell(value, dtype)


def apply(operation: Operation, args: Sequence[Any], attributes: tuple[Any, ...] = ()) -> Tensor:
    """Record an operation with one result."""
    (cell,), node = apply_all(operation, args, attributes)
    return wrap(cell, node)


def requires(tensor: Core) -> bool:
    """Whether gradients flow into the tensor."""
    tensor._read()
    base = tensor._base
    if tensor._node is None and base is not None and (tensor._origin == NO_GRAD or not tensor._requires):
        return requires(base)
    return tensor._node is not None or tensor._requires


# ---- reading a part again


def _retake(m: Any, x: Any, path: Path) -> Any:
    return m(take(m.b, x.value, path))


REVIEW = Operation("view", "AsStridedBackward0", _retake)
