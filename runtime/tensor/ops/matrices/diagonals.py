"""Diagonals and grids: matrices from diagonals and blocks, triangles' indices, all combinations of elements."""

from __future__ import annotations

from itertools import combinations as _choices
from itertools import combinations_with_replacement as _choices_again
from operator import index
from typing import Any

import numpy as np

from ...face.required import check_list
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply
from ...value.dtypes import dtype_of
from ...value.paths import Path, put, take
from ..arranging.arranging import ravel
from ..arranging.creation import constant, finished
from ..arranging.gathering import index_select
from ..arranging.pieces import stack
from ..arranging.shapes import diagonal as diagonal_view
from ..arranging.shapes import expand, reshape, shape_of


def _path(shape: tuple[int, ...], offset: int, axes: tuple[int, int]) -> Path:
    """The way from a value of `shape` to the diagonal of two axes, its last axis."""
    order = (*(a for a in range(len(shape)) if a not in axes), *axes)
    turned: Path = () if order == tuple(range(len(shape))) else (("transpose", order),)
    return (*turned, ("diagonal", offset))


def _embedded(m: Any, x: Any, shape: tuple[int, ...], offset: int, axes: tuple[int, int]) -> Any:
    kind = x.value.type
    return m(put(m.b, m.zeros(kind.with_shape(shape)).value, x.value, _path(shape, offset, axes)))


EMBED = Operation("diag_embed", "DiagEmbedBackward0", _embedded)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices of zeros, the last dimension on a diagonal of each."""
    have = shape_of(input)
    if not have:
        raise IndexError("diag_embed: expected a tensor of at least one dimension")
    rank = len(have) + 1
    a, b = axis_of(dim1, rank), axis_of(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = have[-1] + abs(index(offset))
    shape = list(have[:-1])
    for axis in sorted((a, b)):
        shape.insert(axis, size)
    return apply(EMBED, (input,), (tuple(shape), index(offset), (a, b)))


def _diagonal(m: Any, x: Any, offset: int, axes: tuple[int, int]) -> Any:
    return m(take(m.b, x.value, _path(_shape(x), offset, axes)))


DIAGONAL_COPY = Operation("diagonal", "DiagonalBackward0_copy", _diagonal)


def _shape(x: Any) -> tuple[int, ...]:
    return x.value.type.static_shape()


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix with a vector on a diagonal, or the diagonal of a matrix."""
    rank = len(shape_of(input))
    if rank == 1:
        return diag_embed(input, diagonal)
    if rank != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {rank}D")
    return apply(DIAGONAL_COPY, (input,), (index(diagonal), (0, 1)))


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements on a diagonal of a matrix."""
    return diag(reshape(input, -1), offset)


def _scattered(m: Any, x: Any, source: Any, path: Path) -> Any:
    return m(put(m.b, x.value, source.value, path))


DIAGONAL_SCATTER = Operation("diagonal_scatter", "DiagonalScatterBackward0", _scattered)
SELECT_SCATTER = Operation("select_scatter", "SelectScatterBackward0", _scattered)
SLICE_SCATTER = Operation("slice_scatter", "SliceScatterBackward0", _scattered)


def _check_part(name: str, part: Any, src: Any) -> None:
    if shape_of(part) != shape_of(src):
        raise RuntimeError(
            f"{name}: expected src to have a size equal to the slice of self. src size = {list(shape_of(src))}, slice"
            f" size = {list(shape_of(part))}"
        )


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """input with a diagonal replaced."""
    _check_part("diagonal_scatter", diagonal_view(input, offset, dim1, dim2), src)
    rank = len(shape_of(input))
    path = _path(shape_of(input), index(offset), (axis_of(dim1, rank), axis_of(dim2, rank)))
    return apply(DIAGONAL_SCATTER, (input, src), (path,))


# ---- blocks


def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along the diagonal, zeros elsewhere."""
    parts = [x.reshape(1, -1) if len(shape_of(x)) < 2 else x for x in check_list("block_diag", tensors)]
    if not parts:
        return finished(np.zeros((1, 0), np.float32))
    for k, x in enumerate(parts):
        rank = len(shape_of(x))
        if rank > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {rank}")
    return apply(BLOCKS, parts)


def _blocks(m: Any, *parts: Any) -> Any:
    sizes = [_shape(p) for p in parts]
    rows, columns = sum(s[0] for s in sizes), sum(s[1] for s in sizes)
    kind = parts[0].value.type
    made, top, left = m.zeros(kind.with_shape((rows, columns))), 0, 0
    for p, (n, k) in zip(parts, sizes, strict=True):
        if n and k:
            made = m(put(m.b, made.value, p.value, (("slice", (top, left), (1, 1), (n, k)),)))
        top, left = top + n, left + k
    return made


BLOCKS = Operation("block_diag", "BlockDiagBackward0", _blocks, "common")


# ---- indices of triangles


def _triangle(name: str, row: int, col: int, offset: int, dtype: Any, device: Any, keep: Any) -> Any:
    for what, n in (("row", row), ("col", col)):
        if index(n) < 0:
            raise RuntimeError(f"{what} must be non-negative, got {n}")
    kind = dtype_of(dtype if dtype is not None else np.int64)
    if kind.numpy not in (np.int64, np.int32):
        raise NotImplementedError(f'"{name}" not implemented for {kind!r}')
    places = np.stack(keep(np.ones((row, col), bool), offset).nonzero())
    return finished(places.astype(kind.numpy), False, device)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Any:
    """Rows and columns of the elements on and below a diagonal."""
    return _triangle("tril_indices", row, col, offset, dtype, device, np.tril)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Any:
    """Rows and columns of the elements on and above a diagonal."""
    return _triangle("triu_indices", row, col, offset, dtype, device, np.triu)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The indices along each dimension of a shape, of indices into all elements."""
    array = indices._array()
    if array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    given = (shape,) if isinstance(shape, int) else tuple(index(n) for n in shape)
    if any(n < 0 for n in given):
        raise ValueError(f"'shape' cannot have negative values, but got {given}")
    return tuple([constant(p.astype(np.int64)) for p in np.unravel_index(array, given)])


# ---- grids and choices


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Each vector along a dimension of its own, in the shape of all."""
    if len(tensors) == 1 and not isinstance(tensors[0], Core):
        tensors = tuple(tensors[0])
    parts = check_list("meshgrid", tuple(tensors))
    if not parts:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in parts:
        if len(shape_of(x)) > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}")
        if x._kind_of().dtype != parts[0]._kind_of().dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    if indexing not in ("xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(parts) >= 2
    if swapped:
        parts[0], parts[1] = parts[1], parts[0]
    shape = tuple((shape_of(x) or (1,))[0] for x in parts)
    made = [_along(x, k, shape) for k, x in enumerate(parts)]
    if swapped:
        made[0], made[1] = made[1], made[0]
    return tuple(made)


def _along(x: Any, axis: int, shape: tuple[int, ...]) -> Any:
    return expand(reshape(x, tuple(-1 if k == axis else 1 for k in range(len(shape)))), shape)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of an element of each vector, a row each."""
    if len(tensors) == 1 and not isinstance(tensors[0], Core):
        tensors = tuple(tensors[0])
    parts = check_list("cartesian_prod", tensors)
    for x in parts:
        if len(shape_of(x)) != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(shape_of(x))}")
    if len(parts) == 1:
        return parts[0]
    return stack([ravel(x) for x in meshgrid(parts)], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, a row each."""
    if len(shape_of(input)) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(shape_of(input))}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return finished(np.zeros(0, input._kind_of().numpy))
    rows = list((_choices_again if with_replacement else _choices)(range(shape_of(input)[0]), r))
    places = np.array(rows, np.int64).reshape(len(rows), r)
    return stack([index_select(input, 0, constant(np.ascontiguousarray(p))) for p in places.T], 1)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of the elements of a vector: its columns, the highest first."""
    if len(shape_of(x)) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = shape_of(x)[0] if N is None else N
    if n < 0:
        raise RuntimeError(f"N must be non-negative, got {n}")
    if n == 0:
        return finished(np.zeros((shape_of(x)[0], 0), x._kind_of().numpy))
    powers = [x**k for k in range(n)]
    return stack(powers if increasing else powers[::-1], 1)
