"""Where scratch buffers lie in the arena: buffers whose lifetimes do not meet share memory."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable

from ..loops import Buffer, Load
from .fuse import reachable
from .program import Multiply, Nest, tops

ALIGNMENT = 64


def nbytes(buffer: Buffer) -> int:
    """The bytes a buffer takes, rounded up to whole cache lines."""
    size = math.prod(buffer.type.static_shape()) * buffer.type.numpy.itemsize
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


def touched(statement: Nest | Multiply) -> set[Buffer]:
    """The buffers whose memory a statement reads or writes."""
    if isinstance(statement, Multiply):
        return {statement.left.buffer, statement.right.buffer, statement.out.buffer}
    in_registers = {s.buffer for s in statement.stores if not s.kept}
    used = {e.buffer for e in reachable(tops(statement)) if isinstance(e, Load)}
    used |= {s.buffer for s in statement.stores} | {f.buffer for f in statement.folds}
    return used - in_registers


def plan(scratch: Iterable[Buffer], body: Iterable[Nest | Multiply]) -> tuple[dict[Buffer, int], int]:
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
