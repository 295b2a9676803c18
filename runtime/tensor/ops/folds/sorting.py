"""Elements in order: sort, topk, median and their kin.

NumPy finds where the elements are and the graph gathers them, so each has the gradient of what was gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from .....compiler.ir.types import Type
from .....compiler.ops.ordering import order, take_along
from .....compiler.ops.shape import reshape
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply_all, wrap
from ...value.found import extreme
from ..arranging.shapes import shape_of
from ..matrices.outside import computed, outside
from .reductions import back, total
from .reductions import shape_of as shape_of_term

Find = Callable[..., np.ndarray]
"""(array, axis, *attributes) -> along the axis, the indices of what is found."""


def finding(name: str, node: str, find: Find, counts: Callable[..., int] | None = None) -> Operation:
    """The operation that finds elements along an axis, and gives them and where they are.

    The indices are a result as NumPy gave them, so that the pullback reads them instead of finding them again.

    counts   how many are found, of a number of elements and the attributes; None if it is one, whose axis may go
    """
    computed(name, find)

    def emit(m: Any, x: Any, axis: int, *attributes: Any) -> Any:
        *rest, keepdim = attributes
        shape = x.value.type.static_shape()
        if not shape:
            return x, m.number(0, Type("i64"))
        n = 1 if counts is None else counts(shape[axis], *rest)
        wanted = Type("i64", (*shape[:axis], n, *shape[axis + 1 :]))
        (where,) = outside(m, name, (x,), [wanted], axis, *rest)
        made = take_along(m, x, where, axis), where
        if counts is not None or keepdim:
            return made
        gone = shape[:axis] + shape[axis + 1 :]
        return (*(m(reshape(m.b, v.value, shape=gone)) for v in made), where)

    return Operation(name, node, emit)


def _found(kind: Any, operation: Operation, input: Any, *attributes: Any) -> Any:
    (values, indices, *_), node = apply_all(operation, (input,), attributes)
    return kind(wrap(values, node), wrap(indices))


# ---- sorting


sort_values, topk_values, kthvalue_values = extreme("sort"), extreme("topk"), extreme("kthvalue")
median_values, nanmedian_values, mode_values = extreme("median"), extreme("nanmedian"), extreme("mode")
cummax_values, cummin_values = extreme("cummax"), extreme("cummin")

SORT, STABLE_SORT = (finding("sort", f"SortBackward{k}", order, lambda n, descending: n) for k in (0, 1))


def sort(input: Core, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    """The elements along `dim` in order, and where they were; equal ones keep their order."""
    operation = SORT if stable is None else STABLE_SORT
    return _found(sort_values, operation, input, axis_of(dim, len(shape_of(input))), bool(descending), False)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the elements in order were."""
    return sort(input, dim, descending, stable).indices


def msort(input: Tensor) -> Tensor:
    """The elements along the first dimension in order."""
    return sort(input, 0).values


def _top(array: np.ndarray, axis: int, k: int, largest: bool) -> np.ndarray:
    return np.take(order(array, axis, largest), np.arange(k), axis)


TOPK = finding("topk", "TopkBackward0", _top, lambda n, k, largest: k)


def topk(input: Core, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements along `dim`, in order, and where they are."""
    shape = shape_of(input)
    axis, k = axis_of(dim, len(shape)), index(k)
    if not 0 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError("selected index k out of range")
    if not shape and k == 0:
        raise RuntimeError("selected index k out of range")
    return _found(topk_values, TOPK, input, axis, k, bool(largest), False)


# ---- one of the elements in order


def _kth(array: np.ndarray, axis: int, k: int) -> np.ndarray:
    return np.take(order(array, axis, False), [k - 1], axis)


def _middle(array: np.ndarray, axis: int) -> np.ndarray:
    """The lower of the two in the middle; the first NaN if there is one."""
    middle = np.take(order(array, axis, False), [(array.shape[axis] - 1) // 2], axis)
    if array.dtype.kind != "f":
        return middle
    bad = np.isnan(array)
    return np.where(bad.any(axis, keepdims=True), np.argmax(bad, axis, keepdims=True), middle)


def _middle_of_numbers(array: np.ndarray, axis: int) -> np.ndarray:
    """The same of those that are numbers."""
    if array.dtype.kind != "f":
        return _middle(array, axis)
    count = (~np.isnan(array)).sum(axis, keepdims=True)
    return np.take_along_axis(order(array, axis, False), np.maximum(count - 1, 0) // 2, axis)


def _most_frequent(array: np.ndarray, axis: int) -> np.ndarray:
    """Where the value that comes most often stands last; the smallest of those that do."""
    places = order(array, axis, False)
    rows = np.moveaxis(np.take_along_axis(array, places, axis), axis, -1)
    change = np.ones(rows.shape, bool)
    change[..., 1:] = rows[..., 1:] != rows[..., :-1]
    position = np.broadcast_to(np.arange(rows.shape[-1]), rows.shape)
    started = np.maximum.accumulate(np.where(change, position, 0), -1)
    last = np.argmax(position - started, -1)
    return np.take_along_axis(places, np.expand_dims(last, axis), axis)


KTHVALUE = finding("kthvalue", "KthvalueBackward0", _kth)
MEDIAN, MEDIAN_DIM = (finding("median", f"MedianBackward{k}", _middle) for k in (0, 1))
NANMEDIAN, NANMEDIAN_DIM = (finding("nanmedian", f"NanmedianBackward{k}", _middle_of_numbers) for k in (0, 1))
MODE = finding("mode", "ModeBackward0", _most_frequent)


def _check_not_empty(name: str, shape: tuple[int, ...], axis: int) -> None:
    if shape and shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def kthvalue(input: Core, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along `dim`, counted from 1, and where it is."""
    shape = shape_of(input)
    axis = axis_of(dim, len(shape))
    _check_not_empty("kthvalue", shape, axis)
    if not 1 <= index(k) <= (shape[axis] if shape else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(axis))
    return _found(kthvalue_values, KTHVALUE, input, axis, index(k), bool(keepdim))


def _middle_function(whole: Operation, along: Operation, kind: Any) -> Callable[..., Any]:
    name = whole.name

    def function(input: Core, dim: int | None = None, keepdim: bool = False) -> Any:
        """The lower median of all elements, or along `dim` and where it is."""
        if dim is None:
            return _of_all(whole, input)
        shape = shape_of(input)
        axis = axis_of(dim, len(shape))
        _check_not_empty(name, shape, axis)
        return _found(kind, along, input, axis, bool(keepdim))

    function.__name__ = function.__qualname__ = name
    return function


def _of_all(operation: Operation, input: Tensor) -> Tensor:
    (values, *_), node = apply_all(_flattened(operation), (input,))
    return wrap(values, node)


def _even(m: Any, xs: list[Any], rs: list[Any], cts: list[Any]) -> list[Any]:
    """The pullback of the element in the middle of all: those that are equal to it share the cotangent."""
    (x,), every = xs, tuple(range(len(shape_of_term(xs[0]))))
    if not x.value.type.size:
        return [m.number(0.0, x.value.type)]
    middle = back(m, rs[0], shape_of_term(x), every)
    best = m.or_(m.eq(x, middle), m.and_(m.ne(x, x), m.ne(middle, middle)))
    share = cts[0] / total(m, m.select(best, m.number(1.0, x.value.type), 0), every)
    return [m.select(best, back(m, share, shape_of_term(x), every), 0)]


_wholes: dict[Operation, Operation] = {}


def _flattened(operation: Operation) -> Operation:
    """The same of all elements; of none it is NaN, or the least integer."""
    if operation not in _wholes:

        def emit(m: Any, x: Any) -> Any:
            kind = x.value.type
            if not kind.size:
                empty = float("nan") if kind.is_float else int(np.iinfo(kind.numpy).min)
                return m.number(empty, kind.with_shape(())), m.number(0, Type("i64"))
            flat = m(reshape(m.b, x.value, shape=(kind.size,)))
            return operation.emit(m, flat, 0, False)

        _wholes[operation] = Operation(operation.name, operation.node, emit, pull=_even)
    return _wholes[operation]


median = _middle_function(MEDIAN, MEDIAN_DIM, median_values)
nanmedian = _middle_function(NANMEDIAN, NANMEDIAN_DIM, nanmedian_values)


def mode(input: Core, dim: int = -1, keepdim: bool = False) -> Any:
    """The value that comes most often along `dim`, the smallest of such, and where it is."""
    shape = shape_of(input)
    axis = axis_of(dim, len(shape))
    _check_not_empty("mode", shape, axis)
    return _found(mode_values, MODE, input, axis, bool(keepdim))


# ---- the extreme so far


def _running(better: Callable[..., Any]) -> Find:
    """Where the extreme of those up to each is, the last one where several tie; NaN wins and stays."""

    def find(array: np.ndarray, axis: int) -> np.ndarray:
        best = better.accumulate(array, axis)  # type: ignore[attr-defined]
        hit = (array == best) | ((array != array) & (best != best))
        shape = [1] * array.ndim
        shape[axis] = -1
        position = np.arange(array.shape[axis]).reshape(shape)
        return np.maximum.accumulate(np.where(hit, position, 0), axis)

    return find


CUMMAX = finding("cummax", "CummaxBackward0", _running(np.maximum), lambda n: n)
CUMMIN = finding("cummin", "CumminBackward0", _running(np.minimum), lambda n: n)


def cummax(input: Core, dim: int) -> Any:
    """The largest of the elements up to each along `dim`, and where it is."""
    return _found(cummax_values, CUMMAX, input, axis_of(dim, len(shape_of(input))), False)


def cummin(input: Core, dim: int) -> Any:
    """The smallest of the elements up to each along `dim`, and where it is."""
    return _found(cummin_values, CUMMIN, input, axis_of(dim, len(shape_of(input))), False)


__all__ = [
    "argsort", "cummax", "cummin", "kthvalue", "median", "mode", "msort", "nanmedian", "sort", "topk",
]  # fmt: skip
