"""Where scratch buffers lie in the arena: buffers whose lifetimes do not meet share memory."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..loops import Buffer, Load, Multiply, Nest
from .fuse import reachable

ALIGNMENT = 64


def nbytes(buffer: Buffer) -> int:
    """The bytes a buffer takes, rounded up to whole cache lines."""
    size = math.prod(buffer.type.static_shape()) * buffer.type.numpy.itemsize
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


def touched(statement: Nest | Multiply) -> set[Buffer]:
    """The buffers a statement reads or writes."""
    if isinstance(statement, Multiply):
        return {statement.left.buffer, statement.right.buffer, statement.out.buffer}
    tops = [s.value for s in statement.stores] + [f.value for f in statement.folds]
    tops += [e for s in statement.stores for e, _ in s.gathered]
    tops += [e for a in statement.asserts for e in (a.fails, a.report)]
    read = {e.buffer for e in reachable(tops) if isinstance(e, Load)}
    return read | {s.buffer for s in statement.stores} | {f.buffer for f in statement.folds}


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
    total = 0
    for buffer in sorted(first, key=lambda b: (first[b], -nbytes(b), b.name)):
        taken = sorted(
            (placed[other], placed[other] + nbytes(other))
            for other in placed
            if first[other] <= last[buffer] and first[buffer] <= last[other]
        )
        offset = 0
        for start, end in taken:
            if offset + nbytes(buffer) <= start:
                break
            offset = max(offset, end)
        placed[buffer] = offset
        total = max(total, offset + nbytes(buffer))
    return placed, total
