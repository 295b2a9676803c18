"""NumPy's functions of places in arrays: flat indices and those along axes, of traced integers or of traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.require import require
from ..array import Array, find, here, implements, value_of
from ..errors import TraceError, TraceValueError, message
from ..promotion import as_operand, shape_of
from ..tracing import user_line
from .ordering import selected
from .reductions import all_, traced
from .shaping import reshape, sizes
from .ufuncs import elementwise


def _whole(x: Any, name: str) -> Array:
    _now, y = traced(x)
    if y.dtype.kind not in "iu":
        raise TraceError(message(f"{name}: only int indices permitted", user_line(), "cast them: i.astype(int)"))
    return y.astype(np.int64)


def _check(holds: Array, text: str) -> None:
    now = here(holds)
    now.emit(require, value_of(now, all_(holds)), error="ValueError", text=text)


def _within(x: Array, size: Any) -> Array:
    return elementwise(np.logical_and, elementwise(np.greater_equal, x, 0), elementwise(np.less, x, size))


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    rest, dims = _whole(indices, "np.unravel_index"), sizes(shape)
    total = int(np.prod(dims))
    _check(_within(rest, total), f"index is out of bounds for array with size {total}")
    found = []
    for n in dims if order == "F" else dims[::-1]:
        found.append(elementwise(np.remainder, rest, n))
        rest = elementwise(np.floor_divide, rest, n)
    return tuple(found if order == "F" else found[::-1])


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Array:
    given, around = list(multi_index), sizes(dims)
    if len(given) != len(around):
        text = f"parameter multi_index must be a sequence of length {len(around)}"
        raise TraceValueError(message(text, user_line()))
    modes = mode if isinstance(mode, tuple) else (mode,) * len(around)
    total, factor = None, 1
    columns = list(zip(given, around, modes, strict=True))
    for x, n, how in columns if order == "F" else columns[::-1]:
        at = _whole(x, "np.ravel_multi_index")
        if how == "raise":
            _check(_within(at, n), "invalid entry in coordinates array")
        elif how == "wrap":
            at = elementwise(np.remainder, at, n)
        else:
            at = elementwise(np.minimum, elementwise(np.maximum, at, 0), n - 1)
        at = elementwise(np.multiply, at, factor)
        total, factor = at if total is None else elementwise(np.add, total, at), factor * n
    assert total is not None
    return total


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Each along an axis of its own."""
    made = []
    for k, each in enumerate(args):
        x = as_operand(each)
        if len(shape_of(x)) != 1:
            raise ValueError("Cross index must be 1 dimensional")
        wide = (1,) * k + (-1,) + (1,) * (len(args) - k - 1)
        if find([x]) is None:
            made.append(np.ix_(np.asarray(x))[0].reshape(wide))
        elif x.dtype.kind == "b":
            places = selected("np.ix_", x, "use np.where(mask, x, 0), which keeps the shape").nonzero()[0]
            made.append(places.reshape(wide))
        else:
            made.append(reshape(x, wide))
    return tuple(made)


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[np.ndarray, ...]:
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if any(n != arr.shape[0] for n in arr.shape):
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0].__index__(), arr.ndim)


def _triangle(name: str) -> Any:
    make = getattr(np, name)

    def indices(arr: Any, k: int = 0) -> tuple[np.ndarray, ...]:
        if arr.ndim != 2:
            raise ValueError("input array must be 2-d")
        return make(arr.shape[-2].__index__(), k, arr.shape[-1].__index__())

    indices.__name__ = f"{name}_from"
    return indices


implements(np.tril_indices_from)(_triangle("tril_indices"))
implements(np.triu_indices_from)(_triangle("triu_indices"))

__all__ = ["ix_", "ravel_multi_index", "unravel_index"]
