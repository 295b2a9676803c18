"""NumPy's functions that fill arrays with values, which may be traced: full, full_like, and those that write."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numpy.writing import WRITES
from ..calls import NATIVE, call, meaning_of
from ..machine import Machine
from ..values import is_array, traced
from .access import dtype_of, set_array, shape_of
from .parts import native


@meaning_of(np.full)
def _full(m: Machine, shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if not traced(fill_value):
        made = m.adopt(native(m, lambda: np.full(shape, fill_value, dtype, **kwargs)))
    else:
        whole = call(m, np.broadcast_to, [call(m, np.asarray, [fill_value, dtype], {}), shape], {})
        made = call(m, np.copy, [whole], {})
    if is_array(made):
        made.box.rows = kwargs.get("order", "C") == "C"
    return made


@meaning_of(np.full_like)
def _full_like(
    m: Machine, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    like = a if is_array(a) else call(m, np.asarray, [a], {})
    sizes = shape_of(m, like) if is_array(like) else ()
    return _full(m, sizes if shape is None else shape, fill_value, dtype_of(m, like) if dtype is None else dtype)


def _writing(held: Any) -> Any:
    def write(m: Machine, a: Any, *args: Any, **kwargs: Any) -> None:
        if not is_array(a):
            m.fail(TypeError(f"argument 1 must be numpy.ndarray, not {type(a).__name__}"))
        set_array(m, a, Ellipsis, NATIVE[0](m, held, [a, *args], kwargs))

    return write


for _original, _held in WRITES.items():
    if not isinstance(_original, str):
        meaning_of(_original)(_writing(_held))
