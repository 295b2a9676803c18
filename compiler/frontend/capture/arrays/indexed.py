"""Stores at arrays of indices and masks: a[i] = v and np.add.at(a, i, v), one element after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Array
from .. import prelude
from ..calls import call, lower, meaning_of
from ..machine import Machine
from ..selections.selected import Selection
from ..selections.selecting import store_selected
from ..values import Ref, is_array, is_list, is_scalar
from .access import ADVANCED, dtype_of, fitted, get_array, read, set_array, shape_of, stacked, wrap


def advanced_store(m: Machine, ref: Ref, key: Any, v: Any) -> None:
    """a[mask] = v as a choice, a[indices] = v element by element, in order."""
    key = tuple([_as_array(m, k) for k in key])
    if m.freezing:
        key = tuple([_frozen_mask(m, k) for k in key])
    if store_selected(m, ref, key, v):
        return
    low = [lower(m, k) for k in key]
    if len(key) == 1 and getattr(low[0], "dtype", None) == np.dtype(bool) and low[0].ndim > 0:
        if not isinstance(low[0], Array) and is_array(v):
            key = low[0].nonzero()
        else:
            wide = low[0].reshape(low[0].shape + (1,) * (len(shape_of(m, ref)) - low[0].ndim))
            set_array(m, ref, Ellipsis, call(m, np.where, [wrap(m, wide), v, ref], {}))
            return
    scatter(m, ref, key if len(key) > 1 else key[0], v, prelude.put_at)


def _as_array(m: Machine, key: Any) -> Any:
    """A part of a key; a list of it that has traced numbers as an array."""
    if not is_list(key) and not isinstance(key, tuple):
        return key
    held = m.content(key.box) if isinstance(key, Ref) else key
    made = stacked(m, held)
    return m.new("array", made if isinstance(made, Array) or held else np.zeros(np.shape(made), np.int64))


def _frozen_mask(m: Machine, key: Any) -> Any:
    """A part of a key; a mask with the truth values of one call."""
    held = read(m, key) if is_array(key) else None
    if not isinstance(held, Array) or held.type.dtype != "bool":
        return key
    return m.adopt(np.asarray(Array(m.now, m.value(held))))


def is_mask(m: Machine, key: Any) -> bool:
    """Whether a key is a traced mask, and the walk is for all calls."""
    if not is_array(key) or m.freezing:
        return False
    held = read(m, key)
    return isinstance(held, Array) and held.type.dtype == "bool"


def change_where(m: Machine, ref: Ref, mask: Ref, value: Any, change: Callable[[Any], Any]) -> None:
    """a[mask] op= value: the operation everywhere, stored where the mask holds."""
    if isinstance(value, Selection):
        set_array(m, ref, mask, change(get_array(m, ref, mask)), True)
        return
    made = change(ref)
    if not is_array(made) or shape_of(m, made) != shape_of(m, ref) or shape_of(m, mask) != shape_of(m, ref):
        m.refuse("a[mask] op= value with a mask or value of another shape", "use np.where(mask, b, a)")
    set_array(m, ref, Ellipsis, call(m, np.where, [mask, made, ref], {}), True)


def scatter(m: Machine, ref: Ref, key: Any, v: Any, walked: Any) -> None:
    """Stores at arrays of indices, one after the other: of rows where these are along the first axes."""
    keys = tuple([_as_array(m, k) for k in (key if isinstance(key, tuple) else (key,))])
    low = [lower(m, k) for k in keys]
    if len(keys) > 2 or not all(map(_is_index, low)):
        _scattered(m, ref, keys, v, walked)
        return
    shapes: list[Any] = [k.shape if isinstance(k, Array) else np.shape(k) for k in low]
    shape: tuple[int, ...] = np.broadcast_shapes(*shapes)
    flat = [_flat(m, k, shape) for k in keys]
    rest = shape_of(m, ref)[len(keys) :]
    value = _spread(m, v, (*shape, *rest), (int(np.prod(shape)), *rest))
    call(m, walked, [ref, flat[0] if len(flat) == 1 else tuple(flat), value], {})


def _is_index(k: Any) -> bool:
    """Whether a part of a key is a number or an array of indices."""
    if k is None or k is Ellipsis or isinstance(k, slice):
        return False
    return (k.dtype if isinstance(k, Array) else np.asarray(k).dtype).kind in "iu"


def _scattered(m: Machine, ref: Ref, keys: tuple[Any, ...], v: Any, walked: Any) -> None:
    """Stores at any mixture of arrays, masks, slices and numbers: at the places that it has in the array made flat."""
    sizes, dtype = shape_of(m, ref), dtype_of(m, ref)
    places = get_array(m, wrap(m, np.arange(int(np.prod(sizes))).reshape(sizes)), keys)
    shape = shape_of(m, places) if isinstance(places, Ref) else ()
    value = wrap(m, fitted(m, v, dtype, shape, walked is not prelude.put_at))
    count = (int(np.prod(shape)),)
    if not count[0]:
        return
    flat = call(m, np.reshape, [call(m, np.copy, [ref], {}), (int(np.prod(sizes)),)], {})
    call(m, walked, [flat, *(call(m, np.reshape, [each, count], {}) for each in (places, value))], {})
    set_array(m, ref, Ellipsis, call(m, np.reshape, [flat, sizes], {}))


def _flat(m: Machine, k: Any, shape: tuple[int, ...]) -> Any:
    wide = call(m, np.broadcast_to, [call(m, np.asarray, [k], {}), shape], {})
    return call(m, np.reshape, [wide, (int(np.prod(shape)),)], {})


def _spread(m: Machine, v: Any, shape: tuple[int, ...], to: tuple[int, ...]) -> Any:
    if is_scalar(v):
        made = call(m, np.multiply, [v, m.adopt(np.ones(1, v.dtype))], {})
    else:
        made = call(m, np.asarray, [v], {})
    wide = call(m, np.broadcast_to, [made, shape or (1,)], {})  # a number that is stored is an array of one
    return call(m, np.copy, [call(m, np.reshape, [wide, to], {})], {})


def _at(m: Machine, a: Any, indices: Any, v: Any = None, *, ufunc: np.ufunc, walked: Any) -> None:
    """What changes the elements of an array of this function at indices, of which some may stand twice."""
    if not is_array(a):
        m.refuse(f"np.{ufunc.__name__}.at of what is no array", "make it an array: np.asarray(a)")
    if (v is None) != (ufunc.nin == 1):
        m.fail(ValueError("second operand needed for ufunc" if v is None else "second operand given for unary ufunc"))
    scatter(m, a, indices, 0 if v is None else v, walked)


for _ufunc in list(vars(np).values()):  # not by getattr, which imports modules that NumPy loads lazily
    if isinstance(_ufunc, np.ufunc) and _ufunc.nout == 1 and _ufunc.signature is None:
        _walked = functools.partial(prelude.change_at if _ufunc.nin == 2 else prelude.turn_at, _ufunc)
        _walked = {np.add: prelude.add_at, np.subtract: prelude.subtract_at}.get(_ufunc, _walked)
        meaning_of(_ufunc.at)(functools.partial(_at, ufunc=_ufunc, walked=_walked))
ADVANCED[0] = advanced_store

__all__ = ["change_where", "is_mask", "scatter"]
