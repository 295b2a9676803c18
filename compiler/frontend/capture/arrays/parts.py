"""Subscripts: what is between the brackets, as a `Part` for every basic index.

    a[i, 1:]    At(i), checked, and a span       a[i : i + 3]    a window: the ends have one base, and differ by 3
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.elementwise import add, and_, le, lt, not_, or_, select
from ....ops.index import check_indices
from ...array import FUNCTIONS, Array
from ...athand import suppose
from ...errors import TraceError, TraceValueError
from ...numpy.indexing import steps_in
from ...sizes import Length
from ...tracing import enclosing
from ..frames import Raised
from ..machine import Machine
from ..values import At, Part, Span, is_array, is_list, is_scalar

ALL = slice(None)


def native(m: Machine, action: Any) -> Any:
    """Run something of Python's or NumPy's; what it raises is the user's, unless it is a refusal of ours."""
    for each in enclosing():
        each.refusal = None
    try:
        return action()
    except (Raised, RecursionError):
        raise
    except TraceError as error:
        if isinstance(error, TraceValueError):
            m.fail(ValueError(str(error).partition("\n")[0]))
        raise
    except Exception as error:
        refusal = next((each.refusal[1] for each in enclosing() if each.refusal is not None), None)
        if refusal is not None:  # NumPy has replaced it by a vaguer one
            raise refusal from None
        if isinstance(error, ValueError) and "read-only" in str(error):
            m.refuse("a library writes into an array that was made here", "assign what it computes", array="concrete")
        m.fail(error)



def part_of(m: Machine, sizes: tuple[int, ...], key: tuple[Any, ...]) -> Part | None:
    """A key as a basic index into an array of this shape; None if it is an advanced one."""
    if any(is_array(k) or isinstance(k, (bool, np.bool_, range, tuple)) or is_list(k) for k in key):
        return None
    if m.freezing:
        key = tuple([m.known(k, "bool()") if is_scalar(k) and k.type.dtype == "bool" else k for k in key])
    if any(is_scalar(k) and k.type.dtype == "bool" for k in key):
        m.refuse("a traced bool is used as an index", "use np.where")
    used = sum(k is not None and k is not Ellipsis for k in key)
    if sum(k is Ellipsis for k in key) > 1:
        m.fail(IndexError("an index can only have a single ellipsis ('...')"))
    if used > len(sizes):
        text = f"too many indices for array: array is {len(sizes)}-dimensional, but {used} were indexed"
        m.fail(IndexError(text))
    dots = next((k for k, e in enumerate(key) if e is Ellipsis), len(key))
    key = (*key[:dots], *[ALL] * (len(sizes) - used), *key[dots + 1 :])
    entries: list[At | Span] = []
    order: list[int | None] = []
    for k in key:
        if k is None:
            order.append(None)
            continue
        entry = _entry(m, k, len(entries), sizes[len(entries)])
        if isinstance(entry, Span):
            order.append(sum(o is not None for o in order))
        entries.append(entry)
    return Part(tuple(entries), tuple(order), sizes)


def _entry(m: Machine, k: Any, axis: int, size: int) -> At | Span:
    if isinstance(k, slice):
        return _span(m, k, size)
    if isinstance(k, Array):
        if k.type.dtype not in ("i64", "i32"):
            text = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays"
            m.fail(IndexError(f"{text} are valid indices"))
        return At(checked(m, k, axis, size))
    try:
        at = k if isinstance(k, Length) else k.__index__()
    except (AttributeError, TypeError):
        text = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays"
        m.fail(IndexError(f"{text} are valid indices"))
    if not -size <= at < size:
        m.fail(IndexError(f"index {at} is out of bounds for axis {axis} with size {size}"))
    return At(at if at >= 0 else at + size)


def checked(m: Machine, k: Array, axis: int, size: int) -> Array:
    """A traced index as i64, counted from the end if it is negative, in range."""
    value = FUNCTIONS["astype"](k, np.int64) if k.type.dtype != "i64" else k
    if m.ranges.inside(value, 0, size):
        return value
    if isinstance(size, Length) and not size > 0:  # no code reads what has no elements
        size = 0
    if not m.ranges.inside(value, 0, None):
        below = m.emit(lt, value, 0)
        value = m.emit(select, below, m.emit(add, value, size), value)
    if m.trying:
        below = m.emit(and_, m.emit(le, 0, value), m.emit(lt, value, size))
        m.require(below, IndexError, f"an index is out of bounds for axis {axis} with size {size}")
        return value
    return m.emit(check_indices, value, axis=axis, size=size, wrapped=True)


def _span(m: Machine, k: slice, size: int) -> Span:
    k = slice(*[m.known(e, "a slice") for e in (k.start, k.stop, k.step)])
    step = 1 if k.step is None else k.step
    if any(isinstance(e, Length) for e in (size, k.start, k.stop)) and not any(map(is_scalar, (k.start, k.stop, step))):
        start, step, count = native(m, lambda: steps_in(k, size))
        return Span(start, step, count)
    if not any(is_scalar(e) for e in (k.start, k.stop, step)):
        try:
            found = range(*slice(*[_plain_index(e) for e in (k.start, k.stop, k.step)]).indices(size))
        except (TypeError, ValueError) as error:
            m.fail(error)
        return Span(found.start if len(found) else 0, found.step if len(found) else 1, len(found))
    if type(step) is int and step == 1 and is_scalar(k.start) and is_scalar(k.stop):
        width = m.ranges.width(k.start, k.stop)
        if width is not None and 0 <= width <= size:
            return Span(_window(m, k.start, width, size), 1, width) if width else Span(0, 1, 0)
    fix = "take a window of known width, a[i:i+3], or use np.where over the whole array"
    m.refuse("the length of this slice depends on traced values, so its result has no fixed shape", fix)


def is_open(m: Machine, k: slice) -> bool:
    """Whether a slice ends or begins at a traced number and has no known length."""
    if not (is_scalar(k.start) or is_scalar(k.stop)) or k.step not in (None, 1):
        return False
    return not (is_scalar(k.start) and is_scalar(k.stop)) or m.ranges.width(k.start, k.stop) is None


def _window(m: Machine, start: Array, width: int, size: int) -> Any:
    """The start of a window, which must lie inside: Python would make it shorter."""
    if m.ranges.inside(start, 0, size - width + 1):
        return start
    if m.ranges.leaves(start, m.now.builder.params, size - width):
        fix = "let the loop end where the window does, or treat the ends apart"
        m.refuse(f"a window of width {width} leaves the axis of size {size} in some pass, where it is shorter", fix)
    low, high = m.emit(lt, start, 0), m.emit(lt, size - width, start)
    out = m.emit(or_, low, high)
    if m.now.frozen is not None:
        suppose(m.now, m.value(m.emit(not_, out)), "a window of known width that lies inside the array", "True")
        return start
    text = f"a window of width {width} with a traced start must lie inside the axis of size {size}"
    m.require(m.emit(not_, out), IndexError, text)
    return start


def _plain_index(x: Any) -> Any:
    return None if x is None else x.__index__()


def compose(m: Machine, outer: Part, inner: Part) -> Part | None:
    """The part of a part, as one; None if new axes are between."""
    if not outer.plain:
        return None
    rest = iter(inner.entries)
    made: list[At | Span] = []
    for e in outer.entries:
        if isinstance(e, At):
            made.append(e)
            continue
        i = next(rest)
        start = _moved(m, e, i.index if isinstance(i, At) else i.start)
        made.append(At(start) if isinstance(i, At) else Span(start, e.step * i.step, i.count))
    return Part(tuple(made), inner.order, outer.sizes)


def _moved(m: Machine, e: Span, k: Any) -> Any:
    """Where the k-th element of a span is."""
    if type(k) is int and type(e.start) is int:
        return e.start + k * e.step
    from_start = k if e.step == 1 else k * e.step
    if type(e.start) is int and e.start == 0:
        return from_start
    return m.ranges.add(m, e.start, from_start)
