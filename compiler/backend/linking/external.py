"""How native code calls Python: one function of the C interface, which every kernel with such a call is linked with.

    i64 pullback_external(i64 number, ptr table)

The table has the addresses of the arguments and then of the results. A user's function gets copies, because the
kernel's memory is its own; what a function returns is copied to where the results are to lie. Not 0 means that it has
raised.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np

from ...ir.types import Type
from ...ops.external import function_of, raised
from ..once import once
from ..process import Callback, callback


@once
def _entry() -> Callback:
    return callback(_called, 2)


def symbols() -> dict[str, int]:
    """The address of the function, by its name."""
    return {"pullback_external": _entry().address}


def _called(number: int, table: int) -> int:
    try:
        function = function_of(number)
        layouts = function.layouts
        if layouts is None:
            layouts = function.layouts = [_layout(type) for type in (*function.takes, *function.gives)]
        addresses, count = _words(len(layouts)).from_address(table), len(function.takes)
        arrays = [_array(at, layout) for at, layout in zip(addresses, layouts, strict=True)]
        args, outs = arrays[:count], arrays[count:]
        if function.into is not None:
            function.into(outs, args)
            return 0
        results = function.call(args if function.only_reads else [a.copy() for a in args])
        for out, result in zip(outs, results, strict=True):
            out[...] = result
    except BaseException as error:
        raised(error)
        return 1
    return 0


def _array(address: int, layout: tuple[Any, np.dtype, tuple[int, ...]]) -> np.ndarray:
    """The array in memory."""
    kind, dtype, shape = layout
    return np.ndarray(shape, dtype, kind.from_address(address)) if kind else np.empty(shape, dtype)


def _layout(type: Type) -> tuple[Any, np.dtype, tuple[int, ...]]:
    """What ctypes, NumPy and Python call a type; no memory where it has no elements."""
    shape = type.static_shape()
    size = math.prod(shape) * type.numpy.itemsize
    return ctypes.c_ubyte * size if size else None, type.numpy, shape


@functools.lru_cache(256)
def _words(count: int) -> Any:
    return ctypes.c_uint64 * count


__all__ = ["symbols"]
