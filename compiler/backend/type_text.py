"""LLVM text of the functions of the type under `NativeFunction`.

An instance is an object header, the address of the first entry of its chain, and a list of the
entries' owners. The list is seen by the garbage collector; clearing it unchains the entries first.
"""

from __future__ import annotations

from .python_abi import SLOT_FREE, TYPE

VECTORCALL = 16
OWNERS = 24
INSTANCE_SIZE = 32

EXPORTED = ("new", "traverse", "clear", "dealloc", "bind", "slow", "install", "reset")

TEXT = f"""
; A new instance: nothing but the slow path.
define ptr @new(ptr %type, ptr %args, ptr %keywords) nounwind {{
entry:
  %self = call ptr @PyType_GenericNew(ptr %type, ptr %args, ptr %keywords)
  %failed = icmp eq ptr %self, null
  br i1 %failed, label %none, label %made
made:
  %vectorcall = getelementptr i8, ptr %self, i64 {VECTORCALL}
  store ptr @slow, ptr %vectorcall
  %owners = call ptr @PyList_New(i64 0)
  %place = getelementptr i8, ptr %self, i64 {OWNERS}
  store ptr %owners, ptr %place
  %no_list = icmp eq ptr %owners, null
  br i1 %no_list, label %drop, label %done
drop:
  call void @Py_DecRef(ptr %self)
  br label %none
done:
  ret ptr %self
none:
  ret ptr null
}}

define i32 @traverse(ptr %self, ptr %visit, ptr %context) nounwind {{
entry:
  %type_place = getelementptr i8, ptr %self, i64 {TYPE}
  %type = load ptr, ptr %type_place
  %seen = call i32 %visit(ptr %type, ptr %context)
  %stop = icmp ne i32 %seen, 0
  br i1 %stop, label %leave, label %list
list:
  %place = getelementptr i8, ptr %self, i64 {OWNERS}
  %owners = load ptr, ptr %place
  %absent = icmp eq ptr %owners, null
  br i1 %absent, label %leave, label %visit_list
visit_list:
  %also = call i32 %visit(ptr %owners, ptr %context)
  ret i32 %also
leave:
  ret i32 %seen
}}

define i32 @clear(ptr %self) nounwind {{
entry:
  %vectorcall = getelementptr i8, ptr %self, i64 {VECTORCALL}
  store ptr @slow, ptr %vectorcall
  %place = getelementptr i8, ptr %self, i64 {OWNERS}
  %owners = load ptr, ptr %place
  store ptr null, ptr %place
  call void @Py_DecRef(ptr %owners)
  ret i32 0
}}

define void @dealloc(ptr %self) nounwind {{
entry:
  call void @PyObject_GC_UnTrack(ptr %self)
  %cleared = call i32 @clear(ptr %self)
  %type_place = getelementptr i8, ptr %self, i64 {TYPE}
  %type = load ptr, ptr %type_place
  %free = call ptr @PyType_GetSlot(ptr %type, i32 {SLOT_FREE})
  call void %free(ptr %self)
  call void @Py_DecRef(ptr %type)
  ret void
}}

; Looked up on an instance a function becomes a method, looked up on a class it stays itself.
define ptr @bind(ptr %self, ptr %instance, ptr %class) nounwind {{
entry:
  %absent = icmp eq ptr %instance, null
  %none = icmp eq ptr %instance, @_Py_NoneStruct
  %on_class = or i1 %absent, %none
  br i1 %on_class, label %itself, label %method
itself:
  call void @Py_IncRef(ptr %self)
  ret ptr %self
method:
  %bound = call ptr @PyMethod_New(ptr %self, ptr %instance)
  ret ptr %bound
}}

; The last entry of every chain: self.__slow__(*args, **kwargs).
define ptr @slow(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames) nounwind {{
entry:
  %method = call ptr @bound(ptr %self, ptr @slow_name)
  %absent = icmp eq ptr %method, null
  br i1 %absent, label %none, label %run
run:
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 %nargsf, ptr %kwnames)
  call void @Py_DecRef(ptr %method)
  ret ptr %result
none:
  ret ptr null
}}

; Put an entry in front of the chain; 1 if the entry is already in a chain, 2 if self was cleared.
define i32 @install(ptr %self, ptr %owner, ptr %entry, ptr %cells) nounwind {{
begin:
  %taken = load ptr, ptr %cells
  %used = icmp ne ptr %taken, null
  br i1 %used, label %refuse, label %look
look:
  %place = getelementptr i8, ptr %self, i64 {OWNERS}
  %owners = load ptr, ptr %place
  %cleared = icmp eq ptr %owners, null
  br i1 %cleared, label %dead, label %keep
keep:
  %status = call i32 @PyList_Append(ptr %owners, ptr %owner)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %error, label %chain
chain:
  %vectorcall = getelementptr i8, ptr %self, i64 {VECTORCALL}
  %first = load ptr, ptr %vectorcall
  store ptr %first, ptr %cells
  %owner_cell = getelementptr i8, ptr %cells, i64 8
  store ptr %owner, ptr %owner_cell
  store ptr %entry, ptr %vectorcall
  ret i32 0
refuse:
  ret i32 1
dead:
  ret i32 2
error:
  ret i32 -1
}}

; Forget all entries.
define i32 @reset(ptr %self) nounwind {{
entry:
  %fresh = call ptr @PyList_New(i64 0)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %error, label %swap
swap:
  %vectorcall = getelementptr i8, ptr %self, i64 {VECTORCALL}
  store ptr @slow, ptr %vectorcall
  %place = getelementptr i8, ptr %self, i64 {OWNERS}
  %old = load ptr, ptr %place
  store ptr %fresh, ptr %place
  call void @Py_DecRef(ptr %old)
  ret i32 0
error:
  ret i32 -1
}}
"""
