"""LLVM text that tells what a call needs to know of a tensor: its *class*, and whether that is all."""

from __future__ import annotations

from ..layout import HISTORY, HOOKED, LEAF, OPEN, PART, SHARED, SPECIAL, VIEWED, Search, Tensor
from ..snippets import get, put

TEXT = f"""
; The class of a tensor: whether it is a leaf that requires a gradient, has hooks, history, may share memory with NumPy.
define internal i64 @class_of(ptr %tensor) nounwind alwaysinline {{
entry:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
{get("node", "%tensor", Tensor.NODE)}
  %unset = icmp eq ptr %node, null
  %none = icmp eq ptr %node, @_Py_NoneStruct
  %no_node = or i1 %unset, %none
  %known = select i1 %no_node, i64 0, i64 {HISTORY}
  %special = call i1 @is_special(ptr %tensor)
  %some_views = and i64 %flags, {VIEWED}
  %viewed = icmp ne i64 %some_views, 0
  %shares = or i1 %special, %viewed
  %shared = select i1 %shares, i64 {SHARED}, i64 0
  %plain = and i64 %flags, {LEAF | HISTORY | OPEN | HOOKED}
  %with_node = or i64 %plain, %known
  %class = or i64 %with_node, %shared
  ret i64 %class
}}

; Whether a tensor shares memory, or there is more to it than its fields.
define internal i1 @is_special(ptr %tensor) nounwind alwaysinline {{
entry:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
{get("storage", "%tensor", Tensor.STORAGE)}
  %bit = and i64 %flags, {SPECIAL | PART}
  %marked = icmp ne i64 %bit, 0
  %unset = icmp eq ptr %storage, null
  %none = icmp eq ptr %storage, @_Py_NoneStruct
  %own = or i1 %unset, %none
  %shared = xor i1 %own, true
  %special = or i1 %marked, %shared
  ret i1 %special
}}

; Whether a tensor's fields are all there is to know: it is plain, or Python has looked at it during this search.
define internal i1 @is_settled(ptr %search, ptr %tensor) nounwind alwaysinline {{
entry:
  %special = call i1 @is_special(ptr %tensor)
  br i1 %special, label %look, label %yes
look:
{get("count", "%search", Search.COUNT, "i64")}
  %first = getelementptr i8, ptr %search, i64 {Search.CHECKED}
  br label %each
each:
  %n = phi i64 [ 0, %look ], [ %next, %one ]
  %end = icmp eq i64 %n, %count
  br i1 %end, label %no, label %one
one:
  %place = getelementptr ptr, ptr %first, i64 %n
  %checked = load ptr, ptr %place
  %found = icmp eq ptr %checked, %tensor
  %next = add i64 %n, 1
  br i1 %found, label %yes, label %each
yes:
  ret i1 true
no:
{put("met", "%search", Search.MET, "ptr %tensor")}
  ret i1 false
}}
"""
