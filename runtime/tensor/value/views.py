"""Making views: tensors that share the memory of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..reverse.modes import mode
from ..trace.fragments.fragments import Operation
from ..trace.tape import tapes
from .cells import Cell, cell_of, cell_of_part, shown
from .core import NO_GRAD, OWN, PIECE, Core, apply_all, apply_now, requires, wrap
from .memory import has_history
from .orders import order_of_part
from .paths import Path, part_of
from .storage import Counter, PartHome


def view(x: Core, path: Path, operation: Operation) -> Any:
    """The part of `x` at the end of `path`, which shares its memory."""
    array = known(x) if may_cut() else None
    if array is not None and _at_once(path):
        made = wrap(cell_in(x, part_of(array, path), path))
    else:
        made = apply_now(operation, (x,), (path,))
    return placed(made, x, path, operation)


def cell_in(x: Core, part: np.ndarray, path: Path) -> Cell:
    """A cell of a part of what is known of `x`; a copy where NumPy may write to that at any time."""
    storage, kind = x._storage, x._kind_of()
    order = order_of_part(kind.shape, kind.order, path)
    if storage is not None and storage.array is not None:
        return cell_of(np.array(part, order="C", copy=True), order)
    return cell_of_part(part, order)


def placed(made: Any, x: Core, path: Path, operation: Operation) -> Any:
    """`made` as a part of the memory of `x`."""
    storage, cell, base = x._shared(), made._cell, x._base
    storage.viewed = True
    made._storage, made._steps = storage, x._steps + path
    made._whole, made._part = (x, path) if base is None else (base, x._part + path)
    cell.home, cell.version = PartHome(storage, made._steps), storage.version
    if storage.edition:  # what most have in common is set for the class
        made._seen = storage.edition
    if made._inference or x._inference or x._counter is not None:
        made._inference, made._counter = x._inference, x._counter
    if not mode.enabled:
        made._origin, made._requires = NO_GRAD, requires(x)
    elif operation.node in MULTIPLE:
        made._origin = PIECE
    elif x._origin:
        made._origin = NO_GRAD if x._origin == OWN else x._origin
        made._requires = x._origin == NO_GRAD and x._requires
    return made


def several(x: Core, paths: Sequence[Path], one: Operation, all_: Operation, axis: int) -> tuple[Any, ...]:
    """Views at the ends of the paths, as the results of one node where gradients are kept."""
    if not paths or not mode.enabled or not requires(x):
        made = [view(x, path, one) for path in paths]
    else:
        cells, node = apply_all(all_, (x,), (tuple(paths), axis))
        pairs = enumerate(zip(cells, paths, strict=True))
        made = [placed(wrap(cell, node, k), x, path, one) for k, (cell, path) in pairs]
    return tuple(made)


MULTIPLE = {"SplitBackward0", "SplitWithSizesBackward0", "UnbindBackward0"}


def known(x: Core) -> np.ndarray | None:
    """The array of `x`, or NumPy's memory under it, if it is there and no gradient is kept."""
    storage = x._storage
    if storage is not None and storage.array is not None:
        if x._base is None:  # which need not be read, then: it may be all of the data
            flows = has_history(x) or x._requires
        else:
            flows = requires(x)
        if not flows:
            storage.settle()
            array = storage.array
            if array is not None:
                return part_of(array, x._path)
    cell = x._read()
    kept = mode.enabled and (has_history(x) or x._requires)  # without that its node is made for the question
    return None if kept or cell.array is None else shown(cell)


def may_cut() -> bool:
    """Whether a part of known values is taken now, and not as a part of the call that is recorded."""
    tape = tapes.tape
    return tape.call is None and tape.again is None


def _at_once(path: Path) -> bool:
    """Whether a part of what is known is taken now: a batch's place in the data is no part of a trace."""
    names = {step[0] for step in path}
    return "slice" in names or names <= {"reshape"}


def alias(x: Core, counted: bool = True) -> Any:
    """The same memory without the history; writing to it is an error for backward only if `counted`."""
    made = wrap(x._read())
    made._storage, made._path = x._shared(), x._path
    made._seen = made._storage.edition
    made._counter, made._inference = x._counter if counted else Counter(), x._inference
    return made
