"""Where scratch buffers lie in the arena: buffers whose lifetimes do not meet share memory."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable

from ..loops import Buffer, Load
from .fuse import reachable
from .program import Lines, Multiply, Nest, Rows, tops

ALIGNMENT = 64


def nbytes(buffer: Buffer) -> int:
    """The bytes a buffer takes, rounded up to whole cache lines."""
    size = math.prod(buffer.type.static_shape()) * buffer.type.numpy.itemsize
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


def touched(statement: Nest | Rows | Multiply | Lines) -> set[Buffer]:
    """The buffers whose memory a statement reads or writes."""
    if isinstance(statement, Multiply):
        return {statement.left.buffer, statement.right.buffer, statement.out.buffer}
    if isinstance(statement, Lines):
        return {statement.frame, *(e.buffer for e in statement.loads), *(b for b, _ in statement.stores)}
    if isinstance(statement, Rows):
        return {b for nest in statement.body for b in touched(nest)} - set(statement.local)
    made = (*statement.stores, *statement.folds, *statement.after)
    used = {e.buffer for e in reachable(tops(statement)) if isinstance(e, Load)}
    if statement.case is not None and statement.case.change is not None:
        used.add(statement.case.change)
    return (used | {s.buffer for s in made}) - {s.buffer for s in made if not s.kept}


def plan(scratch: Iterable[Buffer], body: Iterable[Nest | Rows | Multiply | Lines]) -> tuple[dict[Buffer, int], int]:
    """(offset of each scratch buffer, size of the arena): first fit in order of first use."""
    scratch = set(scratch)
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for at, statement in enumerate(body):
        for buffer in touched(statement) & scratch:
            first.setdefault(buffer, at)
            last[buffer] = at
    placed: dict[Buffer, int] = {}
    alive: list[tuple[int, int, int]] = []  # (offset, end, last use), in order of offsets
    total = 0
    for buffer in sorted(first, key=lambda b: (first[b], -nbytes(b), b.name)):
        alive = [block for block in alive if block[2] >= first[buffer]]
        offset, size = 0, nbytes(buffer)
        for start, end, _ in alive:
            if offset + size <= start:
                break
            offset = max(offset, end)
        placed[buffer] = offset
        insort(alive, (offset, offset + size, last[buffer]))
        total = max(total, offset + size)
    return placed, total
