"""LLVM text of the number in a tensor that has been computed and has one element."""

from __future__ import annotations

from .....compiler.backend.python_abi import ARRAY_DATA, ARRAY_DTYPE, ARRAY_RANK, ARRAY_SHAPE, TYPE
from ..layout import Cell, Tape, Tensor
from ..snippets import get

EXPORTED = ("number_in", "dtypes")

DTYPES = ("f32", "f64", "i32", "i64", "bool")
"""What the words of @dtypes are the addresses of."""

TEXT = f"""
@dtypes = global [{len(DTYPES)} x ptr] zeroinitializer

; Whether a recorded function may ask for values without its being noted.
define internal i1 @may_read() nounwind {{
entry:
  %tape = load ptr, ptr @tape
  %no_tape = icmp eq ptr %tape, null
  br i1 %no_tape, label %no, label %look
look:
  %thread = call i64 @PyThread_get_thread_ident()
{get("owner", "%tape", Tape.OWNER, "i64")}
{get("depth", "%tape", Tape.DEPTH, "i64")}
  %ours = icmp eq i64 %thread, %owner
  %outermost = icmp eq i64 %depth, 0
  %may = and i1 %ours, %outermost
  ret i1 %may
no:
  ret i1 false
}}

; The array of a tensor whose memory is its own, or null.
define internal ptr @own_array(ptr %tensor) nounwind {{
entry:
  %is = call i1 @is_any_tensor(ptr %tensor)
  br i1 %is, label %tensor_fields, label %no
tensor_fields:
{get("storage", "%tensor", Tensor.STORAGE)}
{get("cell", "%tensor", Tensor.CELL)}
  %unset = icmp eq ptr %storage, null
  %none = icmp eq ptr %storage, @_Py_NoneStruct
  %unshared = or i1 %unset, %none
  %has_cell = icmp ne ptr %cell, null
  %both = and i1 %unshared, %has_cell
  br i1 %both, label %cell_fields, label %no
cell_fields:
{get("type", "%cell", TYPE)}
{get("array", "%cell", Cell.ARRAY)}
  %common = load ptr, ptr @cell_type
  %plain = icmp eq ptr %type, %common
  %has_array = icmp ne ptr %array, null
  %all = and i1 %plain, %has_array
  br i1 %all, label %array_type, label %no
array_type:
{get("kind", "%array", TYPE)}
  %is_array = icmp eq ptr %kind, @PyArray_Type
  br i1 %is_array, label %yes, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}}

; number_in(tensor) -> the number, or NotImplemented if it is not there, or is of another dtype
define ptr @number_in(ptr %unused, ptr %tensor) nounwind {{
entry:
  %may = call i1 @may_read()
  br i1 %may, label %find, label %no
find:
  %array = call ptr @own_array(ptr %tensor)
  %absent = icmp eq ptr %array, null
  br i1 %absent, label %no, label %head
head:
{get("data", "%array", ARRAY_DATA)}
{get("dtype", "%array", ARRAY_DTYPE)}
{get("rank", "%array", ARRAY_RANK, "i32")}
{get("shape", "%array", ARRAY_SHAPE)}
  br label %each
each:
  %axis = phi i32 [ 0, %head ], [ %next, %one ]
  %end = icmp eq i32 %axis, %rank
  br i1 %end, label %f32, label %one
one:
  %size_at = getelementptr i64, ptr %shape, i32 %axis
  %size = load i64, ptr %size_at
  %next = add i32 %axis, 1
  %single = icmp eq i64 %size, 1
  br i1 %single, label %each, label %no
"""

_BRANCH = """NAME:
  %NAME.at = getelementptr ptr, ptr @dtypes, i64 PLACE
  %NAME.dtype = load ptr, ptr %NAME.at
  %is_NAME = icmp eq ptr %dtype, %NAME.dtype
  br i1 %is_NAME, label %NAME.number, label %OTHER
NAME.number:
LINES
  ret ptr %NAME.made
"""

_NUMBERS = {
    "f32": """  %short = load float, ptr %data, align 1
  %long = fpext float %short to double
  %f32.made = call ptr @PyFloat_FromDouble(double %long)""",
    "f64": """  %double = load double, ptr %data, align 1
  %f64.made = call ptr @PyFloat_FromDouble(double %double)""",
    "i32": """  %int = load i32, ptr %data, align 1
  %extended = sext i32 %int to i64
  %i32.made = call ptr @PyLong_FromLongLong(i64 %extended)""",
    "i64": """  %word = load i64, ptr %data, align 1
  %i64.made = call ptr @PyLong_FromLongLong(i64 %word)""",
    "bool": """  %byte = load i8, ptr %data
  %false = icmp eq i8 %byte, 0
  %bool.made = select i1 %false, ptr @_Py_FalseStruct, ptr @_Py_TrueStruct
  call void @Py_IncRef(ptr %bool.made)""",
}

for _place, (_name, _other) in enumerate(zip(DTYPES, (*DTYPES[1:], "no"), strict=True)):
    _text = _BRANCH.replace("NAME", _name).replace("PLACE", str(_place)).replace("OTHER", _other)
    TEXT += _text.replace("LINES", _NUMBERS[_name])

TEXT += """no:
  %nothing = call ptr @not_implemented()
  ret ptr %nothing
}
"""
