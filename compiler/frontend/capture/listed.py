"""Lists that hold traced numbers, as arguments of NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.containers import SEQUENCES
from ..array import Array
from ..promotion import as_operand

_SEQUENCES = (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.linalg.multi_dot)
"""Functions whose first argument is a list of arrays."""

_NESTED = (np.block, np.select, np.piecewise)
"""Functions that look into lists themselves."""


def as_arrays(function: Any, low: list[Any]) -> list[Any]:
    """Lists with traced numbers as arrays: NumPy asks the items of a list for numbers, not for what they mean."""
    if function in _NESTED:
        return low
    if function in _SEQUENCES:
        first = [_as_one(i) for i in low[0]] if low and isinstance(low[0], SEQUENCES) else low[0]
        return [first, *low[1:]]
    return [_as_one(x) for x in low]


def _as_one(x: Any) -> Any:
    if not isinstance(x, SEQUENCES) or not has_traced(x):
        return x
    return as_operand([_as_one(i) for i in x])


def has_traced(x: Any) -> bool:
    if isinstance(x, SEQUENCES):
        return any(map(has_traced, x))
    return isinstance(x, Array) or (isinstance(x, dict) and any(map(has_traced, x.values())))
