"""LLVM text of what all entries share, so that each of them is short."""

from __future__ import annotations

from ..python_abi import (
    ALIGNED,
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_SHAPE,
    C_CONTIGUOUS,
    TYPE,
)

EXPORTED = ("failed", "finish", "undo", "array_data")

TEXT = f"""
define internal ptr @bound(ptr %self, ptr %name) nounwind {{
entry:
  %text = call ptr @PyUnicode_InternFromString(ptr %name)
  %absent = icmp eq ptr %text, null
  br i1 %absent, label %none, label %look
look:
  %method = call ptr @PyObject_GetAttr(ptr %self, ptr %text)
  call void @Py_DecRef(ptr %text)
  ret ptr %method
none:
  ret ptr null
}}

; A kernel failed: self.__failed__(site, report), which raises.
define void @failed(ptr %self, ptr %report, i64 %site) nounwind {{
entry:
  %arguments = alloca [2 x ptr]
  %method = call ptr @bound(ptr %self, ptr @failed_name)
  %no_method = icmp eq ptr %method, null
  br i1 %no_method, label %leave, label %count
count:
  %number = call ptr @PyLong_FromLongLong(i64 %site)
  %words = call ptr @PyTuple_New(i64 4)
  %no_number = icmp eq ptr %number, null
  %no_words = icmp eq ptr %words, null
  %missing = or i1 %no_number, %no_words
  br i1 %missing, label %drop, label %fill
fill:
  %index = phi i64 [ 0, %count ], [ %next, %filled ]
  %place = getelementptr i64, ptr %report, i64 %index
  %word = load i64, ptr %place
  %item = call ptr @PyLong_FromLongLong(i64 %word)
  %no_item = icmp eq ptr %item, null
  br i1 %no_item, label %drop, label %filled
filled:
  %status = call i32 @PyTuple_SetItem(ptr %words, i64 %index, ptr %item)
  %next = add i64 %index, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %fill, label %run
run:
  store ptr %number, ptr %arguments
  %second = getelementptr i8, ptr %arguments, i64 8
  store ptr %words, ptr %second
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %arguments, i64 2, ptr null)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %drop, label %silent
silent:
  call void @Py_DecRef(ptr %result)
  %error = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %error, ptr @silent_message)
  br label %drop
drop:
  call void @Py_DecRef(ptr %number)
  call void @Py_DecRef(ptr %words)
  call void @Py_DecRef(ptr %method)
  br label %leave
leave:
  ret void
}}

; The end of an entry: its owner, and with it the entry's code, may go.
define ptr @finish(ptr %result, ptr %owner, i64 %unused, ptr %unused2) nounwind {{
entry:
  %count = load i32, ptr %owner
  %last = icmp eq i32 %count, 1
  br i1 %last, label %drop, label %keep
keep:
  %fewer = sub i32 %count, 1
  store i32 %fewer, ptr %owner
  ret ptr %result
drop:
  call void @Py_DecRef(ptr %owner)
  ret ptr %result
}}

; Give back the first so many references of an array, the last one first.
define void @undo(ptr %held, i64 %depth) nounwind {{
entry:
  br label %check
check:
  %left = phi i64 [ %depth, %entry ], [ %lower, %drop ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %leave, label %drop
drop:
  %lower = sub i64 %left, 1
  %place = getelementptr ptr, ptr %held, i64 %lower
  %reference = load ptr, ptr %place
  call void @Py_DecRef(ptr %reference)
  br label %check
leave:
  ret void
}}

; The data of an array of exactly this type, dtype, rank and shape that is C-contiguous and aligned,
; or null for any other object.
define ptr @array_data(ptr %array, ptr %dtype, i32 %rank, ptr %shape) nounwind {{
entry:
  %type_place = getelementptr i8, ptr %array, i64 {TYPE}
  %type = load ptr, ptr %type_place
  %is_array = icmp eq ptr %type, @PyArray_Type
  br i1 %is_array, label %header, label %other
header:
  %dtype_place = getelementptr i8, ptr %array, i64 {ARRAY_DTYPE}
  %its_dtype = load ptr, ptr %dtype_place
  %same_dtype = icmp eq ptr %its_dtype, %dtype
  %rank_place = getelementptr i8, ptr %array, i64 {ARRAY_RANK}
  %its_rank = load i32, ptr %rank_place
  %same_rank = icmp eq i32 %its_rank, %rank
  %flags_place = getelementptr i8, ptr %array, i64 {ARRAY_FLAGS}
  %flags = load i32, ptr %flags_place
  %layout = and i32 %flags, {C_CONTIGUOUS | ALIGNED}
  %plain = icmp eq i32 %layout, {C_CONTIGUOUS | ALIGNED}
  %two = and i1 %same_dtype, %same_rank
  %all = and i1 %two, %plain
  br i1 %all, label %sizes, label %other
sizes:
  %shape_place = getelementptr i8, ptr %array, i64 {ARRAY_SHAPE}
  %its_shape = load ptr, ptr %shape_place
  br label %check
check:
  %axis = phi i32 [ 0, %sizes ], [ %next, %compare ]
  %end = icmp eq i32 %axis, %rank
  br i1 %end, label %same, label %compare
compare:
  %its_size_place = getelementptr i64, ptr %its_shape, i32 %axis
  %its_size = load i64, ptr %its_size_place
  %size_place = getelementptr i64, ptr %shape, i32 %axis
  %size = load i64, ptr %size_place
  %next = add i32 %axis, 1
  %same_size = icmp eq i64 %its_size, %size
  br i1 %same_size, label %check, label %other
same:
  %data_place = getelementptr i8, ptr %array, i64 {ARRAY_DATA}
  %data = load ptr, ptr %data_place
  ret ptr %data
other:
  ret ptr null
}}
"""
