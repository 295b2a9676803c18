"""Arrays on the heap: reading and writing parts of them, through views.

A basic index makes a `Part`: for every axis an element or a span, whose starts may be traced. Reading a part of a
traced array is `read`, writing one is `update` of the content of the box; views of views are composed into one part:

    row = a[i]        %1 = check_indices %i {axis=0, size=3}
    row[j] = x        %2 = check_indices %j {axis=0, size=4}
                      %3 = update %a, %x, %1, %2 {axes=(0, 1), widths=(-1, -1)}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ir.graph import Value
from ....ir.types import TRACED, Type
from ....ops import memory
from ....ops.shape import reshape, slice_
from ...array import Array
from ...numpy.indexing import get
from ...promotion import as_operand, check_ints, conform
from ...sizes import Length, typed
from ..machine import Machine
from ..selections.selected import Selection
from ..values import At, Grown, Part, Ref, Reshaped, Span, is_array, is_list, is_scalar
from .parts import compose, is_open, native, part_of

ALL = slice(None)


def shape_of(m: Machine, ref: Ref) -> tuple[int, ...]:
    """The shape of an array, or of the part of one."""
    return ref.path[-1].shape if ref.path else tuple(m.content(ref.box).shape)


def array_type(m: Machine, ref: Ref) -> Type | None:
    name = TRACED.get(m.content(ref.box).dtype)
    return typed(name, shape_of(m, ref)) if name else None


def dtype_of(m: Machine, ref: Ref) -> np.dtype:
    return m.content(ref.box).dtype


def lift(m: Machine, x: Any) -> Value:
    """Any number or array as a value of the innermost trace."""
    return m.value(read(m, x) if isinstance(x, Ref) else x)


def read(m: Machine, ref: Ref) -> Array | np.ndarray:
    """What an array, or a part of one, holds now."""
    found = m.content(ref.box)
    for part in ref.path:
        found = read_part(m, found, part)
    return found


def read_part(m: Machine, x: Array | np.ndarray, part: Part | Reshaped) -> Array | np.ndarray:
    """x at a basic index, or in another shape."""
    if isinstance(part, Reshaped):
        return x.reshape(part.shape) if isinstance(x, np.ndarray) else Array(m.now, m.value(x)).reshape(part.shape)
    starts = [e.index if isinstance(e, At) else e.start for e in part.entries]
    if not any(isinstance(s, Array) for s in starts):
        if isinstance(x, np.ndarray):
            made = x[_index(part)]
        elif any(isinstance(n, Length) for n in part.sizes):
            made = _sliced(m, x, part)
        else:
            made = get(Array(m.now, m.value(x)), _index(part))
        return made if part.plain else made.transpose(part.moved).reshape(part.shape)
    axes, widths, steps, at = _access(m, part)
    made = Array(m.now, m.now.emit(memory.read, m.value(x), *at, axes=axes, widths=widths, **steps))
    return made if part.plain else made.transpose(part.moved).reshape(part.shape)


def _sliced(m: Machine, x: Array, part: Part) -> Array:
    """A part without traced starts where sizes are known by name."""
    value = m.value(x)
    if not all(isinstance(e, Span) and e.whole(n) for e, n in zip(part.entries, part.sizes, strict=True)):
        places = [(e.index, 1, 1) if isinstance(e, At) else (e.start, e.step, e.count) for e in part.entries]
        start, step, count = zip(*places, strict=True)
        value = m.now.emit(slice_, value, start=start, step=step, shape=count)
    kept = tuple([e.count for e in part.entries if isinstance(e, Span)])
    return Array(m.now, value if len(kept) == len(part.sizes) else m.now.emit(reshape, value, shape=kept))


def _index(part: Part) -> tuple[Any, ...]:
    """A part without traced starts as NumPy's index; new axes are not in it."""
    index: list[Any] = []
    for e in part.entries:
        if isinstance(e, At):
            index.append(e.index)
        else:
            stop = e.start + e.count * e.step
            index.append(slice(e.start, None if stop < 0 else stop, e.step) if e.count else slice(0, 0))
    return tuple(index)


def _access(m: Machine, part: Part) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], list[Value]]:
    """The axes, widths, steps and starts of `read` and `update`; whole axes are left out."""
    axes, widths, steps, at = [], [], [], []
    for axis, e in enumerate(part.entries):
        if isinstance(e, Span) and e.whole(part.sizes[axis]):
            continue
        axes.append(axis)
        widths.append(memory.DROPPED if isinstance(e, At) else e.count)
        steps.append(1 if isinstance(e, At) else e.step)
        at.append(m.value(e.index if isinstance(e, At) else e.start))
    more = {"steps": tuple(steps)} if any(s != 1 for s in steps) else {}
    return tuple(axes), tuple(widths), more, at


def write_part(m: Machine, x: Array | np.ndarray, part: Part | Reshaped, v: Any) -> Array | np.ndarray:
    """x with v, of the part's shape, in its place."""
    if isinstance(part, Reshaped):
        return v.reshape(part.sizes) if isinstance(v, np.ndarray) else Array(m.now, m.value(v)).reshape(part.sizes)
    starts = [e.index if isinstance(e, At) else e.start for e in part.entries]
    if isinstance(x, np.ndarray) and isinstance(v, np.ndarray) and not any(isinstance(s, Array) for s in starts):
        made = x.copy()
        made[_index(part)] = _put_in_order(v, part)
        made.setflags(write=False)
        return made
    value = m.value(v if part.plain else _put_in_order(Array(m.now, m.value(v)), part))
    axes, widths, steps, at = _access(m, part)
    if not axes:
        return Array(m.now, value)
    return Array(m.now, m.now.emit(memory.update, m.value(x), value, *at, axes=axes, widths=widths, **steps))


def _put_in_order(v: Any, part: Part) -> Any:
    """A value of the part's shape without new axes, its axes where they are in the array."""
    shape, order = part.shape, part.moved
    kept = v.reshape([n for n, k in zip(shape, part.order, strict=True) if k is not None])
    return kept.transpose(tuple(np.argsort(order).tolist())) if order else kept


# ---- items


def get_array(m: Machine, ref: Ref, key: Any) -> Any:
    """a[key]: a number, a view, or a new array."""
    key = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, Selection) for k in key):
        return SELECTING[1](m, ref, key)
    if not m.freezing and any(isinstance(k, slice) and is_open(m, k) for k in key):
        made = SELECTING[2](m, ref, key)
        if made is not None:
            return made
    part = part_of(m, shape_of(m, ref), key)
    if part is None:
        made = None if m.freezing else SELECTING[0](m, ref, key)
        if made is not None:
            return made
        x = read(m, ref)
        key = tuple([_operand(m, k) for k in key])
        if any(isinstance(k, Array) and k.type.dtype == "bool" for k in key):
            fix = "use np.where(mask, x, 0), which keeps the shape"
            m.refuse("x[mask] with a traced mask has a size that depends on values", fix, array=x.dtype)
        if isinstance(x, np.ndarray) and not any(isinstance(k, Array) for k in key):
            return wrap(m, native(m, lambda: x[key]))
        return wrap(m, get(Array(m.now, m.value(x)), key))
    made = view(m, ref, part)
    if part.order:
        return made
    x = read(m, made)
    return x if isinstance(x, Array) else x[()]


SELECTING: list[Any] = [None, None, None, None]
"""What a traced mask selects, places that one has selected, slices of which only the call knows the length, and stores.

Registered by the module that knows selections.
"""


def view(m: Machine, ref: Ref, part: Part | Reshaped) -> Ref:
    last = ref.path[-1] if ref.path else None
    if isinstance(last, Part) and isinstance(part, Part):
        one = compose(m, last, part)
        if one is not None:
            return Ref(ref.box, (*ref.path[:-1], one))
    return Ref(ref.box, (*ref.path, part))


def _operand(m: Machine, x: Any) -> Any:
    """A part of an advanced key as the frontend takes it."""
    if is_array(x):
        held = read(m, x)
        if m.freezing and isinstance(held, Array) and held.type.dtype == "bool":
            return np.asarray(Array(m.now, m.value(held)))
        return held
    if is_list(x) or isinstance(x, tuple):
        held = m.content(x.box) if isinstance(x, Ref) else x
        if isinstance(held, Grown) or any(is_scalar(i) for i in held):
            return stacked(m, held)
        return [_operand(m, i) for i in held]
    return x


def wrap(m: Machine, x: Any) -> Any:
    """A result of the frontend or of NumPy as an abstract value."""
    if isinstance(x, Array):
        return m.new("array", x) if x.type.shape else x
    return m.new("array", x) if isinstance(x, np.ndarray) else x


def set_array(m: Machine, ref: Ref, key: Any, v: Any, ufunc: bool = False) -> None:
    """a[key] = v; with `ufunc` by an in-place operator, whose casts are stricter."""
    key = key if isinstance(key, tuple) else (key,)
    selects = any(isinstance(k, Selection) for k in key)
    opens = not selects and not m.freezing and any(isinstance(k, slice) and is_open(m, k) for k in key)
    if opens and SELECTING[3](m, ref, key, v, ufunc):
        return
    part = None if selects else part_of(m, shape_of(m, ref), key)
    if part is None:
        ADVANCED[0](m, ref, key, v)
        return
    dtype = dtype_of(m, ref)
    path = (*view(m, ref, part).path,)
    whole = part.shape if part.order else ()
    new = fitted(m, v, dtype, whole, ufunc)
    held = [m.content(ref.box)]
    for each in path[:-1]:
        held.append(read_part(m, held[-1], each))
    for old, each in zip(reversed(held), reversed(path), strict=True):
        new = write_part(m, old, each, new)
    m.store(ref.box, new)


ADVANCED: list[Any] = [None]
"""What stores at arrays of indices: registered by the module that knows loops."""


def fitted(m: Machine, v: Any, dtype: np.dtype, to: tuple[int, ...], strict: bool) -> Array | np.ndarray:
    """A value as what is stored: cast to the array's dtype and repeated to the shape of the part."""
    x = read(m, v) if is_array(v) else stacked(m, m.content(v.box)) if is_list(v) else v
    x = stacked(m, x) if isinstance(x, tuple) else x
    have = x.dtype if isinstance(x, (Array, np.ndarray, np.generic)) else np.asarray(x).dtype
    if strict and not np.can_cast(have, dtype, "same_kind") and not getattr(x, "weak", False):
        text = f"Cannot cast ufunc output from dtype('{have}') to dtype('{dtype}') with casting rule 'same_kind'"
        m.fail(TypeError(text))
    shape_: tuple[Any, ...] = x.type.shape if isinstance(x, Array) else tuple(np.shape(x))
    while len(shape_) > len(to) and shape_[0] == 1:
        shape_ = shape_[1:]
        x = x.reshape(shape_)
    if not _fits(shape_, to):
        m.fail(ValueError(f"could not broadcast input array from shape {shape_} into shape {to}"))
    if isinstance(x, Array) or any(isinstance(n, Length) for n in to):
        return Array(m.now, conform(m.now, x, dtype, to))
    return native(m, lambda: np.broadcast_to(np.asarray(x).astype(dtype), to))


def _fits(have: tuple[int, ...], to: tuple[int, ...]) -> bool:
    if len(have) > len(to):
        return False
    return all(a in (b, 1) for a, b in zip(reversed(have), reversed(to), strict=False))


def stacked(m: Machine, items: Any, dtype: Any = None) -> Any:
    """Items of a list as an array: traced if one of them is. Python ints among them must fit a dtype."""
    if isinstance(items, Grown):
        if not isinstance(items.count, (int, Length)):
            m.refuse("a list whose length depends on traced values is made an array", "use an array and a count")
        buffer = Array(m.now, m.value(items.buffer))
        full = type(items.count) is type(items.room) and items.count == items.room
        return buffer if full else get(buffer, slice(0, items.count))
    made = [_item(m, i, dtype) for i in items]
    check_ints(m.now, made, dtype)
    return as_operand(made) if made else np.asarray(made)


def _item(m: Machine, x: Any, dtype: Any) -> Any:
    if is_array(x):
        return read(m, x)
    if is_list(x) or isinstance(x, tuple):
        held = m.content(x.box) if isinstance(x, Ref) else x
        return stacked(m, held, dtype)
    return x

