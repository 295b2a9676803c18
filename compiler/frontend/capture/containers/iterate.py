"""What `for` runs over: each a number of passes, which may be traced, and what the k-th item is."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ....ops.elementwise import maximum
from ...array import Array
from ...sizes import Length
from .. import numbers
from ..arrays.access import get_array, shape_of
from ..arrays.parts import native
from ..machine import Machine
from ..selections.selected import Selection
from ..selections.selecting import count_of, get_selected
from ..values import Grown, Iter, Ref, Steps, is_array, is_list, is_scalar, same, traced
from . import sequences
from .growing import columns

SHORT, LONG = 8, 64
"""How many items of a list of traced numbers, and of what cannot change, are not put into an array to loop over."""


MOST = 1_000_000
"""The most items of an iterator, which may have no end."""


def iterate(m: Machine, v: Any) -> Iter:
    """v as something iterated over."""
    if isinstance(v, Iter):
        return v
    if isinstance(v, range):
        return Iter(len(v), lambda k: v[k] if type(k) is int else affine(m, v.start, v.step, k), True)
    if isinstance(v, Steps):
        return Iter(_count(m, v), lambda k: _between(m, v, k), True)
    if is_array(v):
        shape = shape_of(m, v)
        if not shape:
            m.fail(TypeError("iteration over a 0-d array"))
        return Iter(shape[0], lambda k: get_array(m, v, k), True)
    if is_list(v):
        return _over_list(m, v)
    if is_scalar(v):
        m.fail(TypeError(f"'{'int' if v.type.dtype == 'i64' else 'float'}' object is not iterable"))
    if isinstance(v, Selection):
        return Iter(count_of(m, v.mask), lambda k: get_selected(m, v, k), True)
    items = _items(m, v)
    if len(items) > LONG and len({type(i) for i in items}) == 1 and type(items[0]) in (int, float):
        table = m.adopt(np.array(items))
        return Iter(len(items), lambda k: items[k] if type(k) is int else _python(get_array(m, table, k)), True)
    read = len(items) > LONG and not m.freezing and (traced(items) or type(items[0]) is str)
    column = columns(m, items) if read else None
    if column is None:
        return Iter(len(items), lambda k: m.adopt(items[k]), False)
    return Iter(len(items), lambda k: m.adopt(items[k]) if type(k) is int else column(k), True)


def _items(m: Machine, v: Any) -> tuple[Any, ...]:
    """The items of a tuple or dict, or of what is no value of the trace."""
    items = sequences.all_items(m, v) if traced(v) else native(m, lambda: tuple(itertools.islice(v, MOST + 1)))
    if len(items) > MOST:
        m.refuse(f"an iterator with more than {MOST} items", "iterate over a range, or an array")
    return items


def _python(x: Any) -> Any:
    return Array(x.tracing, x.value, weak=True)


def _over_list(m: Machine, v: Ref) -> Iter:
    """A list, which must not grow while it is iterated over; its items may change."""
    held = m.content(v.box)
    trip = held.count if isinstance(held, Grown) else len(held)
    table = columns(m, held) if not isinstance(held, Grown) and len(held) > SHORT else None

    def check() -> None:
        now = m.look(v.box)
        if not same(trip, now.count if isinstance(now, Grown) else len(now) if isinstance(now, tuple) else None):
            m.refuse("a list grows or shrinks while it is iterated over", "iterate over a copy: list(items)")

    def item(k: Any) -> Any:
        check()
        if table is not None and isinstance(k, Array) and m.look(v.box) is held:
            return table(k)
        return sequences.get_item(m, v, k)

    return Iter(trip, item, isinstance(held, Grown) or table is not None, check)


def _count(m: Machine, v: Steps) -> Any:
    """How many numbers there are in a range with traced bounds."""
    far, near = (v.stop, v.start) if v.step > 0 else (v.start, v.stop)
    span = subtract(m, far, near)
    step = abs(v.step)
    if step > 1:
        span = plus(m, span, step - 1)
        span = span // step if isinstance(span, Length) else numbers.binary(m, operator.floordiv, span, step)
    if isinstance(span, Length):
        return span  # no pass, where it is negative
    if not isinstance(span, Array):
        return max(span, 0)
    made = Array(m.now, m.emit(maximum, span, 0).value, weak=True)
    low, high = m.ranges.of(span)
    return m.ranges.note(made, max(low, 0), max(high, 0))


def _between(m: Machine, v: Steps, k: Any) -> Any:
    """The k-th number of such a range: in a pass of a loop it lies between the ends."""
    item = affine(m, v.start, v.step, k)
    if isinstance(k, Array):  # otherwise it may be an end itself, of which more would be said than holds outside
        start, stop = m.ranges.of(v.start), m.ranges.of(v.stop)
        m.ranges.note(item, *((start[0], stop[1] - 1) if v.step > 0 else (stop[0] + 1, start[1])))
    return item


def plus(m: Machine, a: Any, b: Any) -> Any:
    if not isinstance(a, Array) and not isinstance(b, Array):
        return a + b
    return numbers.binary(m, operator.add, a, b)


def subtract(m: Machine, a: Any, b: Any) -> Any:
    if not isinstance(a, Array) and not isinstance(b, Array):
        return a - b
    return a if not isinstance(b, Array) and b == 0 else numbers.binary(m, operator.sub, a, b)


def affine(m: Machine, start: Any, step: int, k: Any) -> Any:
    """start + step * k."""
    out = k if step == 1 else numbers.binary(m, operator.mul, k, step) if isinstance(k, Array) else k * step
    return out if not isinstance(start, Array) and start == 0 else plus(m, out, start)


def every(m: Machine, v: Any) -> list[Any]:
    """All items of an iterable of known length."""
    if is_list(v) and not isinstance(held := m.content(v.box), Grown):
        return list(held)
    if isinstance(v, tuple):
        return [m.adopt(i) for i in v]
    it = iterate(m, v)
    if isinstance(it.trip, (Array, Length)):
        m.refuse("something whose length depends on traced values is unpacked", "use an array and a count")
    return [it.item(k) for k in range(it.trip)]


sequences.ITERATE[0] = every
