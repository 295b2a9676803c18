"""Native functions that run any kernel with a given number of arrays.

    launch(address, *arrays) -> None, or (status, (report, ...)) if the kernel failed
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..disk import cache
from ..linking.module import Linked, link
from ..process import interpreter_symbol, python_callable
from ..python_abi import ALIGNED, ARRAY_DATA, ARRAY_FLAGS, C_CONTIGUOUS, FASTCALL, symbol
from .writer import EntryWriter

_WORDS = 4


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


_kept: list[tuple[_Method, Linked]] = []


def make(count: int, release_gil: bool) -> Callable[..., Any]:
    """The function for kernels with `count` arrays; it lives as long as the process."""
    writer = EntryWriter("launch")
    _write_body(writer, count, release_gil)
    linked = link(cache.kept_object(_module_text(writer)), writer.symbols, ["launch"])
    method = _Method(b"launch", linked.address("launch"), FASTCALL, None)
    _kept.append((method, linked))
    new = python_callable(interpreter_symbol("PyCFunction_NewEx"), ctypes.py_object,
                          ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return new(ctypes.addressof(method), None, None)


def _write_body(writer: EntryWriter, count: int, release_gil: bool) -> None:
    writer.require_equal("i64", "%count", count + 1)
    number = writer.field("%args", 0)
    writer.require_type(number, "PyLong_Type")
    address = writer.call("ptr", "PyLong_AsVoidPtr", f"ptr {number}")
    writer.go_on_if(writer.value(f"icmp ne ptr {address}, null"), "wrong")
    pointers = [_array_data(writer, writer.field("%args", 8 * (index + 1)))
                for index in range(count)]
    report = writer.slot(f"[{_WORDS} x i64]")
    writer.do(f"store <{_WORDS} x i64> zeroinitializer, ptr {report}, align 8")
    thread = writer.call("ptr", "PyEval_SaveThread") if release_gil else ""
    typed = ", ".join(f"ptr {pointer}" for pointer in [*pointers, report])
    status = writer.value(f"call i64 {address}({typed})")
    if release_gil:
        writer.call("void", "PyEval_RestoreThread", f"ptr {thread}")
    writer.go_on_if(writer.value(f"icmp eq i64 {status}, 0"), "failed")
    none = writer.symbol("_Py_NoneStruct")
    writer.call("void", "Py_IncRef", f"ptr {none}")
    writer.do(f"ret ptr {none}")
    _write_failures(writer, status, report)


def _array_data(writer: EntryWriter, array: str) -> str:
    writer.require_type(array, "PyArray_Type")
    flags = C_CONTIGUOUS | ALIGNED
    present = writer.value(f"and i32 {writer.field(array, ARRAY_FLAGS, 'i32')}, {flags}")
    writer.require_equal("i32", present, flags)
    return writer.field(array, ARRAY_DATA)


def _write_failures(writer: EntryWriter, status: str, report: str) -> None:
    writer.start("failed")
    words = ", ".join(f"i64 {writer.field(report, 8 * word, 'i64')}" for word in range(_WORDS))
    build = writer.external("Py_BuildValue", symbol("Py_BuildValue"))
    writer.declarations["launch.Py_BuildValue"] = "declare ptr @launch.Py_BuildValue(ptr, ...)"
    made = writer.value(f"call ptr (ptr, ...) {build}(ptr @format, i64 {status}, {words})")
    writer.do(f"ret ptr {made}")
    writer.start("miss")
    error = writer.field(writer.symbol("PyExc_TypeError"), 0)
    writer.call("void", "PyErr_SetString", f"ptr {error}", "ptr @message")
    writer.do("br label %wrong")
    writer.start("wrong")
    writer.do("ret ptr null")


def _module_text(writer: EntryWriter) -> str:
    message = "a kernel takes an address and arrays, C-contiguous and aligned, as many as it has"
    layout = f"(L({'L' * _WORDS}))"
    return "\n".join([
        f'@message = private constant [{len(message) + 1} x i8] c"{message}\\00"',
        f'@format = private constant [{len(layout) + 1} x i8] c"{layout}\\00"',
        *writer.declarations.values(),
        "define ptr @launch(ptr %self, ptr %args, i64 %count) nounwind {",
        "entry:",
        *writer.frame,
        *writer.lines,
        "}",
        ""])
