"""LLVM text of the fields of a tensor that are made when somebody asks.

A tensor's `_cell` and `_node` are attributes that call `self._late_cell()` and `self._late_node()` where the field is
empty; those make what the slow way would have made.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import TYPE
from ..layout import Tensor
from ..snippets import get

EXPORTED = ("cell_get", "cell_set", "node_get", "node_set", "late_get")

_ATTRIBUTE = """
define ptr @NAME_get(ptr %self, ptr %unused) nounwind {
entry:
  %place = getelementptr i8, ptr %self, i64 OFFSET
  %there = load ptr, ptr %place
  %late = icmp eq ptr %there, null
  br i1 %late, label %ask, label %give
ask:
  %done = call i32 @ask_late(ptr %self, ptr @NAME_late)
  %raised = icmp ne i32 %done, 0
  br i1 %raised, label %error, label %again
again:
  %now = load ptr, ptr %place
  %unset = icmp eq ptr %now, null
  br i1 %unset, label %missing, label %give
give:
  %value = phi ptr [ %there, %entry ], [ %now, %again ]
  call void @Py_IncRef(ptr %value)
  ret ptr %value
missing:
  %kind = load ptr, ptr @PyExc_AttributeError
  call void @PyErr_SetString(ptr %kind, ptr @NAME_missing)
  br label %error
error:
  ret ptr null
}

define i32 @NAME_set(ptr %self, ptr %value, ptr %unused) nounwind {
entry:
  %deletes = icmp eq ptr %value, null
  br i1 %deletes, label %swap, label %check
check:
CHECK
hold:
  call void @Py_IncRef(ptr %value)
  br label %swap
swap:
  %place = getelementptr i8, ptr %self, i64 OFFSET
  %old = load ptr, ptr %place
  store ptr %value, ptr %place
  call void @Py_DecRef(ptr %old)
  ret i32 0
refuse:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @NAME_refused)
  ret i32 -1
}
"""

_CELLS_ONLY = f"""{get("type", "%value", TYPE)}
  %base = load ptr, ptr @cell_base
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %base)
  %fits = icmp ne i32 %is, 0
  br i1 %fits, label %hold, label %refuse"""

_ANYTHING = "  br i1 true, label %hold, label %refuse"

_LATE = f"""
define internal i32 @ask_late(ptr %self, ptr %how) nounwind {{
entry:
  %name = call ptr @PyUnicode_InternFromString(ptr %how)
  %nameless = icmp eq ptr %name, null
  br i1 %nameless, label %error, label %look
look:
  %method = call ptr @PyObject_GetAttr(ptr %self, ptr %name)
  call void @Py_DecRef(ptr %name)
  %absent = icmp eq ptr %method, null
  br i1 %absent, label %error, label %run
run:
  %result = call ptr @PyObject_CallNoArgs(ptr %method)
  call void @Py_DecRef(ptr %method)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %error, label %done
done:
  call void @Py_DecRef(ptr %result)
  ret i32 0
error:
  ret i32 -1
}}

define ptr @late_get(ptr %self, ptr %unused) nounwind {{
entry:
{get("cell", "%self", Tensor.CELL)}
  %unset = icmp eq ptr %cell, null
  %answer = select i1 %unset, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  call void @Py_IncRef(ptr %answer)
  ret ptr %answer
}}
"""


def _attribute(name: str, offset: int, check: str) -> str:
    return _ATTRIBUTE.replace("NAME", name).replace("OFFSET", str(offset)).replace("CHECK", check)

TEXT = _LATE + _attribute("cell", Tensor.CELL, _CELLS_ONLY) + _attribute("node", Tensor.NODE, _ANYTHING)

STRINGS = {
    "cell_late": "_late_cell",
    "node_late": "_late_node",
    "cell_missing": "this tensor's _cell is not set, and _late_cell() did not set it",
    "node_missing": "this tensor's _node is not set, and _late_node() did not set it",
    "cell_refused": "a tensor's _cell must be a Cell",
    "node_refused": "a tensor's _node cannot be this",
}
