"""What index tensors name, in graphs: elements that are looked up, added to or replaced.

The axes that are indexed become one, along which a place is the number that the indices spell:

    x[:, i, j]  of  x: f32[2,3,4]      rows (4 i + j) of f32[2,12] along its axis 1

Where they lie apart they come first, as in NumPy.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .....compiler.ir.types import Type
from .....compiler.ops.index import scatter_add
from .....compiler.ops.index import take as take_rows
from .....compiler.ops.shape import reshape, transpose
from ...trace.fragments.fragments import Operation, widen
from ...value.promotion import common_shape
from ..folds.reductions import converted
from ..matrices.outside import computed, outside


def _order(rank: int, axes: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The axes with those that are indexed together, and where these begin."""
    adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    at = axes[0] if adjacent else 0
    rest = [a for a in range(rank) if a not in axes]
    return (*rest[:at], *axes, *rest[at:]), at


def _split(m: Any, value: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """What `_merged` made one as it was."""
    order, _ = _order(len(shape), axes)
    made = reshape(m.b, value.value, shape=tuple([shape[a] for a in order]))
    if order == tuple(range(len(shape))):
        return m(made)
    return m(transpose(m.b, made, axes=tuple([order.index(a) for a in range(len(shape))])))


def _merged(m: Any, x: Any, indices: Any, axes: tuple[int, ...]) -> tuple[Any, Any, int]:
    """x with its indexed axes made into one, the indices along it, and where it is."""
    b, shape = m.b, x.value.type.static_shape()
    order, at = _order(len(shape), axes)
    rest = [a for a in range(len(shape)) if a not in axes]
    value = x.value if order == tuple(range(len(shape))) else transpose(b, x.value, axes=order)
    lead, tail = [shape[a] for a in rest[:at]], [shape[a] for a in rest[at:]]
    value = reshape(b, value, shape=(*lead, prod(shape[a] for a in axes), *tail))
    wide = common_shape([i.value.type.static_shape() for i in indices])
    place = None
    for index, axis in zip(indices, axes, strict=True):
        index = m(widen(b, index.value, wide))
        place = index if place is None else place * shape[axis] + index
    return m(value), place, at


def elements(m: Any, x: Any, indices: Any, axes: tuple[int, ...]) -> Any:
    """What indices that are counted from the start name."""
    value, place, at = _merged(m, x, indices, axes)
    return m(take_rows(m.b, value.value, place.value, axis=at))


def gathered(m: Any, x: Any, *rest: Any) -> Any:
    *indices, axes = rest
    return elements(m, x, from_start(m, x, indices, axes), axes)


def from_start(m: Any, x: Any, indices: Any, axes: tuple[int, ...]) -> list[Any]:
    """The indices as int64, counted from the start."""
    made = []
    for index, axis in zip(indices, axes, strict=True):
        index = converted(m, index, "i64")
        made.append(m.select(m.lt(index, 0), index + x.value.type.static_shape()[axis], index))
    return made



def added(m: Any, x: Any, values: Any, *rest: Any) -> Any:
    """x + the transpose of gathering, of values."""
    *indices, axes = rest
    return added_at(m, x, values, from_start(m, x, indices, axes), axes)


def added_at(m: Any, x: Any, values: Any, indices: Any, axes: tuple[int, ...]) -> Any:
    """x with values added where indices that are counted from the start say; True + True is True."""
    if x.value.type.dtype == "bool":
        return m.ne(added_at(m, converted(m, x, "i64"), converted(m, values, "i64"), indices, axes), 0)
    value, place, at = _merged(m, x, indices, axes)
    value = m(scatter_add(m.b, value.value, place.value, values.value, axis=at))
    return _split(m, value, x.value.type.static_shape(), axes)


def placed(m: Any, x: Any, source: Any, values: Any) -> Any:
    """x, except where `source` is not negative: there the element of `values` it names."""
    hit = m.ge(source, 0)
    flat = reshape(m.b, values.value, shape=(values.value.type.size,))
    rows = take_rows(m.b, flat, m.select(hit, source, 0).value, axis=0)
    return m.select(hit, m(rows), x)


def _writers(m: Any, *terms: Any) -> Any:
    """For each place of a whole of this shape the number of the element that is written there last, or -1.

    indices   of these axes, as in NumPy; or one for each element along one axis, where `axes` is an int
    """
    *indices, shape, axes = terms
    return outside(m, "writers", indices, [Type("i64", shape)], shape, axes)[0]


def _last(*given: Any) -> np.ndarray:
    *arrays, shape, axes = given
    along = isinstance(axes, int)
    key: list[Any] = list(np.indices(arrays[0].shape, sparse=True)) if along else [slice(None)] * len(shape)
    for axis, index in zip((axes,) if along else axes, arrays, strict=True):
        key[axis] = index
    found = np.full(shape, -1, np.int64)
    target = found[tuple(key)].shape
    found[tuple(key)] = np.arange(prod(target)).reshape(target)
    return found


computed("writers", _last)


WRITERS = Operation("writers", "", _writers)
