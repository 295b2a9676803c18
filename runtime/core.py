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

from ..compiler.ir.types import DTYPES
from .cells import Cell, cell_of, number_cell
from .fragments import Operation, fragment_for
from .modes import mode
from .nodes import AccumulateGrad, Edge, Node, emit
from .paths import Path, part_of, put, take
from .tape import force

if TYPE_CHECKING:
    from .tensor import Tensor

NUMBERS = (int, float, bool)
FLOAT_MAX = float(np.finfo(np.float32).max)


class Storage:
    """Memory that several tensors, or an array that the program holds, read and write.

    The value is `cell`, or `array` where NumPy can write to it without our knowing.
    """

    __slots__ = ("cell", "array", "version")

    def __init__(self, cell: Cell | None, array: np.ndarray | None = None) -> None:
        self.cell, self.array, self.version = cell, array, 0

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

    # ---- the value

    def _read(self) -> Cell:
        """The cell that holds the value now."""
        storage = self._storage
        if storage is None or (storage.array is None and self._seen == storage.version):
            return self._cell
        return self._refresh(storage)

    def _refresh(self, storage: Storage) -> Cell:
        """Read the storage again: somebody may have written to it through another tensor, or through NumPy."""
        storage.settle()
        base = self._base
        if self._seen != storage.version and base is not None:
            again = apply(REVIEW, (base,), (self._part,))
            self._cell, self._node, self._index = again._cell, again._node, again._index
        elif storage.array is not None:
            part = part_of(storage.array, self._path)
            self._cell = cell_of(np.array(part, order="C", copy=True))
        elif self._path and self._seen != storage.version:
            whole = storage.known()
            fragment = fragment_for((REVIEW, (self._path,), whole.kind))
            (self._cell,) = emit(fragment, [whole], None)[0]
        elif not self._path:
            self._cell = storage.known()
        self._seen = storage.version
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
            self._storage.version = self._seen = self._written
        return self._storage

    # ---- the place in the gradient graph

    def _edge(self) -> Edge | None:
        """Where a gradient for this tensor goes."""
        node = self._node
        if node is not None:
            return node, self._index
        return self._leaf_edge() if self._requires else None

    def _leaf_edge(self) -> Edge:
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
    return made  # type: ignore[return-value]


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
    return emit(fragment, cells, edges if requires and mode.enabled else None)


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
    return tensor._node is not None or tensor._requires


# ---- views


def _retake(m: Any, x: Any, path: Path) -> Any:
    return m(take(m.b, x.value, path))


REVIEW = Operation("view", "AsStridedBackward0", _retake)


def view(x: Core, path: Path, operation: Operation) -> Tensor:
    """The part of `x` at the end of `path`, which shares its memory."""
    array = _known(x)
    if array is not None and _at_once(path):
        part = part_of(array, path)
        made = wrap(cell_of(np.ascontiguousarray(part).reshape(part.shape)))
    else:
        made = apply(operation, (x,), (path,))
    storage = x._shared()
    made._storage, made._path = storage, x._path + path
    made._base = x if x._base is None else x._base
    made._part = x._part + path
    made._seen = storage.version
    return made


def _known(x: Core) -> np.ndarray | None:
    """The array of `x`, or NumPy's memory under it, if it is there and no gradient is kept."""
    storage = x._storage
    if storage is not None and storage.array is not None and not requires(x):
        storage.settle()
        if storage.array is not None:
            return part_of(storage.array, x._path)
    array = x._read().array
    kept = mode.enabled and (x._node is not None or x._requires)
    return None if kept else array


def _at_once(path: Path) -> bool:
    """Whether a part of what is known is taken now: a batch's place in the data is no part of a trace."""
    names = {step[0] for step in path}
    return "slice" in names or names <= {"reshape"}


def alias(x: Core) -> Tensor:
    """The same memory without the history."""
    made = wrap(x._read())
    made._storage, made._path = x._shared(), x._path
    made._seen = made._storage.version
    return made


# ---- writing


def check_writable(x: Core) -> None:
    """Raise PyTorch's error where writing would hide the past from backward."""
    if mode.enabled:
        if x._requires and x._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation; "
                "write to it inside `with no_grad():`"
            )
        base = x._base
        if base is not None and base._requires and base._node is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation; "
                "write to it inside `with no_grad():`"
            )
    if any(step[0] == "spread" for step in x._path):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single"
            " memory location. Please clone() the tensor before performing the operation."
        )


def _put(m: Any, whole: Any, part: Any, path: Path) -> Any:
    return m(put(m.b, whole.value, part.value, path))


PUT = Operation("put", "CopySlices", _put)


def assign(x: Core, cell: Cell) -> None:
    """Give `x` another value of the same kind, outside of any history."""
    if x._storage is None:
        x._cell = cell
        x._written += 1
    else:
        overwrite(x, wrap(cell))


def overwrite(x: Any, new: Core) -> Any:
    """Give `x`, and all that share its memory, the value and history of `new`, of the same kind."""
    if x._base is not None:
        overwrite(x._base, apply(PUT, (x._base, new), (x._part,)))
        return x
    cell, storage = new._read(), x._storage
    if storage is None:
        x._cell = cell
        x._written += 1
    else:
        storage.settle()
        if storage.array is not None:
            np.copyto(part_of(storage.array, x._path), force(cell).array)  # type: ignore[arg-type]
        elif x._path:
            storage.cell = apply(PUT, (wrap(storage.known()), wrap(cell)), (x._path,))._cell
        else:
            storage.cell = cell
        storage.version += 1
        x._cell, x._seen = cell, storage.version
    if mode.enabled:
        x._node, x._index = new._node, new._index
    return x
