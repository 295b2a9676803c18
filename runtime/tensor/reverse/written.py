"""Whether the memory of a saved value was written to since: a cell goes in, and what it holds or an error comes out.

A writing that is counted, as `t.add_(1)` is, makes backward an error. One unseen, through `t.data` or by NumPy, is
none: backward reads what the memory holds then, be it the whole or a view's part. A tensor that was given other
memory, as `t.data = other` does, is read where it is then.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any

from ..trace.fragments.fragments import RESULT
from ..trace.fragments.watched import THROUGH_VIEWS
from ..trace.opened import others_record
from ..trace.tape import tapes
from ..value.cells import Cell, is_alike
from ..value.paths import Path
from ..value.slots import TensorBase
from ..value.storage import PartHome, Swapped
from .modes import watch


def check_saved(node: Any, args: Sequence[Any]) -> None:
    """No tensor of an inference mode may be read by backward."""
    for a in args:
        if isinstance(a, TensorBase) and a._inference and a._cell in node.saved:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a"
                " normal tensor and use it in autograd."
            )


def is_as_saved(cell: Cell) -> bool:
    """Whether nobody wrote to the memory of a saved value, seen or unseen, nor gave its tensor another one."""
    if type(cell.home) is Swapped or written_over(cell) is not None:
        return False
    home = cell.home
    return type(home) is not PartHome or (home.whole(cell) is None and not home.left())


def rewritten(cell: Cell, node: Any, edge: Any, is_result: bool) -> tuple[Cell, Path] | None:
    """The memory as it is if somebody wrote to it unseen, and where in it the saved value was.

    edge   where the saved value stood in the graph, of one that was an argument
    """
    home: Any = cell.home
    swaps = [home] if type(home) is Swapped else home.left() if type(home) is PartHome else []
    views = node.fragment is not None and node.fragment.operation.name in THROUGH_VIEWS
    for swapped in () if is_result or views or tapes.tape.again is not None else swaps:
        if swapped.is_at(edge):
            return _elsewhere(cell, swapped, node), ()
    home = home.before if type(home) is Swapped else home
    whole = home.whole(cell) if type(home) is PartHome else None
    return None if whole is None else (whole, home.path)


def _elsewhere(cell: Cell, home: Swapped, node: Any) -> Cell:
    """The value of a tensor that got other memory after it was saved."""
    tensor, call = home.tensor(), tapes.tape.call
    if tensor is None:
        raise RuntimeError(f"{node.name()} saved a tensor {cell.kind} that was given other memory by `.data = ...`, and"
                           " is no more: hold it until backward, or assign before the forward pass")
    if tensor._times_written() != home.count and not watch.lenient:
        raise _modified(cell, node, tensor._times_written(), home.count, None)
    if call is not None:
        call.refuse("reads memory that a tensor was given meanwhile")
    now = tensor._read()
    if not is_alike(now.kind, cell.kind):
        raise RuntimeError(f"{node.name()} saved a tensor {cell.kind}, which has other memory since, of {now.kind}, by"
                           " `.data = ...`: assign a tensor of the same shape and dtype, or assign after backward")
    return now


def check_alike(node: Any, place: tuple[int, int]) -> None:
    """Raise an error if backward here is not what PyTorch's is, once what is saved was written to unseen.

    Not so where it runs again, and reads what it read before the write.
    """
    pull: Any = node.pull
    if tapes.tape.again is not None:
        return
    if pull.reads.index(place) in pull.watched or any(pull.reads[n][0] == RESULT for n in pull.loose):
        what = "its result" if place[0] == RESULT else "a tensor that it read"
        raise RuntimeError(
            f"{node.name()}: {what} was written to after the forward pass, by NumPy or through `.data`, which counts no"
            " writes. PyTorch's backward would take some values of before and some of after; this one takes none."
            " Write to a clone() of it, or after backward."
        )


def check_unwritten(cell: Cell, node: Any) -> None:
    """Raise PyTorch's error if the memory was written to after `node` saved its value.

    Not so where another thread has written to it, which threads do at any time: the value that was saved is there. Nor
    where a trace that has run before the write gets its nodes.
    """
    found, again = written_over(cell), tapes.tape.again
    if found is not None and not watch.lenient and not (again is not None and again.past):
        now, then, where, writer = found
        if writer != get_ident() and (writer or others_record()):
            return
        raise _modified(cell, node, now, then, where)


def _modified(cell: Cell, node: Any, now: int, then: int, where: Any) -> RuntimeError:
    """PyTorch's error of a write that backward would have to know of."""
    made = f", which {node.name()} at {node.place} saved" if node.place else f", which {node.name()} saved"
    text = f"; it was written to at {where}" if where else ""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation:"
        f" a tensor {cell.kind}{made}, is at version {now}; expected version {then}"
        f" instead{text}. Write to a clone() of it, or compute a new tensor."
    )


def written_over(cell: Cell) -> tuple[int, int, Any, int] | None:
    """If the memory whose value this was has another one: its version now and then, and where and by which thread it
    was written last, if that is known."""
    source: Cell | None = cell
    while source is not None:
        cell, home = source, source.home
        if home is None:
            return (cell.stale, cell.stale - 1, None, 0) if cell.stale else None
        if home.version != cell.version:
            return home.version, cell.version, home.written, home.writer
        source = home.source()
        if source is cell:
            return None
    return None
