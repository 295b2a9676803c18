"""One native function that runs any kernel on a list of arrays, and makes the arrays of the results.

    run(arrays) -> [result, ...], or (status, report) if the kernel failed, or None if the arrays are not its own

What it does for one kernel stands in an array of words: the kernel's address, and for each array what it must be.
A result may lie in the memory of an argument; it is then that argument.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import pool
from ..disk import cache
from ..linking.module import Linked, link
from ..once import once
from ..process import interpreter_symbol, python_callable
from ..python_abi import SUPPORTED, symbol
from .runner_text import FUNCTIONS, HEAD, INPUT, OUTPUT, TEXT

Layout = tuple[tuple[int, ...], np.dtype]
"""Shape and dtype of an array."""

Run = Callable[[list[np.ndarray]], Any]
ONE_ARGUMENT = 0x8


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


def runner(
    kernel: int,
    inputs: Sequence[Layout],
    outputs: Sequence[Layout],
    donated: Mapping[int, int],
    release_gil: bool,
    keep: object,
) -> Run:
    """The function for the kernel at an address that holds while `keep` does; result k lies in argument donated[k]."""
    if not SUPPORTED:
        return lambda arrays: None
    head = [_caller(len(inputs) + len(outputs) + 1), kernel, len(inputs), len(outputs), int(release_gil)]
    shapes: list[int] = []
    first = HEAD + INPUT * len(inputs) + OUTPUT * len(outputs)

    def placed(shape: tuple[int, ...]) -> int:
        shapes.extend(shape)
        return first + len(shapes) - len(shape)

    for shape, dtype in inputs:
        head += [id(dtype), len(shape), placed(shape)]
    for k, (shape, dtype) in enumerate(outputs):
        large = math.prod(shape) * dtype.itemsize >= pool.LARGE
        head += [donated.get(k, -1), len(shape), placed(shape), dtype.num, int(large)]
    words = np.array([*head, *shapes, 0], np.int64)
    dtypes = [dtype for _, dtype in inputs]
    return _new()(ctypes.addressof(_method()), (words, keep, dtypes), None)


@once
def _new() -> Callable[..., Any]:
    return python_callable(
        interpreter_symbol("PyCFunction_NewEx"), ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )


@once
def _method() -> _Method:
    return _Method(b"run", _linked().address("run"), ONE_ARGUMENT, None)


@once
def _linked() -> Linked:
    names = ("PyList_Type", "PyArray_Type", "_Py_NoneStruct", *FUNCTIONS)
    symbols = {name: symbol(name) for name in names} | {"new_array": pool.address()}
    return link(cache.kept_object(TEXT), symbols, ["run"])


@once
def _callers(count: int) -> Linked:
    loads = [f"  %p{k} = getelementptr ptr, ptr %p, i64 {k}\n  %a{k} = load ptr, ptr %p{k}" for k in range(count)]
    given = ", ".join(f"ptr %a{k}" for k in range(count))
    text = "\n".join(["define i64 @call(ptr %f, ptr %p) nounwind {", *loads, f"  %s = call i64 %f({given})",
                      "  ret i64 %s", "}", ""])
    return link(cache.kept_object(text), {}, ["call"])


def _caller(count: int) -> int:
    """The address of a function that calls another one with so many pointers from an array."""
    return _callers(count).address("call")


__all__ = ["Layout", "Run", "runner"]
