"""Along a dimension: cumulative products and logarithms of sums, differences, areas, slopes."""

from __future__ import annotations

from math import prod as product
from typing import Any

import numpy as np

from .....compiler.ir.graph import Builder
from .....compiler.ir.types import Type
from .....compiler.ops import control, memory
from .....compiler.ops.complex.pairs import Pair
from .....compiler.ops.shape import reshape, transpose
from .....compiler.ops.source import number
from .....compiler.ops.term import Terms
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply
from ...value.dtypes import dtype_of
from ..arranging.pieces import cat
from ..arranging.shapes import narrow
from ..arranging.shapes import shape_of as sizes_of
from ..elementwise.arithmetic import add, mul, sub
from ..elementwise.elementary import cast_to
from ..elementwise.pointwise import logical_xor
from .reductions import converted, cumsum, joined, part, shape_of, sum_

INDEX = Type("i64")
ROW: dict[str, Any] = {"axes": (0,), "widths": (memory.DROPPED,)}


LONG, WIDE = 1024, 8
"""So many rows, of fewer numbers, are joined by doubling: in order each would wait for the one before."""


def _cumulated(m: Any, x: Any, axis: int, combine: Any) -> Any:
    """By doubling: after n turns each element holds what the 2**n up to it give."""
    shape, reach = shape_of(x), 1
    while shape and reach < shape[axis]:
        n = shape[axis]
        first, rest = part(m, x, axis, 0, reach), part(m, x, axis, reach, n - reach)
        x, reach = joined(m, [first, combine(m, part(m, x, axis, 0, n - reach), rest)], axis), 2 * reach
    return x


def _log_of_sum(m: Any, a: Any, b: Any) -> Any:
    """log(exp a + exp b), which is an infinity where both are the same one."""
    same = m.and_(m.eq(a, b), m.eq(m.abs(a), float("inf")))
    x, y = m.select(same, 0, a), m.select(same, 0, b)
    first = m.ge(x, y)
    big, small = m.select(first, x, y), m.select(first, y, x)
    return m.select(same, a, big + m.log1p(m.exp(small - big)))


def _round(rows: Type, row: Type, combine: Any) -> Any:
    """A round: from (i, what there is, the last of it, rows) to what there is with row i + 1, and that."""
    b = Builder("running", [INDEX, rows, row, rows])
    m = Terms(b)
    i, made, last, given = map(m, b.params)
    at = (i + 1).value
    last = combine(m, last, m(memory.read(b, given.value, at, **ROW)))
    return b.finish([memory.update(b, made.value, last.value, at, **ROW), last.value])


def _in_order(m: Any, x: Any, axis: int, combine: Any) -> Any:
    """Row by row along an axis, as a loop of the graph: the same for all sizes, and each row is joined once."""
    shape = shape_of(x)
    if not shape or not shape[axis]:
        return x
    order = (axis, *(a for a in range(len(shape)) if a != axis))
    rows = m(transpose(m.b, x.value, axes=order))
    size = shape_of(rows)[1:]
    first = m(reshape(m.b, part(m, rows, 0, 0, 1).value, shape=size))
    body = _round(rows.value.type, first.value.type, combine)
    args = rows.value, first.value, rows.value
    made, _ = m.b.emit(control.scan, number(m.b, shape[axis] - 1, INDEX), *args, regions=[body], carries=2)
    return m(transpose(m.b, made, axes=tuple(order.index(a) for a in range(len(shape)))))


def _cumprod(m: Any, x: Any, axis: int, dtype: str) -> Any:
    x = converted(m, x, dtype)
    return (_cumulated if isinstance(x, Pair) else _in_order)(m, x, axis, lambda _, a, b: a * b)


def _logcumsumexp(m: Any, x: Any, axis: int) -> Any:
    shape = shape_of(x)
    long = shape and shape[axis] > LONG and product(n for a, n in enumerate(shape) if a != axis) < WIDE
    return (_cumulated if long else _in_order)(m, x, axis, _log_of_sum)


CUMPROD = Operation("cumprod", "CumprodBackward0", _cumprod)
LOGCUMSUMEXP = Operation("logcumsumexp", "LogcumsumexpBackward0", _logcumsumexp)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The products of all elements up to each along `dim`."""
    kind = input._kind_of()
    code = dtype_of(dtype).code if dtype is not None else kind.dtype if kind.is_float else "i64"
    return apply(CUMPROD, (input,), (axis_of(dim, len(kind.shape)), code))


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithms of the sums of the exponentials up to each element along `dim`."""
    kind = input._kind_of()
    if not kind.is_float:
        raise NotImplementedError(f"logcumsumexp: expected a floating point tensor, got {kind}")
    return apply(LOGCUMSUMEXP, (input,), (axis_of(dim, len(kind.shape)),))


# ---- differences


def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along `dim`, n times."""
    shape = sizes_of(input)
    if not shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = axis_of(dim, len(shape))
    for name, extra in (("prepend", prepend), ("append", append)):
        if extra is not None:
            _check_extra(name, sizes_of(extra), shape, axis)
    if n == 0:
        return apply(SAME, (input,))
    parts = [p for p in (prepend, input, append) if p is not None]
    made = cat(parts, axis) if len(parts) > 1 else input
    for _ in range(min(n, sizes_of(made)[axis])):
        count = sizes_of(made)[axis]
        later, earlier = narrow(made, axis, 1, count - 1), narrow(made, axis, 0, count - 1)
        made = logical_xor(later, earlier) if made._kind_of().dtype == "bool" else sub(later, earlier)
    return made


SAME = Operation("zeros_like", "CloneBackward0", lambda m, x: x)


def _check_extra(name: str, extra: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    if len(extra) != len(shape):
        raise RuntimeError(f"diff expects prepend or append to be the same dimension as input: {name} has {len(extra)}")
    for a, (n, have) in enumerate(zip(extra, shape, strict=True)):
        if a != axis and n != have:
            raise RuntimeError(
                f"diff expects the shape of tensor to prepend or append to match that of input except along the"
                f" differencing dimension; input.size({a}) = {have}, {name} has {n}"
            )


# ---- areas


def _slabs(y: Tensor, x: Any, dx: Any, axis: int, name: str) -> Tensor:
    """Twice the areas between neighbours."""
    n = sizes_of(y)[axis]
    heights = add(narrow(y, axis, 0, max(n - 1, 0)), narrow(y, axis, 1, n - 1)) if n else y
    if x is None:
        return mul(heights, dx)
    shape = sizes_of(x)
    if not shape:
        return mul(heights, 0)
    if len(shape) == 1:
        if shape[0] != n:
            raise RuntimeError(f"{name}(): There must be one `x` value for each sample point, got {shape[0]} and {n}")
        x = x.reshape([n if a == axis else 1 for a in range(len(sizes_of(y)))])
    return mul(diff(x, 1, axis - len(sizes_of(y))), heights)


def _checked(y: Core, x: Any, dx: Any, dim: int, name: str) -> int:
    if dx is not None and x is not None:
        raise TypeError(f"{name}() takes x or dx, not both")
    axis = axis_of(dim, len(sizes_of(y)))
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    return axis


def trapezoid(y: Tensor, x: Any = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The area under the line through `y`, at `x` or in steps of `dx` (1), along `dim`."""
    axis = _checked(y, x, dx, dim, "trapezoid")
    if not sizes_of(y) or not sizes_of(y)[axis]:
        shape = sizes_of(y)[:axis] + sizes_of(y)[axis + 1 :]
        return y.new_zeros(shape)
    if x is None:
        return apply(TIMES, (sum_(_slabs(y, None, 1, axis, "trapezoid"), axis), (1 if dx is None else dx) / 2))
    return apply(HALVED, (sum_(_slabs(y, x, 1, axis, "trapezoid"), axis),))


TIMES = Operation("mul", "MulBackward1", lambda m, x, y: x * y, "common", True)
HALVED = Operation("div", "DivBackward1", lambda m, x: x / 2, "float")


def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The areas up to each point but the first."""
    axis = _checked(y, x, dx, dim, "cumulative_trapezoid")
    if x is None:
        slabs = _slabs(y, None, 1, axis, "cumulative_trapezoid")
        return cumsum(apply(TIMES, (slabs, (1 if dx is None else dx) / 2)), axis)
    return apply(HALVED, (cumsum(_slabs(y, x, 1, axis, "cumulative_trapezoid"), axis),))


# ---- slopes


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slopes along dimensions, by the differences of neighbours weighted with their distances."""
    rank = len(sizes_of(input))
    spacing = 1 if spacing is None else spacing
    dims = list(range(rank)) if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    axes = [axis_of(d, rank) for d in dims]
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"dim {axes[0]} appears multiple times in the list of dims")
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    if isinstance(spacing, (list, tuple)) and len(steps) != len(axes):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(axes)}, got"
            f" {len(steps)}"
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for axis in axes:
        if sizes_of(input)[axis] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple([_slope(input, s, a, edge_order) for s, a in zip(steps, axes, strict=True)])


def _slope(x: Tensor, spacing: Any, axis: int, edge_order: int) -> Tensor:
    n = sizes_of(x)[axis]
    if isinstance(spacing, Core) and sizes_of(spacing):
        if sizes_of(spacing) != (n,):
            raise RuntimeError("torch.gradient expected coordinates of the length of each dimension")
        at = spacing._array().astype(np.float64)
    else:
        step = float(spacing._array()) if isinstance(spacing, Core) else float(spacing)
        at = step * np.arange(n, dtype=np.float64)
    if not x._kind_of().is_float:
        x = cast_to(x, "f32")
    h = np.diff(at)
    before, after = h[:-1], h[1:]
    weights = np.zeros((n, n))
    rows = np.arange(1, n - 1)
    weights[rows, rows - 1] = -after / (before * (before + after))
    weights[rows, rows] = (after - before) / (before * after)
    weights[rows, rows + 1] = before / (after * (before + after))
    if edge_order == 1:
        weights[0, :2], weights[-1, -2:] = (-1 / h[0], 1 / h[0]), (-1 / h[-1], 1 / h[-1])
    else:
        a, b = h[0], h[1]
        weights[0, :3] = -(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))
        a, b = h[-2], h[-1]
        weights[-1, -3:] = b / (a * (a + b)), -(a + b) / (a * b), (2 * b + a) / (b * (a + b))
    return _weighted(x, weights, axis)


def _weighted(x: Any, weights: np.ndarray, axis: int) -> Any:
    """Along an axis, the sums with the rows of `weights`, of which few are not zero: by diagonals."""
    n, made = len(weights), None
    shape = [n if a == axis else 1 for a in range(len(sizes_of(x)))]
    for k in range(-2, 3):
        if abs(k) < n and np.diagonal(weights, k).any():
            column = np.zeros(n)
            rows = np.arange(max(0, -k), n - max(0, k))
            column[rows] = weights[rows, rows + k]
            term = mul(x.roll(-k, axis), x.new_tensor(column.tolist()).reshape(shape))
            made = term if made is None else add(made, term)
    return x * 0 if made is None else made
