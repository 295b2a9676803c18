"""Functions that fold dimensions away: sum, mean, max, var and their like."""

from __future__ import annotations

from collections.abc import Callable
from math import prod as product
from typing import Any

from .....compiler.ir.symint import real
from .....compiler.ops import reduce as R
from .....compiler.ops.complex.pairs import Pair
from .....compiler.ops.elementwise import cast
from .....compiler.ops.shape import concatenate, pad, reshape, slice_
from ...trace.fragments.fragments import Operation
from ...value.axes import axes_of, axis_of, one
from ...value.cells import PARTS
from ...value.core import Tensor, apply
from ...value.dtypes import ALL, dtype_of
from ...value.promotion import c_name


def keep(m: Any, value: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdim: bool) -> Any:
    """`value`, folded over `axes` of `shape`, with those axes of size one if they are to be kept."""
    if not keepdim:
        return value
    kept = tuple(1 if a in axes else n for a, n in enumerate(shape))
    return moved(m, value, lambda m, value: m(reshape(m.b, value.value, shape=kept)))


def total(m: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """The sum over axes."""
    return m(R.sum_(m.b, x.value, axes=axes)) if axes else x


def back(m: Any, x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """`x`, folded over `axes`, repeated along them to `shape`."""
    kept = tuple(a for a in range(len(shape)) if a not in axes)
    return m(R.spread(m.b, x.value, shape=shape, axes=kept)) if axes else x


def shape_of(x: Any) -> tuple[int, ...]:
    return x.value.type.static_shape()


def converted(m: Any, x: Any, dtype: str) -> Any:
    dtype = PARTS.get(dtype, dtype) if isinstance(x, Pair) else dtype
    return x if x.value.type.dtype == dtype else moved(m, x, lambda m, x: m(cast(m.b, x.value, dtype=dtype)))


def moved(m: Any, x: Any, move: Callable[[Any, Any], Any]) -> Any:
    """What moves elements, done to a value; to both parts of a complex one."""
    return Pair(m, move(m.real, x.re), move(m.real, x.im)) if isinstance(x, Pair) else move(m, x)


# ---- sums


def _sum(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool, dtype: str) -> Any:
    shape = shape_of(x)
    return keep(m, total(m, converted(m, x, dtype), axes), shape, axes, keepdim)


def _mean(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool, dtype: str) -> Any:
    shape = shape_of(x)
    mean = total(m, converted(m, x, dtype), axes) / real(product(shape[a] for a in axes))
    return keep(m, mean, shape, axes, keepdim)


SUM, SUM_DIM = Operation("sum", "SumBackward0", _sum), Operation("sum", "SumBackward1", _sum)
MEAN, MEAN_DIM = Operation("mean", "MeanBackward0", _mean), Operation("mean", "MeanBackward1", _mean)


def sum_(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The sum over `dim`, or of all elements; integers are added in 64 bits."""
    dim, kind = one(dim, axis, "dim and axis"), input._kind_of()
    code = dtype_of(dtype).code if dtype is not None else kind.dtype if kind.is_float else "i64"
    axes = axes_of(dim, len(kind.shape))
    return apply(SUM if dim is None else SUM_DIM, (input,), (axes, keepdim or keepdims, code))


def mean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The mean over `dim`, or of all elements."""
    dim, kind = one(dim, axis, "dim and axis"), input._kind_of()
    code = dtype_of(dtype).code if dtype is not None else kind.dtype
    if not ALL[code].is_floating_point and not ALL[code].is_complex:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex"
            f" dtype. Got: {c_name(code)}"
        )
    axes = axes_of(dim, len(kind.shape))
    return apply(MEAN if dim is None else MEAN_DIM, (input,), (axes, keepdim or keepdims, code))


def multiplied(m: Any, x: Any, axis: int) -> Any:
    """The product along an axis, by halves."""
    shape = shape_of(x)
    if not shape[axis]:
        if isinstance(x, Pair):
            return m.pair(multiplied(m.real, x.re, axis))
        return m.number(1.0 if x.value.type.is_float else 1, x.value.type.with_shape(_without(shape, axis)))
    while shape[axis] > 1:
        half = shape[axis] // 2
        first, second = part(m, x, axis, 0, half), part(m, x, axis, half, half)
        if shape[axis] % 2:
            last = part(m, x, axis, 2 * half, 1)
            x = joined(m, [first * second, last], axis)
        else:
            x = first * second
        shape = shape_of(x)
    return moved(m, x, lambda m, x: m(reshape(m.b, x.value, shape=_without(shape, axis))))


def joined(m: Any, parts: list[Any], axis: int) -> Any:
    """The values one after the other along an axis."""
    if isinstance(parts[0], Pair):
        return Pair(m, *(joined(m.real, [getattr(p, name) for p in parts], axis) for name in ("re", "im")))
    return m(concatenate(m.b, *(p.value for p in parts), axis=axis))


def part(m: Any, x: Any, axis: int, start: int, size: int) -> Any:
    """`size` rows of an axis from `start` on."""
    shape = shape_of(x)
    starts = tuple(start if a == axis else 0 for a in range(len(shape)))
    sizes = tuple(size if a == axis else n for a, n in enumerate(shape))
    return moved(m, x, lambda m, x: m(slice_(m.b, x.value, start=starts, step=(1,) * len(shape), shape=sizes)))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _prod(m: Any, x: Any, axis: int | None, keepdim: bool, dtype: str) -> Any:
    if dtype == "bool":
        x = x if x.value.type.dtype == "bool" else m.ne(x, 0)
        return m.ne(_prod(m, x, axis, keepdim, "i64"), 0)
    x = converted(m, x, dtype)
    if axis is None:
        size = product(shape_of(x))
        x, axis = moved(m, x, lambda m, x: m(reshape(m.b, x.value, shape=(size,)))), 0
    shape = shape_of(x)
    return keep(m, multiplied(m, x, axis), shape, (axis,), keepdim)


PROD = Operation("prod", "ProdBackward0", _prod)
PROD_DIM = Operation("prod", "ProdBackward1", _prod)


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product over `dim`, or of all elements."""
    kind = input._kind_of()
    code = dtype_of(dtype).code if dtype is not None else kind.dtype if kind.is_float else "i64"
    if dim is None or not kind.shape:
        return apply(PROD, (input,), (None, False, code))
    return apply(PROD_DIM, (input,), (axis_of(dim, len(kind.shape)), keepdim, code))


def _cumsum(m: Any, x: Any, axis: int, dtype: str) -> Any:
    """By doubling: after n turns each element holds the sum of the 2**n up to it."""
    x, reach = converted(m, x, dtype), 1
    shape = shape_of(x)
    while shape and reach < shape[axis]:
        kept = tuple(n - reach if a == axis else n for a, n in enumerate(shape))
        ones, at = (1,) * len(shape), tuple(reach if a == axis else 0 for a in range(len(shape)))
        early = slice_(m.b, x.value, start=(0,) * len(shape), step=ones, shape=kept)
        x, reach = x + m(pad(m.b, early, start=at, step=ones, shape=shape)), 2 * reach
    return x


CUMSUM = Operation("cumsum", "CumsumBackward0", _cumsum)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sums of all elements up to each along `dim`."""
    kind = input._kind_of()
    code = dtype_of(dtype).code if dtype is not None else kind.dtype if kind.is_float else "i64"
    return apply(CUMSUM, (input,), (axis_of(dim, len(kind.shape)), code))


# ---- variance and norms


def _from_mean(m: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """The distances from the mean, which are 0 where all elements are equal: it is taken of those from the first."""
    shape = shape_of(x)
    n = product(shape[a] for a in axes)
    if n and axes:
        ones, size = (1,) * len(shape), tuple(1 if a in axes else k for a, k in enumerate(shape))
        first = slice_(m.b, m.stop_gradient(x).value, start=(0,) * len(shape), step=ones, shape=size)
        kept = tuple(k for a, k in enumerate(shape) if a not in axes)
        x = x - back(m, m(reshape(m.b, first, shape=kept)), shape, axes)
    return x - back(m, total(m, x, axes) / real(n), shape, axes)


def _var(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool, correction: float) -> Any:
    if isinstance(x, Pair):
        return sum_of_parts(lambda r, part: _var(r, part, axes, keepdim, correction), m, x)
    shape, away = shape_of(x), _from_mean(m, x, axes)
    n = product(shape[a] for a in axes)
    return keep(m, total(m, away * away, axes) / real(max(n - correction, 0)), shape, axes, keepdim)


def sum_of_parts(function: Any, m: Any, z: Pair) -> Any:
    """What squares of sizes give is what those of both parts give."""
    return function(m.real, z.re) + function(m.real, z.im)


def _std(m: Any, x: Any, *attributes: Any) -> Any:
    """The root of the variance; where that is 0, its slope is taken as 0."""
    square = _var(m, x, *attributes)
    return m.select(m.eq(square, 0), 0, m.sqrt(square))


def _norm(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """The root of the sum of squares; at zero the root's slope is taken as 0."""
    shape, squares = shape_of(x), total(m, x * x, axes)
    return keep(m, m.select(m.eq(squares, 0), 0, m.sqrt(squares)), shape, axes, keepdim)


VAR, STD = Operation("var", "VarBackward0", _var), Operation("std", "StdBackward0", _std)
NORM = Operation("norm", "LinalgVectorNormBackward0", _norm)


def spread_arguments(
    name: str, input: Any, dim: Any, unbiased: bool | None, correction: float | None
) -> tuple[tuple[int, ...], float]:
    """The axes and what is subtracted from the count; `unbiased` may stand where `dim` does."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    kind = input._kind_of()
    if not kind.is_float:
        raise RuntimeError(f"{name}: only floating point tensors are supported, got {kind}")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return axes_of(dim, len(kind.shape)), correction


def _spread_of(operation: Operation) -> Callable[..., Any]:
    def function(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
        axis: Any = None,
        keepdims: bool = False,
    ) -> Tensor:
        """About the mean, with `correction` (1) subtracted from the count."""
        dim = one(dim, axis, "dim and axis")
        axes, correction = spread_arguments(operation.name, input, dim, unbiased, correction)
        return apply(operation, (input,), (axes, keepdim or keepdims, correction))

    function.__name__ = function.__qualname__ = operation.name
    return function


var, std = _spread_of(VAR), _spread_of(STD)


def norm(input: Tensor, p: float = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The Euclidean norm over `dim`, or of all elements."""
    if p not in (2, 2.0, "fro"):
        raise NotImplementedError(f"norm: expected p=2, got {p!r}; write it with abs, pow and sum")
    return apply(NORM, (input,), (axes_of(dim, len(input._kind_of().shape)), keepdim))
