"""Calls of LAPACK by address: arrays in row-major order in, factors and solutions out, one function for each routine.

    i64 @pullback_lapack_potrf_f64(i64 count, i64 n, i64 right, ptr a, ptr low)
    i64 @pullback_lapack_getrf_f64(i64 count, i64 n, i64 right, ptr a, ptr lu, ptr swaps)
    i64 @pullback_lapack_getrs_f64(i64 count, i64 n, i64 right, i64 turned, ptr lu, ptr swaps, ptr b, ptr x)
    i64 @pullback_lapack_trsm_f64(i64 count, i64 n, i64 right, i64 upper, i64 turned, ptr a, ptr b, ptr x)

and the same for f32: `count` matrices of n rows one after another, with `right` right sides each; what they mean is in
`ops.lapack`. They call the OpenBLAS that NumPy brings along. Where NumPy was built with another, they are functions of
Python with NumPy's results. Kernels name them, so that a kernel on disk has no address of another process.
"""

from __future__ import annotations

import functools
import math
import os
import threading

import numpy as np

from ..ops.lapack import Routine, getrf, getrs, potrf, trsm
from . import blas, cache
from .module import Linked, link
from .process import Callback, allocator_symbols, callback, memory

_PREFIX = "pullback_lapack_"
_ROUTINES = (potrf, getrf, getrs, trsm)
_DTYPES = {"f64": (np.float64, "double", "d"), "f32": (np.float32, "float", "s")}

_lock = threading.RLock()
_made: list[tuple[Linked | None, dict[str, int], list[Callback]]] = []


def name_of(routine: str) -> str:
    """The name of the function for a routine and type, such as potrf_f64."""
    return _PREFIX + routine


def is_name(name: str) -> bool:
    return name.startswith(_PREFIX)


def symbols() -> dict[str, int]:
    """The addresses of all functions, by name; they are made when first asked for."""
    with _lock:
        if not _made:
            routines = blas.routines()
            _made.append(_native(routines) if routines else _from_numpy())
        return _made[0][1]


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


# ---- by LAPACK


def _native(routines: dict[str, int]) -> tuple[Linked, dict[str, int], list[Callback]]:
    names = [name_of(f"{r.name}_{dtype}") for r in _ROUTINES for dtype in _DTYPES]
    linked = link(cache.kept_object(text(), 2), allocator_symbols() | routines, names)
    return linked, {name: linked.address(name) for name in names}, []


def text() -> str:
    """The functions as LLVM text."""
    return "\n".join([_COMMON, *(_of_type(dtype) for dtype in _DTYPES)])


def _of_type(dtype: str) -> str:
    size, (_, real, letter) = (8 if dtype == "f64" else 4), _DTYPES[dtype]
    parts = [_DECLARED, _MISSING, _POTRF, _GETRF, _GETRS, _TRSM]
    made = "\n".join(parts)
    words = {"DTYPE": dtype, "REAL": real, "LETTER": letter, "SIZE": str(size), "PREFIX": _PREFIX}
    for word, meaning in words.items():
        made = made.replace(f"<{word}>", meaning)
    return made


_COMMON = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@upper = private constant i8 85
@plain = private constant i8 78
@turned = private constant i8 84
"""

_DECLARED = """
declare void @lapack_<LETTER>potrf(ptr, ptr, ptr, ptr, ptr, i64)
declare void @lapack_<LETTER>getrf(ptr, ptr, ptr, ptr, ptr, ptr)
declare void @lapack_<LETTER>getrs(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64)
declare void @cblas_<LETTER>trsm(i32, i32, i32, i32, i32, i64, i64, <REAL>, ptr, i64, ptr, i64)
"""

_MISSING = """
define internal void @missing_<DTYPE>(ptr %to, i64 %size) nounwind {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%following, %next]
  %at = getelementptr <REAL>, ptr %to, i64 %i
  store <REAL> 0x7FF8000000000000, ptr %at
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %size
  br i1 %more, label %next, label %done
done:
  ret void
}

define internal i1 @singular_<DTYPE>(ptr %a, i64 %n) nounwind {
entry:
  %step = add i64 %n, 1
  br label %next
next:
  %i = phi i64 [0, %entry], [%following, %on]
  %offset = mul i64 %i, %step
  %at = getelementptr <REAL>, ptr %a, i64 %offset
  %pivot = load <REAL>, ptr %at
  %zero = fcmp oeq <REAL> %pivot, 0.0
  br i1 %zero, label %found, label %on
on:
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %n
  br i1 %more, label %next, label %none
found:
  ret i1 1
none:
  ret i1 0
}
"""

_POTRF = """
define i64 @<PREFIX>potrf_<DTYPE>(i64 %count, i64 %n, i64 %right, ptr %a, ptr %low) nounwind {
entry:
  %np = alloca i64
  %info = alloca i64
  store i64 %n, ptr %np
  %size = mul i64 %n, %n
  br label %next
next:
  %k = phi i64 [0, %entry], [%following, %after]
  %offset = mul i64 %k, %size
  %from = getelementptr <REAL>, ptr %a, i64 %offset
  %to = getelementptr <REAL>, ptr %low, i64 %offset
  br label %row
row:
  %i = phi i64 [0, %next], [%i1, %row]
  %i1 = add i64 %i, 1
  %start = mul i64 %i, %n
  %rest = sub i64 %n, %i1
  %fromrow = getelementptr <REAL>, ptr %from, i64 %start
  %torow = getelementptr <REAL>, ptr %to, i64 %start
  %above = getelementptr <REAL>, ptr %torow, i64 %i1
  %bytes = mul i64 %i1, <SIZE>
  %restbytes = mul i64 %rest, <SIZE>
  call void @llvm.memcpy.p0.p0.i64(ptr %torow, ptr %fromrow, i64 %bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %above, i8 0, i64 %restbytes, i1 false)
  %rows = icmp slt i64 %i1, %n
  br i1 %rows, label %row, label %factor
factor:
  store i64 0, ptr %info
  call void @lapack_<LETTER>potrf(ptr @upper, ptr %np, ptr %to, ptr %np, ptr %info, i64 1)
  %status = load i64, ptr %info
  %good = icmp eq i64 %status, 0
  br i1 %good, label %after, label %bad
bad:
  call void @missing_<DTYPE>(ptr %to, i64 %size)
  br label %after
after:
  %following = add i64 %k, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %done
done:
  ret i64 0
}
"""

_GETRF = """
define i64 @<PREFIX>getrf_<DTYPE>(i64 %count, i64 %n, i64 %right, ptr %a, ptr %lu, ptr %swaps) nounwind {
entry:
  %np = alloca i64
  %info = alloca i64
  store i64 %n, ptr %np
  %size = mul i64 %n, %n
  %bytes = mul i64 %size, <SIZE>
  br label %next
next:
  %k = phi i64 [0, %entry], [%following, %next]
  %offset = mul i64 %k, %size
  %from = getelementptr <REAL>, ptr %a, i64 %offset
  %to = getelementptr <REAL>, ptr %lu, i64 %offset
  %first = mul i64 %k, %n
  %order = getelementptr i64, ptr %swaps, i64 %first
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  call void @lapack_<LETTER>getrf(ptr %np, ptr %np, ptr %to, ptr %np, ptr %order, ptr %info)
  %following = add i64 %k, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %done
done:
  ret i64 0
}
"""

_GETRS = """
define i64 @<PREFIX>getrs_<DTYPE>(i64 %count, i64 %n, i64 %right, i64 %turned,
    ptr %lu, ptr %swaps, ptr %b, ptr %x) nounwind {
entry:
  %np = alloca i64
  %rp = alloca i64
  %info = alloca i64
  store i64 %n, ptr %np
  store i64 %right, ptr %rp
  %square = mul i64 %n, %n
  %size = mul i64 %n, %right
  %bytes = mul i64 %size, <SIZE>
  %is.turned = icmp ne i64 %turned, 0
  %how = select i1 %is.turned, ptr @turned, ptr @plain
  br label %next
next:
  %k = phi i64 [0, %entry], [%following, %after]
  %lustart = mul i64 %k, %square
  %offset = mul i64 %k, %size
  %first = mul i64 %k, %n
  %factors = getelementptr <REAL>, ptr %lu, i64 %lustart
  %order = getelementptr i64, ptr %swaps, i64 %first
  %from = getelementptr <REAL>, ptr %b, i64 %offset
  %to = getelementptr <REAL>, ptr %x, i64 %offset
  %singular = call i1 @singular_<DTYPE>(ptr %factors, i64 %n)
  br i1 %singular, label %bad, label %solve
solve:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  call void @lapack_<LETTER>getrs(ptr %how, ptr %np, ptr %rp, ptr %factors, ptr %np, ptr %order, ptr %to, ptr %np,
    ptr %info, i64 1)
  br label %after
bad:
  call void @missing_<DTYPE>(ptr %to, i64 %size)
  br label %after
after:
  %following = add i64 %k, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %done
done:
  ret i64 0
}
"""

_TRSM = """
define i64 @<PREFIX>trsm_<DTYPE>(i64 %count, i64 %n, i64 %right, i64 %upper, i64 %turned,
    ptr %a, ptr %b, ptr %x) nounwind {
entry:
  %square = mul i64 %n, %n
  %size = mul i64 %n, %right
  %bytes = mul i64 %size, <SIZE>
  %is.turned = icmp ne i64 %turned, 0
  %how = select i1 %is.turned, i32 112, i32 111
  %is.upper = icmp ne i64 %upper, 0
  %side = select i1 %is.upper, i32 121, i32 122
  br label %next
next:
  %k = phi i64 [0, %entry], [%following, %after]
  %astart = mul i64 %k, %square
  %offset = mul i64 %k, %size
  %t = getelementptr <REAL>, ptr %a, i64 %astart
  %from = getelementptr <REAL>, ptr %b, i64 %offset
  %to = getelementptr <REAL>, ptr %x, i64 %offset
  %singular = call i1 @singular_<DTYPE>(ptr %t, i64 %n)
  br i1 %singular, label %bad, label %solve
solve:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  call void @cblas_<LETTER>trsm(i32 101, i32 141, i32 %side, i32 %how, i32 131, i64 %n, i64 %right, <REAL> 1.0,
    ptr %t, i64 %n, ptr %to, i64 %right)
  br label %after
bad:
  call void @missing_<DTYPE>(ptr %to, i64 %size)
  br label %after
after:
  %following = add i64 %k, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %done
done:
  ret i64 0
}
"""


# ---- by NumPy


def _from_numpy() -> tuple[None, dict[str, int], list[Callback]]:
    kept = {
        name_of(f"{routine.name}_{dtype}"): callback(functools.partial(_call, routine, dtype), words)
        for routine, words in ((potrf, 5), (getrf, 6), (getrs, 8), (trsm, 8))
        for dtype in _DTYPES
    }
    return None, {name: made.address for name, made in kept.items()}, list(kept.values())


def _call(routine: Routine, dtype: str, count: int, n: int, right: int, *rest: int) -> int:
    """What a native function does, by the meaning of the operation."""
    attributes = dict(zip(routine.attributes, rest, strict=False))
    addresses = rest[len(attributes) :]
    kind = np.dtype(_DTYPES[dtype][0])
    square, swaps = ((count, n, n), kind), ((count, n), np.dtype(np.int64))
    sides = ((count, n, right) if routine is trsm else (count, right, n), kind)
    layouts = {potrf: [square, square], getrf: [square, square, swaps], getrs: [square, swaps, sides, sides],
               trsm: [square, sides, sides]}[routine]  # fmt: skip
    arrays = [_array(at, *layout) for at, layout in zip(addresses, layouts, strict=True)]
    given, results = arrays[: routine.arity], arrays[routine.arity :]
    results[0][:] = math.nan  # what stays if the call is interrupted
    for to, made in zip(results, routine.evaluate(given, attributes, ()), strict=True):
        to[:] = made
    return 0


def _array(address: int, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    return np.frombuffer(memory(address, math.prod(shape) * kind.itemsize), kind).reshape(shape)


__all__ = ["is_name", "name_of", "symbols", "text"]
