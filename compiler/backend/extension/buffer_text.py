"""LLVM text of how extension modules read arrays: buffers of any object, and NumPy's arrays by a shorter way.

A buffer must have the format and shape of the `%Array` that is expected. If it is strided or unaligned, a copy takes
its place, so that what follows has one buffer to give back in either case.
"""

from __future__ import annotations

from ..python_abi import ALIGNED, ARRAY_DATA, ARRAY_DTYPE, ARRAY_FLAGS, ARRAY_RANK, ARRAY_SHAPE, C_CONTIGUOUS, TYPE
from .argument_text import VIEW_SIZE

VIEW_LENGTH, VIEW_ITEM, VIEW_RANK, VIEW_FORMAT, VIEW_SHAPE = 16, 24, 36, 40, 48  # fields of a Py_buffer
CONTIGUOUS, ANY_LAYOUT = 0x3C, 0x11C  # PyBUF_FORMAT with PyBUF_C_CONTIGUOUS or PyBUF_INDIRECT

TEXT = f"""
; The elements of a NumPy array of the right type, dtype, shape and layout; null for all else.
define internal ptr @.numpy_data(ptr %object, ptr %array, ptr %numpy) nounwind {{
entry:
  %type_place = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load ptr, ptr %type_place
  %wanted_type_place = getelementptr %Numpy, ptr %numpy, i32 0, i32 1
  %wanted = load ptr, ptr %wanted_type_place
  %is_array = icmp eq ptr %type, %wanted
  br i1 %is_array, label %header, label %other
header:
  %index_place = getelementptr %Array, ptr %array, i32 0, i32 6
  %index = load i32, ptr %index_place
  %wanted_dtype_place = getelementptr %Numpy, ptr %numpy, i32 0, i32 3, i32 %index
  %wanted_dtype = load ptr, ptr %wanted_dtype_place
  %dtype_place = getelementptr i8, ptr %object, i64 {ARRAY_DTYPE}
  %dtype = load ptr, ptr %dtype_place
  %same_dtype = icmp eq ptr %dtype, %wanted_dtype
  %wanted_rank_place = getelementptr %Array, ptr %array, i32 0, i32 5
  %wanted_rank = load i32, ptr %wanted_rank_place
  %rank_place = getelementptr i8, ptr %object, i64 {ARRAY_RANK}
  %rank = load i32, ptr %rank_place
  %same_rank = icmp eq i32 %rank, %wanted_rank
  %flags_place = getelementptr i8, ptr %object, i64 {ARRAY_FLAGS}
  %flags = load i32, ptr %flags_place
  %layout = and i32 %flags, {C_CONTIGUOUS | ALIGNED}
  %plain = icmp eq i32 %layout, {C_CONTIGUOUS | ALIGNED}
  %two = and i1 %same_dtype, %same_rank
  %all = and i1 %two, %plain
  br i1 %all, label %sizes, label %other
sizes:
  %shape_place = getelementptr i8, ptr %object, i64 {ARRAY_SHAPE}
  %shape = load ptr, ptr %shape_place
  %same = call i1 @.same_shape(ptr %shape, ptr %array)
  br i1 %same, label %read, label %other
read:
  %data_place = getelementptr i8, ptr %object, i64 {ARRAY_DATA}
  %data = load ptr, ptr %data_place
  ret ptr %data
other:
  ret ptr null
}}

define internal i1 @.same_shape(ptr %shape, ptr %array) nounwind {{
entry:
  %wanted_place = getelementptr %Array, ptr %array, i32 0, i32 2
  %wanted = load ptr, ptr %wanted_place
  %rank_place = getelementptr %Array, ptr %array, i32 0, i32 5
  %rank = load i32, ptr %rank_place
  br label %next
next:
  %axis = phi i32 [ 0, %entry ], [ %axis_next, %compare ]
  %end = icmp eq i32 %axis, %rank
  br i1 %end, label %yes, label %compare
compare:
  %size_place = getelementptr i64, ptr %shape, i32 %axis
  %size = load i64, ptr %size_place
  %wanted_size_place = getelementptr i64, ptr %wanted, i32 %axis
  %wanted_size = load i64, ptr %wanted_size_place
  %same = icmp eq i64 %size, %wanted_size
  %axis_next = add i32 %axis, 1
  br i1 %same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; Whether a buffer's format and item size are those of an array: one letter, after an @, = or < if there is one.
define internal i1 @.same_format(ptr %view, ptr %array) nounwind {{
entry:
  %item_place = getelementptr i8, ptr %view, i64 {VIEW_ITEM}
  %item = load i64, ptr %item_place
  %size_place = getelementptr %Array, ptr %array, i32 0, i32 7
  %size = load i32, ptr %size_place
  %wide_size = sext i32 %size to i64
  %same_size = icmp eq i64 %item, %wide_size
  %format_place = getelementptr i8, ptr %view, i64 {VIEW_FORMAT}
  %format = load ptr, ptr %format_place
  %given = icmp ne ptr %format, null
  %possible = and i1 %same_size, %given
  br i1 %possible, label %prefix, label %no
prefix:
  %head = load i8, ptr %format
  %at = icmp eq i8 %head, {ord("@")}
  %equals = icmp eq i8 %head, {ord("=")}
  %less = icmp eq i8 %head, {ord("<")}
  %one = or i1 %at, %equals
  %any = or i1 %one, %less
  %skip = zext i1 %any to i64
  %letter_place = getelementptr i8, ptr %format, i64 %skip
  %letter = load i8, ptr %letter_place
  %first_place = getelementptr %Array, ptr %array, i32 0, i32 9
  %first = load i8, ptr %first_place
  %second_place = getelementptr %Array, ptr %array, i32 0, i32 10
  %second = load i8, ptr %second_place
  %is_first = icmp eq i8 %letter, %first
  %is_second = icmp eq i8 %letter, %second
  %is_either = or i1 %is_first, %is_second
  br i1 %is_either, label %end, label %no
end:
  %after_place = getelementptr i8, ptr %letter_place, i64 1
  %after = load i8, ptr %after_place
  %ends = icmp eq i8 %after, 0
  ret i1 %ends
no:
  ret i1 false
}}

; Whether a buffer has an array's format and shape; if not, an exception says so.
define internal i1 @.check_view(ptr %view, ptr %array) nounwind {{
entry:
  %at = load ptr, ptr %array
  %expected_place = getelementptr %Array, ptr %array, i32 0, i32 1
  %expected = load ptr, ptr %expected_place
  %same_format = call i1 @.same_format(ptr %view, ptr %array)
  br i1 %same_format, label %sizes, label %wrong_format
wrong_format:
  %type_error = load ptr, ptr @PyExc_TypeError
  %format_place = getelementptr i8, ptr %view, i64 {VIEW_FORMAT}
  %its_format = load ptr, ptr %format_place
  %bare = icmp eq ptr %its_format, null
  %format = select i1 %bare, ptr @.bytes_format, ptr %its_format
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %type_error, ptr @.wrong_format, ptr %at, ptr %format, ptr %expected)
  ret i1 false
sizes:
  %rank_place = getelementptr i8, ptr %view, i64 {VIEW_RANK}
  %rank = load i32, ptr %rank_place
  %shape_place = getelementptr i8, ptr %view, i64 {VIEW_SHAPE}
  %shape = load ptr, ptr %shape_place
  %wanted_place = getelementptr %Array, ptr %array, i32 0, i32 5
  %wanted = load i32, ptr %wanted_place
  %same_rank = icmp eq i32 %rank, %wanted
  br i1 %same_rank, label %compare, label %wrong_shape
compare:
  %same = call i1 @.same_shape(ptr %shape, ptr %array)
  br i1 %same, label %yes, label %wrong_shape
wrong_shape:
  %sizes_given = call ptr @.shape_tuple(ptr %shape, i32 %rank)
  %no_sizes = icmp eq ptr %sizes_given, null
  br i1 %no_sizes, label %no, label %say
say:
  %value_error = load ptr, ptr @PyExc_ValueError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %value_error, ptr @.wrong_shape, ptr %at, ptr %sizes_given, ptr %expected)
  call void @Py_DecRef(ptr %sizes_given)
  ret i1 false
no:
  ret i1 false
yes:
  ret i1 true
}}

@.bytes_format = private constant [2 x i8] c"B\\00"

; The sizes of an argument that has an array's rank; zeros for all else, which `read_array` refuses.
define internal void @.look_at_shape(ptr %object, ptr %sizes, ptr %array, ptr %numpy) nounwind {{
entry:
  %view = alloca [{VIEW_SIZE} x i8], align 16
  %rank_place = getelementptr %Array, ptr %array, i32 0, i32 5
  %rank = load i32, ptr %rank_place
  %count = sext i32 %rank to i64
  %type_place = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load ptr, ptr %type_place
  %wanted_place = getelementptr %Numpy, ptr %numpy, i32 0, i32 1
  %wanted = load ptr, ptr %wanted_place
  %is_array = icmp eq ptr %type, %wanted
  br i1 %is_array, label %numpy_array, label %other
numpy_array:
  %numpy_rank_place = getelementptr i8, ptr %object, i64 {ARRAY_RANK}
  %numpy_rank = load i32, ptr %numpy_rank_place
  %numpy_shape_place = getelementptr i8, ptr %object, i64 {ARRAY_SHAPE}
  %numpy_shape = load ptr, ptr %numpy_shape_place
  %fits = icmp eq i32 %numpy_rank, %rank
  br i1 %fits, label %next, label %none
other:
  %status = call i32 @PyObject_GetBuffer(ptr %object, ptr %view, i32 {ANY_LAYOUT})
  %got = icmp eq i32 %status, 0
  br i1 %got, label %buffer, label %no_buffer
no_buffer:
  call void @PyErr_Clear()
  br label %none
buffer:
  %view_rank_place = getelementptr i8, ptr %view, i64 {VIEW_RANK}
  %view_rank = load i32, ptr %view_rank_place
  %view_shape_place = getelementptr i8, ptr %view, i64 {VIEW_SHAPE}
  %view_shape = load ptr, ptr %view_shape_place
  %view_fits = icmp eq i32 %view_rank, %rank
  br i1 %view_fits, label %next, label %release_none
next:
  %shape = phi ptr [ %numpy_shape, %numpy_array ], [ %view_shape, %buffer ], [ %shape, %copy ]
  %axis = phi i64 [ 0, %numpy_array ], [ 0, %buffer ], [ %after, %copy ]
  %end = icmp eq i64 %axis, %count
  br i1 %end, label %release, label %copy
copy:
  %from = getelementptr i64, ptr %shape, i64 %axis
  %size = load i64, ptr %from
  %into = getelementptr i64, ptr %sizes, i64 %axis
  store i64 %size, ptr %into
  %after = add i64 %axis, 1
  br label %next
release:
  br i1 %is_array, label %done, label %give
give:
  call void @PyBuffer_Release(ptr %view)
  br label %done
release_none:
  call void @PyBuffer_Release(ptr %view)
  br label %none
none:
  %zero = phi i64 [ 0, %no_buffer ], [ 0, %numpy_array ], [ 0, %release_none ], [ %zero_after, %clear ]
  %zero_end = icmp eq i64 %zero, %count
  br i1 %zero_end, label %done, label %clear
clear:
  %at = getelementptr i64, ptr %sizes, i64 %zero
  store i64 0, ptr %at
  %zero_after = add i64 %zero, 1
  br label %none
done:
  ret void
}}

; The elements of an argument; null, with an exception, if it is no such array.
define internal ptr @.read_array(ptr %object, ptr %view, ptr %array, ptr %numpy) nounwind {{
entry:
  %quick = call ptr @.numpy_data(ptr %object, ptr %array, ptr %numpy)
  %is_quick = icmp ne ptr %quick, null
  br i1 %is_quick, label %done, label %buffer
done:
  ret ptr %quick
buffer:
  %status = call i32 @PyObject_GetBuffer(ptr %object, ptr %view, i32 {CONTIGUOUS})
  %got = icmp eq i32 %status, 0
  br i1 %got, label %check, label %strided
strided:
  call void @PyErr_Clear()
  %any_status = call i32 @PyObject_GetBuffer(ptr %object, ptr %view, i32 {ANY_LAYOUT})
  %got_any = icmp eq i32 %any_status, 0
  br i1 %got_any, label %check, label %wrong
wrong:
  %at = load ptr, ptr %array
  %expected_place = getelementptr %Array, ptr %array, i32 0, i32 1
  %expected = load ptr, ptr %expected_place
  call void @.refuse(ptr %object, ptr %at, ptr %expected)
  br label %nothing
check:
  %copied = phi i1 [ false, %buffer ], [ true, %strided ]
  %fits = call i1 @.check_view(ptr %view, ptr %array)
  br i1 %fits, label %place, label %nothing
place:
  %data = load ptr, ptr %view
  %address = ptrtoint ptr %data to i64
  %size_place = getelementptr %Array, ptr %array, i32 0, i32 7
  %size = load i32, ptr %size_place
  %wide_size = sext i32 %size to i64
  %mask = sub i64 %wide_size, 1
  %rest = and i64 %address, %mask
  %unaligned = icmp ne i64 %rest, 0
  %copy = or i1 %unaligned, %copied
  call void @.notice_numpy(ptr %numpy)
  br i1 %copy, label %contiguous, label %plain
plain:
  %is_nowhere = icmp eq ptr %data, null ; an empty buffer may be
  %somewhere = select i1 %is_nowhere, ptr @.falsehood, ptr %data
  ret ptr %somewhere
contiguous:
  %moved = call ptr @.copy_view(ptr %view)
  ret ptr %moved
nothing:
  ret ptr null
}}

; Put a C-contiguous, aligned copy in the place of a buffer.
define internal ptr @.copy_view(ptr %view) nounwind noinline {{
entry:
  %length_place = getelementptr i8, ptr %view, i64 {VIEW_LENGTH}
  %length = load i64, ptr %length_place
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr null, i64 %length)
  %no_bytes = icmp eq ptr %bytes, null
  br i1 %no_bytes, label %failed, label %fill
fill:
  %into = call ptr @PyBytes_AsString(ptr %bytes)
  %status = call i32 @PyBuffer_ToContiguous(ptr %into, ptr %view, i64 %length, i8 {ord("C")})
  %copied = icmp eq i32 %status, 0
  br i1 %copied, label %exchange, label %drop
exchange:
  call void @PyBuffer_Release(ptr %view)
  %held = call i32 @PyObject_GetBuffer(ptr %bytes, ptr %view, i32 0)
  call void @Py_DecRef(ptr %bytes)
  %is_held = icmp eq i32 %held, 0
  br i1 %is_held, label %done, label %failed
done:
  ret ptr %into
drop:
  call void @Py_DecRef(ptr %bytes)
  br label %failed
failed:
  ret ptr null
}}

; A truth value: one of Python's, or an array without axes.
define internal ptr @.read_bool(ptr %object, ptr %view, ptr %array, ptr %numpy) nounwind {{
entry:
  %is_true = icmp eq ptr %object, @_Py_TrueStruct
  br i1 %is_true, label %yes, label %look
look:
  %is_false = icmp eq ptr %object, @_Py_FalseStruct
  br i1 %is_false, label %no, label %other
yes:
  ret ptr @.truth
no:
  ret ptr @.falsehood
other:
  %data = call ptr @.read_array(ptr %object, ptr %view, ptr %array, ptr %numpy)
  ret ptr %data
}}

@.truth = private constant i8 1
@.falsehood = private constant i8 0
"""
