"""Norms, ranks and condition numbers of traced arrays, and np.linalg's other names of products and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import FUNCTIONS, Array, implements
from ...promotion import constant
from .. import products
from ..reductions import Axis, amax, amin, axes_of, keep, normal_axis, root, sum_, traced
from ..shaping import transpose
from ..ufuncs import elementwise
from .decompositions import svdvals
from .linalg import TraceLinAlgError, as_float, default_rtol, matrices

NORMS = "numbers, np.inf, -np.inf, 0 for vectors; None, 'fro', 'nuc', np.inf, -np.inf, 1, -1, 2, -2 for matrices"


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    y = as_float(traced(x)[1])
    if axis is None and ord is None:
        return root(sum_(elementwise(np.square, y), None, None, keepdims))
    axes = tuple(range(y.ndim)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) == 1:
        return _vector(y, 2 if ord is None else ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix(y, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _vector(y: Array, ord: Any, axis: Axis, keepdims: bool) -> Array:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == 2:
        return root(sum_(elementwise(np.square, y), axis, None, keepdims))
    size = elementwise(np.absolute, y)
    if ord == np.inf and not all(y.shape[k] for k in axes_of(axis, y.ndim)):
        return sum_(size, axis, None, keepdims)
    if ord in (np.inf, -np.inf):
        return (amax if ord > 0 else amin)(size, axis, keepdims)
    if ord == 0:
        return sum_(elementwise(np.not_equal, size, 0), axis, y.dtype, keepdims)
    if ord == 1:
        return sum_(size, axis, None, keepdims)
    return elementwise(np.power, sum_(elementwise(np.power, size, ord), axis, None, keepdims), 1 / ord)


def _matrix(y: Array, ord: Any, axes: Any, keepdims: bool) -> Array:
    rows, columns = (normal_axis(k, y.ndim) for k in axes)
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro"):
        return root(sum_(elementwise(np.square, y), (rows, columns), None, keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = sum_(elementwise(np.absolute, y), along, None, True)
        made = (amax if ord > 0 else amin)(sums, across, True)
    elif ord in (2, -2, "nuc"):
        rest = [k for k in range(y.ndim) if k not in (rows, columns)]
        values = svdvals(transpose(y, (*rest, rows, columns)))
        made = sum_(values, -1) if ord == "nuc" else (amax if ord > 0 else amin)(values, -1)
        return Array(made.tracing, keep(made.tracing, made.value, y, (rows, columns), keepdims))
    else:
        raise ValueError(f"Invalid norm order for matrices: {ord!r}; known are {NORMS}")
    return made if keepdims else FUNCTIONS[np.squeeze](made, axis=(rows, columns))


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Array:
    y = as_float(traced(x)[1])
    axes = axes_of(axis, y.ndim)
    rest = [k for k in range(y.ndim) if k not in axes]
    flat = transpose(y, (*rest, *axes)).reshape((*(y.shape[k] for k in rest), -1))
    made = _vector(flat, ord, -1, False)
    return Array(made.tracing, keep(made.tracing, made.value, y, axes, keepdims))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Array:
    y = matrices("cond", x, square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = np.linalg.svdvals(y)  # by their protocols: of complex numbers, too
        top, bottom = s[..., 0], s[..., -1]
        return elementwise(np.divide, bottom, top) if p == -2 else elementwise(np.divide, top, bottom)
    return elementwise(np.multiply, *(np.linalg.norm(each, p, (-2, -1)) for each in (y, np.linalg.inv(y))))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """A count of singular values: a whole number, without a derivative."""
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    now, y = traced(A)
    if y.ndim < 2:
        some = FUNCTIONS[np.any](elementwise(np.not_equal, y, 0))
        return some.astype(np.int64)
    x = matrices("matrix_rank", y, square=hermitian)
    s = elementwise(np.absolute, np.linalg.eigvalsh(x)) if hermitian else np.linalg.svdvals(x)
    if s.shape[-1] == 0:
        return Array(now, constant(now, 0, np.dtype(np.int64), s.shape[:-1]))
    if tol is None:
        bound = elementwise(np.multiply, amax(s, -1, True), _column(default_rtol(x) if rtol is None else rtol))
    else:
        bound = _column(tol)
    return sum_(elementwise(np.greater, s, bound), -1)


def _column(bound: Any) -> Any:
    return bound if np.ndim(bound) == 0 else traced(bound)[1][..., None]


# ---- np.linalg's other names


@implements(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Array:
    a, b = traced(x1)[1], traced(x2)[1]
    if a.ndim != 1 or b.ndim != 1:
        said = f"Input arrays must be one-dimensional, but they are {a.ndim} and {b.ndim}-dimensional"
        raise TraceLinAlgError(f"np.linalg.outer: {said}")
    return FUNCTIONS[np.outer](a, b)


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    return FUNCTIONS[np.diagonal](x, offset, -2, -1)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    made = sum_(diagonal(x, offset=offset), -1)
    return made if dtype is None else made.astype(dtype)


@implements(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    a, b = traced(x1)[1], traced(x2)[1]
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {a.shape[axis]} and {b.shape[axis]} dimensional instead."
        )
    return FUNCTIONS[np.cross](a, b, axis=axis)


@implements(np.linalg.tensordot)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    return products.tensordot(x1, x2, axes)


@implements(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Array:
    return products.matmul(x1, x2)


@implements(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    return products.vecdot(x1, x2, axis=axis)


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Array:
    return FUNCTIONS[np.matrix_transpose](x)


__all__ = ["norm"]
