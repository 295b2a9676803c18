"""Making the results of a native entry: arrays before the kernel runs, all else after it.

References are held in an array on the stack, arrays at its bottom and above them a stack machine
that makes items before their containers. Whatever fails gives back all that is held at that point.
Objects of an `out=` argument are held like arrays that were made here.
"""

from __future__ import annotations

import math

from ...ir.types import HELD
from .. import pool
from ..python_abi import ARRAY_DATA, LIST_ITEMS, TUPLE_ITEMS
from .into import Into
from .specs import (
    CONTAINER_RESULTS,
    ArrayResult,
    BoolResult,
    ConstantResult,
    ContainerResult,
    DictResult,
    FloatResult,
    IntResult,
    MadeResult,
    NumberResult,
    Result,
    ScalarResult,
    TupleResult,
    children_first,
    kernel_results,
)
from .writer import EntryWriter


class Results:
    """The results of an entry; after `prepare`, `outputs` are the kernel's pointers."""

    def __init__(self, writer: EntryWriter, tree: Result, into: Into | None = None) -> None:
        self.outputs: list[str] = []
        self._writer = writer
        self._tree = tree
        self._into = into
        self._theirs: list[str] = []
        self._arrays: dict[int, str] = {}
        self._stack: list[str] = []
        nodes = sum(1 for _ in children_first(tree))
        self._held = writer.slot(f"[{3 * nodes + 1} x ptr]")

    @property
    def held(self) -> str:
        """The array of held references."""
        return self._held

    @property
    def depth(self) -> int:
        """How many references are held."""
        return len(self._theirs) + len(self._arrays) + len(self._stack)

    def prepare(self) -> None:
        """Emit the arrays and stack slots that the kernel writes to."""
        writer = self._writer
        for value in self._into.nested() if self._into else ():
            writer.call("void", "Py_IncRef", f"ptr {value}")
            writer.store(f"ptr {value}", self._held, 8 * self.depth)
            self._theirs.append(value)
        for result in kernel_results(self._tree):
            given = self._into and self._into.pointer(result.index)
            if given:
                self.outputs.append(given)
            elif isinstance(result, ArrayResult):
                array = writer.require_made(new_array(writer, result), self.depth)
                writer.store(f"ptr {array}", self._held, 8 * self.depth)
                self._arrays[result.index] = array
                self.outputs.append(writer.field(array, ARRAY_DATA))
            else:
                self.outputs.append(writer.slot("i64"))

    def build(self) -> str:
        """Emit the tree; its reference is the caller's."""
        for place, node in enumerate(children_first(self._tree)):
            if self._into and self._into.skipped(place):
                continue
            given = self._into and self._into.value(place)
            if given:
                self._writer.call("void", "Py_IncRef", f"ptr {given}")
                self._push(given)
            elif isinstance(node, CONTAINER_RESULTS):
                self._push_container(node)
            else:
                self._push(self._leaf(node))
        for value in self._theirs:
            self._writer.call("void", "Py_DecRef", f"ptr {value}")
        for array in self._arrays.values():
            self._writer.count_reference(array, -1)
        return self._stack.pop()

    def _push(self, value: str) -> None:
        self._writer.store(f"ptr {value}", self._held, 8 * self.depth)
        self._stack.append(value)

    def _leaf(self, node: NumberResult | ArrayResult | ConstantResult) -> str:
        writer = self._writer
        if isinstance(node, ConstantResult):
            constant = writer.object(node.value, "constant")
            writer.call("void", "Py_IncRef", f"ptr {constant}")
            return constant
        if isinstance(node, ArrayResult):
            array = self._arrays[node.index]
            writer.count_reference(array, 1)
            return array
        return writer.require_made(self._number(node, self.outputs[node.index]), self.depth)

    def _number(self, node: NumberResult, output: str) -> str:
        writer = self._writer
        match node:
            case FloatResult():
                number = writer.field(output, 0, "double")
                return writer.call("ptr", "PyFloat_FromDouble", f"double {number}")
            case IntResult():
                number = writer.field(output, 0, "i64")
                return writer.call("ptr", "PyLong_FromLongLong", f"i64 {number}")
            case BoolResult():
                number = writer.value(f"zext i8 {writer.field(output, 0, 'i8')} to i64")
                return writer.call("ptr", "PyBool_FromLong", f"i64 {number}")
            case ScalarResult():
                dtype = writer.external(f"dtype_{node.dtype}", id(HELD[node.dtype]))
                return writer.call(
                    "ptr", "PyArray_Scalar", f"ptr {output}", f"ptr {dtype}", "ptr null")

    def _push_container(self, node: ContainerResult) -> None:
        count = len(node.items)
        items = self._stack[len(self._stack) - count:]
        if isinstance(node, DictResult):
            made = self._dict(node.keys, items)
        elif isinstance(node, MadeResult):
            made = self._called(node, items)
        else:
            made = self._sequence(isinstance(node, TupleResult), items)
        del self._stack[len(self._stack) - count:]
        self._push(made)

    def _dict(self, keys: tuple[str, ...], items: list[str]) -> str:
        writer = self._writer
        made = writer.require_made(writer.call("ptr", "PyDict_New"), self.depth)
        writer.store(f"ptr {made}", self._held, 8 * self.depth)
        for key, item in zip(keys, items, strict=True):
            name = writer.object(key, "key")
            typed = (f"ptr {made}", f"ptr {name}", f"ptr {item}")
            status = writer.call("i32", "PyDict_SetItem", *typed)
            writer.undo_unless(writer.value(f"icmp eq i32 {status}, 0"), self.depth + 1)
        for item in items:
            writer.call("void", "Py_DecRef", f"ptr {item}")
        return made

    def _called(self, node: MadeResult, items: list[str]) -> str:
        """What a Python function makes of the items."""
        writer = self._writer
        given = self._sequence(True, items)
        del self._stack[len(self._stack) - len(items):]
        self._push(given)
        function = writer.object(node.make, "make")
        made = writer.require_made(
            writer.call("ptr", "PyObject_CallObject", f"ptr {function}", f"ptr {given}"), self.depth)
        writer.call("void", "Py_DecRef", f"ptr {given}")
        self._stack.pop()
        self._stack += items  # the caller takes them off
        return made

    def _sequence(self, is_tuple: bool, items: list[str]) -> str:
        """A tuple or list, which takes over the references to its items."""
        writer = self._writer
        new = "PyTuple_New" if is_tuple else "PyList_New"
        made = writer.require_made(writer.call("ptr", new, f"i64 {len(items)}"), self.depth)
        if items:
            first = writer.at(made, TUPLE_ITEMS) if is_tuple else writer.field(made, LIST_ITEMS)
            for position, item in enumerate(items):
                writer.store(f"ptr {item}", first, 8 * position)
        return made


def new_array(writer: EntryWriter, result: ArrayResult) -> str:
    """Emit the making of an array; null if there is no memory."""
    shape, dtype = result.shape, HELD[result.dtype]
    kind, sizes = writer.symbol("PyArray_Type"), writer.shape(shape)
    given = (f"ptr {kind}", f"i32 {len(shape)}", f"ptr {sizes}", f"i32 {dtype.num}")
    if math.prod(shape) * dtype.itemsize >= pool.LARGE:
        return writer.call_at(pool.address(), "ptr", "new_array", *given)
    return writer.call("ptr", "PyArray_New", *given, "ptr null", "ptr null", "i32 0", "i32 0", "ptr null")
