"""A number goes in, the whole numbers below it come out: as an operation, where a function is being traced.

So no definition meets an array beside its arguments, which its graph would have to be given by whoever calls it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.frontend.promotion import positions
from ...compiler.frontend.tracing import current


def counted(n: int) -> Any:
    """0 to n - 1."""
    now = current()
    return np.arange(n) if now is None else positions(now, (n,), 0)


def unit(rows: int, columns: int, dtype: Any) -> Any:
    """Ones on the diagonal, zeros beside it."""
    return np.where(counted(rows)[:, None] == counted(columns), 1.0, 0.0).astype(dtype)
