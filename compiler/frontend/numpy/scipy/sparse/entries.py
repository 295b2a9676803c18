"""SciPy's sparse matrices of traced entries: where entries stand is known, and what they are is an array of the graph.

    A = sparse.csr_matrix((data, indices, indptr))      A @ x      A + 2.0 * A.T      sparse.linalg.spsolve(A, b)

They are SciPy's own objects with traced data, so known and traced ones stand beside each other. All that is done to
places is done by NumPy while tracing; entries are gathered, multiplied and summed. Nobody looks which are zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .....ops.index import scatter_add
from ....array import Array, here, unknown
from ....errors import TraceValueError, message
from ....patched.recoded import concrete, recode
from ....promotion import as_operand, conform
from ....tracing import user_line


class Entries(NamedTuple):
    """Rows, columns and values of the entries of a matrix, in any order and any number for one place."""

    rows: Any
    columns: Any
    data: Any
    shape: tuple[int, int]


def entries(x: Any) -> Entries:
    """Those of a sparse matrix of SciPy's, or of a dense one."""
    if not hasattr(x, "format"):
        x = np.atleast_2d(as_operand(x))
        rows, columns = (each.reshape(-1) for each in np.indices(x.shape))
        return Entries(rows, columns, np.reshape(x, (-1,)), x.shape)
    if x.ndim != 2:
        raise unknown("scipy.sparse", " of one axis, with traced values,")
    data = x.__dict__.get("data")
    if not isinstance(data, Array) or x.format == "coo":
        x = x if isinstance(data, Array) else x.tocoo()
        rows, columns = (np.asarray(c, np.int64) for c in x.coords)
        return Entries(rows, columns, x.data, x.shape)
    major = np.repeat(np.arange(len(x.indptr) - 1), np.diff(x.indptr))
    minor = np.asarray(x.indices, np.int64)
    rows, columns = (major, minor) if x.format == "csr" else (minor, major)
    return Entries(rows, columns, data, x.shape)


def summed(terms: Any, places: np.ndarray, size: int) -> Any:
    """The sums, or sums of rows, of what has the same place."""
    terms = as_operand(terms)
    now = here(terms)
    now.builder.where = user_line()
    zeros = conform(now, 0, terms.dtype, (size, *terms.shape[1:]))
    at = conform(now, places, np.dtype(np.int64), places.shape)
    return Array(now, now.emit(scatter_add, zeros, at, conform(now, terms, terms.dtype, terms.shape), axis=0))


def put(x: Any, form: str, made: Entries) -> Any:
    """Let an object of SciPy's have these entries; those of one place are one, but for coo."""
    rows, columns, data, shape = made
    held: dict[str, Any] = {"_shape": tuple(map(int, shape)), "maxprint": 50}
    if form == "coo":
        x.__dict__.update(held, coords=(rows, columns), data=data, has_canonical_format=False)
        return x
    major, minor, n = (rows, columns, shape[1]) if form == "csr" else (columns, rows, shape[0])
    keys, places = np.unique(major * n + minor, return_inverse=True)
    if not (len(keys) == len(places) and np.all(places == np.arange(len(keys)))):
        data = summed(data, places, len(keys))
    counts = np.bincount(keys // max(n, 1), minlength=shape[0 if form == "csr" else 1])
    x.__dict__.update(held, data=data, indices=keys % max(n, 1), indptr=np.concatenate([[0], np.cumsum(counts)]))
    return x


def like(x: Any, made: Entries, form: str | None = None) -> Any:
    """A matrix of these entries: an array of SciPy's where x is one, a matrix where it is that; by rows or columns."""
    import scipy.sparse

    form = form if form in ("csr", "csc", "coo") else "csr"
    kind = getattr(scipy.sparse, form + ("_matrix" if isinstance(x, scipy.sparse.spmatrix) else "_array"))
    return put(object.__new__(kind), form, made)


# ---- made of parts


def _given(form: str) -> Any:
    """Entries, or arrays of them with places: what the constructors take."""

    def construct(self: Any, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **more: Any) -> None:
        own = self.format
        if hasattr(arg1, "format") or not isinstance(arg1, tuple):
            made = entries(arg1)
        elif len(arg1) == 2 and isinstance(arg1[1], (tuple, list)):
            data, (rows, columns) = arg1[0], (np.asarray(c, np.int64).reshape(-1) for c in arg1[1])
            made = _placed(data, rows, columns, shape)
        elif len(arg1) == 3 and own != "coo":
            data, minor, starts = arg1[0], *(np.asarray(c, np.int64) for c in arg1[1:])
            major = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            least = (len(starts) - 1, int(minor.max(initial=-1)) + 1)
            wide = shape if shape is not None else least if own == "csr" else least[::-1]
            made = _placed(data, *((major, minor) if own == "csr" else (minor, major)), wide)
        else:
            raise unknown(f"scipy.sparse.{type(self).__name__}", f" of a tuple of {len(arg1)} with traced values")
        if dtype is not None:
            made = made._replace(data=as_operand(made.data).astype(dtype))
        put(self, own, made if shape is None else made._replace(shape=tuple(shape)))

    construct.__name__ = form
    return construct


def _placed(data: Any, rows: np.ndarray, columns: np.ndarray, shape: Any) -> Entries:
    data = np.reshape(as_operand(data), (-1,))
    if shape is None:
        shape = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    inside = len(rows) == 0 or (
        min(rows.min(), columns.min()) >= 0 and rows.max() < shape[0] and columns.max() < shape[1]
    )
    if not len(rows) == len(columns) == data.shape[0] or not inside:
        said = f"a sparse matrix {tuple(shape)} of {data.shape[0]} entries at {len(rows)} rows, {len(columns)} columns"
        raise TraceValueError(message(said, user_line(), "give each entry a row and a column within the shape"))
    return Entries(rows, columns, data, tuple(shape))


def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Any:
    several = isinstance(diagonals, (list, tuple)) and np.ndim(offsets) == 1
    diagonals = list(diagonals) if several or np.ndim(offsets) else [diagonals]
    offsets = [int(k) for k in np.atleast_1d(offsets)]
    parts = [np.atleast_1d(as_operand(d)) for d in diagonals]
    if len(parts) != len(offsets):
        raise ValueError("number of diagonals does not match the number of offsets")
    size = parts[0].shape[0] + abs(offsets[0])
    shape = (size, size) if shape is None else tuple(shape)
    made = []
    for part, k in zip(parts, offsets, strict=True):
        n = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if n < 0 or part.shape[0] not in (1, n):
            raise ValueError(f"Diagonal length (index {len(made)}: {part.shape[0]} at offset {k}) does not agree with "
                             f"array size ({shape[0]}, {shape[1]}).")  # fmt: skip
        at = np.arange(n)
        made.append(Entries(at + max(-k, 0), at + max(k, 0), np.broadcast_to(part, (n,)), shape))
    whole = _joined(made, shape)
    return like(None, whole if dtype is None else whole._replace(data=whole.data.astype(dtype)), format or "coo")


def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None) -> Any:
    import scipy.sparse

    made = diags_array(diagonals, offsets=offsets, shape=shape, dtype=dtype)
    return like(object.__new__(scipy.sparse.coo_matrix), entries(made), format or "coo")


def _joined(parts: list[Entries], shape: tuple[int, int]) -> Entries:
    rows, columns, data = (np.concatenate([each[k] for each in parts]) for k in range(3))
    return Entries(rows, columns, data, shape)


def block_array(blocks: Any, *, format: Any = None, dtype: Any = None) -> Any:
    grid = [[None if x is None else entries(x) for x in row] for row in blocks]
    heights = [next(x.shape[0] for x in row if x is not None) for row in grid]
    widths = [next(row[k].shape[1] for row in grid if row[k] is not None) for k in range(len(grid[0]))]  # pyright: ignore
    down, right = ([0, *np.cumsum(sizes)] for sizes in (heights, widths))
    moved = [
        x._replace(rows=x.rows + down[i], columns=x.columns + right[k])
        for i, row in enumerate(grid) for k, x in enumerate(row) if x is not None
    ]  # fmt: skip
    if any(x and x.shape != (heights[i], widths[k]) for i, row in enumerate(grid) for k, x in enumerate(row)):
        raise ValueError(f"blocks of heights {heights} and widths {widths} do not fit")
    first = next(x for row in blocks for x in row if hasattr(x, "format"))
    return like(first, _joined(moved, (int(down[-1]), int(right[-1]))), format or "coo")


def bmat(blocks: Any, format: Any = None, dtype: Any = None) -> Any:
    return block_array(blocks, format=format)


def hstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any:
    return block_array([blocks], format=format)


def vstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any:
    return block_array([[x] for x in blocks], format=format)


def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Any:
    return block_array([[x if i == k else None for k, x in enumerate(mats)] for i in range(len(mats))], format=format)


def kron(A: Any, B: Any, format: Any = None) -> Any:
    a, b = entries(A), entries(B)
    rows = (a.rows[:, None] * b.shape[0] + b.rows).reshape(-1)
    columns = (a.columns[:, None] * b.shape[1] + b.columns).reshape(-1)
    data = np.reshape(np.asarray(a.data)[:, None] * b.data if concrete(a.data) else a.data[:, None] * b.data, (-1,))
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    return like(A if hasattr(A, "format") else B, Entries(rows, columns, data, shape), format or "coo")


recode("scipy.sparse._construct", {
    "diags_array": diags_array, "diags": diags, "block_array": block_array, "bmat": bmat, "hstack": hstack,
    "vstack": vstack, "block_diag": block_diag, "kron": kron,
})  # fmt: skip
recode("scipy.sparse._compressed", {"_cs_matrix.__init__": _given("compressed")})
recode("scipy.sparse._coo", {"_coo_base.__init__": _given("coo")})

__all__ = ["Entries", "entries", "like", "put", "summed"]
