"""LLVM text of how extension modules make arrays: of NumPy where it can be imported, else as memoryviews.

NumPy's arrays are made through its own table of functions, whose order and structures it keeps from 1.x on.

    %Array = at, expected, shape, format, bytes, rank, dtype, size, NumPy's number, two letters of formats
    %Numpy = 0 not looked for, 1 found, 2 absent; the type of arrays, the function that makes one, the dtypes

A `%Numpy` is at the head of the state that each instance of a module has: interpreters in one process share nothing.
"""

from __future__ import annotations

from ..python_abi import ARRAY_DATA

DTYPES = ("bool", "i32", "i64", "f32", "f64")
NUMPY_NUMBERS = (0, 5, 7, 11, 12)
FORMATS = ("??", "il", "ql", "ff", "dd")  # letters of a dtype in the notation of struct; the first is ours
SIZES = (1, 4, 8, 4, 8)
NUMPY_STATE = 8 * (3 + len(DTYPES))  # bytes of a %Numpy
TABLE_TYPE, TABLE_DTYPE, TABLE_NEW = 2 * 8, 45 * 8, 93 * 8

TYPES = f"""
%Array = type {{ ptr, ptr, ptr, ptr, i64, i32, i32, i32, i32, i8, i8 }}
%Numpy = type {{ i32, ptr, ptr, [{len(DTYPES)} x ptr] }}
@.numpy_numbers = private constant [{len(DTYPES)} x i32] [{", ".join(f"i32 {n}" for n in NUMPY_NUMBERS)}]
"""

TEXT = f"""

; The tuple of so many sizes.
define internal ptr @.shape_tuple(ptr %shape, i32 %rank) nounwind noinline {{
entry:
  %count = sext i32 %rank to i64
  %tuple = call ptr @PyTuple_New(i64 %count)
  %failed = icmp eq ptr %tuple, null
  br i1 %failed, label %leave, label %next
next:
  %axis = phi i64 [ 0, %entry ], [ %axis_next, %made ]
  %end = icmp eq i64 %axis, %count
  br i1 %end, label %leave, label %fill
fill:
  %place = getelementptr i64, ptr %shape, i64 %axis
  %size = load i64, ptr %place
  %item = call ptr @PyLong_FromLongLong(i64 %size)
  %no_item = icmp eq ptr %item, null
  br i1 %no_item, label %drop, label %made
made:
  %status = call i32 @PyTuple_SetItem(ptr %tuple, i64 %axis, ptr %item)
  %axis_next = add i64 %axis, 1
  br label %next
drop:
  call void @Py_DecRef(ptr %tuple)
  br label %leave
leave:
  %result = phi ptr [ null, %entry ], [ %tuple, %next ], [ null, %drop ]
  ret ptr %result
}}

; Fill the table of NumPy's functions from an imported module; whether it is a version that is known.
define internal i1 @.numpy_table(ptr %module, ptr %numpy) nounwind {{
entry:
  %capsule = call ptr @PyObject_GetAttrString(ptr %module, ptr @.table_name)
  %no_capsule = icmp eq ptr %capsule, null
  br i1 %no_capsule, label %unknown, label %open
open:
  %table = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @Py_DecRef(ptr %capsule)
  %no_table = icmp eq ptr %table, null
  br i1 %no_table, label %unknown, label %ask
ask:
  %version_function = load ptr, ptr %table
  %version = call i32 %version_function()
  %major = lshr i32 %version, 24
  %minus = sub i32 %major, 1
  %known = icmp ult i32 %minus, 2
  br i1 %known, label %take, label %unknown
take:
  %type_place = getelementptr i8, ptr %table, i64 {TABLE_TYPE}
  %type = load ptr, ptr %type_place
  %new_place = getelementptr i8, ptr %table, i64 {TABLE_NEW}
  %new = load ptr, ptr %new_place
  %dtype_place = getelementptr i8, ptr %table, i64 {TABLE_DTYPE}
  %dtype_function = load ptr, ptr %dtype_place
  br label %next
next:
  %index = phi i64 [ 0, %take ], [ %index_next, %dtype ]
  %end = icmp eq i64 %index, {len(DTYPES)}
  br i1 %end, label %ready, label %dtype
dtype:
  %number_place = getelementptr i32, ptr @.numpy_numbers, i64 %index
  %number = load i32, ptr %number_place
  %made = call ptr %dtype_function(i32 %number)
  %into = getelementptr %Numpy, ptr %numpy, i32 0, i32 3, i64 %index
  store ptr %made, ptr %into
  %index_next = add i64 %index, 1
  br label %next
ready:
  %its_new = getelementptr %Numpy, ptr %numpy, i32 0, i32 2
  store ptr %new, ptr %its_new
  %its_type = getelementptr %Numpy, ptr %numpy, i32 0, i32 1
  store ptr %type, ptr %its_type
  store i32 1, ptr %numpy
  ret i1 true
unknown:
  call void @PyErr_Clear()
  ret i1 false
}}

; Import NumPy, once; false if something other than its absence was raised.
define internal i1 @.find_numpy(ptr %numpy) nounwind noinline {{
entry:
  %module = call ptr @PyImport_ImportModule(ptr @.new_numpy)
  %found = icmp ne ptr %module, null
  br i1 %found, label %open, label %why
why:
  %import_error = load ptr, ptr @PyExc_ImportError
  %absent = call i32 @PyErr_ExceptionMatches(ptr %import_error)
  %is_absent = icmp ne i32 %absent, 0
  br i1 %is_absent, label %older, label %other
older:
  call void @PyErr_Clear()
  %old = call ptr @PyImport_ImportModule(ptr @.old_numpy)
  %old_found = icmp ne ptr %old, null
  br i1 %old_found, label %open, label %old_why
old_why:
  %old_absent = call i32 @PyErr_ExceptionMatches(ptr %import_error)
  %is_old_absent = icmp ne i32 %old_absent, 0
  br i1 %is_old_absent, label %none, label %other
open:
  %taken = phi ptr [ %module, %entry ], [ %old, %older ]
  %known = call i1 @.numpy_table(ptr %taken, ptr %numpy)
  call void @Py_DecRef(ptr %taken)
  br i1 %known, label %leave, label %none
none:
  call void @PyErr_Clear()
  store i32 2, ptr %numpy
  br label %leave
leave:
  ret i1 true
other:
  ret i1 false
}}

; If someone has imported NumPy, its arrays can be read the short way from now on.
define internal void @.notice_numpy(ptr %numpy) nounwind {{
entry:
  %state = load i32, ptr %numpy
  %unknown = icmp eq i32 %state, 0
  br i1 %unknown, label %look, label %leave
look:
  %modules = call ptr @PyImport_GetModuleDict()
  %module = call ptr @PyDict_GetItemString(ptr %modules, ptr @.new_numpy)
  %is_there = icmp ne ptr %module, null
  br i1 %is_there, label %open, label %leave
open:
  %known = call i1 @.numpy_table(ptr %module, ptr %numpy)
  br label %leave
leave:
  ret void
}}

; A fresh array, and where its elements are.
define internal ptr @.new_array(ptr %array, ptr %data, ptr %numpy) nounwind {{
entry:
  %shape_place = getelementptr %Array, ptr %array, i32 0, i32 2
  %shape = load ptr, ptr %shape_place
  %rank_place = getelementptr %Array, ptr %array, i32 0, i32 5
  %rank = load i32, ptr %rank_place
  %state = load i32, ptr %numpy
  %known = icmp eq i32 %state, 1
  br i1 %known, label %of_numpy, label %look
look:
  %unknown = icmp eq i32 %state, 0
  br i1 %unknown, label %find, label %plain
find:
  %well = call i1 @.find_numpy(ptr %numpy)
  br i1 %well, label %again, label %failed
again:
  %now = load i32, ptr %numpy
  %found = icmp eq i32 %now, 1
  br i1 %found, label %of_numpy, label %plain
of_numpy:
  %number_place = getelementptr %Array, ptr %array, i32 0, i32 8
  %number = load i32, ptr %number_place
  %type_place = getelementptr %Numpy, ptr %numpy, i32 0, i32 1
  %type = load ptr, ptr %type_place
  %new_place = getelementptr %Numpy, ptr %numpy, i32 0, i32 2
  %new = load ptr, ptr %new_place
  %made = call ptr %new(ptr %type, i32 %rank, ptr %shape, i32 %number, ptr null, ptr null, i32 0, i32 0, ptr null)
  %no_array = icmp eq ptr %made, null
  br i1 %no_array, label %failed, label %filled
filled:
  %place = getelementptr i8, ptr %made, i64 {ARRAY_DATA}
  %elements = load ptr, ptr %place
  store ptr %elements, ptr %data
  ret ptr %made
plain:
  %view = call ptr @.new_view(ptr %array, ptr %data)
  ret ptr %view
failed:
  ret ptr null
}}

; The same without NumPy: a memoryview of a bytearray, flat if it is empty (a cast knows no sizes of 0).
define internal ptr @.new_view(ptr %array, ptr %data) nounwind noinline {{
entry:
  %shape_place = getelementptr %Array, ptr %array, i32 0, i32 2
  %shape = load ptr, ptr %shape_place
  %format_place = getelementptr %Array, ptr %array, i32 0, i32 3
  %format = load ptr, ptr %format_place
  %bytes_place = getelementptr %Array, ptr %array, i32 0, i32 4
  %bytes = load i64, ptr %bytes_place
  %rank_place = getelementptr %Array, ptr %array, i32 0, i32 5
  %rank = load i32, ptr %rank_place
  %memory = call ptr @PyByteArray_FromStringAndSize(ptr null, i64 %bytes)
  %no_memory = icmp eq ptr %memory, null
  br i1 %no_memory, label %leave, label %look
look:
  %elements = call ptr @PyByteArray_AsString(ptr %memory)
  store ptr %elements, ptr %data
  %flat = call ptr @PyMemoryView_FromObject(ptr %memory)
  call void @Py_DecRef(ptr %memory)
  %no_flat = icmp eq ptr %flat, null
  br i1 %no_flat, label %leave, label %cast
cast:
  %empty = icmp eq i64 %bytes, 0
  br i1 %empty, label %row, label %shaped
row:
  %line = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %flat, ptr @.cast, ptr @.cast_flat, ptr %format)
  br label %ready
shaped:
  %sizes = call ptr @.shape_tuple(ptr %shape, i32 %rank)
  %no_sizes = icmp eq ptr %sizes, null
  br i1 %no_sizes, label %ready, label %call
call:
  %view = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %flat, ptr @.cast, ptr @.cast_shape, ptr %format,
                                                             ptr %sizes)
  call void @Py_DecRef(ptr %sizes)
  br label %ready
ready:
  %made = phi ptr [ %line, %row ], [ null, %shaped ], [ %view, %call ]
  call void @Py_DecRef(ptr %flat)
  br label %leave
leave:
  %result = phi ptr [ null, %entry ], [ null, %look ], [ %made, %ready ]
  ret ptr %result
}}
"""
