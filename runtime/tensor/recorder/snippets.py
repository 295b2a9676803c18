"""Lines of LLVM text that occur again and again."""

from __future__ import annotations

from ....compiler.backend.python_abi import REFERENCES
from .layout import DESCRIPTOR


def get(name: str, pointer: str, offset: int, kind: str = "ptr") -> str:
    """Load a field of an object into %name.

    >>> print(get("cell", "%tensor", 48))
      %cell.at = getelementptr i8, ptr %tensor, i64 48
      %cell = load ptr, ptr %cell.at
    """
    return (f"  %{name}.at = getelementptr i8, ptr {pointer}, i64 {offset}\n"
            f"  %{name} = load {kind}, ptr %{name}.at")


def put(name: str, pointer: str, offset: int, value: str) -> str:
    """Store a typed value into a field of an object; %name.to is its address.

    >>> print(put("no_cell", "%tensor", 48, "ptr null"))
      %no_cell.to = getelementptr i8, ptr %tensor, i64 48
      store ptr null, ptr %no_cell.to
    """
    return (f"  %{name}.to = getelementptr i8, ptr {pointer}, i64 {offset}\n"
            f"  store {value}, ptr %{name}.to")


def hold(name: str, pointer: str, by: int = 1) -> str:
    """Change the reference count of an object of ours, which is not immortal and does not die of it."""
    return (get(name, pointer, REFERENCES, "i32")
            + f"\n  %{name}.now = add i32 %{name}, {by}\n  store i32 %{name}.now, ptr %{name}.at")


DESCRIPTOR_FIELDS = f"""
  %tag = load i64, ptr %words
{get("a", "%words", 8, "i64")}
{get("b", "%words", 16, "i64")}
{get("c", "%words", 24, "i64")}
  %more = getelementptr i8, ptr %words, i64 {DESCRIPTOR}
"""
"""Load the descriptor at %words into %tag, %a, %b and %c; %more is where the next one begins."""
