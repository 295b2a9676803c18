"""Distances and angles between vectors, and vectors of length one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....compiler.ops.complex.pair import Pair
from ....compiler.ops.index import take
from ....compiler.ops.reduce import max_, min_
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import zeros
from ...tensor.ops.folds.reductions import back, converted, keep
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.axes import axes_of, axis_of
from ...tensor.value.cells import cell_of
from ...tensor.value.core import apply, wrap
from ...tensor.value.given import real
from ...tensor.value.promotion import common_shape
from .terms import need_tensor, shape_of, size_of, total


def length(m: Any, x: Any, p: float, axes: tuple[int, ...]) -> Any:
    """The p-norm over axes; where it is 0 its slope is taken as 0."""
    if isinstance(x, Pair):
        return length(m.real, m.abs(x), p, axes)
    if p == 0:
        return total(m, converted(m, m.ne(x, 0), x.value.type.dtype), axes)
    size = m.abs(x)
    if p == 1:
        return total(m, size, axes)
    if math.isinf(p):
        return m((max_ if p > 0 else min_)(m.b, size.value, axes=axes))
    if p == 2:
        squares = total(m, x * x, axes)
        nothing = m.eq(squares, 0)
        return m.select(nothing, 0, m.sqrt(m.select(nothing, 1, squares)))
    absent = m.eq(size, 0)
    powers = m.select(absent, 0.0 if p > 0 else math.inf, m.pow(m.select(absent, 1, size), _number(m, size, p)))
    added = total(m, powers, axes)
    nothing = m.eq(added, 0)
    return m.select(nothing, 0, m.pow(m.select(nothing, 1, added), _number(m, added, 1 / p)))


def _number(m: Any, like: Any, value: float) -> Any:
    return m.number(float(value), like.value.type)


def _normalized(m: Any, x: Any, p: float, axes: tuple[int, ...], eps: float) -> Any:
    shape = shape_of(x)
    size = length(m, x, p, axes)
    return x / back(m, m.select(m.lt(size, eps), eps, size), shape, axes)


NORMALIZE = Operation("normalize", "DivBackward0", _normalized, lies="like")


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """x divided by its p-norm along `dim`, or by eps where that is smaller."""
    need_tensor("normalize", "input", input)
    made = apply(NORMALIZE, (input,), (real(p), axes_of(dim, len(size_of(input))), real(eps)))
    return made if out is None else out.copy_(made)


def _cosine(m: Any, x: Any, y: Any, axis: int, eps: float) -> Any:
    shape = shape_of(x)
    axes = (axis,) if shape else ()
    x, y = (v / back(m, _at_least(m, length(m, v, 2, axes), eps), shape, axes) for v in (x, y))
    return total(m, x * y, axes)


def _at_least(m: Any, size: Any, eps: float) -> Any:
    """The larger one with the slope of `size`, as PyTorch has it: it bounds lengths without a gradient."""
    return size + m.stop_gradient(m.maximum(size, eps) - size)


COSINE = Operation("cosine_similarity", "SumBackward1", _cosine, "float", True)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`."""
    need_tensor("cosine_similarity", "x1", x1)
    need_tensor("cosine_similarity", "x2", x2)
    rank = len(common_shape([size_of(x1), size_of(x2)]))
    for x in (x1, x2):
        if not x._kind_of().is_float:
            raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x.dtype}")
    return apply(COSINE, (x1, x2), (axis_of(dim, rank), real(eps)))


def _apart(m: Any, x: Any, y: Any, p: float, eps: float, keepdim: bool) -> Any:
    shape = shape_of(x)
    axes = (len(shape) - 1,) if shape else ()
    return keep(m, length(m, x - y + eps, p, axes), shape, axes, keepdim)


APART = Operation("pairwise_distance", "NormBackward1", _apart, "float", True)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    need_tensor("pairwise_distance", "x1", x1)
    need_tensor("pairwise_distance", "x2", x2)
    return apply(APART, (x1, x2), (real(p), real(eps), bool(keepdim)))


def _pairs(m: Any, x: Any, first: Any, second: Any, p: float) -> Any:
    rows = [m(take(m.b, x.value, i.value, axis=0)) for i in (first, second)]
    return length(m, rows[0] - rows[1], p, (1,))


PAIRS = Operation("pdist", "PdistBackward0", _pairs)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows, (0, 1), (0, 2) ... (1, 2) ..."""
    need_tensor("pdist", "input", input)
    shape = size_of(input)
    if len(shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(shape)}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    pairs = [wrap(cell_of(np.ascontiguousarray(i))) for i in np.triu_indices(shape[0], 1)]
    if not shape[0] or not shape[1]:
        return zeros(size_of(pairs[0]), dtype=input.dtype)
    return apply(PAIRS, (input, *pairs), (real(p),))


__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]
