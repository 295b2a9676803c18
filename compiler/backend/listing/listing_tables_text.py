"""The text of what the functions that list a graph share: tables that number objects, and the loop over attributes.

A table has pairs of an address and its number, where the address' bits say or in the next free place, and behind them
how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..python_abi import FLOAT_VALUE, SIZE, TUPLE_ITEMS, TYPE

WORDS = (
    "mask", "values", "prims", "types", "of.prims", "arguments", "made", "args", "results", "of.types", "having",
    "branching",
)
"""What stands in the words: a mask, the addresses of three tables, and those of the arrays of a listing."""


FIELD_WORDS = ("mask", "names", "others", "fields", "of.names", "floats", "values")
"""What stands in the words for attributes: a mask, the addresses of two tables, and those of the arrays."""

def loaded(names: Sequence[str] = WORDS) -> str:
    """What stands in the words, under its names."""
    kinds = ["i64" if name == "mask" else "ptr" for name in names]
    return "\n".join([
        f"  %{name}.at = getelementptr i64, ptr %words, i64 {k}\n  %{name} = load {kind}, ptr %{name}.at"
        for k, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ])


TABLES = f"""
@listing.Op = external global i8
@listing.Value = external global i8

define internal i1 @listing.is(ptr %object, ptr %type) alwaysinline nounwind {{
entry:
  %none = icmp eq ptr %object, null
  br i1 %none, label %no, label %look
look:
  %at = getelementptr i8, ptr %object, i64 {TYPE}
  %found = load ptr, ptr %at
  %same = icmp eq ptr %found, %type
  ret i1 %same
no:
  ret i1 0
}}

define internal ptr @listing.slot(ptr %object, i64 %offset) alwaysinline nounwind {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %found = load ptr, ptr %at
  ret ptr %found
}}

define internal i64 @listing.size(ptr %object) alwaysinline nounwind {{
  %at = getelementptr i8, ptr %object, i64 {SIZE}
  %found = load i64, ptr %at
  ret i64 %found
}}

define internal ptr @listing.item(ptr %tuple, i64 %k) alwaysinline nounwind {{
  %items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %at = getelementptr ptr, ptr %items, i64 %k
  %found = load ptr, ptr %at
  ret ptr %found
}}

define internal void @listing.put(ptr %numbers, i64 %k, i64 %number) alwaysinline nounwind {{
  %short = trunc i64 %number to i32
  %at = getelementptr i32, ptr %numbers, i64 %k
  store i32 %short, ptr %at
  ret void
}}

; The number of an object in a table of addresses and numbers, behind which stands how many there are.
define internal i64 @listing.number(ptr %table, i64 %mask, ptr %object) nounwind {{
entry:
  %address = ptrtoint ptr %object to i64
  %mixed = mul i64 %address, -7046029254386353131
  %first = lshr i64 %mixed, 32
  br label %probe
probe:
  %at = phi i64 [ %first, %entry ], [ %next, %other ]
  %slot = and i64 %at, %mask
  %word = shl i64 %slot, 1
  %place = getelementptr i64, ptr %table, i64 %word
  %beside = getelementptr i64, ptr %place, i64 1
  %found = load i64, ptr %place
  %same = icmp eq i64 %found, %address
  br i1 %same, label %known, label %look
look:
  %empty = icmp eq i64 %found, 0
  br i1 %empty, label %new, label %other
other:
  %next = add i64 %at, 1
  br label %probe
known:
  %number = load i64, ptr %beside
  ret i64 %number
new:
  %room = add i64 %mask, 1
  %end = shl i64 %room, 1
  %count.at = getelementptr i64, ptr %table, i64 %end
  %count = load i64, ptr %count.at
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at
  store i64 %address, ptr %place
  store i64 %count, ptr %beside
  ret i64 %count
}}

; The same, and the object is appended to a list when it first comes; -1 without memory.
define internal i64 @listing.listed(ptr %table, i64 %mask, ptr %object, ptr %list) nounwind {{
entry:
  %before = call i64 @listing.size(ptr %list)
  %number = call i64 @listing.number(ptr %table, i64 %mask, ptr %object)
  %new = icmp eq i64 %number, %before
  br i1 %new, label %add, label %done
add:
  %failed = call i32 @PyList_Append(ptr %list, ptr %object)
  %wide = sext i32 %failed to i64
  %told = or i64 %wide, %number
  ret i64 %told
done:
  ret i64 %number
}}

; Append an object that is not empty to a list, and its operation's number to those of its kind.
define internal void @listing.keep(ptr %object, ptr %list, ptr %numbers, i64 %k) nounwind {{
entry:
  %size = call i64 @listing.size(ptr %object)
  %some = icmp sgt i64 %size, 0
  br i1 %some, label %append, label %done
append:
  %at = call i64 @listing.size(ptr %list)
  %failed = call i32 @PyList_Append(ptr %list, ptr %object)
  call void @listing.put(ptr %numbers, i64 %at, i64 %k)
  br label %done
done:
  ret void
}}
"""


def fields() -> str:
    """The loop over attributes."""
    return f"""{_value()}
; Write the names and values of a tuple of dicts, and how many each has; 0 without memory.
define i64 @listing.fields(ptr %dicts, ptr %words, ptr %names.list, ptr %others.list) nounwind {{
entry:
{loaded(FIELD_WORDS)}
  %position = alloca i64
  %key.at = alloca ptr
  %value.at = alloca ptr
  %n = call i64 @listing.size(ptr %dicts)
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %after ]
  %first = phi i64 [ 0, %entry ], [ %at, %after ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %look, label %done
look:
  %dict = call ptr @listing.item(ptr %dicts, i64 %k)
  %size = call i64 @listing.size(ptr %dict)
  call void @listing.put(ptr %fields, i64 %k, i64 %size)
  store i64 0, ptr %position
  br label %field
field:
  %at = phi i64 [ %first, %look ], [ %further, %name ]
  %found = call i32 @PyDict_Next(ptr %dict, ptr %position, ptr %key.at, ptr %value.at)
  %one = icmp ne i32 %found, 0
  br i1 %one, label %name, label %after
name:
  %key = load ptr, ptr %key.at
  %value = load ptr, ptr %value.at
  %of = call i64 @listing.listed(ptr %names, i64 %mask, ptr %key, ptr %names.list)
  call void @listing.put(ptr %of.names, i64 %at, i64 %of)
  %number = call i64 @listing.value(ptr %value, ptr %words, ptr %others.list, i64 %at)
  %either = or i64 %of, %number
  %failed = icmp slt i64 %either, 0
  %further = add i64 %at, 1
  br i1 %failed, label %refuse, label %field
after:
  %next = add i64 %k, 1
  br label %each
done:
  ret i64 1
refuse:
  ret i64 0
}}
"""


def _value() -> str:
    return f"""
; Write whether a value is a float, and its bits, or its number among the others, which is returned; -1 without memory.
define internal i64 @listing.value(ptr %value, ptr %words, ptr %others.list, i64 %at) nounwind {{
entry:
{loaded(FIELD_WORDS)}
  %to = getelementptr i64, ptr %values, i64 %at
  %is.float = call i1 @listing.is(ptr %value, ptr @PyFloat_Type)
  %byte = zext i1 %is.float to i8
  %byte.at = getelementptr i8, ptr %floats, i64 %at
  store i8 %byte, ptr %byte.at
  br i1 %is.float, label %float, label %other
float:
  %bits.at = getelementptr i8, ptr %value, i64 {FLOAT_VALUE}
  %bits = load i64, ptr %bits.at
  store i64 %bits, ptr %to
  ret i64 0
other:
  %number = call i64 @listing.listed(ptr %others, i64 %mask, ptr %value, ptr %others.list)
  store i64 %number, ptr %to
  ret i64 %number
}}
"""


__all__ = ["FIELD_WORDS", "TABLES", "WORDS", "fields", "loaded"]
