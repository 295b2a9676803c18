"""LLVM text that runs a kernel on values of a list and puts its results there: traces that come once are just that."""

from __future__ import annotations

from .....compiler.backend.python_abi import LIST_ITEMS, SIZE, TYPE
from ..snippets import get

EXPORTED = ("launch",)

TEXT = f"""
; A list of what stands in %values at these numbers; null with an exception.
define internal ptr @gathered(ptr %values, ptr %numbers) nounwind {{
entry:
{get("room", "%values", SIZE, "i64")}
{get("items", "%values", LIST_ITEMS)}
  %count = call i64 @length_of(ptr %numbers)
  %first = call ptr @items_of(ptr %numbers)
  %made = call ptr @PyList_New(i64 %count)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %take ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %done, label %one
one:
  %next = add i64 %k, 1
  %number_at = getelementptr ptr, ptr %first, i64 %k
  %number = load ptr, ptr %number_at
  %n = call i64 @PyLong_AsSsize_t(ptr %number)
  %inside = icmp ult i64 %n, %room
  br i1 %inside, label %take, label %missing
take:
  %item_at = getelementptr ptr, ptr %items, i64 %n
  %item = load ptr, ptr %item_at
  call void @Py_IncRef(ptr %item)
  %status = call i32 @PyList_SetItem(ptr %made, i64 %k, ptr %item)
  br label %each
done:
  ret ptr %made
missing:
  call void @Py_DecRef(ptr %made)
  %kind = load ptr, ptr @PyExc_IndexError
  call void @PyErr_SetString(ptr %kind, ptr @launch_missing)
  br label %error
error:
  ret ptr null
}}

; launch(kernel, values, numbers, results, base) -> whether it ran: `kernel` gets a list of the values of these numbers,
; and what is in the list that it returns becomes the values of base + results. It may return something else: no run.
define ptr @launch(ptr %module, ptr %args, i64 %nargs) nounwind {{
entry:
  %five = icmp eq i64 %nargs, 5
  br i1 %five, label %look, label %wrong
look:
  %kernel = load ptr, ptr %args
{get("values", "%args", 8)}
{get("numbers", "%args", 16)}
{get("results", "%args", 24)}
{get("base_object", "%args", 32)}
{get("values_type", "%values", TYPE)}
  %is_list = icmp eq ptr %values_type, @PyList_Type
  %some = call i64 @length_of(ptr %numbers)
  %more = call i64 @length_of(ptr %results)
  %least = call i64 @llvm.smin.i64(i64 %some, i64 %more)
  %sequences = icmp sge i64 %least, 0
  %good = and i1 %is_list, %sequences
  br i1 %good, label %gather, label %wrong
gather:
  %base = call i64 @PyLong_AsSsize_t(ptr %base_object)
  %negative = icmp slt i64 %base, 0
  br i1 %negative, label %missing, label %collect
collect:
  %arrays = call ptr @gathered(ptr %values, ptr %numbers)
  %no_arrays = icmp eq ptr %arrays, null
  br i1 %no_arrays, label %error, label %run
run:
  %made = call ptr @PyObject_CallOneArg(ptr %kernel, ptr %arrays)
  call void @Py_DecRef(ptr %arrays)
  %raised = icmp eq ptr %made, null
  br i1 %raised, label %error, label %what
what:
{get("made_type", "%made", TYPE)}
  %ran = icmp eq ptr %made_type, @PyList_Type
  br i1 %ran, label %count, label %answer
count:
{get("size", "%made", SIZE, "i64")}
  %agree = icmp eq i64 %size, %more
  br i1 %agree, label %places, label %drop_wrong
places:
{get("items", "%made", LIST_ITEMS)}
  %first = call ptr @items_of(ptr %results)
  br label %each
each:
  %k = phi i64 [ 0, %places ], [ %next, %put ]
  %end = icmp eq i64 %k, %more
  br i1 %end, label %answer, label %one
one:
  %next = add i64 %k, 1
  %number_at = getelementptr ptr, ptr %first, i64 %k
  %number = load ptr, ptr %number_at
  %ref = call i64 @PyLong_AsSsize_t(ptr %number)
  %n = add i64 %base, %ref
  %below = icmp slt i64 %ref, 0
  br i1 %below, label %drop_missing, label %put
put:
  %item_at = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %item_at
  call void @Py_IncRef(ptr %item)
  %status = call i32 @PyList_SetItem(ptr %values, i64 %n, ptr %item)
  %placed = icmp eq i32 %status, 0
  br i1 %placed, label %each, label %drop
answer:
  %yes = select i1 %ran, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  call void @Py_DecRef(ptr %made)
  call void @Py_IncRef(ptr %yes)
  ret ptr %yes
drop_wrong:
  call void @Py_DecRef(ptr %made)
  br label %wrong
drop_missing:
  call void @Py_DecRef(ptr %made)
  br label %missing
missing:
  %index_error = load ptr, ptr @PyExc_IndexError
  call void @PyErr_SetString(ptr %index_error, ptr @launch_missing)
  br label %error
drop:
  call void @Py_DecRef(ptr %made)
  br label %error
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @launch_wrong)
  br label %error
error:
  ret ptr null
}}
"""

STRINGS = {
    "launch_missing": "there is no value of that number",
    "launch_wrong": "launch(kernel, list of values, numbers, one number for each result, base) expected",
}
