"""NumPy's reductions and scans on traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.graph import Value
from ...ops import reduce, shape
from ...ops.term import Terms
from ..array import Array, here, implements, value_of
from ..errors import TraceAxisError, TraceError, TraceValueError, message
from ..promotion import as_operand, cast, conform, constant, lift, result_dtype, shape_of
from ..sizes import product
from ..tracing import Tracing, user_line
from .running import loops_over, running
from .ufuncs import elementwise
from .ufuncs import where as chosen

Axis = int | tuple[int, ...] | None


def axes_of(axis: Axis, rank: int) -> tuple[int, ...]:
    """Axes in increasing order; None means all."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = sorted(normal_axis(a, rank) for a in given)
    if len(set(found)) != len(found):
        raise TraceValueError(message(f"axis {axis} names an axis twice", user_line()))
    return tuple(found)


def normal_axis(axis: Any, rank: int) -> int:
    """One axis, counted from the front."""
    if not hasattr(axis, "__index__"):
        verdict = f"an axis is {axis!r}, expected an int from {-rank} to {rank - 1}"
        raise TraceError(message(verdict, user_line(), "give an int, or a tuple of ints"))
    place = axis.__index__()
    if not -rank <= place < rank:
        verdict = f"axis {place} is out of bounds for array of dimension {rank}"
        raise TraceAxisError(message(verdict, user_line(), f"use an axis from {-rank} to {rank - 1}"))
    return place % rank


def traced(x: Any) -> tuple[Tracing, Array]:
    """Anything an array can be made of, as an Array of the function being traced."""
    x = as_operand(x)
    now = here(x)
    return now, Array(now, value_of(now, x) if isinstance(x, Array) else lift(now, x))


def keep(now: Tracing, value: Value, x: Array, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Put the folded axes back with size one."""
    if not keepdims:
        return value
    return now.emit(shape.reshape, value, shape=tuple(1 if a in axes else n for a, n in enumerate(x.shape)))


def _sum_dtype(x: Array, dtype: Any) -> np.dtype:
    if dtype is not None:
        return np.dtype(dtype)
    return np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64) if x.dtype.kind in "biu" else x.dtype


def only(x: Array, mask: Any, unit: Any) -> Array:
    """The elements where a mask holds, the others as `unit`."""
    if mask is True:
        return x
    made = chosen(mask, x, unit)
    if made.shape != x.shape:
        fix = "broadcast the array to the mask's shape first"
        raise TraceValueError(message(f"where= has a shape that does not fit {x.type}", user_line(), fix))
    return made if made.dtype == x.dtype else made.astype(x.dtype)


def _begun(made: Array, join: np.ufunc, initial: Any) -> Array:
    """What a fold gives that begins with a number, which is one of the result's dtype."""
    if initial is None:
        return made
    first = initial.astype(made.dtype) if isinstance(initial, Array) else made.dtype.type(initial)
    return elementwise(join, made, first).astype(made.dtype)


@implements(np.sum)
def sum_(
    a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
) -> Array:
    now, x = traced(a)
    x = only(x, where, 0)
    axes, value = axes_of(axis, x.ndim), cast(now, x.value, _sum_dtype(x, dtype))
    if value.type.dtype == "bool":
        return _begun(any_(Array(now, value), axis, keepdims), np.logical_or, initial)
    made = now.emit(reduce.sum_, value, axes=axes) if axes else value
    return _begun(Array(now, keep(now, made, x, axes, keepdims)), np.add, initial)


def masked(join: np.ufunc, a: Any, initial: Any, where: Any) -> Array:
    """What an extremum is taken of: where a mask does not hold, the number that it begins with."""
    if where is not True and initial is None:
        verdict = f"reduction operation '{join.__name__}' does not have an identity"
        raise ValueError(f"{verdict}, so to use a where mask one has to specify 'initial'")
    return only(traced(a)[1], where, initial)


def nothing(name: str, x: Array) -> TraceValueError:
    """The error of an extremum of nothing."""
    fix = "check the size before, or append an element"
    return TraceValueError(message(f"np.{name} of {x.type} over an axis without elements", user_line(), fix))


def _extremum(name: str, prim: Any) -> Any:
    join = np.maximum if name == "max" else np.minimum

    def fold(
        a: Any, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
    ) -> Array:
        x = masked(join, a, initial, where)
        now, axes = x.tracing, axes_of(axis, x.ndim)
        if initial is not None and any(x.shape[k] == 0 for k in axes):
            made = constant(now, initial, x.dtype, tuple(n for k, n in enumerate(x.shape) if k not in axes))
            return Array(now, keep(now, made, x, axes, keepdims))
        if any(x.shape[k] == 0 for k in axes):
            raise nothing(name, x)
        value = cast(now, x.value, np.dtype(np.int32)) if x.dtype == bool else x.value
        made = now.emit(prim, value, axes=axes) if axes else value
        return _begun(Array(now, keep(now, cast(now, made, x.dtype), x, axes, keepdims)), join, initial)

    fold.__name__ = name
    return fold


amax = implements(np.max, np.amax)(_extremum("max", reduce.max_))
amin = implements(np.min, np.amin)(_extremum("min", reduce.min_))


@implements(np.ptp)
def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Array:
    return elementwise(np.subtract, amax(a, axis, keepdims), amin(a, axis, keepdims))


def _argument(name: str, sign: int) -> Any:
    def fold(a: Any, axis: int | None = None, keepdims: bool = False) -> Array:
        now, x = traced(a)
        if x.dtype == bool:
            x = Array(now, cast(now, x.value, np.dtype(np.int32)))
        y = x if sign > 0 else _reversed_order(x)
        if axis is None:
            y, place = y.reshape(-1), 0
        else:
            place = normal_axis(axis, x.ndim)
        if y.shape[place] == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        made = now.emit(reduce.argmax, y.value, axis=place)
        return Array(now, keep(now, made, x, axes_of(axis, x.ndim), keepdims))

    fold.__name__ = name
    return fold


def _reversed_order(x: Array) -> Array:
    """Smallest first: -x for floats, ~x for integers, whose least has no negative."""
    return elementwise(np.negative if x.dtype.kind == "f" else np.invert, x)


argmax = implements(np.argmax)(_argument("argmax", 1))
argmin = implements(np.argmin)(_argument("argmin", -1))


@implements(np.all)
def all_(a: Any, axis: Axis = None, keepdims: bool = False, *, where: Any = True) -> Array:
    _now, x = traced(a)
    truth = x if x.dtype == bool else elementwise(np.not_equal, x, 0)
    truth = only(truth, where, True)
    false = sum_(elementwise(np.logical_not, truth), axis, None, keepdims)
    return elementwise(np.equal, false, 0)


@implements(np.any)
def any_(a: Any, axis: Axis = None, keepdims: bool = False, *, where: Any = True) -> Array:
    _now, x = traced(a)
    truth = x if x.dtype == bool else elementwise(np.not_equal, x, 0)
    truth = only(truth, where, False)
    return elementwise(np.not_equal, sum_(truth, axis, None, keepdims), 0)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Array:
    return sum_(elementwise(np.not_equal, a, 0), axis, None, keepdims)


@implements(np.prod)
def prod(
    a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
) -> Array:
    """Halves are multiplied with halves, so that the graph stays small and gradients hold at zeros."""
    now, x = traced(a)
    x = only(x, where, 1)
    axes = axes_of(axis, x.ndim)
    x = Array(now, cast(now, x.value, _sum_dtype(x, dtype)))
    rest = [k for k in range(x.ndim) if k not in axes]
    size = product(x.shape[k] for k in axes)
    if loops_over(size):
        flat = x.transpose([*axes, *rest]).reshape((size, *(x.shape[k] for k in rest)))
        made = running(now, flat, 0, np.multiply, every=False)
        return _begun(Array(now, keep(now, made.value, x, axes, keepdims)), np.multiply, initial)
    count = size.__index__()
    y = x.transpose([*axes, *rest]).reshape((count, *(x.shape[k] for k in rest))) if x.ndim else x.reshape(1)
    if y.shape[0] == 0:
        made = constant(now, 1, x.dtype, y.shape[1:])
        return _begun(Array(now, keep(now, made, x, axes, keepdims)), np.multiply, initial)
    while (n := y.shape[0]) > 1:
        half = elementwise(np.multiply, y[: n // 2], y[n // 2 : n // 2 * 2])
        y = _joined(now, [half, y[n - 1 :]]) if n % 2 else half
    return _begun(Array(now, keep(now, y[0].value, x, axes, keepdims)), np.multiply, initial)


def _joined(now: Tracing, parts: list[Array]) -> Array:
    return Array(now, now.emit(shape.concatenate, *(p.value for p in parts), axis=0))


def scan(a: Any, axis: int | None, dtype: Any, join: np.ufunc) -> Array:
    """A running fold by doubling: log2(n) steps that each add the array to itself, shifted."""
    now, x = traced(a)
    if axis is None:
        x, place = x.reshape(-1), 0
    else:
        place = normal_axis(axis, x.ndim)
    y = Array(now, cast(now, x.value, _sum_dtype(x, dtype)))
    front = [slice(None)] * place
    width, n = 1, y.shape[place]
    if loops_over(n):
        return running(now, y, place, join, every=True)
    while width < n:
        head = (*front, slice(None, width))
        tail = elementwise(join, y[(*front, slice(width, None))], y[(*front, slice(None, n - width))])
        y = Array(now, now.emit(shape.concatenate, y[head].value, tail.value, axis=place))
        width *= 2
    return y


@implements(np.cumsum)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Array:
    return scan(a, axis, dtype, np.add)


@implements(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Array:
    return scan(a, axis, dtype, np.multiply)


def _cumulative(scan: Any, unit: int) -> Any:
    def fold(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
        now, y = traced(x)
        if y.ndim > 1 and axis is None:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        y = y if y.ndim else y.reshape(1)
        place = normal_axis(0 if axis is None else axis, y.ndim)
        made = scan(y, place, dtype)
        if not include_initial:
            return made
        first = constant(now, unit, made.dtype, (*y.shape[:place], 1, *y.shape[place + 1 :]))
        return Array(now, now.emit(shape.concatenate, first, made.value, axis=place))

    return fold


implements(np.cumulative_sum)(_cumulative(cumsum, 0))
implements(np.cumulative_prod)(_cumulative(cumprod, 1))


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    now, x = traced(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:
        return a if isinstance(a, Array) and a.tracing is now else x
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    place = normal_axis(axis, x.ndim)
    front = [slice(None)] * place
    if prepend is not None or append is not None:
        x = _longer(now, [prepend, x, append], x, place)
    for _ in range(n):
        later, earlier = x[(*front, slice(1, None))], x[(*front, slice(None, -1))]
        x = elementwise(np.not_equal if x.dtype == bool else np.subtract, later, earlier)
    return x


def _longer(now: Tracing, parts: list[Any], x: Array, place: int) -> Array:
    """Arrays one after the other along an axis; a number stands for one element everywhere else."""
    given = [as_operand(p) for p in parts if p is not None]
    one = (*x.shape[:place], 1, *x.shape[place + 1 :])
    kind = result_dtype(*(np.asarray(p) if isinstance(p, (int, float)) else p for p in given))
    values = [conform(now, p, kind, shape_of(p) if len(shape_of(p)) else one) for p in given]
    return Array(now, now.emit(shape.concatenate, *values, axis=place))


def root(square: Array) -> Array:
    """The square root of a sum of squares; at 0, where it has a kink, its gradient is 0 and not 0/0."""
    now, y = traced(square)
    m = Terms(now.builder)
    now.builder.where = user_line()
    term = m(y.value)
    return Array(now, m.select(m.eq(term, 0), 0, m.sqrt(term)).value)


@implements("astype")
def astype(
    x: Array, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Array:
    now, to = here(x), np.dtype(dtype)
    if not np.can_cast(x.dtype, to, casting):
        text = f"Cannot cast array data from {x.dtype!r} to {to!r} according to the rule {casting!r}"
        raise TraceError(message(text, user_line(), "cast it with casting='unsafe'"))
    if not copy and x.dtype == to and x.tracing is now:
        return x
    return Array(now, cast(now, value_of(now, x), to))


@implements(np.astype)
def astype_(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    return astype(x, dtype, copy=copy)
