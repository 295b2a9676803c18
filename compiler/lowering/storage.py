"""Where scratch buffers lie in the arena: buffers whose lifetimes do not meet share memory.

Nor do those meet of which one is made where the other is read for the last time, element by element.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import accumulate, islice
from typing import Any

from ..ir.measure import OpenExtent, is_open
from ..ir.symint import SymInt, example, larger
from ..loops import Buffer, Element, Load
from .access import Access
from .nests.inside import reachable
from .nests.roots import named, parts, roots
from .program import Lines, Loop, Multiply, Nest, Rows, Statement, tested, tops

ALIGNMENT = 64
PARTS = 3  # statements into which one that makes a buffer may have been split
GAPS = 256  # gaps between buffers that are looked at for a new one
TRIES = 16  # buffers in whose place a new one is tried to be put


def nbytes(buffer: Buffer) -> int:
    """The bytes a buffer takes, rounded up to whole cache lines."""
    size = math.prod(buffer.type.static_shape()) * buffer.type.numpy.itemsize
    if isinstance(size, OpenExtent):
        return (size + ALIGNMENT) // ALIGNMENT * ALIGNMENT
    return larger(-(-size // ALIGNMENT), 1) * ALIGNMENT


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
    if any(isinstance(nbytes(b), OpenExtent) for b in first):
        return _placed_by_size(first, last)
    before = _taken_over(flat, first, last) if len(flat) == len(body) else {}
    if any(is_open(nbytes(b)) for b in first):
        return _placed_in_slots(first, last, before)
    arena = _Arena()
    placed: dict[Buffer, int] = {}
    for buffer in sorted(first, key=lambda b: (first[b], -nbytes(b), b.name)):
        arena.expire(first[buffer])
        if buffer in before:
            placed[buffer] = arena.hand_over(placed[before[buffer]], last[buffer])
        else:
            placed[buffer] = arena.place(nbytes(buffer), last[buffer])
    return placed, arena.size


def _placed_by_size(first: dict[Buffer, int], last: dict[Buffer, int]) -> tuple[dict[Buffer, int], int]:
    """The same where sizes are open: a buffer lies where another one of the very same size did, or behind all."""
    placed: dict[Buffer, int] = {}
    free: dict[int, list[int]] = {}
    used: list[tuple[int, int, int]] = []  # last use, size, offset
    total: Any = 0
    for buffer in sorted(first, key=lambda b: (first[b], b.name)):
        for end, size, offset in [each for each in used if each[0] < first[buffer]]:
            free.setdefault(size, []).append(offset)
            used.remove((end, size, offset))
        size = nbytes(buffer)
        places = free.get(size)
        if places:
            placed[buffer] = places.pop()
        else:
            placed[buffer], total = total, total + size
        used.append((last[buffer], size, placed[buffer]))
    return placed, total


def _placed_in_slots(
    first: dict[Buffer, int], last: dict[Buffer, int], before: dict[Buffer, Buffer]
) -> tuple[dict[Buffer, int], int]:
    """The same for all sizes that go one way: a slot is as large as the largest buffer that lies in it."""
    room: list[Any] = []
    until: list[int] = []
    slots: dict[Buffer, int] = {}
    for buffer in sorted(first, key=lambda b: (first[b], b.name)):
        size = nbytes(buffer)
        if buffer in before:
            k = slots[before[buffer]]
        else:
            free = [k for k, end in enumerate(until) if end < first[buffer]]
            k = min(free, key=lambda k: abs(example(room[k]) - example(size)), default=len(room))
            if k == len(room):
                room.append(0)
                until.append(0)
        room[k], until[k], slots[buffer] = larger(room[k], size), last[buffer], k
    offsets = [0, *accumulate(room)]
    return {buffer: offsets[k] for buffer, k in slots.items()}, offsets[-1]


class _Arena:
    """Blocks of memory that are in use until a time, and the gaps between them.

    gaps  where each begins, in order; `length` has their sizes, and each begins where no gap ends
    """

    def __init__(self) -> None:
        self.size = 0
        self.gaps: list[int] = []
        self.length: dict[int, int] = {}
        self.blocks: dict[int, tuple[int, int]] = {}  # by offset: bytes, last use
        self.ends: list[tuple[int, int]] = []  # last use, offset

    def place(self, size: int, last: int) -> int:
        """The offset of a new block: in the first gap that holds it, of those that are looked at."""
        for k, offset in enumerate(self.gaps[:GAPS]):
            length = self.length[offset]
            if length >= size:
                del self.gaps[k], self.length[offset]
                self._free(offset + size, length - size)
                break
        else:
            offset = self._at_end(size)
        self._use(offset, size, last)
        return offset

    def _at_end(self, size: int) -> int:
        """Room behind all blocks, the gap there may be included."""
        offset = self.size
        if self.gaps and self.gaps[-1] + self.length[self.gaps[-1]] == offset:
            offset = self.gaps.pop()
            del self.length[offset]
        self.size = max(self.size, offset + size)
        return offset

    def hand_over(self, offset: int, last: int) -> int:
        """A new block takes the place of one that is in use for the last time."""
        self._use(offset, self.blocks[offset][0], last)
        return offset

    def _use(self, offset: int, size: int, last: int) -> None:
        self.blocks[offset] = size, last
        heappush(self.ends, (last, offset))

    def expire(self, now: int) -> None:
        """Free the blocks that are not used any more."""
        while self.ends and self.ends[0][0] < now:
            last, offset = heappop(self.ends)
            if offset in self.blocks and self.blocks[offset][1] == last:
                self._free(offset, self.blocks.pop(offset)[0])

    def _free(self, offset: int, size: int) -> None:
        """Make a gap, together with those beside it."""
        if not size:
            return
        k = bisect_left(self.gaps, offset)
        if k < len(self.gaps) and self.gaps[k] == offset + size:
            size += self.length.pop(self.gaps.pop(k))
        if k and self.gaps[k - 1] + self.length[self.gaps[k - 1]] == offset:
            self.length[self.gaps[k - 1]] += size
            return
        self.gaps.insert(k, offset)
        self.length[offset] = size


def _taken_over(
    body: list[Nest | Rows | Multiply | Lines], first: dict[Buffer, int], last: dict[Buffer, int]
) -> dict[Buffer, Buffer]:
    """Which buffers lie where another one did that is read for the last time when they are made."""
    ending: dict[tuple[int, str, int], list[Buffer]] = {}
    for buffer, at in sorted(last.items(), key=lambda item: item[0].name):
        ending.setdefault((at, buffer.type.dtype, _formula(nbytes(buffer))), []).append(buffer)
    access = Access()
    found: dict[Buffer, Buffer] = {}
    for buffer, at in sorted(first.items(), key=lambda item: (item[1], item[0].name)):
        for end in range(at, min(at + PARTS, len(body))):
            if buffer in found or buffer not in access.writes(body[end]):
                break
            others = ending.get((end, buffer.type.dtype, _formula(nbytes(buffer))), [])
            tried = islice((b for b in others if first[b] < at), TRIES)
            other = next((b for b in tried if _follows(body[at : end + 1], buffer, b, access)), None)
            if other is not None:
                found[buffer] = other
                others.remove(other)
    return found


def _formula(size: Any) -> Any:
    """What tells sizes from others that may be other ones elsewhere."""
    return (size.node,) if type(size) is SymInt else size


def _follows(
    common: list[Nest | Rows | Multiply | Lines], buffer: Buffer, other: Buffer, access: Access
) -> bool:
    """Whether a buffer may lie where another one did that is still read in the statements that they have in common."""
    if any(other in access.writes(s) or (isinstance(s, Nest) and s.cases) for s in common):
        return False
    return access.read_first(common, buffer, other)
