"""Powers, exponentials, norms and products of matrices; cross products and traces."""

from __future__ import annotations

import math
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np

from .....compiler.ops.linalg import matrices as M
from .....compiler.ops.reduce import sum_ as fold
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply
from ...value.dtypes import dtype_of
from ...value.promotion import common_shape
from ..arranging.creation import finished
from ..arranging.shapes import diagonal as _diagonal
from ..arranging.shapes import movedim, reshape, shape_of, squeeze, unsqueeze
from ..elementwise.arithmetic import div, mul
from ..elementwise.complexes import conj
from ..folds.norms import NUCLEAR
from ..folds.norms import vector_norm as _vector_norm
from ..folds.reductions import sum_
from .diagonals import vander as _vander
from .products import matmul
from .solving import LinAlgError, check_float, check_rank, check_square, inv, widened
from .spectra import svdvals

# ---- powers and exponentials

MATRIX_EXP = Operation("linalg_matrix_exp", "LinalgMatrixExpBackward0", lambda m, x: m.matrix_exp(x))


def matrix_exp(A: Tensor) -> Tensor:
    """The exponentials of square matrices."""
    return apply(MATRIX_EXP, (check_square("linalg.matrix_exp", A),))


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th powers of square matrices, of their inverses for negative n."""
    check_square("linalg.matrix_power", A)
    n = index(n)
    if n == 0:
        shape = shape_of(A)
        one = np.broadcast_to(np.eye(shape[-1], dtype=A._kind_of().numpy), shape).copy()
        return mul(A, 0) + finished(one) if A.requires_grad else finished(one)
    if n < 0:
        A, n = inv(A), -n
    made = None
    while n:
        if n & 1:
            made = A if made is None else matmul(made, A)
        n >>= 1
        A = matmul(A, A) if n else A
    assert made is not None
    return made


def multi_dot(tensors: Any) -> Any:
    """The product of matrices, in the order that takes the fewest multiplications; the ends may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    ends = [len(shape_of(t)) for t in tensors]
    for k, rank in enumerate(ends):
        if rank not in ((1, 2) if k in (0, len(ends) - 1) else (2,)):
            raise RuntimeError(f"multi_dot(): tensor {k} must be 2D (or 1D at an end) but got {rank}D")
    if len({t._kind_of().dtype for t in tensors}) > 1:
        raise RuntimeError("multi_dot(): all tensors must have be the same dtype")
    first, last = ends[0] == 1, ends[-1] == 1
    if first:
        tensors[0] = unsqueeze(tensors[0], 0)
    if last:
        tensors[-1] = unsqueeze(tensors[-1], 1)
    for k, (a, b) in enumerate(pairwise(tensors)):
        if shape_of(a)[1] != shape_of(b)[0]:
            shapes = f"{list(shape_of(a))} and {list(shape_of(b))}"
            raise RuntimeError(f"multi_dot(): tensors {k} and {k + 1} with shapes {shapes} cannot be multiplied")
    made = _chain(tensors)
    shape = tuple(n for n, gone in zip(shape_of(made), (first, last), strict=True) if not gone)
    return reshape(made, shape) if first or last else made


def _chain(tensors: list[Any]) -> Any:
    """By dynamic programming over where to cut (Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 15.2)."""
    sizes = [shape_of(tensors[0])[0], *(shape_of(t)[1] for t in tensors)]
    count = len(tensors)
    best: dict[tuple[int, int], tuple[int, int]] = {(k, k): (0, k) for k in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            best[i, j] = min(costs)

    def product(i: int, j: int) -> Any:
        if i == j:
            return tensors[i]
        k = best[i, j][1]
        return matmul(product(i, k), product(k + 1, j))

    return product(0, count - 1)


# ---- norms


def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm "fro", "nuc", 1, 2, inf, or with a negative number the least, of matrices in two dimensions."""
    check_float("linalg.matrix_norm", A)
    check_rank("linalg.matrix_norm", A)
    dims = tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    rank = len(shape_of(A))
    a, b = (axis_of(d, rank) for d in dims)
    if a == b:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    if dtype is not None:
        A = A.to(dtype_of(dtype))
    if ord == "fro":
        return _vector_norm(A, 2, (a, b), keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        values = svdvals(movedim(A, (a, b), (-2, -1)))
        made = sum_(values, -1) if ord == "nuc" else values.amax(-1) if ord > 0 else values.amin(-1)
        return _kept(made, a, b) if keepdim else made
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    along, across = (a, b) if abs(ord) == 1 else (b, a)
    sums = _vector_norm(A, 1, along, True)
    made = sums.amax(across, True) if ord > 0 else sums.amin(across, True)
    return made if keepdim else squeeze(made, (a, b))


def _kept(made: Any, a: int, b: int) -> Any:
    for axis in sorted((a, b)):
        made = unsqueeze(made, axis)
    return made


NUCLEAR["norm"] = lambda input, axes, keepdim: matrix_norm(input, "nuc", axes, keepdim)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of vectors or matrices, as `ord` and the number of dimensions say."""
    check_float("linalg.norm", A)
    dims = dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)
    rank = len(shape_of(A))
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and rank not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {rank}D.")
    if ord is not None and ((dims is not None and len(dims) == 2) or (dims is None and rank == 2)):
        return matrix_norm(A, ord, dims or (-2, -1), keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: Order {ord} not supported for vectors")
    return _vector_norm(A, 2 if ord is None else ord, None if dims is None else tuple(dims), keepdim, dtype=dtype)


def cond(A: Any, p: Any = None) -> Any:
    """The condition numbers: the norm p of a matrix times that of its inverse, for 2 from the singular values."""
    if len(shape_of(A)) < 2:
        raise RuntimeError(f"linalg.cond: The input tensor must have at least 2 dimensions, got {len(shape_of(A))}.")
    if p is None or p in (2, -2):
        values = svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return div(last, first) if p == -2 else div(first, last)
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_square("linalg.cond", A)
    try:
        return mul(matrix_norm(A, p), matrix_norm(inv(A), p))
    except LinAlgError:
        return finished(np.full(shape_of(A)[:-2], math.inf, A._kind_of().type.numpy))


# ---- products of vectors


def _cross(m: Any, x: Any, y: Any, axis: int) -> Any:
    shape = M.shape_of(x)
    lead, rest = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])

    def part(v: Any, k: int) -> Any:
        return M.block(m, M.reshaped(m, v, (lead, 3, rest)), k, 0, 1, rest)

    parts = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        parts.append(part(x, i) * part(y, j) - part(x, j) * part(y, i))
    return M.reshaped(m, M.above(m, *parts), shape)


def _cross_wide(m: Any, x: Any, y: Any, axis: int) -> Any:
    shape = common_shape([M.shape_of(v) for v in (x, y)])
    x, y = (widened(m, v, shape) for v in (x, y))
    return _cross(m, x, y, axis)


CROSS = Operation("linalg_cross", "LinalgCrossBackward0", _cross_wide, "common")


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross products of vectors of three elements along `dim`."""
    a, b = shape_of(input), shape_of(other)
    if len(a) != len(b):
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {len(a)} and {len(b)}"
        )
    axis = axis_of(dim, len(a))
    if a[axis] != 3 or b[axis] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[axis]} and {b[axis]}")
    return apply(CROSS, (input, other), (axis,))


def old_cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross products along `dim`, by default the first that has three elements."""
    if dim is None:
        shape = common_shape([shape_of(input), shape_of(other)])
        dim = next((k for k, n in enumerate(shape) if n == 3), None)
        if dim is None:
            raise RuntimeError(f"no dimension of size 3 in input: got {list(shape)}")
    return cross(input, other, dim=dim)


old_cross.__name__ = old_cross.__qualname__ = "cross"


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products of vectors along `dim`."""
    for v in (x, y):
        check_float("linalg.vecdot", v)
    if x._kind_of().dtype != y._kind_of().dtype:
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, got {x.dtype} and {y.dtype}")
    return sum_(mul(conj(x), y), dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return _diagonal(A, offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Rows of increasing powers of the elements of vectors."""
    n = shape_of(x)[-1] if N is None and shape_of(x) else N
    if n is None or (N is not None and N <= 1):
        raise RuntimeError(f"linalg.vander: expected N greater than 1, got {N}")
    flat = _vander(reshape(x, -1), n, True)
    return reshape(flat, (*(shape_of(x) or (1,)), n))


def _trace(m: Any, x: Any) -> Any:
    return m(fold(m.b, M.diagonal(m, x).value, axes=(0,)))


TRACE = Operation("trace", "TraceBackward0", _trace)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if not isinstance(input, Core) or len(shape_of(input)) != 2:
        raise RuntimeError("trace: expected a matrix")
    kind = input._kind_of()
    if kind.is_float:
        return apply(TRACE, (input,))
    return sum_(_diagonal(input))
