"""Elements by their place among all, and many that meet in one place: take, put, scatter_reduce, index_reduce."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .....compiler.ir.symint import bounds_of
from .....compiler.ir.types import Type
from .....compiler.ops.elementwise import cast
from .....compiler.ops.index import scatter_max, scatter_min
from .....compiler.ops.index import take as take_rows
from .....compiler.ops.ordering import places_along as flat_places
from .....compiler.ops.reduce import spread
from .....compiler.ops.shape import concatenate, reshape
from ...calls.asking import check_values
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Tensor, apply, number_of
from ...value.dtypes import ALL
from ...value.promotion import common_shape
from ..elementwise.arithmetic import add, lt, where
from ..elementwise.elementary import clone
from ..folds.reductions import converted, multiplied, shape_of
from ..matrices.diagonals import SELECT_SCATTER, SLICE_SCATTER
from .creation import constant, full
from .elements import added, added_at, elements, from_start, placed
from .gathering import check_elements, gather_along, places_along
from .indexing import check_indices
from .scattering import checked_grid, covered
from .scattering import scatter as written
from .shapes import as_scalar, broadcast_to, slice_step
from .shapes import reshape as reshaped
from .shapes import shape_of as sizes_of

# ---- places among all elements


def _check_places(name: str, input: Any, where: Any) -> None:
    """Raise IndexError unless all are places of elements."""
    if where._kind_of().dtype != "i64":
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {where.dtype}")
    n = input._kind_of().size

    def test(array: np.ndarray) -> None:
        if array.size and not n:
            raise IndexError(f"{name}(): tried to take from an empty tensor")
        wrong = array[(array < -n) | (array >= n)]
        if wrong.size:
            raise IndexError(f"out of range: tried to access index {int(wrong.flat[0])} on a tensor of {n} elements.")

    check_values(where, test)


def _taken(m: Any, x: Any, places: Any) -> Any:
    flat = m(reshape(m.b, x.value, shape=(x.value.type.size,)))
    return elements(m, flat, from_start(m, flat, (places,), (0,)), (0,))


TAKE = Operation("take", "TakeBackward0", _taken)


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at places among all, counted in row-major order."""
    _check_places("take", input, index)
    return apply(TAKE, (input, index))


def _flat(emit: Any) -> Any:
    """An operation on vectors, for an array of any shape."""

    def wide(m: Any, x: Any, *args: Any) -> Any:
        flat = m(reshape(m.b, x.value, shape=(x.value.type.size,)))
        return m(reshape(m.b, emit(m, flat, *args).value, shape=x.value.type.shape))

    return wide


PUT = Operation("put", "PutBackward0", _flat(placed))
NOTHING_PUT = Operation("put", "PutBackward0", lambda m, x: x)
PUT_ADDED = Operation("put", "PutBackward0", _flat(added))


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """input with elements of `source` written at, or added to, places among all."""
    if sizes_of(index) != sizes_of(source) and index._kind_of().size != source._kind_of().size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() ="
            f" {source._kind_of().size}, index.numel() = {index._kind_of().size}"
        )
    if input._kind_of().dtype != source._kind_of().dtype:
        raise RuntimeError(f"put_(): source must have the dtype of self, got {input.dtype} and {source.dtype}")
    _check_places("put", input, index)
    values = reshaped(source, -1)
    if not index._kind_of().size:
        return apply(NOTHING_PUT, (input,))
    if accumulate:
        return apply(PUT_ADDED, (input, values, reshaped(index, -1)), ((0,),))
    places = index._array().reshape(-1)
    last = np.full(input._kind_of().size, -1, np.int64)
    last[places] = np.arange(places.size)
    return apply(PUT, (input, constant(last), values))


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """At each place, the element of `input` there but for `dim`, where `indices` says which; both broadcast."""
    if indices._kind_of().dtype not in ("i64", "i32"):
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is None:
        check_elements(indices, input._kind_of().size, 0)
        return gather_along(reshaped(input, -1), 0, reshaped(indices, -1), None)
    a, b = sizes_of(input), sizes_of(indices)
    if len(a) != len(b):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got"
            f" {len(a)} dimensions for input, and {len(b)} dimensions for indices"
        )
    axis = axis_of(dim, len(a))
    check_indices(indices, a[axis], axis, error=RuntimeError)
    places = where(lt(indices, 0), add(indices, a[axis]), indices)
    shape = common_shape([(*s[:axis], 1, *s[axis + 1 :]) for s in (a, b)])
    wide = broadcast_to(input, shape[:axis] + a[axis : axis + 1] + shape[axis + 1 :])
    places = broadcast_to(places, shape[:axis] + b[axis : axis + 1] + shape[axis + 1 :])
    return gather_along(wide, axis, places, None)


# ---- a part replaced


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """input with row `index` of `dim` replaced."""
    shape = sizes_of(input)
    axis = axis_of(dim, len(shape))
    n = shape[axis] if shape else 0
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {axis}")
    rest = shape[:axis] + shape[axis + 1 :]
    _check_size(src, rest)
    return apply(SELECT_SCATTER, (input, src), ((slice_step(shape, axis, index % n, 1, 1), ("reshape", rest)),))


def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """input with a slice of `dim` replaced."""
    shape = sizes_of(input)
    axis = axis_of(dim, len(shape))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last, _ = bounds_of(slice(start, end, step), shape[axis])
    count = max(0, -(-(last - first) // step))
    _check_size(src, (*shape[:axis], count, *shape[axis + 1 :]))
    return apply(SLICE_SCATTER, (input, src), ((slice_step(shape, axis, first, step, count),),))


def _check_size(src: Any, wanted: tuple[int, ...]) -> None:
    if sizes_of(src) != wanted:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(sizes_of(src))}, slice size ="
            f" {list(wanted)}"
        )


# ---- many in one place


def _reduced(
    m: Any, x: Any, source: Any, index: Any, axis: int, rows: bool, reduce: str, include_self: bool
) -> Any:
    """x with the elements of `source` reduced into the places that `index` says along an axis: for each element, or,
    with `rows`, for each row."""
    kind = x.value.type
    if kind.dtype == "bool":
        if reduce == "mean":
            raise NotImplementedError("mean of bools: scatter_reduce has no such reduction, as in PyTorch")
        x, source = (m(cast(m.b, v.value, dtype="i64")) for v in (x, source))
        return m.ne(_reduced(m, x, source, index, axis, rows, reduce, include_self), 0)
    index = converted(m, index, "i64")
    if rows:
        index = m(spread(m.b, index.value, shape=source.value.type.shape, axes=(axis,)))
    source = covered(m, source, index)
    places, axes = places_along(m, index, axis), tuple(range(kind.rank))
    if reduce == "mean" or not include_self:
        hits = added_at(m, m.number(0, kind.with_dtype("i64")), m.number(1, index.value.type), places, axes)
    if not include_self:
        x = m.select(m.gt(hits, 0), m.number(_neutral(reduce, kind), kind), x)
    if reduce in ("amax", "amin"):
        return _extreme(m, scatter_max if reduce == "amax" else scatter_min, x, source, index, axis)
    made = added_at(m, x, source, places, axes)
    if reduce == "sum":
        return made
    many = converted(m, m.maximum(hits + int(include_self), 1), kind.dtype)
    return made / many if kind.is_float else m.floordiv(made, many)


def _neutral(reduce: str, kind: Type) -> float:
    """What changes nothing."""
    if reduce in ("sum", "mean"):
        return 0.0 if kind.is_float else 0
    if kind.is_float:
        return -inf if reduce == "amax" else inf
    info = np.iinfo(kind.numpy)
    return int(info.min if reduce == "amax" else info.max)


def _extreme(m: Any, put: Any, x: Any, source: Any, index: Any, axis: int) -> Any:
    kind = x.value.type
    at = flat_places(m, index, kind.shape, axis)
    flat = [reshape(m.b, v.value, shape=(v.value.type.size,)) for v in (x, at, source)]
    return m(reshape(m.b, put(m.b, *flat, axis=0), shape=kind.shape))


def _multiplied(m: Any, x: Any, source: Any, places: Any) -> Any:
    """For each element of x, the product of the elements that meet there: a row of places among those of x, of
    `source`, and a last one that changes nothing."""
    kind = x.value.type
    if kind.dtype == "bool":
        x, source = (m(cast(m.b, v.value, dtype="i64")) for v in (x, source))
        return m.ne(_multiplied(m, x, source, places), 0)
    one = m.number(1.0 if kind.is_float else 1, kind.with_shape((1,)))
    flat = [reshape(m.b, v.value, shape=(v.value.type.size,)) for v in (x, source)]
    rows = m(take_rows(m.b, concatenate(m.b, *flat, one.value, axis=0), places.value, axis=0))
    return m(reshape(m.b, multiplied(m, rows, 1).value, shape=shape_of(x)))


SCATTER_REDUCE = Operation("scatter_reduce", "ScatterReduceBackward0", _reduced)
INDEX_REDUCE = Operation("index_reduce", "IndexReduceBackward0", _reduced)
SUMMED, MULTIPLIED = (
    {each: Operation(name, each.node, meaning) for each, name in ((SCATTER_REDUCE, first), (INDEX_REDUCE, second))}
    for first, second, meaning in (("scatter_sum", "index_sum", _reduced), ("scatter_prod", "index_prod", _multiplied))
)
"""The same for sums and means, whose nodes read no values, and for products."""


def _meeting(
    operation: Operation, input: Any, source: Any, axis: int, index: Any, reduce: str, include_self: bool
) -> Any:
    """Reduce `source` into `input`, where the checked `index` says along an axis."""
    rows = operation is INDEX_REDUCE
    if reduce == "prod":
        if not rows:
            source = source[tuple(slice(0, n) for n in sizes_of(index))]
        places = constant(_places_of(input, source, axis, index, rows, include_self))
        return apply(MULTIPLIED[operation], (input, source, places))
    operation = SUMMED[operation] if reduce in ("sum", "mean") else operation
    return apply(operation, (input, source, index), (axis, rows, reduce, include_self))


def _places_of(input: Any, source: Any, axis: int, index: Any, rows: bool, include_self: bool) -> np.ndarray:
    """For each element of `input` the places among its elements, then those of `source`, that meet there.

    A product of elements that may be zero has second derivatives which no quotient of the whole gives, so that each
    is multiplied out: how many meet must be known.
    """
    shape, count = sizes_of(input), input._kind_of().size
    key: list[Any] = [slice(None)] * len(shape) if rows else list(np.indices(sizes_of(index), sparse=True))
    key[axis] = index._array().reshape(-1) if rows else index._array()
    target = np.broadcast_to(np.arange(count).reshape(shape)[tuple(key)], sizes_of(source)).reshape(-1)
    order = np.argsort(target, stable=True)
    hits = np.bincount(target, minlength=count)
    own = np.ones(count, bool) if include_self else hits == 0
    places = np.full((count, max(int(hits.max(initial=0)) + include_self, 1)), count + target.size, np.int64)
    places[own, 0] = np.arange(count)[own]
    ranks = np.arange(target.size) - np.repeat(np.cumsum(hits) - hits, hits) + int(include_self)
    places[target[order], ranks] = count + order
    return places


REDUCES = ("sum", "prod", "mean", "amax", "amin")


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """input with the elements of `src`, or one number, written where `index` says along `dim`.

    reduce   "add" or "multiply": what is there is kept, and these are added to it or multiplied with it
    """
    if reduce is None:
        return written(input, dim, index, src, value=value)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    given = src if value is None else value
    if number_of(given) is not None:
        given = full(sizes_of(index), given, dtype=ALL[input._kind_of().dtype])
    return scatter_reduce(input, dim, index, given, "sum" if reduce == "add" else "prod")


def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """input with the elements of `src` reduced into the places that `index` says along `dim`."""
    if reduce not in REDUCES:
        raise RuntimeError(f"reduce argument must be one of {', '.join(REDUCES)}, got {reduce}")
    if input._kind_of().dtype != src._kind_of().dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not sizes_of(input):
        made = scatter_reduce(*_wide(input, index, src, dim), reduce, include_self=include_self)
        return as_scalar(made)
    axis = checked_grid(input, dim, index, src)
    if 0 in sizes_of(index):
        return clone(input)
    return _meeting(SCATTER_REDUCE, input, src, axis, index, reduce, include_self)


def _wide(input: Any, index: Any, src: Any, dim: int) -> tuple[Any, int, Any, Any]:
    """Scalars as vectors of one element."""
    axis_of(dim, 0)
    one = [reshaped(x, -1) if not sizes_of(x) else x for x in (input, index, src)]
    return one[0], 0, one[1], one[2]


def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """input with the rows of `source` reduced into the rows of `dim` that `index` names."""
    if reduce not in REDUCES[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of {', '.join(REDUCES[1:])} but got {reduce}.")
    if not sizes_of(input):
        made = index_reduce(*_wide(input, index, source, dim), reduce, include_self=include_self)
        return as_scalar(made)
    axis = axis_of(dim, len(sizes_of(input)))
    rows = _checked_rows(input, axis, index)
    wanted = (*sizes_of(input)[:axis], *sizes_of(rows), *sizes_of(input)[axis + 1 :])
    if sizes_of(source) != wanted:
        raise RuntimeError(f"index_reduce(): source must have the shape {list(wanted)}, got {list(sizes_of(source))}")
    if not source._kind_of().size:
        return clone(input)
    return _meeting(INDEX_REDUCE, input, source, axis, rows, reduce, include_self)


def _checked_rows(input: Any, axis: int, where: Any) -> Any:
    """The rows that an index names, as a vector; none is counted from the end."""
    if where._kind_of().dtype not in ("i64", "i32"):
        raise RuntimeError(f"index_reduce(): Expected dtype int32/int64 for index but got: {where.dtype}")
    if len(sizes_of(where)) > 1:
        raise IndexError("index_reduce(): Index is supposed to be a vector")
    check_indices(where, sizes_of(input)[axis], axis, 0)
    return where if sizes_of(where) else reshaped(where, 1)
