"""The recorder's types: what Python sees of the objects of `layout`."""

from __future__ import annotations

import ctypes
from typing import Any

from ....compiler.backend import python_abi
from ....compiler.backend.entries import native_text
from ....compiler.backend.process import interpreter_symbol, python_callable
from . import library
from .calls import operator_text
from .layout import Cell, Recorded, State, Tape, Tensor
from .objects import tape_methods_text

_NO_ARGUMENTS, _ONE_ARGUMENT = 0x4, 0x8  # METH_NOARGS, METH_O
_kept: list[object] = []  # what the interpreter reads of a type as long as the type is there


class _Slot(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Member(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("offset", ctypes.c_ssize_t),
                ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _Property(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("get", ctypes.c_void_p), ("set", ctypes.c_void_p),
                ("doc", ctypes.c_char_p), ("closure", ctypes.c_void_p)]


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


class _Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(_Slot))]


def _table(kind: type[ctypes.Structure], rows: list[tuple[Any, ...]]) -> int:
    """The address of an array of structures that ends with an empty one."""
    array = (kind * (len(rows) + 1))(*(kind(*row) for row in rows))
    _kept.append(array)
    return ctypes.addressof(array)


def _members(
    integers: dict[str, int], objects: dict[str, int], special: dict[str, int] | None = None
) -> tuple[int, int]:
    """The slot of fields that Python reads and writes: integers, and objects that are None where there is none."""
    rows = [(name.encode(), python_abi.MEMBER_SIZE, offset, 0, None) for name, offset in integers.items()]
    rows += [(name.encode(), python_abi.MEMBER_OR_NONE, offset, 0, None) for name, offset in objects.items()]
    rows += [(name.encode(), python_abi.MEMBER_SIZE, offset, python_abi.MEMBER_READONLY, None)
             for name, offset in (special or {}).items()]
    return python_abi.SLOT_MEMBERS, _table(_Member, rows)


def _type(name: str, doc: str, size: int, flags: int, *slots: tuple[int, int]) -> type:
    """A heap type that others may derive from, and nobody changes."""
    text = ctypes.create_string_buffer(doc.encode())
    every = [(python_abi.SLOT_DOC, ctypes.addressof(text)), *slots, (0, None)]
    table = (_Slot * len(every))(*(_Slot(*slot) for slot in every))
    module = __name__.rpartition(".")[0]
    flags |= python_abi.IMMUTABLE_TYPE | python_abi.BASE_TYPE
    spec = _Spec(f"{module}.{name}".encode(), size, 0, flags, table)
    _kept.extend((text, table, spec))
    make = python_callable(interpreter_symbol("PyType_FromSpec"), ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(spec))


def _made(name: str, doc: str, size: int, native: str, *slots: tuple[int, int], flags: int = 0) -> type:
    """A heap type that the garbage collector knows; `native` is how its functions' names begin."""
    return _type(
        name, doc, size, python_abi.HAVE_GC | flags,
        (python_abi.SLOT_TRAVERSE, library.address(f"{native}_traverse")),
        (python_abi.SLOT_CLEAR, library.address(f"{native}_clear")),
        (python_abi.SLOT_DEALLOC, library.address(f"{native}_dealloc")), *slots)


def module_type() -> type:
    """ModuleBase: its instances are called by what their method `forward` does. It has no fields, so that a subclass
    may have any other base."""
    return _type("ModuleBase", "What is called by its method forward.", object.__basicsize__, 0,
                 (python_abi.SLOT_CALL, library.address("module_call")))


def function(name: str, arguments: int = 1) -> Any:
    """A function of none, one or more arguments."""
    how = python_abi.FASTCALL if arguments > 1 else _ONE_ARGUMENT if arguments else _NO_ARGUMENTS
    table = _table(_Method, [(name.encode(), library.address(name), how, None)])
    make = python_callable(interpreter_symbol("PyCFunction_NewEx"), ctypes.py_object, *[ctypes.c_void_p] * 3)
    return make(table, None, None)


def tensor_type() -> type:
    """TensorBase: what every tensor has. `_cell` and `_node` are made by methods of subclasses when first read."""
    properties = _table(_Property, [
        (b"_cell", library.address("cell_get"), library.address("cell_set"), None, None),
        (b"_node", library.address("node_get"), library.address("node_set"), None, None),
        (b"_is_late", library.address("late_get"), None, None, None),
        (b"__dict__", *map(interpreter_symbol, ("PyObject_GenericGetDict", "PyObject_GenericSetDict")), None, None)])
    integers = {"_serial": Tensor.SERIAL, "_number": Tensor.NUMBER, "_flags": Tensor.FLAGS, "_written": Tensor.WRITTEN,
                "_place": Tensor.PLACE}
    objects = {"_grad": Tensor.GRAD, "_storage": Tensor.STORAGE, "_kind": Tensor.KIND, "_record": Tensor.RECORD}
    places = {"__dictoffset__": Tensor.DICT, "__weaklistoffset__": Tensor.WEAK}
    operators = [(slot, library.address(name)) for name, slot in operator_text.SLOTS.items()]
    return _made(
        "TensorBase", "The native part of a tensor.", Tensor.SIZE, "tensor",
        _members(integers, objects, places),
        (python_abi.SLOT_GETSET, properties),
        (python_abi.SLOT_HASH, library.address("tensor_hash")), *operators)


def cell_type() -> type:
    """CellBase: what every cell has."""
    fields = {"serial": Cell.SERIAL, "number": Cell.NUMBER, "stale": Cell.STALE, "version": Cell.VERSION}
    objects = {"kind": Cell.KIND, "array": Cell.ARRAY, "checked": Cell.CHECKED, "home": Cell.HOME}
    return _made("CellBase", "The native part of a cell.", Cell.SIZE, "cell",
                 _members(fields, objects, {"__weaklistoffset__": Cell.WEAK}),
                 (python_abi.SLOT_INIT, library.address("cell_init")))


def state_type() -> type:
    """StateBase: a prefix of traces."""
    integers = {"values": State.VALUES, "count": State.COUNT, "mode": State.MODE, "runs": State.RUNS}
    names = ("first", "sibling", "call", "names", "needs", "gives", "keep", "info", "plan", "live")
    return _made("StateBase", "The native part of a state.", State.SIZE, "state",
                 _members(integers, dict(zip(names, State.OBJECTS, strict=True))))


def recorded_type() -> type:
    """RecordedBase(function, slow): a function whose calls are recognised."""
    return _made(
        "RecordedBase", "The native part of a recorded function.", Recorded.SIZE, "recorded",
        _members({}, {"function": Recorded.FUNCTION, "slow": Recorded.SLOW, "pattern": Recorded.PATTERN},
                 {"__vectorcalloffset__": Recorded.VECTORCALL}),
        (python_abi.SLOT_NEW, library.address("recorded_new")),
        (python_abi.SLOT_INIT, library.address("recorded_init")),
        (python_abi.SLOT_CALL, interpreter_symbol("PyVectorcall_Call")),
        (python_abi.SLOT_DESCR_GET, native_text.address("bind")),
        flags=python_abi.HAVE_VECTORCALL | python_abi.METHOD_DESCRIPTOR)


def tape_type() -> type:
    """TapeBase: the trace that a thread records. Whoever reads `state` has `settle()` called where there are notes;
    `known` is the state before those."""
    integers = {"serial": Tape.SERIAL, "count": Tape.COUNT, "mode": Tape.MODE, "depth": Tape.DEPTH,
                "owner": Tape.OWNER}
    methods = [
        (name.encode(), library.address(f"tape_{name}"), python_abi.FASTCALL if arguments else _NO_ARGUMENTS, None)
        for name, arguments in tape_methods_text.METHODS.items()]
    state = [(b"state", library.address("tape_state_get"), library.address("tape_state_set"), None, None)]
    return _made("TapeBase", "The native part of the trace that a thread records.", Tape.SIZE, "tape",
                 _members(integers, {"known": Tape.STATE, "root": Tape.ROOT, "special": Tape.SPECIAL,
                            "caught": Tape.CAUGHT}),
                 (python_abi.SLOT_NEW, library.address("tape_new")),
                 (python_abi.SLOT_GETSET, _table(_Property, state)),
                 (python_abi.SLOT_METHODS, _table(_Method, methods)))
