"""NumPy's sorts as loops: one row in, its elements in order or where they stand out.

A merge sort from runs of one element upwards (Knuth, "The Art of Computer Programming", volume 3, 5.2.4), which is
stable; NaN is larger than all numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .counting import counted


def argsort(x: Any, stable: int = 1) -> Any:
    """The places of the elements in order."""
    n, width = len(x), 1
    order, merged = counted(n), np.zeros(n, np.int64)
    while width < n:
        for pair in range((n + 2 * width - 1) // (2 * width)):
            left = 2 * width * pair
            right = min(left + width, n)
            stop, i, j = min(right + width, n), left, right
            for k in range(left, stop):
                a, b = x[order[min(i, n - 1)]], x[order[min(j, n - 1)]]
                take = i < right and (j >= stop or a <= b or b != b)
                merged[k] = order[min(i, n - 1)] if take else order[min(j, n - 1)]
                if take:
                    i = i + 1
                else:
                    j = j + 1
        order[:] = merged
        width = 2 * width
    return order


def sort(x: Any) -> Any:
    """The elements in order."""
    return x[argsort(x)]


def argpartition(x: Any, kth: Any) -> Any:
    """The places of the elements in order, which are partitioned everywhere."""
    return argsort(x)

