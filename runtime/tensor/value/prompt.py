"""Sums, products and comparisons of parts that nobody has looked at: a NumPy function goes in, what does it comes out.

    if cost[i] < cost[j]: ...; best = cost[i] + step       of single elements, for which a trace would be run each time

The values are there and no gradient is kept, so NumPy gives what a kernel would, bit by bit, in a microsecond; only a
product with a vector is BLAS's, as PyTorch's is, which sums in an order of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from .aliases import array_of
from .cells import Cell, cell_of, shown
from .core import wrap
from .memory import has_history, tensor_types
from .numbers import FLOAT_MAX
from .slots import LEAF, PART, SPECIAL

EXACT = {np.dtype(d) for d in ("f4", "f8", "i4", "i8")}
"""The dtypes in which NumPy computes as PyTorch does."""

FLOATS = {np.dtype(d) for d in ("f4", "f8")}
VECTORS = {(1, 1), (2, 1), (1, 2)}
"""The ranks of factors of which one is a vector at least, as one row of a matrix is."""

INTS = 1 << 31
"""Whole numbers from here on may not be what they are in every dtype."""


def of_parts(ufunc: np.ufunc) -> Callable[..., Any]:
    """What gives `ufunc` of two tensors, or of one and a number, if one of them is a part that waits; or a comparison
    if the first is a single number that is there, for whoever compares such will look at what comes of it."""
    floats_only, compares = ufunc is np.true_divide, "->?" in ufunc.types[0]

    def at_once(x: Any = None, y: Any = None, *more: Any, **kwargs: Any) -> Any:
        if more or kwargs or not (_waits(x) or _waits(y) or (compares and _is_known_number(x))):
            return NotImplemented
        a, b = _array(x), _array(y)
        array = a if isinstance(a, np.ndarray) else b
        if a is None or b is None or array.dtype not in EXACT:
            return NotImplemented
        whole = array.dtype.kind == "i"
        if (whole and floats_only) or not (_fits(a, array, whole) and _fits(b, array, whole)):
            return NotImplemented
        try:
            if compares:
                made = ufunc(a, b)
            else:
                with np.errstate(all="ignore"):
                    made = ufunc(a, b)
        except ValueError:
            return NotImplemented  # shapes that do not fit, of which the other way tells in PyTorch's words
        return wrap(cell_of(np.asarray(made)))

    return at_once


def product_of_parts(x: Any = None, y: Any = None, *more: Any, **kwargs: Any) -> Any:
    """x @ y of two vectors, or of a matrix and one, if one of them is a part that waits, and else NotImplemented."""
    if more or kwargs or not (_waits(x) or _waits(y)):
        return NotImplemented
    a, b = _array(x), _array(y)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.dtype != b.dtype or a.dtype not in FLOATS:
        return NotImplemented
    if (a.ndim, b.ndim) not in VECTORS or a.shape[-1] != b.shape[0]:
        return NotImplemented
    with np.errstate(all="ignore"):
        return wrap(cell_of(np.asarray(a @ b)))


def _waits(x: Any) -> bool:
    return type(x) in tensor_types and type(x._key) is tuple


def _is_known_number(x: Any) -> bool:
    return type(x) in tensor_types and not x._is_late and not x._cell.kind.shape


def _array(x: Any) -> Any:
    """The values of an argument that is plain, or a number as it is; None for others."""
    if type(x) not in tensor_types:
        return x if type(x) in (int, float) else None
    if type(x._key) is tuple:
        return array_of(x)
    if x._is_late or x._flags & (LEAF | SPECIAL | PART) or has_history(x) or x._storage is not None or x._inference:
        return None
    return shown(x._cell) if type(x._cell) is Cell and x._cell.array is not None else None


def _fits(a: Any, array: np.ndarray, whole: bool) -> bool:
    """Whether an argument is read in the dtype of an array, and loses nothing that PyTorch would keep."""
    if isinstance(a, np.ndarray):
        return a.dtype == array.dtype
    if type(a) is int:
        return -INTS <= a < INTS
    return not whole and (not FLOAT_MAX <= abs(a) < inf)


__all__ = ["of_parts", "product_of_parts"]
