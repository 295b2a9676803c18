"""Which products give all entries of a sparse matrix: groups of columns and rows, and where each entry is in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .coloring import Groups, colour_columns, colour_symmetric

BOTH = 8
"""Products from which it is tried to take some by columns and some by rows."""

class Products(NamedTuple):
    """What is computed: one product for each group of columns, and of rows, and where in them the entries are.

    columns, rows   the group of each column and of each row; -1 for those in none
    counts          how many groups there are of each
    at              for each entry its position in all products, those by columns first
    """

    columns: np.ndarray
    rows: np.ndarray
    counts: tuple[int, int]
    at: np.ndarray

    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the kernel is given: in 32 bits where that is enough, which is half as much memory to read."""
        given = (self.columns, self.rows, self.at)
        narrow = [x.astype(np.int32) if x.size == 0 or x.max() < 2**31 else x for x in given]
        return (*narrow, *[np.arange(count, dtype=np.int32) for count in self.counts])


class EntryOrder(NamedTuple):
    """In which order the entries of a matrix are kept: row by row, or column by column.

    places  for each entry its number row by row
    starts  where the rows, or columns, begin
    minor   the column, or row, of each entry
    """

    places: Any
    starts: np.ndarray
    minor: np.ndarray

    @staticmethod
    def of(pattern: Any, by_columns: bool) -> EntryOrder:
        if not by_columns:
            return EntryOrder(slice(None), pattern.indptr, pattern.indices)
        rows, columns = entries(pattern)
        places = np.lexsort((rows, columns))
        starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=pattern.shape[1]))])
        return EntryOrder(places, starts, rows[places])


def by_columns(pattern: Any, groups: Groups) -> Products:
    rows, columns = entries(pattern)
    none = np.full(pattern.shape[0], -1)
    return Products(groups.of, none, (groups.count, 0), groups.of[columns] * pattern.shape[0] + rows)


def by_rows(pattern: Any, groups: Groups) -> Products:
    rows, columns = entries(pattern)
    none = np.full(pattern.shape[1], -1)
    return Products(none, groups.of, (0, groups.count), groups.of[rows] * pattern.shape[1] + columns)


def _no_products(pattern: Any) -> Products:
    return Products(np.full(pattern.shape[1], -1), np.full(pattern.shape[0], -1), (0, 0), np.zeros(0, np.int64))


def symmetric(pattern: Any) -> Products:
    """Each entry from its own column's group if it is alone there in its row, else from that of its row."""
    if not pattern.nnz:
        return _no_products(pattern)
    groups = colour_symmetric(pattern)
    rows, columns = entries(pattern)
    n = pattern.shape[0]
    own = _is_alone(rows, groups.of[columns], groups.count)
    at = np.where(own, groups.of[columns] * n + rows, groups.of[rows] * n + columns)
    return Products(groups.of, np.full(n, -1), (groups.count, 0), at)


def from_both(pattern: Any) -> Products:
    """Some entries from groups of columns and some from groups of rows: star colouring of the graph of both."""
    import scipy.sparse as sp

    m, n = pattern.shape
    rows, columns = entries(pattern)
    ends, starts = np.concatenate([rows, columns + m]), np.concatenate([columns + m, rows])
    joined = sp.csr_array((np.ones(len(ends), bool), (ends, starts)), shape=(m + n, m + n))
    groups = colour_symmetric(joined)
    of_rows, of_columns = groups.of[:m], groups.of[m:]
    in_column = _is_alone(rows, of_columns[columns], groups.count)
    in_row = _is_alone(columns, of_rows[rows], groups.count)
    best: Products | None = None
    for first in (in_column, ~in_row):  # by columns where that can be, or only where it must be
        used_columns, used_rows = np.unique(of_columns[columns[first]]), np.unique(of_rows[rows[~first]])
        c, r = (_renamed(of, used) for of, used in ((of_columns, used_columns), (of_rows, used_rows)))
        at = np.where(first, c[columns] * m + rows, len(used_columns) * m + r[rows] * n + columns)
        made = Products(c, r, (len(used_columns), len(used_rows)), at)
        best = made if best is None or sum(made.counts) < sum(best.counts) else best
    assert best is not None
    return best


def _renamed(of: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Groups by their number among those used; -1 for others."""
    found = np.searchsorted(used, of)
    known = (found < len(used)) & (used[np.minimum(found, max(len(used) - 1, 0))] == of if len(used) else False)
    return np.where(known, found, -1)


def _is_alone(lines: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Whether an entry is the only one of its group in its line."""
    key = lines * np.int64(count) + groups
    _, inverse, often = np.unique(key, return_inverse=True, return_counts=True)
    return often[inverse] == 1


def entries(pattern: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows and the columns of the entries, in their order."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return rows, pattern.indices.astype(np.int64)


def fewest(pattern: Any) -> Products:
    """The products that are fewest, by columns, by rows or by both."""
    if not pattern.nnz:
        return _no_products(pattern)
    turned = pattern.T.tocsr()
    in_rows, in_columns = np.diff(pattern.indptr), np.diff(turned.indptr)
    least = (int(in_rows.max(initial=1)), int(in_columns.max(initial=1)))  # a row's entries are in as many groups
    found: list[Products] = []
    if least[0] <= 2 * least[1] + BOTH:
        found.append(by_columns(pattern, colour_columns(pattern)))
    if least[1] <= 2 * least[0] + BOTH and (not found or sum(found[0].counts) > least[1]):
        found.append(by_rows(pattern, colour_columns(turned)))
    if min(sum(each.counts) for each in found) > BOTH:
        found.append(from_both(pattern))
    return min(found, key=lambda each: sum(each.counts))


__all__ = ["EntryOrder", "Products", "entries", "fewest", "symmetric"]
