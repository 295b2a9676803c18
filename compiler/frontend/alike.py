"""Operators on f64 of one shape, and on one and a Python number: most of what unrolled loops consist of.

Nothing is promoted, cast or repeated there, so the operation is emitted at once, in half the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.primitive import Primitive
from ..ops.elementwise import add, div, eq, ge, gt, le, lt, mul, ne, sub
from ..ops.source import const
from .array import Array
from .tracing import current

ALIKE: dict[np.ufunc, Primitive] = {
    np.add: add, np.subtract: sub, np.multiply: mul, np.true_divide: div, np.less: lt, np.less_equal: le,
    np.greater: gt, np.greater_equal: ge, np.equal: eq, np.not_equal: ne,
}


EXACT = 2**53
"""Up to which every int is a float: beyond, comparisons look at the int itself."""


def alike(ufunc: np.ufunc, x: Any, y: Any) -> Array | None:
    """What the operator gives; None where there may be something to promote."""
    now = current()
    first = x if type(x) is Array else y
    if now is None or type(first) is not Array or first.tracing is not now:
        return None
    type_ = first.value.type
    if type_.dtype != "f64" or now.sizes is not None:
        return None
    values, weak = [], True
    for each in (x, y):
        if type(each) is Array and each.tracing is now and each.value.type == type_:
            values.append(each.value)
            weak = weak and each.weak
        elif type(each) is float or (type(each) is int and -EXACT <= each <= EXACT):
            values.append(now.builder.emit(const, value=float(each), type=type_)[0])
        else:
            return None
    made = now.emit(ALIKE[ufunc], *values)
    return Array(now, made, weak and made.type.dtype == "f64")


__all__ = ["ALIKE", "alike"]
