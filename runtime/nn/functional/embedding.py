"""Rows of tables by index: embeddings, and bags of them."""

from __future__ import annotations

import operator
from math import inf
from typing import Any

from ....compiler.ops.index import scatter_add, take
from ....compiler.ops.reduce import argmax
from ...sparse.operations import assemble
from ...tensor.calls.asking import check_values
from ...tensor.face.inplace import copy_
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.ranges import arange
from ...tensor.ops.arranging.scattering import fill_rows
from ...tensor.ops.folds.reductions import back, converted
from ...tensor.reverse.custom import Function
from ...tensor.reverse.modes import no_grad
from ...tensor.reverse.once import once_differentiable
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply, requires
from .terms import counting, listed, need_tensor, shape_of, size_of, total


def _rows(m: Any, table: Any, index: Any, padding: int | None, shared: bool) -> Any:
    return m(take(m.b, table.value, index.value, axis=0))


def _rows_pull(m: Any, inputs: Any, results: Any, cts: Any, padding: int | None, shared: bool) -> Any:
    """No gradient for the row of padding; if `shared`, the uses of a row share one."""
    (table, index), (ct,) = inputs, cts
    shape = shape_of(ct)
    last = (len(shape) - 1,)
    if padding is not None:
        ct = m.select(back(m, m.eq(index, padding), shape, last), 0, ct)
    if shared:
        ones = m.number(1.0, ct.value.type.with_shape(shape[:-1]))
        none = m.number(0.0, ones.value.type.with_shape(shape_of(table)[:1]))
        uses = m(scatter_add(m.b, none.value, index.value, ones.value, axis=0))
        ct = ct / back(m, m(take(m.b, uses.value, index.value, axis=0)), shape, last)
    nothing = m.number(0.0, table.value.type)
    return [m(scatter_add(m.b, nothing.value, index.value, ct.value, axis=0)), None]


EMBEDDING = Operation("embedding", "EmbeddingBackward0", _rows, pull=_rows_pull)


def _checked(name: str, index: Any, rows: int) -> Tensor:
    """The indices as int64, if all are rows of the table; they are asked for now for this."""
    need_tensor(name, "indices", index)
    if index._kind_of().dtype not in ("i32", "i64"):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got"
            f" {index.dtype} instead ({name})"
        )

    def test(array: Any) -> None:
        if array.size and (array.min() < 0 or array.max() >= rows):
            raise IndexError(f"index out of range in self: {name} of a table of {rows} rows, got indices from"
                             f" {array.min()} to {array.max()}")

    check_values(index, test)
    return index.long()


def _padding(name: str, padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{name}: Padding_idx must be within num_embeddings, got {padding_idx} of {rows}")
    return padding_idx % rows


@no_grad()
def renormed(table: Tensor, index: Any, limit: float, p: float) -> None:
    """Scale the rows named to a norm of at most `limit`, in place."""
    size = table.detach().abs().pow(p).sum(1).pow(1 / p) if p != inf else table.detach().abs().amax(1)
    named = size.detach() * 0
    named = fill_rows(named, 0, index.reshape(-1), 1.0) > 0
    scale = (limit / (size + 1e-7)).where((size > limit) & named, 1.0)
    copy_(table, table.detach() * scale.unsqueeze(1))


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` [rows, n] that `input` names: [*input, n]."""
    need_tensor("embedding", "weight", weight)
    if len(size_of(weight)) != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {listed(weight)}")
    rows = size_of(weight)[0]
    padding = _padding("embedding", padding_idx, rows)
    index = _checked("embedding", input, rows)
    if max_norm is not None:
        renormed(weight, index, max_norm, norm_type)
    if sparse and requires(weight):
        if scale_grad_by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        return SparseRows.apply(weight, index, padding)
    return apply(EMBEDDING, (weight, index), (padding, bool(scale_grad_by_freq)))


class SparseRows(Function):
    """Rows of a table, whose gradient is a sparse Tensor of the rows named."""

    @staticmethod
    def forward(ctx: Any, weight: Any, index: Any, padding: int | None) -> Any:  # type: ignore[override]
        ctx.index, ctx.sizes, ctx.padding = index.detach().reshape(-1), size_of(weight), padding
        return apply(EMBEDDING, (weight, index), (padding, False))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        index, rows = ctx.index, gradient.reshape(-1, ctx.sizes[1])
        if ctx.padding is not None:
            kept = index != ctx.padding
            index, rows = index[kept], rows[kept]
        return assemble(index.unsqueeze(0), rows, ctx.sizes, False), None, None


# ---- bags


def _bagged(m: Any, table: Any, index: Any, bag: Any, *rest: Any) -> Any:
    """The sum, mean or maximum of the rows of every bag; `bag` says in which of `count` each index lies."""
    *weights, mode, count, padding, _ = rest
    n, width = shape_of(index)[0], shape_of(table)[1]
    rows = m(take(m.b, table.value, index.value, axis=0))
    real = m.ne(index, -1 if padding is None else padding)
    if mode == "max":
        return _largest(m, rows, bag, real, count)
    shares = m.select(real, m.number(1.0, rows.value.type.with_shape((n,))), 0)
    if weights:
        shares = shares * weights[0]
    rows = rows * back(m, shares, (n, width), (1,))
    nothing = m.number(0.0, rows.value.type.with_shape((count, width)))
    added = m(scatter_add(m.b, nothing.value, bag.value, rows.value, axis=0))
    if mode == "sum":
        return added
    none = m.number(0.0, rows.value.type.with_shape((count,)))
    held = m(scatter_add(m.b, none.value, bag.value, shares.value, axis=0))
    return added / back(m, m.maximum(held, 1.0), (count, width), (1,))


def _largest(m: Any, rows: Any, bag: Any, real: Any, count: int) -> Any:
    """By comparing all rows with all bags: the first of equals is the one found."""
    n, width = shape_of(rows)
    cube = (count, n, width)
    held = m.and_(m.eq(back(m, bag, cube, (0, 2)), counting(m, cube, 0)), back(m, real, cube, (0, 2)))
    wide_rows = back(m, rows, cube, (0,))
    top = m(argmax(m.b, m.select(held, wide_rows, -inf).value, axis=1))
    found = m.and_(held, m.eq(counting(m, cube, 1), back(m, top, cube, (1,))))
    return total(m, m.select(found, wide_rows, 0), (1,))


def _bags(m: Any, offsets: Any, n: int) -> Any:
    """In which bag each of n indices lies."""
    grid = (n, shape_of(offsets)[0])
    begun = m.le(back(m, offsets, grid, (0,)), counting(m, grid, 0))
    return total(m, converted(m, begun, "i64"), (1,)) - 1


BAGGED = Operation("embedding_bag", "EmbeddingBagBackward0", _bagged)
BAGS = Operation("bags", "", _bags)


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sums, means or maxima of the rows of `weight` that each bag names: the rows of `input`, or from offset on."""
    need_tensor("embedding_bag", "weight", weight)
    need_tensor("embedding_bag", "input", input)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if scale_grad_by_freq:
        raise NotImplementedError("embedding_bag: scale_grad_by_freq is not supported; use embedding(...).sum(1)")
    rows, shape = size_of(weight)[0], size_of(input)
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'"
                f" (got mode='{mode}')."
            )
        if size_of(per_sample_weights) != shape:
            raise ValueError(f"embedding_bag: If per_sample_weights ({listed(per_sample_weights)}) is not None, then it"
                             f" must have the same shape as the input ({list(shape)})")
    index = _checked("embedding_bag", input, rows).reshape(-1)
    bag, count = _bag_of(shape, offsets, include_last_offset)
    if max_norm is not None:
        renormed(weight, index, max_norm, norm_type)
    padding = _padding("embedding_bag", padding_idx, rows)
    shares = () if per_sample_weights is None else (per_sample_weights.reshape(-1),)
    if sparse and requires(weight):
        if mode == "max" or padding is not None:
            raise NotImplementedError("embedding_bag: sparse gradients are those of sums and means without padding_idx;"
                                      " leave sparse=False")
        weight, index = SparseRows.apply(weight, index, None), arange(0, index.shape[0])
    return apply(BAGGED, (weight, index, bag, *shares), (mode, count, padding, bool(scale_grad_by_freq)))


def _bag_of(shape: tuple[int, ...], offsets: Any, include_last: bool) -> tuple[Any, int]:
    if len(shape) == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed"
                             " length sequences. However, found offsets of type " + type(offsets).__name__)
        offsets, include_last = arange(0, shape[0] * shape[1], max(shape[1], 1)), False
        return apply(BAGS, (offsets,), (shape[0] * shape[1],)), shape[0]
    if len(shape) != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(shape)}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if len(size_of(offsets)) != 1:
        raise ValueError("offsets has to be a 1D Tensor")

    def test(starts: Any) -> None:
        if starts.size and starts[0] != 0:
            raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from"
                               f" position 0. However, got {starts[0]}")
        if starts.size and starts[-1] > shape[0]:
            raise RuntimeError(f"offsets[-1] can not be greater than input's length({shape[0]}). However, got"
                               f" {starts[-1]}")

    check_values(offsets, test)
    count = size_of(offsets)[0] - include_last
    return apply(BAGS, (offsets.long()[:count],), (shape[0],)), count


# ---- one-hot


def _one_hot(m: Any, index: Any, classes: int) -> Any:
    shape = (*shape_of(index), classes)
    last = (len(shape) - 1,)
    return converted(m, m.eq(back(m, index, shape, last), counting(m, shape, last[0])), "i64")


ONE_HOT = Operation("one_hot", "", _one_hot)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 where the class is the one named, else 0; num_classes=-1 stands for the largest one named, and one more."""
    need_tensor("one_hot", "tensor", tensor)
    try:
        num_classes = operator.index(num_classes)  # a tensor of one number, too
    except TypeError:
        kind = type(num_classes).__name__
        raise TypeError(f"one_hot(): argument 'num_classes' (position 2) must be int, not {kind}") from None
    if tensor._kind_of().dtype != "i64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}")
    if num_classes <= 0 and not tensor._kind_of().size:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")

    def test(array: Any) -> None:
        if array.size and array.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if array.size and array.max() >= num_classes > 0:
            raise RuntimeError(f"Class values must be smaller than num_classes, got {array.max()} and {num_classes}")

    check_values(tensor, test)
    if num_classes == -1:
        num_classes = int(tensor._array().max()) + 1
    elif num_classes < 1:
        raise RuntimeError(f"num_classes should be positive, got {num_classes}")
    return apply(ONE_HOT, (tensor,), (num_classes,))


__all__ = ["embedding", "embedding_bag", "one_hot"]
