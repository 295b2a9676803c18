"""LLVM text of two small machines: one reads the leaves of nested containers, one makes such containers.

A program is an array of words, four for an instruction (its number and three operands), or eight for those on arrays.

    pack(arguments, program)          a bytes object with the leaves where the program puts them; null if something
                                      differs from what the program was made for, and nothing has happened then
    unpack(program, leaves, made)     a new object of leaves out of memory, and of arrays that have been made; null
                                      with an exception if there is no memory, or what is called raises

What reads runs no Python code, so nothing changes meanwhile.
"""

from __future__ import annotations

from ..disk.cache import kept_object
from ..linking.module import Linked, link
from ..once import once
from ..process import allocator_symbols
from ..python_abi import (
    ARRAY_DATA,
    BYTES_DATA,
    DICT_KEYS,
    FLOAT_VALUE,
    KEYS_KIND,
    LIST_ITEMS,
    SIZE,
    TUPLE_ITEMS,
    TYPE,
    symbol,
)
from . import native_text

DEEPEST = 128
"""Containers within each other for which there is room: more than a tree may have."""

READS = (
    "done", "argument", "dict", "key", "list", "tuple", "list_item", "tuple_item", "up", "float", "int", "array",
    "pointer", "static", "record",
)
MAKES = (
    "done", "float", "int", "bool", "scalar", "array", "constant", "ready", "dict", "list", "tuple", "put_key",
    "put_list", "put_tuple", "up", "call",
)
"""The instructions by their numbers."""

WIDE = ("array", "pointer")
"""Those of eight words."""

_TYPES = ("PyDict_Type", "PyList_Type", "PyFloat_Type", "PyLong_Type", "PyArray_Type")
_FUNCTIONS = {
    "PyArray_New": "ptr (ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
    "PyArray_Scalar": "ptr (ptr, ptr, ptr)",
    "PyBool_FromLong": "ptr (i64)",
    "PyBytes_FromStringAndSize": "ptr (ptr, i64)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyDict_New": "ptr ()",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyErr_Clear": "void ()",
    "PyFloat_FromDouble": "ptr (double)",
    "PyList_New": "ptr (i64)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyObject_CallObject": "ptr (ptr, ptr)",
    "PyObject_GenericGetDict": "ptr (ptr, ptr)",
    "PyTuple_New": "ptr (i64)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}


def _number(block: str) -> str:
    """Load what the block before it has put into %kind, and go on to the instruction's block."""
    return f"switch i64 %kind, label %{block}"


def _instructions(names: tuple[str, ...], blocks: dict[str, str], other: str) -> str:
    """The blocks of all instructions: %a, %b, %c and, for arrays, %d, %e are their operands as words."""
    made = [f"  {_number(other)} [", *[f"    i64 {k}, label %{name}" for k, name in enumerate(names)], "  ]"]
    for name in names:
        made += [f"{name}:", blocks[name].strip("\n")]
        if name != "done":
            made.append(f"  br label %{'further' if name in WIDE else 'next'}")
    return "\n".join(made)


def _load(name: str, kind: str, pointer: str, offset: str | int) -> str:
    return f"  %{name}.at = getelementptr i8, ptr {pointer}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at\n"


def _require(name: str, condition: str, otherwise: str) -> str:
    """Leave unless a condition holds."""
    return f"  %{name}.ok = {condition}\n  br i1 %{name}.ok, label %{name}.on, label %{otherwise}\n{name}.on:\n"


def _push(value: str) -> str:
    return f"""\
  store ptr {value}, ptr %cur
  %push.{value[1:]} = load i64, ptr %depth
  %room.{value[1:]} = getelementptr ptr, ptr %stack, i64 %push.{value[1:]}
  store ptr {value}, ptr %room.{value[1:]}
  %more.{value[1:]} = add i64 %push.{value[1:]}, 1
  store i64 %more.{value[1:]}, ptr %depth
"""


_TOP = """\
  %n.{0} = load i64, ptr %depth
  %under.{0} = sub i64 %n.{0}, 1
  %room.{0} = getelementptr ptr, ptr %stack, i64 %under.{0}
  %top.{0} = load ptr, ptr %room.{0}
"""

_LOOP = f"""\
entry:
  %stack = alloca [{DEEPEST} x ptr], align 16
  %cur = alloca ptr
  %depth = alloca i64
  %pc = alloca ptr
  %word = alloca i64
  store ptr null, ptr %cur
  store i64 0, ptr %depth
  store ptr %program, ptr %pc
  br label %begin
further:
  %wide = load ptr, ptr %pc
  %wide.on = getelementptr i64, ptr %wide, i64 8
  store ptr %wide.on, ptr %pc
  br label %loop
next:
  %narrow = load ptr, ptr %pc
  %narrow.on = getelementptr i64, ptr %narrow, i64 4
  store ptr %narrow.on, ptr %pc
  br label %loop
loop:
  %at = load ptr, ptr %pc
  %kind = load i64, ptr %at
{_load("a", "i64", "%at", 8)}{_load("b", "i64", "%at", 16)}{_load("c", "i64", "%at", 24)}\
  %now = load ptr, ptr %cur
  %object = inttoptr i64 %a to ptr
"""


def _exactly(name: str, kind: str) -> str:
    """The guard on the exact type of the object at hand."""
    same = f"icmp eq ptr %{name}.type, {kind}"
    return _load(f"{name}.type", "ptr", "%now", TYPE) + _require(f"{name}.same", same, "miss")


def _sized(name: str, pointer: str, words: str) -> str:
    return _load(f"{name}.size", "i64", pointer, SIZE) + _require(
        f"{name}.fits", f"icmp eq i64 %{name}.size, {words}", "miss"
    )


def _texts(name: str, pointer: str) -> str:
    """The guard that all keys of a dict are plain strings, which compare without running code of anybody's."""
    table = _load(f"{name}.keys", "ptr", pointer, DICT_KEYS) + _load(f"{name}.kind", "i8", f"%{name}.keys", KEYS_KIND)
    return table + _require(f"{name}.texts", f"icmp ne i8 %{name}.kind, 0", "miss")


def _place(name: str, word: str) -> str:
    return f"  %{name} = getelementptr i8, ptr %data, i64 {word}\n"


def _array_data(name: str) -> str:
    """The data of the array at hand; operands: rank, shape, dtype."""
    return f"""\
  %{name}.rank = trunc i64 %a to i32
  %{name}.shape = inttoptr i64 %b to ptr
  %{name}.dtype = inttoptr i64 %c to ptr
  %{name}.data = call ptr @array_data(ptr %now, ptr %{name}.dtype, i32 %{name}.rank, ptr %{name}.shape)
{_require(f"{name}.found", f"icmp ne ptr %{name}.data, null", "miss")}\
{_load(f"{name}.d", "i64", "%at", 32)}{_load(f"{name}.e", "i64", "%at", 40)}"""


_READING = {
    "done": "  ret ptr %bytes",
    "argument": "  %given = getelementptr ptr, ptr %args, i64 %a\n  %arg = load ptr, ptr %given\n"
    "  store ptr %arg, ptr %cur",
    "dict": _exactly("dict", "@PyDict_Type") + _sized("dict", "%now", "%a") + _texts("dict", "%now") + _push("%now"),
    "key": _TOP.format("key")
    + "  %item = call ptr @PyDict_GetItemWithError(ptr %top.key, ptr %object)\n"
    + _require("item", "icmp ne ptr %item, null", "miss")
    + "  store ptr %item, ptr %cur",
    "list": _exactly("list", "@PyList_Type") + _sized("list", "%now", "%a") + _push("%now").replace(".now", ".now1"),
    "tuple": "  %kind.tuple = inttoptr i64 %b to ptr\n" + _exactly("tuple", "%kind.tuple")
    + _sized("tuple", "%now", "%a") + _push("%now").replace(".now", ".now2"),
    "list_item": _TOP.format("list") + _load("items", "ptr", "%top.list", LIST_ITEMS)
    + "  %list.place = getelementptr ptr, ptr %items, i64 %a\n  %list.item = load ptr, ptr %list.place\n"
    "  store ptr %list.item, ptr %cur",
    "tuple_item": _TOP.format("tuple")
    + f"  %tuple.first = getelementptr i8, ptr %top.tuple, i64 {TUPLE_ITEMS}\n"
    "  %tuple.place = getelementptr ptr, ptr %tuple.first, i64 %a\n  %tuple.item = load ptr, ptr %tuple.place\n"
    "  store ptr %tuple.item, ptr %cur",
    "up": "  %deep = load i64, ptr %depth\n  %less = sub i64 %deep, 1\n  store i64 %less, ptr %depth",
    "float": _exactly("float", "@PyFloat_Type") + _load("number", "double", "%now", FLOAT_VALUE)
    + _place("float.to", "%a") + "  store double %number, ptr %float.to",
    "int": _exactly("int", "@PyLong_Type") + "  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %now, ptr %word)\n"
    "  %beyond = load i32, ptr %word\n" + _require("int.fits", "icmp eq i32 %beyond, 0", "miss")
    + _place("int.to", "%a") + "  store i64 %whole, ptr %int.to",
    "array": _array_data("array") + _place("array.to", "%array.e")
    + "  %array.moved = call ptr @memcpy(ptr %array.to, ptr %array.data, i64 %array.d)",
    "pointer": _array_data("pointer") + _place("pointer.to", "%pointer.d") + _place("object.to", "%pointer.e")
    + "  store ptr %pointer.data, ptr %pointer.to\n  store ptr %now, ptr %object.to",
    "static": _require("static", "icmp eq ptr %now, %object", "miss"),
    "record": _exactly("record", "%object") + "  %held = call ptr @PyObject_GenericGetDict(ptr %now, ptr null)\n"
    + _require("held", "icmp ne ptr %held, null", "unheld") + "  call void @Py_DecRef(ptr %held)\n"
    + _sized("record", "%held", "%b") + _texts("record", "%held") + _push("%held"),
}

_PACK = f"""
define ptr @pack(ptr %args, ptr %program) nounwind {{
{_LOOP.replace("br label %begin", '''%size = load i64, ptr %program
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr null, i64 %size)
  %nothing = icmp eq ptr %bytes, null
  br i1 %nothing, label %none, label %next''').replace("%bytes = ", "%bytes = ")}\
  %data = getelementptr i8, ptr %bytes, i64 {BYTES_DATA}
{_instructions(READS, _READING, "miss")}
unheld:
  call void @PyErr_Clear()
  br label %miss
miss:
  call void @Py_DecRef(ptr %bytes)
  ret ptr null
none:
  call void @PyErr_Clear()
  ret ptr null
}}
"""


def _made(name: str, call: str) -> str:
    """What a call has made is at hand now."""
    return f"  %{name} = {call}\n{_require(name, f'icmp ne ptr %{name}, null', 'undo')}  store ptr %{name}, ptr %cur"


def _opened(name: str, call: str) -> str:
    return f"  %{name} = {call}\n{_require(name, f'icmp ne ptr %{name}, null', 'undo')}{_push(f'%{name}')}"


def _taken(name: str) -> str:
    return f"  %{name} = getelementptr i8, ptr %leaves, i64 %a\n"


_MAKING = {
    "done": "  ret ptr %now",
    "float": _taken("float.at0") + "  %number = load double, ptr %float.at0\n"
    + _made("new.float", "call ptr @PyFloat_FromDouble(double %number)"),
    "int": _taken("int.at0") + "  %whole = load i64, ptr %int.at0\n"
    + _made("new.int", "call ptr @PyLong_FromLongLong(i64 %whole)"),
    "bool": _taken("bool.at0") + "  %bit = load i8, ptr %bool.at0\n  %truth = zext i8 %bit to i64\n"
    + _made("new.bool", "call ptr @PyBool_FromLong(i64 %truth)"),
    "scalar": _taken("scalar.at0") + "  %scalar.dtype = inttoptr i64 %b to ptr\n"
    + _made("new.scalar", "call ptr @PyArray_Scalar(ptr %scalar.at0, ptr %scalar.dtype, ptr null)"),
    "array": _taken("array.at0") + "  %rank = trunc i64 %b to i32\n  %shape = inttoptr i64 %c to ptr\n"
    + _load("num", "i64", "%at", 32) + _load("nbytes", "i64", "%at", 40) + "  %num32 = trunc i64 %num to i32\n"
    + _made("new.array", "call ptr @PyArray_New(ptr @PyArray_Type, i32 %rank, ptr %shape, i32 %num32, ptr null, "
            "ptr null, i32 0, i32 0, ptr null)") + "\n" + _load("new.data", "ptr", "%new.array", ARRAY_DATA)
    + "  %moved = call ptr @memcpy(ptr %new.data, ptr %array.at0, i64 %nbytes)",
    "constant": "  call void @Py_IncRef(ptr %object)\n  store ptr %object, ptr %cur",
    "ready": "  %ready.at = getelementptr ptr, ptr %made, i64 %a\n  %ready.array = load ptr, ptr %ready.at\n"
    "  call void @Py_IncRef(ptr %ready.array)\n  store ptr %ready.array, ptr %cur",
    "dict": _opened("new.dict", "call ptr @PyDict_New()"),
    "list": _opened("new.list", "call ptr @PyList_New(i64 %a)"),
    "tuple": _opened("new.tuple", "call ptr @PyTuple_New(i64 %a)"),
    "put_key": _TOP.format("key") + "  %status = call i32 @PyDict_SetItem(ptr %top.key, ptr %object, ptr %now)\n"
    "  call void @Py_DecRef(ptr %now)\n" + _require("status", "icmp eq i32 %status, 0", "undo"),
    "put_list": _TOP.format("list") + _load("items", "ptr", "%top.list", LIST_ITEMS)
    + "  %list.place = getelementptr ptr, ptr %items, i64 %a\n  store ptr %now, ptr %list.place",
    "put_tuple": _TOP.format("tuple") + f"  %tuple.first = getelementptr i8, ptr %top.tuple, i64 {TUPLE_ITEMS}\n"
    "  %tuple.place = getelementptr ptr, ptr %tuple.first, i64 %a\n  store ptr %now, ptr %tuple.place",
    "up": _TOP.format("up") + "  store i64 %under.up, ptr %depth\n  store ptr %top.up, ptr %cur",
    "call": "  %called = call ptr @PyObject_CallObject(ptr %object, ptr %now)\n  call void @Py_DecRef(ptr %now)\n"
    + _require("called", "icmp ne ptr %called, null", "undo") + "  store ptr %called, ptr %cur",
}

_UNPACK = f"""
define ptr @unpack(ptr %program, ptr %leaves, ptr %made) nounwind {{
{_LOOP.replace("%begin", "%loop")}
{_instructions(MAKES, _MAKING, "undo")}
undo:
  %left = load i64, ptr %depth
  call void @undo(ptr %stack, i64 %left)
  ret ptr null
}}
"""


def _text() -> str:
    types = [f"@{name} = external global i8" for name in _TYPES]
    typed = [(name, *kind.split(" ", 1)) for name, kind in _FUNCTIONS.items()]
    functions = [f"declare {result} @{name}{arguments}" for name, result, arguments in typed]
    ours = ["declare ptr @memcpy(ptr, ptr, i64)", "declare ptr @array_data(ptr, ptr, i32, ptr)",
            "declare void @undo(ptr, i64)"]
    return "\n".join([*types, *functions, *ours, _PACK, _UNPACK])


@once
def _module() -> Linked:
    """In memory once for the process, from the first function of many leaves on."""
    symbols = {name: symbol(name) for name in (*_TYPES, *_FUNCTIONS)}
    symbols |= {name: native_text.address(name) for name in ("array_data", "undo")}
    return link(kept_object(_text(), 2), symbols | {"memcpy": allocator_symbols()["memcpy"]}, ("pack", "unpack"))


def address(name: str) -> int:
    """The address of one of the two."""
    return _module().address(name)


__all__ = ["MAKES", "READS", "WIDE", "address"]
