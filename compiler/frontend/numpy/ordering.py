"""NumPy's functions that put elements in order or search for them, on traced arrays.

Elements in order have the derivative of the gather at the places that NumPy's argsort gives; places have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops import ordering as prims
from ...ops.require import require
from ...ops.term import Terms
from ..array import Array, here, implements
from ..errors import NeedsValues, TraceValueError, message
from ..promotion import cast
from ..tracing import Tracing, user_line
from .reductions import normal_axis, traced
from .shaping import moveaxis, sizes
from .ufuncs import elementwise, where


def lanes(a: Any, axis: int | None) -> tuple[Tracing, Array, int]:
    """An array with `axis` last, laid flat if it is None, and where the axis was."""
    now, x = traced(a)
    if axis is None:
        return now, x.reshape(-1), 0
    place = normal_axis(axis, x.ndim)
    return now, moveaxis(x, place, -1), place


def back(made: Array, place: int) -> Array:
    """The last axis where it was."""
    moved = moveaxis(made, -1, place)
    return Array(moved.tracing, moved.value)


def along(x: Array, places: Array) -> Array:
    """The elements of x at places along the last axis, which are known to be inside."""
    now = here(x, places)
    m = Terms(now.builder)
    now.builder.where = user_line()
    return Array(now, prims.take_along(m, m(x.value), m(places.value), x.ndim - 1).value)


def in_order(x: Array) -> Array:
    """The elements in order along the last axis."""
    return Array(x.tracing, x.tracing.emit(prims.sort, x.value))


def order_of(x: Array, stable: bool = False) -> Array:
    """Where the elements in order along the last axis are."""
    return Array(x.tracing, x.tracing.emit(prims.argsort, x.value, stable=int(stable)))


def parted(x: Array, kth: Sequence[int]) -> Array:
    """Where elements are, so that those that belong at `kth` along the last axis stand there."""
    return Array(x.tracing, x.tracing.emit(prims.argpartition, x.value, kth=tuple(kth)))


def found(rows: Array, wanted: Array, right: bool) -> Array:
    """Where values belong in rows in order along the last axis."""
    return Array(rows.tracing, rows.tracing.emit(prims.searchsorted, rows.value, wanted.value, right=int(right)))


def holds(condition: Array, text: str, error: type[Exception] = ValueError) -> None:
    """Let the call raise an error unless the condition holds."""
    condition.tracing.emit(require, condition.value, error=error.__name__, text=text)


def selected(name: str, mask: Any, fix: str) -> np.ndarray:
    """A mask that decides how large a result is, as NumPy's."""
    if not isinstance(mask, Array):
        return np.asarray(mask)
    if not mask.has_numbers():
        verdict = f"{name} of a traced array has a size that depends on values"
        raise NeedsValues(message(verdict, user_line(), fix, array=mask.type))
    return np.asarray(mask)


# ---- sorting


def _is_stable(kind: Any, order: Any, stable: Any) -> bool:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is not None and stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time. Use only one of them.")
    if not (kind is None or str(kind)[:1].lower() in tuple("qhms")):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return bool(stable) or (kind is not None and str(kind)[0].lower() in "ms")


@implements(np.sort)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    _is_stable(kind, order, stable)
    _now, x, place = lanes(a, axis)
    return back(in_order(x), place)


@implements(np.argsort)
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    keeps = _is_stable(kind, order, stable)
    _now, x, place = lanes(a, axis)
    return back(order_of(x, keeps), place)


def places_of(kth: Any, n: int, kind: str, order: Any) -> list[int]:
    """The places in order that a partition of n elements is about."""
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    _is_stable(None, order, None)
    given = sizes(kth)
    for k in given:
        if not -n <= k < n:
            raise ValueError(f"kth(={k + n if k < 0 else k}) out of bounds ({n})")
    return sorted({k % n for k in given})


def _parted(a: Any, kth: Any, axis: int | None, kind: str, order: Any) -> tuple[Array, Array, int]:
    _now, x, place = lanes(a, axis)
    return x, parted(x, places_of(kth, x.shape[-1], kind, order)), place


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Array:
    x, places, place = _parted(a, kth, axis, kind, order)
    return back(along(x, places), place)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Array:
    _x, places, place = _parted(a, kth, axis, kind, order)
    return back(places, place)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Array:
    """The least key first, each time without changing the order of those that are equal."""
    if len(keys) == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    rows = [lanes(key, axis) for key in keys]
    if len({x.shape for _, x, _ in rows}) != 1:
        raise ValueError("all keys need to be the same shape")
    made: Array | None = None
    for _, x, _ in rows:
        made = order_of(x, True) if made is None else along(made, order_of(along(x, made), True))
    assert made is not None
    return back(made, rows[0][2])


# ---- searching


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    if side[:1].lower() not in tuple("lr"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    (now, rows), (_, wanted) = traced(a), traced(v)
    if rows.ndim != 1:
        raise TraceValueError(message("object too deep for desired array", user_line(), "sort along one axis"))
    if sorter is not None:
        rows = rows[sorter]
    kind = np.result_type(rows.dtype, wanted.dtype)
    rows, wanted = (Array(now, cast(now, x.value, kind)) for x in (rows, wanted))
    return found(rows, wanted, side[0].lower() == "r")


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    _now, edges = traced(bins)
    if edges.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    n, side = edges.shape[0], "left" if right else "right"
    text = "bins must be monotonically increasing or decreasing"
    if not isinstance(bins, Array):
        given: Any = np.asarray(bins)
        rising, falling = (given[:-1] <= given[1:]).all(), (given[:-1] >= given[1:]).all()
        if not (rising or falling):
            raise ValueError(text)
        return searchsorted(edges, x, side) if rising else n - searchsorted(edges[::-1], x, side)
    low, high = edges[:-1], edges[1:]
    rises, falls = elementwise(np.less_equal, low, high).all(), elementwise(np.greater_equal, low, high).all()
    holds(elementwise(np.logical_or, rises, falls), text)
    return where(rises, searchsorted(edges, x, side), n - searchsorted(edges[::-1], x, side))


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Array:
    """Each element is looked for among the others in order."""
    (now, x), (_, among) = traced(element), traced(test_elements)
    common = np.result_type(x.dtype, among.dtype)
    x, rows = (Array(now, cast(now, each.value, common)) for each in (x, among.reshape(-1)))
    n = rows.shape[0]
    if n == 0:
        return elementwise(np.logical_or if invert else np.logical_and, elementwise(np.not_equal, x, x), bool(invert))
    rows = in_order(rows)
    at = elementwise(np.minimum, found(rows, x, False), n - 1)
    near = along(rows, at.reshape(-1)).reshape(x.shape)
    return elementwise(np.not_equal if invert else np.equal, x, near)


# ---- where elements are not zero


def not_zero(a: Any) -> Any:
    return elementwise(np.not_equal, a, 0) if isinstance(a, Array) and a.dtype != bool else a


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[np.ndarray, ...]:
    fix = "use np.where(condition, a, b), which keeps the shape, or np.count_nonzero"
    return np.nonzero(selected("np.nonzero", not_zero(a), fix))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> np.ndarray:
    return nonzero(a.reshape(-1))[0]


@implements(np.argwhere)
def argwhere(a: Any) -> np.ndarray:
    return np.argwhere(selected("np.argwhere", not_zero(a), "use np.where(condition, a, b), which keeps the shape"))


__all__ = [
    "along", "back", "found", "holds", "in_order", "isin", "lanes", "not_zero", "order_of", "parted", "partition",
    "places_of", "searchsorted", "selected", "sort",
]  # fmt: skip
