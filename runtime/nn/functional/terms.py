"""Words for writing operations over several dimensions as graph operations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ....compiler.ir.symint import real
from ....compiler.ir.types import Type
from ....compiler.ops import shape as S
from ....compiler.ops.source import iota
from ...tensor.ops.folds.reductions import back, shape_of, total
from ...tensor.trace.fragments.fragments import widen
from ...tensor.value.core import Core

Shape = tuple[int, ...]


def reshaped(m: Any, x: Any, shape: Shape) -> Any:
    """The same elements under another shape."""
    return x if shape_of(x) == shape else m(S.reshape(m.b, x.value, shape=shape))


def turned(m: Any, x: Any, axes: Shape) -> Any:
    """Axis k of the result is axis `axes[k]`."""
    return x if axes == tuple(range(len(axes))) else m(S.transpose(m.b, x.value, axes=axes))


def wide(m: Any, x: Any, shape: Shape) -> Any:
    """Broadcast as NumPy does."""
    return m(widen(m.b, x.value, shape))


def along(m: Any, x: Any, shape: Shape, axis: int) -> Any:
    """A vector laid along one axis of `shape`, repeated along the others."""
    return back(m, x, shape, tuple(a for a in range(len(shape)) if a != axis))


def part(m: Any, x: Any, axis: int, start: int, size: int, step: int = 1) -> Any:
    """Elements start, start + step ... of one axis."""
    shape = shape_of(x)
    if start == 0 and step == 1 and size == shape[axis]:
        return x
    at = tuple(start if a == axis else 0 for a in range(len(shape)))
    by = tuple(step if a == axis else 1 for a in range(len(shape)))
    return m(S.slice_(m.b, x.value, start=at, step=by, shape=(*shape[:axis], size, *shape[axis + 1 :])))


def joined(m: Any, parts: Sequence[Any], axis: int) -> Any:
    """Parts one after the other along an axis."""
    return parts[0] if len(parts) == 1 else m(S.concatenate(m.b, *(p.value for p in parts), axis=axis))


def padded(m: Any, x: Any, start: Shape, shape: Shape, step: Shape | None = None) -> Any:
    """x within zeros of `shape`, its first element at `start`."""
    return m(S.pad(m.b, x.value, start=start, step=step or (1,) * len(shape), shape=shape))


def counting(m: Any, shape: Shape, axis: int) -> Any:
    """0, 1, 2 ... along an axis, as i64."""
    return m(iota(m.b, type=Type("i64", shape), axis=axis))


def mean(m: Any, x: Any, axes: Shape) -> Any:
    """The mean over axes."""
    return total(m, x, axes) / real(prod(shape_of(x)[a] for a in axes))


def size_of(x: Core) -> Shape:
    """The shape of a tensor."""
    return x._kind_of().shape


def listed(x: Core) -> str:
    """The shape of a tensor, as messages show it."""
    return str(list(size_of(x)))


def need_tensor(name: str, argument: str, x: Any) -> None:
    """Raise TypeError unless `x` is a tensor."""
    if not isinstance(x, Core):
        raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(x).__name__}")
