"""Where values belong, which values there are and where they are not zero."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np

from .....compiler.ir.types import Type
from .....compiler.ops.ordering import search
from ...face.required import check_tensors
from ...reverse.nodes import UNKNOWN
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply
from ...value.dtypes import ALL
from ...value.promotion import c_name
from ..arranging.creation import constant, tensor
from ..arranging.elements import gathered
from ..arranging.gathering import INDEX_SELECT
from ..arranging.shapes import shape_of
from ..elementwise.arithmetic import ne
from ..elementwise.arithmetic import where as chosen
from ..matrices.outside import computed, outside

# ---- where values belong


def _places(m: Any, edges: Any, values: Any, *rest: Any) -> Any:
    *sorters, side, dtype = rest
    shape = values.value.type.static_shape()
    return outside(m, "searchsorted", (edges, values, *sorters), [Type(dtype, shape)], side)[0]


def _searched(rows: np.ndarray, wanted: np.ndarray, *rest: Any) -> np.ndarray:
    *order, side = rest
    if order:
        rows = np.take_along_axis(rows, order[0], -1)
    return search(rows, wanted, side)


computed("searchsorted", _searched)


SEARCH = Operation("searchsorted", "", _places, "own")


def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where in each row of a sorted sequence a value belongs: before those that equal it, or behind (`right`)."""
    values: Any = input if isinstance(input, Core) else tensor(input)
    _check_search(sorted_sequence, values, right, side, sorter)
    chosen = side or ("right" if right else "left")
    sorters = () if sorter is None else (sorter,)
    return apply(SEARCH, (sorted_sequence, values, *sorters), (chosen, "i32" if out_int32 else "i64"))


def _check_search(edges: Core, values: Core, right: bool, side: str | None, sorter: Core | None) -> None:
    a, b = shape_of(edges), shape_of(values)
    if len(a) != 1 and (len(b) == 0 or a[:-1] != b[:-1]):
        raise RuntimeError(
            "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input"
            f" value tensor must match, but we got boundaries tensor {list(a)} and input value tensor {list(b)}"
        )
    if side not in (None, "left", "right"):
        raise RuntimeError(f"side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError("side and right can't be set to opposites, got side of left while right was True")
    if sorter is None:
        return
    if shape_of(sorter) != a:
        have = list(shape_of(sorter))
        raise RuntimeError(f"boundary and sorter must have the same size, but got {list(a)} and {have}")
    if sorter._kind_of().dtype != "i64":
        raise RuntimeError(f"sorter must be a tensor of long dtype but got dtype {ALL[sorter._kind_of().dtype]}")
    order = sorter._array()
    if order.size and not (order.min() >= 0 and order.max() < a[-1]):
        raise RuntimeError("sorter index out of range")


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket between `boundaries` in which each value lies."""
    if len(shape_of(boundaries)) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({len(shape_of(boundaries))})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _among(m: Any, x: Any, y: Any, invert: bool) -> Any:
    wanted = x.value.type.with_dtype("bool")
    return outside(m, "isin", (x, y), [wanted], invert)[0]


computed("isin", lambda a, b, invert: np.isin(a, b, invert=invert))


ISIN = Operation("isin", "", _among, "own")


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element is one of the others."""
    if not isinstance(elements, Core) and not isinstance(test_elements, Core):
        raise TypeError("isin() needs a Tensor as one of its arguments")
    pair = [x if isinstance(x, Core) else tensor(x) for x in (elements, test_elements)]
    return apply(ISIN, pair, (bool(invert),))


# ---- which values there are

UNIQUE_VALUES = Operation("unique", UNKNOWN, lambda m, x, i: gathered(m, x, i, (0,)))
UNIQUE_ROWS = Operation("unique", UNKNOWN, INDEX_SELECT.emit)


def _distinct(input: Tensor, dim: int | None, find: Any) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """The distinct elements or rows, where each one went, and how many there were of each."""
    shape = shape_of(input)
    if dim is None:
        first, inverse, counts = find(input._array().reshape(-1, 1))
        flat = input.reshape(-1)
        return apply(UNIQUE_VALUES, (flat, constant(first))), inverse.reshape(shape), counts
    axis = axis_of(dim, len(shape))
    if 0 in shape and (shape[axis] != 0 or shape.count(0) > 1):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    if not shape:
        input, axis = input.reshape(1), 0
        shape = (1,)
    rows = np.moveaxis(input._array(), axis, 0).reshape(shape[axis], prod(shape) // max(shape[axis], 1))
    first, inverse, counts = find(rows)
    return apply(UNIQUE_ROWS, (input, constant(first)), (axis,)), inverse, counts


def _in_order(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first of each distinct row, in order; NaN is distinct from itself."""
    if not rows.shape[0]:
        none = np.zeros(0, np.int64)
        return none, none, none
    if rows.shape[1] == 1:
        found = np.unique(rows[:, 0], return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    else:
        found = np.unique(rows, return_index=True, return_inverse=True, return_counts=True, axis=0)
    return found[1], found[2].reshape(-1), found[3]


def _in_runs(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first of each run of equal rows."""
    if not len(rows):
        none = np.zeros(0, np.int64)
        return none, none, none
    start = np.ones(len(rows), bool)
    start[1:] = (rows[1:] != rows[:-1]).any(1)
    first = start.nonzero()[0]
    return first, np.cumsum(start) - 1, np.diff(np.append(first, len(rows)))


def _wanted(values: Core, inverse: np.ndarray, counts: np.ndarray, back: bool, count: bool) -> Any:
    made = [values]
    if back:
        made.append(constant(inverse.astype(np.int64)))
    if count:
        made.append(constant(counts.astype(np.int64)))
    return made[0] if len(made) == 1 else tuple(made)


def unique(
    input: Core,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or rows along `dim`, in order."""
    check_tensors("unique", input=input)
    return _wanted(*_distinct(input, dim, _in_order), return_inverse, return_counts)


def unique_consecutive(
    input: Core, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first element, or row along `dim`, of each run of equal ones."""
    check_tensors("unique_consecutive", input=input)
    return _wanted(*_distinct(input, dim, _in_runs), return_inverse, return_counts)


# ---- where elements are not zero


def nonzero(input: Core, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: a row each, or a tensor for each dimension."""
    array = input._array()
    places = np.nonzero(array if array.ndim else array.reshape(1))
    if as_tuple:
        return tuple([constant(p) for p in places])
    return constant(np.stack(places, -1)[:, : array.ndim])


def where(condition: Core, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`; of the condition alone, the indices where it holds."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    check_tensors("where", condition=condition)
    dtype = condition._kind_of().dtype
    if dtype not in ("bool", "u8"):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {c_name(dtype)}"
        )
    return chosen(condition, input, other)


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, a row each."""
    return nonzero(input)


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, filled up with `fill_value`."""
    if index(size) < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    if input._kind_of().is_complex:
        input = ne(input, 0)
    return apply(NONZERO, (input,), (index(size), index(fill_value)))


def _nonzero(m: Any, x: Any, size: int, fill: int) -> Any:
    return outside(m, "nonzero", (x,), [Type("i64", (size, x.value.type.rank))], size, fill)[0]


def _first_rows(array: np.ndarray, size: int, fill: int) -> np.ndarray:
    made = np.full((size, array.ndim), fill, np.int64)
    rows = np.argwhere(array)[:size]
    made[: len(rows)] = rows
    return made


computed("nonzero", _first_rows)


NONZERO = Operation("nonzero", "", _nonzero)
