"""LLVM text of the functions of the type under `NativeFunction`.

An instance is an object header, the address of the first entry of its chain, a list of the entries'
owners, a list of their modules and the address of the first entry's cells. The garbage collector sees
the owners, which may be part of cycles. It does not see the modules, or it would unload them before
it runs the finalizers of other objects of a cycle, and those may call the function; they go with the
function, or when it is cleared.

The cells of an entry are the next entry, its owner, the cells of the next entry, and how often it was
hit while it was not the first.
"""

from __future__ import annotations

from ..python_abi import SLOT_FREE, TYPE

VECTORCALL = 16
OWNERS = 24
MODULES = 32
CELLS = 40
INSTANCE_SIZE = 48

ADVANCE = 16
"""Hits after which an entry becomes the first. Calls that alternate pay for a move now and then only."""

EXPORTED = ("new", "traverse", "clear", "dealloc", "bind", "slow", "install", "advance", "reset")

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
  %status = call i32 @renew(ptr %self)
  %empty = icmp ne i32 %status, 0
  br i1 %empty, label %drop, label %done
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
  call void @replace(ptr %self, ptr null, ptr null)
  ret i32 0
}}

; Forget all entries, and take other lists in place of the two that knew them.
define internal void @replace(ptr %self, ptr %owners, ptr %modules) nounwind {{
entry:
  %vectorcall = getelementptr i8, ptr %self, i64 {VECTORCALL}
  store ptr @slow, ptr %vectorcall
  %cells_place = getelementptr i8, ptr %self, i64 {CELLS}
  store ptr null, ptr %cells_place
  %owners_place = getelementptr i8, ptr %self, i64 {OWNERS}
  %old_owners = load ptr, ptr %owners_place
  store ptr %owners, ptr %owners_place
  %modules_place = getelementptr i8, ptr %self, i64 {MODULES}
  %old_modules = load ptr, ptr %modules_place
  store ptr %modules, ptr %modules_place
  call void @Py_DecRef(ptr %old_owners)
  call void @Py_DecRef(ptr %old_modules)
  ret void
}}

; Forget all entries; -1 if there is no memory for two lists.
define internal i32 @renew(ptr %self) nounwind {{
entry:
  %owners = call ptr @PyList_New(i64 0)
  %no_owners = icmp eq ptr %owners, null
  br i1 %no_owners, label %error, label %second
second:
  %modules = call ptr @PyList_New(i64 0)
  %no_modules = icmp eq ptr %modules, null
  br i1 %no_modules, label %drop, label %swap
drop:
  call void @Py_DecRef(ptr %owners)
  br label %error
swap:
  call void @replace(ptr %self, ptr %owners, ptr %modules)
  ret i32 0
error:
  ret i32 -1
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
define i32 @install(ptr %self, ptr %owner, ptr %module, ptr %entry, ptr %cells) nounwind {{
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
  %modules_place = getelementptr i8, ptr %self, i64 {MODULES}
  %modules = load ptr, ptr %modules_place
  %kept = call i32 @PyList_Append(ptr %modules, ptr %module)
  %owned = call i32 @PyList_Append(ptr %owners, ptr %owner)
  %both = or i32 %kept, %owned
  %failed = icmp ne i32 %both, 0
  br i1 %failed, label %error, label %chain
chain:
  %vectorcall = getelementptr i8, ptr %self, i64 {VECTORCALL}
  %first = load ptr, ptr %vectorcall
  store ptr %first, ptr %cells
  %owner_cell = getelementptr i8, ptr %cells, i64 8
  store ptr %owner, ptr %owner_cell
  %cells_place = getelementptr i8, ptr %self, i64 {CELLS}
  %first_cells = load ptr, ptr %cells_place
  %next_cells = getelementptr i8, ptr %cells, i64 16
  store ptr %first_cells, ptr %next_cells
  store ptr %entry, ptr %vectorcall
  store ptr %cells, ptr %cells_place
  ret i32 0
refuse:
  ret i32 1
dead:
  ret i32 2
error:
  ret i32 -1
}}

; An entry was hit that is not the first: after some hits it becomes the first.
define void @advance(ptr %self, ptr %entry, ptr %cells) nounwind {{
begin:
  %hits_cell = getelementptr i8, ptr %cells, i64 24
  %before = load i64, ptr %hits_cell
  %hits = add i64 %before, 1
  store i64 %hits, ptr %hits_cell
  %rest = urem i64 %hits, {ADVANCE}
  %due = icmp eq i64 %rest, 0
  br i1 %due, label %start, label %leave
start:
  %cells_place = getelementptr i8, ptr %self, i64 {CELLS}
  %first_cells = load ptr, ptr %cells_place
  br label %look
look:
  %at = phi ptr [ %first_cells, %start ], [ %following, %compare ]
  %end = icmp eq ptr %at, null
  br i1 %end, label %leave, label %compare
compare:
  %following_cell = getelementptr i8, ptr %at, i64 16
  %following = load ptr, ptr %following_cell
  %found = icmp eq ptr %following, %cells
  br i1 %found, label %move, label %look
move:
  %next = load ptr, ptr %cells
  store ptr %next, ptr %at
  %next_cell = getelementptr i8, ptr %cells, i64 16
  %next_cells = load ptr, ptr %next_cell
  store ptr %next_cells, ptr %following_cell
  %vectorcall = getelementptr i8, ptr %self, i64 {VECTORCALL}
  %first = load ptr, ptr %vectorcall
  store ptr %first, ptr %cells
  store ptr %first_cells, ptr %next_cell
  store ptr %entry, ptr %vectorcall
  store ptr %cells, ptr %cells_place
  br label %leave
leave:
  ret void
}}

; Forget all entries, on demand.
define i32 @reset(ptr %self) nounwind {{
entry:
  %status = call i32 @renew(ptr %self)
  ret i32 %status
}}
"""
