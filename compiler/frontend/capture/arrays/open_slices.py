"""Slices that end or begin at a traced number into what a mask selects: x[:i], A[i, i + 1:] = y in a loop over i.

    np.sum(L[i, :j] * L[k, :j])    a sum of whole rows under the mask of places below j
    A[r, k:] -= f * A[k, k:]       a choice in a whole row between what it was and what is stored
    A[k + 1:, k:] -= ...           one in the whole matrix, under masks of rows and of columns
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....ir.types import Type
from ....ops.custom import stop_gradient
from ....ops.source import iota
from ...array import Array
from .. import numbers
from ..calls import call
from ..containers.tables import Table
from ..machine import VIEWED, Machine
from ..selections.crossed import put_crossed, rewrapped
from ..selections.selected import Selection
from ..selections.selecting import array, put_masked, spread_mask
from ..values import Ref
from .access import ALL, SELECTING, get_array, shape_of, wrap
from .parts import is_open


def open_slice(m: Machine, ref: Ref, key: tuple[Any, ...]) -> Selection | None:
    """a[key] where slices of whole numbers have a length that only the call knows; None for other keys."""
    found = _around(m, ref, key)
    if found is None:
        return None
    basic, slices = found
    made, masks = get_array(m, ref, basic), dict[int, Array]()
    rank = len(shape_of(m, made))
    for mask, axis, part, size in slices:
        first: Any = 0
        if part.start is not None and not _is(part.start, 0):
            first = numbers.binary(m, operator.sub, part.start, numbers.binary(m, operator.eq, part.start, size))
            m.ranges.note(first, 0, size - 1) if isinstance(first, Array) else None
        made, masks[rank - axis] = _selected(m, made, mask, axis, first), Array(m.now, m.value(mask))
    return rewrapped(m, made, masks).as_view()


def store_open(m: Machine, ref: Ref, key: tuple[Any, ...], v: Any, ufunc: bool) -> bool:
    """a[key] = v with such slices; whether the key is one."""
    found = _around(m, ref, key)
    if found is None:
        return False
    basic, slices = found
    where = [(mask, axis) for mask, axis, *_ in slices]
    if len(where) == 1:
        put_masked(m, ref, basic, where[0], v, ufunc)
    else:
        put_crossed(m, ref, basic, where, v, ufunc)
    return True


def _around(
    m: Machine, ref: Ref, key: tuple[Any, ...]
) -> tuple[tuple[Any, ...], list[tuple[Array, int, slice, int]]] | None:
    """The key with whole axes; for each slice the mask, the axis of what the key gives, itself, and the axis's size."""
    sizes = shape_of(m, ref)
    at = [k for k, e in enumerate(key) if isinstance(e, slice) and is_open(m, e)]
    if len(key) > len(sizes) or not all(isinstance(n, int) for n in sizes):
        return None
    if any(e is None or e is Ellipsis for e in key) or not all(sizes[k] for k in at):
        return None
    ends = [[(e, d) for e, d in ((key[k].start, 0), (key[k].stop, sizes[k])) if e is not None and not _is(e, d)]
            for k in at]  # fmt: skip
    if not all(m.ranges.inside(e, 0, sizes[k] + 1) for k, each in zip(at, ends, strict=True) for e, _ in each):
        return None  # it may count from the end
    slices = [(_mask(m, sizes[k], each), sum(isinstance(e, slice) for e in key[:k]), key[k], sizes[k])
              for k, each in zip(at, ends, strict=True)]  # fmt: skip
    return tuple([ALL if k in at else e for k, e in enumerate(key)]), slices


def _mask(m: Machine, size: int, bounds: list[tuple[Any, int]]) -> Array:
    """The places of an axis within bounds, of which those above are marked by a number that is not zero."""
    place, tests = wrap(m, Array(m.now, m.now.emit(iota, type=Type("i64", (size,)), axis=0))), []
    for e, d in bounds:
        tests.append(call(m, np.less if d else np.greater_equal, [place, e], {}))
    return array(m, tests[0] if len(tests) == 1 else call(m, np.logical_and, tests, {}))


def _is(e: Any, number: int) -> bool:
    return not isinstance(e, Array) and e == number


def _selected(m: Machine, made: Any, mask: Array, axis: int, first: Any) -> Any:
    """The elements where the mask holds; the others become the first of these."""
    m.selects = True
    one = array(m, get_array(m, made, (*[ALL] * axis, first)))
    still = Array(m.now, m.now.emit(stop_gradient, one.value)) if one.type.is_float or one.type.is_complex else one
    spare = still.reshape((*one.shape[:axis], 1, *one.shape[axis:]))
    rank = len(shape_of(m, made))
    return call(m, np.where, [spread_mask(m, mask, axis, rank), made, wrap(m, spare)], {})


def are_seen(m: Machine) -> bool:
    """Whether a name or a container has such a slice: a view, of which a store would have to be seen."""
    contents = [v.values if isinstance(v, Table) else v for v in m.heap.values() if isinstance(v, (tuple, list, Table))]
    named = (v for frame in {*m.frames, *m.kept} for v in frame.vars.values())
    return any(isinstance(v, Selection) and v.view for v in (*named, *(i for each in contents for i in each)))


def refuse_aliases(m: Machine, x: Any) -> None:
    """An in-place operator gives a name a new selection: no other name or container may see it."""
    if not isinstance(x, Selection):
        return
    if x.view:
        m.refuse("an in-place operator on a slice of which values tell the length", "write a[i:j] += y")
    names = sum(v is x for frame in {*m.frames, *m.kept} for v in frame.vars.values())
    contents = [v.values if isinstance(v, Table) else v for v in m.heap.values()
                if isinstance(v, (tuple, list, Table))]
    if names > 1 or any(i is x for v in contents for i in v):
        m.refuse("an in-place operator on what a mask selects, which other names may see", "write x = x + y")


SELECTING[2], SELECTING[3] = open_slice, store_open
VIEWED[0] = are_seen

__all__ = ["are_seen", "open_slice", "refuse_aliases", "store_open"]
