"""Norms and distances of any order."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from .....compiler.ops import reduce as R
from .....compiler.ops.complex.pair import Pair
from ...trace.fragments.fragments import Operation
from ...value.axes import axes_of, axis_of
from ...value.core import Tensor, apply
from ...value.dtypes import dtype_of
from ...value.given import real
from ...value.promotion import common_shape
from ..arranging.shapes import expand
from ..arranging.shapes import shape_of as sizes_of
from ..elementwise.elementary import abs_
from .reductions import back, converted, keep, shape_of, total


def p_norm(m: Any, x: Any, p: float, axes: tuple[int, ...]) -> Any:
    """(sum |x|^p)^(1/p); where it is zero, its slope is taken as 0."""
    if isinstance(x, Pair):
        return p_norm(m.real, m.abs(x), p, axes)
    size = m.abs(x)
    if p == 0:
        return total(m, m.select(m.eq(x, 0), 0, m.select(m.ne(x, 0), 1, x)), axes)
    if p == 1:
        return total(m, size, axes)
    if p in (inf, -inf):
        return m((R.max_ if p > 0 else R.min_)(m.b, size.value, axes=axes)) if axes else size
    if p == 2:
        squares = total(m, x * x, axes)
        zero = m.eq(squares, 0)
        return m.select(zero, 0, m.sqrt(m.select(zero, 1, squares)))
    nothing = m.eq(size, 0)
    powers = m.select(nothing, 0.0 if p > 0 else inf, m.pow(m.select(nothing, 1, size), m.number(p, x.value.type)))
    summed = total(m, powers, axes)
    zero = m.or_(m.eq(summed, 0), m.eq(summed, inf))
    rest = m.select(m.eq(summed, 0) if p > 0 else m.ne(summed, inf), 0.0, summed) if p < 0 else summed
    root = m.pow(m.select(zero, 1, summed), m.number(1 / p, summed.value.type))
    return m.select(zero, _limit(m, rest, p), root)


def _limit(m: Any, summed: Any, p: float) -> Any:
    """The root of a sum that is 0 or infinite."""
    low, high = (0.0, inf) if p > 0 else (inf, 0.0)
    return m.select(m.eq(summed, inf), high, m.number(low, summed.value.type))


def _vector_norm(m: Any, x: Any, p: float, axes: tuple[int, ...], keepdim: bool, dtype: str) -> Any:
    shape = shape_of(x)
    return keep(m, p_norm(m, converted(m, x, dtype), p, axes), shape, axes, keepdim)


VECTOR_NORM = Operation("norm", "LinalgVectorNormBackward0", _vector_norm)


def vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of order `ord` over `dim`, or of all elements."""
    kind = x._kind_of()
    if not kind.is_float:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {kind.dtype}"
        )
    if kind.is_complex:
        x = abs_(x)
        kind, dtype = x._kind_of(), None if dtype is None else dtype_of(dtype).to_real()
    axes = axes_of(dim, len(kind.shape))
    empty = not prod(kind.shape[a] for a in axes)
    if empty and (ord < 0 or ord == inf):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have"
            " an identity"
        )
    code = dtype_of(dtype).code if dtype is not None else kind.dtype
    return apply(VECTOR_NORM, (x,), (real(ord), axes, keepdim, code))


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """The norm of order p over `dim`, or of all elements; "fro" is 2, "nuc" the sum of a matrix' singular values."""
    if p == "nuc":
        axes = (0, 1) if dim is None else tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
        if len(axes) != 2 or (dim is None and len(sizes_of(input)) != 2):
            raise RuntimeError(f"norm: the nuclear norm is that of a matrix, got dim={dim}")
        return NUCLEAR["norm"](input, axes, keepdim)
    if isinstance(p, str):
        if p != "fro":
            raise RuntimeError(f"norm: expected a number, 'fro' or 'nuc' as p, got {p!r}")
        p = 2
    if dim is not None and isinstance(dim, (list, tuple)) and not dim:
        dim = None
    return vector_norm(input, 2 if p is None else p, dim, keepdim, dtype=dtype)


NUCLEAR: dict[str, Any] = {}
"""Filled by the module that has singular values."""


# ---- distances


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of order p of the difference."""
    return apply(DIST, (input, other), (real(p),))


def _dist(m: Any, x: Any, y: Any, p: float) -> Any:
    away = x - y
    return p_norm(m, away, p, tuple(range(len(shape_of(away)))))


DIST = Operation("dist", "DistBackward0", _dist, "common", True)


def _cdist(m: Any, x: Any, y: Any, p: float) -> Any:
    """All pairs of rows."""
    a, b = shape_of(x), shape_of(y)
    wide = (*a[:-1], b[-2], a[-1])
    rank = len(wide)
    first = m(R.spread(m.b, x.value, shape=wide, axes=(*range(rank - 2), rank - 1)))
    second = m(R.spread(m.b, y.value, shape=wide, axes=(*range(rank - 3), rank - 2, rank - 1)))
    if not wide[-1]:
        return m.number(0.0, x.value.type.with_shape(wide[:-1]))
    return p_norm(m, first - second, p, (rank - 1,))


CDIST = Operation("cdist", "CdistBackward0", _cdist, "common")


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The distances of order p between each row of one and each of the other."""
    a, b = sizes_of(x1), sizes_of(x2)
    for name, shape in (("X1", a), ("X2", b)):
        if len(shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(shape)}D")
    if a[-1] != b[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x._kind_of().is_float:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x._kind_of().dtype}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    lead = common_shape([a[:-2], b[:-2]])
    x1 = x1 if a[:-2] == lead else expand(x1, (*lead, *a[-2:]))
    x2 = x2 if b[:-2] == lead else expand(x2, (*lead, *b[-2:]))
    return apply(CDIST, (x1, x2), (real(p),))


def _renorm(m: Any, x: Any, p: float, axis: int, limit: float) -> Any:
    shape = shape_of(x)
    axes = tuple(a for a in range(len(shape)) if a != axis)
    size = p_norm(m, x, p, axes)
    over = m.gt(size, limit)
    factor = m.select(over, limit / (m.select(over, size, 1) + 1e-7), 1)
    return x * back(m, factor, shape, axes)


RENORM = Operation("renorm", "RenormBackward0", _renorm)


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Each part along `dim` made so small that its norm of order p is at most `maxnorm`."""
    shape = sizes_of(input)
    if len(shape) < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {len(shape)} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    return apply(RENORM, (input,), (real(p), axis_of(dim, len(shape)), real(maxnorm)))
