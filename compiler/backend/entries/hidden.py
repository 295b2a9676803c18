"""Guards on what a function reads beside its arguments: globals, closure cells, attributes, code and defaults.

Each is a place and the object that must still be there.  Immutable objects are known by identity, arrays by their bits,
lists and dicts by their items, so a call whose guards hold reads what the kernel was compiled for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..process import allocator_symbols
from ..python_abi import (
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_SHAPE,
    BYTES_DATA,
    C_CONTIGUOUS,
    CELL_CONTENTS,
    F_CONTIGUOUS,
    FUNCTION_CODE,
    FUNCTION_DEFAULTS,
    FUNCTION_KEYWORD_DEFAULTS,
    LIST_ITEMS,
    SIZE,
    TYPE,
)
from .arguments import own_dict
from .writer import EntryWriter


class Guard(NamedTuple):
    """`expected` is what stands at a place now.

    kind    "global" (the holder is the dict, the name its key), "no global" (nothing stands there), "cell";
            "code", "defaults", "keyword defaults" of a function; "class" of an object, and "attribute" and
            "no attribute" in its dict; "array" (the holder is one, and the name is of its dtype), whose bits are
            expected; "list" and "dict", whose items, and keys and values in turn, are
    """

    kind: str
    holder: Any
    name: str
    expected: Any


_FIELDS = {
    "cell": CELL_CONTENTS,
    "code": FUNCTION_CODE,
    "defaults": FUNCTION_DEFAULTS,
    "keyword defaults": FUNCTION_KEYWORD_DEFAULTS,
    "class": TYPE,
}


def write_guards(writer: EntryWriter, guards: tuple[Guard, ...]) -> None:
    """Emit the guards; where one fails, the call is for the next entry."""
    for guard in guards:
        contents = _CONTENTS.get(guard.kind)
        if contents is not None:
            contents(writer, guard)
            continue
        holder = writer.object(guard.holder, "holder")
        if guard.kind in ("global", "no global"):
            found = _item(writer, holder, guard.name)
        elif guard.kind in ("attribute", "no attribute"):
            found = _item(writer, own_dict(writer, holder), guard.name)
        else:
            found = writer.field(holder, _FIELDS[guard.kind])
        absent = guard.kind.startswith("no ") or (guard.expected is None and guard.kind.endswith("defaults"))
        expected = "null" if absent else writer.object(guard.expected, "expected")
        writer.require_equal("ptr", found, expected)


def _item(writer: EntryWriter, table: str, key: str) -> str:
    """What stands in a dict under a name; null if nothing does."""
    return writer.call("ptr", "PyDict_GetItemWithError", f"ptr {table}", f"ptr {writer.object(key, 'name')}")


def _write_array(writer: EntryWriter, guard: Guard) -> None:
    """Emit the guard on an array's dtype, shape, order and bits."""
    array, bits = guard.holder, guard.expected
    holder = writer.object(array, "array")
    writer.require_equal("ptr", writer.field(holder, ARRAY_DTYPE), writer.object(array.dtype, "dtype"))
    writer.require_equal("i32", writer.field(holder, ARRAY_RANK, "i32"), array.ndim)
    sizes = writer.field(holder, ARRAY_SHAPE) if array.ndim else ""
    for k, size in enumerate(array.shape):
        writer.require_equal("i64", writer.field(sizes, 8 * k, "i64"), size)
    order = C_CONTIGUOUS if array.flags.c_contiguous else F_CONTIGUOUS
    flags = writer.value(f"and i32 {writer.field(holder, ARRAY_FLAGS, 'i32')}, {order}")
    writer.require_equal("i32", flags, order)
    kept = writer.at(writer.object(bits, "bits"), BYTES_DATA)
    given = (f"ptr {writer.field(holder, ARRAY_DATA)}", f"ptr {kept}", f"i64 {len(bits)}")
    writer.require_equal("i32", writer.call_at(allocator_symbols()["memcmp"], "i32", "memcmp", *given), 0)


def _write_list(writer: EntryWriter, guard: Guard) -> None:
    holder = writer.object(guard.holder, "list")
    writer.require_equal("i64", writer.field(holder, SIZE, "i64"), len(guard.expected))
    items = writer.field(holder, LIST_ITEMS) if guard.expected else ""
    for k, each in enumerate(guard.expected):
        writer.require_equal("ptr", writer.field(items, 8 * k), writer.object(each, "item"))


def _write_dict(writer: EntryWriter, guard: Guard) -> None:
    """Emit the guard on a dict's items, and on their order."""
    holder = writer.object(guard.holder, "dict")
    writer.require_equal("i64", writer.field(holder, SIZE, "i64"), len(guard.expected) // 2)
    at, key, value = writer.slot("i64"), writer.slot("ptr"), writer.slot("ptr")
    writer.store("i64 0", at)
    for k in range(0, len(guard.expected), 2):
        given = (f"ptr {holder}", f"ptr {at}", f"ptr {key}", f"ptr {value}")
        writer.require_equal("i32", writer.call("i32", "PyDict_Next", *given), 1)
        for place, each in ((key, guard.expected[k]), (value, guard.expected[k + 1])):
            writer.require_equal("ptr", writer.field(place, 0), writer.object(each, "item"))


_CONTENTS = {"array": _write_array, "list": _write_list, "dict": _write_dict}

__all__ = ["Guard", "write_guards"]
