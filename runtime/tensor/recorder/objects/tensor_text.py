"""LLVM text of tensors: how they are made and die, and the two fields that are made when somebody asks.

Results die as quickly as they are made, so those of the type that recognised calls give (`@tensor_type`) are kept
for the next: `@spare` is a chain of dead tensors, linked through the field SERIAL. They are known to nobody, and each
keeps its reference to the type.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import TYPE
from ..layout import Tensor
from ..snippets import get, put

SPARES = 2048
"""Dead tensors, and dead cells, that are kept: more than a trace mostly has, in 500 KB."""

EXPORTED = ("tensor_type", "parameter_type", "free_spares", "tensor_dealloc", "tensor_hash")

TEXT = f"""
@tensor_type = global ptr null
@parameter_type = global ptr null
@spare = internal global ptr null
@spares = internal global i64 0

; Whether an object is of one of the two classes whose instances calls are recognised with.
define internal i1 @is_tensor(ptr %object) nounwind alwaysinline {{
entry:
{get("type", "%object", TYPE)}
  %common = load ptr, ptr @tensor_type
  %parameter = load ptr, ptr @parameter_type
  %plain = icmp eq ptr %type, %common
  %other = icmp eq ptr %type, %parameter
  %is = or i1 %plain, %other
  ret i1 %is
}}

; Have so many dead tensors at hand. To allocate may start the collector, and with it code of the program.
define internal i32 @prepare(i64 %needed) nounwind {{
entry:
  %type = load ptr, ptr @tensor_type
  br label %each
each:
  %count = load i64, ptr @spares
  %enough = icmp uge i64 %count, %needed
  br i1 %enough, label %done, label %one
one:
  %made = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %bury
bury:
  call void @PyObject_GC_UnTrack(ptr %made)
  call void @bury(ptr %made)
  br label %each
done:
  ret i32 0
error:
  ret i32 -1
}}

; Put a dead tensor with empty fields aside.
define internal void @bury(ptr %dead) nounwind alwaysinline {{
entry:
  %first = load ptr, ptr @spare
{put("link", "%dead", Tensor.SERIAL, "ptr %first")}
  store ptr %dead, ptr @spare
  %count = load i64, ptr @spares
  %more = add i64 %count, 1
  store i64 %more, ptr @spares
  ret void
}}

; Free all dead tensors and cells, because others are to be made from now on.
define void @free_spares() nounwind {{
entry:
  call void @free_cells()
  br label %each
each:
  %first = load ptr, ptr @spare
  %none = icmp eq ptr %first, null
  br i1 %none, label %leave, label %one
one:
{get("following", "%first", Tensor.SERIAL)}
  store ptr %following, ptr @spare
  %count = load i64, ptr @spares
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr @spares
  call void @release(ptr %first)
  br label %each
leave:
  ret void
}}

; A late tensor: value %number of the trace %serial, of a kind. There is a spare one.
define internal ptr @fresh(i64 %serial, i64 %number, i64 %kind_word, i64 %flags) nounwind alwaysinline {{
entry:
  %made = load ptr, ptr @spare
{get("following", "%made", Tensor.SERIAL)}
  store ptr %following, ptr @spare
  %count = load i64, ptr @spares
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr @spares
  %kind = inttoptr i64 %kind_word to ptr
  store i64 1, ptr %made
{put("serial", "%made", Tensor.SERIAL, "i64 %serial")}
{put("number", "%made", Tensor.NUMBER, "i64 %number")}
{put("flags", "%made", Tensor.FLAGS, "i64 %flags")}
{put("unwritten", "%made", Tensor.WRITTEN, "i64 0")}
{put("kind", "%made", Tensor.KIND, "ptr %kind")}
  call void @Py_IncRef(ptr %kind)
  call void @PyObject_GC_Track(ptr %made)
  ret ptr %made
}}

; Gradients of gradients of ... die one after the other, not one inside the other.
define internal void @drop_gradients(ptr %self) nounwind {{
entry:
  %place = getelementptr i8, ptr %self, i64 {Tensor.GRAD}
  br label %again
again:
  %grad = load ptr, ptr %place
  %none = icmp eq ptr %grad, null
  br i1 %none, label %leave, label %count
count:
  %references = load i32, ptr %grad
  %last = icmp eq i32 %references, 1
  br i1 %last, label %kind, label %leave
kind:
  %plain = call i1 @is_any_tensor(ptr %grad)
  br i1 %plain, label %shorten, label %leave
shorten:
{get("next", "%grad", Tensor.GRAD)}
{put("cut", "%grad", Tensor.GRAD, "ptr null")}
  store ptr %next, ptr %place
  call void @Py_DecRef(ptr %grad)
  br label %again
leave:
  ret void
}}

define void @tensor_dealloc(ptr %self) nounwind {{
entry:
  %status = call i32 @PyObject_CallFinalizerFromDealloc(ptr %self)
  %alive = icmp ne i32 %status, 0
  br i1 %alive, label %leave, label %die
die:
  call void @PyObject_GC_UnTrack(ptr %self)
{get("weak", "%self", Tensor.WEAK)}
  %unknown = icmp eq ptr %weak, null
  br i1 %unknown, label %fields, label %forget
forget:
  call void @PyObject_ClearWeakRefs(ptr %self)
  br label %fields
fields:
  %held.at = getelementptr i8, ptr %self, i64 {Tensor.CELL}
  %held = load <4 x i64>, ptr %held.at, align 8
  %some = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> %held)
{get("dict", "%self", Tensor.DICT, "i64")}
{get("record", "%self", Tensor.RECORD, "i64")}
  %more = or i64 %dict, %record
  %any = or i64 %some, %more
  %late = icmp eq i64 %any, 0
  br i1 %late, label %kind_only, label %clear
kind_only:
{get("kind", "%self", Tensor.KIND)}
{put("no_kind", "%self", Tensor.KIND, "ptr null")}
  call void @Py_DecRef(ptr %kind)
  br label %bury
clear:
  call void @drop_gradients(ptr %self)
  %cleared = call i32 @tensor_clear(ptr %self)
  br label %bury
bury:
{get("type", "%self", TYPE)}
  %common = load ptr, ptr @tensor_type
  %is_common = icmp eq ptr %type, %common
  %finalized = call i32 @PyObject_GC_IsFinalized(ptr %self)
  %never = icmp eq i32 %finalized, 0
  %count = load i64, ptr @spares
  %room = icmp ult i64 %count, {SPARES}
  %usual = and i1 %is_common, %never
  %keeps = and i1 %usual, %room
  br i1 %keeps, label %keep, label %free
keep:
  call void @bury(ptr %self)
  ret void
free:
  call void @release(ptr %self)
  ret void
leave:
  ret void
}}

; Comparing gives a tensor, so tensors are told apart by where they are.
define i64 @tensor_hash(ptr %self) nounwind {{
entry:
  %address = ptrtoint ptr %self to i64
  %rotated = call i64 @llvm.fshr.i64(i64 %address, i64 %address, i64 4)
  ret i64 %rotated
}}
"""
