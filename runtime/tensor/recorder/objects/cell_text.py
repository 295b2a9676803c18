"""LLVM text of cells: how they are made and die.

Like results, the cells of a trace die as quickly as they are made. Those of the type that results get (`@cell_type`)
are kept for the next: `@spare_cell` is a chain of dead cells, linked through the field SERIAL.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import SIZE, TUPLE_ITEMS, TYPE
from ..layout import Cell
from ..snippets import get, put
from .tensor_text import SPARES

EXPORTED = ("cell_base", "cell_type", "cell_init", "cell_dealloc")

_MAKING = f"""
@cell_base = global ptr null
@cell_type = global ptr null

; Cell(kind, array, serial=0, number=0)
define i32 @cell_init(ptr %self, ptr %args, ptr %names) nounwind {{
entry:
{get("given", "%args", SIZE, "i64")}
  %place = getelementptr i8, ptr %args, i64 {TUPLE_ITEMS}
  %unnamed = icmp eq ptr %names, null
  %beyond = sub i64 %given, 2
  %two = icmp eq i64 %beyond, 0
  %four = icmp eq i64 %beyond, 2
  %counted = or i1 %two, %four
  %good = and i1 %counted, %unnamed
  br i1 %good, label %numbers, label %wrong
numbers:
  br i1 %four, label %convert, label %fill
convert:
{get("serial_object", "%place", 16)}
{get("number_object", "%place", 24)}
  %given_serial = call i64 @PyLong_AsSsize_t(ptr %serial_object)
  %given_number = call i64 @PyLong_AsSsize_t(ptr %number_object)
  %raised = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %raised, null
  br i1 %failed, label %error, label %fill
fill:
  %serial = phi i64 [ 0, %numbers ], [ %given_serial, %convert ]
  %number = phi i64 [ 0, %numbers ], [ %given_number, %convert ]
  %kind = load ptr, ptr %place
{get("array", "%place", 8)}
  call void @Py_IncRef(ptr %kind)
  call void @Py_IncRef(ptr %array)
{put("serial", "%self", Cell.SERIAL, "i64 %serial")}
{put("number", "%self", Cell.NUMBER, "i64 %number")}
{put("stale", "%self", Cell.STALE, "i64 0")}
{get("old_kind", "%self", Cell.KIND)}
{get("old_array", "%self", Cell.ARRAY)}
  store ptr %kind, ptr %old_kind.at
  store ptr %array, ptr %old_array.at
  call void @Py_DecRef(ptr %old_kind)
  call void @Py_DecRef(ptr %old_array)
  ret i32 0
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @cell_wrong)
  br label %error
error:
  ret i32 -1
}}
"""

_DYING = f"""
@spare_cell = internal global ptr null
@spare_cells = internal global i64 0

; Have so many dead cells at hand. To allocate may start the collector, and with it code of the program.
define internal i32 @prepare_cells(i64 %needed) nounwind {{
entry:
  %type = load ptr, ptr @cell_type
  br label %each
each:
  %count = load i64, ptr @spare_cells
  %enough = icmp uge i64 %count, %needed
  br i1 %enough, label %done, label %one
one:
  %made = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %bury
bury:
  call void @PyObject_GC_UnTrack(ptr %made)
  call void @bury_cell(ptr %made)
  br label %each
done:
  ret i32 0
error:
  ret i32 -1
}}

; Put a dead cell with empty fields aside.
define internal void @bury_cell(ptr %dead) nounwind alwaysinline {{
entry:
  %first = load ptr, ptr @spare_cell
{put("link", "%dead", Cell.SERIAL, "ptr %first")}
  store ptr %dead, ptr @spare_cell
  %count = load i64, ptr @spare_cells
  %more = add i64 %count, 1
  store i64 %more, ptr @spare_cells
  ret void
}}

; The first dead cell, which is there, out of the chain.
define internal ptr @unbury_cell() nounwind alwaysinline {{
entry:
  %first = load ptr, ptr @spare_cell
{get("following", "%first", Cell.SERIAL)}
  store ptr %following, ptr @spare_cell
  %count = load i64, ptr @spare_cells
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr @spare_cells
  ret ptr %first
}}

; A cell of no trace, of a kind. There is a spare one.
define internal ptr @fresh_cell(i64 %kind_word) nounwind alwaysinline {{
entry:
  %made = call ptr @unbury_cell()
  %kind = inttoptr i64 %kind_word to ptr
  store i64 1, ptr %made
{put("serial", "%made", Cell.SERIAL, "i64 0")}
{put("number", "%made", Cell.NUMBER, "i64 0")}
{put("stale", "%made", Cell.STALE, "i64 0")}
{put("version", "%made", Cell.VERSION, "i64 0")}
{put("layout", "%made", Cell.LAYOUT, "i64 0")}
{put("kind", "%made", Cell.KIND, "ptr %kind")}
  call void @Py_IncRef(ptr %kind)
  call void @PyObject_GC_Track(ptr %made)
  ret ptr %made
}}

; Free all dead cells.
define internal void @free_cells() nounwind {{
entry:
  br label %each
each:
  %count = load i64, ptr @spare_cells
  %none = icmp eq i64 %count, 0
  br i1 %none, label %leave, label %one
one:
  %dead = call ptr @unbury_cell()
  call void @release(ptr %dead)
  br label %each
leave:
  ret void
}}

define void @cell_dealloc(ptr %self) nounwind {{
entry:
  call void @PyObject_GC_UnTrack(ptr %self)
{get("weak", "%self", Cell.WEAK)}
  %unknown = icmp eq ptr %weak, null
  br i1 %unknown, label %fields, label %forget
forget:
  call void @PyObject_ClearWeakRefs(ptr %self)
  br label %fields
fields:
  call void @keep_array(ptr %self)
  %cleared = call i32 @cell_clear(ptr %self)
{get("type", "%self", TYPE)}
  %common = load ptr, ptr @cell_type
  %usual = icmp eq ptr %type, %common
  %count = load i64, ptr @spare_cells
  %room = icmp ult i64 %count, {SPARES}
  %keeps = and i1 %usual, %room
  br i1 %keeps, label %keep, label %free
keep:
  call void @bury_cell(ptr %self)
  ret void
free:
  call void @release(ptr %self)
  ret void
}}
"""

TEXT = _MAKING + _DYING

STRINGS = {"cell_wrong": "Cell(kind, array) or Cell(kind, array, serial, number) expected"}
