"""Entries of functions of many leaves: from specifications to programs for the machines of `walk_text`.

What an entry for few leaves does in line takes LLVM text for each of them. Here the leaves are data: small ones are
copied into one vector of each dtype, which the kernel takes as one array, and results come out of vectors likewise.
All of them lie in a bytes object, which is held like the arrays of results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...ir.types import STORED
from ...passes.packing import PackedLayout
from ..python_abi import ARRAY_DATA, BYTES_DATA
from . import walk_text
from .arguments import bound_inputs
from .results import new_array
from .specs import (
    CONTAINERS,
    ArrayResult,
    ArraySpec,
    BoolResult,
    ConstantResult,
    DictResult,
    DictSpec,
    FloatResult,
    FloatSpec,
    Input,
    IntResult,
    ListResult,
    ListSpec,
    MadeResult,
    RecordSpec,
    Result,
    ScalarSpec,
    Spec,
    StaticSpec,
    TupleResult,
    input_specs,
    kernel_results,
)
from .writer import EntryWriter

Leaf = Input | StaticSpec

LINE = 64
"""Bytes to which vectors are aligned, within their memory."""


class PackedWalk(NamedTuple):
    """How the kernel takes its parameters and gives its results."""

    params: PackedLayout
    results: PackedLayout


class Room:
    """Places in the memory of a call."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, size: int) -> int:
        """The place of so many bytes."""
        at = self.size
        self.size += -(-max(size, 1) // LINE) * LINE
        return at

    def of(self, layout: PackedLayout) -> tuple[list[int], dict[int, int]]:
        """The places of the vectors, and of the values in them by their numbers."""
        vectors, places = [], {}
        for group in layout.groups:
            width = STORED[group.dtype].itemsize
            vectors.append(self.take(group.size * width))
            starts = zip(group.numbers, group.starts, strict=True)
            places |= {k: vectors[-1] + start * width for k, start in starts}
        return vectors, places


class _Program:
    """Words for one of the machines, and what they refer to."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._numbers = {name: k for k, name in enumerate(names)}
        self.words: list[int] = []
        self.keep: list[object] = []

    def do(self, name: str, *operands: int) -> None:
        """Add an instruction."""
        size = 8 if name in walk_text.WIDE else 4
        self.words += [self._numbers[name], *operands, *[0] * (size - 1 - len(operands))]

    def object(self, value: object) -> int:
        """The address of an object, which lives as long as the entry."""
        self.keep.append(value)
        return id(value)

    def shape(self, shape: tuple[int, ...]) -> int:
        """The address of the sizes of an array."""
        sizes = np.array([*shape, 0], np.int64)
        self.keep.append(sizes)
        return sizes.ctypes.data

    def finished(self, writer: EntryWriter) -> str:
        """The name of the program in an entry."""
        self.do("done")
        words = np.array(self.words, np.int64)
        writer.keep += [words, self.keep]
        return writer.external(f"program{len(writer.keep)}", words.ctypes.data)


class WalkedArguments:
    """Like `Arguments`: afterwards `inputs` are the kernel's pointers and `nested` the objects that lie in containers.

    `memory` is the bytes object, `data` the pointer to what is in it.
    """

    def __init__(self, writer: EntryWriter, walk: PackedWalk, result: Result) -> None:
        self.inputs: list[str] = []
        self.nested: list[str] = []
        self.memory = self.data = ""
        self._writer, self._walk = writer, walk
        self._room = Room()
        self._vectors, self._places = self._room.of(walk.params)
        self.results, self.parts = self._room.of(walk.results)
        for node in kernel_results(result):
            if node.index not in self.parts and not isinstance(node, ArrayResult):
                self.parts[node.index] = self._room.take(8)
        self._pointers: dict[int, tuple[int, int]] = {}

    def read(self, args: tuple[Spec, ...], places: tuple[int, ...]) -> None:
        """Emit the call that reads all arguments; `places` are their numbers among what was given."""
        program = _Program(walk_text.READS)
        program.words = [0] * 4
        inputs = len(input_specs(args))
        count = iter(range(inputs))
        for index, each in zip(places, args, strict=True):
            program.do("argument", index)
            self._part(program, each, count)
        program.words[0] = self._room.size
        writer = self._writer
        name = program.finished(writer)
        self.memory = writer.call_at(walk_text.address("pack"), "ptr", "pack", "ptr %args", f"ptr {name}")
        writer.go_on_if(writer.value(f"icmp ne ptr {self.memory}, null"))
        self.data = writer.at(self.memory, BYTES_DATA)
        self.inputs += [writer.at(self.data, at) for at in self._vectors]
        for k in self._walk.params.rest:
            if k in self._pointers:
                pointer, held = self._pointers[k]
                self.inputs.append(writer.field(self.data, pointer))
                self.nested.append(writer.field(self.data, held))
            elif k < inputs:
                self.inputs.append(writer.at(self.data, self._places[k]))

    def read_bound(self, specs: tuple[Spec, ...], arrays: tuple[object, ...]) -> None:
        """Emit guards and reads for arrays that are inputs of every call; none of them lies in a vector."""
        self.inputs += bound_inputs(self._writer, specs, arrays)

    def _part(self, program: _Program, spec: Spec, count: Iterator[int]) -> None:
        """The guards of a part that is at hand, and the way of its leaves to their places."""
        if not isinstance(spec, CONTAINERS):
            self._leaf(program, spec, count)
            return
        size = len(spec.items)
        names: tuple[str, ...] = ()
        match spec:
            case DictSpec():
                names, step = spec.keys, "key"
                program.do("dict", size)
            case RecordSpec():
                names, step = spec.names, "key"
                program.do("record", program.object(spec.kind), size)
            case ListSpec():
                step = "list_item"
                program.do("list", size)
            case _:
                step = "tuple_item"
                program.do("tuple", size, program.object(spec.kind))
        for k, item in enumerate(spec.items):
            program.do(step, program.object(names[k]) if names else k)
            self._part(program, item, count)
        program.do("up")

    def _leaf(self, program: _Program, spec: Leaf, count: Iterator[int]) -> None:
        if isinstance(spec, StaticSpec):
            program.do("static", program.object(spec.value))
            return
        k = next(count)
        assert not isinstance(spec, ScalarSpec), "NumPy scalars are not packed"
        if isinstance(spec, ArraySpec):
            operands = (len(spec.shape), program.shape(spec.shape), id(STORED[spec.dtype]))
            if k in self._places:
                program.do("array", *operands, spec.nbytes, self._places[k])
            else:
                self._pointers[k] = self._room.take(8), self._room.take(8)
                program.do("pointer", *operands, *self._pointers[k])
            return
        if k not in self._places:
            self._places[k] = self._room.take(8)
        program.do("float" if isinstance(spec, FloatSpec) else "int", self._places[k])


class WalkedResults:
    """Like `Results`: after `prepare`, `outputs` are the kernel's pointers."""

    def __init__(self, writer: EntryWriter, tree: Result, arguments: WalkedArguments, walk: PackedWalk) -> None:
        self.outputs: list[str] = []
        self._writer, self._tree, self._arguments, self._walk = writer, tree, arguments, walk
        self._nodes = kernel_results(tree)
        fresh = [k for k in walk.results.rest if k not in arguments.parts]
        self._arrays = {k: n for n, k in enumerate(fresh)}
        self.held = writer.slot(f"[{len(self._arrays) + 2} x ptr]")
        self.depth = 0

    def prepare(self) -> None:
        """Emit the arrays that the kernel writes to, and hold them behind the memory of the call."""
        writer, arguments = self._writer, self._arguments
        self._hold(arguments.memory)
        self.outputs += [writer.at(arguments.data, at) for at in arguments.results]
        for k in self._walk.results.rest:
            if k in arguments.parts:
                self.outputs.append(writer.at(arguments.data, arguments.parts[k]))
                continue
            node = self._nodes[k]
            assert isinstance(node, ArrayResult)
            array = writer.require_made(new_array(writer, node), self.depth)
            self._hold(array)
            self.outputs.append(writer.field(array, ARRAY_DATA))

    def _hold(self, value: str) -> None:
        self._writer.store(f"ptr {value}", self.held, 8 * self.depth)
        self.depth += 1

    def build(self) -> str:
        """Emit the call that makes the result; its reference is the caller's."""
        writer = self._writer
        program = _Program(walk_text.MAKES)
        self._part(program, self._tree)
        name = program.finished(writer)
        made = writer.call_at(
            walk_text.address("unpack"), "ptr", "unpack", f"ptr {name}", f"ptr {self._arguments.data}",
            f"ptr {writer.at(self.held, 8)}",
        )
        writer.help("void", "undo", f"ptr {self.held}", f"i64 {self.depth}")
        return made

    def _part(self, program: _Program, node: Result) -> None:
        """How a part is made, to be at hand."""
        match node:
            case ConstantResult():
                program.do("constant", program.object(node.value))
            case DictResult():
                program.do("dict")
                for key, item in zip(node.keys, node.items, strict=True):
                    self._part(program, item)
                    program.do("put_key", program.object(key))
                program.do("up")
            case ListResult() | TupleResult() | MadeResult():
                kind = "list" if isinstance(node, ListResult) else "tuple"
                program.do(kind, len(node.items))
                for k, item in enumerate(node.items):
                    self._part(program, item)
                    program.do(f"put_{kind}", k)
                program.do("up")
                if isinstance(node, MadeResult):
                    program.do("call", program.object(node.make))
            case _:
                self._leaf(program, node)

    def _leaf(self, program: _Program, node: Any) -> None:
        if node.index not in self._arguments.parts:
            program.do("ready", self._arrays[node.index])
            return
        at = self._arguments.parts[node.index]
        match node:
            case FloatResult():
                program.do("float", at)
            case IntResult():
                program.do("int", at)
            case BoolResult():
                program.do("bool", at)
            case ArrayResult():
                dtype = STORED[node.dtype]
                nbytes = math.prod(node.shape) * dtype.itemsize
                program.do("array", at, len(node.shape), program.shape(node.shape), dtype.num, nbytes)
            case _:
                program.do("scalar", at, id(STORED[node.dtype]))


__all__ = ["PackedWalk", "WalkedArguments", "WalkedResults"]
