"""SciPy's sparse matrices times traced arrays: the products of the entries, summed by rows.

The entries are numbers of now; so derivatives are products with the transposed matrix, and of every order. They ask no
protocol; see `recoded`. Matrices of traced entries are none of SciPy's, and are refused by SciPy itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.index import scatter_add
from ...array import Array, here
from ...errors import TraceValueError, message
from ...patched.patches import NOT_MINE
from ...patched.recoded import recode
from ...promotion import conform
from ...tracing import user_line
from ..reductions import traced


def product(matrix: Any, other: Any) -> Any:
    """matrix @ other, for a vector or the columns of a matrix."""
    if not isinstance(other, Array):
        return NOT_MINE
    _, x = traced(other)
    rows, columns = matrix.shape if matrix.ndim == 2 else (1, *matrix.shape)
    if x.ndim not in (1, 2) or x.shape[0] != columns:
        said = f"matmul: dimension mismatch of a sparse matrix {matrix.shape} and an array {x.shape}"
        raise TraceValueError(message(said, user_line(), "transpose or reshape one of them"))
    entries = matrix.tocoo()
    at = entries.coords if matrix.ndim == 2 else (np.zeros(entries.nnz, np.int64), *entries.coords)
    weights = entries.data if x.ndim == 1 else entries.data[:, None]
    terms = weights * x[at[1].astype(np.int64)]
    now = here(terms)
    now.builder.where = user_line()
    shape = (rows, *x.shape[1:])
    zeros = conform(now, 0, terms.dtype, shape)
    places = conform(now, at[0].astype(np.int64), np.dtype(np.int64), at[0].shape)
    made = Array(now, now.emit(scatter_add, zeros, places, terms.value, axis=0))
    return made if matrix.ndim == 2 else made[0]


for _module, _kind in (("_base", "_spbase"), ("_coo", "_coo_base")):
    recode(f"scipy.sparse.{_module}", {f"{_kind}.{name}": product for name in ("_matmul_dispatch", "dot")})

__all__ = ["product"]
