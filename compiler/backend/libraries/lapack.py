"""Calls of LAPACK by address: arrays in row-major order in, factors and solutions out, one function for each routine.

    i64 @pullback_lapack_potrf_f64(i64 count, i64 n, i64 right, ptr a, ptr low)
    i64 @pullback_lapack_getrf_f64(i64 count, i64 n, i64 right, ptr a, ptr lu, ptr swaps)
    i64 @pullback_lapack_getri_f64(i64 count, i64 n, i64 right, ptr lu, ptr swaps, ptr inverse)
    i64 @pullback_lapack_getrs_f64(i64 count, i64 n, i64 right, i64 turned, ptr lu, ptr swaps, ptr b, ptr x)
    i64 @pullback_lapack_trsm_f64(i64 count, i64 n, i64 right, i64 upper, i64 turned, ptr a, ptr b, ptr x)

and the same for f32: `count` matrices of n rows one after another, with `right` right sides each; what they mean is in
`ops.linalg.lapack`. They call the OpenBLAS that NumPy brings along. Where NumPy was built with another, they are
functions of Python with NumPy's results. They return 0, or -1 without memory. Kernels name them, so that a kernel on
disk has no address of another process.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ...locks import reentrant_lock
from ...ops.linalg.lapack import Routine, getrf, getri, getrs, potrf, trsm
from ..disk import cache
from ..linking.module import Linked, link
from ..process import Callback, allocator_symbols, callback, memory
from . import blas
from .lapack_text import PREFIX, text

_ROUTINES = (potrf, getrf, getri, getrs, trsm)
_DTYPES = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}

_lock = reentrant_lock()
_made: list[tuple[Linked | None, dict[str, int], list[Callback]]] = []


def name_of(routine: str) -> str:
    """The name of the function for a routine and type, such as potrf_f64."""
    return PREFIX + routine


def is_name(name: str) -> bool:
    return name.startswith(PREFIX)


def symbols() -> dict[str, int]:
    """The addresses of all functions, by name; they are made when first asked for."""
    with _lock:
        if not _made:
            routines = blas.routines()
            _made.append(_native(routines) if routines else _from_numpy())
        return _made[0][1]


# ---- by LAPACK


def _native(routines: dict[str, int]) -> tuple[Linked, dict[str, int], list[Callback]]:
    names = [name_of(f"{r.name}_{dtype}") for r in _ROUTINES for dtype in _DTYPES]
    linked = link(cache.kept_object(text(), 2), allocator_symbols() | routines, names)
    return linked, {name: linked.address(name) for name in names}, []


# ---- by NumPy


def _from_numpy() -> tuple[None, dict[str, int], list[Callback]]:
    kept = {
        name_of(f"{routine.name}_{dtype}"): callback(functools.partial(_call, routine, dtype), words)
        for routine, words in ((potrf, 5), (getrf, 6), (getri, 6), (getrs, 8), (trsm, 8))
        for dtype in _DTYPES
    }
    return None, {name: made.address for name, made in kept.items()}, list(kept.values())


def _call(routine: Routine, dtype: str, count: int, n: int, right: int, *rest: int) -> int:
    """What a native function does, by the meaning of the operation."""
    attributes = dict(zip(routine.attributes, rest, strict=False))
    addresses = rest[len(attributes) :]
    kind = _DTYPES[dtype]
    square, swaps = ((count, n, n), kind), ((count, n), np.dtype(np.int64))
    sides = ((count, n, right) if routine is trsm else (count, right, n), kind)
    layouts = {potrf: [square, square], getrf: [square, square, swaps], getri: [square, swaps, square],
               getrs: [square, swaps, sides, sides],
               trsm: [square, sides, sides]}[routine]  # fmt: skip
    arrays = [_array(at, *layout) for at, layout in zip(addresses, layouts, strict=True)]
    given, results = arrays[: routine.arity], arrays[routine.arity :]
    results[0][:] = math.nan  # what stays if the call is interrupted
    for to, made in zip(results, routine.evaluate(given, attributes, ()), strict=True):
        to[:] = made
    return 0


def _array(address: int, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    return np.frombuffer(memory(address, math.prod(shape) * kind.itemsize), kind).reshape(shape)


__all__ = ["is_name", "name_of", "symbols"]
