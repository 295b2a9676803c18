"""Lists that hold traced numbers, as arguments of NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ir.containers import SEQUENCES
from ...array import Array
from ...promotion import as_operand
from ...sizes import Length
from ..arrays.access import stacked
from ..calls import lower
from ..machine import Machine
from ..values import Grown, is_list

_SEQUENCES = (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.linalg.multi_dot)
"""Functions whose first argument is a list of arrays."""

_NESTED = (np.block, np.select, np.piecewise, np.histogramdd)
"""Functions that look into lists themselves."""


def lowered(m: Machine, function: Any, x: Any) -> Any:
    """An argument as a function takes it: for NumPy's, a list that grew in a loop is the one array that holds it."""
    is_numpy = isinstance(function, np.ufunc) or (getattr(function, "__module__", None) or "").startswith("numpy")
    if not is_list(x) or not is_numpy or function in _NESTED:
        return lower(m, x)
    held = m.content(x.box)
    known = isinstance(held, Grown) and isinstance(held.count, (int, Length))
    return stacked(m, held) if known else lower(m, x)


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
