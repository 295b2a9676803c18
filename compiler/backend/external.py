"""How native code calls Python: one function of the C interface, which every kernel with such a call is linked with.

    i64 pullback_external(i64 number, ptr table)

The table has the addresses of the arguments and then of the results. Python gets copies, because the kernel's memory is
its own; what the function returns is copied to where the results are to lie. Not 0 means that it has raised.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.types import Type
from ..ops.external import function_of, raised
from .once import once
from .process import Callback, callback, memory, read_words


@once
def _entry() -> Callback:
    return callback(_called, 2)


def symbols() -> dict[str, int]:
    """The address of the function, by its name."""
    return {"pullback_external": _entry().address}


def _called(number: int, table: int) -> int:
    try:
        function = function_of(number)
        addresses = read_words(table, len(function.takes) + len(function.gives))
        args = [_array(at, type) for at, type in zip(addresses, function.takes, strict=False)]
        results = function.call(args)
        for at, result in zip(addresses[len(args) :], results, strict=True):
            if result.size:
                np.frombuffer(memory(at, result.nbytes), result.dtype)[:] = result.reshape(-1)
    except BaseException as error:
        raised(error)
        return 1
    return 0


def _array(address: int, type: Type) -> np.ndarray:
    """A copy of an array in memory."""
    shape = type.static_shape()
    size = math.prod(shape) * type.numpy.itemsize
    return np.frombuffer(memory(address, size) if size else b"", type.numpy).reshape(shape).copy()


__all__ = ["symbols"]
