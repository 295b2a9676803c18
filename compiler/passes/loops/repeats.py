"""Repeated stretches in a list of operations: loops that were unrolled, or never written as loops.

The graph is read as a tape. Constants and views (slices, reshapes) are no lines of it but ways of naming operands, so
x[0], x[1], ... are one operand with a number that varies. Two lines match at a distance p if they do the same to
operands that are the same value, or were made by lines that are p apart too:

    0  mul x, x[0]                         p = 2, three rounds
    1  add 0, (0)
    2  mul x, x[1]       like line 0
    3  add (1), (2)      like line 1 but for the first operand, where the round before the first is missing
    4  mul x, x[2]       like line 2
    5  add (3), (4)      like line 3

Distances worth trying are those between equal stretches of 1, 4, 16, ... lines; all of this takes time linear in the
length of the tape, but for a sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...ir.graph import Graph, Op, Value
from ...ir.text import show
from ...ir.types import Type
from ...ops.shape import reshape, slice_
from ...ops.source import const
from ..cleanup import attrs_key
from .lengths import size_of

ROUNDS = 8
"""Rounds from which a loop is made."""

MULTIPLES = 6
"""Multiples of a distance that are tried as well."""

SHORT = 48
"""Operations from which one of several stretches is worth a loop."""

TRIED = 6
"""Distances that are looked at closely."""

VIEWS = (slice_, reshape)


class Operand(NamedTuple):
    """A value as a view of another: that one, and the operations on the way."""

    root: Value
    views: tuple[Op, ...]


class Stretch(NamedTuple):
    """Lines from `start` on that are `rounds` times `period` lines."""

    start: int
    period: int
    rounds: int

    @property
    def end(self) -> int:
        """The line after the last."""
        return self.start + self.period * self.rounds


class Tape:
    """The operations of a graph that compute something.

    makers    of constants and views
    numbers   the constants, equal ones as the first of them
    place     by result: its line, and which of its results it is
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[Op] = []
        self.makers: dict[Value, Op] = {}
        self.numbers: dict[Value, Any] = {}
        self.place: dict[Value, tuple[int, int]] = {}
        self._views: dict[Value, Operand] = {}
        known: dict[Any, int] = {}
        equal: dict[Any, Value] = {}
        kinds = Kinds()
        keys = []
        for op in graph.body:
            if op.prim is const:
                value = equal.setdefault(attrs_key(op.attrs), op.results[0])
                self.makers[op.results[0]] = op
                self.numbers[value] = op.attrs["value"]
                self._views[op.results[0]] = Operand(value, ())
            elif op.prim in VIEWS:
                before = self.operand(op.args[0])
                self.makers[op.results[0]] = op
                self._views[op.results[0]] = Operand(before.root, (*before.views, op))
            else:
                for k, r in enumerate(op.results):
                    self.place[r] = (len(self.lines), k)
                self.lines.append(op)
                keys.append(known.setdefault(kinds.key(op), len(known)))
        self.keys = np.array(keys, np.int64)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """How many operations the lines before each are."""
        return np.concatenate([[0], np.cumsum([self._size(op) for op in self.lines])])

    def _size(self, op: Op) -> int:
        size = size_of(op)
        for a in op.args:
            seen = self._views.get(a)
            if seen is not None:
                size += len(seen.views)
        return size

    def size(self, begin: int, end: int) -> int:
        """How many operations some lines are, views and what is in regions counted."""
        return int(self._sizes[end] - self._sizes[begin])

    def operand(self, value: Value) -> Operand:
        """The value as a view."""
        return self._views.get(value) or Operand(value, ())

    def line(self, value: Value) -> int:
        """The line that makes a value, -1 for parameters and constants."""
        found = self.place.get(value)
        return -1 if found is None else found[0]

    def matches(self, late: int, period: int) -> bool:
        """Whether a line has the operands of the one a period before, one period on."""
        place = self.place
        for a, b in zip(self.lines[late - period].args, self.lines[late].args, strict=True):
            if a is b:
                continue
            first, second = place.get(a), place.get(b)
            if first is not None and second is not None:
                if second[0] - first[0] != period or first[1] != second[1]:
                    return False
            elif not self._match(self.operand(a), self.operand(b), period):
                return False
        return True

    def _match(self, a: Operand, b: Operand, period: int) -> bool:
        if len(a.views) != len(b.views):
            return False
        if a.root is not b.root:
            first, second = self.place.get(a.root), self.place.get(b.root)
            if first is None or second is None:
                return not a.views and a.root in self.numbers and b.root in self.numbers
            if second[0] - first[0] != period or first[1] != second[1]:
                return False
        return all(map(like, a.views, b.views))


def like(a: Op, b: Op) -> bool:
    """Whether two views differ at most in where they start."""
    if a.prim is not b.prim or a.args[0].type != b.args[0].type or a.results[0].type != b.results[0].type:
        return False
    return a.prim is not slice_ or a.attrs["step"] == b.attrs["step"]


class Kinds:
    """What operations have in common that differ in their operands only."""

    def __init__(self) -> None:
        self._types: dict[int, tuple[str, Any]] = {}
        self._regions: dict[int, str] = {}

    def key(self, op: Op) -> tuple[Any, ...]:
        """Equal for operations that do the same to operands of the same types."""
        types = tuple([self._types.get(id(a.type)) or self._type(a.type) for a in op.args])
        if not op.attrs and not op.regions:
            return op.prim, types
        return op.prim, types, attrs_key(op.attrs), tuple([self._region(r) for r in op.regions])

    def _type(self, type: Type) -> tuple[str, Any]:
        return self._types.setdefault(id(type), (type.dtype, type.shape))

    def _region(self, region: Graph) -> str:
        found = self._regions.get(id(region))
        if found is None:
            found = self._regions[id(region)] = show(region, bare=True)
        return found


# ---- distances


def stretches(tape: Tape, least: int) -> list[Stretch]:
    """Stretches of at least so many operations together that all have one period: the one with the longest stretch."""
    keys = tape.keys
    scored = []
    for period in _distances(keys):
        runs = _runs(keys, period, (ROUNDS - 1) * period)
        runs = [(u, v) for u, v in runs if _is_likely(tape, u + period, v + period, period)]
        longest = max((tape.size(u, u + _rounds(u, v, period) * period) for u, v in runs), default=0)
        if longest >= SHORT:
            scored.append((-longest, period, runs))
    for _, period, runs in sorted(scored)[:TRIED]:
        found = [s for u, v in runs for s in _within(tape, u + period, v + period, period)]
        if sum(tape.size(s.start, s.end) for s in found) >= least:
            return found
    return []


def _is_likely(tape: Tape, begin: int, end: int, period: int) -> bool:
    """Whether a round somewhere in the middle has matching operands: operations alone repeat more often."""
    places = [begin + (end - begin) * k // 4 for k in (1, 2, 3)]
    return any(all(tape.matches(k, period) for k in range(at, min(at + period, end))) for at in places)


def _rounds(begin: int, end: int, period: int) -> int:
    return (end - begin + period) // period


def _distances(keys: np.ndarray) -> list[int]:
    """The distances at which stretches of lines come again most often, and multiples, as operands may come later."""
    found: dict[int, None] = {}
    most = len(keys) // ROUNDS
    with np.errstate(over="ignore"):
        mixed, factor, width = (keys.astype(np.uint64) + 1) * np.uint64(0x9E3779B97F4A7C15), np.uint64(0x100000001B3), 1
        while 2 * width <= len(keys) and width <= max(most, 1):
            order = np.argsort(mixed, kind="stable")
            again = mixed[order][1:] == mixed[order][:-1]
            apart, count = np.unique((order[1:] - order[:-1])[again], return_counts=True)
            best = np.argsort(-count * apart, kind="stable")[:3]
            found.update(dict.fromkeys(int(d) for d in apart[best] if d <= most))
            mixed = mixed[:-width] * factor + mixed[width:]
            factor, width = factor * factor, 2 * width
    return list(dict.fromkeys(d * k for k in range(1, MULTIPLES + 1) for d in found if d * k <= most))


def _runs(keys: np.ndarray, period: int, least: int) -> list[tuple[int, int]]:
    """Stretches of `least` lines, or more, each of which is like the one a period later."""
    if len(keys) <= period:
        return []
    differs = np.flatnonzero(keys[period:] != keys[:-period])
    edges = np.concatenate([[-1], differs, [len(keys) - period]])
    long = np.flatnonzero(np.diff(edges) > max(least, 1))
    return [(int(edges[k]) + 1, int(edges[k + 1])) for k in long]


def _within(tape: Tape, begin: int, end: int, period: int) -> Iterator[Stretch]:
    """The stretches among lines that are like their forerunners, if the operands match as well."""
    at = begin
    while at < end:
        if not tape.matches(at, period):
            at += 1
            continue
        settled = at
        while at < end and tape.matches(at, period):
            at += 1
        if at - settled < (ROUNDS - 3) * period:
            continue
        first = max(begin, settled - 2 * period) - period  # the first round has other operands: what it starts from
        start = first + _best_turn(tape, first, settled, at, period)
        rounds = (at - start) // period
        if rounds >= ROUNDS and tape.size(start, start + rounds * period) >= SHORT:
            yield Stretch(start, period, rounds)


def _best_turn(tape: Tape, first: int, settled: int, end: int, period: int) -> int:
    """How many lines after `first` a round should begin, so that least is handed on from round to round."""
    crossing = np.zeros(period, np.int64)
    begin = max(settled, first + period)
    far: dict[Value, int] = {}
    for k in range(begin, begin + period):
        for a, before in zip(tape.lines[k].args, tape.lines[k - period].args, strict=True):
            root = tape.operand(a).root
            line = tape.line(root)
            if line >= first and root is not tape.operand(before).root:
                far[root] = max(far.get(root, 0), k - line)
    for root, distance in far.items():
        line, size = tape.line(root), root.type.size
        whole, part = divmod(distance, period)
        crossing += whole * (size if isinstance(size, int) else 1)
        for k in range(line + 1, line + 1 + part):
            crossing[(k - first) % period] += size if isinstance(size, int) else 1
    return int(np.argmin(crossing))


__all__ = ["ROUNDS", "VIEWS", "Operand", "Stretch", "Tape", "like", "stretches"]
