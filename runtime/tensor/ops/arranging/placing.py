"""Elements by their place among all, and many that meet in one place: take, put, scatter_reduce, index_reduce."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from .....compiler.ir.symint import bounds_of
from .....compiler.ops import reduce as R
from .....compiler.ops.elementwise import cast
from .....compiler.ops.index import take as take_rows
from .....compiler.ops.shape import concatenate, reshape
from ...calls.asking import check_values
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import apply, number_of
from ...value.dtypes import ALL
from ...value.promotion import common_shape
from ..elementwise.arithmetic import add, lt, where
from ..elementwise.elementary import clone
from ..folds.reductions import multiplied, shape_of, total
from ..matrices.diagonals import SELECT_SCATTER, SLICE_SCATTER
from .creation import constant, full
from .elements import added, elements, from_start, placed
from .gathering import check_elements, gather_along
from .indexing import check_indices
from .scattering import cropped, grid
from .scattering import scatter as written
from .shapes import as_scalar, broadcast_to, slice_step
from .shapes import reshape as reshaped
from .shapes import shape_of as sizes_of

if TYPE_CHECKING:
    from ...face.tensor import Tensor


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


def _met(m: Any, x: Any, source: Any, places: Any, counts: Any, reduce: str) -> Any:
    """For each element of x, what the elements that meet there give: a row of places among those of x, of `source`,
    and a last one that changes nothing."""
    kind = x.value.type
    if kind.dtype == "bool":
        if reduce == "mean":
            raise NotImplementedError("mean of bools: scatter_reduce has no such reduction, as in PyTorch")
        x, source = (m(cast(m.b, v.value, dtype="i64")) for v in (x, source))
        return m.ne(_met(m, x, source, places, counts, reduce), 0)
    fill = {"prod": 1, "sum": 0, "mean": 0, "amax": -inf, "amin": inf}[reduce]
    if not kind.is_float and abs(fill) == inf:
        info = np.iinfo(kind.numpy)
        fill = int(info.min if fill < 0 else info.max)
    extra = m.number(float(fill) if kind.is_float else fill, kind.with_shape((1,)))
    flat = [reshape(m.b, v.value, shape=(v.value.type.size,)) for v in (x, source)]
    rows = m(take_rows(m.b, concatenate(m.b, *flat, extra.value, axis=0), places.value, axis=0))
    if reduce == "prod":
        made = multiplied(m, rows, 1)
    elif reduce in ("amax", "amin"):
        made = m((R.max_ if reduce == "amax" else R.min_)(m.b, rows.value, axes=(1,)))
    else:
        made = total(m, rows, (1,))
    made = m(reshape(m.b, made.value, shape=shape_of(x)))
    if reduce != "mean":
        return made
    return made / counts if kind.is_float else m.floordiv(made, counts)


SCATTER_REDUCE = Operation("scatter_reduce", "ScatterReduceBackward0", _met)
INDEX_REDUCE = Operation("index_reduce", "IndexReduceBackward0", _met)
SUMMED = {
    SCATTER_REDUCE: Operation("scatter_sum", SCATTER_REDUCE.node, _met),
    INDEX_REDUCE: Operation("index_sum", INDEX_REDUCE.node, _met),
}
"""The same for sums and means, whose nodes read no values."""


def _meeting(
    operation: Operation, input: Any, source: Any, key: tuple[Any, ...], reduce: str, include_self: bool
) -> Tensor:
    """Reduce `source`, whose elements go where the key says, into `input`."""
    shape, count = sizes_of(input), input._kind_of().size
    target = np.broadcast_to(np.arange(count).reshape(shape)[key], sizes_of(source)).reshape(-1)
    order = np.argsort(target, stable=True)
    hits = np.bincount(target, minlength=count)
    own = np.ones(count, bool) if include_self else hits == 0
    width = int(hits.max(initial=0)) + int(include_self)
    places = np.full((count, max(width, 1)), count + target.size, np.int64)
    places[own, 0] = np.arange(count)[own]
    ranks = np.arange(target.size) - np.repeat(np.cumsum(hits) - hits, hits) + int(include_self)
    places[target[order], ranks] = count + order
    many = np.maximum(hits + include_self, 1).reshape(shape).astype(input._kind_of().type.numpy)
    operation = SUMMED[operation] if reduce in ("sum", "mean") else operation
    return apply(operation, (input, source, constant(places), constant(many)), (reduce,))


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
    places = grid(input, dim, index, src)
    if 0 in sizes_of(index):
        return clone(input)
    return _meeting(SCATTER_REDUCE, input, cropped(src, index), tuple(places), reduce, include_self)


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
    rows = _flat_rows(input, axis, index)
    wanted = (*sizes_of(input)[:axis], rows.size, *sizes_of(input)[axis + 1 :])
    if sizes_of(source) != wanted:
        raise RuntimeError(f"index_reduce(): source must have the shape {list(wanted)}, got {list(sizes_of(source))}")
    if not source._kind_of().size:
        return clone(input)
    key = (slice(None),) * axis + (rows.reshape(-1),)
    return _meeting(INDEX_REDUCE, input, source, key, reduce, include_self)


def _flat_rows(input: Any, axis: int, where: Any) -> np.ndarray:
    if where._kind_of().dtype not in ("i64", "i32"):
        raise RuntimeError(f"index_reduce(): Expected dtype int32/int64 for index but got: {where.dtype}")
    array, n = where._array(), sizes_of(input)[axis]
    if array.ndim > 1:
        raise IndexError("index_reduce(): Index is supposed to be a vector")
    if array.size and not (array.min() >= 0 and array.max() < n):
        raise IndexError("index out of range in self")
    return array
