"""NumPy's functions that fill arrays with a value, which may be traced: full, full_like, copyto, fill_diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import prelude
from .arrays import dtype_of, set_array, shape_of
from .calls import call, meaning_of
from .machine import Machine
from .parts import native
from .values import is_array, traced


@meaning_of(np.full)
def _full(m: Machine, shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if not traced(fill_value):
        return m.adopt(native(m, lambda: np.full(shape, fill_value, dtype, **kwargs)))
    whole = call(m, np.broadcast_to, [call(m, np.asarray, [fill_value, dtype], {}), shape], {})
    return call(m, np.copy, [whole], {})


@meaning_of(np.full_like)
def _full_like(
    m: Machine, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    like = a if is_array(a) else call(m, np.asarray, [a], {})
    sizes = shape_of(m, like) if is_array(like) else ()
    return _full(m, sizes if shape is None else shape, fill_value, dtype_of(m, like) if dtype is None else dtype)


@meaning_of(np.copyto)
def _copyto(m: Machine, dst: Any, src: Any, where: Any = True) -> None:
    value = src if where is True else call(m, np.where, [where, src, dst], {})
    set_array(m, dst, Ellipsis, value, True)


@meaning_of(np.fill_diagonal)
def _fill_diagonal(m: Machine, a: Any, val: Any) -> None:
    call(m, prelude.fill_diagonal, [a, val], {})
