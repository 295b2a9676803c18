"""Selections along several axes: what a product of two gives, and what stores them, under the masks of all axes.

    np.outer(A[k + 1:, k], A[k, k:])              a whole matrix, masks of rows and of columns
    A[k + 1:, k:] -= ...                          a choice under both in the whole matrix
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Array
from ..arrays.access import ALL, get_array, set_array, shape_of
from ..calls import call
from ..machine import Machine
from ..values import Ref, is_array
from .selected import Crossed, Selection
from .selecting import array, filled, get_selected, refuse, same_mask, spread_mask, whole


def rewrapped(m: Machine, made: Any, masks: dict[int, Array]) -> Any:
    """What is made of whole arrays, under masks by their axes from the end."""
    values = array(m, made)
    if len(masks) > 1:
        return Crossed(values, masks)
    for end, mask in masks.items():
        return Selection(values, mask, values.type.rank - end)
    return made


def each(m: Machine, act: Callable[..., Any], given: list[Any]) -> Any:
    """A function of elements: the same on the whole arrays, whose selected axes stand in line."""
    masks: dict[int, Array] = {}
    for x in given:
        for end, mask in x.masks.items() if isinstance(x, Selection) else ():
            if not same_mask(m, masks.setdefault(end, mask), mask):
                refuse(m, "an operation of other elements")
    for x in given:
        if isinstance(x, tuple) or (isinstance(x, Ref) and not is_array(x)):
            refuse(m, "a list")
        if not _in_line(_shape(m, x), masks, x):
            refuse(m, "an operation of an array of another size")
    made = act(*[whole(m, x) for x in given])
    return tuple([rewrapped(m, x, masks) for x in made]) if isinstance(made, tuple) else rewrapped(m, made, masks)


def _shape(m: Machine, x: Any) -> tuple[int, ...]:
    if isinstance(x, (type, str, np.dtype)) or x is None or isinstance(x, Array):
        return ()
    return x.values.shape if isinstance(x, Selection) else shape_of(m, x) if is_array(x) else np.shape(x)


def _in_line(shape: tuple[int, ...], masks: dict[int, Array], x: Any) -> bool:
    """Whether along each masked axis an argument is masked, too, or has one element."""
    own = x.masks if isinstance(x, Selection) else {}
    return all(end in own or len(shape) < end or shape[-end] == 1 for end in masks)


def outer(m: Machine, a: Any, b: Any) -> Any:
    """np.outer of vectors."""
    columns = []
    for x, key in ((a, (ALL, None)), (b, (None, ALL))):
        if len(_shape(m, x)) != 1 or not (isinstance(x, Selection) or is_array(x)):
            return refuse(m, "np.outer")
        columns.append(get_selected(m, x, key) if isinstance(x, Selection) else get_array(m, x, key))
    return each(m, lambda x, y: call(m, np.multiply, [x, y], {}), columns)


def product(m: Machine, function: Any, a: Any, b: Any) -> Any:
    """a @ b of vectors and matrices: zeros where what is summed over is not selected."""
    ranks = [len(_shape(m, x)) for x in (a, b)]
    if not all(0 < rank <= 2 for rank in ranks):
        return refuse(m, function.__name__)
    one, two = (dict(x.masks) if isinstance(x, Selection) else {} for x in (a, b))
    rows, columns = one.pop(1, None), two.pop(ranks[1], None)
    if rows is None or columns is None:
        if rows is not columns:
            return refuse(m, function.__name__)
        x, y = whole(m, a), whole(m, b)
    elif same_mask(m, rows, columns):
        x, y = filled(m, a, 0, {1}), filled(m, b, 0, {ranks[1]})
    else:
        return refuse(m, function.__name__)
    masks = ({ranks[1]: one[2]} if 2 in one else {}) | two
    return rewrapped(m, call(m, function, [x, y], {}), masks)


def reduced(m: Machine, function: Any, x: Crossed, axes: tuple[int, ...], kwargs: dict[str, Any], fill: Any) -> Any:
    """A fold for which the fill is the unit, along some axes."""
    over = {x.rank - axis for axis in axes}
    made = call(m, function, [filled(m, x, fill, over)], {**kwargs, "axis": axes})
    lost = 0 if kwargs.get("keepdims") else 1
    masks = {end - lost * sum(other < end for other in over): k for end, k in x.masks.items() if end not in over}
    return rewrapped(m, made, masks)


def put_crossed(m: Machine, ref: Ref, basic: Any, where: list[tuple[Array, int]], v: Any, ufunc: bool) -> None:
    """a[basic] = v for the elements where the masks of several axes hold; with `ufunc` as operators cast."""
    old = get_array(m, ref, basic)
    rank = len(shape_of(m, old))
    masks = {rank - axis: mask for mask, axis in where}
    own = v.masks if isinstance(v, Selection) else {}
    fits = all(end in masks and same_mask(m, mask, masks[end]) for end, mask in own.items())
    is_list = isinstance(v, (tuple, Ref)) and not is_array(v)
    if is_list or not fits or len(_shape(m, v)) > rank or not _in_line(_shape(m, v), masks, v):
        refuse(m, "a store")
    kept = whole(m, v) if ufunc else call(m, np.asarray, [whole(m, v)], {"dtype": array(m, old).dtype})
    tests = [spread_mask(m, mask, axis, rank) for mask, axis in where]
    wide = tests[0]
    for test in tests[1:]:
        wide = call(m, np.logical_and, [wide, test], {})
    set_array(m, ref, basic, call(m, np.where, [wide, kept, old], {}), True)


__all__ = ["each", "outer", "product", "put_crossed", "reduced", "rewrapped"]
