"""Writing into tensors: what may be written to, and what becomes of those that share the memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from threading import get_ident
from typing import Any

import numpy as np

from ..ops.arranging.shapes import whole_of
from ..reverse.modes import mode, watch
from ..reverse.nodes import Node, emit
from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import Operation
from ..trace.tape import force, tapes
from ..trace.undo import note
from .cells import Cell, Home, Kind, levels_of, shown
from .core import Core, Storage, apply_now, requires, wrap
from .dtypes import ALL
from .memory import viewed_elsewhere
from .paths import Path, overlap, part_of, put
from .slots import VIEWED
from .storage import PartHome, Swapped


def _place_of(cell: Any) -> Any:
    """The place of the operation that was just recorded with this result."""
    return tapes.tape.place if cell.array is None else None


def check_gradient(mine: Kind, value: Any) -> None:
    """Raise PyTorch's error unless a tensor, dense or sparse, may be the gradient of one of this kind."""
    shape, dtype = tuple(value.shape), value.dtype
    if shape != mine.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(shape)}' to a tensor of size"
            f" '{list(mine.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    if dtype is not ALL[mine.dtype]:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype {dtype} to a tensor with dtype {ALL[mine.dtype]};"
            " convert it first"
        )


def check_normal(x: Core) -> None:
    """Raise PyTorch's error where a tensor of an inference mode would be written to outside of it."""
    if x._inference and not mode.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get"
            " a normal tensor before doing inplace update."
        )


def check_writable(x: Core, others: Sequence[Any] = ()) -> None:
    """Raise PyTorch's error where writing would hide the past from backward."""
    check_normal(x)
    if mode.enabled and (requires(x) or any(isinstance(a, Core) and requires(a) for a in others)):
        if x._origin:
            what = f"Output {x._index} of {x._node.name()}" if x._node else "This tensor"
            raise RuntimeError(
                f"{what} is a view and is being modified inplace. The view was made {x._origin}, whose views must"
                " not be written to while gradients are kept. Use the out-of-place operation instead."
            )
        if x._requires and x._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation; "
                "write to it inside `with no_grad():`"
            )
        base = x._base
        if base is not None and base._requires and base._node is None and requires(x):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation; "
                "write to it inside `with no_grad():`"
            )
    if any(map(_repeats, x._path)) and _lies_twice(x):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single"
            " memory location. Please clone() the tensor before performing the operation."
        )


def _repeats(step: Any) -> bool:
    """Whether elements of a part may lie in one place."""
    if step[0] == "unfold":
        return step[3] < step[2]
    if step[0] == "strided":
        places = np.zeros((), np.int64)
        for n, stride in zip(step[1], step[2], strict=True):
            places = np.add.outer(places, np.arange(n) * stride)
        return np.unique(places).size < places.size
    return step[0] == "spread" and any(n > 1 for a, n in enumerate(step[1]) if a not in step[2])


def _lies_twice(x: Core) -> bool:
    """Whether two elements of a view lie in one place: a row of a matrix whose rows are one has each place once."""
    shape = whole_of(x)
    places = part_of(np.arange(prod(shape)).reshape(shape), x._path)
    return places.size > prod(shape) or np.unique(places).size < places.size


def check_apart(x: Core, other: Core, same: bool = False) -> None:
    """Raise PyTorch's error if what is read lies in the memory that is written; the `same` part may be allowed."""
    shared = x is other or (x._storage is not None and x._storage is other._storage)
    if shared and overlap(whole_of(x), x._path, other._path, even_equal=not same):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single"
            " memory location. Please clone() the tensor before performing the operation."
        )


def _put(m: Any, whole: Any, part: Any, path: Path) -> Any:
    return m(put(m.b, whole.value, part.value, path))


PUT = Operation("put", "CopySlices", _put)


WRITTEN = "_cell", "_written", "_node", "_index"
"""What becomes another one in a tensor that is written to."""


LAID = Operation("copy", "", lambda m, x, order: x, lies="order")


def _laid(cell: Cell, kind: Kind) -> Cell:
    """The cell in the order of the memory that it is written to."""
    if cell.kind.order == kind.order:
        return cell
    return emit(fragment_for((LAID, (kind.order,), cell.kind)), [cell], None)[0][0]


def _share(x: Core) -> None:
    """Let all that are views of the memory of `x` know it, those that are on tapes only among them."""
    tape = tapes.tape
    tape.catch_up()
    whole = x if x._base is None else x._base
    if whole._flags & VIEWED:
        viewed_elsewhere(whole, tape)


def assign(x: Core, cell: Cell) -> None:
    """Give `x` another value of the same kind, outside of any history."""
    _share(x)
    cell = _laid(cell, x._kind_of())
    if x._storage is None:
        _leave(x, cell)
        x._cell = cell
        x._written += 1
    elif x._base is None:
        overwrite_whole(x, cell)
    else:
        overwrite(x, wrap(cell))


def _leave(x: Core, cell: Cell) -> None:
    """Note at the value of `x` that `cell` is written over it."""
    old = x._cell
    note(tapes.tape, cell, x, *WRITTEN)
    note(tapes.tape, cell, old, "home", "version")
    old.home, old.version = Home(x._written + 1, _place_of(cell), get_ident()), x._written
    _noted(x)


def moved(x: Core) -> None:
    """Count a write to what has memory of its own from now on, and so counts by itself."""
    if x._counter is not None:
        x._written, x._counter = x._counter.written, None
    x._written += 1


def _noted(x: Core) -> None:
    """Let the call that is recorded know that it writes; else the tensor is another value on the tape from now on."""
    tape = tapes.tape
    if tape.call is not None:
        tape.call.wrote(x)
    elif tape.again is None:
        x._serial = 0


def overwrite(x: Any, new: Core) -> Any:
    """Give `x`, and all that share its memory, the value and history of `new`, of the same kind."""
    _share(x)
    node = new._node if mode.enabled else None
    if node is not None:
        node.keep([x._cell])  # which the operation reads before it writes over it
    if x._base is None:
        overwrite_whole(x, new._read())
        if mode.enabled:
            _rebase(x, new._node, new._index)
    elif node is not None or not mode.enabled:
        overwrite(x._base, apply_now(PUT, (x._base, new), (x._part,)))
    else:
        mode.enabled = False
        try:
            overwrite(x._base, apply_now(PUT, (x._base, new), (x._part,)))
        finally:
            mode.enabled = True
    return x


def overwrite_whole(x: Core, cell: Cell) -> None:
    """Give a tensor that is no view another cell, and the memory that it shares the values."""
    if watch.lanes and levels_of([cell])[0] and not levels_of([x._read()])[0]:
        raise RuntimeError(
            "vmap: an in-place function would write another value for each example into a Tensor that is the same for"
            " all of them. Use an out-of-place function, or make the Tensor with zeros_like(x) or x.new_zeros(...)."
        )
    cell = _laid(cell, x._kind_of())
    if x._storage is None:
        _leave(x, cell)
    storage = x._storage  # which another thread may have made meanwhile
    if storage is None:
        x._cell = cell
        x._written += 1
        return
    _noted(x)
    storage.settle()
    note(tapes.tape, cell, x, *WRITTEN, "_seen")
    while not _replaced(x, storage, cell):
        pass
    storage.edition += 1
    x._written += 1
    if x._counter is not None:
        note(tapes.tape, cell, x._counter, "written")
        x._counter.written += 1
    else:
        storage.version += 1
        storage.written, storage.counted, storage.writer = _place_of(cell), storage.edition, get_ident()
    x._cell, x._seen = cell, storage.edition
    cell.home, cell.version = storage, storage.version


def _replaced(x: Core, storage: Storage, cell: Cell) -> bool:
    """Whether the memory that a tensor shares has its new values now, and no other thread exported it meanwhile."""
    array, whole, _ = storage.now()
    tape = tapes.tape
    note(tape, cell, storage, "cell", "version", "written", "writer", "counted")
    if x._counter is not None:
        storage.unseen = storage.edition + 1
    for old in (x._cell, whole) if x._counter is None else (whole,):
        if old is not None:
            note(tape, cell, old, "home", "version")
            home = storage if x._counter is None else PartHome(storage, ())
            if type(old.home) is Swapped:
                old.home.before = home
            else:
                old.home = home
            old.version = storage.version
    storage.was = None
    if array is not None:
        np.copyto(part_of(array, x._path), shown(force(cell)))
        return storage.array is array
    new = apply_now(PUT, (wrap(whole), wrap(cell)), (x._path,))._cell if x._path else cell
    same = storage.cell is whole
    if same:
        storage.cell = new
    return same


def _rebase(x: Core, node: Node | None, index: int) -> None:
    """Give `x` another place in the gradient graph; if it keeps its gradient, it keeps that of the new place."""
    if x._retains and x._node is not None and node is not None:
        hooks = x._node.hooks
        kept = None if hooks is None else hooks.no_longer_retained(x._index)
        if kept is not None:  # not so where a call runs again that came before
            node.hooked().retained[index] = kept
    x._node, x._index = node, index
