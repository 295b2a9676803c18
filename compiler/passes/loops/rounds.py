"""The body of a scan that stands for a repeated stretch, and the numbers that are other ones in every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.graph import Builder, Op, Value
from ...ir.types import Type
from ...ops.elementwise import add, cast, mul, ne
from ...ops.memory import DROPPED, read, update
from ...ops.reduce import spread
from ...ops.shape import slice_
from ...ops.source import const, number
from .repeats import Tape

INDEX = Type("i64")


class Unlike(Exception):
    """The first rounds are not like the others, or a number follows no rule where it must."""


class Source(NamedTuple):
    """Where an operand comes from: a value, a number, or line and result of this round or of `ago` rounds before."""

    kind: str
    what: Any
    ago: int = 0


class Slot(NamedTuple):
    """A carry: a result of a line, seen through views, `ago` rounds before.

    first   what it was in the rounds before the first, the latest first; nothing where nobody asks
    """

    line: tuple[int, int]
    views: tuple[Any, ...]
    ago: int
    first: tuple[Value, ...]


class Rule(NamedTuple):
    """The number of round i: (first + i * step) * times, or without `times` that integer, or the one that all have."""

    first: Any
    step: int
    times: float | None = None


def rule(type: Type, values: Sequence[Any]) -> Rule | None:
    """A rule that gives the very bits of the numbers of all rounds."""
    if len({v.hex() if isinstance(v, float) else v for v in values}) == 1:
        return Rule(values[0], 0)
    if type.dtype in ("i64", "i32"):
        step = values[1] - values[0]
        if abs(step) < 2**62 and all(v == values[0] + step * k for k, v in enumerate(values)):
            return Rule(values[0], step)
    elif type.is_float:
        first, factor = _multiple(np.array(values, type.numpy))
        if first is not None:
            return Rule(first, 1, factor)
    return None


def _multiple(values: np.ndarray) -> tuple[int | None, float]:
    """(k, c) where the values are (k + i) * c in floating point; k is None if they are not."""
    with np.errstate(all="ignore"):
        factor = values[1] - values[0] if values[0] else values[1]
        first = np.rint(values[0] / factor)
        if not np.isfinite(first) or abs(first) > 2**31:
            return None, 0.0
        for c in (factor, values[-1] / (first + len(values) - 1)):
            made = (np.arange(len(values)) + int(first)).astype(values.dtype) * values.dtype.type(c)
            if made.tobytes() == values.tobytes():
                return int(first), float(c)
    return None, 0.0


class Body:
    """The region of a scan while it is made; `rest` has its further arguments."""

    def __init__(
        self, b: Builder, tape: Tape, slots: Mapping[Slot, tuple[Op, ...]], tables: list[Any] | None, several: bool
    ) -> None:
        self.b, self.tape, self.slots, self.tables, self.several = b, tape, slots, tables, several
        self.inside = dict(zip(slots, b.params[1:], strict=False))
        self.stacks = b.params[1 + len(slots) :]
        self.rest: dict[Value, Value] = {}
        self.places: dict[int, Value] = {}
        self.made: dict[tuple[int, int], Value] = {}

    def run(self, lines: Sequence[tuple[Op, Any]], stacks: Sequence[tuple[int, int]]) -> list[Value]:
        """Emit all lines, given with the sources of their operands; what each carry becomes."""
        b = self.b
        for q, (op, sources) in enumerate(lines):
            b.where = op.where
            args = [self._operand(source, views) for source, views in sources]
            for k, r in enumerate(b.emit(op.prim, *args, regions=op.regions, **op.attrs)):
                self.made[q, k] = r
        nexts = []
        for slot, views in self.slots.items():
            if slot.ago > 1:
                nexts.append(self.inside[slot._replace(ago=slot.ago - 1, first=slot.first[:-1])])
            else:
                nexts.append(self._seen(self.made[slot.line], [(op, None) for op in views]))
        i = b.params[0]
        for line, stack in zip(stacks, self.stacks, strict=True):
            nexts.append(update(b, stack, self.made[line], i, axes=(0,), widths=(DROPPED,)))
        return nexts

    def _operand(self, source: Source, views: Sequence[Any]) -> Value:
        if source.kind == "number":
            return self._number(*source.what)
        if source.kind == "rest":
            value = self._shared(source.what)
        elif source.kind == "line":
            value = self.made[source.what]
        else:
            value = self.inside[source.what]
        return self._seen(value, views)

    def _shared(self, value: Value) -> Value:
        """A value that every round reads."""
        root, views = self.tape.operand(value)
        if root in self.tape.numbers and not views:
            return number(self.b, self.tape.numbers[root], value.type)
        if value not in self.rest:
            self.rest[value] = self.b.param(value.type, value.hint)
        return self.rest[value]

    def _seen(self, value: Value, views: Sequence[Any]) -> Value:
        for k, (op, starts) in enumerate(views):
            if starts is None:
                if value.type.shape != op.results[0].type.shape or op.prim is slice_:
                    (value,) = self.b.emit(op.prim, value, **op.attrs)
                continue
            wanted = views[k + 1][0].results[0].type.shape if k + 1 < len(views) else None
            value = self._part(value, op, starts, wanted)
        return value

    def _part(self, value: Value, op: Op, starts: Sequence[Any], wanted: Any) -> Value:
        """A part that is another in every round; without its axes of one element, if `wanted` is its shape then."""
        shape, step = op.attrs["shape"], op.attrs["step"]
        axes = [a for a, n in enumerate(value.type.shape) if shape[a] != n or step[a] != 1 or len(set(starts[a])) > 1]
        at = [self._number(INDEX, starts[a]) for a in axes]
        single = {a for a in axes if shape[a] == 1}
        if tuple(n for a, n in enumerate(shape) if a not in single) != wanted:
            single = set()
        widths = tuple(DROPPED if a in single else shape[a] for a in axes)
        return read(self.b, value, *at, axes=tuple(axes), widths=widths, steps=tuple(step[a] for a in axes))

    # ---- numbers that differ from round to round

    def _number(self, type: Type, values: Sequence[Any]) -> Value:
        scalar, found = type.with_shape(()), rule(type, values)
        if found is None:
            made = self._listed(scalar, values)
        elif found.step == 0 and type == INDEX and self.several:
            made = self._given(found.first)
        else:
            made = self._ruled(scalar, found)
        return made if not type.shape else spread(self.b, made, shape=type.shape, axes=())

    def _ruled(self, type: Type, found: Rule) -> Value:
        b, i = self.b, self.b.params[0]
        if found.step == 0:
            return number(b, found.first, type)
        made = i if found.step == 1 else mul(b, i, number(b, found.step, INDEX))
        made = add(b, made, number(b, found.first, INDEX)) if found.first else made
        made = made if type.dtype == "i64" else cast(b, made, dtype=type.dtype)
        return made if found.times is None else mul(b, made, number(b, found.times, type))

    def _given(self, place: int) -> Value:
        """A place as an argument of the region."""
        if place not in self.places:
            holder = Value(INDEX)
            self.tape.makers[holder] = Op(const, (), {"value": place, "type": INDEX}, (), (holder,))
            self.places[place] = self.rest[holder] = self.b.param(INDEX)
        return self.places[place]

    def _listed(self, type: Type, values: Sequence[Any]) -> Value:
        """A number read from a table."""
        tables = self.tables
        if tables is None:
            raise Unlike
        known = np.array(values, type.numpy if type.dtype != "bool" else np.int64)
        holder = Value(Type("i64" if type.dtype == "bool" else type.dtype, known.shape), "table")
        tables.append((holder, known))
        self.rest[holder] = self.b.param(holder.type, "table")
        made = read(self.b, self.rest[holder], self.b.params[0], axes=(0,), widths=(DROPPED,))
        return ne(self.b, made, number(self.b, 0, INDEX)) if type.dtype == "bool" else made


__all__ = ["INDEX", "Body", "Slot", "Source", "Unlike", "rule"]
