"""Guards on what a function reads beside its arguments: globals, closure cells, code and defaults of functions.

Each is a place and the object that must still be there.  Immutable objects are known by identity, arrays by their bits,
so a call whose guards hold reads what the kernel was compiled for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..process import allocator_symbols
from ..python_abi import BYTES_DATA, CELL_CONTENTS, FUNCTION_CODE, FUNCTION_DEFAULTS, FUNCTION_KEYWORD_DEFAULTS
from .arguments import array_data
from .specs import ArraySpec
from .writer import EntryWriter


class Guard(NamedTuple):
    """`expected` is what stands at a place now.

    kind    "global" (holder is the dict, name the key), "no global" (nothing stands there), "cell", or "code",
            "defaults", "keyword defaults" of a function, or "array" (the holder is one, and the name is of its dtype),
            whose bits are expected
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
}


def write_guards(writer: EntryWriter, guards: tuple[Guard, ...]) -> None:
    """Emit the guards; where one fails, the call is for the next entry."""
    for guard in guards:
        if guard.kind == "array":
            _write_array(writer, guard)
            continue
        holder = writer.object(guard.holder, "holder")
        if guard.kind in ("global", "no global"):
            name = writer.object(guard.name, "name")
            found = writer.call("ptr", "PyDict_GetItemWithError", f"ptr {holder}", f"ptr {name}")
        else:
            found = writer.field(holder, _FIELDS[guard.kind])
        absent = guard.kind == "no global" or (guard.expected is None and guard.kind.endswith("defaults"))
        expected = "null" if absent else writer.object(guard.expected, "expected")
        writer.require_equal("ptr", found, expected)


def _write_array(writer: EntryWriter, guard: Guard) -> None:
    """Emit the guard on an array's dtype, shape and bits."""
    array, bits = guard.holder, guard.expected
    data = array_data(writer, writer.object(array, "array"), ArraySpec(guard.name, array.shape))
    kept = writer.at(writer.object(bits, "bits"), BYTES_DATA)
    given = (f"ptr {data}", f"ptr {kept}", f"i64 {len(bits)}")
    writer.require_equal("i32", writer.call_at(allocator_symbols()["memcmp"], "i32", "memcmp", *given), 0)


__all__ = ["Guard", "write_guards"]
