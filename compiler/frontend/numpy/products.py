"""Sums of products on traced arrays: dot, matmul, tensordot, einsum and their kin, all made of `contract`."""

from __future__ import annotations

import operator
import string
from typing import Any

import numpy as np

from ...ops.contract import contract
from ..array import Array, here, implements, unknown
from ..errors import TraceValueError, message
from ..promotion import as_operand, broadcast, cast, conform, loop_here, positions, result_dtype, shape_of
from ..sizes import Length, broadcast_shapes
from ..tracing import Tracing, user_line
from .padding import pad
from .reductions import normal_axis, sum_, traced
from .shaping import _source, concatenate, core, moveaxis, reshape, transpose, view
from .ufuncs import elementwise, where


def _pair(name: str, a: Any, b: Any) -> tuple[Tracing, Array, Array]:
    """Both operands in one dtype."""
    a, b = as_operand(a), as_operand(b)
    now, dtype = here(a, b), result_dtype(a, b)
    x, y = (Array(now, conform(now, v, dtype, shape_of(v))) for v in (a, b))
    return now, x, y


def _mismatch(name: str, x: Array, y: Array) -> TraceValueError:
    fix = "the last axis of the first must equal the first (or last but one) of the second; transpose one"
    return TraceValueError(message(f"{name}: shapes {x.shape} and {y.shape} do not fit", user_line(), fix))


def _sum_of_products(now: Tracing, x: Array, y: Array, left: Any, right: Any, batch: Any = ()) -> Array:
    if x.dtype == bool:  # a sum of conjunctions is whether one holds
        whole = np.dtype(np.int32)
        x, y = (Array(now, cast(now, v.value, whole)) for v in (x, y))
        return elementwise(np.not_equal, _sum_of_products(now, x, y, left, right, batch), 0)
    attrs = {"left": tuple(left), "right": tuple(right), **({"batch": tuple(batch)} if batch else {})}
    return Array(now, now.emit(contract, x.value, y.value, **attrs))


@implements(np.dot)
def dot(a: Any, b: Any) -> Array:
    now, x, y = _pair("np.dot", a, b)
    if not x.ndim or not y.ndim:
        return elementwise(np.multiply, x, y)
    right = max(y.ndim - 2, 0)
    if x.shape[-1] != y.shape[right]:
        raise _mismatch("np.dot", x, y)
    return _sum_of_products(now, x, y, (x.ndim - 1,), (right,))


@implements(np.matmul)
def matmul(x1: Any, x2: Any) -> Array:
    loop_here(np.matmul, (as_operand(x1), as_operand(x2)))
    now, x, y = _pair("matmul", x1, x2)
    if not x.ndim or not y.ndim:
        raise TraceValueError(message("matmul: an operand has no axes", user_line(), "multiply with *"))
    if x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        raise _mismatch("matmul", x, y)
    if y.ndim <= 2:
        return _sum_of_products(now, x, y, (x.ndim - 1,), (max(y.ndim - 2, 0),))
    if x.ndim == 1:
        return reshape(matmul(reshape(x, (1, -1)), y), (*y.shape[:-2], y.shape[-1]))
    try:
        lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise _mismatch("matmul", x, y) from None
    x = Array(now, broadcast(now, x.value, (*lead, *x.shape[-2:])))
    y = Array(now, broadcast(now, y.value, (*lead, *y.shape[-2:])))
    n = len(lead)
    return _sum_of_products(now, x, y, (n + 1,), (n,), [(k, k) for k in range(n)])


@implements(np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    core("vecdot", x1, x2, (axis,), (axis,))
    made = elementwise(np.multiply, x1, x2)
    return sum_(made, axis, made.dtype)


@implements(np.vdot)
def vdot(a: Any, b: Any) -> Array:
    _now, x, y = _pair("np.vdot", a, b)
    return dot(reshape(x, -1), reshape(y, -1))


@implements(np.inner)
def inner(a: Any, b: Any) -> Array:
    now, x, y = _pair("np.inner", a, b)
    if not x.ndim or not y.ndim:
        return elementwise(np.multiply, x, y)
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("np.inner", x, y)
    return _sum_of_products(now, x, y, (x.ndim - 1,), (y.ndim - 1,))


@implements(np.outer)
def outer(a: Any, b: Any) -> Array:
    now, x, y = _pair("np.outer", a, b)
    return _sum_of_products(now, reshape(x, -1), reshape(y, -1), (), ())


@implements(np.kron)
def kron(a: Any, b: Any) -> Array:
    _now, x, y = _pair("np.kron", a, b)
    rank = max(x.ndim, y.ndim)
    m, n = ((1,) * (rank - v.ndim) + v.shape for v in (x, y))
    wide_x = reshape(x, tuple(k for s in m for k in (s, 1)))
    wide_y = reshape(y, tuple(k for s in n for k in (1, s)))
    return reshape(elementwise(np.multiply, wide_x, wide_y), tuple(i * j for i, j in zip(m, n, strict=True)))


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    now, x, y = _pair("np.tensordot", a, b)
    if isinstance(axes, (int, np.integer)):
        left, right = list(range(x.ndim - int(axes), x.ndim)), list(range(int(axes)))
    else:
        left, right = ([k] if isinstance(k, int) else list(k) for k in axes)
    left, right = [normal_axis(k, x.ndim) for k in left], [normal_axis(k, y.ndim) for k in right]
    if [x.shape[k] for k in left] != [y.shape[k] for k in right]:
        raise _mismatch("np.tensordot", x, y)
    return _sum_of_products(now, x, y, left, right)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Array:
    made = arrays[0]
    for each in arrays[1:]:
        made = dot(made, each)
    return made


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (moveaxis(v, k, -1) for v, k in zip(_pair("np.cross", a, b)[1:], (axisa, axisb), strict=True))
    if not {x.shape[-1], y.shape[-1]} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if x.shape[-1] == y.shape[-1] == 2:
        return elementwise(np.subtract, *[elementwise(np.multiply, x[..., k], y[..., 1 - k]) for k in (0, 1)])
    x, y = (concatenate([v, elementwise(np.multiply, v[..., :1], 0)][: 4 - v.shape[-1]], -1) for v in (x, y))
    (x1, x2), (y1, y2) = ((v[..., [1, 2, 0]], v[..., [2, 0, 1]]) for v in (x, y))
    made = elementwise(np.subtract, elementwise(np.multiply, x1, y2), elementwise(np.multiply, x2, y1))
    return moveaxis(made, -1, axisc)


# ---- einsum


def _lettered(*given: Any) -> tuple[str, tuple[Any, ...]]:
    """Operands and lists of axes in turn, and perhaps a last list for the result, as one string and the operands."""
    count = len(given) // 2
    lists = [*given[1 : 2 * count : 2], *given[2 * count :]]

    def word(axes: Any) -> str:
        if isinstance(axes, str) or not np.iterable(axes):
            raise TypeError("subscripts for each operand must be a list or tuple")
        if any(a is not Ellipsis and not 0 <= operator.index(a) < 52 for a in axes):
            raise ValueError("subscript is not within the valid range [0, 52)")
        return "".join(["..." if a is Ellipsis else string.ascii_letters[operator.index(a)] for a in axes])

    words = [word(axes) for axes in lists]
    text = ",".join(words[:count])
    return text + ("->" + words[count] if len(given) % 2 else ""), given[0 : 2 * count : 2]


@implements(np.einsum)
def einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> Array:
    """Pairs are contracted in the order of `np.einsum_path`."""
    if not isinstance(subscripts, str):
        subscripts, operands = _lettered(subscripts, *operands)
    arrays = [_source(x)[1] for x in operands]
    terms, out = _subscripts(subscripts, arrays)
    dtype = result_dtype(*arrays)
    now = here(*arrays)
    work = [(_plain(t, Array(now, cast(now, x.value, dtype)))) for t, x in zip(terms, arrays, strict=True)]
    for pick in _order(terms, out, arrays):
        chosen = [work[k] for k in pick]
        work = [w for k, w in enumerate(work) if k not in pick]
        left = set(out).union(*(t for t, _ in work))
        made = chosen[0]
        for other in chosen[1:]:
            made = _contracted(now, made, other, left)
        work.append(_reduced(made, left))
    ((have, x),) = work
    have, x = _reduced((have, x), set(out))
    if sorted(have) != sorted(out):
        raise unknown("np.einsum", f" with {subscripts!r}, whose result has an index that no operand has")
    made = transpose(x, [have.index(c) for c in out])
    return view(arrays[0], now, made.value) if [set(t) for t in terms] == [set(out)] else made.copy()


def _subscripts(subscripts: str, arrays: list[Array]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis is given letters of its own."""
    left, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        verdict = f"np.einsum({subscripts!r}) takes {len(terms)} operands, got {len(arrays)}"
        raise TraceValueError(message(verdict, user_line()))
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    widest = max((x.ndim - len(t) + 3 for t, x in zip(terms, arrays, strict=True) if "..." in t), default=0)
    dots = "".join(spare[:widest])
    full = []
    for t, x in zip(terms, arrays, strict=True):
        n = x.ndim - len(t) + 3 if "..." in t else 0
        full.append(t.replace("...", dots[widest - n :] if n else ""))
        if len(full[-1]) != x.ndim:
            verdict = f"np.einsum({subscripts!r}): {t!r} does not name the axes of {x.type}"
            raise TraceValueError(message(verdict, user_line(), "use one letter for each axis"))
    if not arrow:
        letters = "".join(full)
        out = "..." * bool(dots) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    return full, out.replace("...", dots)


def _order(terms: list[str], out: str, arrays: list[Array]) -> list[tuple[int, ...]]:
    """Which operands to contract with which; np.einsum_path also checks that the sizes agree.

    Of two operands there is one order. That of more goes by their sizes, so named ones are frozen.
    """
    if len(arrays) < 3 and any(isinstance(n, Length) for x in arrays for n in x.shape):
        _check_letters(terms, arrays)
        return [tuple(range(len(arrays)))]
    shapes = [np.broadcast_to(np.float32(0), tuple([n.__index__() for n in x.shape])) for x in arrays]
    try:
        path, _ = np.einsum_path(",".join(terms) + "->" + out, *shapes, optimize="greedy")
    except ValueError as error:
        raise TraceValueError(message(f"np.einsum: {error}", user_line(), "check the subscripts")) from None
    return [tuple(pick) for pick in path[1:]]


def _check_letters(terms: list[str], arrays: list[Array]) -> None:
    """A letter stands for one size, or for one size and ones."""
    known: dict[str, Any] = {}
    for c, n in ((c, n) for t, x in zip(terms, arrays, strict=True) for c, n in zip(t, x.shape, strict=True)):
        have = known.setdefault(c, n)
        if have == 1:
            known[c] = n
        elif n not in (1, have):
            verdict = f"np.einsum: the letter {c!r} stands for {have} and for {n}"
            raise TraceValueError(message(verdict, user_line(), "check the subscripts"))


def _plain(term: str, x: Array) -> tuple[str, Array]:
    """An operand without repeated letters: diagonals are taken."""
    while len(set(term)) < len(term):
        c = next(c for c in term if term.count(c) > 1)
        i = term.index(c)
        j = term.index(c, i + 1)
        x = diagonal(x, 0, i, j)
        term = "".join(d for k, d in enumerate(term) if k not in (i, j)) + c
    return term, x


def _contracted(now: Tracing, a: tuple[str, Array], b: tuple[str, Array], left: set[str]) -> tuple[str, Array]:
    """Two operands as one: letters that both have and nobody else needs are summed over."""
    (s, x), (t, y) = _reduced(a, left | set(b[0])), _reduced(b, left | set(a[0]))
    (s, x), (t, y) = _without_ones(s, x, t, y), _without_ones(t, y, s, x)
    both = [c for c in s if c in t]
    keep, gone = [c for c in both if c in left], [c for c in both if c not in left]
    made = _sum_of_products(
        now, x, y, [s.index(c) for c in gone], [t.index(c) for c in gone], [(s.index(c), t.index(c)) for c in keep]
    )
    letters = "".join(keep) + "".join(c for c in s if c not in both) + "".join(c for c in t if c not in both)
    return letters, made


def _without_ones(s: str, x: Array, t: str, y: Array) -> tuple[str, Array]:
    """Axes of size one that meet larger ones are dropped: they broadcast."""
    ones = [k for k, c in enumerate(s) if x.shape[k] == 1 and c in t and y.shape[t.index(c)] != 1]
    if not ones:
        return s, x
    kept = [k for k in range(x.ndim) if k not in ones]
    return "".join(s[k] for k in kept), reshape(x, tuple(x.shape[k] for k in kept))


def _reduced(a: tuple[str, Array], left: set[str]) -> tuple[str, Array]:
    """Sum over letters that nobody else needs."""
    term, x = a
    gone = tuple(k for k, c in enumerate(term) if c not in left)
    if not gone:
        return a
    return "".join(c for c in term if c in left), sum_(x, gone, x.dtype)


# ---- diagonals


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    _now, x = traced(a)
    i, j = normal_axis(axis1, x.ndim), normal_axis(axis2, x.ndim)
    x = transpose(x, [k for k in range(x.ndim) if k not in (i, j)] + [i, j])
    m, n = x.shape[-2:]
    row, column = max(-offset, 0), max(offset, 0)
    size = max(min(m - row, n - column), 0)
    if isinstance(size, Length) or isinstance(n, Length):  # in steps that are known by name, too
        at = positions(here(x), (size,), 0)
        return x[(..., elementwise(np.add, at, row), elementwise(np.add, at, column))]
    flat = reshape(x, (*x.shape[:-2], m * n))
    first = row * n + column
    places = slice(first, first + size * (n + 1), n + 1) if size else slice(0, 0)
    return flat[(..., places)]


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Array:
    now, x = traced(v)
    if x.ndim == 2:
        return diagonal(x, k).copy()
    if x.ndim != 1:
        raise TraceValueError(message("Input must be 1- or 2-d.", user_line(), array=x.type))
    n = x.shape[0] + abs(k)
    if not x.shape[0]:
        return Array(now, conform(now, 0, x.dtype, (n, n)))
    wide = pad(reshape(x, (1, -1)), ((0, 0), (max(k, 0), max(-k, 0))))
    rows, columns = (positions(now, (n, n), axis) for axis in (0, 1))
    chosen = elementwise(np.equal, elementwise(np.add, rows, k), columns)
    return where(chosen, wide, x.dtype.type(0))


def _triangle(m: Any, k: int, keep: np.ufunc) -> Array:
    now, x = traced(m)
    if not x.ndim:
        raise TraceValueError(message("a triangle of a number", user_line(), "pass an array", array=x.type))
    square = x.shape[-2:] if x.ndim > 1 else x.shape * 2
    rows, columns = (positions(now, square, axis) for axis in (0, 1))
    chosen = elementwise(keep, columns, elementwise(np.add, rows, k))
    return where(chosen, x, x.dtype.type(0))


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Array:
    return _triangle(m, k, np.less_equal)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    return _triangle(m, k, np.greater_equal)
