"""Writing to the rows and elements that indices and masks name: copies with them changed, and the writing itself.

Where a place is named twice, the last value counts; the adding functions count each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from .....compiler.ir.symint import as_index
from .....compiler.ir.types import Type
from .....compiler.ops.shape import slice_
from .....compiler.ops.source import iota
from ...trace.fragments.fragments import Operation, widen
from ...value.axes import axis_of
from ...value.cells import cell_of
from ...value.core import Core, Tensor, apply, number_of, wrap
from ...value.promotion import common_shape
from ..elementwise.arithmetic import MASKED_FILL, mul
from ..folds.reductions import converted
from .elements import WRITERS, added, added_at, placed
from .gathering import check_elements, places_along
from .indexing import check_indices
from .shapes import as_scalar, expand, reshape, shape_of


def _putting(name: str, node: str) -> Operation:
    return Operation(name, node, placed)


def covered(m: Any, source: Any, index: Any) -> Any:
    """The part of `source` that `index` covers."""
    kind, shape = source.value.type, index.value.type.shape
    if kind.shape == shape:
        return source
    return m(slice_(m.b, source.value, start=(0,) * kind.rank, step=(1,) * kind.rank, shape=shape))


def _added_along(m: Any, x: Any, values: Any, index: Any, axis: int) -> Any:
    places = places_along(m, index, axis)
    return added_at(m, x, covered(m, values, index), places, tuple(range(len(places))))


INDEX_ADD = Operation("index_add", "IndexAddBackward0", added)
SCATTER_ADD = Operation("scatter_add", "ScatterAddBackward0", _added_along)
INDEX_COPY, SCATTER = _putting("index_copy", "IndexCopyBackward0"), _putting("scatter", "ScatterBackward0")
MASKED_SCATTER = _putting("masked_scatter", "MaskedScatterBackward0")
NOTHING = {
    each: Operation(each.name, each.node, lambda m, x: x)
    for each in (INDEX_COPY, SCATTER, MASKED_SCATTER)
}
"""The same where nothing is written."""

INDEX_FILL, INDEX_FILL_TENSOR = (
    Operation("index_fill", f"IndexFillBackward{k}", MASKED_FILL.emit, "own") for k in (0, 1)
)


def _hits(m: Any, places: list[Any], shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Which elements of an array indices name that are counted from the start."""
    wanted = common_shape([i.value.type.static_shape() for i in places])
    none = m.number(0, Type("i64", shape))
    one = m.number(1, Type("i64", (*shape[: axes[0]], *wanted, *shape[axes[-1] + 1 :])))
    return m.gt(added_at(m, none, one, places, axes), 0)


def _row_hits(m: Any, index: Any, shape: tuple[int, ...], axis: int) -> Any:
    index = converted(m, index, "i64")
    return _hits(m, [m.select(m.lt(index, 0), index + shape[axis], index)], shape, (axis,))


def _hits_along(m: Any, index: Any, shape: tuple[int, ...], axis: int) -> Any:
    return _hits(m, places_along(m, index, axis), shape, tuple(range(len(shape))))


ROW_HITS, HITS_ALONG = Operation("hits", "", _row_hits), Operation("hits", "", _hits_along)


def _written(m: Any, x: Any, hits: Any, value: Any) -> Any:
    return m.select(hits, m(widen(m.b, value.value, x.value.type.static_shape())), x)


SCATTER_NUMBER = Operation("scatter", "ScatterBackward1", _written)


def _below(m: Any, x: Any, diagonal: int) -> Any:
    return m.select(m.le(_off_diagonal(m, x), diagonal), x, m.zeros(x.value.type))


def _above(m: Any, x: Any, diagonal: int) -> Any:
    return m.select(m.ge(_off_diagonal(m, x), diagonal), x, m.zeros(x.value.type))


def _off_diagonal(m: Any, x: Any) -> Any:
    """For each element, on which diagonal of its matrix it lies: 0 is the main one, 1 the one above it."""
    type = x.value.type.with_dtype("i64")
    row, column = (m(iota(m.b, type=type, axis=type.rank - k)) for k in (2, 1))
    return column - row


TRIL, TRIU = (
    Operation(n, f"{n.title()}Backward0", kept, lies="rows") for n, kept in (("tril", _below), ("triu", _above))
)


def _same_dtype(name: str, input: Core, source: Core) -> None:
    if input._kind_of().dtype != source._kind_of().dtype:
        raise RuntimeError(f"{name}(): self and source expected to have the same dtype")


def _placed(operation: Operation, input: Any, index: Core, axes: Any, values: Any, target: tuple[int, ...]) -> Any:
    """`input` with values, in the shape of what the index names, written there."""
    if not prod(target):
        return apply(NOTHING[operation], (input,))
    return apply(operation, (input, apply(WRITERS, (index,), (shape_of(input), axes)), expand(values, target)))


# ---- rows


def _scalar(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, taking scalars for vectors of one element."""

    @wraps(function)
    def widened(input: Any, dim: int, index: Any, *args: Any, **options: Any) -> Any:
        if shape_of(input):
            return function(input, dim, index, *args, **options)
        axis_of(dim, 0)
        parts = [input, index, *args]
        wide = [reshape(x, 1) if isinstance(x, Core) and not shape_of(x) else x for x in parts]  # type: ignore[arg-type]
        if not isinstance(args[0] if args else None, Core) or function.__name__ == "index_fill":
            wide[2:] = parts[2:]
        return as_scalar(function(wide[0], 0, *wide[1:], **options))

    return widened


def _rows(name: str, input: Any, dim: int, index: Any, first: int | None = 0) -> tuple[int, Core]:
    """The axis, and the checked indices along it: from `first` on, or counted from the end as well."""
    if index._kind_of().dtype not in ("i64", "i32"):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {index.dtype}")
    axis = axis_of(dim, len(shape_of(input)))
    if len(shape_of(index)) > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    check_indices(index, shape_of(input)[axis], axis, first)
    return axis, index if shape_of(index) else reshape(index, 1)


def _check_source(name: str, input: Any, axis: int, index: Core, source: Any) -> None:
    wanted = list(shape_of(input))
    wanted[axis] = shape_of(index)[0]
    if list(shape_of(source)) != wanted:
        kind = IndexError if name == "index_copy_" else RuntimeError
        raise kind(f"{name}(): source must have the shape {wanted}, got {list(shape_of(source))}")


@_scalar
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """input with the rows of `source` added to the rows that `index` names."""
    axis, rows = _rows("index_add", input, dim, index)
    _same_dtype("index_add", input, source)
    _check_source("index_add", input, axis, rows, source)
    return apply(INDEX_ADD, (input, source if alpha == 1 else mul(source, alpha), rows), ((axis,),))


@_scalar
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """input with the rows that `index` names replaced by those of `source`."""
    axis, rows = _rows("index_copy_", input, dim, index)
    _same_dtype("index_copy", input, source)
    _check_source("index_copy_", input, axis, rows, source)
    return _placed(INDEX_COPY, input, rows, (axis,), source, shape_of(source))


@_scalar
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """input with the rows that `index` names filled with one number."""
    axis, rows = _rows("index_fill_", input, dim, index, None)
    if isinstance(value, Core) and shape_of(value):
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(shape_of(value))}"
            " dimension(s)."
        )
    return fill_rows(input, axis, rows, value)


def fill_rows(input: Core, axis: int, rows: Core, value: Any) -> Any:
    """input with the rows that `rows`, which are some, name filled with one number."""
    operation = INDEX_FILL_TENSOR if isinstance(value, Core) else INDEX_FILL
    hits = apply(ROW_HITS, (rows,), (shape_of(input), axis))
    return apply(operation, (hits, input, value), (input._kind_of().dtype,))


# ---- elements


def checked_grid(input: Any, dim: int, index: Any, source: Any = None) -> int:
    """The axis, where all that `index` names is there."""
    shape, wanted = shape_of(input), shape_of(index)
    axis = axis_of(dim, len(shape))
    if index._kind_of().dtype not in ("i64", "i32") and prod(wanted):
        raise RuntimeError(f"scatter(): Expected dtype int32/int64 for index but got: {index.dtype}")
    if len(wanted) != len(shape):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if source is not None and len(shape_of(source)) != len(shape):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for a, n in enumerate(wanted):
        if (a != axis and n > shape[a]) or (source is not None and n > shape_of(source)[a]):
            raise RuntimeError(
                f"Expected index {list(wanted)} to be no larger than self {list(shape)} apart from dimension {axis}"
                + (f" and to be no larger size than src {list(shape_of(source))}" if source is not None else "")
            )
    check_elements(index, shape[axis], axis)
    return axis


@_scalar
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None) -> Tensor:
    """input with the elements of `src`, or one number, written where `index` says along `dim`."""
    given = src if value is None else value
    number = number_of(given)
    if number is not None:
        axis = checked_grid(input, dim, index)
        one = wrap(cell_of(np.array(number, input._kind_of().numpy)))
        return apply(SCATTER_NUMBER, (input, apply(HITS_ALONG, (index,), (shape_of(input), axis)), one))
    axis = checked_grid(input, dim, index, given)
    _same_dtype("scatter", input, given)
    covering = given[tuple(slice(0, n) for n in shape_of(index))]
    return _placed(SCATTER, input, index, axis, covering, shape_of(index))


@_scalar
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with the elements of `src` added where `index` says along `dim`."""
    axis = checked_grid(input, dim, index, src)
    _same_dtype("scatter", input, src)
    return apply(SCATTER_ADD, (input, src, index), (axis,))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input with the elements of `source`, in order, written where the mask holds."""
    _same_dtype("masked_scatter", input, source)
    if mask._kind_of().dtype != "bool":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    shape = common_shape([shape_of(input), shape_of(mask)])
    chosen = np.broadcast_to(mask._array(), shape)
    count = int(chosen.sum())
    if count > prod(shape_of(source)):
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes and enough elements in source")
    places = np.full(shape, -1, np.int64)
    places[chosen] = np.arange(count)
    if not count:
        return apply(NOTHING[MASKED_SCATTER], (expand(input, shape),))
    return apply(MASKED_SCATTER, (expand(input, shape), wrap(cell_of(places)), source))


# ---- triangles


def _triangle(operation: Operation, input: Any, diagonal: int) -> Any:
    if len(shape_of(input)) < 2:
        raise RuntimeError(f"{operation.name}: input tensor must have at least 2 dimensions")
    return apply(operation, (input,), (as_index(diagonal),))


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros above a diagonal of each matrix."""
    return _triangle(TRIL, input, diagonal)


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros below a diagonal of each matrix."""
    return _triangle(TRIU, input, diagonal)


__all__ = [
    "index_add", "index_copy", "index_fill", "masked_scatter", "scatter", "scatter_add", "tril", "triu",
]  # fmt: skip
