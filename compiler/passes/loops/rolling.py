"""One stretch of repeated lines as the body of a scan.

Where an operand comes from decides what the body needs:

    the same value in every round                rest
    a line of the same round                     that line
    a line of an earlier round                   a carry, handed on as often as the rounds lie apart
    another constant in every round              a number made of the round's, or read from a table
    another part of an array in every round      read at such a number

What is used afterwards comes out as a carry, if only the last round's is, else stacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir.graph import Builder, Op, Value
from ...ir.types import Type
from ...ops.control import scan
from ...ops.shape import slice_
from ...ops.source import number
from ..cleanup import attrs_key
from .repeats import Stretch, Tape, like
from .rounds import INDEX, Body, Slot, Source, Unlike, rule

HANDED_ON = 3
"""Rounds before the last whose results are handed on to the end rather than stacked with all others."""

FARTHEST = 16
"""Rounds back from which a result is handed on: each of them is a carry, and what carries depend on is quadratic."""


@dataclass
class Rolled:
    """A scan that stands for a stretch.

    final     values of the last round, by the scan's results
    stacked   values of all rounds: the scan's result, and the round
    """

    final: dict[Value, Value] = field(default_factory=dict)
    stacked: dict[Value, tuple[Value, int]] = field(default_factory=dict)


class Rolling:
    """A stretch while its scan is made.

    tables   takes numbers that are other ones in every round and follow no rule; None where they may not
    several  whether it is one of several stretches, whose bodies are the same only if no place is written into them
    reads    what it reads that is made elsewhere
    """

    def __init__(self, tape: Tape, at: Stretch, tables: list[Any] | None) -> None:
        self.tape, self.at, self.tables = tape, at, tables
        self.several = False
        self.reads: list[Value] = []
        self.slots: dict[Slot, tuple[Op, ...]] = {}
        self.sources = [
            [self._source(q, i) for i in range(len(tape.lines[at.start + q].args))] for q in range(at.period)
        ]
        if tables is None and not all(rule(*each) for each in self._numbers()):
            raise Unlike

    # ---- where operands come from

    def _line(self, round: int, q: int) -> Op:
        return self.tape.lines[self.at.start + round * self.at.period + q]

    def _place(self, value: Value) -> tuple[int, int, int] | None:
        """Round, line and number of a result of the stretch."""
        found = self.tape.place.get(value)
        if found is None or not self.at.start <= found[0] < self.at.end:
            return None
        round, q = divmod(found[0] - self.at.start, self.at.period)
        return round, q, found[1]

    def _source(self, q: int, i: int) -> tuple[Source, tuple[Any, ...]]:
        """Where an operand comes from, and its views: operations, with the starts of all rounds where they differ."""
        args = [self._line(t, q).args[i] for t in range(self.at.rounds)]
        last = args[-1]
        if all(a is last for a in args):
            return self._outside(last), ()
        made = self._place(last)
        if made is not None:
            return self._handed_on(args, made), ()
        return self._viewed(args)

    def _handed_on(self, args: Sequence[Value], made: tuple[int, int, int]) -> Source:
        """The source of an operand that is a result of the stretch, in the last round of that of round made[0]."""
        period, place, ago = self.at.period, self.tape.place, self.at.rounds - 1 - made[0]
        first, number = place[args[-1]][0] - (len(args) - 1) * period, made[2]
        if any(place.get(a) != (first + t * period, number) for t, a in enumerate(args[ago:], ago)):
            raise Unlike
        return Source("line", made[1:]) if ago == 0 else self._carried(made[1:], (), args[:ago], ago)

    def _viewed(self, args: Sequence[Value]) -> tuple[Source, tuple[Any, ...]]:
        """The same for constants and views."""
        last, seen = args[-1], [self.tape.operand(a) for a in args]
        root, views = seen[-1]
        if root in self.tape.numbers:
            if any(o.views or o.root not in self.tape.numbers for o in seen):
                raise Unlike
            return Source("number", (last.type, [self.tape.numbers[o.root] for o in seen])), ()
        made = self._place(root)
        if made is None:
            if any(o.root is not root for o in seen):
                raise Unlike
            return self._outside(root), self._views([o.views for o in seen])
        ago = self.at.rounds - 1 - made[0]
        for t, o in enumerate(seen[ago:]):
            if self._place(o.root) != (t, *made[1:]):
                raise Unlike
        if ago == 0:
            return Source("line", made[1:]), self._views([o.views for o in seen])
        path = self._views([o.views for o in seen[ago:]])
        if any(starts is not None for _, starts in path):  # what is carried is seen through other views each round
            if any(not _alike(o.views, views) for o in seen[:ago]):
                raise Unlike
            return self._carried(made[1:], (), [o.root for o in seen[:ago]], ago), self._views([o.views for o in seen])
        return self._carried(made[1:], views, args[:ago], ago), ()

    def _numbers(self) -> Iterator[tuple[Type, Sequence[Any]]]:
        """The numbers that may be other ones in every round."""
        for sources in self.sources:
            for source, views in sources:
                if source.kind == "number":
                    yield source.what
                yield from ((INDEX, axis) for _, starts in views for axis in starts or ())

    def _outside(self, value: Value) -> Source:
        root = self.tape.operand(value).root
        if self._place(root) is not None:
            raise Unlike
        self.reads.append(value)
        return Source("rest", value)

    def _carried(self, line: tuple[int, int], views: tuple[Op, ...], first: Sequence[Value], ago: int) -> Source:
        for value in first:
            if self._place(self.tape.operand(value).root) is not None:
                raise Unlike
        if ago > FARTHEST:
            raise Unlike
        self.reads += first
        known = tuple([self.tape.operand(v).root if self._is_number(v) else v for v in reversed(first)])
        path = tuple([(v.prim.name, attrs_key(v.attrs)) for v in views])
        for k in range(1, ago + 1):
            self.slots.setdefault(Slot(line, path, k, known[:k]), views)
        return Source("slot", Slot(line, path, ago, known), ago)

    def _is_number(self, value: Value) -> bool:
        root, views = self.tape.operand(value)
        return root in self.tape.numbers and not views

    def _views(self, paths: Sequence[tuple[Op, ...]]) -> tuple[Any, ...]:
        """The views of all rounds as one path of pairs (operation, starts of each axis by round, or None)."""
        if any(not _alike(path, paths[-1]) for path in paths):
            raise Unlike
        made = []
        for k, op in enumerate(paths[-1]):
            starts = None
            if op.prim is slice_ and any(path[k].attrs["start"] != op.attrs["start"] for path in paths):
                starts = tuple(zip(*(path[k].attrs["start"] for path in paths), strict=True))
            made.append((op, starts))
        return tuple(made)

    # ---- the scan

    def emit(self, b: Builder, find: Any, used: Mapping[tuple[int, int], set[int]]) -> Rolled:
        """Emit the scan into `b`. `find` gives what stands there for a value; `used` the rounds whose results are read
        afterwards, by line and result."""
        last = self.at.rounds - 1
        stacks = [line for line, rounds in used.items() if min(rounds) < last - HANDED_ON]
        finals = {(line, t): self._final(line, last - t + 1) for line in used if line not in stacks for t in used[line]}
        types = [self._result(slot.line, last).type if not views else views[-1].results[0].type
                 for slot, views in self.slots.items()]
        stack_types = [_stacked(self._result(line, last).type, self.at.rounds) for line in stacks]
        inner = Builder("body", [INDEX, *types, *stack_types], ["i"])
        body = Body(inner, self.tape, self.slots, self.tables, self.several)
        nexts = body.run([(self._line(last, q), each) for q, each in enumerate(self.sources)], stacks)
        rest = list(body.rest)
        b.where = self._line(0, 0).where
        starts = [self._start(b, find, slot, t) for slot, t in zip(self.slots, types, strict=True)]
        starts += [number(b, 0, t) for t in stack_types]
        count = number(b, self.at.rounds, INDEX)
        region = body.b.finish(nexts)
        made = b.emit(scan, count, *starts, *map(find, rest), regions=(region,), carries=len(nexts))
        where = dict(zip(self.slots, made, strict=False))
        rolled = Rolled()
        for (line, t), slot in finals.items():
            rolled.final[self._result(line, t)] = where[slot]
        for line, result in zip(stacks, made[len(self.slots) :], strict=True):
            for t in used[line]:
                rolled.stacked[self._result(line, t)] = (result, t)
        return rolled

    def _final(self, line: tuple[int, int], ago: int) -> Slot:
        """The carry that ends as a result of the last round, or of one shortly before."""
        for slot in self.slots:
            if slot.line == line and not slot.views and slot.ago == ago:
                return slot
        for k in range(1, ago + 1):
            self.slots.setdefault(Slot(line, (), k, ()), ())
        return Slot(line, (), ago, ())

    def _result(self, line: tuple[int, int], round: int) -> Value:
        return self._line(round, line[0]).results[line[1]]

    def _start(self, b: Builder, find: Any, slot: Slot, type: Type) -> Value:
        """What a carry is before the first round."""
        return find(slot.first[-1]) if slot.first else number(b, 0, type)


def _alike(a: Sequence[Op], b: Sequence[Op]) -> bool:
    return len(a) == len(b) and all(map(like, a, b))


def _stacked(type: Type, rounds: int) -> Type:
    return type.with_shape((rounds, *type.shape))


__all__ = ["Rolled", "Rolling", "Unlike"]
