"""Functions that are others in a row: stacking, turning, rolling, differences and areas.

Each is written in the steps that PyTorch takes, so the graph of gradients shows the same nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from .....compiler.ops.shape import reshape as reshape_value
from ...face.required import check_list, check_tensors
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of, sizes
from ...value.core import Core, Tensor, apply
from ...value.dtypes import Size
from ...value.paths import take
from ...value.promotion import common_shape
from ..folds.reductions import joined, part
from .creation import constant
from .pieces import cat, flip, repeat, split
from .shapes import narrow, reshape, shape_of, unsqueeze, view_as_shape

# ---- more dimensions, stacking


def _given(name: str, tensors: tuple[Any, ...]) -> list[Any]:
    """Tensors given one by one or as one sequence."""
    if len(tensors) == 1 and not isinstance(tensors[0], Core):
        tensors = tensors[0]
    return check_list(name, tuple(tensors))


def _at_least(name: str, widen: Any) -> Any:
    def function(*tensors: Any) -> Any:
        """The tensor, or each of several, with dimensions of size one where there are fewer."""
        if len(tensors) == 1 and isinstance(tensors[0], Core):
            return widen(tensors[0])
        return tuple([widen(x) for x in _given(name, tensors)])

    function.__name__ = function.__qualname__ = name
    return function


def _one(x: Any) -> Any:
    return x if shape_of(x) else reshape(x, 1)


def _two(x: Any) -> Any:
    rank = len(shape_of(x))
    return reshape(x, 1, 1) if rank == 0 else unsqueeze(x, 0) if rank == 1 else x


def _three(x: Any) -> Any:
    rank = len(shape_of(x))
    if rank == 0:
        return reshape(x, 1, 1, 1)
    return unsqueeze(unsqueeze(x, 0), -1) if rank == 1 else unsqueeze(x, -1) if rank == 2 else x


atleast_1d, atleast_2d, atleast_3d = (
    _at_least(f"atleast_{k}d", f) for k, f in ((1, _one), (2, _two), (3, _three))
)


def _some(name: str, tensors: Any) -> list[Any]:
    parts = check_list(name, tensors)
    if not parts:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return parts


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors side by side: along the second dimension, or the first if they have one."""
    parts = [_one(x) for x in _some("hstack", tensors)]
    return cat(parts, 0 if len(shape_of(parts[0])) == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one below the other."""
    return cat([_two(x) for x in _some("vstack", tensors)], 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one behind the other, along the third dimension."""
    return cat([_three(x) for x in _some("dstack", tensors)], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors side by side, vectors as columns."""
    parts = _some("column_stack", tensors)
    return hstack([x if len(shape_of(x)) > 1 else reshape(x, -1, 1) for x in parts])


# ---- splitting


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of nearly equal sizes, or between indices."""
    check_tensors("tensor_split", input=input)
    shape, where = shape_of(input), indices_or_sections
    if not shape:
        raise RuntimeError("tensor_split received a 0-dimensional tensor, but expected at least one dimension")
    axis = axis_of(dim, len(shape))
    if isinstance(where, Core):
        if where._kind_of().dtype != "i64" or len(shape_of(where)) > 1:
            raise RuntimeError("tensor_split expected the tensor of indices to be a long one of 0 or 1 dimensions")
        where = where._array().tolist()
    n = shape[axis]
    if isinstance(where, (list, tuple)):
        ends = [*(slice(None, index(k)).indices(n)[1] for k in where), n]
    else:
        count = index(where)
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        ends = [(k + 1) * (n // count) + min(k + 1, n % count) for k in range(count)]
    starts = [0, *ends[:-1]]
    return tuple([narrow(input, axis, a, max(b - a, 0)) for a, b in zip(starts, ends, strict=True)])


def _splitting(name: str, least: int, dim: Any) -> Any:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """`tensor_split` along one dimension, into pieces of equal sizes if a number is given."""
        shape = shape_of(input)
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with"
                f" {len(shape)} dimensions!"
            )
        axis = 0 if name == "hsplit" and len(shape) == 1 else dim
        if not isinstance(indices_or_sections, (list, tuple, Core)):
            count = index(indices_or_sections)
            if count <= 0 or shape[axis] % count:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension"
                    f" {shape[axis]} is not divisible by the split_size {count}!"
                )
        return tensor_split(input, indices_or_sections, axis)

    function.__name__ = function.__qualname__ = name
    return function


hsplit, vsplit, dsplit = _splitting("hsplit", 1, 1), _splitting("vsplit", 2, 0), _splitting("dsplit", 3, 2)


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along `dim`."""
    for n in split_sizes:
        if index(n) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got {list(split_sizes)}"
            )
    return split(input, list(split_sizes), dim)


# ---- other shapes


def ravel(input: Tensor) -> Tensor:
    """All elements as a vector."""
    return reshape(input, -1)


def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension made into several."""
    shape = shape_of(input)
    axis, parts = axis_of(dim, len(shape)), [index(n) for n in sizes]
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    n, known = shape[axis], prod(k for k in parts if k != -1)
    if parts.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if (-1 in parts and (not known or n % known)) or (-1 not in parts and known != n):
        raise RuntimeError(
            f"unflatten: Provided sizes {parts} don't multiply up to the size of dim {dim} ({n}) in the input tensor"
        )
    parts = [n // known if k == -1 else k for k in parts]
    return view_as_shape(input, (*shape[:axis], *parts, *shape[axis + 1 :]))


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which all of them broadcast."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for s in given:
        if any(n < 0 for n in s):
            raise RuntimeError(f"Trying to create tensor with negative dimension: {list(s)}")
    return Size(common_shape(given))


def tile(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """Copies side by side; dimensions that are not named are the last, and are not repeated."""
    counts, rank = sizes(args if dims is None else (dims,)), len(shape_of(input))
    return repeat(input, (1,) * max(rank - len(counts), 0) + counts)


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each row of `dim`, or each element, as often as `repeats` says; alone, the numbers that repeat so often."""
    if repeats is None:
        counts = input._array()
        if counts.ndim != 1 or counts.dtype.kind not in "iu":
            raise RuntimeError("repeat_interleave only accept 1D vectors of integers as repeat")
        _check_repeats(counts)
        return constant(np.repeat(np.arange(len(counts)), counts).astype(counts.dtype))
    if dim is None:
        input, dim = reshape(input, -1), 0
    if not shape_of(input):
        input = reshape(input, 1)
    axis = axis_of(dim, len(shape_of(input)))
    n = shape_of(input)[axis]
    if isinstance(repeats, Core):
        if repeats._kind_of().dtype not in ("i32", "i64"):
            raise RuntimeError("repeats has to be Long or Int tensor")
        if len(shape_of(repeats)) > 1:
            raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
        counts = repeats._array()
    else:
        counts = np.asarray(index(repeats))
    _check_repeats(counts)
    if counts.ndim and len(counts) not in (1, n):
        raise RuntimeError(f"repeats must have the same size as input along dim, but got {len(counts)} and {n}")
    places = np.repeat(np.arange(n), counts)
    if output_size is not None and output_size != len(places):
        raise RuntimeError(f"repeat_interleave: output_size is {output_size}, but the repeats add up to {len(places)}")
    return input.index_select(axis, constant(places))


def _check_repeats(counts: np.ndarray) -> None:
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")


# ---- turning


def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order."""
    if len(shape_of(input)) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order."""
    if not shape_of(input):
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters in the plane of two dimensions, from the first towards the second."""
    rank = len(shape_of(input))
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if rank < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {rank}")
    for d in dims:
        if not -rank <= d < rank:
            raise RuntimeError(f"Rotation dim out of range, dim = {d}")
    a, b = axis_of(dims[0], rank), axis_of(dims[1], rank)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return apply(ROT90, (input,), (k % 4, a, b))


def _rot90(m: Any, x: Any, turns: int, a: int, b: int) -> Any:
    shape = x.value.type.static_shape()
    reversed_axes = {0: (), 1: (b,), 2: (a, b), 3: (a,)}[turns]
    start = tuple(n - 1 if axis in reversed_axes and n else 0 for axis, n in enumerate(shape))
    step = tuple(-1 if axis in reversed_axes else 1 for axis in range(len(shape)))
    order = list(range(len(shape)))
    if turns % 2:
        order[a], order[b] = b, a
    return m(take(m.b, x.value, (("slice", start, step, shape), ("transpose", tuple(order)))))


ROT90 = Operation("rot90", "Rot90Backward0", _rot90)


def _roll(m: Any, x: Any, shifts: tuple[int, ...], axes: tuple[int, ...] | None) -> Any:
    shape = x.value.type.static_shape()
    if axes is None:
        x, axes = m(reshape_value(m.b, x.value, shape=(x.value.type.size,))), (0,)
    for shift, axis in zip(shifts, axes, strict=True):
        x = _rolled(m, x, shift, axis)
    return m(reshape_value(m.b, x.value, shape=shape))


def _rolled(m: Any, x: Any, shift: int, axis: int) -> Any:
    n = x.value.type.static_shape()[axis]
    at = shift % n if n else 0
    return x if not at else joined(m, [part(m, x, axis, n - at, at), part(m, x, axis, 0, n - at)], axis)


ROLL = Operation("roll", "RollBackward0", _roll)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved on, and those that leave at the end in front again."""
    by = tuple([index(s) for s in (shifts if isinstance(shifts, (list, tuple)) else [shifts])])
    axes = () if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
    if not by:
        raise RuntimeError("`shifts` required")
    if not axes and len(by) == 1:
        return apply(ROLL, (input,), (by, None))
    if len(by) != len(axes):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(axes)}")
    return apply(ROLL, (input,), (by, tuple([axis_of(d, len(shape_of(input))) for d in axes])))
