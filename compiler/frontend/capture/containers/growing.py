"""Lists that grow in loops, and lists that a traced index reads: a buffer, and how many of its rows are used.

    out = []                          the buffer gets room for what all passes can append: a number that must be known
    for v in a:                       %3: f64[40], %4: i64[] = scan %n, %zeros, %0 ...
        out.append(v * s)                 update %buffer, %v, %count
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops import memory
from ...array import FUNCTIONS, Array
from ...numpy.indexing import get
from ...sizes import Length, greatest
from .. import numbers
from ..arrays.access import lift, wrap
from ..arrays.parts import checked
from ..edges import leaves
from ..machine import Machine
from ..schema import Bad, Container, Growing, Held, Leaf, Schema, join_types, schema
from ..values import Grown, Picked, Ref, traced

Items = tuple[Any, ...]


def grown(m: Machine, items: Items) -> Grown:
    """A list of like items as a buffer that is full."""
    kinds = [schema(m, i) for i in items]
    if not kinds or not all(isinstance(k, (Leaf, Held)) for k in kinds):
        fix = "let all items be numbers, or arrays of one shape"
        m.refuse("a traced index into a list, or a list that grows, of unlike items", fix)
    type, weak = kinds[0].type, isinstance(kinds[0], Leaf) and kinds[0].weak  # type: ignore[union-attr]
    for k in kinds[1:]:
        more = isinstance(k, Leaf) and k.weak
        made = join_types(type, k.type, (weak, more))  # type: ignore[union-attr]
        if made is None:
            m.refuse(f"a list has items of {type} and of {k.type}", "let them have one type and shape")  # type: ignore[union-attr]
        type, weak = made, weak and more
    rows, _ = leaves(m, Growing(type, weak, len(items)), items)
    return Grown(Array(m.now, rows), len(items), weak)


def columns(m: Machine, items: Items) -> Callable[[Any], Any] | None:
    """Like items as arrays that a traced index reads: numbers, arrays, texts, or tuples of these; None if unlike."""
    if not items:
        return None
    if all(type(i) is tuple and len(i) == len(items[0]) for i in items):
        parts = [columns(m, tuple([i[k] for i in items])) for k in range(len(items[0]))]
        if any(p is None for p in parts):
            return None
        return lambda k: tuple([p(k) for p in parts if p is not None])
    if all(type(i) is str for i in items):
        return lambda k: Picked(lambda: items, k)
    table = _column(m, items)
    if table is None:
        return None
    boxed = [i for i in items if isinstance(i, Ref)]

    def item(k: Any) -> Any:
        made = item_of(m, table, k)
        for i in boxed:
            if isinstance(made, Ref):  # a copy of ours, where Python has the item itself
                made.box.relate(m.relatives(i.box))
        return made

    return item


def _column(m: Machine, items: Items) -> Grown | None:
    """Like items as a buffer; numbers that are there before all loops and branches are put together there, once."""
    plain = all(not isinstance(i, Ref) and not (isinstance(i, Array) and i.tracing is not m.root) for i in items)
    if not plain or m.freezing:
        return grown(m, items) if _alike(m, items) else None
    held, at, op, table = m.columns.get(id(items), (None, 0, None, None))
    body = m.root.builder.body
    if held is items and (table is None or (at < len(body) and body[at] is op)):  # it has not been given up
        return table
    if _alike(m, items):
        with m.within(m.root):
            table = grown(m, items)
    m.columns[id(items)] = items, len(body) - 1, body[-1] if body else None, table
    return table


def _alike(m: Machine, items: Items) -> bool:
    """Whether items are numbers of one kind, or arrays of one type."""
    kinds = [schema(m, i) for i in items]
    first = kinds[0]
    if not isinstance(first, (Leaf, Held)) or any(type(k) is not type(first) for k in kinds):
        return False
    if isinstance(first, Held):
        return all(isinstance(k, Held) and k.type == first.type for k in kinds)
    return all(isinstance(k, Leaf) and k.weak == first.weak for k in kinds)


def item_of(m: Machine, held: Grown, index: Any, wrapped: bool = True) -> Any:
    """One item of a buffer; negative indices count from the end of what is used."""
    count = held.count
    if not isinstance(index, Array) and isinstance(count, int):
        if not -count <= index < count:
            m.fail(IndexError("list index out of range"))
        made = get(Array(m.now, m.value(held.buffer)), index % count)
    elif not isinstance(count, int) or not isinstance(index, Array):
        at = m.ranges.add(m, index, count) if not isinstance(index, Array) and index < 0 else index
        if isinstance(index, Array) and not m.ranges.inside(index, 0, None):
            m.refuse("a traced index, which may be negative, into a list that grows", "use an array")
        below = numbers.binary(m, operator.lt, at, count) if traced((at, count)) else at < count
        inside = numbers.logic(m, "and", numbers.binary(m, operator.ge, at, 0), below)
        m.require(inside, IndexError, "list index out of range")
        made = _row(m, held.buffer, at)
    else:
        made = _row(m, held.buffer, checked(m, index, 0, count))
    made.weak = held.weak and not made.type.shape
    return wrap(m, Array(made.tracing, made.value, made.weak))


def _row(m: Machine, buffer: Array, at: Any) -> Array:
    found = m.now.emit(memory.read, m.value(buffer), m.value(at), axes=(0,), widths=(memory.DROPPED,))
    return Array(m.now, found)


def append(m: Machine, ref: Ref, v: Any) -> None:
    held = m.heap[ref.box]
    if not isinstance(held, Grown):
        m.edited(ref.box).append(v)
        return
    item = schema(m, v)
    row = held.buffer.type.with_shape(held.buffer.type.shape[1:])
    weak = isinstance(item, Leaf) and item.weak
    made = join_types(row, item.type, (held.weak, weak)) if isinstance(item, (Leaf, Held)) else None
    if made is None:
        m.refuse(f"an item of another kind is appended to a list of {row}", "let all items have one type and shape")
    weak = held.weak and weak
    buffer = held.buffer if made == row else cast_rows(held.buffer, made.numpy)
    value = lift(m, v)
    value = value if value.type == made else cast_rows(Array(m.now, value), made.numpy).value
    if isinstance(v, Ref):
        v.box.relate([ref.box])
    if not held.managed and not m.ranges.inside(held.count, 0, held.room):
        buffer = _larger(buffer)
    new = m.now.emit(memory.update, m.value(buffer), value, m.value(held.count), axes=(0,), widths=(memory.DROPPED,))
    count = held.count + 1 if isinstance(held.count, int) else m.ranges.add(m, held.count, 1)
    m.store(ref.box, Grown(Array(m.now, new), count, weak, held.low + 1, held.high + 1, held.managed))


def _larger(buffer: Array) -> Array:
    """A buffer with one more row."""
    row = np.zeros((1, *buffer.shape[1:]), buffer.dtype)
    return FUNCTIONS[np.concatenate]([buffer, row])


def cast_rows(x: Array, dtype: np.dtype) -> Array:
    return x.astype(dtype)


# ---- in loops


def with_room(s: Schema, v0: Any, v1: Any, limit: Any, carried: bool) -> Schema:
    """A growing list, v0 before the loop and v1 after a pass, with room for what all passes add."""
    if isinstance(s, Container) and isinstance(s.content, Growing):
        return Bad("a list is replaced in a loop by one of another length", "let it grow by append()")
    if not isinstance(s, Growing):
        return s
    if isinstance(v0, Grown) and v0.managed:
        return Growing(s.type, s.weak, v0.room, True)
    if isinstance(limit, Length) and limit < 0:
        limit = 0
    if limit is None:
        why = "a list grows in a loop whose number of passes depends on values, so its length is not known"
        return Bad(why, "put the items into an array of the greatest length, and count them")
    start = _most(v0)
    grows = v1.high if isinstance(v1, Grown) and carried else _most(v1) - start
    return Growing(s.type, s.weak, greatest((s.room, start + grows * limit)), True)


def after_loop(m: Machine, v: Grown, last: Any, start: Any, limit: Any, counted: bool) -> Grown:
    """A list after the loop, `last` after a pass and `start` before: how long it is, and by how much it has grown.

    `counted`: the loop is left at its end only.
    """
    assert isinstance(last, Grown) and limit is not None
    if isinstance(limit, Length) and limit < 0:
        limit = 0
    length = len(start) if isinstance(start, tuple) else start.count
    before = (0, 0) if isinstance(start, tuple) else (start.low, start.high)
    low, high = (last.low * limit if counted else 0), last.high * limit
    count: Any = v.count
    if (low == high) if isinstance(high, int) else (counted and last.low == last.high):
        count = length + low if isinstance(length, (int, Length)) else m.ranges.add(m, length, low)
    managed = isinstance(start, Grown) and start.managed
    return Grown(v.buffer, count, v.weak, before[0] + low, before[1] + high, managed)


def _most(v: Any) -> int:
    """The most items that a list can have."""
    return v.room if isinstance(v, Grown) else len(v)
