"""LLVM text of writing in place where gradients flow: the tensor takes another value, and another node which is late.

    h = linear(x, w)     value 3, whose node is late
    h.relu_()            RENEW 3 4       value 4, whose node is late; of value 3 the table has the cell alone

A node that is there already was asked for: then Python makes the new one, and nothing here is done.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import BYTES_DATA, SIZE
from ..layout import HISTORY, SHARED, Give, State, Tape, Tensor
from ..snippets import DESCRIPTOR_FIELDS, get, put

TEXT = f"""
; Whether the tensor that is value %n may be written to: it shares no memory, and where it is renewed, its node is late,
; as its value is, or there is none.
define internal i1 @may_write(ptr %tape, i64 %n, i64 %tag) nounwind {{
entry:
  %tensor = call ptr @tensor_at(ptr %tape, i64 %n)
  %absent = icmp eq ptr %tensor, null
  br i1 %absent, label %no, label %look
look:
  %class = call i64 @class_of(ptr %tensor)
  %sharing = and i64 %class, {SHARED}
  %shares = icmp ne i64 %sharing, 0
  %renews = icmp eq i64 %tag, {Give.RENEW}
  br i1 %shares, label %no, label %which
which:
  br i1 %renews, label %fields, label %yes
fields:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
{get("node", "%tensor", Tensor.NODE)}
{get("cell", "%tensor", Tensor.CELL)}
  %history = and i64 %flags, {HISTORY}
  %without = icmp eq i64 %history, 0
  br i1 %without, label %new, label %again
new:
  %unset = icmp eq ptr %node, null
  %none = icmp eq ptr %node, @_Py_NoneStruct
  %no_node = or i1 %unset, %none
  ret i1 %no_node
again:
  %no_node_yet = icmp eq ptr %node, null
  %no_cell_yet = icmp eq ptr %cell, null
  %late = and i1 %no_node_yet, %no_cell_yet
  ret i1 %late
yes:
  ret i1 true
no:
  ret i1 false
}}

; Whether the tensors that a call renews which fits a pattern may be written to.
define internal i1 @may_renew(ptr %search, ptr %pattern) nounwind {{
entry:
  %tape = load ptr, ptr %search
{get("gives", "%pattern", State.GIVES)}
  %begin = getelementptr i8, ptr %gives, i64 {BYTES_DATA}
{get("size", "%gives", SIZE, "i64")}
  %end = getelementptr i8, ptr %begin, i64 %size
  br label %each
each:
  %words = phi ptr [ %begin, %entry ], [ %more, %read ], [ %more, %target ]
  %last = icmp uge ptr %words, %end
  br i1 %last, label %yes, label %read
read:
{DESCRIPTOR_FIELDS}
  %renews = icmp eq i64 %tag, {Give.RENEW}
  br i1 %renews, label %target, label %each
target:
  %n = call i64 @place_of(ptr %search, i64 %a)
  %may = call i1 @may_write(ptr %tape, i64 %n, i64 %tag)
  br i1 %may, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; The tensor that was value %old has been written to, and is value %new alone, with a node that is late.
define internal void @renew(ptr %tape, i64 %old, i64 %new, i64 %kind) nounwind {{
entry:
  %tensor = call ptr @tensor_at(ptr %tape, i64 %old)
  call void @assign(ptr %tape, i64 %old, i64 %new, i64 %kind)
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
  %with_history = or i64 %flags, {HISTORY}
  store i64 %with_history, ptr %flags.at
{get("values", "%tape", Tape.VALUES)}
  %value_at = getelementptr ptr, ptr %values, i64 %old
  store ptr null, ptr %value_at
  call void @Py_DecRef(ptr %tensor)
{get("node", "%tensor", Tensor.NODE)}
{put("no_node", "%tensor", Tensor.NODE, "ptr null")}
  call void @Py_DecRef(ptr %node)
  ret void
}}
"""
