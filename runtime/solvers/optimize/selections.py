"""Choices by scipy.optimize on traced values: from costs to assigned places, from data to blocks of one mean.

    rows, columns = linear_sum_assignment(costs)   places have no derivative; costs[rows, columns] has one
    isotonic_regression(y).x                       the mean of the block that each of y is in
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend.patched.recoded import recode
from ....compiler.frontend.patched.unasked import unprotected
from ...external import External
from ...rules import stop_gradient
from ..closed import vector
from ..solution import Solved


def _theirs() -> Any:
    import scipy.optimize

    return scipy.optimize


def _blocks(y: Any, weights: Any) -> np.ndarray:
    """The block that each of y is in."""
    ends = _theirs().isotonic_regression(y, weights=weights).blocks
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends)).astype(np.int64)


def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    y = np.atleast_1d(vector(y))
    w = np.ones(y.shape) if weights is None else np.atleast_1d(vector(weights))
    if y.ndim != 1 or w.shape != y.shape:
        raise ValueError("Input arrays y and w must have one dimension of equal length.")
    n = int(y.shape[0])
    if not increasing:
        y, w = y[::-1], w[::-1]
    blocks = External(_blocks, f"i64[{n}]", None, False, None)(stop_gradient(y), stop_gradient(w))
    within = np.where(blocks[:, None] == np.arange(n), w[:, None], 0.0)
    weight = np.sum(within, axis=0)
    mean = y @ within / np.where(weight > 0, weight, 1.0)
    x = np.sum(np.where(within > 0, mean, 0.0), axis=1)
    return Solved(x=x if increasing else x[::-1])


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> Any:
    costs = vector(cost_matrix)
    if costs.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {costs.ndim} array")
    count = min(costs.type.static_shape())

    def assigned(costs: Any) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = _theirs().linear_sum_assignment(costs, maximize)
        return rows.astype(np.int64), columns.astype(np.int64)

    return External(assigned, (f"i64[{count}]", f"i64[{count}]"), None, False, None)(stop_gradient(costs))


unprotected((_theirs(), "linear_sum_assignment"))(linear_sum_assignment)
recode("scipy.optimize", {"isotonic_regression": isotonic_regression})

__all__ = ["isotonic_regression", "linear_sum_assignment"]
