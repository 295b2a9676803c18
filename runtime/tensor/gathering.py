"""Rows and elements by index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.ops.index import take as take_rows
from .axes import axis_of
from .cells import cell_of
from .core import Core, apply, wrap
from .fragments import Operation
from .indexing import checked_indices, gathered
from .shapes import as_scalar, broadcast_tensors, reshape, shape_of

if TYPE_CHECKING:
    from .tensor import Tensor


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The rows of `dim` that `index` names."""
    axis = axis_of(dim, len(shape_of(input)))
    if not shape_of(input):
        if index._read().kind.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index._read().kind.size} value(s)"
            )
        return as_scalar(index_select(reshape(input, 1), 0, reshape(index, 1)))
    return apply(
        INDEX_SELECT, (input, checked_indices(index, shape_of(input)[axis], axis)), (axis,)
    )


INDEX_SELECT = Operation(
    "index_select",
    "IndexSelectBackward0",
    lambda m, x, i, axis: m(take_rows(m.b, x.value, i.value, axis=axis)),
)


def element_indices(index: Core, size: int, axis: int) -> Core:
    """The indices of gather and scatter, which are not counted from the end."""
    wrong = next((int(i) for i in index._array().flat if not 0 <= i < size), None)
    if wrong is not None:
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {axis} with size {size}")
    return checked_indices(index, size, axis)


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """At each place, the element of `input` there but for `dim`, where `index` says which."""
    if index._read().kind.dtype not in ("i64", "i32") and index._read().kind.size:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    input, index, flat = _not_flat(input, index)
    if flat is not None:
        return as_scalar(gather(input, dim, index), flat)
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
    whole = np.indices(wanted, sparse=True)
    indices: list[Core] = [wrap(cell_of(np.ascontiguousarray(i))) for i in whole]
    indices[axis] = element_indices(index, shape[axis], axis)
    return apply(GATHER, (input, *indices), (tuple(range(len(shape))),))


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
GATHER = Operation("gather", "GatherBackward0", gathered)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds."""
    if mask._read().kind.dtype != "bool":
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype}")
    wide = [reshape(x, 1) if not shape_of(x) else x for x in broadcast_tensors(input, mask)]
    rows = [wrap(cell_of(np.ascontiguousarray(i))) for i in wide[1]._array().nonzero()]
    return apply(MASKED_SELECT, (wide[0], *rows), (tuple(range(len(rows))),))


MASKED_SELECT = Operation("masked_select", "MaskedSelectBackward0", gathered)
