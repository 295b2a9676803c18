"""The text of the functions that list a graph; see `listing`. The places of slots go in, LLVM text comes out.

A table has pairs of an address and its number, where the address' bits say or in the next free place, and behind them
how many there are.
"""

from __future__ import annotations

from .python_abi import SIZE, TUPLE_ITEMS, TYPE

WORDS = (
    "mask", "values", "prims", "types", "of.prims", "arguments", "made", "args", "results", "of.types", "having",
    "branching",
)
"""What stands in the words: a mask, the addresses of three tables, and those of the arrays of a listing."""


def text(prim: int, args: int, attrs: int, regions: int, results: int, type: int) -> str:
    """The module, for slots at these places of operations and values."""
    measure, each = _measure(args, attrs, regions, results), _each(prim, args, attrs, regions, results)
    return "".join([_TABLES, measure, _define(type), _use(), each])


def _loaded() -> str:
    """What stands in the words, under its names."""
    kinds = ["i64" if name == "mask" else "ptr" for name in WORDS]
    return "\n".join([
        f"  %{name}.at = getelementptr i64, ptr %words, i64 {k}\n  %{name} = load {kind}, ptr %{name}.at"
        for k, (name, kind) in enumerate(zip(WORDS, kinds, strict=True))
    ])


_TABLES = f"""
@PyTuple_Type = external global i8
@PyDict_Type = external global i8
@Op = external global i8
@Value = external global i8
declare i32 @PyList_Append(ptr, ptr)

define internal i1 @is(ptr %object, ptr %type) alwaysinline nounwind {{
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

define internal ptr @slot(ptr %object, i64 %offset) alwaysinline nounwind {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %found = load ptr, ptr %at
  ret ptr %found
}}

define internal i64 @size(ptr %object) alwaysinline nounwind {{
  %at = getelementptr i8, ptr %object, i64 {SIZE}
  %found = load i64, ptr %at
  ret i64 %found
}}

define internal ptr @item(ptr %tuple, i64 %k) alwaysinline nounwind {{
  %items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %at = getelementptr ptr, ptr %items, i64 %k
  %found = load ptr, ptr %at
  ret ptr %found
}}

define internal void @put(ptr %numbers, i64 %k, i64 %number) alwaysinline nounwind {{
  %short = trunc i64 %number to i32
  %at = getelementptr i32, ptr %numbers, i64 %k
  store i32 %short, ptr %at
  ret void
}}

; The number of an object in a table of addresses and numbers, behind which stands how many there are.
define internal i64 @number(ptr %table, i64 %mask, ptr %object) nounwind {{
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
define internal i64 @listed(ptr %table, i64 %mask, ptr %object, ptr %list) nounwind {{
entry:
  %before = call i64 @size(ptr %list)
  %number = call i64 @number(ptr %table, i64 %mask, ptr %object)
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
define internal void @keep(ptr %object, ptr %list, ptr %numbers, i64 %k) nounwind {{
entry:
  %size = call i64 @size(ptr %object)
  %some = icmp sgt i64 %size, 0
  br i1 %some, label %append, label %done
append:
  %at = call i64 @size(ptr %list)
  %failed = call i32 @PyList_Append(ptr %list, ptr %object)
  call void @put(ptr %numbers, i64 %at, i64 %k)
  br label %done
done:
  ret void
}}
"""


def _measure(args: int, attrs: int, regions: int, results: int) -> str:
    """Look at each operation, and count."""
    return f"""
define i64 @measure(ptr %body, ptr %counts) nounwind {{
entry:
  %n = call i64 @size(ptr %body)
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %counted ]
  %given = phi i64 [ 0, %entry ], [ %all.given, %counted ]
  %made = phi i64 [ 0, %entry ], [ %all.made, %counted ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %look, label %done
look:
  %op = call ptr @item(ptr %body, i64 %k)
  %is.op = call i1 @is(ptr %op, ptr @Op)
  br i1 %is.op, label %slots, label %refuse
slots:
  %args = call ptr @slot(ptr %op, i64 {args})
  %results = call ptr @slot(ptr %op, i64 {results})
  %attrs = call ptr @slot(ptr %op, i64 {attrs})
  %regions = call ptr @slot(ptr %op, i64 {regions})
  %fine.args = call i1 @is(ptr %args, ptr @PyTuple_Type)
  %fine.results = call i1 @is(ptr %results, ptr @PyTuple_Type)
  %fine.attrs = call i1 @is(ptr %attrs, ptr @PyDict_Type)
  %fine.regions = call i1 @is(ptr %regions, ptr @PyTuple_Type)
  %fine.some = and i1 %fine.args, %fine.results
  %fine.rest = and i1 %fine.attrs, %fine.regions
  %fine = and i1 %fine.some, %fine.rest
  br i1 %fine, label %counted, label %refuse
counted:
  %given.here = call i64 @size(ptr %args)
  %made.here = call i64 @size(ptr %results)
  %all.given = add i64 %given, %given.here
  %all.made = add i64 %made, %made.here
  %next = add i64 %k, 1
  br label %each
done:
  %second = getelementptr i64, ptr %counts, i64 1
  store i64 %given, ptr %counts
  store i64 %made, ptr %second
  ret i64 1
refuse:
  ret i64 0
}}
"""


def _define(type: int) -> str:
    """Values are defined once, before they are used, by one operation."""
    return f"""
; Number the new values of a tuple and their types; 0 if one is not new.
define internal i64 @define(ptr %tuple, ptr %words, ptr %list) nounwind {{
entry:
{_loaded()}
  %n = call i64 @size(ptr %tuple)
  %room = add i64 %mask, 1
  %end = shl i64 %room, 1
  %count.at = getelementptr i64, ptr %values, i64 %end
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %look, label %done
look:
  %value = call ptr @item(ptr %tuple, i64 %k)
  %is.value = call i1 @is(ptr %value, ptr @Value)
  br i1 %is.value, label %define, label %refuse
define:
  %before = load i64, ptr %count.at
  %number = call i64 @number(ptr %values, i64 %mask, ptr %value)
  %new = icmp eq i64 %number, %before
  br i1 %new, label %typed, label %refuse
typed:
  %type = call ptr @slot(ptr %value, i64 {type})
  %of = call i64 @listed(ptr %types, i64 %mask, ptr %type, ptr %list)
  %failed = icmp slt i64 %of, 0
  br i1 %failed, label %refuse, label %put
put:
  call void @put(ptr %of.types, i64 %number, i64 %of)
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
define internal i64 @use(ptr %tuple, ptr %words, ptr %numbers, i64 %first) nounwind {{
entry:
{_loaded()}
  %n = call i64 @size(ptr %tuple)
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
  %value = call ptr @item(ptr %tuple, i64 %k)
  %number = call i64 @number(ptr %values, i64 %mask, ptr %value)
  %known = icmp slt i64 %number, %count
  br i1 %known, label %put, label %refuse
put:
  %at = add i64 %first, %k
  call void @put(ptr %numbers, i64 %at, i64 %number)
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
define i64 @write(ptr %body, ptr %params, ptr %returned, ptr %words, ptr %prims.list, ptr %types.list,
                  ptr %attrs.list, ptr %regions.list) nounwind {{
entry:
{_loaded()}
  %n = call i64 @size(ptr %body)
  %begun = call i64 @define(ptr %params, ptr %words, ptr %types.list)
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
  %op = call ptr @item(ptr %body, i64 %k)
  %prim = call ptr @slot(ptr %op, i64 {prim})
  %of = call i64 @listed(ptr %prims, i64 %mask, ptr %prim, ptr %prims.list)
  %known = icmp sge i64 %of, 0
  %known.wide = zext i1 %known to i64
  call void @put(ptr %of.prims, i64 %k, i64 %of)
  %op.args = call ptr @slot(ptr %op, i64 {args})
  %op.results = call ptr @slot(ptr %op, i64 {results})
  %op.attrs = call ptr @slot(ptr %op, i64 {attrs})
  %op.regions = call ptr @slot(ptr %op, i64 {regions})
  %given = call i64 @size(ptr %op.args)
  %got = call i64 @size(ptr %op.results)
  call void @put(ptr %arguments, i64 %k, i64 %given)
  call void @put(ptr %made, i64 %k, i64 %got)
  %used = call i64 @use(ptr %op.args, ptr %words, ptr %args, i64 %first)
  %defined = call i64 @define(ptr %op.results, ptr %words, ptr %types.list)
  call void @keep(ptr %op.attrs, ptr %attrs.list, ptr %having, i64 %k)
  call void @keep(ptr %op.regions, ptr %regions.list, ptr %branching, i64 %k)
  %both = and i64 %used, %defined
  %still = and i64 %both, %known.wide
  %further = add i64 %first, %given
  %next = add i64 %k, 1
  br label %each
last:
  %ended = call i64 @use(ptr %returned, ptr %words, ptr %results, i64 0)
  %whole = and i64 %ended, %fine
  ret i64 %whole
}}
"""


__all__ = ["WORDS", "text"]
