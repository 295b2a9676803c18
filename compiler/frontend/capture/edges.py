"""Values at the edge of a region: what carries a place across it, and what stands for it on the other side.

    Opt(Leaf(f64))   crosses as a bool and a number;   Held(f64[4])   as the content of an array, which gets a new box
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...ir.graph import Value
from ...ir.types import Type
from ...ops.elementwise import cast
from ...ops.shape import concatenate
from ...ops.source import number
from ..array import Array
from ..sizes import typed
from .arrays.access import lift, stacked
from .containers.tables import Table
from .frames import Place
from .machine import Machine
from .schema import INDEX, TRUTH, Bad, Container, Growing, Held, Items, Leaf, Opt, Pairs, Same, Schema
from .values import UNDEF, Box, Grown, Maybe, Poison, Ref, related


def types_of(s: Schema) -> list[Type]:
    """The types of the values that carry a place across."""
    if isinstance(s, (Same, Bad)):
        return []
    if isinstance(s, Opt):
        return [TRUTH, *types_of(s.inner)]
    if isinstance(s, (Pairs, Container)):
        return types_of(s.items if isinstance(s, Pairs) else s.content)
    if isinstance(s, Items):
        return [t for i in s.items for t in types_of(i)]
    if isinstance(s, Growing):
        return [typed(s.type.dtype, (s.room, *s.type.shape)), INDEX]
    return [s.type]


def leaves(m: Machine, s: Schema, x: Any) -> list[Value]:
    """The values that carry x through a place that looks like s."""
    if isinstance(s, (Same, Bad)):
        return []
    if isinstance(s, Opt):
        if x is UNDEF:
            return [m.value(False), *[zeros(m, t) for t in types_of(s.inner)]]
        flag, inner = (x.defined, x.inner) if isinstance(x, Maybe) else (True, x)
        return [m.value(flag), *leaves(m, s.inner, inner)]
    if x is UNDEF:
        return [zeros(m, t) for t in types_of(s)]
    if isinstance(s, Pairs):
        return leaves(m, s.items, x.values)
    if isinstance(s, Container):
        return leaves(m, s.content, m.content(x.box))
    if isinstance(s, Items):
        return [v for i, y in zip(s.items, x, strict=True) for v in leaves(m, i, y)]
    if isinstance(s, Growing):
        return _buffer(m, s, x)
    return [to_type(m, lift(m, x), s.type)]


def _buffer(m: Machine, s: Growing, x: Any) -> list[Value]:
    """A list as a buffer of s.room rows, and how many of them are used."""
    if isinstance(x, Grown):
        rows, used, count = to_type(m, m.value(x.buffer), s.type), x.room, m.value(x.count)
    else:
        used, count = len(x), m.value(len(x))
        rows = to_type(m, m.value(stacked(m, x)), s.type) if x else zeros(m, s.type.with_shape((0, *s.type.shape)))
    room = s.room
    if type(used) is type(room) and used == room:
        return [rows, count]
    rest = zeros(m, typed(s.type.dtype, (room - used, *s.type.shape)))
    return [rest if type(used) is int and not used else m.now.emit(concatenate, rows, rest, axis=0), count]


def zeros(m: Machine, t: Type) -> Value:
    m.now.builder.where = m.where()
    return number(m.now.builder, 0, t)


def to_type(m: Machine, v: Value, t: Type) -> Value:
    """v with the dtype of t."""
    return v if v.type.dtype == t.dtype else m.now.emit(cast, v, dtype=t.dtype)


def rebuild(m: Machine, s: Schema, values: Iterator[Value]) -> Any:
    """The abstract value that the values of a place stand for."""
    if isinstance(s, Same):
        return s.value
    if isinstance(s, Bad):
        return Poison(s.why, s.fix)
    if isinstance(s, Opt):
        flag = Array(m.now, next(values), weak=True)
        return Maybe(rebuild(m, s.inner, values), flag)
    if isinstance(s, Pairs):
        return Table(s.keys, rebuild(m, s.items, values))
    if isinstance(s, Items):
        made = [rebuild(m, i, values) for i in s.items]
        return tuple(made) if s.kind is tuple else s.kind(*made)
    if isinstance(s, Growing):
        buffer = Array(m.now, next(values))
        return Grown(buffer, Array(m.now, next(values), weak=True), s.weak, managed=s.managed)
    if isinstance(s, (Held, Container)):
        ref = m.new("array", None) if isinstance(s, Held) else m.new(s.kind, None)
        m.heap[ref.box] = Array(m.now, next(values)) if isinstance(s, Held) else rebuild(m, s.content, values)
        ref.box.relate(s.boxes)
        return ref
    return Array(m.now, next(values), isinstance(s, Leaf) and s.weak)


# ---- aliases

Leaves = dict[tuple[Place, tuple[int, ...]], Box]


def boxes_in(m: Machine, place: Place, s: Schema, x: Any) -> Leaves:
    """The boxes in x where s has arrays or containers, by where they are."""
    found: Leaves = {}

    def walk(s: Schema, x: Any, at: tuple[int, ...]) -> None:
        if isinstance(s, Opt):
            walk(s.inner, x.inner if isinstance(x, Maybe) else x, at)
        elif isinstance(s, Pairs):
            walk(s.items, x.values if isinstance(x, Table) else UNDEF, at)
        elif isinstance(s, Items):
            for k, i in enumerate(s.items):
                walk(i, x[k] if isinstance(x, tuple) else UNDEF, (*at, k))
        elif isinstance(s, (Held, Container)) and isinstance(x, Ref):
            found[place, at] = x.box
            if isinstance(s, Container):
                walk(s.content, m.look(x.box), (*at, 0))

    walk(s, x, ())
    return found


def overlaps(boxes: Leaves) -> set[tuple[Any, Any]]:
    """Which of them may share memory."""
    keys = list(boxes)
    return {(p, q) for k, p in enumerate(keys) for q in keys[:k] if related(boxes[p], boxes[q])}


def pair_up(made: Leaves, pairs: set[tuple[Any, Any]]) -> None:
    for p, q in pairs:
        if p in made and q in made:
            made[p].relate([made[q]])


def keep_boxes(s: Schema, kept: Any) -> Schema:
    """A schema with those aliases only that are `kept`."""
    if isinstance(s, Held):
        return Held(s.type, frozenset([b for b in s.boxes if kept(b)]))
    if isinstance(s, Container):
        boxes = frozenset([b for b in s.boxes if kept(b)])
        return Container(s.kind, keep_boxes(s.content, kept), boxes)
    if isinstance(s, Opt):
        return Opt(keep_boxes(s.inner, kept))
    if isinstance(s, Pairs):
        return Pairs(s.keys, Items(tuple, tuple([keep_boxes(i, kept) for i in s.items.items])))
    return Items(s.kind, tuple([keep_boxes(i, kept) for i in s.items])) if isinstance(s, Items) else s
