"""LLVM text of the tape's methods, as Python calls them."""

from __future__ import annotations

from .....compiler.backend.python_abi import BYTES_DATA, SIZE, TUPLE_ITEMS, TYPE
from ..layout import Cell, Tape, Tensor
from ..snippets import get

ENABLED = 1
"""The bit of a tape's mode that says that gradients are kept."""

METHODS = {
    "put": 3, "pick": 1, "value": 1, "cell": 1, "restart": 2, "replay": 5, "rerun": 2, "live": 0, "tensors": 0,
    "still": 0, "notes": 0, "settled": 2, "reclaim": 1}
"""The methods, and how many arguments each takes."""

ELSEWHERE = ("replay", "rerun", "notes", "settled", "reclaim")
"""Methods of which other texts tell."""

EXPORTED = tuple(f"tape_{name}" for name in METHODS if name not in ELSEWHERE)

_READING = f"""
; The number that is the first argument; -1 with an exception if it is none of the values.
define internal i64 @index_of(ptr %tape, ptr %args, i64 %nargs, i64 %end) nounwind {{
entry:
  %none = icmp eq i64 %nargs, 0
  br i1 %none, label %refuse, label %convert
convert:
  %argument = load ptr, ptr %args
  %number = call i64 @PyLong_AsSsize_t(ptr %argument)
  %raised = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %raised, null
  br i1 %failed, label %error, label %range
range:
  %inside = icmp ult i64 %number, %end
  br i1 %inside, label %yes, label %refuse
yes:
  ret i64 %number
refuse:
  %kind = load ptr, ptr @PyExc_IndexError
  call void @PyErr_SetString(ptr %kind, ptr @number_missing)
  br label %error
error:
  ret i64 -1
}}

; Whether somebody else refers to the tensor that is value %n, or to its cell, and it has not been computed.
define internal i1 @is_live(ptr %tape, i64 %n, i1 %tensors_only) nounwind {{
entry:
{get("cells", "%tape", Tape.CELLS)}
  %cell_at = getelementptr ptr, ptr %cells, i64 %n
  %cell = load ptr, ptr %cell_at
  %tensor = call ptr @tensor_at(ptr %tape, i64 %n)
  %no_tensor = icmp eq ptr %tensor, null
  %no_cell = icmp eq ptr %cell, null
  br i1 %no_cell, label %tensor_kept, label %computed
computed:
{get("array", "%cell", Cell.ARRAY)}
  %null = icmp eq ptr %array, null
  %none = icmp eq ptr %array, @_Py_NoneStruct
  %pending = or i1 %null, %none
  br i1 %pending, label %tensor_kept, label %no
tensor_kept:
  br i1 %no_tensor, label %cell_kept, label %count_tensor
count_tensor:
  %tensor_count = load i32, ptr %tensor
  %kept = icmp ne i32 %tensor_count, 1
  br i1 %kept, label %yes, label %its_cell
its_cell:
{get("held", "%tensor", Tensor.CELL)}
  %holds = icmp eq ptr %held, %cell
  %holder = zext i1 %holds to i32
  br label %cell_kept
cell_kept:
  %holders = phi i32 [ 0, %tensor_kept ], [ %holder, %its_cell ]
  %skip = or i1 %no_cell, %tensors_only
  br i1 %skip, label %no, label %count_cell
count_cell:
  %cell_count = load i32, ptr %cell
  %own = add i32 %holders, 1
  %more = icmp ugt i32 %cell_count, %own
  ret i1 %more
yes:
  ret i1 true
no:
  ret i1 false
}}

; live() -> bytes: bit n of them says whether value n is to be handed out.
define ptr @tape_live(ptr %tape, ptr %unused) nounwind {{
entry:
{get("count", "%tape", Tape.COUNT, "i64")}
  %rounded = add i64 %count, 7
  %size = lshr i64 %rounded, 3
  %made = call ptr @PyBytes_FromStringAndSize(ptr null, i64 %size)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %start
start:
  %data = getelementptr i8, ptr %made, i64 {BYTES_DATA}
  br label %each
each:
  %n = phi i64 [ 0, %start ], [ %next, %after ]
  %byte = phi i8 [ 0, %start ], [ %kept, %after ]
  %end = icmp uge i64 %n, %count
  br i1 %end, label %done, label %one
one:
  %live = call i1 @is_live(ptr %tape, i64 %n, i1 false)
  %bit = zext i1 %live to i8
  %place = and i64 %n, 7
  %shift = trunc i64 %place to i8
  %moved = shl i8 %bit, %shift
  %with = or i8 %byte, %moved
  %index = lshr i64 %n, 3
  %at = getelementptr i8, ptr %data, i64 %index
  store i8 %with, ptr %at
  %full = icmp eq i8 %shift, 7
  %kept = select i1 %full, i8 0, i8 %with
  br label %after
after:
  %next = add i64 %n, 1
  br label %each
done:
  ret ptr %made
error:
  ret ptr null
}}

; tensors() -> list of the tensors that are to be handed out, in the order of their numbers.
define ptr @tape_tensors(ptr %tape, ptr %unused) nounwind {{
entry:
  %made = call ptr @PyList_New(i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %each
each:
  %n = phi i64 [ 0, %entry ], [ %next, %one ], [ %next, %add ]
{get("count", "%tape", Tape.COUNT, "i64")}
  %end = icmp uge i64 %n, %count
  br i1 %end, label %done, label %one
one:
  %next = add i64 %n, 1
  %live = call i1 @is_live(ptr %tape, i64 %n, i1 true)
  br i1 %live, label %add, label %each
add:
  %tensor = call ptr @tensor_at(ptr %tape, i64 %n)
  %status = call i32 @PyList_Append(ptr %made, ptr %tensor)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %each, label %drop
done:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  br label %error
error:
  ret ptr null
}}
"""

def _entry(name: str, table: int) -> str:
    return f"""
; What stands in a table at a number, or None.
define ptr @tape_{name}(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
{get("count", "%tape", Tape.COUNT, "i64")}
  %n = call i64 @index_of(ptr %tape, ptr %args, i64 %nargs, i64 %count)
  %failed = icmp slt i64 %n, 0
  br i1 %failed, label %error, label %load
load:
{get("table", "%tape", table)}
  %at = getelementptr ptr, ptr %table, i64 %n
  %found = load ptr, ptr %at
  %null = icmp eq ptr %found, null
  %given = select i1 %null, ptr @_Py_NoneStruct, ptr %found
  call void @Py_IncRef(ptr %given)
  ret ptr %given
error:
  ret ptr null
}}
"""


_PICKING = f"""
; pick(numbers) -> list of what stands at the numbers of a tuple, None where there is nothing
define ptr @tape_pick(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
  %given = icmp eq i64 %nargs, 1
  br i1 %given, label %kind, label %wrong
kind:
  %numbers = load ptr, ptr %args
{get("type", "%numbers", TYPE)}
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %start, label %wrong
start:
{get("size", "%numbers", SIZE, "i64")}
  %first = getelementptr i8, ptr %numbers, i64 {TUPLE_ITEMS}
  %made = call ptr @PyList_New(i64 %size)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %each
each:
  %k = phi i64 [ 0, %start ], [ %next, %set ]
  %end = icmp eq i64 %k, %size
  br i1 %end, label %done, label %one
one:
  %next = add i64 %k, 1
{get("count", "%tape", Tape.COUNT, "i64")}
  %number_at = getelementptr ptr, ptr %first, i64 %k
  %n = call i64 @index_of(ptr %tape, ptr %number_at, i64 1, i64 %count)
  %none = icmp slt i64 %n, 0
  br i1 %none, label %drop, label %load
load:
{get("values", "%tape", Tape.VALUES)}
  %value_at = getelementptr ptr, ptr %values, i64 %n
  %value = load ptr, ptr %value_at
  %null = icmp eq ptr %value, null
  %item = select i1 %null, ptr @_Py_NoneStruct, ptr %value
  call void @Py_IncRef(ptr %item)
  br label %set
set:
  %status = call i32 @PyList_SetItem(ptr %made, i64 %k, ptr %item)
  br label %each
done:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  br label %error
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @pick_wrong)
  br label %error
error:
  ret ptr null
}}
"""

_WRITING = f"""
; put(n, object or None, cell or None): what stands at a number, behind all others or in place of another.
define ptr @tape_put(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
  %three = icmp eq i64 %nargs, 3
  br i1 %three, label %number, label %wrong
number:
  %n = call i64 @index_of(ptr %tape, ptr %args, i64 %nargs, i64 {1 << 40})
  %failed = icmp slt i64 %n, 0
  br i1 %failed, label %error, label %objects
objects:
  %value_at = getelementptr ptr, ptr %args, i64 1
  %value = load ptr, ptr %value_at
  %cell_at = getelementptr ptr, ptr %args, i64 2
  %cell = load ptr, ptr %cell_at
  %no_value = icmp eq ptr %value, @_Py_NoneStruct
  %no_cell = icmp eq ptr %cell, @_Py_NoneStruct
  br i1 %no_cell, label %room, label %kind
kind:
{get("type", "%cell", TYPE)}
  %base = load ptr, ptr @cell_base
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %base)
  %fits = icmp ne i32 %is, 0
  br i1 %fits, label %room, label %wrong
room:
  %end = add i64 %n, 1
  %enough = call i1 @reserve(ptr %tape, i64 %end)
  br i1 %enough, label %store, label %memory
store:
{get("count", "%tape", Tape.COUNT, "i64")}
  %after = call i64 @llvm.umax.i64(i64 %count, i64 %end)
  store i64 %after, ptr %count.at
  %kept = select i1 %no_value, ptr null, ptr %value
  %kept_cell = select i1 %no_cell, ptr null, ptr %cell
  call void @keep(ptr %tape, i64 %n, ptr %kept, ptr %kept_cell)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
memory:
  %no_memory = call ptr @PyErr_NoMemory()
  br label %error
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @put_wrong)
  br label %error
error:
  ret ptr null
}}

; still() -> the mode: from now on no gradients are kept.
define ptr @tape_still(ptr %tape, ptr %unused) nounwind {{
entry:
{get("mode", "%tape", Tape.MODE, "i64")}
  %without = and i64 %mode, {~ENABLED}
  store i64 %without, ptr %mode.at
  %made = call ptr @PyLong_FromLongLong(i64 %mode)
  ret ptr %made
}}

; restart(serial, state): an empty trace.
define ptr @tape_restart(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %number, label %wrong
number:
  %serial = call i64 @index_of(ptr %tape, ptr %args, i64 %nargs, i64 {(1 << 63) - 1})
  %failed = icmp slt i64 %serial, 0
  br i1 %failed, label %error, label %go
go:
  %state_at = getelementptr ptr, ptr %args, i64 1
  %state = load ptr, ptr %state_at
  call void @restart(ptr %tape, i64 %serial, ptr %state)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
wrong:
  %type_error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %type_error, ptr @restart_wrong)
  br label %error
error:
  ret ptr null
}}
"""

TEXT = _READING + _PICKING + _WRITING + _entry("value", Tape.VALUES) + _entry("cell", Tape.CELLS)

STRINGS = {
    "number_missing": "there is no value of that number",
    "pick_wrong": "pick(tuple of numbers) expected",
    "put_wrong": "put(number, object or None, Cell or None) expected",
    "restart_wrong": "restart(serial, state) expected",
}
