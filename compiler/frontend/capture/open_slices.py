"""Slices that end or begin at a traced number into what a mask selects: x[:i], A[i, i + 1:] = y in a loop over i.

    np.sum(L[i, :j] * L[k, :j])    a sum of whole rows under the mask of places below j
    A[r, k:] -= f * A[k, k:]       a choice in a whole row between what it was and what is stored
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...ir.types import Type
from ...ops.custom import stop_gradient
from ...ops.source import iota
from ..array import Array
from . import numbers
from .arrays import ALL, SELECTING, get_array, shape_of, wrap
from .calls import call
from .machine import VIEWED, Machine
from .parts import is_open
from .selecting import array, put_masked, spread_mask
from .selections import Selection
from .tables import Table
from .values import Ref


def open_slice(m: Machine, ref: Ref, key: tuple[Any, ...]) -> Selection | None:
    """a[key] where one slice of whole numbers has a length that only the call knows; None for other keys."""
    found = _around(m, ref, key)
    if found is None:
        return None
    basic, axis, mask, part, size = found
    first: Any = 0
    if part.start is not None and not _is(part.start, 0):
        first = numbers.binary(m, operator.sub, part.start, numbers.binary(m, operator.eq, part.start, size))
        m.ranges.note(first, 0, size - 1) if isinstance(first, Array) else None
    return _selected(m, get_array(m, ref, basic), mask, axis, first)


def store_open(m: Machine, ref: Ref, key: tuple[Any, ...], v: Any, ufunc: bool) -> bool:
    """a[key] = v with such a slice; whether the key is one."""
    found = _around(m, ref, key)
    if found is None:
        return False
    basic, axis, mask, *_ = found
    put_masked(m, ref, basic, (mask, axis), v, ufunc)
    return True


def _around(m: Machine, ref: Ref, key: tuple[Any, ...]) -> tuple[tuple[Any, ...], int, Array, slice, int] | None:
    """The key with the whole axis, the axis of what it gives, the mask, the slice, and the size of the axis."""
    sizes = shape_of(m, ref)
    at = [k for k, e in enumerate(key) if isinstance(e, slice) and is_open(m, e)]
    if len(at) != 1 or len(key) > len(sizes) or not all(isinstance(n, int) for n in sizes):
        return None
    if any(e is None or e is Ellipsis for e in key) or not sizes[at[0]]:
        return None
    size, part = sizes[at[0]], key[at[0]]
    bounds = [(e, d) for e, d in ((part.start, 0), (part.stop, size)) if e is not None and not _is(e, d)]
    if not all(m.ranges.inside(e, 0, size + 1) for e, _ in bounds):
        return None  # it may count from the end
    axis = sum(isinstance(e, slice) for e in key[: at[0]])
    place, tests = wrap(m, Array(m.now, m.now.emit(iota, type=Type("i64", (size,)), axis=0))), []
    for e, d in bounds:
        tests.append(call(m, np.less if d else np.greater_equal, [place, e], {}))
    mask = tests[0] if len(tests) == 1 else call(m, np.logical_and, tests, {})
    return (*key[: at[0]], ALL, *key[at[0] + 1 :]), axis, array(m, mask), part, size


def _is(e: Any, number: int) -> bool:
    return not isinstance(e, Array) and e == number


def _selected(m: Machine, made: Any, mask: Array, axis: int, first: Any) -> Selection:
    """The elements where the mask holds; the others become the first of these."""
    m.selects = True
    one = array(m, get_array(m, made, (*[ALL] * axis, first)))
    still = Array(m.now, m.now.emit(stop_gradient, one.value)) if one.type.is_float or one.type.is_complex else one
    spare = still.reshape((*one.shape[:axis], 1, *one.shape[axis:]))
    rank = len(shape_of(m, made))
    values = call(m, np.where, [spread_mask(m, mask, axis, rank), made, wrap(m, spare)], {})
    return Selection(array(m, values), Array(m.now, m.value(mask)), axis, view=True)


def are_seen(m: Machine) -> bool:
    """Whether a name or a container has such a slice: a view, of which a store would have to be seen."""
    contents = [v.values if isinstance(v, Table) else v for v in m.heap.values() if isinstance(v, (tuple, list, Table))]
    named = (v for frame in {*m.frames, *m.kept} for v in frame.vars.values())
    return any(isinstance(v, Selection) and v.view for v in (*named, *(i for each in contents for i in each)))


SELECTING[2], SELECTING[3] = open_slice, store_open
VIEWED[0] = are_seen

__all__ = ["are_seen", "open_slice", "store_open"]
