"""Kernels as plain C functions, for SciPy, Numba, C and whoever else takes an address.

    values     double f(double x, double y)                     numbers in, one float out
    packed     double f(int n, double *xx)                      float64 arguments one behind the other, one float out
    pointers   int64_t f(const double *x, ..., double *out0)    anything; returns 0 unless the kernel failed

A function that returns a float returns NaN if the kernel fails, or if n is another number than that of the arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.types import Type
from .kernel import Kernel
from .linking.module import link
from .machine import compile_object
from .process import native_callable
from .text.c_names import C_TYPES, distinct

FORMS = ("values", "packed", "pointers")

_LLVM = {"bool": "i8", "i32": "i32", "i64": "i64", "f32": "float", "f64": "double"}
_CTYPES = {"bool": ctypes.c_uint8, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float,
           "f64": ctypes.c_double}
_NAN = "0x7FF8000000000000"
_REPORT = "  %report = alloca [4 x i64], align 8"


class CFunction:
    """A C function in memory; it stays there as long as this object, or a function pointer of it, lives.

    address     where it is
    ctypes      it as a ctypes function pointer
    prototype   its declaration in C

    The kernel's last arguments are bound to `extras`; its results are in the order `order`.
    """

    def __init__(self, kernel: Kernel, extras: Sequence[np.ndarray], order: Sequence[int], form: str) -> None:
        given = kernel.inputs[: len(kernel.inputs) - len(extras)]
        results = [(k, kernel.graph.results[k].type) for k in order]
        text, signature, declared = _WRITERS[form](kernel, given, results, [e.ctypes.data for e in extras])
        linked = link(compile_object(text, 1), {kernel.name: kernel.address}, ["function"])
        self.address: int = linked.address("function")
        names = distinct([p.hint or f"in{k}" for k, p in enumerate(kernel.graph.params)][: len(given)])
        self.prototype: str = declared(distinct([kernel.graph.name])[0], names)
        self._signature = signature
        self._kept = (linked, kernel, tuple(extras))

    @property
    def ctypes(self) -> Any:
        pointer: Any = native_callable(self.address, *self._signature)
        pointer.function = self
        return pointer

    def __repr__(self) -> str:
        return f"<C function {self.prototype} at {self.address:#x}>"


def form_problem(form: str, kernel: Kernel, extras: int) -> str:
    """Why a kernel cannot be a C function of that form; empty if it can."""
    given = kernel.inputs[: len(kernel.inputs) - extras]
    results = [r.type for r in kernel.graph.results]
    odd = next((t for t in [*given, *results] if t.dtype not in _LLVM), None)
    if odd is not None:
        return f"takes or returns {odd.numpy}, which C has no name for"
    if form == "pointers":
        return ""
    if len(results) != 1 or results[0].shape or not results[0].is_float:
        return f"returns {', '.join(map(str, results)) or 'nothing'}, not one float"
    wrong = [t for t in given if t.shape] if form == "values" else [t for t in given if t.dtype != "f64"]
    return f"takes {wrong[0]}, not {'a number' if form == 'values' else 'float64'}" if wrong else ""


Results = Sequence[tuple[int, Type]]
Made = tuple[str, tuple[Any, ...], Callable[[str, list[str]], str]]


def _values(kernel: Kernel, given: list[Type], results: Results, extras: list[int]) -> Made:
    kinds = [_LLVM[t.dtype] for t in given]
    made = results[0][1].dtype
    params = [f"{kind}{' zeroext' if kind == 'i8' else ''} %a{k}" for k, kind in enumerate(kinds)]
    lines = [f"  %in{k} = alloca {kind}, align 8" for k, kind in enumerate(kinds)]
    lines += [f"  store {kind} %a{k}, ptr %in{k}" for k, kind in enumerate(kinds)]
    lines += _float_call(kernel, [f"%in{k}" for k in range(len(given))], made, extras)
    text = _text(kernel, _LLVM[made], params, lines)

    def declared(name: str, names: list[str]) -> str:
        typed = ", ".join(f"{C_TYPES[t.dtype]} {each}" for t, each in zip(given, names, strict=True))
        return f"{C_TYPES[made]} {name}({typed or 'void'})"

    return text, (_CTYPES[made], *(_CTYPES[t.dtype] for t in given)), declared


def _packed(kernel: Kernel, given: list[Type], results: Results, extras: list[int]) -> Made:
    made = results[0][1].dtype
    counts = [int(np.prod(t.static_shape(), dtype=int)) for t in given]
    starts = [8 * sum(counts[:k]) for k in range(len(counts))]
    lines = [f"  %same = icmp eq i32 %n, {sum(counts)}", "  br i1 %same, label %run, label %wrong", "wrong:",
             f"  ret {_LLVM[made]} {_NAN}", "run:"]
    lines += [f"  %in{k} = getelementptr i8, ptr %xx, i64 {start}" for k, start in enumerate(starts)]
    lines += _float_call(kernel, [f"%in{k}" for k in range(len(given))], made, extras)
    text = _text(kernel, _LLVM[made], ["i32 %n", "ptr %xx"], lines)
    signature = (_CTYPES[made], ctypes.c_int, ctypes.POINTER(ctypes.c_double))
    return text, signature, lambda name, names: f"{C_TYPES[made]} {name}(int n, double *xx)"


def _pointers(kernel: Kernel, given: list[Type], results: Results, extras: list[int]) -> Made:
    inputs, outputs = [f"%in{k}" for k in range(len(given))], [f"%out{k}" for k, _ in sorted(results)]
    lines = [_REPORT, *_call(kernel, inputs, outputs, extras), "  ret i64 %status"]
    text = _text(kernel, "i64", [f"ptr {p}" for p in (*inputs, *(f"%out{k}" for k, _ in results))], lines)
    types = [t.dtype for t in (*given, *(t for _, t in results))]

    def declared(name: str, names: list[str]) -> str:
        inputs = [f"const {C_TYPES[t.dtype]} *{each}" for t, each in zip(given, names, strict=True)]
        outputs = [f"{C_TYPES[t.dtype]} *out{k}" for k, (_, t) in enumerate(results)]
        return f"int64_t {name}({', '.join([*inputs, *outputs])})"

    return text, (ctypes.c_int64, *(ctypes.POINTER(_CTYPES[t]) for t in types)), declared


_WRITERS = {"values": _values, "packed": _packed, "pointers": _pointers}


def _float_call(kernel: Kernel, inputs: list[str], made: str, extras: list[int]) -> list[str]:
    """The call of a kernel with one float result, and its return."""
    kind = _LLVM[made]
    return [
        _REPORT,
        f"  %out = alloca {kind}, align 8",
        *_call(kernel, inputs, ["%out"], extras),
        f"  %value = load {kind}, ptr %out",
        "  %good = icmp eq i64 %status, 0",
        f"  %told = select i1 %good, {kind} %value, {kind} {_NAN}",
        f"  ret {kind} %told",
    ]


def _call(kernel: Kernel, inputs: list[str], outputs: list[str], extras: list[int]) -> list[str]:
    given = [*(f"ptr {p}" for p in inputs), *(f"ptr inttoptr (i64 {at} to ptr)" for at in extras)]
    given += [f"ptr {p}" for p in (*outputs, "%report")]
    return [f"  %status = call i64 @{kernel.name}({', '.join(given)})"]


def _text(kernel: Kernel, result: str, params: list[str], lines: list[str]) -> str:
    count = len(kernel.inputs) + len(kernel.graph.results) + 1
    return "\n".join([
        f"declare i64 @{kernel.name}({', '.join(['ptr'] * count)})",
        f"define {result} @function({', '.join(params)}) nounwind {{",
        "entry:",
        *lines,
        "}",
        ""])


__all__ = ["FORMS", "CFunction", "form_problem"]
