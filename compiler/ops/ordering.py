"""Elements in order along the last axis, and where values belong among them: NumPy's sorts and searches.

    %1: f64[5] = sort %x
    %2: i64[5] = argsort %x {stable=0}
    %3: i64[] = searchsorted %1, %v {right=0}

Values in order have the derivative of a gather at the places that `argsort` gives; places have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.types import Dim, Size, Type
from .elementwise import cast
from .index import scatter_add, take
from .library import Library
from .reduce import spread, sum_
from .shape import reshape
from .source import iota, measure
from .term import Terms


def order(array: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Where the elements in order are, equal ones as they stand; NaN counts as the largest."""
    if not descending:
        return np.argsort(array, axis, stable=True)
    n = array.shape[axis]
    return n - 1 - np.flip(np.argsort(np.flip(array, axis), axis, stable=True), axis)


def places_along(m: Any, where: Any, shape: tuple[Dim, ...], axis: int) -> Any:
    """Where the elements that `where` names along an axis stand in an array of this shape laid flat."""
    type, place = where.value.type, None
    stride: Dim = 1
    for a in reversed(range(type.rank)):
        if a == axis or type.shape[a] != 1:
            along = where if a == axis else m(iota(m.b, axis=a, type=type.with_dtype("i64")))
            if isinstance(stride, Size):
                along = along * m(spread(m.b, measure(m.b, stride), shape=type.shape, axes=()))
            elif stride != 1:
                along = along * stride
            place = along if place is None else place + along
        stride = shape[a] * stride
    return place


def take_along(m: Any, x: Any, where: Any, axis: int) -> Any:
    """The elements of x that `where`, of its rank, names along an axis; a value of the graph."""
    have = x.value.type
    place = places_along(m, where, have.shape, axis)
    flat = x.value if have.rank == 1 else reshape(m.b, x.value, shape=(have.size,))
    return m(take(m.b, flat, place.value, axis=0))


def _places(a: Type, **attributes: Any) -> Type:
    return a.with_dtype("i64")


def _draws(*attributes: dict[str, Any]) -> Any:
    def samples(rng: np.random.Generator) -> list[Any]:
        x = rng.permutation(24).reshape(2, 3, 4) - 11.5
        shapes = ((24,), (4, 6), (2, 3, 4))
        return [([x.reshape(s).astype(d)], k) for s in shapes for d in ("f8", "f4", "i8") for k in attributes]

    return samples


FEW = 64
"""Elements of a row up to which they are counted instead of sorted: so many comparisons for each take less time than a
call of NumPy, which is 8 µs (measured for a row: 0.4 µs for 16 elements, 1.5 for 64, 6 for 128)."""


def _ranked(m: Any, x: Any) -> Any:
    """The places of the elements in order, equal ones as they stand: at k is the one that k others stand before."""
    n, kind = x.value.type.shape[-1], x.value.type
    if not isinstance(n, int) or not 1 < n <= FEW or not all(isinstance(d, int) for d in kind.shape):
        return None

    if kind.dtype == "bool":
        x = m(cast(m.b, x.value, dtype="i32"))

    def pairs(v: Any) -> tuple[Any, Any]:
        """For each element, in rows, the element itself and all."""
        *lead, _ = v.value.type.shape
        rank = len(lead)
        mine, other = (spread(m.b, v.value, shape=(*lead, n, n), axes=(*range(rank), k)) for k in (rank, rank + 1))
        return m(mine), m(other)

    mine, other = pairs(x)
    before, same = m.lt(other, mine), m.eq(other, mine)
    if kind.is_float:  # NaN is larger than all numbers
        missing, lacks = m.ne(mine, mine), m.ne(other, other)
        before = m.or_(before, m.and_(missing, m.not_(lacks)))
        same = m.or_(same, m.and_(missing, lacks))
    here, there = pairs(m(iota(m.b, axis=kind.rank - 1, type=kind.with_dtype("i64"))))
    before = m.or_(before, m.and_(same, m.lt(there, here)))
    rank = _total(m, m.select(before, 1, 0 * there))
    place, ranks = pairs(rank)[1], here
    return _total(m, m.select(m.eq(place, ranks), there, 0 * there))


def _total(m: Any, x: Any) -> Any:
    return m(sum_(m.b, x.value, axes=(x.value.type.rank - 1,)))


def _sort_written(m: Any, x: Any) -> Any:
    where = _ranked(m, x)
    return None if where is None else take_along(m, x, where, x.value.type.rank - 1)


argsort = Library(
    "argsort", _places, lambda a, stable: np.argsort(a, -1, stable=True) if stable else np.argsort(a, -1),
    attributes={"stable": "axis"}, samples=_draws({"stable": 0}, {"stable": 1}),
    written=lambda m, a, stable: _ranked(m, a),
)  # fmt: skip
argpartition = Library(
    "argpartition", _places, lambda a, kth: np.argpartition(a, kth, -1),
    attributes={"kth": "axes"}, samples=_draws({"kth": (1,)}, {"kth": (0, 3)}),
)  # fmt: skip


def _sort_pull(m: Any, inputs: Any, results: Any, cts: Any) -> list[Any]:
    (x,), (ct,) = inputs, cts
    shape = x.value.type.static_shape()
    size = int(np.prod(shape))
    where = m(argsort(m.b, x.value, stable=0))
    place = reshape(m.b, places_along(m, where, shape, len(shape) - 1).value, shape=(size,))
    rows = reshape(m.b, ct.value, shape=(size,))
    made = scatter_add(m.b, m.number(0.0, rows.type).value, place, rows, axis=0)
    return [m(reshape(m.b, made, shape=shape))]


sort = Library("sort", lambda a: a, lambda a: np.sort(a, -1), _sort_pull, samples=_draws({}), written=_sort_written)


def _by_places(b: Any, args: Any) -> list[Any]:
    """Where the places are needed too, for a gradient, what stands there: a gather is faster than a sort."""
    m, (x,) = Terms(b), args
    return [take_along(m, m(x), m(argsort(b, x, stable=0)), x.type.rank - 1).value]


sort.beside = argsort, _by_places


# ---- where values belong


def search(rows: np.ndarray, wanted: np.ndarray, side: Any) -> np.ndarray:
    """np.searchsorted of each row along the last axis; what is wanted has the axes before it in front."""
    lead = rows.shape[:-1]
    if not lead:
        return np.asarray(np.searchsorted(rows, wanted, side), np.int64)
    made = np.zeros(wanted.shape, np.int64)
    for at in np.ndindex(lead):
        made[at] = np.searchsorted(rows[at], wanted[at], side)
    return made


class Search(Library):
    """A search in one row that all lanes share is one search."""

    def batch(self, m):
        if not m.flags[0] and m.op.args[0].type.rank == 1:
            return m.emit(self, m.args[0], m.args[1], **m.op.attrs)
        return super().batch(m)


def _found(a: Type, v: Type, right: int) -> Type:
    if a.rank == 0 or a.shape[:-1] != v.shape[: a.rank - 1] or a.dtype != v.dtype:
        raise TypeError(f"searchsorted in rows {a} cannot find {v}")
    return v.with_dtype("i64")


def _search_written(m: Any, a: Any, v: Any, right: int) -> Any:
    """The number of elements that stand before a value, one binary digit after the other, from the highest on.

    Some eight operations of all values for each digit, in one loop: a call of NumPy takes longer whatever their number.
    """
    *lead, n = a.value.type.shape
    if v.value.type.dtype == "bool":
        a, v = (m(cast(m.b, each.value, dtype="i32")) for each in (a, v))
    if not isinstance(n, int) or not all(isinstance(d, int) for d in lead) or n == 0:
        return None
    flat = reshape(m.b, a.value, shape=(math.prod(lead) * n,)) if lead else a.value
    places = v.value.type.with_dtype("i64")
    start = _starts(m, places, lead, n)
    found = m.number(0, places)
    for digit in reversed(range(n.bit_length())):
        more = found + (1 << digit)
        at = m(take(m.b, flat, (m.minimum(more, n) - 1 + start).value, axis=0))
        before = m.le(at, v) if right else m.lt(at, v)
        if v.value.type.is_float:  # NaN is larger than all numbers
            before = m.or_(before, m.ne(v, v) if right else m.and_(m.ne(v, v), m.eq(at, at)))
        found = m.select(m.and_(m.le(more, n), before), more, found)
    return found


def _starts(m: Any, places: Type, lead: Sequence[int], n: int) -> Any:
    """Where the row of each value begins in all rows, one behind the other."""
    made: Any = 0
    for axis in range(len(lead)):
        made = m(iota(m.b, axis=axis, type=places)) * (n * math.prod(lead[axis + 1 :])) + made
    return made


def _searches(rng: np.random.Generator) -> list[Any]:
    rows, wanted = np.sort(rng.normal(size=(3, 5))), rng.normal(size=(3, 2, 4))
    pairs = [(rows[0], wanted), (rows, wanted), (rows[0], wanted[0, 0, 0])]
    return [([a.astype(d), v.astype(d)], {"right": k}) for a, v in pairs for d in ("f8", "f4") for k in (0, 1)]


searchsorted = Search(
    "searchsorted", _found, lambda a, v, right: search(a, v, "right" if right else "left"),
    attributes={"right": "axis"}, samples=_searches, written=_search_written,
)  # fmt: skip

__all__ = ["argpartition", "argsort", "order", "places_along", "search", "searchsorted", "sort", "take_along"]
