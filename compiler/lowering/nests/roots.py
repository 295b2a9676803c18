"""What is known of statements with loops and branches in them: the memory they touch, and how long they run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from math import trunc

from ...ir.measure import typical, volume
from ...ir.symint import smaller
from ...loops import Apply, Axis, Buffer, Element, Load, Number
from ..program import (
    Branch,
    Copy,
    Fail,
    Let,
    Lines,
    Loop,
    Multiply,
    Native,
    Nest,
    Opaque,
    Pop,
    Program,
    Push,
    Rows,
    Statement,
    Store,
    View,
    has_regions,
)
from .chunks import nanoseconds
from .inside import children, reachable, work

LONG = 200_000
"""Elements above which a call lets other threads run Python, if it does not make them in a moment."""

MOMENT = 20_000
"""Nanoseconds that other threads can wait: to let them run, and to wait for one's turn again, costs some hundred."""

ROUNDS = 16
"""Rounds that a loop is taken to run where their number is not known."""

PYTHON = 5_000
LAPACK = 500
"""Nanoseconds that a call of Python is taken to run."""

Roots = Mapping[Buffer, frozenset[Buffer]]


def inside(body: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, those in loops and branches behind these."""
    pending = list(reversed(body))
    while pending:
        s = pending.pop()
        yield s
        pending.extend(reversed(parts(s)))


def parts(s: Statement) -> tuple[Statement, ...]:
    """The statements in a loop or a branch."""
    if isinstance(s, Loop):
        return (*s.test, *s.body)
    return (*s.yes, *s.no) if isinstance(s, Branch) else ()


def axes(s: Statement) -> tuple[Axis, ...]:
    """The axes of array work."""
    if isinstance(s, Rows):
        return (*s.axes, *(axis for nest in s.body for axis in nest.axes))
    return s.axes if isinstance(s, Nest) else ()


def roots(body: Sequence[Statement]) -> dict[Buffer, frozenset[Buffer]]:
    """The memory in which a buffer may lie that is only a name; buffers with memory of their own are left out."""
    found: dict[Buffer, frozenset[Buffer]] = {}
    for s in inside(body):
        if isinstance(s, View):
            found[s.buffer] = found.get(s.of, frozenset((s.of,)))
        elif isinstance(s, Pop):
            mine = frozenset((s.tape.buffer,))
            found.update((b, mine) for b, _ in s.record if isinstance(b, Buffer))
        elif isinstance(s, Loop):
            every = frozenset(b for p in s.pointers for b in found.get(p.start, frozenset((p.start,))))
            found.update((b, every) for p in s.pointers for b in (p.inside, p.after))
    return found


def written(s: Statement, roots: Roots) -> frozenset[Buffer]:
    """The memory that a statement writes."""
    found: set[Buffer] = set()
    for each in inside([s]):
        for b in _writes(each):
            found |= roots.get(b, {b})
    return frozenset(found)


def _writes(s: Statement) -> list[Buffer]:
    if isinstance(s, Store):
        return [s.buffer]
    if isinstance(s, Copy):
        return [s.to]
    if isinstance(s, Push):
        return [s.tape.buffer]
    if isinstance(s, Multiply):
        return [s.out.buffer]
    if isinstance(s, Opaque | Native):
        return list(s.results)
    if isinstance(s, Lines):
        return [s.frame, *(b for b, _ in s.stores)]
    if isinstance(s, Rows):
        return [b for nest in s.body for b in _writes(nest)]
    return [x.buffer for x in (*s.stores, *s.folds, *s.after)] if isinstance(s, Nest) else []


def made(s: Statement) -> list[Element]:
    """The elements that a statement makes or reads itself."""
    if isinstance(s, Let):
        return [s.value]
    if isinstance(s, Store):
        return [s.value, *(e for e, _ in s.gathered)]
    if isinstance(s, View):
        return [e for e, _ in s.gathered]
    if isinstance(s, Fail):
        return [s.condition, s.report]
    if isinstance(s, Push):
        return [s.top, *(e for e, _ in s.record if isinstance(e, Element))]
    if isinstance(s, Pop):
        return [s.top]
    if isinstance(s, Loop):
        ends = [e for c in s.carries for e in (c.start, c.next)]
        return ends + [e for e in (s.count, s.more) if e is not None]
    if isinstance(s, Branch):
        return [s.condition, *s.given, *(e for _, yes, no in s.results for e in (yes, no))]
    return []


def loads(elements: Sequence[Element], clear: set[Element]) -> list[Load]:
    """The loads below some elements; `clear` has those known to have none, and gets more."""
    found: list[Load] = []
    seen: set[Element] = set()
    pending = list(elements)
    while pending:
        e = pending.pop()
        if e in seen or e in clear:
            continue
        seen.add(e)
        pending += children(e)
        if isinstance(e, Load):
            found.append(e)
    if not found:
        clear |= seen
    return found


def named(s: Statement, clear: set[Element] | None = None) -> set[Buffer]:
    """The buffers that a statement names itself, array work aside; see `loads`."""
    found = {e.buffer for e in loads(made(s), set() if clear is None else clear)}
    if isinstance(s, Store):
        found.add(s.buffer)
    elif isinstance(s, View):
        found.add(s.of)
    elif isinstance(s, Copy):
        found |= {s.to, s.source}
    elif isinstance(s, Opaque | Native):
        found |= {*s.arguments, *s.results}
    elif isinstance(s, Push | Pop):
        found |= {s.tape.buffer, *(b for b, _ in s.record if isinstance(b, Buffer))}
    elif isinstance(s, Loop):
        found |= {b for p in s.pointers for b in (p.start, p.next)}
    return found


def spellings(body: Sequence[Statement]) -> list[str]:
    """The scalar operations of all statements."""
    elements = [e for s in inside(body) for e in made(s)]
    return [e.spelling for e in reachable(elements) if isinstance(e, Apply)]


def time(body: Sequence[Statement]) -> float:
    """About how many nanoseconds statements run."""
    total = 0.0
    elements: list[Element] = []
    for s in body:
        elements += made(s)
        if isinstance(s, Loop):
            rounds = trunc(typical(s.count.value)) if isinstance(s.count, Number) else ROUNDS
            total += max(rounds, 0) * (time((*s.test, *s.body)) + 1)
        elif isinstance(s, Branch):
            total += max(time(s.yes), time(s.no)) + 1
        elif isinstance(s, Nest | Rows):
            total += nanoseconds(s) + 2
        elif isinstance(s, Multiply):
            total += typical(s.batch * s.m * s.n * s.k) / 32
        elif isinstance(s, Copy):
            total += _elements(s.to) / 8
        elif isinstance(s, Opaque):
            total += PYTHON
        elif isinstance(s, Native):
            count, rows, right, *_ = map(typical, s.sizes)
            total += count * (LAPACK + rows * rows * right / 16)
    made_here = reachable(elements)
    return total + 0.25 * (work(made_here) + sum(isinstance(e, Load) for e in made_here))


def is_long(program: Program) -> bool:
    """Whether a call takes long enough to let other threads run Python meanwhile, or nobody knows how long."""
    return length(program) > 1


def length(program: Program) -> float:
    """How long a call takes, where 1 is long; nobody knows it of loops that end when they like."""
    if has_regions(program):
        loops = [s for s in inside(program.body) if isinstance(s, Loop)]
        return math.inf if any(not isinstance(s.count, Number) for s in loops) else time(program.body) / (LONG / 4)
    return smaller(sum(map(_volume, program.body)) / LONG, time(program.body) / MOMENT)


def _volume(s: Statement) -> int:
    """How many elements array work makes."""
    if isinstance(s, Multiply):
        return typical(s.batch * s.m * s.n * s.k) // 8
    if isinstance(s, Lines):
        return sum(map(len, s.pieces))
    if isinstance(s, Rows):
        return volume(axis.extent for axis in s.axes) * sum(map(_volume, s.body))
    return volume(axis.extent for axis in s.axes) if isinstance(s, Nest) else 0


def _elements(buffer: Buffer) -> int:
    return volume(buffer.type.static_shape())


__all__ = [
    "Roots", "axes", "inside", "is_long", "length", "loads", "made", "named", "parts", "roots", "spellings", "time",
    "written",
]
