"""Reading the arguments of a native entry: exact types, dtypes, shapes and containers.

Nothing here has side effects or runs Python code, so an entry can give up at any guard; and no
reference that was read can die before the kernel starts. That is why dicts with keys other than
plain strings are refused: comparing such a key could run anything.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.types import HELD
from ..python_abi import (
    ARRAY_FLAGS,
    DICT_KEYS,
    FLOAT_VALUE,
    KEYS_KIND,
    LIST_ITEMS,
    SIZE,
    TUPLE_ITEMS,
    TYPE,
    WRITEABLE,
)
from .specs import (
    CONTAINERS,
    ArraySpec,
    Container,
    DictSpec,
    FloatSpec,
    IntSpec,
    ListSpec,
    RecordSpec,
    ScalarSpec,
    Spec,
    StaticSpec,
    TupleSpec,
)
from .writer import EntryWriter

Path = tuple[int, ...]
Found = tuple[str, Spec, str]
"""An object, what it must be, and the kernel's pointer to it, if it has one."""


class Arguments:
    """The guards of an entry; afterwards `inputs` are the kernel's pointers and `nested` the
    objects among them that only a container of the user's keeps alive."""

    def __init__(self, writer: EntryWriter) -> None:
        self.inputs: list[str] = []
        self.nested: list[str] = []
        self._writer = writer

    def read(self, args: tuple[Spec, ...], places: tuple[int, ...]) -> None:
        """Emit guards and reads for all arguments, depth first; `places` are their numbers among what was given."""
        for index, each in zip(places, args, strict=True):
            for path, (value, spec, data) in self._walk(index, each).items():
                if data:
                    self.inputs.append(data)
                if path and not isinstance(spec, (StaticSpec, *CONTAINERS)):
                    self.nested.append(value)

    def read_bound(self, specs: tuple[Spec, ...], arrays: tuple[object, ...]) -> None:
        """Emit guards and reads for arrays that are inputs of every call, and live as long as the entry."""
        self.inputs += bound_inputs(self._writer, specs, arrays)

    def read_out(self, index: int, out: Spec) -> dict[Path, Found]:
        """Emit guards and reads for the argument with that number as `out=`."""
        found = self._walk(index, out)
        for value, spec, _ in found.values():
            if isinstance(spec, ArraySpec):
                flags = self._writer.field(value, ARRAY_FLAGS, "i32")
                writeable = self._writer.value(f"and i32 {flags}, {WRITEABLE}")
                self._writer.require_equal("i32", writeable, WRITEABLE)
        return found

    def _walk(self, index: int, spec: Spec) -> dict[Path, Found]:
        """Emit guards for an argument; its parts by the way to them."""
        found: dict[Path, Found] = {}
        pending: list[tuple[Callable[[int], str], int, Spec, Path]] = [(self._argument, index, spec, ())]
        while pending:
            load, position, spec, path = pending.pop()
            value = load(position)
            if isinstance(spec, CONTAINERS):
                item = self._container(value, spec)
                items = [(item, k, child, (*path, k)) for k, child in enumerate(spec.items)]
                pending.extend(reversed(items))
                found[path] = (value, spec, "")
            else:
                found[path] = (value, spec, self._leaf(value, spec))
        return found

    def _argument(self, index: int) -> str:
        return self._writer.field("%args", 8 * index)

    def _container(self, value: str, spec: Container) -> Callable[[int], str]:
        """Emit a container's guards; the function that emits the load of an item."""
        writer = self._writer
        if isinstance(spec, RecordSpec):
            return self._record(value, spec)
        if isinstance(spec, TupleSpec) and spec.kind is not tuple:
            self._require_class(value, spec.kind)
            writer.require_equal("i64", writer.field(value, SIZE, "i64"), len(spec.items))
            return lambda index: writer.field(value, TUPLE_ITEMS + 8 * index)
        kind = {DictSpec: "PyDict_Type", ListSpec: "PyList_Type", TupleSpec: "PyTuple_Type"}
        writer.require_type(value, kind[type(spec)])
        writer.require_equal("i64", writer.field(value, SIZE, "i64"), len(spec.items))
        if isinstance(spec, DictSpec):
            kind_of_keys = writer.field(writer.field(value, DICT_KEYS), KEYS_KIND, "i8")
            writer.go_on_if(writer.value(f"icmp ne i8 {kind_of_keys}, 0"))
            return lambda index: self._dict_item(value, spec.keys[index])
        if isinstance(spec, TupleSpec):
            return lambda index: writer.field(value, TUPLE_ITEMS + 8 * index)
        items = writer.field(value, LIST_ITEMS)
        return lambda index: writer.field(items, 8 * index)

    def _require_class(self, value: str, kind: type) -> None:
        writer = self._writer
        writer.require_equal("ptr", writer.field(value, TYPE), writer.object(kind, "class"))

    def _record(self, value: str, spec: RecordSpec) -> Callable[[int], str]:
        """The guards of an object by its dict, which lives as long as the object does."""
        writer = self._writer
        self._require_class(value, spec.kind)
        held = own_dict(writer, value)
        writer.require_equal("i64", writer.field(held, SIZE, "i64"), len(spec.items))
        kind_of_keys = writer.field(writer.field(held, DICT_KEYS), KEYS_KIND, "i8")
        writer.go_on_if(writer.value(f"icmp ne i8 {kind_of_keys}, 0"))
        return lambda index: self._dict_item(held, spec.names[index])

    def _dict_item(self, value: str, key: str) -> str:
        writer = self._writer
        name = writer.object(key, "key")
        item = writer.call("ptr", "PyDict_GetItemWithError", f"ptr {value}", f"ptr {name}")
        writer.go_on_if(writer.value(f"icmp ne ptr {item}, null"))
        return item

    def _leaf(self, value: str, spec: FloatSpec | IntSpec | ScalarSpec | ArraySpec | StaticSpec) -> str:
        """Emit guards for a leaf; the kernel's pointer to it, if it is one of its inputs."""
        writer = self._writer
        match spec:
            case StaticSpec():
                writer.require_equal("ptr", value, writer.object(spec.value, "static"))
                return ""
            case FloatSpec():
                writer.require_type(value, "PyFloat_Type")
                return writer.at(value, FLOAT_VALUE)
            case IntSpec():
                return self._int(value)
            case ScalarSpec():
                self._require_class(value, HELD[spec.dtype].type)
                return writer.at(value, FLOAT_VALUE)
            case ArraySpec():
                return array_data(writer, value, spec)

    def _int(self, value: str) -> str:
        writer = self._writer
        writer.require_type(value, "PyLong_Type")
        overflow, number = writer.slot("i32"), writer.slot("i64")
        read = writer.call("i64", "PyLong_AsLongLongAndOverflow", f"ptr {value}", f"ptr {overflow}")
        writer.require_equal("i32", writer.field(overflow, 0, "i32"), 0)
        writer.store(f"i64 {read}", number)
        return number


def bound_inputs(writer: EntryWriter, specs: tuple[Spec, ...], arrays: tuple[object, ...]) -> list[str]:
    """The pointers to the elements of arrays that are inputs of every call."""
    made = []
    for spec, array in zip(specs, arrays, strict=True):
        assert isinstance(spec, ArraySpec)
        made.append(array_data(writer, writer.object(array, "bound"), spec))
    return made


def own_dict(writer: EntryWriter, value: str) -> str:
    """The dict of an object, which lives as long as the object does."""
    held = writer.call("ptr", "PyObject_GenericGetDict", f"ptr {value}", "ptr null")
    writer.go_on_if(writer.value(f"icmp ne ptr {held}, null"))
    writer.call("void", "Py_DecRef", f"ptr {held}")
    return held


def array_data(writer: EntryWriter, value: str, spec: ArraySpec) -> str:
    """Emit the guards of an array; the pointer to its elements."""
    dtype = writer.external(f"dtype_{spec.dtype}", id(HELD[spec.dtype]))
    rank, shape = len(spec.shape), writer.shape(spec.shape)
    data = writer.help("ptr", "array_data", f"ptr {value}", f"ptr {dtype}", f"i32 {rank}", f"ptr {shape}")
    writer.go_on_if(writer.value(f"icmp ne ptr {data}, null"))
    return data
