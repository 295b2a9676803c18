"""np.linalg on traced arrays: the last two axes are matrices, those before them a batch that broadcasts.

NumPy's LAPACK computes (`ops/linalg`), except for matrices of a few rows; what has no result is a LinAlgError of the
call, as in NumPy. Of symmetric matrices NumPy reads one triangle, and so do derivatives: the other one's elements get
none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.linalg import matrices as M
from ....ops.linalg import solutions
from ....ops.require import ERRORS, require
from ....ops.term import Terms
from ...array import FUNCTIONS, Array, here, implements
from ...errors import TraceError, message
from ...promotion import as_operand, broadcast, cast, conform, result_dtype
from ...sizes import broadcast_shapes
from ...tracing import user_line
from ..products import matmul
from ..reductions import traced
from ..shaping import reshape, transpose
from ..ufuncs import elementwise

ERRORS["LinAlgError"] = np.linalg.LinAlgError

NOT_GIVEN: Any = object()


class TraceLinAlgError(TraceError, np.linalg.LinAlgError):
    """Shapes that linear algebra cannot take."""


# ---- what is given, and what has to hold


def matrices(name: str, a: Any, square: bool = True) -> Array:
    """An argument as floats of at least two dimensions."""
    x, name = traced(a)[1], name if "." in name else f"np.linalg.{name}"
    if x.ndim < 2:
        said = f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        raise TraceLinAlgError(message(f"{name}: {said}", user_line(), "give x[None] or np.diag(x)"))
    if not all(isinstance(n, int) for n in x.shape):
        said = f"{name} of a matrix whose size is known by name only"
        raise TraceError(message(said, user_line(), "trace it for given sizes: leave out sizes=", array=x.type))
    if square and x.shape[-1] != x.shape[-2]:
        said = f"{name}: Last 2 dimensions of the array must be square"
        raise TraceLinAlgError(message(said, user_line(), "use np.linalg.lstsq or pinv", shape=x.shape))
    if x.dtype == np.float16 and name != "np.linalg.matrix_power":
        raise TraceError(message(f"{name} of float16", user_line(), "convert it: x.astype(np.float32)"))
    return as_float(x)


def as_float(x: Array) -> Array:
    """Whole numbers as f64."""
    return x if x.dtype.kind in "fc" else Array(here(x), cast(here(x), x.value, np.dtype(np.float64)))


def emitted(prim: Any, *arrays: Array, **attributes: Any) -> tuple[Array, ...]:
    """The results of a primitive."""
    now = here(*arrays)
    now.builder.where = user_line()
    values = now.builder.emit(prim, *(a.value for a in arrays), **attributes)
    return tuple([Array(now, v) for v in values])


def formula(function: Any, *arrays: Array) -> Array:
    """What a formula over terms makes of the arrays."""
    now = here(*arrays)
    now.builder.where = user_line()
    m = Terms(now.builder)
    return Array(now, function(m, *(m(a.value) for a in arrays)).value)


def holds(condition: Array, text: str) -> None:
    """Raise LinAlgError in the call where the condition is not true of all."""
    every = FUNCTIONS[np.all](condition)
    emitted(require, every, error="LinAlgError", text=text)


def default_rtol(x: Array) -> float:
    """What NumPy counts as zero beside the largest singular value."""
    return float(np.finfo(x.dtype).eps) * max(x.shape[-2:])


def is_finite(x: Array) -> Array:
    return FUNCTIONS[np.all](elementwise(np.isfinite, x))


def _is_regular(x: Array, made: Array) -> None:
    """Raise LinAlgError where a pivot is zero, as NumPy does if there is anything to solve for."""
    if made.size:
        holds(elementwise(np.logical_not, emitted(solutions.singular, x)[0]), "Singular matrix")


def turned(x: Array) -> Array:
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def mirrored(x: Array, upper: bool = False) -> Array:
    """One triangle on both sides of the diagonal."""
    part, rest = (M.upper, 1) if upper else (M.lower, -1)
    return formula(lambda m, t: part(m, t) + M.turned(m, part(m, t, rest)), x)


# ---- solutions and inverses


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Array:
    x, y = matrices("solve", a), as_float(traced(b)[1])
    dtype = result_dtype(x, y)
    is_vector = y.ndim == 1
    rows = y[:, None] if is_vector else y
    if rows.ndim < 2 or rows.shape[-2] != x.shape[-1]:
        said = f"np.linalg.solve: shapes {x.shape} and {y.shape} do not fit"
        fix = "b has as many rows as a, in its last axis but one"
        raise _Mismatch(message(said, user_line(), fix))
    made = solved(*(_cast(v, dtype) for v in (x, rows)))
    return made[..., 0] if is_vector else made


class _Mismatch(TraceError, ValueError):
    """Shapes of two arguments that do not fit."""


def _cast(x: Array, dtype: np.dtype) -> Array:
    return x if x.dtype == dtype else Array(here(x), cast(here(x), x.value, dtype))


def alike(*arrays: Array) -> list[Array]:
    """Matrices with the same batch before them."""
    now = here(*arrays)
    try:
        lead = broadcast_shapes(*(x.shape[:-2] for x in arrays))
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in arrays)
        raise _Mismatch(message(f"matrices of shapes {shapes} do not broadcast", user_line())) from None
    return [Array(now, broadcast(now, x.value, (*lead, *x.shape[-2:]))) for x in arrays]


def solved(a: Array, b: Array) -> Array:
    """The solution of a x = b; LinAlgError if there is none."""
    a, b = alike(a, b)
    (made,) = emitted(solutions.solve, a, b, turned=0)
    _is_regular(a, made)
    return made


@implements(np.linalg.inv)
def inv(a: Any) -> Array:
    x = matrices("inv", a)
    (made,) = emitted(solutions.inverse, x)
    _is_regular(x, made)
    return made


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NOT_GIVEN) -> Array:
    if rcond is not None and rtol is not NOT_GIVEN:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    x = matrices("pinv", a, square=False)
    x = mirrored(x) if hermitian else x
    if rcond is None:
        rcond = 1e-15 if rtol is NOT_GIVEN else default_rtol(x) if rtol is None else rtol
    now = here(x)
    bounds = [Array(now, conform(now, as_operand(each), x.dtype, x.shape[:-2])) for each in (0.0, rcond)]
    return emitted(solutions.pinv, x, *bounds)[0]


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Array, Array, Any, Array]:
    """The rank is that of the matrix's size, or a traced number; residuals are those of full column rank."""
    x, y = matrices("lstsq", a, square=False), as_float(traced(b)[1])
    if x.ndim != 2 or y.ndim not in (1, 2):
        said = f"np.linalg.lstsq of shapes {x.shape} and {y.shape}"
        raise TraceLinAlgError(message(said, user_line(), "it takes one matrix: use pullback.vmap for several"))
    if x.shape[0] != y.shape[0]:
        raise TraceLinAlgError(message(f"Incompatible dimensions: {x.shape} and {y.shape}", user_line()))
    rows, columns = x.shape
    least = not isinstance(rcond, Array) and rcond == -1
    bound = default_rtol(x) if rcond is None else float(np.finfo(x.dtype).eps) if least else rcond
    made = matmul(np.linalg.pinv(x, rtol=bound), y)  # by its protocol: of complex numbers, too
    s: Any = np.linalg.svdvals(x)
    rank = FUNCTIONS[np.sum](elementwise(np.greater, s, elementwise(np.multiply, s[:1], bound)))
    rest = elementwise(np.subtract, matmul(x, made), y)
    sizes = elementwise(np.absolute, rest) if rest.type.is_complex else rest
    squares = FUNCTIONS[np.sum](elementwise(np.square, sizes), axis=0)
    residuals = reshape(squares, (-1,)) if rows > columns else squares.reshape(-1)[:0]
    return made, residuals, _cast(rank, np.dtype(np.int32)), s


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    x, y = traced(a)[1], traced(b)[1]
    if axes is not None:
        order = [k for k in range(x.ndim) if k not in axes] + list(axes)
        x = transpose(x, order)
    shape = x.shape[y.ndim :]
    size = int(np.prod(shape))
    if y.size != size or x.size != size * size:
        said = "Input arrays must satisfy prod(a.shape[b.ndim:]) == prod(b.shape)"
        raise TraceLinAlgError(message(said, user_line(), f"a has shape {x.shape}, b has {y.shape}"))
    return reshape(np.linalg.solve(reshape(x, (size, size)), y.ravel()), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Array:
    x = traced(a)[1]
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    size = int(np.prod(x.shape[ind:]))
    return reshape(np.linalg.inv(reshape(x, (-1, size))), (*x.shape[ind:], *x.shape[:ind]))


# ---- determinants and powers


_SLOGDET: Any = type(np.linalg.slogdet(np.eye(1)))


@implements(np.linalg.det)
def det(a: Any) -> Array:
    return emitted(solutions.det, matrices("det", a))[0]


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    return _SLOGDET(*emitted(solutions.slogdet, matrices("slogdet", a)))


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Array:
    now, x = traced(a)
    matrices("matrix_power", x)
    if isinstance(n, Array) or not hasattr(n, "__index__"):
        raise TypeError("exponent must be an integer")
    power = n.__index__()
    if power == 0:
        return elementwise(np.add, elementwise(np.multiply, x, 0), np.eye(x.shape[-1], dtype=x.dtype))
    if power == 1 and isinstance(a, Array) and a.tracing is now:
        return a  # itself, as NumPy's
    if power < 0:
        x, power = np.linalg.inv(x), -power  # by its protocol: of complex numbers, too
    made, square = None, x
    while True:
        if power & 1:
            made = square if made is None else matmul(made, square)
        power >>= 1
        if not power:
            return made  # type: ignore[return-value]  # the highest bit is set
        square = matmul(square, square)

__all__ = [
    "NOT_GIVEN", "TraceLinAlgError", "alike", "as_float", "default_rtol", "emitted", "formula", "holds", "inv",
    "is_finite", "matrices", "mirrored", "solved", "turned",
]
