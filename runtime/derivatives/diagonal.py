"""Kernels for sparse derivatives whose entries lie along few diagonals: all of them as one vector, row by row.

For a matrix that is kept column by column, what is said here of rows holds of its columns.

Where most rows have the same diagonals, such a vector is a matrix with a column for each of them, row after row: what
lies before and after is put around, so that it begins in the middle of a row. Else it is gathered from all diagonals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.promotion import lift
from ...compiler.ir.graph import Builder, Graph, Op, Value
from ...compiler.ir.types import NAMES, Type
from ...compiler.ops import shape as S
from ...compiler.ops.elementwise import cast
from ...compiler.ops.source import number
from ...compiler.passes import dead
from ...compiler.passes.sparsity import Diagonal, Irregular, diagonals
from ..transforms import grad
from .compressed import Other, taken
from .derived import Derived, Site
from .grouping import EntryOrder

Shape = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""What a diagonal is without its entries."""

ENDS = 64
"""Entries before and after the rows that are alike, which are put in one by one."""

WASTE = 2
"""How many times as much as the least products by groups the diagonals may take."""


class AlikeRows(NamedTuple):
    """Rows that have entries of the same diagonals, one after the other.

    diagonals, at  for each entry of a row, which diagonal has it, and where the first row's is
    count          how many rows there are
    before, after  the entries before and after them: of which diagonal, and where in it
    """

    diagonals: tuple[int, ...]
    at: tuple[int, ...]
    count: int
    before: tuple[tuple[int, int], ...]
    after: tuple[tuple[int, int], ...]

    def window(self) -> slice | None:
        """Which elements of the matrix are entries, if not all."""
        width = len(self.diagonals)
        first, entries = -len(self.before) % width, len(self.before) + self.count * width + len(self.after)
        return slice(first, first + entries) if first or entries % width else None


class Stacking(NamedTuple):
    """How the entries of a matrix are made from diagonals.

    shapes  what the diagonals are, for each leaf of the result
    rows    the rows that are alike; None if the entries are gathered
    at      where each entry is in all diagonals, one after the other
    """

    shapes: list[list[Shape]]
    rows: AlikeRows | None
    at: np.ndarray


class DiagonalEntries(Derived):
    """The entries of a Jacobian or Hessian; after the arguments comes `Stacking.at`."""

    title, trailing = "jacobian", 1

    def __init__(self, second: bool, function: Any, *more: Any) -> None:
        self.second, self.layout = second, Stacking([], None, np.zeros(0, np.int32))
        self._probed: list[tuple[int, tuple[int, ...], Diagonal]] | None = None
        self._least = 1
        super().__init__(function, *more)

    def planned(self, args: tuple[Any, ...], kwargs: dict[str, Any], pattern: Any, order: EntryOrder) -> Stacking:
        """The layout for a call whose matrix has this pattern; Irregular if there is none that is worth it."""
        self._least = min(int(np.bincount(pattern.indices).max(initial=1)), int(np.diff(pattern.indptr).max(initial=1)))
        self._probed = []
        signature, leaves = self.flatten((*args, self.layout.at), kwargs)
        self._trace(signature, self._scan(signature), values=leaves)
        found, self._probed = self._probed, None
        which, at = (each[order.places] for each in _places(pattern, found))
        rows = _alike(order.starts, which, at)
        if rows is None:
            starts = np.cumsum([0, *[math.prod(d.shape) for _, _, d in found]])
            at = starts[which] + at
            at = at.astype(np.int32) if starts[-1] < 2**31 else at
        self.layout = self.layout._replace(rows=rows, at=at[:0].astype(np.int32) if rows else at)
        return self.layout

    def _body(self) -> Callable[..., Any]:
        return self._entries

    def _entries(self, site: Site, value: Callable[[Any], Any], x: Any, at: Any) -> Any:
        now = tracing.current()
        assert now is not None, "transforms are traced"
        site.given(x)
        leaves: list[Any] = []
        signature = tree.flatten(tree.opened(x), leaves)
        function: Any = grad(value) if self.second else value
        kinds = [R.leaf_of(each) for each in leaves]
        region = R.trace_region(now, "entries", kinds, lambda *xs: function(tree.rebuild(signature, iter(xs))))
        extras, places = R.arguments(now, [region])
        graph = dead(region.graph)
        values = [*[lift(now, each) for each in leaves], *[extras[k] for k in places[0]]]
        first = len(now.builder.body)
        try:
            found = diagonals(now.builder, graph, values, range(len(kinds)))
        except Irregular:
            if self._probed is None:
                raise Other from None
            raise
        shapes = [[(d.start, d.steps, d.low, d.shape) for d in each] for each in found]
        flat = [d for each in found for d in each]
        if self._probed is not None:
            if _work(now.builder.body[first:]) > (1 + WASTE * self._least) * _work(graph.body):
                raise Irregular
            self._note(graph, found, shapes)
        elif shapes != self.layout.shapes:
            raise Other
        dtype = np.result_type(np.float32, *[v.type.numpy for v in (*graph.results, *values[: len(kinds)])])
        vectors = [_vector(now.builder, d, NAMES[dtype]) for d in flat]
        if self._probed is not None or not flat:
            return np.zeros(0, dtype)
        if self.layout.rows is None:
            return taken(np.concatenate([Array(now, each) for each in vectors]), at)
        return Array(now, _stacked(now.builder, vectors, self.layout.rows))

    def _note(self, graph: Graph, found: Sequence[Sequence[Diagonal]], shapes: list[list[Shape]]) -> None:
        """Keep what the diagonals are and where their rows begin."""
        assert self._probed is not None
        row = 0
        for result, each in zip(graph.results, found, strict=True):
            self._probed += [(row, result.type.static_shape(), d) for d in each]
            row += result.type.static_size()
        self.layout = self.layout._replace(shapes=shapes)


def _work(body: Sequence[Op]) -> int:
    """Additions, about."""
    return sum(op.prim.cost * max([r.type.static_size() for r in op.results], default=0) for op in body)


def _places(pattern: Any, found: Sequence[tuple[int, tuple[int, ...], Diagonal]]) -> tuple[np.ndarray, np.ndarray]:
    """For each entry of the pattern, in which diagonal it is and where; Irregular unless it is in one."""
    columns, count = pattern.shape[1], np.diff(pattern.indptr)
    wanted = np.repeat(np.arange(pattern.shape[0]), count) * columns + pattern.indices
    which, at = np.full(pattern.nnz, -1), np.zeros(pattern.nnz, np.int64)
    for k, (row, extents, diagonal) in enumerate(found):
        rows, places = diagonal.places(extents)
        keys = (rows + row) * columns + places
        spot = np.minimum(np.searchsorted(wanted, keys), pattern.nnz - 1)
        inside = (wanted[spot] == keys) & (places >= 0) & (places < columns) if pattern.nnz else np.zeros(0, bool)
        if (which[spot[inside]] >= 0).any():
            raise Irregular  # two diagonals meet in an entry
        which[spot[inside]], at[spot[inside]] = k, np.flatnonzero(inside)
    if (which < 0).any():
        raise Irregular
    return which, at


def _alike(starts: np.ndarray, which: np.ndarray, at: np.ndarray) -> AlikeRows | None:
    """The longest stretch of rows that are alike, if it is nearly all of them; they begin at `starts`."""
    count, entry = np.diff(starts), np.arange(len(at))
    full = count > 0
    before = np.maximum(entry - np.repeat(count, count), 0)
    follows = (which == which[before]) & (at == at[before] + 1)
    same = np.zeros(len(count), bool)
    same[full] = np.logical_and.reduceat(follows, starts[:-1][full]) if len(at) else False
    same[1:] &= count[1:] == count[:-1]
    same[:1] = False
    edges = np.flatnonzero(~same)
    if not len(at):
        return None
    lengths = np.diff(np.append(edges, len(count)))
    first = int(edges[np.argmax(lengths * count[edges])])
    rows, width, begin = int(lengths[np.searchsorted(edges, first)]), int(count[first]), int(starts[first])
    end = begin + rows * width
    if begin > ENDS or len(at) - end > ENDS:
        return None

    def entries(low: int, high: int) -> tuple[tuple[int, int], ...]:
        return tuple(zip(which[low:high].tolist(), at[low:high].tolist(), strict=True))

    diagonals, first_at = zip(*entries(begin, begin + width), strict=True)
    return AlikeRows(diagonals, first_at, rows, entries(0, begin), entries(end, len(at)))


def _vector(b: Builder, d: Diagonal, dtype: str) -> Value:
    """The entries of a diagonal as a vector."""
    size = math.prod(d.shape)
    if d.entries is None:
        return number(b, 1, Type(dtype, (size,)))
    made = S.reshape(b, d.entries, shape=(size,))
    return made if made.type.dtype == dtype else cast(b, made, dtype=dtype)


def _stacked(b: Builder, vectors: Sequence[Value], rows: AlikeRows) -> Value:
    """The matrix of rows that are alike, with what lies before and after them, as a vector."""
    width, type = len(rows.diagonals), vectors[0].type
    nothing = number(b, 0, type.with_shape((1,)))

    def one(place: tuple[int, int] | None) -> Value:
        return nothing if place is None else part(*place, 1)

    def part(which: int, at: int, count: int) -> Value:
        whole = vectors[which]
        if count == whole.type.static_size():
            return whole
        return S.slice_(b, whole, start=(at,), step=(1,), shape=(count,))

    front = [None] * (-len(rows.before) % width) + list(rows.before)
    back = list(rows.after) + [None] * (-len(rows.after) % width)
    columns = []
    for k, (which, at) in enumerate(zip(rows.diagonals, rows.at, strict=True)):
        parts = [*map(one, front[k::width]), part(which, at, rows.count), *map(one, back[k::width])]
        column = parts[0] if len(parts) == 1 else S.concatenate(b, *parts, axis=0)
        columns.append(S.reshape(b, column, shape=(column.type.static_size(), 1)))
    matrix = columns[0] if width == 1 else S.concatenate(b, *columns, axis=1)
    return S.reshape(b, matrix, shape=(matrix.type.static_size(),))


__all__ = ["DiagonalEntries", "Stacking"]
