"""Selections made, read and stored: x[mask], np.nonzero(mask), y[key], a[mask] = y and a[places] = y.

    np.flatnonzero(mask)  a selection of np.arange(n), whose elements are their own places: a[it] is a[mask]
    y[keep]               the same values under a smaller mask
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....ir.graph import Op, Value
from ....ir.primitive import Effect
from ....ops.custom import stop_gradient
from ....ops.index import check_indices
from ...array import Array
from .. import prelude
from ..arrays.access import ALL, SELECTING, get_array, read, set_array, shape_of, wrap
from ..calls import call
from ..machine import Machine
from ..numbers import binary
from ..values import Ref, is_array, is_scalar
from .selected import FIX, Selection

_NOT_BASIC = (tuple, list, dict, str, np.ndarray)


def refuse(m: Machine, what: str) -> Any:
    m.refuse(f"{what} with elements that a mask selects", FIX)


def traced_mask(m: Machine, k: Any) -> Array | None:
    """A part of a key that is a traced mask."""
    held = read(m, k) if is_array(k) and m.content(k.box).dtype == bool else None
    return held if isinstance(held, Array) and held.type.dtype == "bool" and held.shape else None


def whole(m: Machine, x: Any) -> Any:
    """The whole array behind a selection; anything else as it is."""
    return wrap(m, x.values) if isinstance(x, Selection) else x


def array(m: Machine, x: Any) -> Array:
    """An abstract value as an array of the trace."""
    return Array(m.now, m.value(read(m, x) if is_array(x) else x))


def spread_mask(m: Machine, mask: Array, axis: int, rank: int) -> Any:
    """A mask along an axis of an array of some rank."""
    n = mask.shape[0]
    shape = tuple([n if k == axis else 1 for k in range(rank)])
    return wrap(m, Array(m.now, m.value(mask)).reshape(shape))


def filled(m: Machine, x: Selection, fill: Any, along: set[int] | None = None) -> Any:
    """The whole array with a number where nothing is selected, by all masks or those along axes from the end."""
    made = whole(m, x)
    for end in x.masks if along is None else along & x.masks.keys():
        mask = x.masks[end]
        made = call(m, np.where, [spread_mask(m, mask, x.rank - end, x.rank), made, fill], {})
    return made


def count_of(m: Machine, mask: Array) -> Array:
    """How many a mask selects, as a Python number; it is remembered whose count it is."""
    for value, known in m.counts.items():
        if known.tracing is m.now and known.value is mask.value:
            return Array(m.now, value, weak=True)
    total = array(m, call(m, np.sum, [wrap(m, mask)], {}))
    made = m.ranges.note(Array(m.now, total.value, weak=True), 0, mask.shape[0])
    m.counts[made.value] = mask
    return made


def some(m: Machine, x: Selection, error: type[Exception], text: str) -> None:
    """It must not be empty."""
    m.require(binary(m, operator.gt, count_of(m, x.mask), 0), error, text)


# ---- one mask


def same_mask(m: Machine, a: Selection | Array, b: Selection | Array) -> bool:
    """Whether two masks are one: the same value, or computed in the same way of the same."""
    one, two = (m.value(x.mask if isinstance(x, Selection) else x) for x in (a, b))
    made = {r: op for op in m.now.builder.body for r in op.results} if one is not two else {}
    pending, seen = [(one, two)], set()
    while pending:
        pair = pending.pop()
        if pair[0] is pair[1] or pair in seen:
            continue
        seen.add(pair)
        ops = made.get(pair[0]), made.get(pair[1])
        if ops[0] is None or ops[1] is None or not _alike(ops[0], ops[1], pair):
            return False
        pending += zip(ops[0].args, ops[1].args, strict=True)
    return True


def _alike(p: Op, q: Op, results: tuple[Value, Value]) -> bool:
    certain = p.effect is Effect.PURE or p.prim is check_indices
    if p.prim is not q.prim or p.attrs != q.attrs or p.regions or q.regions or not certain:
        return False
    return len(p.args) == len(q.args) and p.results.index(results[0]) == q.results.index(results[1])


# ---- made


def select(m: Machine, ref: Ref, key: tuple[Any, ...]) -> Selection | None:
    """a[key] with one traced mask among slices and numbers."""
    found = _around(m, ref, key)
    if found is None:
        return None
    mask, basic, axis = found
    made = get_array(m, ref, basic)
    shape = shape_of(m, made)
    merged = (*shape[:axis], mask.size, *shape[axis + mask.type.rank :])
    made = call(m, np.reshape, [made, merged], {}) if merged != shape else made
    return selection(m, made, Array(m.now, m.value(mask)).reshape(-1), axis)


def _around(m: Machine, ref: Ref, key: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...], int] | None:
    """The mask in a key, the key with whole axes in its place, and the axis of what is selected."""
    key = key[:-1] if key and key[-1] is Ellipsis else key
    masks = [k for k, e in enumerate(key) if traced_mask(m, e) is not None]
    if len(masks) != 1:
        return None
    at = masks[0]
    mask, shape = traced_mask(m, key[at]), shape_of(m, ref)
    assert mask is not None
    if mask.shape != shape[at : at + mask.type.rank] or not mask.size:
        return None
    rest = [(k, e) for k, e in enumerate(key) if k != at]
    if not all(isinstance(e, slice) or _is_place(e) for _, e in rest):
        return None
    advanced = [at, *[k for k, e in rest if not isinstance(e, slice)]]
    if max(advanced) - min(advanced) + 1 != len(advanced):
        return None  # NumPy moves the axis to the front
    axis = sum(isinstance(e, slice) for e in key[:at])
    return mask, (*key[:at], *[ALL] * mask.type.rank, *key[at + 1 :]), axis


def _is_place(e: Any) -> bool:
    """Whether a part of a key is one number."""
    if is_scalar(e):
        return e.type.dtype in ("i64", "i32")
    return hasattr(e, "__index__") and not isinstance(e, (bool, np.bool_, *_NOT_BASIC, Ref, Selection))


def selection(m: Machine, made: Any, mask: Array, axis: int, places: bool = False) -> Selection:
    """What a mask selects of an array, whose other elements become the first of these."""
    m.selects = True
    first = array(m, call(m, np.argmax, [wrap(m, mask)], {}))
    m.ranges.note(first, 0, mask.shape[0] - 1)
    rank = len(shape_of(m, made))
    one = array(m, get_array(m, made, (*[ALL] * axis, first)))
    still = Array(m.now, m.now.emit(stop_gradient, one.value)) if one.type.is_float or one.type.is_complex else one
    spare = still.reshape((*one.shape[:axis], 1, *one.shape[axis:]))
    values = call(m, np.where, [spread_mask(m, mask, axis, rank), made, wrap(m, spare)], {})
    return Selection(array(m, values), Array(m.now, m.value(mask)), axis, places)


def places_of(m: Machine, x: Any) -> tuple[Selection, ...]:
    """np.nonzero of an array, or of what is selected of one."""
    if isinstance(x, Selection):
        if x.rank != 1:
            refuse(m, "np.nonzero")
        kept = _narrowed(m, x, _truths(m, x))
        number = binary(m, operator.sub, call(m, np.cumsum, [wrap(m, x.mask)], {}), 1)
        return (Selection(array(m, number), kept.mask, 0),)
    mask = array(m, _truths(m, x))
    shape = mask.shape
    flat = mask.reshape(-1)
    rows = [row.reshape(-1) for row in np.indices(shape)]
    return tuple([selection(m, m.adopt(row), flat, 0, len(shape) == 1) for row in rows])


def _truths(m: Machine, x: Any) -> Any:
    values = whole(m, x)
    return values if array(m, values).type.dtype == "bool" else call(m, np.not_equal, [values, 0], {})


# ---- read


def get_selected(m: Machine, x: Selection, key: Any) -> Any:
    """y[key]: an element, rows of a smaller mask, or a basic index into the other axes."""
    key = key if isinstance(key, tuple) else (key,)
    if x.axis == 0 and key and isinstance(key[0], Selection):
        kept = _kept(m, x, key[0])
        return kept if len(key) == 1 else get_selected(m, kept, (ALL, *key[1:]))
    if x.axis == 0 and key and _is_place(key[0]):
        return get_array(m, wrap(m, x.values), (_compact(m, x, key[0]), *key[1:]))
    if any(not (k is None or k is Ellipsis or isinstance(k, slice) or _is_place(k)) for k in key):
        refuse(m, "an index")
    used = sum(k is not None and k is not Ellipsis for k in key)
    dots = next((k for k, e in enumerate(key) if e is Ellipsis), len(key))
    key = (*key[:dots], *[ALL] * (x.rank - used), *key[dots + 1 :])
    along = [k for k, e in enumerate(key) if e is not None][x.axis]
    if not isinstance(key[along], slice) or key[along] != ALL:
        refuse(m, "a slice")
    axis = sum(e is None or isinstance(e, slice) for e in key[:along])
    return Selection(array(m, get_array(m, wrap(m, x.values), key)), x.mask, axis, x.places and len(key) == 1, x.view)


def _kept(m: Machine, x: Selection, key: Selection) -> Selection:
    """Rows at a mask, or at places among the rows."""
    if key.rank != 1:
        refuse(m, "an index of several axes")
    if key.values.type.dtype == "bool":
        if not same_mask(m, x, key):
            refuse(m, "a mask of other elements")
        return _narrowed(m, x, wrap(m, key.values))
    at = _compact(m, x, whole(m, key))
    return Selection(array(m, get_array(m, wrap(m, x.values), at)), key.mask, 0, False)


def _narrowed(m: Machine, x: Selection, keep: Any) -> Selection:
    both = array(m, call(m, np.logical_and, [wrap(m, x.mask), keep], {}))
    return selection(m, wrap(m, x.values), both, x.axis, x.places)


def _compact(m: Machine, x: Selection, k: Any) -> Any:
    """Where the k-th of the selected elements is, or each of several."""
    n = count_of(m, x.mask)
    k = binary(m, operator.add, k, n) if isinstance(k, int) and k < 0 else k
    if isinstance(k, int):
        some_left = binary(m, operator.gt, n, k)
    else:
        if not isinstance(k, Array) or not k.weak:
            k = call(m, np.where, [binary(m, operator.lt, k, 0), binary(m, operator.add, k, n), k], {})
        inside = [binary(m, operator.ge, k, 0), binary(m, operator.lt, k, n)]
        some_left = call(m, np.all, [call(m, np.logical_and, inside, {})], {})
    m.require(array(m, some_left), IndexError, "an index is out of bounds for what a mask selects")
    ends = call(m, np.cumsum, [wrap(m, x.mask)], {})
    at = call(m, np.searchsorted, [ends, binary(m, operator.add, k, 1)], {})
    return call(m, np.minimum, [at, x.mask.shape[0] - 1], {})


def at_selected(m: Machine, ref: Ref, key: tuple[Any, ...]) -> Selection:
    """a[key] with selected places along one axis, among slices and numbers."""
    at, place, axis = _place_in(m, key)
    if place.places and place.mask.shape[0] == shape_of(m, ref)[at]:
        made = get_array(m, ref, (*key[:at], ALL, *key[at + 1 :]))
        return selection(m, made, place.mask, axis)
    made = get_array(m, ref, (*key[:at], wrap(m, place.values), *key[at + 1 :]))
    return Selection(array(m, made), place.mask, axis)


def _place_in(m: Machine, key: tuple[Any, ...]) -> tuple[int, Selection, int]:
    """Where in a key selected places are, these, and the axis of what they give."""
    found = [k for k, e in enumerate(key) if isinstance(e, Selection)]
    at = found[0]
    place = key[at]
    rest = [(k, e) for k, e in enumerate(key) if k != at]
    advanced = [at, *[k for k, e in rest if not isinstance(e, slice)]]
    basic = all(isinstance(e, slice) or _is_place(e) for _, e in rest)
    together = max(advanced) - min(advanced) + 1 == len(advanced)
    if len(found) > 1 or place.rank != 1 or place.values.type.dtype not in ("i64", "i32") or not basic or not together:
        refuse(m, "an index")
    return at, place, sum(isinstance(e, slice) for e in key[:at])


# ---- stored


def store_selected(m: Machine, ref: Ref, key: tuple[Any, ...], v: Any) -> bool:
    """a[key] = v with a traced mask or selected places in the key; whether it is one of these."""
    if any(isinstance(k, Selection) for k in key):
        at, place, axis = _place_in(m, key)
        if not place.places or place.mask.shape[0] != shape_of(m, ref)[at]:
            _scattered(m, ref, key, place, v)
            return True
        mask, basic = place.mask, (*key[:at], ALL, *key[at + 1 :])
    else:
        found = None if m.freezing else _around(m, ref, key)
        if found is None:
            return False
        mask, basic, axis = found
    put_masked(m, ref, basic, (mask, axis), v)
    return True


def put_masked(m: Machine, ref: Ref, basic: Any, where: tuple[Array, int], v: Any, ufunc: bool = False) -> None:
    """a[basic] = v for the elements where a mask holds, which begins at an axis; with `ufunc` as operators cast."""
    old, (mask, axis) = get_array(m, ref, basic), where
    rank = len(shape_of(m, old))
    if isinstance(v, Selection):
        v = _over(m, v, mask, shape_of(m, old), axis)
    elif _is_wider(m, v, rank - axis - mask.type.rank):
        m.refuse("a[mask] = array: how many elements there are depends on traced values", "use np.where(mask, b, a)")
    shape = (*[1] * axis, *mask.shape, *[1] * (rank - axis - mask.type.rank))
    wide = wrap(m, Array(m.now, m.value(mask)).reshape(shape))
    kept = v if ufunc else call(m, np.asarray, [v], {"dtype": array(m, old).dtype})
    set_array(m, ref, basic, call(m, np.where, [wide, kept, old], {}), True)


def _is_wider(m: Machine, v: Any, rank: int) -> bool:
    """Whether a value that is stored has an axis, not of size one, before the last ones."""
    if isinstance(v, (tuple, Ref)) and not is_array(v):
        return True
    shape = shape_of(m, v) if isinstance(v, Ref) else () if isinstance(v, Array) else np.shape(v)
    return any(n != 1 for n in shape[: max(len(shape) - rank, 0)])


def _over(m: Machine, v: Selection, mask: Array, shape: tuple[int, ...], axis: int) -> Any:
    """Selected values in the shape of the array whose elements they replace."""
    flat = Array(m.now, m.value(mask)).reshape(-1) if mask.type.rank > 1 else mask
    if not same_mask(m, v, flat) or v.from_end != len(shape) - axis - mask.type.rank + 1:
        refuse(m, "a store")
    sizes = v.values.shape
    return wrap(m, v.values.reshape((*sizes[: v.axis], *mask.shape, *sizes[v.axis + 1 :])))


def _scattered(m: Machine, ref: Ref, key: tuple[Any, ...], place: Selection, v: Any) -> None:
    """One element after the other; what is not selected goes to a row more, which is dropped."""
    n, *rest = shape_of(m, ref)
    matched = v.axis == 0 and same_mask(m, v, place) if isinstance(v, Selection) else not _is_wider(m, v, 0)
    if len(key) > 1 or not matched:
        refuse(m, "a store")
    at = filled(m, place, 0)
    inside = call(m, np.logical_and, [binary(m, operator.ge, at, -n), binary(m, operator.lt, at, n)], {})
    m.require(array(m, call(m, np.all, [inside], {})), IndexError, f"an index is out of bounds for size {n}")
    at = call(m, np.where, [binary(m, operator.lt, at, 0), binary(m, operator.add, at, n), at], {})
    at = call(m, np.where, [wrap(m, place.mask), at, n], {})
    wide = call(m, np.concatenate, [(ref, get_array(m, ref, slice(0, 1)))], {})
    rows = call(m, np.broadcast_to, [whole(m, v), (place.mask.shape[0], *rest)], {})
    call(m, prelude.put_at, [wide, at, rows], {})
    set_array(m, ref, Ellipsis, get_array(m, wide, slice(0, n)))


SELECTING[0], SELECTING[1] = select, at_selected

__all__ = [
    "array", "count_of", "filled", "get_selected", "places_of", "put_masked", "refuse", "same_mask",
    "some", "store_selected", "whole",
]  # fmt: skip
