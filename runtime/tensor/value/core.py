"""What a tensor is: a cell, its storage where several tensors share one, and its place in the gradient graph.

Tensors that share memory in PyTorch share a `Storage` here.  A view is the path from the storage's whole to
its part; it is read again after somebody has written, and writing to it puts the part back into the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from ..calls.calls import recorded
from ..calls.natively import native_operators, recordable
from ..calls.recording import record_methods
from ..reverse.hooks import Table
from ..reverse.modes import mode, watch
from ..reverse.nodes import AccumulateGrad, Edge, Node, emit
from ..reverse.written import check_saved
from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import Operation
from ..trace.late import Late
from ..trace.peeking import peek
from ..trace.tape import compute, force, tapes
from ..trace.undo import note
from .aliases import adopt, array_of
from .by_value import by_value
from .cells import Cell, shown
from .memory import has_history, may_change, requires
from .numbers import NUMBERS, checked_number, fragment_and_numbers, input_cell, number_of
from .paths import Path, is_dense
from .slots import LEAF, PART, SPECIAL
from .storage import AMBIGUOUS, CUSTOM, LOST, NO_GRAD, OWN, PIECE, REVIEW, Counter, Storage, part_of_cell

UNTOLD = SPECIAL | PART


class Core(Late):
    """The state of a tensor.  `Tensor` adds the functions."""

    _cell: Cell
    _node: Node | None
    _storage: Storage | None
    _steps: Path = ()
    _whole: Core | None = None
    _part: Path = ()
    _seen = 0
    _grad: Core | None
    _accumulator: ref[AccumulateGrad] | None = None
    _retains = _inference = False
    #: functions of the gradient of a leaf, and functions of the leaf when its `grad` has been added to
    _hooks: Table | None = None
    _posts: Table | None = None
    #: of a view, where it was made if that is why it must not be written to while gradients are kept
    _origin = ""
    #: what counts its writes, where backward need not know of them
    _counter: Counter | None = None
    #: how often it was written to in memory that it had before
    _version_before = 0
    #: the trace in which rows were read last, how many between its values, and how many values it had
    _rows = 0, 0, 0

    @property
    def _requires(self) -> bool:
        """Whether it requires a gradient of its own."""
        return bool(self._flags & LEAF)

    @_requires.setter
    def _requires(self, value: bool) -> None:
        self._flags = self._flags | LEAF if value else self._flags & ~LEAF

    @property
    def _path(self) -> Path:
        """The way from the whole memory to the part that it is."""
        if self._flags & UNTOLD:
            self._tell()
        return self._steps

    @_path.setter
    def _path(self, value: Path) -> None:
        self._steps = value

    @property
    def _base(self) -> Core | None:
        """The tensor of which it is a view."""
        if self._flags & UNTOLD:
            self._tell()
        if self._storage is not None and self._storage.left:
            self._whole = self._storage.stayed(self._whole)
        return self._whole

    @_base.setter
    def _base(self, value: Core | None) -> None:
        self._whole = value

    # ---- what it is

    def _tell(self) -> None:
        """Find out what it is a view of."""
        if self._owner is not None:
            adopt(self)
        elif self._is_noted(PART):
            self._flags &= ~PART
            tapes.tape.recall(self._record).restore(self, self._place)
        elif self._is_late:
            self._late_cell()

    def _kind_of(self) -> Any:
        """The kind of the value; a late tensor stays one."""
        return self._kind if self._is_late else self._read().kind

    def _is_dense(self) -> bool:
        """Whether its elements follow each other in the memory that it is a part of; it is known which part."""
        return is_dense(self._storage.shape(), self._steps)  # type: ignore[union-attr]

    # ---- the value

    def _read(self) -> Cell:
        """The cell that holds the value now."""
        storage = self._storage
        if storage is None or (storage.array is None and self._seen == storage.edition):
            return self._cell
        return self._refresh(storage)

    def _refresh(self, storage: Storage) -> Cell:
        """Read the storage again: somebody may have written to it through another tensor, or through NumPy."""
        call = tapes.tape.call
        if call is not None and self._seen == storage.edition and call.has_read(self):
            return self._cell  # what it was when the call began
        storage.settle()
        array, whole, edition = storage.now()
        base = self._base
        told = self._seen < storage.counted or self._counter is not None  # what is written unseen changes no history
        own = array
        if array is None and not told and self._path and whole.array is not None:
            array = shown(whole)
        plain = base is not None and not (base._flags & LEAF or has_history(base)) and tapes.tape.again is None
        if plain and call is None and array is None and type(whole) is Cell and whole.array is not None:
            self._cell = part_of_cell(whole, self._path)
        elif self._seen != edition and base is not None and (told or array is None):
            if told and self._origin and (base._node is not None or base._requires):
                self._origin = LOST
            before, mode.enabled = mode.enabled, told and not self._origin
            try:
                again = apply_now(REVIEW, (base,), (self._part,))
            finally:
                mode.enabled = before
            note(tapes.tape, again._cell, self, "_cell", "_seen", "_node", "_index")
            self._cell = again._cell
            if self._origin == LOST:
                self._node, self._requires = None, True
            elif again._node is not None:
                self._node, self._index = again._node, again._index
        elif array is not None:
            again = storage.read(array, self._path, self._cell, self._seen)
            if storage.array is not own or storage.edition != edition:  # another thread has written to it meanwhile
                return self._refresh(storage)
            self._cell, self._serial = again, self._serial if again is self._cell else 0
        elif self._path and self._seen != edition:
            (cell,) = emit(fragment_for((REVIEW, (self._path,), whole.kind)), [whole], None)[0]
            note(tapes.tape, cell, self, "_cell", "_seen")
            self._cell = cell
        elif not self._path and self._cell is not whole:
            note(tapes.tape, whole, self, "_cell", "_seen")
            self._cell, self._serial = whole, 0
        if self._seen != edition:
            self._seen, self._serial = edition, 0
        return storage.lodge(self._cell, self._path)

    def _array(self, passing: bool = False) -> np.ndarray:
        """The value as an array that must not be written to; `passing`: see `peek`."""
        call, late = tapes.tape.call, self._is_late
        if late and self._key is not None and call is None and (made := array_of(self)) is not None:
            return made
        if call is not None:
            call.refuse("reads the values of a tensor")
        if (late or self._cell.array is None) and (made := peek(self, call, passing=passing)) is not None:
            return made
        if late:
            compute(self._serial)
        cell = self._read()
        return shown(cell if cell.array is not None else force(cell))

    def _shared(self) -> Storage:
        """The storage, made when a second tensor is about to share it."""
        if self._flags & PART:
            self._tell()
        tape = tapes.tape
        if self._storage is None and may_change(self):
            tape.catch_up()
        storage = self._storage  # held from here on: one that nobody else refers to is dropped
        if storage is None:
            storage = self._store()
            if tape.depth > tape.visits:
                tape.storages.append(self)
        return storage

    def _store(self) -> Storage:
        while (storage := self._storage) is None:
            cell = self._cell
            made = Storage(cell)
            if not self._is_late and self._cell is cell:  # and no other thread has written to it meanwhile
                made.version = made.edition = self._seen = self._written
                storage = self._storage = made
                break
        return storage

    def _have_memory_of(self, other: Core) -> None:
        """Have the memory of another tensor, whatever there was."""
        self._cell, self._storage = other._read(), other._shared()
        self._path, self._base, self._seen = other._path, None, other._seen

    def _is_view(self) -> bool:
        return self._base is not None

    def _check_known(self) -> None:
        """Raise PyTorch's error where nobody can say what the history is."""
        if self._origin == LOST:
            raise RuntimeError(AMBIGUOUS)

    # ---- the place in the gradient graph

    def _edge(self) -> Edge | None:
        """Where a gradient for this tensor goes."""
        node = self._node
        if node is not None:
            return node, self._index
        return self._leaf_edge() if self._requires else None

    def _open(self) -> Node | None:
        """The node that it is a result of, as PyTorch has it: one of a segment's, if it is the result of such."""
        if self._node is not None:
            self._node, self._index = self._node.at(self._index)
        return self._node

    def _leaf_edge(self) -> Edge | None:
        if self._origin in (NO_GRAD, LOST):  # its gradient is nobody's
            if mode.enabled:
                self._check_known()
            return None
        known = self._accumulator
        kept = known and known()
        while kept is None:
            made = AccumulateGrad(self)
            new = ref(made)
            if self._accumulator is known:  # and no other thread has made one meanwhile
                self._accumulator, kept = new, made
            else:
                known = self._accumulator
                kept = known and known()
        return kept, 0


_tensor: type[Core] = Core

Class = TypeVar("Class", bound=type[Core])


def instances_are(cls: Class) -> Class:
    """Class decorator: what operations return is of this class."""
    global _tensor
    _tensor = cls
    recordable(cls)
    record_methods(*[c for c in cls.__mro__[1:] if c.__module__.startswith(_FACE)])
    native_operators(*[c for c in cls.__mro__ if c.__name__ == "Infix"])
    return cls


Tensor = TypeVar("Tensor", bound=Core)
"""In annotations below the class: a function of a tensor gives one of its class."""

_FACE = __name__.rpartition(".value.")[0] + ".face."
"""Where the methods of tensors are functions; those of classes elsewhere are about their state."""


def wrap(cell: Cell, node: Node | None = None, index: int = 0) -> Any:
    """A tensor of a cell."""
    made = _tensor.__new__(_tensor)
    made._cell, made._node = cell, node
    if index:
        made._index = index
    if watch.inference and mode.inference:
        made._inference = True
        made._flags |= SPECIAL
    return made  # type: ignore[return-value]


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
            number = a if type(a) in NUMBERS else checked_number(operation, a)
            key.append(number.__class__)
            cells.append(number)
        edges.append(edge)
    fragment, further = fragment_and_numbers(tuple(key))
    if further:
        cells += further
        edges += [None] * len(further)
    if fragment.has_numbers:
        for k, dtype in enumerate(fragment.numbers):
            if dtype is not None:
                cells[k] = input_cell(cells[k], dtype)
    if not requires or not mode.enabled:
        return emit(fragment, cells, None)
    made = emit(fragment, cells, edges)
    if watch.inference and made[1] is not None:
        check_saved(made[1], args)
    return made


def apply_now(operation: Operation, args: Sequence[Any], attributes: tuple[Any, ...] = ()) -> Any:
    """Record an operation with one result."""
    (cell,), node = apply_all(operation, args, attributes)
    return wrap(cell, node)


APPLY = recorded(apply_now)


def apply(operation: Operation, args: Sequence[Any], attributes: tuple[Any, ...] = ()) -> Any:
    """The same, a call by itself where it is part of none: a function that draws, warns or looks at values is none."""
    if tapes.tape.depth:
        return apply_now(operation, args, attributes)
    return APPLY(operation, tuple(map(by_value, args)), attributes)


__all__ = [  # with what stands elsewhere
    "CUSTOM", "LOST", "NO_GRAD", "NUMBERS", "OWN", "PIECE", "REVIEW", "Core", "Storage", "Tensor", "apply", "apply_all",
    "apply_now", "input_cell", "instances_are", "number_of", "requires", "wrap"]  # fmt: skip
