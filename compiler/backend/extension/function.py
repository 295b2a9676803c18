"""One function of an extension module as LLVM text: Python objects in, a kernel run, Python objects out.

    define internal ptr @.call_NAME(ptr %module, ptr %args, i64 %count, ptr %kwnames)

It is straight-line code over the readers and makers of `argument_text`, `array_text` and `buffer_text`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.types import Size
from ..entries.specs import (
    CONTAINER_RESULTS,
    CONTAINERS,
    ArrayResult,
    ArraySpec,
    BoolResult,
    Container,
    ContainerResult,
    DictResult,
    DictSpec,
    FloatResult,
    Input,
    IntResult,
    ListSpec,
    NumberResult,
    ScalarResult,
    Spec,
    StaticSpec,
    TupleResult,
    children_first,
    kernel_results,
)
from .array_text import DTYPES, SIZES
from .call_sizes import CallSizes, array_constant
from .describe import NUMBERS, Function, item_paths, number_dtype, words
from .every_size import UNSERVED
from .writer import FunctionWriter, Objects

REPORT_WORDS = 4

_IN_MEMORY = {"bool": "i8", "i32": "i32", "i64": "i64", "f32": "float", "f64": "double"}
_RESULT_DTYPES = {FloatResult: "f64", IntResult: "i64", BoolResult: "bool"}


@dataclass(frozen=True)
class Native:
    """What a function runs.

    kernel    its C function
    extras    constants of the module, the arrays that are fixed
    failures  for each status from 1 on: the exception, and its text with a %lld for the report
    long      whether other threads may run Python code meanwhile
    """

    kernel: str
    extras: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    long: bool


def function_text(function: Function, native: Native, objects: Objects) -> str:
    """The text of a function and of its constants."""
    w = FunctionWriter(function.name, objects)
    sizes = CallSizes(w, function) if function.sizes else None
    inputs = [*_Arguments(w, sizes).read(function), *native.extras]
    results = _Results(w, function, sizes)
    results.prepare()
    _run(w, native, [*([sizes.numbers] if sizes else []), *inputs, *results.outputs], sizes)
    results.build()
    return "\n".join([sizes.text() if sizes else "", w.function(function.names, function.signature)])


class _Arguments:
    """Reading the arguments, depth first."""

    def __init__(self, writer: FunctionWriter, sizes: CallSizes | None) -> None:
        self._w, self._sizes = writer, sizes

    def read(self, function: Function) -> list[str]:
        """Pointers to the kernel's inputs."""
        w = self._w
        inputs: list[str] = []
        given = zip(function.names, function.args, strict=True)
        pending: list[tuple[str, Spec, tuple[str, ...], int]] = [(p, s, (), k) for k, (p, s) in enumerate(given)]
        pending.reverse()
        while pending:
            path, spec, owner, index = pending.pop()
            value = self._item(owner, index) if owner else self._argument(index)
            at = w.text(f"{function.name}: argument {path}")
            if isinstance(spec, CONTAINERS):
                inner = self._container(value, spec, at)
                items = zip(item_paths(path, spec), spec.items, strict=True)
                pending.extend(reversed([(p, s, inner, k) for k, (p, s) in enumerate(items)]))
            elif isinstance(spec, StaticSpec):
                operands = f"ptr {w.fixed(spec.value)}, ptr {at}, ptr {w.text(words(spec))}"
                w.go_on_if(w.value(f"call i1 @.read_fixed(ptr {value}, {operands})"))
            else:
                inputs.append(self._leaf(value, spec, at, path))
        return inputs

    def _argument(self, index: int) -> str:
        return self._w.load("ptr", self._w.value(f"getelementptr ptr, ptr %given, i64 {index}"))

    def _container(self, value: str, spec: Container, at: str) -> tuple[str, ...]:
        """Check a container; what `_item` needs to take an item of it."""
        w = self._w
        kind = {DictSpec: "PyDict_Type", ListSpec: "PyList_Type"}.get(type(spec), "PyTuple_Type")
        expected = w.text(words(spec))
        w.go_on_if(w.value(
            f"call i1 @.read_container(ptr {value}, ptr @{kind}, i64 {len(spec.items)}, ptr {at}, ptr {expected})"))
        if isinstance(spec, DictSpec):
            return (f"ptr {value}", f", ptr {at}, ptr {expected}", *spec.keys)
        return (f"ptr {value}, ptr @{kind}",)

    def _item(self, owner: tuple[str, ...], index: int) -> str:
        """Take an item of a container and own it."""
        w = self._w
        if len(owner) == 1:
            item = w.value(f"call ptr @.row_item({owner[0]}, i64 {index})")
        else:
            value, rest, *keys = owner
            item = w.value(f"call ptr @.dict_item({value}, ptr {w.fixed(keys[index])}{rest})")
        w.hold(w.made(item))
        return item

    def _leaf(self, value: str, spec: Input, at: str, path: str) -> str:
        w, dtype = self._w, number_dtype(spec)
        if dtype is None or dtype == "bool":
            assert isinstance(spec, ArraySpec)
            wanted = words(spec) + (self._sizes.known(spec) if self._sizes is not None else "")
            view, array = w.view(), array_constant(w, spec.dtype, spec.shape, at, w.text(wanted))
            if self._sizes is not None and any(isinstance(n, Size) for n in spec.shape):
                array = self._sizes.expected(value, spec, array, path)
            reader = "read_bool" if dtype else "read_array"
            return w.made(w.value(f"call ptr @.{reader}(ptr {value}, ptr {view}, ptr {array}, ptr %state)"))
        told = f"ptr {at}, ptr {w.text(NUMBERS[dtype])}"
        if dtype in ("i32", "i64"):
            slot, bits = w.slot("i64"), 8 * SIZES[DTYPES.index(dtype)] - 1
            limits = f"i64 {-(2**bits)}, i64 {2**bits - 1}"
            w.go_on_if(w.value(f"call i1 @.read_int(ptr {value}, ptr {slot}, {told}, {limits})"))
            return slot  # the low half of an i64 is its i32
        slot = w.slot("double")
        w.go_on_if(w.value(f"call i1 @.read_float(ptr {value}, ptr {slot}, {told})"))
        if dtype == "f32":
            number = w.load("double", slot)
            w.do(f"store float {w.value(f'fptrunc double {number} to float')}, ptr {slot}")
        return slot


def _run(w: FunctionWriter, native: Native, pointers: list[str], sizes: CallSizes | None) -> None:
    """Call the kernel; leave with the exception of its status if that is not 0."""
    report = w.slot(f"[{REPORT_WORDS} x i64]")
    thread = w.value("call ptr @PyEval_SaveThread()") if native.long else ""
    status = w.value(f"call i64 @{native.kernel}({', '.join(f'ptr {p}' for p in [*pointers, report])})")
    if thread:
        w.do(f"call void @PyEval_RestoreThread(ptr {thread})")
    sites = range(1, len(native.failures) + 1)
    unserved = [f"i64 {UNSERVED}, label %unserved"] if sizes else []
    cases = " ".join(["i64 0, label %succeeded", *unserved, *(f"i64 {k}, label %site{k}" for k in sites)])
    w.do(f"switch i64 {status}, label %memory [ {cases} ]")
    if sizes:
        w.start("unserved")
        sizes.refuse()
        w.do("br label %leave")
    w.start("memory")
    w.do("call ptr @PyErr_NoMemory()")
    w.do("br label %leave")
    for k, (kind, message) in zip(sites, native.failures, strict=True):
        w.start(f"site{k}")
        operands = f"ptr {w.load('ptr', f'@PyExc_{kind}')}, ptr {w.text(message)}, i64 {w.load('i64', report)}"
        w.do(f"call ptr (ptr, ptr, ...) @PyErr_Format({operands})")
        w.do("br label %leave")
    w.start("succeeded")


class _Results:
    """Making the results: arrays before the kernel runs, all else after it."""

    def __init__(self, writer: FunctionWriter, function: Function, sizes: CallSizes | None) -> None:
        self.outputs: list[str] = []
        self._w, self._tree, self._sizes = writer, function.result, sizes
        self._arrays: dict[int, str] = {}

    def prepare(self) -> None:
        """Emit the arrays and stack slots that the kernel writes to."""
        w = self._w
        if self._sizes is not None:
            self._sizes.serve()
        for node in kernel_results(self._tree):
            if isinstance(node, ArrayResult):
                data, array = w.slot("ptr"), array_constant(w, node.dtype, node.shape)
                if self._sizes is not None:
                    array = self._sizes.made(node, array)
                made = w.made(w.value(f"call ptr @.new_array(ptr {array}, ptr {data}, ptr %state)"))
                w.hold(made)
                self._arrays[node.index] = made
                self.outputs.append(w.load("ptr", data))
            else:
                self.outputs.append(w.slot("i64"))

    def build(self) -> None:
        """Emit the result as a stack machine would make it: items before their containers."""
        w = self._w
        for node in children_first(self._tree):
            if isinstance(node, CONTAINER_RESULTS):
                self._pack(node)
            elif isinstance(node, NumberResult):
                w.hold(w.made(self._number(node)))
            else:
                made = self._arrays[node.index] if isinstance(node, ArrayResult) else w.fixed(node.value)
                w.do(f"call void @Py_IncRef(ptr {made})")
                w.hold(made)
        w.do(f"store ptr {w.load('ptr', w.held(w.depth - 1))}, ptr %result")
        w.set_depth(w.depth - 1)

    def _number(self, node: NumberResult) -> str:
        w = self._w
        dtype = node.dtype if isinstance(node, ScalarResult) else _RESULT_DTYPES[type(node)]
        number = w.load(_IN_MEMORY[dtype], self.outputs[node.index])
        if dtype in ("f32", "f64"):
            wide = w.value(f"fpext float {number} to double") if dtype == "f32" else number
            return w.value(f"call ptr @PyFloat_FromDouble(double {wide})")
        if dtype == "bool":
            return w.value(f"call ptr @PyBool_FromLong(i64 {w.value(f'zext i8 {number} to i64')})")
        wide = w.value(f"sext i32 {number} to i64") if dtype == "i32" else number
        return w.value(f"call ptr @PyLong_FromLongLong(i64 {wide})")

    def _pack(self, node: ContainerResult) -> None:
        """A container takes the place of its items at the end of the row of references."""
        w = self._w
        first = w.depth - len(node.items)
        items = [w.load("ptr", w.held(first + k)) for k in range(len(node.items))]
        if isinstance(node, DictResult):
            made = w.made(w.value("call ptr @PyDict_New()"))
            w.hold(made)
            for key, item in zip(node.keys, items, strict=True):
                status = w.value(f"call i32 @PyDict_SetItem(ptr {made}, ptr {w.fixed(key)}, ptr {item})")
                w.go_on_if(w.value(f"icmp eq i32 {status}, 0"))
            for item in items:
                w.do(f"call void @Py_DecRef(ptr {item})")
        else:  # it takes over the references to its items
            kind = "Tuple" if isinstance(node, TupleResult) else "List"
            made = w.made(w.value(f"call ptr @Py{kind}_New(i64 {len(items)})"))
            for k, item in enumerate(items):
                w.value(f"call i32 @Py{kind}_SetItem(ptr {made}, i64 {k}, ptr {item})")
        w.do(f"store ptr {made}, ptr {w.held(first)}")
        w.set_depth(first + 1)
