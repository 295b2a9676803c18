"""The text of the functions that list a graph; see `listing`. The places of slots go in, LLVM text comes out.

The text stands in the module of native entries, which every process links first: one of its own would take as long to
link, amid a lookup, as the listing of a long graph.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ...ir.graph import Op, Value
from ..once import once
from ..process import read_bytes
from .listing_tables_text import TABLES, fields, loaded

EXPORTED = ("listing.measure", "listing.write", "listing.fields")

_OP, _VALUE = ("prim", "args", "attrs", "regions", "results"), ("type",)


@once
def text() -> str:
    """The functions; nothing if the slots of operations and values are not found."""
    places = _places(Op(*map(_Mark, range(6))), _OP), _places(Value(_Mark(0)), _VALUE)  # type: ignore[arg-type]
    if places[0] is None or places[1] is None:
        return ""
    prim, args, attrs, regions, results = places[0]
    measure, each = _measure(args, attrs, regions, results), _each(prim, args, attrs, regions, results)
    return "".join([TABLES, measure, _define(*places[1]), _use(), each, fields()])


def symbols() -> dict[str, int]:
    """What the text refers to, beside Python's."""
    return {"listing.Op": id(Op), "listing.Value": id(Value)} if text() else {}


class _Mark:
    """An object that stands in one slot."""

    def __init__(self, number: int) -> None:
        self.number = number


def _places(owner: Any, names: Sequence[str]) -> list[int] | None:
    """Where in an object its slots lie; None if they are not found."""
    size = type(owner).__basicsize__ // 8
    words = struct.unpack(f"{size}Q", read_bytes(id(owner), 8 * size))
    wanted = [id(getattr(owner, name)) for name in names]
    return [8 * words.index(each) for each in wanted] if all(words.count(each) == 1 for each in wanted) else None


def _measure(args: int, attrs: int, regions: int, results: int) -> str:
    """Look at each operation, and count its arguments, results and attributes."""
    return f"""
define i64 @listing.measure(ptr %body, ptr %counts) nounwind {{
entry:
  %n = call i64 @listing.size(ptr %body)
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %counted ]
  %given = phi i64 [ 0, %entry ], [ %all.given, %counted ]
  %made = phi i64 [ 0, %entry ], [ %all.made, %counted ]
  %had = phi i64 [ 0, %entry ], [ %all.had, %counted ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %look, label %done
look:
  %op = call ptr @listing.item(ptr %body, i64 %k)
  %is.op = call i1 @listing.is(ptr %op, ptr @listing.Op)
  br i1 %is.op, label %slots, label %refuse
slots:
  %args = call ptr @listing.slot(ptr %op, i64 {args})
  %results = call ptr @listing.slot(ptr %op, i64 {results})
  %attrs = call ptr @listing.slot(ptr %op, i64 {attrs})
  %regions = call ptr @listing.slot(ptr %op, i64 {regions})
  %fine.args = call i1 @listing.is(ptr %args, ptr @PyTuple_Type)
  %fine.results = call i1 @listing.is(ptr %results, ptr @PyTuple_Type)
  %fine.attrs = call i1 @listing.is(ptr %attrs, ptr @PyDict_Type)
  %fine.regions = call i1 @listing.is(ptr %regions, ptr @PyTuple_Type)
  %fine.some = and i1 %fine.args, %fine.results
  %fine.rest = and i1 %fine.attrs, %fine.regions
  %fine = and i1 %fine.some, %fine.rest
  br i1 %fine, label %counted, label %refuse
counted:
  %given.here = call i64 @listing.size(ptr %args)
  %made.here = call i64 @listing.size(ptr %results)
  %all.given = add i64 %given, %given.here
  %all.made = add i64 %made, %made.here
  %had.here = call i64 @listing.size(ptr %attrs)
  %all.had = add i64 %had, %had.here
  %next = add i64 %k, 1
  br label %each
done:
  %second = getelementptr i64, ptr %counts, i64 1
  store i64 %given, ptr %counts
  store i64 %made, ptr %second
  %third = getelementptr i64, ptr %counts, i64 2
  store i64 %had, ptr %third
  ret i64 1
refuse:
  ret i64 0
}}
"""


def _define(type: int) -> str:
    """Values are defined once, before they are used, by one operation."""
    return f"""
; Number the new values of a tuple and their types; 0 if one is not new.
define internal i64 @listing.define(ptr %tuple, ptr %words, ptr %list) nounwind {{
entry:
{loaded()}
  %n = call i64 @listing.size(ptr %tuple)
  %room = add i64 %mask, 1
  %end = shl i64 %room, 1
  %count.at = getelementptr i64, ptr %values, i64 %end
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %look, label %done
look:
  %value = call ptr @listing.item(ptr %tuple, i64 %k)
  %is.value = call i1 @listing.is(ptr %value, ptr @listing.Value)
  br i1 %is.value, label %define, label %refuse
define:
  %before = load i64, ptr %count.at
  %number = call i64 @listing.number(ptr %values, i64 %mask, ptr %value)
  %new = icmp eq i64 %number, %before
  br i1 %new, label %typed, label %refuse
typed:
  %type = call ptr @listing.slot(ptr %value, i64 {type})
  %of = call i64 @listing.listed(ptr %types, i64 %mask, ptr %type, ptr %list)
  %failed = icmp slt i64 %of, 0
  br i1 %failed, label %refuse, label %put
put:
  call void @listing.put(ptr %of.types, i64 %number, i64 %of)
  %next = add i64 %k, 1
  br label %each
done:
  ret i64 1
refuse:
  ret i64 0
}}
"""


def _use() -> str:
    return f"""
; Write the numbers of the known values of a tuple; 0 if one is not known.
define internal i64 @listing.use(ptr %tuple, ptr %words, ptr %numbers, i64 %first) nounwind {{
entry:
{loaded()}
  %n = call i64 @listing.size(ptr %tuple)
  %room = add i64 %mask, 1
  %end = shl i64 %room, 1
  %count.at = getelementptr i64, ptr %values, i64 %end
  %count = load i64, ptr %count.at
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %look, label %done
look:
  %value = call ptr @listing.item(ptr %tuple, i64 %k)
  %number = call i64 @listing.number(ptr %values, i64 %mask, ptr %value)
  %known = icmp slt i64 %number, %count
  br i1 %known, label %put, label %refuse
put:
  %at = add i64 %first, %k
  call void @listing.put(ptr %numbers, i64 %at, i64 %number)
  %next = add i64 %k, 1
  br label %each
done:
  ret i64 1
refuse:
  ret i64 0
}}
"""


def _each(prim: int, args: int, attrs: int, regions: int, results: int) -> str:
    """The loop over operations."""
    return f"""
define i64 @listing.write(ptr %body, ptr %params, ptr %returned, ptr %words, ptr %prims.list, ptr %types.list,
                  ptr %attrs.list, ptr %regions.list) nounwind {{
entry:
{loaded()}
  %n = call i64 @listing.size(ptr %body)
  %begun = call i64 @listing.define(ptr %params, ptr %words, ptr %types.list)
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %look ]
  %first = phi i64 [ 0, %entry ], [ %further, %look ]
  %fine = phi i64 [ %begun, %entry ], [ %still, %look ]
  %left = icmp slt i64 %k, %n
  %good = icmp ne i64 %fine, 0
  %more = and i1 %left, %good
  br i1 %more, label %look, label %last
look:
  %op = call ptr @listing.item(ptr %body, i64 %k)
  %prim = call ptr @listing.slot(ptr %op, i64 {prim})
  %of = call i64 @listing.listed(ptr %prims, i64 %mask, ptr %prim, ptr %prims.list)
  %known = icmp sge i64 %of, 0
  %known.wide = zext i1 %known to i64
  call void @listing.put(ptr %of.prims, i64 %k, i64 %of)
  %op.args = call ptr @listing.slot(ptr %op, i64 {args})
  %op.results = call ptr @listing.slot(ptr %op, i64 {results})
  %op.attrs = call ptr @listing.slot(ptr %op, i64 {attrs})
  %op.regions = call ptr @listing.slot(ptr %op, i64 {regions})
  %given = call i64 @listing.size(ptr %op.args)
  %got = call i64 @listing.size(ptr %op.results)
  call void @listing.put(ptr %arguments, i64 %k, i64 %given)
  call void @listing.put(ptr %made, i64 %k, i64 %got)
  %used = call i64 @listing.use(ptr %op.args, ptr %words, ptr %args, i64 %first)
  %defined = call i64 @listing.define(ptr %op.results, ptr %words, ptr %types.list)
  call void @listing.keep(ptr %op.attrs, ptr %attrs.list, ptr %having, i64 %k)
  call void @listing.keep(ptr %op.regions, ptr %regions.list, ptr %branching, i64 %k)
  %both = and i64 %used, %defined
  %still = and i64 %both, %known.wide
  %further = add i64 %first, %given
  %next = add i64 %k, 1
  br label %each
last:
  %ended = call i64 @listing.use(ptr %returned, ptr %words, ptr %results, i64 0)
  %whole = and i64 %ended, %fine
  ret i64 %whole
}}
"""


__all__ = ["EXPORTED", "symbols", "text"]
