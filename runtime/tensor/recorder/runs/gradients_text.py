"""LLVM text of what optimisers do to all their parameters at each step: collect the gradients, and forget them."""

from __future__ import annotations

from .....compiler.backend.python_abi import LIST_ITEMS, SIZE, TYPE
from ..layout import Tensor
from ..snippets import get

EXPORTED = ("gradients_of", "forget_gradients")

TEXT = f"""
; The tensor that is item %n of a list; null at the end, or with an exception where it is something else.
define internal ptr @tensor_in(ptr %list, i64 %n) nounwind {{
entry:
{get("type", "%list", TYPE)}
  %is_list = icmp eq ptr %type, @PyList_Type
  br i1 %is_list, label %size, label %wrong
size:
{get("length", "%list", SIZE, "i64")}
  %inside = icmp slt i64 %n, %length
  br i1 %inside, label %item, label %end
item:
{get("items", "%list", LIST_ITEMS)}
  %at = getelementptr ptr, ptr %items, i64 %n
  %tensor = load ptr, ptr %at
  %is = call i1 @is_any_tensor(ptr %tensor)
  br i1 %is, label %give, label %wrong
give:
  ret ptr %tensor
wrong:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @parameters_wrong)
  br label %end
end:
  ret ptr null
}}

; gradients_of(list of tensors) -> [tensors that have a gradient, their gradients]
define ptr @gradients_of(ptr %unused, ptr %params) nounwind {{
entry:
  %pair = call ptr @PyList_New(i64 0)
  %some = call ptr @PyList_New(i64 0)
  %grads = call ptr @PyList_New(i64 0)
  %no_pair = icmp eq ptr %pair, null
  %no_some = icmp eq ptr %some, null
  %no_grads = icmp eq ptr %grads, null
  %either = or i1 %no_pair, %no_some
  %missing = or i1 %either, %no_grads
  br i1 %missing, label %error, label %join
join:
  %first = call i32 @PyList_Append(ptr %pair, ptr %some)
  %second = call i32 @PyList_Append(ptr %pair, ptr %grads)
  %joined = or i32 %first, %second
  %apart = icmp ne i32 %joined, 0
  br i1 %apart, label %error, label %each
each:
  %n = phi i64 [ 0, %join ], [ %next, %one ], [ %next, %add ]
  %tensor = call ptr @tensor_in(ptr %params, i64 %n)
  %end = icmp eq ptr %tensor, null
  br i1 %end, label %done, label %one
one:
  %next = add i64 %n, 1
{get("grad", "%tensor", Tensor.GRAD)}
  %unset = icmp eq ptr %grad, null
  %none = icmp eq ptr %grad, @_Py_NoneStruct
  %without = or i1 %unset, %none
  br i1 %without, label %each, label %add
add:
  %added = call i32 @PyList_Append(ptr %grads, ptr %grad)
  %told = call i32 @PyList_Append(ptr %some, ptr %tensor)
  %status = or i32 %added, %told
  %good = icmp eq i32 %status, 0
  br i1 %good, label %each, label %error
done:
  %raised = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %raised, null
  br i1 %failed, label %error, label %give
give:
  call void @Py_DecRef(ptr %some)
  call void @Py_DecRef(ptr %grads)
  ret ptr %pair
error:
  call void @Py_DecRef(ptr %some)
  call void @Py_DecRef(ptr %grads)
  call void @Py_DecRef(ptr %pair)
  ret ptr null
}}

; forget_gradients(list of tensors): none of them has a gradient any more
define ptr @forget_gradients(ptr %unused, ptr %params) nounwind {{
entry:
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %one ]
  %tensor = call ptr @tensor_in(ptr %params, i64 %n)
  %end = icmp eq ptr %tensor, null
  br i1 %end, label %done, label %one
one:
  %next = add i64 %n, 1
{get("grad", "%tensor", Tensor.GRAD)}
  store ptr null, ptr %grad.at
  call void @Py_DecRef(ptr %grad)
  br label %each
done:
  %raised = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %raised, null
  br i1 %failed, label %error, label %give
give:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
error:
  ret ptr null
}}
"""

STRINGS = {"parameters_wrong": "a list of tensors is expected"}
