"""LLVM text that gathers the inputs of a kernel: the arrays of cells, constants, and Python numbers.

A layout is the words: address of a dtype, its number, rank, address of what makes arrays (0 for NumPy), address of
where arrays are kept that nobody uses any more (0 for nowhere), sizes.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import (
    ALIGNED,
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_SHAPE,
    C_CONTIGUOUS,
    TYPE,
)
from ..layout import Cell, Range, Source, Tape
from ..snippets import DESCRIPTOR_FIELDS, get

DTYPE, DTYPE_NUMBER, RANK, MAKER, SPARES, SIZES = range(0, 48, 8)
"""Where the words of a layout are."""

TEXT = f"""
; The data of an array that is as its layout says, or null.
define internal ptr @data_of(ptr %array, ptr %layout) nounwind {{
entry:
  %absent = icmp eq ptr %array, null
  br i1 %absent, label %no, label %kind
kind:
{get("type", "%array", TYPE)}
  %is_array = icmp eq ptr %type, @PyArray_Type
  br i1 %is_array, label %head, label %no
head:
{get("dtype", "%array", ARRAY_DTYPE)}
{get("wanted", "%layout", DTYPE)}
{get("rank", "%array", ARRAY_RANK, "i32")}
{get("wanted_rank", "%layout", RANK, "i32")}
{get("flags", "%array", ARRAY_FLAGS, "i32")}
  %plain = and i32 %flags, {C_CONTIGUOUS | ALIGNED}
  %same_dtype = icmp eq ptr %dtype, %wanted
  %same_rank = icmp eq i32 %rank, %wanted_rank
  %is_plain = icmp eq i32 %plain, {C_CONTIGUOUS | ALIGNED}
  %two = and i1 %same_dtype, %same_rank
  %three = and i1 %two, %is_plain
{get("shape", "%array", ARRAY_SHAPE)}
  %sizes = getelementptr i8, ptr %layout, i64 {SIZES}
  br i1 %three, label %each, label %no
each:
  %axis = phi i32 [ 0, %head ], [ %next, %one ]
  %end = icmp eq i32 %axis, %rank
  br i1 %end, label %yes, label %one
one:
  %size_at = getelementptr i64, ptr %shape, i32 %axis
  %size = load i64, ptr %size_at
  %wanted_at = getelementptr i64, ptr %sizes, i32 %axis
  %wanted_size = load i64, ptr %wanted_at
  %next = add i32 %axis, 1
  %same = icmp eq i64 %size, %wanted_size
  br i1 %same, label %each, label %no
yes:
{get("data", "%array", ARRAY_DATA)}
  ret ptr %data
no:
  ret ptr null
}}

; Write a Python number to memory, as a number of a dtype; false with an exception if it is none.
define internal i1 @write_number(ptr %number, i64 %dtype, ptr %memory) nounwind {{
entry:
  switch i64 %dtype, label %wide [
    i64 {Range.F64}, label %float   i64 {Range.F32}, label %float   i64 {Range.BOOL}, label %truth ]
float:
  %x = call double @PyFloat_AsDouble(ptr %number)
  %is_double = icmp eq i64 %dtype, {Range.F64}
  br i1 %is_double, label %double, label %single
double:
  store double %x, ptr %memory
  br label %check
single:
  %short = fptrunc double %x to float
  store float %short, ptr %memory
  br label %check
truth:
  %true = call i32 @PyObject_IsTrue(ptr %number)
  %byte = trunc i32 %true to i8
  store i8 %byte, ptr %memory
  br label %check
wide:
  %n = call i64 @PyLong_AsLongLong(ptr %number)
  store i64 %n, ptr %memory
  br label %check
check:
  %raised = call ptr @PyErr_Occurred()
  %good = icmp eq ptr %raised, null
  ret i1 %good
}}

; The memory of an input; its array, if it is one, is put at %held with a reference. Null if it is not as it should be.
define internal ptr @source(ptr %tape, ptr %words, ptr %held, ptr %memory) nounwind {{
entry:
{DESCRIPTOR_FIELDS}
  %layout = inttoptr i64 %c to ptr
{get("count", "%tape", Tape.COUNT, "i64")}
  %constant = icmp eq i64 %tag, {Source.CONSTANT}
  %given = inttoptr i64 %a to ptr
  br i1 %constant, label %array, label %look
look:
  %inside = icmp ult i64 %a, %count
  br i1 %inside, label %which, label %no
which:
  %is_cell = icmp eq i64 %tag, {Source.CELL}
  br i1 %is_cell, label %cell, label %number
cell:
{get("cells", "%tape", Tape.CELLS)}
  %cell_at = getelementptr ptr, ptr %cells, i64 %a
  %cell_there = load ptr, ptr %cell_at
  %no_cell = icmp eq ptr %cell_there, null
  br i1 %no_cell, label %no, label %read
read:
{get("stored", "%cell_there", Cell.ARRAY)}
  br label %array
array:
  %array_there = phi ptr [ %given, %entry ], [ %stored, %read ]
  %data = call ptr @data_of(ptr %array_there, ptr %layout)
  %wrong = icmp eq ptr %data, null
  br i1 %wrong, label %no, label %hold
hold:
  store ptr %array_there, ptr %held
  call void @Py_IncRef(ptr %array_there)
  ret ptr %data
number:
{get("values", "%tape", Tape.VALUES)}
  %value_at = getelementptr ptr, ptr %values, i64 %a
  %value = load ptr, ptr %value_at
  %unset = icmp eq ptr %value, null
  br i1 %unset, label %no, label %convert
convert:
  %good = call i1 @write_number(ptr %value, i64 %b, ptr %memory)
  br i1 %good, label %yes, label %no
yes:
  ret ptr %memory
no:
  ret ptr null
}}
"""
