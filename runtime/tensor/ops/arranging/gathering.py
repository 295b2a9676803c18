"""Rows and elements by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....compiler.ir.types import Type
from .....compiler.ops.index import take as take_rows
from .....compiler.ops.source import iota
from ...trace.fragments.fragments import Operation, widen
from ...value.axes import axis_of
from ...value.cells import cell_of
from ...value.core import Core, Tensor, apply, wrap
from ..folds.reductions import converted
from .cuts import known_elements
from .elements import elements, gathered
from .indexing import check_indices
from .shapes import as_scalar, broadcast_tensors, reshape, shape_of


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The rows of `dim` that `index` names."""
    axis = axis_of(dim, len(shape_of(input)))
    if not shape_of(input):
        if index._kind_of().size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index._kind_of().size} value(s)"
            )
        check_indices(index, 1, 0, 0)
        return as_scalar(apply(INDEX_SELECT, (reshape(input, 1), index), (0,)))
    if len(shape_of(index)) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index._kind_of().dtype not in ("i64", "i32"):
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index but got: {index.dtype}")
    check_indices(index, shape_of(input)[axis], axis, 0)
    known = known_elements(input, {axis: index}) if shape_of(index) else None
    return apply(INDEX_SELECT, (input, index), (axis,)) if known is None else known


def _rows(m: Any, x: Any, index: Any, axis: int) -> Any:
    index = converted(m, m(widen(m.b, index.value, (index.value.type.size,))), "i64")
    return m(take_rows(m.b, x.value, index.value, axis=axis))


INDEX_SELECT = Operation("index_select", "IndexSelectBackward0", _rows)


def check_elements(index: Core, size: int, axis: int) -> None:
    """Raise RuntimeError unless the indices are those of gather and scatter, which are not counted from the end."""
    check_indices(index, size, axis, 0, RuntimeError)


def places_along(m: Any, index: Any, axis: int) -> list[Any]:
    """For each axis the indices of the places that `index` names along one."""
    wanted = index.value.type.static_shape()
    kinds = [Type("i64", tuple([n if b == a else 1 for b, n in enumerate(wanted)])) for a in range(len(wanted))]
    counted = [m(iota(m.b, type=kind, axis=a)) for a, kind in enumerate(kinds)]
    return [converted(m, index, "i64") if a == axis else c for a, c in enumerate(counted)]


def elements_along(m: Any, x: Any, index: Any, axis: int) -> Any:
    """The elements at those places."""
    indices = places_along(m, index, axis)
    return elements(m, x, indices, tuple(range(len(indices))))


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """At each place, the element of `input` there but for `dim`, where `index` says which.

    The gradient has all elements, also where `sparse_grad` asks for those that are not zero alone.
    """
    if index._kind_of().dtype not in ("i64", "i32") and index._kind_of().size:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    vector, places, flat = _not_flat(input, index)
    made = gather_along(vector, dim, places, index)
    return made if flat is None else as_scalar(made, flat)


def gather_along(input: Any, dim: int, index: Any, given: Core | None) -> Any:
    """The elements that `index` names along `dim`, if those `given`, of which it is made, are elements of it."""
    shape, wanted = shape_of(input), shape_of(index)
    axis = axis_of(dim, len(shape))
    if 0 in wanted:
        return apply(EMPTIED, (input,), (wanted,))
    if len(wanted) != len(shape):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for a, (n, have) in enumerate(zip(wanted, shape, strict=True)):
        if a != axis and n > have:
            raise RuntimeError(
                f"Size does not match at dimension {a} expected index {list(wanted)} to be no larger than"
                f" self {list(shape)} apart from dimension {axis}"
            )
    if given is not None:
        check_elements(given, shape[axis], axis)
    return apply(GATHER, (input, index), (axis,))


def _not_flat(input: Any, index: Any) -> tuple[Any, Any, tuple[int, ...] | None]:
    """A scalar and its index as vectors of one element, and the shape that the result has then."""
    a, b = shape_of(input), shape_of(index)
    if (a and b) or len(a) > 1 or len(b) > 1:
        return input, index, None
    return reshape(input, a or (1,)), reshape(index, b or (1,)), b


def _nothing(m: Any, x: Any, shape: tuple[int, ...]) -> Any:
    kind = x.value.type
    return m.number({"bool": False}.get(kind.dtype, 0.0 if kind.is_float else 0), kind.with_shape(shape))


EMPTIED = Operation("gather", "GatherBackward0", _nothing)
GATHER = Operation("gather", "GatherBackward0", elements_along)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds."""
    if mask._kind_of().dtype != "bool":
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype}")
    wide = [reshape(x, 1) if not shape_of(x) else x for x in broadcast_tensors(input, mask)]
    rows = [wrap(cell_of(np.ascontiguousarray(i))) for i in wide[1]._array().nonzero()]
    return apply(MASKED_SELECT, (wide[0], *rows), (tuple(range(len(rows))),))


MASKED_SELECT = Operation("masked_select", "MaskedSelectBackward0", gathered)
