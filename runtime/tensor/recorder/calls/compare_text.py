"""LLVM text that compares objects of Python's own types, without running code of the program.

Numbers and texts are equal by value where their types are the same, tuples, lists and slices item by item; any
other object is equal to itself only.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import FLOAT_VALUE, LIST_ITEMS, SIZE, SLICE_ITEMS, TUPLE_ITEMS, TYPE, TYPE_FLAGS
from ..layout import Range
from ..snippets import get

LIST_SUBCLASS, TUPLE_SUBCLASS = 1 << 25, 1 << 26  # bits of a type's flags, as Include/object.h has them

FLOAT_MAX = "0x47EFFFFFE0000000"  # of 32-bit floats, as LLVM writes it
INFINITY = "0x7FF0000000000000"

_EQUAL = f"""
; Whether two objects are the same, or equal. Items of a list may have been changed, so it is never just the same.
define internal i1 @equal(ptr %object, ptr %known) nounwind {{
entry:
{get("type", "%object", TYPE)}
{get("known_type", "%known", TYPE)}
  %alike = icmp eq ptr %type, %known_type
  br i1 %alike, label %floats, label %no
floats:
  %is_float = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_float, label %bits, label %plain
bits:
{get("x", "%object", FLOAT_VALUE, "i64")}
{get("y", "%known", FLOAT_VALUE, "i64")}
  %same_bits = icmp eq i64 %x, %y
  ret i1 %same_bits
plain:
  %is_int = icmp eq ptr %type, @PyLong_Type
  %is_text = icmp eq ptr %type, @PyUnicode_Type
  %is_bytes = icmp eq ptr %type, @PyBytes_Type
  %number_or_text = or i1 %is_int, %is_text
  %valued = or i1 %number_or_text, %is_bytes
  br i1 %valued, label %value, label %several
value:
  %answer = call i32 @PyObject_RichCompareBool(ptr %object, ptr %known, i32 2)
  %equal = icmp eq i32 %answer, 1
  ret i1 %equal
several:
  %length = call i64 @length_of(ptr %object)
  %single = icmp slt i64 %length, 0
  br i1 %single, label %itself, label %sized
itself:
  %identical = icmp eq ptr %object, %known
  ret i1 %identical
sized:
  %known_length = call i64 @length_of(ptr %known)
  %as_long = icmp eq i64 %length, %known_length
  br i1 %as_long, label %items, label %no
items:
  %first = call ptr @items_of(ptr %object)
  %known_first = call ptr @items_of(ptr %known)
  br label %each
each:
  %n = phi i64 [ 0, %items ], [ %next, %one ]
  %end = icmp eq i64 %n, %length
  br i1 %end, label %yes, label %one
one:
  %item_at = getelementptr ptr, ptr %first, i64 %n
  %item = load ptr, ptr %item_at
  %known_at = getelementptr ptr, ptr %known_first, i64 %n
  %known_item = load ptr, ptr %known_at
  %next = add i64 %n, 1
  %agree = call i1 @equal(ptr %item, ptr %known_item)
  br i1 %agree, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

_SEQUENCES = f"""
; How many items a tuple, list or slice has; -1 for any other object.
define internal i64 @length_of(ptr %object) nounwind {{
entry:
{get("type", "%object", TYPE)}
  %is_slice = icmp eq ptr %type, @PySlice_Type
  br i1 %is_slice, label %slice, label %other
slice:
  ret i64 3
other:
{get("flags", "%type", TYPE_FLAGS, "i64")}
  %bits = and i64 %flags, {LIST_SUBCLASS | TUPLE_SUBCLASS}
  %sized = icmp ne i64 %bits, 0
  br i1 %sized, label %size, label %single
size:
{get("length", "%object", SIZE, "i64")}
  ret i64 %length
single:
  ret i64 -1
}}

; Where the items of a tuple, list or slice begin.
define internal ptr @items_of(ptr %object) nounwind {{
entry:
{get("type", "%object", TYPE)}
  %is_slice = icmp eq ptr %type, @PySlice_Type
{get("flags", "%type", TYPE_FLAGS, "i64")}
  %bits = and i64 %flags, {LIST_SUBCLASS}
  %is_list = icmp ne i64 %bits, 0
  br i1 %is_list, label %list, label %inside
list:
{get("apart", "%object", LIST_ITEMS)}
  ret ptr %apart
inside:
  %offset = select i1 %is_slice, i64 {SLICE_ITEMS}, i64 {TUPLE_ITEMS}
  %first = getelementptr i8, ptr %object, i64 %offset
  ret ptr %first
}}
"""

_OTHERS = f"""
; Whether a number, of type float, int or bool, is in the range of a dtype.
define internal i1 @fits(ptr %number, i64 %range) nounwind {{
entry:
  %overflow = alloca i32
{get("type", "%number", TYPE)}
  %is_float = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_float, label %float, label %integer
float:
  %wide = icmp ne i64 %range, {Range.F32}
{get("x", "%number", FLOAT_VALUE, "double")}
  %size = call double @llvm.fabs.f64(double %x)
  %small = fcmp ule double %size, {FLOAT_MAX}
  %infinite = fcmp oeq double %size, {INFINITY}
  %narrow_float = or i1 %small, %infinite
  %good = or i1 %wide, %narrow_float
  ret i1 %good
integer:
  store i32 0, ptr %overflow
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %number, ptr %overflow)
  %out = load i32, ptr %overflow
  %inside = icmp eq i32 %out, 0
  %short = trunc i64 %value to i32
  %again = sext i32 %short to i64
  %narrow = icmp eq i64 %again, %value
  %long = icmp ne i64 %range, {Range.I32}
  %fits = or i1 %narrow, %long
  %both = and i1 %inside, %fits
  ret i1 %both
}}

; Whether the names of keyword arguments (or null) are those of a recorded call (or null, or None).
define internal i1 @names_agree(ptr %names, ptr %known) nounwind alwaysinline {{
entry:
  %given = icmp ne ptr %names, null
  %unset = icmp eq ptr %known, null
  %none = icmp eq ptr %known, @_Py_NoneStruct
  %unnamed = or i1 %unset, %none
  %identical = icmp eq ptr %names, %known
  br i1 %identical, label %yes, label %either
either:
  %both = xor i1 %given, %unnamed
  br i1 %both, label %which, label %no
which:
  br i1 %given, label %compare, label %yes
compare:
  %equal = call i1 @equal(ptr %names, ptr %known)
  ret i1 %equal
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal i1 @is_bytes(ptr %object) nounwind alwaysinline {{
entry:
  %null = icmp eq ptr %object, null
  br i1 %null, label %no, label %look
look:
{get("type", "%object", TYPE)}
  %is = icmp eq ptr %type, @PyBytes_Type
  ret i1 %is
no:
  ret i1 false
}}
"""

TEXT = _EQUAL + _SEQUENCES + _OTHERS
