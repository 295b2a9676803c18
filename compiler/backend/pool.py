"""Memory for large results, kept when their arrays go and used again for the next.

Fresh memory costs a page fault every 4 KiB, several times what a fused kernel takes to fill it.  NumPy lets arrays
have an allocator of their own (NEP 49); this one is put in place only while a result is made, so other arrays are
as they always were.  It keeps up to `KEPT_BYTES` in `SLOTS` blocks, a block serves requests of its own size, and the
oldest makes way.  Whoever meets the lock held does without the pool.

Memory begins in the middle of a page: other large arrays begin near the start of one, and a store whose address
ends in the same 12 bits as a load just ahead delays it (0.90 against 0.70 ns an element on a gradient with three
results).  The address that malloc gave stands in the word before.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from . import process, python_abi
from .disk import cache
from .linking.module import Linked, link
from .once import once

LARGE = 32 * 1024  # bytes from which an array's memory comes from here
SLOTS = 32
KEPT_BYTES = 256 * 2**20

_TEXT = f"""
@handler = global [168 x i8] zeroinitializer, align 8
@capsule = global ptr null
@sizes = internal global [{SLOTS} x i64] zeroinitializer
@blocks = internal global [{SLOTS} x ptr] zeroinitializer
@kept = internal global i64 0
@oldest = internal global i64 0
@lock = internal global i8 0

declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @memset(ptr, i32, i64)
declare ptr @memcpy(ptr, ptr, i64)
declare i64 @malloc_usable_size(ptr)
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyDataMem_SetHandler(ptr)
declare void @Py_DecRef(ptr)

define internal i1 @enter() {{
  %pair = cmpxchg ptr @lock, i8 0, i8 1 acquire monotonic
  %got = extractvalue {{ i8, i1 }} %pair, 1
  ret i1 %got
}}

define internal void @leave() {{
  store atomic i8 0, ptr @lock release, align 1
  ret void
}}

define internal i64 @rounded(i64 %size) {{
  %more = add i64 %size, 4095
  %pages = and i64 %more, -4096
  ret i64 %pages
}}

define internal ptr @fresh(i64 %need) {{
  %whole = add i64 %need, 8192
  %raw = call ptr @malloc(i64 %whole)
  %none = icmp eq ptr %raw, null
  br i1 %none, label %done, label %place
place:
  %address = ptrtoint ptr %raw to i64
  %past = add i64 %address, 4095
  %page = and i64 %past, -4096
  %middle = add i64 %page, 2048
  %block = inttoptr i64 %middle to ptr
  %before = getelementptr i8, ptr %block, i64 -8
  store ptr %raw, ptr %before
  ret ptr %block
done:
  ret ptr null
}}

define internal void @release(ptr %block) {{
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %give
give:
  %before = getelementptr i8, ptr %block, i64 -8
  %raw = load ptr, ptr %before
  call void @free(ptr %raw)
  br label %done
done:
  ret void
}}

define ptr @pool_malloc(ptr %context, i64 %size) {{
entry:
  %need = call i64 @rounded(i64 %size)
  %got = call i1 @enter()
  br i1 %got, label %look, label %fresh
look:
  %k = phi i64 [0, %entry], [%next, %other]
  %sp = getelementptr i64, ptr @sizes, i64 %k
  %have = load i64, ptr %sp
  %bp = getelementptr ptr, ptr @blocks, i64 %k
  %block = load ptr, ptr %bp
  %fits = icmp eq i64 %have, %need
  %there = icmp ne ptr %block, null
  %both = and i1 %fits, %there
  br i1 %both, label %take, label %other
other:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {SLOTS}
  br i1 %more, label %look, label %nothing
take:
  store ptr null, ptr %bp
  %kept = load i64, ptr @kept
  %less = sub i64 %kept, %need
  store i64 %less, ptr @kept
  call void @leave()
  ret ptr %block
nothing:
  call void @leave()
  br label %fresh
fresh:
  %new = call ptr @fresh(i64 %need)
  ret ptr %new
}}

define ptr @pool_calloc(ptr %context, i64 %count, i64 %each) {{
  %size = mul i64 %count, %each
  %block = call ptr @pool_malloc(ptr %context, i64 %size)
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %clear
clear:
  %same = call ptr @memset(ptr %block, i32 0, i64 %size)
  br label %done
done:
  ret ptr %block
}}

define ptr @pool_realloc(ptr %context, ptr %block, i64 %size) {{
  %need = call i64 @rounded(i64 %size)
  %new = call ptr @fresh(i64 %need)
  %none = icmp eq ptr %new, null
  br i1 %none, label %done, label %move
move:
  %start = getelementptr i8, ptr %block, i64 -8
  %raw = load ptr, ptr %start
  %usable = call i64 @malloc_usable_size(ptr %raw)
  %from = ptrtoint ptr %block to i64
  %base = ptrtoint ptr %raw to i64
  %skipped = sub i64 %from, %base
  %have = sub i64 %usable, %skipped
  %shrinks = icmp ult i64 %size, %have
  %count = select i1 %shrinks, i64 %size, i64 %have
  %same = call ptr @memcpy(ptr %new, ptr %block, i64 %count)
  call void @free(ptr %raw)
  br label %done
done:
  ret ptr %new
}}

define void @pool_free(ptr %context, ptr %block, i64 %size) {{
entry:
  %need = call i64 @rounded(i64 %size)
  %small = icmp ult i64 %need, {LARGE}
  %large = icmp ugt i64 %need, {KEPT_BYTES}
  %odd = or i1 %small, %large
  br i1 %odd, label %drop, label %try
try:
  %got = call i1 @enter()
  br i1 %got, label %room, label %drop
room:
  %kept = load i64, ptr @kept
  %would = add i64 %kept, %need
  %at = load i64, ptr @oldest
  %bp = getelementptr ptr, ptr @blocks, i64 %at
  %sp = getelementptr i64, ptr @sizes, i64 %at
  %there = load ptr, ptr %bp
  %empty = icmp eq ptr %there, null
  %following = add i64 %at, 1
  %turn = urem i64 %following, {SLOTS}
  %over = icmp ugt i64 %would, {KEPT_BYTES}
  %full = xor i1 %empty, true
  %evict = or i1 %over, %full
  br i1 %evict, label %away, label %keep
away:
  store i64 %turn, ptr @oldest
  br i1 %empty, label %room, label %out
out:
  %its = load i64, ptr %sp
  %without = sub i64 %kept, %its
  store i64 %without, ptr @kept
  store ptr null, ptr %bp
  call void @release(ptr %there)
  br i1 %over, label %room, label %vacant
vacant:
  %again = load i64, ptr @kept
  %sum = add i64 %again, %need
  store ptr %block, ptr %bp
  store i64 %need, ptr %sp
  store i64 %sum, ptr @kept
  call void @leave()
  ret void
keep:
  store ptr %block, ptr %bp
  store i64 %need, ptr %sp
  store i64 %would, ptr @kept
  store i64 %turn, ptr @oldest
  call void @leave()
  ret void
drop:
  call void @release(ptr %block)
  ret void
}}

define ptr @new_array(ptr %type, i32 %rank, ptr %shape, i32 %dtype) {{
  %ours = load ptr, ptr @capsule
  %before = call ptr @PyDataMem_SetHandler(ptr %ours)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %none, label %make
make:
  %array = call ptr @PyArray_New(
    ptr %type, i32 %rank, ptr %shape, i32 %dtype, ptr null, ptr null, i32 0, i32 0, ptr null)
  %mine = call ptr @PyDataMem_SetHandler(ptr %before)
  call void @Py_DecRef(ptr %before)
  %lost = icmp eq ptr %mine, null
  br i1 %lost, label %none, label %done
done:
  call void @Py_DecRef(ptr %mine)
  ret ptr %array
none:
  ret ptr null
}}
"""
_EXPORTS = ("handler", "capsule", "pool_malloc", "pool_calloc", "pool_realloc", "pool_free", "new_array")


@once
def _linked() -> tuple[Linked, object]:
    """The pool in memory, and the capsule that tells NumPy of it."""
    names = ("PyArray_New", "PyDataMem_SetHandler", "Py_DecRef")
    symbols = {name: python_abi.symbol(name) for name in names}
    linked = link(cache.kept_object(_TEXT), process.allocator_symbols() | symbols, _EXPORTS)
    handler = linked.address("handler")
    fields = [0, *(linked.address(f"pool_{name}") for name in ("malloc", "calloc", "realloc", "free"))]
    process.write_bytes(handler, b"pullback".ljust(127, b"\0") + b"\1")
    process.write_words(handler + 128, fields)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(handler, b"mem_handler", None)
    process.write_words(linked.address("capsule"), [id(capsule)])
    return linked, capsule


def address() -> int:
    """The address of `new_array(type, rank, shape, dtype number)`."""
    return _linked()[0].address("new_array")


@functools.cache
def _maker():
    value, number, pointer = ctypes.py_object, ctypes.c_int, ctypes.c_void_p
    return process.python_callable(address(), value, value, number, pointer, number)


def empty(shape: tuple[int, ...], dtype: np.dtype, nbytes: int) -> np.ndarray:
    """A new array; its memory comes from the pool if it is large."""
    if nbytes < LARGE or not python_abi.SUPPORTED:
        return np.empty(shape, dtype)
    return _maker()(np.ndarray, len(shape), (ctypes.c_int64 * len(shape))(*shape), dtype.num)
