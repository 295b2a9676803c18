"""LLVM text of what the garbage collector asks of the recorder's objects, and of how they die.

A type has the offsets of its object fields in a table; the functions here go through it.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import TYPE
from ..layout import Cell, Recorded, State, Tape, Tensor
from ..snippets import get

FIELDS = {
    "tensor": Tensor.OBJECTS, "cell": Cell.OBJECTS, "state": State.OBJECTS, "recorded": Recorded.OBJECTS,
    "tape": Tape.OBJECTS}
PLAIN = ("state", "recorded")
"""Types with nothing but fields; there is more to do when others die."""

EXPORTED = (
    *[f"{name}_{what}" for name in ("tensor", "cell", *PLAIN) for what in ("traverse", "clear")],
    *[f"{name}_dealloc" for name in PLAIN])

_SHARED = f"""
; Show the collector an object's type and what its fields refer to.
define internal i32 @visit_fields(ptr %self, ptr %visit, ptr %context, ptr %fields, i64 %count) nounwind {{
entry:
{get("type", "%self", TYPE)}
  %seen_type = call i32 %visit(ptr %type, ptr %context)
  br label %after
each:
  %end = icmp eq i64 %n, %count
  br i1 %end, label %leave, label %look
look:
  %entry_at = getelementptr i64, ptr %fields, i64 %n
  %offset = load i64, ptr %entry_at
  %at = getelementptr i8, ptr %self, i64 %offset
  %object = load ptr, ptr %at
  %next = add i64 %n, 1
  %absent = icmp eq ptr %object, null
  br i1 %absent, label %after, label %show
show:
  %seen_object = call i32 %visit(ptr %object, ptr %context)
  br label %after
after:
  %n = phi i64 [ 0, %entry ], [ %next, %look ], [ %next, %show ]
  %seen = phi i32 [ %seen_type, %entry ], [ 0, %look ], [ %seen_object, %show ]
  %stop = icmp ne i32 %seen, 0
  br i1 %stop, label %leave, label %each
leave:
  ret i32 %seen
}}

; Let go of what an object's fields refer to; a field is empty before its object can die.
define internal void @clear_fields(ptr %self, ptr %fields, i64 %count) nounwind {{
entry:
  br label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %after ]
  %end = icmp eq i64 %n, %count
  br i1 %end, label %leave, label %look
look:
  %entry_at = getelementptr i64, ptr %fields, i64 %n
  %offset = load i64, ptr %entry_at
  %at = getelementptr i8, ptr %self, i64 %offset
  %object = load ptr, ptr %at
  %absent = icmp eq ptr %object, null
  br i1 %absent, label %after, label %drop
drop:
  store ptr null, ptr %at
  call void @Py_DecRef(ptr %object)
  br label %after
after:
  %next = add i64 %n, 1
  br label %each
leave:
  ret void
}}

; Give the memory of an object back, and its reference to its type.
define internal void @release(ptr %self) nounwind {{
entry:
{get("type", "%self", TYPE)}
  call void @PyObject_GC_Del(ptr %self)
  call void @Py_DecRef(ptr %type)
  ret void
}}
"""

_EACH = """
define i32 @NAME_traverse(ptr %self, ptr %visit, ptr %context) nounwind {
entry:
  %seen = call i32 @visit_fields(ptr %self, ptr %visit, ptr %context, ptr @NAME_fields, i64 COUNT)
  ret i32 %seen
}

define i32 @NAME_clear(ptr %self) nounwind {
entry:
  call void @clear_fields(ptr %self, ptr @NAME_fields, i64 COUNT)
  ret i32 0
}
"""

_DEALLOC = """
define void @NAME_dealloc(ptr %self) nounwind {
entry:
  call void @PyObject_GC_UnTrack(ptr %self)
  %cleared = call i32 @NAME_clear(ptr %self)
  call void @release(ptr %self)
  ret void
}
"""


def _functions(name: str, fields: tuple[int, ...]) -> str:
    offsets = ", ".join(f"i64 {offset}" for offset in fields)
    table = f"\n@{name}_fields = private constant [{len(fields)} x i64] [{offsets}]\n"
    text = "" if name == "tape" else _EACH + (_DEALLOC if name in PLAIN else "")
    return table + text.replace("NAME", name).replace("COUNT", str(len(fields)))


TEXT = _SHARED + "".join([_functions(name, fields) for name, fields in FIELDS.items()])
