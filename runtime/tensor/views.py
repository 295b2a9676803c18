"""Making views: tensors that share the memory of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .cells import cell_of, shown
from .core import NO_GRAD, PIECE, Core, apply, apply_all, requires, wrap
from .fragments import Operation
from .modes import mode
from .paths import Path, part_of
from .tape import tapes

if TYPE_CHECKING:
    from .tensor import Tensor


def view(x: Core, path: Path, operation: Operation) -> Tensor:
    """The part of `x` at the end of `path`, which shares its memory."""
    array = _known(x) if _may_cut() else None
    if array is not None and _at_once(path):
        part = part_of(array, path)
        made = wrap(cell_of(np.ascontiguousarray(part).reshape(part.shape)))
    else:
        made = apply(operation, (x,), (path,))
    return _placed(made, x, path, operation)


def known_row(
    x: Core, index: int, path_of: Callable[[tuple[int, ...], int], Path], operation: Operation
) -> Tensor | None:
    """`view` of one row of what is known, in a few microseconds; None where that is not the way."""
    array = _known(x) if _may_cut() else None
    if array is None or not array.ndim:
        return None
    path = path_of(array.shape, index)
    part = array[index, ...]
    made = wrap(cell_of(part if part.flags.c_contiguous else part.copy()))
    return _placed(made, x, path, operation)


def _placed(made: Any, x: Core, path: Path, operation: Operation) -> Tensor:
    """`made` as a part of the memory of `x`."""
    storage = x._shared()
    storage.viewed = True
    made._storage, made._path = storage, x._path + path
    made._base = x if x._base is None else x._base
    made._part = x._part + path
    made._seen = storage.edition
    made._cell.home, made._cell.version = storage, storage.version
    made._inference, made._counted = x._inference, x._counted
    if x._origin:
        made._origin, made._requires = x._origin, x._origin == NO_GRAD and x._requires
    elif not mode.enabled:
        made._origin, made._requires = NO_GRAD, requires(x)
    elif operation.node in MULTIPLE:
        made._origin = PIECE
    return made


def several(x: Core, paths: Sequence[Path], one: Operation, all_: Operation, axis: int) -> tuple[Tensor, ...]:
    """Views at the ends of the paths, as the results of one node where gradients are kept."""
    if not paths or not mode.enabled or not requires(x):
        made = [view(x, path, one) for path in paths]
    else:
        cells, node = apply_all(all_, (x,), (tuple(paths), axis))
        pairs = enumerate(zip(cells, paths, strict=True))
        made = [_placed(wrap(cell, node, k), x, path, one) for k, (cell, path) in pairs]
    return tuple(made)


MULTIPLE = {"SplitBackward0", "SplitWithSizesBackward0", "UnbindBackward0"}


def _known(x: Core) -> np.ndarray | None:
    """The array of `x`, or NumPy's memory under it, if it is there and no gradient is kept."""
    x._read()
    storage = x._storage
    if storage is not None and storage.array is not None and not requires(x):
        storage.settle()
        if storage.array is not None:
            return part_of(storage.array, x._path)
    cell = x._read()
    kept = mode.enabled and (x._node is not None or x._requires)
    return None if kept or cell.array is None else shown(cell)


def _may_cut() -> bool:
    """Whether a part of known values is taken now, and not as a part of the call that is recorded."""
    tape = tapes.tape
    return tape.call is None and tape.again is None


def _at_once(path: Path) -> bool:
    """Whether a part of what is known is taken now: a batch's place in the data is no part of a trace."""
    names = {step[0] for step in path}
    return "slice" in names or names <= {"reshape"}


def alias(x: Core, counted: bool = True) -> Tensor:
    """The same memory without the history; writing to it is an error for backward only if `counted`."""
    made = wrap(x._read())
    made._storage, made._path = x._shared(), x._path
    made._seen = made._storage.edition
    made._counted, made._inference = counted, x._inference
    return made
