"""Running sums and products along an axis whose size is known by name: from an array to a loop over its rows.

Where the size is a number, `cumsum` doubles and `prod` halves (`reductions.py`), whose graphs depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.graph import Builder
from ...ops import control, memory
from ...ops.elementwise import add, mul
from ...ops.source import dimension, number
from ..array import Array
from ..sizes import Length, plain
from ..tracing import Tracing, user_line

_JOINS = {np.add: (add, 0), np.multiply: (mul, 1)}


def loops_over(n: Any) -> bool:
    """Whether a size is a name for which loops may be written."""
    return isinstance(n, Length) and n.sizes.walked


def running(now: Tracing, y: Array, place: int, join: np.ufunc, every: bool) -> Array:
    """The sums or products of the first k rows along an axis, for `every` k or of all rows; in the order of rows."""
    prim, unit = _JOINS[join]
    order = [place, *(k for k in range(y.ndim) if k != place)]
    rows = y.transpose(order)
    row = rows.type.with_shape(rows.type.shape[1:])
    kinds = [row, rows.type] if every else [row]
    body = Builder("body", [memory.INDEX, *kinds, rows.type], ["i", *["total", "totals"][: len(kinds)], "rows"])
    body.where = now.builder.where = user_line()
    i, total, *_, given = body.params
    total = prim(body, total, memory.read(body, given, i, axes=(0,), widths=(memory.DROPPED,)))
    made = [total]
    if every:
        made.append(memory.update(body, body.params[2], total, i, axes=(0,), widths=(memory.DROPPED,)))
    starts = [number(now.builder, unit, row), *([number(now.builder, 0, rows.type)] if every else [])]
    count = dimension(now.builder, size=plain(rows.shape[0]))
    found = now.builder.emit(
        control.scan, count, *starts, rows.value, regions=(body.finish(made),), carries=len(starts))
    result = Array(now, found[-1])
    return result.transpose([order.index(k) for k in range(y.ndim)]) if every else result


__all__ = ["loops_over", "running"]
