"""Whether the memory of a saved value was written to since: a cell goes in, and what it holds or an error comes out.

A writing that is counted, as `t.add_(1)` is, makes backward an error. One unseen, through `t.data`, is none: backward
reads what the memory holds then, be it the whole or a view's part.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

from ..trace.opened import others_record
from ..value.cells import Cell
from ..value.paths import Path
from ..value.storage import PartHome
from .modes import watch

if TYPE_CHECKING:
    from .nodes import Node


def is_as_saved(cell: Cell) -> bool:
    """Whether nobody wrote to the memory of a saved value, seen or unseen."""
    return written_over(cell) is None and (type(cell.home) is not PartHome or cell.home.whole() is None)


def rewritten(cell: Cell) -> tuple[Cell, Path] | None:
    """The memory as it is if somebody wrote to it unseen, and where in it the saved value was."""
    home = cell.home
    whole = home.whole() if type(home) is PartHome else None
    return None if whole is None else (whole, home.path)  # type: ignore[union-attr]


def check_unwritten(cell: Cell, node: Node) -> None:
    """Raise PyTorch's error if the memory was written to after `node` saved its value.

    Not so where another thread has written to it, which threads do at any time: the value that was saved is there.
    """
    found = written_over(cell)
    if found is not None and not watch.lenient:
        now, then, where, writer = found
        if writer != get_ident() and (writer or others_record()):
            return
        made = f", which {node.name()} at {node.place} saved" if node.place else f", which {node.name()} saved"
        text = f"; it was written to at {where}" if where else ""
        raise RuntimeError(
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
