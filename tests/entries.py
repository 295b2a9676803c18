"""Hand-written kernels and functions made of them, for the tests of native entries."""

from __future__ import annotations

import gc
import sys

import numpy as np

from pullback.compiler.backend.entries.native import NativeFunction, install
from pullback.compiler.backend.entries.specs import (
    ArrayResult,
    ArraySpec,
    DictResult,
    DictSpec,
    FloatResult,
    FloatSpec,
    Result,
    Spec,
    TupleResult,
)
from pullback.compiler.backend.entries.text import EntryText, entry_text
from pullback.compiler.backend.linking.module import Linked, link
from pullback.compiler.backend.machine import compile_object

TWICE = """
define i64 @k(ptr %x, ptr %y, ptr %report) nounwind {
entry:
  %v = load double, ptr %x
  %negative = fcmp olt double %v, 0.0
  br i1 %negative, label %fail, label %work
work:
  %w = fmul double %v, 2.0
  store double %w, ptr %y
  ret i64 0
fail:
  store i64 70, ptr %report
  %second = getelementptr i64, ptr %report, i64 1
  store i64 -71, ptr %second
  ret i64 5
}
"""
"""2 x of an f64; fails at site 5 below zero."""

KEYS = ("w1", "b1", "w2", "b2")
SHAPES = ((5, 3), (3,), (3, 2), (2,))
PARAMETERS = DictSpec(KEYS, tuple(ArraySpec("f64", shape) for shape in SHAPES))
GRADIENTS = TupleResult((FloatResult(0), DictResult(KEYS, tuple(
    ArrayResult(index + 1, "f64", shape) for index, shape in enumerate(SHAPES)))))


def elementwise(dtypes: list[str], sizes: list[int], outputs: list[int]) -> str:
    """A kernel that copies inputs, of these dtypes and sizes in elements, to its outputs."""
    names = [f"ptr %in{i}" for i in range(len(dtypes))] + [f"ptr %out{i}" for i in
                                                            range(len(outputs))]
    lines = [f"define i64 @k({', '.join([*names, 'ptr %report'])}) nounwind {{"]
    for place, source in enumerate(outputs):
        width = {"bool": 1, "i32": 4, "f32": 4, "i64": 8, "f64": 8}[dtypes[source]]
        for byte in range(width * sizes[source]):
            at = f"{place}.{byte}"
            lines += [
                f"  %p{at} = getelementptr i8, ptr %in{source}, i64 {byte}",
                f"  %v{at} = load i8, ptr %p{at}",
                f"  %q{at} = getelementptr i8, ptr %out{place}, i64 {byte}",
                f"  store i8 %v{at}, ptr %q{at}"]
    return "\n".join([*lines, "  ret i64 0", "}", ""])


class Recorded(NativeFunction):
    """A function whose slow path says what it was called with, and whose failures are IndexErrors."""

    def __slow__(self, *args: object, **kwargs: object) -> object:
        return ("slow", args, kwargs)

    def __failed__(self, site: int, report: tuple[int, ...]) -> None:
        raise IndexError(site, report)


def linked_entry(kernel: str, args: tuple[Spec, ...], result: Result, *, name: str = "e",
                 release_gil: bool = False, level: int = 0) -> tuple[Linked, EntryText]:
    """An entry and its kernel in memory."""
    entry = entry_text(name, "k", args, result, release_gil)
    return link(compile_object(kernel + entry.text, level), entry.symbols, entry.exports), entry


def function(kernel: str, args: tuple[Spec, ...], result: Result, *, release_gil: bool = False,
             level: int = 0) -> Recorded:
    """A function with one entry."""
    made = Recorded()
    install(made, *linked_entry(kernel, args, result, release_gil=release_gil, level=level))
    return made


def twice(level: int = 0) -> Recorded:
    """A function from float to float."""
    return function(TWICE, (FloatSpec(),), FloatResult(0), level=level)


def copy(*leaves: tuple[str, tuple[int, ...]], release_gil: bool = False) -> Recorded:
    """A function from arrays to a tuple of their copies, or to one copy."""
    specs = tuple(ArraySpec(dtype, shape) for dtype, shape in leaves)
    sizes = [int(np.prod(shape)) for _, shape in leaves]
    kernel = elementwise([dtype for dtype, _ in leaves], sizes, list(range(len(leaves))))
    results = tuple(ArrayResult(i, dtype, shape) for i, (dtype, shape) in enumerate(leaves))
    result = results[0] if len(results) == 1 else TupleResult(results)
    return function(kernel, specs, result, release_gil=release_gil)


def parameters() -> dict[str, np.ndarray]:
    """Arguments of `gradients`."""
    return {key: np.full(shape, index + 1.0) for index, (key, shape) in
            enumerate(zip(KEYS, SHAPES, strict=True))}


def gradients(release_gil: bool = False) -> Recorded:
    """A function from a dict of four arrays to a float and a dict of fresh copies."""
    sizes = [int(np.prod(shape)) for shape in SHAPES]
    first = "  %first = load double, ptr %in0\n  store double %first, ptr %loss\n"
    kernel = elementwise(["f64"] * 4, sizes, [0, 1, 2, 3])
    kernel = kernel.replace("ptr %out0", "ptr %loss, ptr %out0", 1).replace("{\n", "{\n" + first, 1)
    return function(kernel, (PARAMETERS,), GRADIENTS, release_gil=release_gil)


def slow(*args: object, **kwargs: object) -> tuple[str, tuple, dict]:
    """What the slow path of `Recorded` returns."""
    return ("slow", args, kwargs)


class Derived(np.ndarray):
    """A subclass, which entries do not accept."""


def awkward_arrays() -> list[np.ndarray]:
    """Arrays that an entry for f64[3,4] leaves to others."""
    whole = np.arange(12.0).reshape(3, 4)
    raw = np.zeros(8 * 12 + 1, np.uint8)[1:].view(np.float64).reshape(3, 4)
    return [whole[:, ::-1], whole.T.copy().T, np.arange(24.0).reshape(3, 8)[:, ::2], raw,
            whole.astype(">f8"), whole.astype(np.float32), whole.astype(np.longdouble),
            whole.astype(object), whole.astype(complex), whole.view(Derived), whole.view(np.int64),
            whole[:2], whole.ravel(), whole[None], np.broadcast_to(1.0, (3, 4)),
            np.ma.masked_array(whole), whole.astype("M8[s]"), whole.astype("U4")]


def total_references(objects: list[object]) -> list[int]:
    """The reference counts of objects, after collections until nothing is left: one may make more garbage."""
    while gc.collect():
        pass
    return [sys.getrefcount(x) for x in objects]
