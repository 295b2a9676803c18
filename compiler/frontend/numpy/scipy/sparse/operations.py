"""What is done to SciPy's sparse matrices where entries or operands are traced: products, sums, parts, other forms.

A product with a vector is the products of the entries, summed by rows; so derivatives are products with the transposed
matrix, and of every order. The methods ask no protocol; see `recoded`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....array import Array, unknown
from ....errors import TraceValueError, message
from ....patched.patches import NOT_MINE
from ....patched.recoded import recode
from ....promotion import as_operand
from ....tracing import user_line
from ...reductions import traced
from .entries import Entries, entries, like, summed


def _is_sparse(x: Any) -> bool:
    return hasattr(x, "format") and hasattr(x, "tocsr")


def product(matrix: Any, other: Any) -> Any:
    """matrix @ other, for a vector, the columns of a matrix or a sparse matrix; a number times it."""
    if _is_sparse(other):
        return like(matrix, _times(entries(matrix), entries(other)))
    _, x = traced(other)
    if not x.ndim:
        return scaled(matrix, x)
    rows, columns = matrix.shape if matrix.ndim == 2 else (1, *matrix.shape)
    if x.ndim not in (1, 2) or x.shape[0] != columns:
        said = f"matmul: dimension mismatch of a sparse matrix {matrix.shape} and an array {x.shape}"
        raise TraceValueError(message(said, user_line(), "transpose or reshape one of them"))
    if matrix.ndim == 2:
        at, to, data, _ = entries(matrix)
    else:
        known = matrix.tocoo()
        at, to, data = np.zeros(known.nnz, np.int64), np.asarray(known.coords[0], np.int64), known.data
    weights = data if x.ndim == 1 else data[:, None]
    made = summed(weights * x[to], at, rows)
    return made if matrix.ndim == 2 else made[0]


def _times(a: Entries, b: Entries) -> Entries:
    """Each entry of a with each in the row of b that its column is."""
    if a.shape[1] != b.shape[0]:
        said = f"matmul: dimension mismatch of sparse matrices {a.shape} and {b.shape}"
        raise TraceValueError(message(said, user_line(), "transpose one of them"))
    order = np.argsort(b.rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(b.rows, minlength=b.shape[0]))])
    counts = np.diff(starts)[a.columns]
    left = np.repeat(np.arange(len(counts)), counts)
    behind = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[starts[a.columns][left] + behind]
    return Entries(a.rows[left], b.columns[right], a.data[left] * b.data[right], (a.shape[0], b.shape[1]))


def turned_product(matrix: Any, other: Any) -> Any:
    """other @ matrix."""
    if _is_sparse(other):
        return NOT_MINE
    _, x = traced(other)
    return scaled(matrix, x) if not x.ndim else np.transpose(product(transpose(matrix), np.transpose(x)))


def scaled(self: Any, other: Any) -> Any:
    made = entries(self)
    return like(self, made._replace(data=made.data * as_operand(other)), self.format)


def multiply(self: Any, other: Any) -> Any:
    """Element by element; where one is zero the product is none."""
    mine = entries(self)
    if _is_sparse(other):
        theirs = entries(other)
        if mine.shape != theirs.shape:
            raise unknown("scipy.sparse's multiply", " of matrices of two shapes, with traced entries,")
        mine, theirs = (entries(like(self, each)) for each in (mine, theirs))
        keys = [each.rows * each.shape[1] + each.columns for each in (mine, theirs)]
        _, left, right = np.intersect1d(*keys, assume_unique=True, return_indices=True)
        made = Entries(mine.rows[left], mine.columns[left], mine.data[left] * theirs.data[right], mine.shape)
        return like(self, made)
    factor = as_operand(other)
    if not factor.ndim:
        return scaled(self, factor)
    wide = np.broadcast_to(factor, mine.shape)
    return like(self, mine._replace(data=mine.data * wide[mine.rows, mine.columns]), "coo")


def divide(self: Any, other: Any) -> Any:
    if _is_sparse(other):
        raise unknown("scipy.sparse's division", " by a sparse matrix, with traced entries,")
    return multiply(self, 1.0 / as_operand(other))


def add(self: Any, other: Any) -> Any:
    return _sum(self, other, 1.0)


def subtract(self: Any, other: Any) -> Any:
    return _sum(self, other, -1.0)


def subtract_from(self: Any, other: Any) -> Any:
    return _sum(negative(self), other, 1.0)


def _sum(self: Any, other: Any, sign: float) -> Any:
    if not _is_sparse(other):
        if not np.ndim(other) and not isinstance(other, Array) and other == 0:
            return self.copy()
        if not np.ndim(other):
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return toarray(self) + sign * as_operand(other)
    if self.shape != other.shape:
        raise ValueError(f"inconsistent shapes: sparse matrices {self.shape} and {other.shape}")
    a, b = entries(self), entries(other)
    data = np.concatenate([as_operand(a.data), sign * as_operand(b.data)])
    rows, columns = (np.concatenate(pair) for pair in ((a.rows, b.rows), (a.columns, b.columns)))
    return like(self, Entries(rows, columns, data, a.shape), self.format if self.format != "coo" else "csr")


def negative(self: Any) -> Any:
    return scaled(self, -1.0)


def transpose(self: Any, axes: Any = None, copy: bool = False) -> Any:
    rows, columns, data, shape = entries(self)
    form = {"csr": "csc", "csc": "csr"}.get(self.format, "coo")
    return like(self, Entries(columns, rows, data, (shape[1], shape[0])), form)


def toarray(self: Any, order: Any = None, out: Any = None) -> Any:
    rows, columns, data, shape = entries(self)
    return np.reshape(summed(data, rows * shape[1] + columns, shape[0] * shape[1]), shape)


def todense(self: Any, order: Any = None, out: Any = None) -> Any:
    import scipy.sparse

    if isinstance(self, scipy.sparse.spmatrix):
        raise unknown("todense() of a sparse matrix with traced entries, which is a np.matrix (toarray() is an array),")
    return toarray(self)


def total(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """A matrix's sums along an axis have two axes, as SciPy's have."""
    import scipy.sparse

    rows, columns, data, shape = entries(self)
    if axis is None:
        return np.sum(data)
    along = axis % 2
    made = summed(data, columns if along == 0 else rows, shape[1 - along])
    return np.expand_dims(made, along) if isinstance(self, scipy.sparse.spmatrix) else made


def mean(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return total(self, axis) / (np.prod(self.shape) if axis is None else self.shape[axis % 2])


def diagonal(self: Any, k: int = 0) -> Any:
    rows, columns, data, shape = entries(self)
    there = np.flatnonzero(columns - rows == k)
    n = max(min(shape[0] + min(k, 0), shape[1] - max(k, 0)), 0)
    return summed(data[there], (rows if k >= 0 else columns)[there], n)


def trace(self: Any, offset: int = 0) -> Any:
    return np.sum(diagonal(self, offset))


def count(self: Any, axis: Any = None) -> Any:
    rows, columns, _, shape = entries(self)
    return len(rows) if axis is None else np.bincount(columns if axis % 2 == 0 else rows, minlength=shape[1 - axis % 2])


def _as(form: str) -> Any:
    return lambda self, copy=False: like(self, entries(self), form)


def asformat(self: Any, format: Any, copy: bool = False) -> Any:
    if format not in (None, "csr", "csc", "coo"):
        raise unknown(f"scipy.sparse's asformat({format!r})", " with traced entries, where csr, csc and coo are,")
    return like(self, entries(self), format or self.format)


def copied(self: Any) -> Any:
    return like(self, entries(self), self.format)


METHODS = {
    "_matmul_dispatch": product, "dot": product, "_rmatmul_dispatch": turned_product, "_mul_scalar": scaled,
    "multiply": multiply, "__truediv__": divide, "__add__": add, "__radd__": add, "__sub__": subtract,
    "__rsub__": subtract_from, "__neg__": negative, "transpose": transpose, "toarray": toarray, "todense": todense,
    "sum": total, "mean": mean, "diagonal": diagonal, "trace": trace, "_getnnz": count, "tocsr": _as("csr"),
    "tocsc": _as("csc"), "tocoo": _as("coo"), "asformat": asformat, "copy": copied,
}  # fmt: skip

for _module, _kind in (
    ("_base", "_spbase"), ("_coo", "_coo_base"), ("_compressed", "_cs_matrix"), ("_csr", "_csr_base"),
    ("_csc", "_csc_base"), ("_data", "_data_matrix"), ("_dia", "_dia_base"),
):  # fmt: skip
    recode(f"scipy.sparse.{_module}", {f"{_kind}.{name}": meaning for name, meaning in METHODS.items()})
recode("scipy.sparse._matrix", {"spmatrix.todense": todense})

__all__ = ["product"]
