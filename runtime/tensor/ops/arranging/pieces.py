"""Joining tensors, cutting them into pieces, repeating and turning them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from .....compiler.ops.shape import concatenate, reshape
from ...calls.cutting import MANY
from ...face.required import check_list
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of, check_sizes, sizes
from ...value.cells import cell_of
from ...value.core import Core, Tensor, apply, wrap
from ...value.paths import Path, take
from ...value.views import known, may_cut, several
from .shapes import shape_of, slice_step, viewing


def _cat(m: Any, *values: Any) -> Any:
    *parts, axis = values
    return m(concatenate(m.b, *(p.value for p in parts), axis=axis))


def _stack(m: Any, *values: Any) -> Any:
    *parts, axis = values
    shape = parts[0].value.type.static_shape()
    wide = (*shape[:axis], 1, *shape[axis:])
    return _cat(m, *(m(reshape(m.b, p.value, shape=wide)) for p in parts), axis)


CAT = Operation("cat", "CatBackward0", _cat, "common", lies="formats")
STACK = Operation("stack", "StackBackward0", _stack, "common")


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """The tensors one after the other along `dim`."""
    given = check_list("cat", tensors)
    kinds = {p._kind_of() for p in given}
    parts = given
    if any(k.shape == (0,) for k in kinds):
        parts = [p for p in given if shape_of(p) != (0,)] or given
    if not parts:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    first = shape_of(parts[0])
    if not all(k.shape for k in kinds):
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    at = axis_of(dim if axis is None else axis, len(first))
    if len(kinds) > 1:
        _check_joinable(parts, first, at)
    made = _joined_at_once(parts, np.concatenate, at)
    return apply(CAT, parts, (at,)) if made is None else made


def _check_joinable(parts: Sequence[Core], first: tuple[int, ...], at: int) -> None:
    """Raise PyTorch's error where sizes differ in another dimension than `at`."""
    for k, s in enumerate(map(shape_of, parts)):
        if len(s) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(s)}"
            )
        for a, (n, have) in enumerate(zip(s, first, strict=True)):
            if a != at and n != have:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {have} but got"
                    f" size {n} for tensor number {k} in the list."
                )


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors along a new dimension."""
    parts = check_list("stack", tensors)
    if not parts:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = shape_of(parts[0])
    for k, p in enumerate(parts):
        if shape_of(p) != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and"
                f" {list(shape_of(p))} at entry {k}"
            )
    axis = axis_of(dim, len(first) + 1)
    made = _joined_at_once(parts, np.stack, axis)
    return apply(STACK, parts, (axis,)) if made is None else made


def _joined_at_once(parts: Sequence[Core], join: Any, axis: int) -> Any | None:
    """Many tensors of one dtype whose values are there and of which no gradient is kept, joined now; else None."""
    if len(parts) < MANY or not may_cut() or len({p._kind_of().dtype for p in parts}) > 1:
        return None
    arrays = [known(p) for p in parts]
    if any(a is None for a in arrays):
        return None
    return wrap(cell_of(np.ascontiguousarray(join(arrays, axis=axis))))


def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given size or sizes along `dim`."""
    shape = shape_of(input)
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = axis_of(dim, len(shape))
    n, size, operation = shape[axis], split_size_or_sections, SPLIT_SIZES
    if not isinstance(size, (tuple, list)):
        size = index(size)
        if size <= 0:
            raise RuntimeError(f"split expects split_size be positive, but got split_size={size}")
        operation = SPLIT
        size = [min(size, n - k) for k in range(0, max(n, 1), size)]
    if min(size, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(size)}"
        )
    if sum(size) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension"
            f" {axis}), but got split_sizes={list(size)}"
        )
    size = [index(n) for n in size]
    starts = [sum(size[:k]) for k in range(len(size))]
    steps = [slice_step(shape, axis, a, 1, k) for a, k in zip(starts, size, strict=True)]
    return several(input, [(step,) for step in steps], operation, WHOLE[operation], axis)


def _parts(m: Any, x: Any, paths: Sequence[Path], axis: int) -> Any:
    return tuple([m(take(m.b, x.value, path)) for path in paths])


def _joined(m: Any, inputs: Any, results: Any, cts: Any, paths: Sequence[Path], axis: int) -> Any:
    return [_cat(m, *cts, axis)]


def _piled(m: Any, inputs: Any, results: Any, cts: Any, paths: Sequence[Path], axis: int) -> Any:
    shape = cts[0].value.type.static_shape()
    wide = (*shape[:axis], 1, *shape[axis:])
    return [_cat(m, *(m(reshape(m.b, ct.value, shape=wide)) for ct in cts), axis)]


SPLIT_SIZES = viewing("split", "SplitWithSizesBackward0")
SPLIT, UNBIND = viewing("split", "SplitBackward0"), viewing("unbind", "UnbindBackward0")
WHOLE = {
    SPLIT: Operation("split", SPLIT.node, _parts, pull=_joined, lies="parts"),
    SPLIT_SIZES: Operation("split", SPLIT_SIZES.node, _parts, pull=_joined, lies="parts"),
    UNBIND: Operation("unbind", UNBIND.node, _parts, pull=_piled, lies="parts"),
}
"""The operations that give all pieces at once."""


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size along `dim`, the last perhaps smaller."""
    if not shape_of(input):
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = shape_of(input)[axis_of(dim, len(shape_of(input)))]
    return split(input, max(-(-n // chunks), 1), dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The rows along `dim`."""
    shape = shape_of(input)
    axis = axis_of(dim, len(shape))
    rest = ("reshape", shape[:axis] + shape[axis + 1 :])
    steps = [(slice_step(shape, axis, k, 1, 1), rest) for k in range(shape[axis])]
    return several(input, steps, UNBIND, WHOLE[UNBIND], axis)


# ---- copies


def _repeat(m: Any, x: Any, times: tuple[int, ...]) -> Any:
    have = x.value.type.static_shape()
    have = (1,) * (len(times) - len(have)) + have
    wide = tuple(n for pair in zip(times, have, strict=True) for n in pair)
    axes = tuple(2 * a + 1 for a in range(len(have)))
    path: Path = (
        ("reshape", have),
        ("spread", wide, axes),
        ("reshape", tuple(k * n for k, n in zip(times, have, strict=True))),
    )
    return m(take(m.b, x.value, path))


REPEAT = Operation("repeat", "RepeatBackward0", _repeat)


def repeat(input: Tensor, *args: Any, repeats: Any = None) -> Tensor:
    """Copies side by side, so many along each dimension."""
    counts = sizes(args if repeats is None else (repeats,))
    if len(counts) < len(shape_of(input)):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    lead = (1,) * (len(counts) - len(shape_of(input)))
    check_sizes(tuple([n * k for n, k in zip((*lead, *shape_of(input)), counts, strict=True)]))
    return apply(REPEAT, (input,), (counts,))


def _flip(m: Any, x: Any, axes: tuple[int, ...]) -> Any:
    shape = x.value.type.static_shape()
    start = tuple(n - 1 if a in axes and n else 0 for a, n in enumerate(shape))
    step = tuple(-1 if a in axes else 1 for a in range(len(shape)))
    return m(take(m.b, x.value, (("slice", start, step, shape),)))


FLIP = Operation("flip", "FlipBackward0", _flip, lies="like")


def flip(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """The elements in reverse order along `dims`."""
    rank = len(shape_of(input))
    axes = tuple([axis_of(d, rank) for d in sizes(args if dims is None else (dims,))])
    for axis in axes:
        if axes.count(axis) > 1:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    return apply(FLIP, (input,), (axes if rank else (),))
