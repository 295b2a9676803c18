"""Inner functions of tensors: rows of sparse matrices, sums of segments, slopes of softmaxes."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from ...tensor.face import functions as T
from ...tensor.face.tensor import Tensor

STARTS = {"sum": 0.0, "mean": nan, "max": -inf, "min": inf, "prod": 1.0}
"""What a segment without elements has."""

KINDS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes, as int64."""
    return T.tensor(list(input.shape), dtype=T.long)


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of `size` rows begins, and where the last ends, in sorted numbers of rows."""
    ends = T.searchsorted(input.contiguous(), T.arange(size + 1, dtype=input.dtype))
    return ends.to(T.int) if out_int32 else ends


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The numbers of row and column of each entry; the other way round if `transpose`."""
    rows = T.repeat_interleave(T.arange(len(crow_indices) - 1), T.diff(crow_indices))
    made = T.stack([col_indices, rows] if transpose else [rows.to(col_indices.dtype), col_indices])
    return made.to(T.int if out_int32 else T.long)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of what a softmax was given, of that of what it gave."""
    made = output * (grad_output - (grad_output * output).sum(dim, keepdim=True))
    return made.to(input_dtype)


def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Tensor:  # fmt: skip
    """Each segment of the first axis as its sum, mean, largest, smallest or product.

    The segments are told by their lengths, or by where each begins and the last ends; with `initial` as one more
    element that counts in no mean.
    """
    if reduce not in KINDS:
        raise RuntimeError(f"segment_reduce(reduce=): expected one of {', '.join(KINDS)}, got {reduce!r}")
    if indices is not None or axis != 0:
        raise NotImplementedError("segment_reduce takes lengths or offsets of the first axis: use scatter_reduce")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    sizes: Any = T.diff(offsets) if lengths is None else lengths  # type: ignore[arg-type]
    if sizes.dim() != 1:
        raise NotImplementedError("segment_reduce takes lengths of one dimension: use scatter_reduce")
    if not unsafe and int(sizes.sum()) != len(data):
        raise RuntimeError(f"segment_reduce(): lengths sum to {int(sizes.sum())}, but data has {len(data)} rows")
    count = len(sizes)
    place = T.repeat_interleave(T.arange(count), sizes).reshape(-1, *(1,) * (data.dim() - 1)).expand(data.shape)
    start = STARTS[reduce] if initial is None else initial
    if reduce == "mean":
        sums = data.new_full((count, *data.shape[1:]), initial or 0.0).scatter_add(0, place, data)
        widths = sizes.reshape(-1, *(1,) * (data.dim() - 1)).to(data.dtype)
        return T.where(widths == 0, T.full_like(sums, start), sums / T.clamp(widths, min=1))
    return data.new_full((count, *data.shape[1:]), start).scatter_reduce(0, place, data, KINDS[reduce])


_segment_reduce = segment_reduce

__all__ = [
    "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "_segment_reduce", "_shape_as_tensor",
    "_softmax_backward_data", "segment_reduce",
]  # fmt: skip
