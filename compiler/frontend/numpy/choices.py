"""NumPy's choices between values, element by element, on traced arrays: select, choose and piecewise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.elementwise import Elementwise
from ...ops.scipy.special import Special
from ..array import FUNCTIONS, Array, implements
from ..errors import TraceError, message
from ..promotion import as_operand, common_shape, result_dtype, shape_of
from ..tracing import Tracing, user_line
from .indexing import take_along_axis
from .ordering import holds, not_zero
from .reductions import traced
from .shaping import broadcast_to, stack
from .ufuncs import elementwise, where


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    given = [as_operand(c) for c in choicelist]
    kind = result_dtype(*given, as_operand(default))
    conditions = [as_operand(c) for c in condlist]
    for k, c in enumerate(conditions):
        if traced(c)[1].dtype.kind != "b":
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    shape = common_shape("select", *conditions, *given, as_operand(default))
    made = broadcast_to(traced(default)[1].astype(kind), shape)
    for c, x in zip(reversed(conditions), reversed(given), strict=True):
        made = where(c, traced(x)[1].astype(kind), made)
    return made


@implements(np.choose)
def choose(a: Any, choices: Any, *, mode: str = "raise") -> Array:
    rows = [choices[k] for k in range(len(choices))]
    given = [as_operand(c) for c in rows]
    kind = result_dtype(*given)
    _now, at = traced(a)
    if at.dtype.kind not in "biu":
        raise TypeError(f"np.choose wants whole numbers that say which, got {at.type}")
    shape = common_shape("choose", at, *given)
    n, at = len(given), broadcast_to(at.astype(np.int64), shape)
    if mode == "wrap":
        at = elementwise(np.remainder, at, n)
    elif mode == "clip":
        at = elementwise(np.minimum, elementwise(np.maximum, at, 0), n - 1)
    elif mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    table = stack([broadcast_to(traced(c)[1].astype(kind), shape) for c in given])
    if mode == "raise":
        holds(FUNCTIONS[np.all](elementwise(np.logical_and, at >= 0, at < n)), "invalid entry in choice array")
        at = elementwise(np.minimum, elementwise(np.maximum, at, 0), n - 1)
    return take_along_axis(table, at.reshape((1, *shape)), 0)[0]


# ---- piecewise


def _piece(now: Tracing, function: Any, x: Array, args: Any, kwargs: Any) -> Any:
    """What a function makes of all elements; one that mixes them would see others than NumPy shows it."""
    if not callable(function):
        return function
    body, start = now.builder.body, len(now.builder.body)
    made = as_operand(function(x, *args, **kwargs))
    alone = all(
        isinstance(op.prim, (Elementwise, Special)) or not op.args or not op.args[0].type.shape for op in body[start:]
    )
    if not alone or shape_of(made) not in ((), x.shape):
        fix = "compute the pieces with np.where(condition, f(x), g(x))"
        raise TraceError(message("np.piecewise with a function that mixes elements", user_line(), fix))
    return made


def _is_single(conditions: Any, x: Array) -> bool:
    """Whether there is one condition, which stands for itself, as NumPy tells it from a list of them."""
    given = as_operand(conditions) if isinstance(conditions, (list, tuple)) and len(conditions) == 0 else conditions
    if not shape_of(as_operand(given)):
        return True
    return not isinstance(given[0], (list, tuple)) and shape_of(as_operand(given[0])) == () != x.shape


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Array:
    now, y = traced(x)
    conditions = [condlist] if _is_single(condlist, y) else [condlist[k] for k in range(len(condlist))]
    pieces, n = list(funclist), len(conditions)
    if len(pieces) not in (n, n + 1):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    made = traced(np.zeros(y.shape, y.dtype))[1]
    if len(pieces) == n + 1:
        made = _put(now, made, True, pieces[n], y, args, kw)
    for condition, function in zip(conditions, pieces, strict=False):
        made = _put(now, made, not_zero(condition), function, y, args, kw)
    return made


def _put(now: Tracing, made: Array, condition: Any, function: Any, x: Array, args: Any, kw: Any) -> Array:
    piece = traced(_piece(now, function, x, args, kw))[1].astype(x.dtype)
    return where(condition, piece, made)


__all__ = ["choose", "piecewise", "select"]
