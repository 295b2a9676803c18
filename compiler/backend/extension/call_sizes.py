"""The sizes of one call of a function of an extension module: from its arguments to the shapes of its results.

The first argument that has a size known by name says what it is, and the others are checked to agree. Sizes that the
function does not serve are a ValueError, before anything is made.
"""

from __future__ import annotations

import math

from ...ir.types import Dim, Size
from ..entries.specs import ArrayResult, ArraySpec, kernel_results
from .array_text import DTYPES, FORMATS, NUMPY_NUMBERS, SIZES
from .describe import Function, served_words
from .every_size import served_text
from .writer import FunctionWriter


def array_constant(
    w: FunctionWriter, dtype: str, shape: tuple[Dim, ...], at: str = "null", expected: str = "null"
) -> str:
    """An `%Array`, for reading one or for making one; sizes known by name are to be filled in."""
    k, numbers = DTYPES.index(dtype), [0 if isinstance(n, Size) else n for n in shape]
    sizes = w.constant(f"[{len(shape)} x i64] [{', '.join(f'i64 {n}' for n in numbers)}]")
    first, second = map(ord, FORMATS[k])
    return w.constant(
        f"%Array {{ ptr {at}, ptr {expected}, ptr {sizes}, ptr {w.text(FORMATS[k][0])}, "
        f"i64 {math.prod(numbers) * SIZES[k]}, i32 {len(shape)}, i32 {k}, i32 {SIZES[k]}, "
        f"i32 {NUMPY_NUMBERS[k]}, i8 {first}, i8 {second} }}")


class CallSizes:
    """The sizes of a call: `numbers` is where they are; see `SizeWriter`."""

    def __init__(self, writer: FunctionWriter, function: Function) -> None:
        self._w, self._function = writer, function
        self.numbers = writer.slot(f"[{len(function.sizes)} x i64]")
        self._owners: dict[str, str] = {}
        self._results = [node for node in kernel_results(function.result) if isinstance(node, ArrayResult)]
        self._dims = writer.slot(f"[{sum(len(node.shape) for node in self._results) + 1} x i64]")
        self._at = 0

    def known(self, spec: ArraySpec) -> str:
        """What is said of an argument beside its shape: whose sizes it must have."""
        names = dict.fromkeys([str(n) for n in spec.shape if str(n) in self._owners])
        return "".join(f", with the {name} of {self._owners[name]}" for name in names)

    def expected(self, value: str, spec: ArraySpec, array: str, path: str) -> str:
        """The `%Array` that an argument must be: its sizes that are not known yet are its own."""
        w = self._w
        shape = w.slot(f"[{len(spec.shape)} x i64]")
        w.do(f"call void @.look_at_shape(ptr {value}, ptr {shape}, ptr {array}, ptr %state)")
        for axis, n in enumerate(spec.shape):
            place = w.value(f"getelementptr i64, ptr {shape}, i64 {axis}")
            if not isinstance(n, Size):
                w.do(f"store i64 {n}, ptr {place}")
                continue
            mine = w.value(f"getelementptr i64, ptr {self.numbers}, i64 {self._function.sizes.index(str(n))}")
            source, target = (mine, place) if str(n) in self._owners else (place, mine)
            w.do(f"store i64 {w.load('i64', source)}, ptr {target}")
            self._owners.setdefault(str(n), path)
        return self._filled(array, shape)

    def _filled(self, array: str, shape: str) -> str:
        """A copy of an `%Array` with another shape."""
        w = self._w
        made = w.slot("%Array")
        w.do(f"store %Array {w.load('%Array', array)}, ptr {made}")
        w.do(f"store ptr {shape}, ptr {w.value(f'getelementptr %Array, ptr {made}, i32 0, i32 2')}")
        return made

    def serve(self) -> None:
        """Find the dimensions of the results; leave with an exception if these sizes are not served."""
        w, f = self._w, self._function
        case = w.value(f"call i64 @.served_{f.name}(ptr {self.numbers}, ptr {self._dims})")
        w.go_on_unless(w.value(f"icmp slt i64 {case}, 0"), self.refuse)

    def refuse(self) -> None:
        """Set the exception for sizes that are not served."""
        w, f = self._w, self._function
        told = ", ".join(f"{name} = %lld" for name in f.sizes)
        message = w.text(f"{f.name}() has no code for {told}: expected {served_words(f)}")
        places = [w.value(f"getelementptr i64, ptr {self.numbers}, i64 {k}") for k in range(len(f.sizes))]
        numbers = ", ".join(f"i64 {w.load('i64', place)}" for place in places)
        kind = w.load("ptr", "@PyExc_ValueError")
        w.do(f"call ptr (ptr, ptr, ...) @PyErr_Format(ptr {kind}, ptr {message}, {numbers})")

    def made(self, node: ArrayResult, array: str) -> str:
        """The `%Array` of a result."""
        w = self._w
        shape = w.value(f"getelementptr i64, ptr {self._dims}, i64 {self._at}")
        count = str(SIZES[DTYPES.index(node.dtype)])
        for axis in range(len(node.shape)):
            size = w.load("i64", w.value(f"getelementptr i64, ptr {shape}, i64 {axis}"))
            count = w.value(f"mul i64 {count}, {size}")
        self._at += len(node.shape)
        made = self._filled(array, shape)
        w.do(f"store i64 {count}, ptr {w.value(f'getelementptr %Array, ptr {made}, i32 0, i32 4')}")
        return made

    def text(self) -> str:
        """The function that is asked by `serve`."""
        return served_text(self._function, [node.index for node in self._results])


__all__ = ["CallSizes", "array_constant"]
