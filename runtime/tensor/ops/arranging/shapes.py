"""Functions that move elements or look at them in another shape; those that can share memory do."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...trace.fragments.fragments import Operation
from ...trace.tape import unrepeatable
from ...value.axes import axes_of, axis_of, sizes
from ...value.cells import Kind, cell_of
from ...value.core import REVIEW, Core, Tensor, apply, wrap
from ...value.formats import contiguous_format
from ...value.located import located
from ...value.orders import can_lie
from ...value.paths import Path, Step, can_view, is_dense
from ...value.promotion import common_shape
from ...value.views import known, may_cut, view
from ..elementwise.elementary import clone
from .reinterpreting import of_other_dtype


def viewing(name: str, node: str) -> Operation:
    return Operation(name, node, REVIEW.emit, lies="part")


VIEW, UNSAFE_VIEW = viewing("view", "ViewBackward0"), viewing("view", "UnsafeViewBackward0")
ALIAS = viewing("view", "AliasBackward0")
RESHAPE_ALIAS, T = viewing("view", "ReshapeAliasBackward0"), viewing("t", "TBackward0")
TRANSPOSE = viewing("transpose", "TransposeBackward0")
PERMUTE = viewing("permute", "PermuteBackward0")
SQUEEZE, SQUEEZE_DIM, SQUEEZE_DIMS = (viewing("squeeze", f"SqueezeBackward{k}") for k in (0, 1, 2))
UNSQUEEZE = viewing("unsqueeze", "UnsqueezeBackward0")
EXPAND = viewing("expand", "ExpandBackward0")
DIAGONAL = viewing("diagonal", "DiagonalBackward0")
UNFOLD, AS_STRIDED = viewing("unfold", "UnfoldBackward0"), viewing("as_strided", "AsStridedBackward0")
SLICE, SELECT = viewing("slice", "SliceBackward0"), viewing("select", "SelectBackward0")


def shape_of(x: Core) -> tuple[int, ...]:
    return x._kind_of().shape


def whole_of(x: Core) -> tuple[int, ...]:
    """The shape of the memory that `x` is a part of."""
    path, storage = x._path, x._storage
    if not path or storage is None:
        return shape_of(x)
    return storage.shape()


def inferred(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """`shape` with -1 replaced by what makes `size` elements."""
    known = prod(n for n in shape if n != -1)
    if list(shape).count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in shape and known and size % known == 0:
        return tuple(size // known if n == -1 else n for n in shape)
    if -1 in shape and not known and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified"
            " dimension size -1 can be any value and is ambiguous"
        )
    if -1 in shape or any(n < 0 for n in shape) or known != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return tuple(shape)


def _fits(x: Core, kind: Kind, step: Step) -> bool:
    """Whether the elements need not move for a step, neither here nor in PyTorch's memory."""
    if x._path and not can_view(whole_of(x), x._path, step):
        return False
    return kind.order is None or can_lie(*located(x), step)


def view_as_shape(input: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same memory in another shape, or its bytes as elements of another dtype."""
    if (made := of_other_dtype(input, *shape, dtype=dtype)) is not NotImplemented:
        return made
    have = input._kind_of()
    step = ("reshape", inferred(sizes(shape if size is None else (size,)), have.size))
    if not _fits(input, have, step):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans"
            " across two contiguous subspaces). Use .reshape(...) instead."
        )
    return view(input, (step,), VIEW)


view_as_shape.at_once = of_other_dtype  # type: ignore[attr-defined]


def reshape(input: Tensor, *args: Any, shape: Any = None) -> Tensor:
    """The elements in another shape; the same memory where that is possible."""
    have = input._kind_of()
    step = ("reshape", inferred(sizes(args if shape is None else (shape,)), have.size))
    if not _fits(input, have, step):
        indices = known(input) if may_cut() and not have.is_float else None
        if indices is not None:  # which are looked at where they are used
            return wrap(cell_of(np.array(indices).reshape(step[1])))
        return apply(UNSAFE_VIEW, (clone(input, memory_format=contiguous_format),), ((step,),))
    whole = not input._path or is_dense(whole_of(input), input._path)
    return view(input, (step,), VIEW if whole else RESHAPE_ALIAS)


def as_scalar(made: Any, shape: tuple[int, ...] = ()) -> Any:
    """One element without dimensions (or in another shape), under the name of the node that made it."""
    plain = reshape(made, shape)
    if plain._node is not None and made._node is not None:
        plain._node.__class__ = made._node.__class__
    return plain


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions start_dim .. end_dim made into one."""
    shape = shape_of(input)
    first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if first == last:
        return input
    return reshape(input, *shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])


def permute(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """The dimensions in the order `dims`."""
    return _permute(input, sizes(args if dims is None else (dims,)), PERMUTE)


def _permute(input: Tensor, dims: Sequence[int], operation: Operation) -> Tensor:
    rank = len(shape_of(input))
    if len(dims) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the"
            f" desired ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(dims)}"
        )
    axes = tuple(axis_of(d, rank) for d in dims)
    if len(set(axes)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return view(input, (("transpose", axes),), operation)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    rank = len(shape_of(input))
    a, b = axis_of(dim0, rank), axis_of(dim1, rank)
    axes = list(range(rank))
    if rank:
        axes[a], axes[b] = axes[b], axes[a]
    return _permute(input, axes, TRANSPOSE)


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix."""
    rank = len(shape_of(input))
    if rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return view(input, (("transpose", tuple(range(rank)[::-1])),), T)


def reversed_axes(input: Tensor) -> Tensor:
    """All dimensions in reverse order: `x.T`."""
    rank = len(shape_of(input))
    if rank != 2 and rank != 0:
        unrepeatable()
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and"
            " it will throw an error in a future release. Consider `x.mT` to transpose batches of matrices",
            stacklevel=3,
        )
    return _permute(input, range(rank)[::-1], PERMUTE)


def matrix_transposed(input: Tensor) -> Tensor:
    """The last two dimensions exchanged: `x.mT`."""
    if len(shape_of(input)) < 2:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices")
    return transpose(input, -2, -1)


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions `source` moved to the places `destination`, the others kept in order."""
    rank = len(shape_of(input))
    pairs = [
        [axis_of(d, rank) for d in (ds if isinstance(ds, (tuple, list)) else [ds])]
        for ds in (source, destination)
    ]
    if len(pairs[0]) != len(pairs[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({source}) should contain the same number of dims as"
            f" destination ({destination})"
        )
    for name, axes in zip(("source", "destination"), pairs, strict=True):
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({axes})")
    if not rank:
        return permute(input)
    order = [a for a in range(rank) if a not in pairs[0]]
    for place, axis in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(place, axis)
    return permute(input, *order)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension of a view."""
    rank = len(shape_of(input))
    a, b = axis_of(dim1, rank), axis_of(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    order = (*(c for c in range(rank) if c not in (a, b)), a, b)
    turned: Path = (("transpose", order),) if order != tuple(range(rank)) else ()
    return view(input, (*turned, ("diagonal", index(offset))), DIAGONAL)


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of size one."""
    shape = shape_of(input)
    chosen = range(len(shape))
    if dim is not None:
        chosen = axes_of(dim, len(shape)) if isinstance(dim, (tuple, list)) and dim else ()
        chosen = chosen if isinstance(dim, (tuple, list)) else [axis_of(dim, len(shape))]
    kept = tuple(n for a, n in enumerate(shape) if n != 1 or a not in chosen)
    several = SQUEEZE_DIMS if isinstance(dim, (tuple, list)) else SQUEEZE_DIM
    return view(input, (("reshape", kept),), SQUEEZE if dim is None else several)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size one at `dim`."""
    shape = shape_of(input)
    at = axis_of(dim, len(shape) + 1)
    return view(input, (("reshape", (*shape[:at], 1, *shape[at:])),), UNSQUEEZE)


def expand(input: Tensor, *args: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Dimensions of size one repeated, without copying."""
    wanted, have = list(sizes(args if size is None else (size,))), shape_of(input)
    lead = len(wanted) - len(have)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(have)}}}, size={wanted}): the number of sizes provided"
            f" ({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    for a, n in enumerate(have, lead):
        if wanted[a] == -1:
            wanted[a] = n
        elif n not in (1, wanted[a]):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[a]}) must match the existing size ({n}) at"
                f" non-singleton dimension {a}.  Target sizes: {wanted}.  Tensor sizes: {list(have)}"
            )
    for a, n in enumerate(wanted[:lead]):
        if n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {a}"
            )
    return view(input, _spreading(have, tuple(wanted)), EXPAND)


def _spreading(have: tuple[int, ...], shape: tuple[int, ...]) -> Path:
    """The steps that broadcast."""
    lead = len(shape) - len(have)
    axes = tuple(a + lead for a, n in enumerate(have) if n == shape[a + lead])
    kept = tuple(shape[a] for a in axes)
    steps: list[tuple[Any, ...]] = [("reshape", kept)] if kept != have else []
    if kept != shape:
        steps.append(("spread", shape, axes))
    return tuple(steps)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` rows of dimension `dim` from `start` on."""
    shape = shape_of(input)
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = axis_of(dim, len(shape))
    if isinstance(start, Core):
        if start._kind_of().is_float or shape_of(start) or start._kind_of().dtype == "bool":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start._array().item()
    start, length = index(start), index(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[axis] <= start <= shape[axis]:
        raise IndexError(
            f"start out of range (expected to be in range of [-{shape[axis]}, {shape[axis]}], but got {start})"
        )
    start = start + shape[axis] if start < 0 else start
    if not 0 <= start <= shape[axis] - length:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({shape[axis]})."
        )
    return view(input, (slice_step(shape, axis, start, 1, length),), SLICE)


def slice_step(
    shape: tuple[int, ...], axis: int, start: int, step: int, length: int
) -> tuple[Any, ...]:
    """The step that takes `length` rows of one axis."""
    before, after = shape[:axis], shape[axis + 1 :]
    zeros, ones = (0,) * len(before), (1,) * len(before)
    starts = *zeros, start if length else 0, *((0,) * len(after))
    return "slice", starts, (*ones, step, *((1,) * len(after))), (*before, length, *after)


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """The tensor expanded to a shape."""
    return expand(input, size)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape; those that have it already are themselves."""
    shape = common_shape([shape_of(x) for x in tensors])
    return tuple(x if shape_of(x) == shape else expand(x, shape) for x in tensors)
