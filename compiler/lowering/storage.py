"""Where scratch buffers lie in the arena: buffers whose lifetimes do not meet share memory.

Nor do those meet of which one is made where the other is read for the last time, element by element.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Sequence

from ..loops import Buffer, Element, Load
from .fuse import reachable
from .inplace import read_first, writes
from .program import Lines, Loop, Multiply, Nest, Rows, Statement, tested, tops
from .roots import named, parts, roots

ALIGNMENT = 64
PARTS = 3  # statements into which one that makes a buffer may have been split


def nbytes(buffer: Buffer) -> int:
    """The bytes a buffer takes, rounded up to whole cache lines."""
    size = math.prod(buffer.type.static_shape()) * buffer.type.numpy.itemsize
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


def lifetimes(scratch: set[Buffer], body: Sequence[Statement]) -> tuple[dict[Buffer, int], dict[Buffer, int]]:
    """When buffers are used first and last, by the numbers of the statements in the order of the text.

    What is used in a loop and outside it is in use all the time that the loop runs.
    """
    names = roots(body)
    uses: dict[Buffer, list[int]] = {}
    spans: list[tuple[int, int]] = []
    clock = 0
    clear: set[Element] = set()
    pending: list[Statement | int] = list(reversed(body))
    while pending:
        s = pending.pop()
        clock += 1
        if isinstance(s, int):
            spans.append((s, clock))
            continue
        used = touched(s) if isinstance(s, Nest | Rows | Multiply | Lines) else named(s, clear)
        for buffer in {root for b in used for root in names.get(b, (b,))} & scratch:
            uses.setdefault(buffer, []).append(clock)
        if isinstance(s, Loop):
            pending.append(clock)
        pending.extend(reversed(parts(s)))
    first = {b: at[0] for b, at in uses.items()}
    last = {b: at[-1] for b, at in uses.items()}
    for begin, end in sorted(spans, key=lambda span: span[1] - span[0]):
        for b in uses:
            if first[b] <= end and last[b] >= begin and not (begin < first[b] and last[b] < end):
                first[b], last[b] = min(first[b], begin), max(last[b], end)
    return first, last


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
    return (used | tested(statement) | {s.buffer for s in made}) - {s.buffer for s in made if not s.kept}


def plan(scratch: Iterable[Buffer], body: Iterable[Statement]) -> tuple[dict[Buffer, int], int]:
    """(offset of each scratch buffer, size of the arena): first fit in order of first use."""
    scratch, body = set(scratch), list(body)
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    flat = [s for s in body if isinstance(s, Nest | Rows | Multiply | Lines)]
    if len(flat) == len(body):
        for at, statement in enumerate(flat):
            for buffer in touched(statement) & scratch:
                first.setdefault(buffer, at)
                last[buffer] = at
    else:
        first, last = lifetimes(scratch, body)
    before = _taken_over(flat, first, last) if len(flat) == len(body) else {}
    placed: dict[Buffer, int] = {}
    alive: list[tuple[int, int, int]] = []  # (offset, end, last use), in order of offsets
    total = 0
    for buffer in sorted(first, key=lambda b: (first[b], -nbytes(b), b.name)):
        alive = [block for block in alive if block[2] >= first[buffer]]
        offset, size = 0, nbytes(buffer)
        for start, end, _ in alive if buffer not in before else ():
            if offset + size <= start:
                break
            offset = max(offset, end)
        offset = placed[before[buffer]] if buffer in before else offset
        placed[buffer] = offset
        insort(alive, (offset, offset + size, last[buffer]))
        total = max(total, offset + size)
    return placed, total


def _taken_over(
    body: list[Nest | Rows | Multiply | Lines], first: dict[Buffer, int], last: dict[Buffer, int]
) -> dict[Buffer, Buffer]:
    """Which buffers lie where another one did that is read for the last time when they are made."""
    ending: dict[int, list[Buffer]] = {}
    for buffer, at in sorted(last.items(), key=lambda item: item[0].name):
        ending.setdefault(at, []).append(buffer)
    made = [writes(s) for s in body]
    found: dict[Buffer, Buffer] = {}
    for buffer, at in sorted(first.items(), key=lambda item: (item[1], item[0].name)):
        for end in range(at, min(at + PARTS, len(body))):
            if buffer not in made[end]:
                break
            common = body[at : end + 1]
            for other in ending.get(end, ()):
                alike = other.type.dtype == buffer.type.dtype and nbytes(other) == nbytes(buffer)
                if alike and first[other] < at and buffer not in found and _follows(common, buffer, other):
                    found[buffer] = other
            if buffer in found and found[buffer] in ending.get(end, ()):
                ending[end].remove(found[buffer])
    return found


def _follows(common: list[Nest | Rows | Multiply | Lines], buffer: Buffer, other: Buffer) -> bool:
    """Whether a buffer may lie where another one did that is still read in the statements that they have in common."""
    if any(other in writes(s) or (isinstance(s, Nest) and s.cases) for s in common):
        return False
    return read_first(common, buffer, other)
