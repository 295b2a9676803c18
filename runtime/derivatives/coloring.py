"""Columns, or rows, of a sparse matrix in groups that one product tells apart: graph colouring, compiled by ourselves.

    group = colour_columns(pattern)        group[j] of column j; no row has entries in two columns of one group
    group = colour_symmetric(pattern)      fewer groups, where an entry may be read from its row or its column

Greedy, in the order of the columns, which is best for banded matrices; or by falling numbers of entries where that
takes fewer groups. Star colouring after Coleman and Moré (1984), as in Gebremedhin, Manne and Pothen, "What color is
your Jacobian?" (SIAM Review 47, 2005), algorithm 4.1: no path over four columns has two groups only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend.tracing import add_program
from ..transforms import jit

add_program(__file__)


@jit
def _greedy(n, starts, columns, row_starts, rows, order, group, seen):
    """The least group for each column that no column with an entry in the same row has."""
    group, seen = group.copy(), seen.copy()
    count = 0
    for k in range(n):
        j = order[k]
        for a in range(row_starts[j], row_starts[j + 1]):
            i = rows[a]
            for b in range(starts[i], starts[i + 1]):
                c = group[columns[b]]
                if c >= 0:
                    seen[c] = j
        c = 0
        while seen[c] == j:
            c = c + 1
        group[j] = c
        count = max(count, c + 1)
    return group, count


@jit
def _star(n, starts, columns, order, group, seen, hubs):
    """The least group for each vertex so that every path over four of them has three.

    The first `hubs` vertices have groups of their own already: no path through one of them has two groups.
    """
    group, seen = group.copy(), seen.copy()
    count = hubs
    for k in range(hubs, n):
        v = order[k]
        for a in range(starts[v], starts[v + 1]):
            w = columns[a]
            if w != v and group[w] >= 0:
                seen[group[w]] = v
            if w != v and (group[w] < 0 or group[w] >= hubs):
                for b in range(starts[w], starts[w + 1]):
                    x = columns[b]
                    if x != v and x != w and group[x] >= 0:
                        if group[w] < 0:
                            seen[group[x]] = v
                        else:
                            for c in range(starts[x], starts[x + 1]):
                                y = columns[c]
                                if y != x and y != w and group[y] == group[w]:
                                    seen[group[x]] = v
        c = 0
        while seen[c] == v:
            c = c + 1
        group[v] = c
        count = max(count, c + 1)
    return group, count


HUB = 64
"""Entries from which a row that has far more than others gets a group of its own: to look at all of its neighbours for
each of them would take the square of their number."""


class Groups(NamedTuple):
    """The group of each column, and how many there are."""

    of: np.ndarray
    count: int


def colour_columns(pattern: Any) -> Groups:
    """Groups of columns no two of which have entries in one row."""
    turned = pattern.T.tocsr()
    n, parts = pattern.shape[1], (pattern.indptr, pattern.indices, turned.indptr, turned.indices)
    found = []
    for order in _orders(np.diff(turned.indptr)):
        group, count = _greedy(n, *_padded(*parts, order, np.full(n, -1), np.full(n + 1, -1)))
        found.append(Groups(group[:n], int(count)))
    return min(found, key=lambda each: each.count)


def colour_symmetric(pattern: Any) -> Groups:
    """Groups of columns of a symmetric pattern so that each entry stands alone in its group's row, or its own does."""
    n, degrees = pattern.shape[0], np.diff(pattern.indptr)
    hubs = int(np.count_nonzero(degrees > max(HUB, 8 * degrees.mean()))) if n else 0
    found = []
    for order in _orders(degrees) if not hubs else [np.argsort(-degrees, kind="stable")]:
        first = np.full(n, -1)
        first[order[:hubs]] = np.arange(hubs)
        arrays: list[Any] = _padded(pattern.indptr, pattern.indices, order, first, np.full(n + 1, -1))
        group, count = _star(n, *arrays, hubs=hubs)
        found.append(Groups(group[:n], int(count)))
    return min(found, key=lambda each: each.count)


def _orders(degrees: np.ndarray) -> list[np.ndarray]:
    """The orders in which columns are taken: as they stand, and those with most entries first if these stand out."""
    plain = np.arange(len(degrees))
    if not len(degrees) or degrees.max() <= 2 * degrees.mean():
        return [plain]
    return [plain, np.argsort(-degrees, kind="stable")]


def _padded(*arrays: np.ndarray) -> list[np.ndarray]:
    """Whole numbers in arrays of one length, a power of two: every length is another compilation."""
    length = 1 << max(10, int(max(map(len, arrays)) - 1).bit_length())
    made = [np.full(length, -1) for _ in arrays]
    for padded, array in zip(made, arrays, strict=True):
        padded[: len(array)] = array
    return made


__all__ = ["Groups", "colour_columns", "colour_symmetric"]
