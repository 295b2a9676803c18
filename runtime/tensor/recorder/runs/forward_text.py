"""LLVM text that calls a module: `module(x)` is `module.forward(x)`, unless hooks are to run as well.

Until somebody hooks any module, no module is asked for its hooks. A call with names, or of a module that has hooks, is
`module._call_impl(...)`, in Python.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import SIZE, TUPLE_ITEMS
from ..snippets import get

EXPORTED = ("module_call", "hooks_exist", "forward_name", "hooks_name", "call_name")

MOST = 16
"""Calls with more arguments go the other way, too."""

TEXT = f"""
@hooks_exist = global i64 0
@forward_name = global ptr null
@hooks_name = global ptr null
@call_name = global ptr null

define ptr @module_call(ptr %self, ptr %args, ptr %names) nounwind {{
entry:
  %given = alloca [{MOST + 1} x ptr]
{get("count", "%args", SIZE, "i64")}
  %short = icmp ule i64 %count, {MOST}
  %unnamed = icmp eq ptr %names, null
  %simple = and i1 %short, %unnamed
  br i1 %simple, label %hooks, label %impl
hooks:
  %exist = load i64, ptr @hooks_exist
  %nowhere = icmp eq i64 %exist, 0
  br i1 %nowhere, label %copy, label %ask
ask:
  %hooks_name = load ptr, ptr @hooks_name
  %found = call ptr @PyObject_GetAttr(ptr %self, ptr %hooks_name)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %error, label %none
none:
  %unhooked = icmp eq ptr %found, @_Py_NoneStruct
  call void @Py_DecRef(ptr %found)
  br i1 %unhooked, label %copy, label %impl
copy:
  store ptr %self, ptr %given
  %items = getelementptr i8, ptr %args, i64 {TUPLE_ITEMS}
  br label %each
each:
  %k = phi i64 [ 0, %copy ], [ %next, %one ]
  %end = icmp eq i64 %k, %count
  %next = add i64 %k, 1
  br i1 %end, label %call, label %one
one:
  %item_at = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %item_at
  %place = getelementptr ptr, ptr %given, i64 %next
  store ptr %item, ptr %place
  br label %each
call:
  %forward_name = load ptr, ptr @forward_name
  %made = call ptr @PyObject_VectorcallMethod(ptr %forward_name, ptr %given, i64 %next, ptr null)
  ret ptr %made
impl:
  %call_name = load ptr, ptr @call_name
  %method = call ptr @PyObject_GetAttr(ptr %self, ptr %call_name)
  %absent = icmp eq ptr %method, null
  br i1 %absent, label %error, label %run
run:
  %result = call ptr @PyObject_Call(ptr %method, ptr %args, ptr %names)
  call void @Py_DecRef(ptr %method)
  ret ptr %result
error:
  ret ptr null
}}
"""
