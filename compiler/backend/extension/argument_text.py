"""LLVM text of what all functions of an extension module do with arguments, save arrays: walk, convert, refuse.

A reader of an argument gets the object, a text that says where it stands and one that says what is expected; it raises
and returns false where that is not what came.
"""

from __future__ import annotations

from ..python_abi import TYPE

VIEW_SIZE = 80  # of a Py_buffer
VIEW_OBJECT = 8  # the place of the object it belongs to

TEXT = f"""
define internal i1 @.is_a(ptr %object, ptr %type) nounwind {{
entry:
  %place = getelementptr i8, ptr %object, i64 {TYPE}
  %its = load ptr, ptr %place
  %same = icmp eq ptr %its, %type
  br i1 %same, label %yes, label %look
look:
  %derived = call i32 @PyType_IsSubtype(ptr %its, ptr %type)
  %is = icmp ne i32 %derived, 0
  ret i1 %is
yes:
  ret i1 true
}}

; TypeError: an object of another type; what was raised before is forgotten.
define internal void @.refuse(ptr %object, ptr %at, ptr %expected) nounwind noinline {{
entry:
  call void @PyErr_Clear()
  %place = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load ptr, ptr %place
  %name = call ptr @PyType_GetName(ptr %type)
  %failed = icmp eq ptr %name, null
  br i1 %failed, label %leave, label %say
say:
  %kind = load ptr, ptr @PyExc_TypeError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @.wrong_type, ptr %at, ptr %name, ptr %expected)
  call void @Py_DecRef(ptr %name)
  ret void
leave:
  ret void
}}

; What a conversion to a number raised, in our words: another type, or too large.
define internal void @.refuse_number(ptr %object, ptr %at, ptr %expected) nounwind noinline {{
entry:
  %overflow = load ptr, ptr @PyExc_OverflowError
  %large = call i32 @PyErr_ExceptionMatches(ptr %overflow)
  %is_large = icmp ne i32 %large, 0
  br i1 %is_large, label %say, label %look
say:
  call void @PyErr_Clear()
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %overflow, ptr @.too_large, ptr %at, ptr %expected)
  ret void
look:
  %type = load ptr, ptr @PyExc_TypeError
  %other = call i32 @PyErr_ExceptionMatches(ptr %type)
  %is_other = icmp ne i32 %other, 0
  br i1 %is_other, label %refuse, label %leave
refuse:
  call void @.refuse(ptr %object, ptr %at, ptr %expected)
  ret void
leave:
  ret void
}}

define internal i1 @.read_float(ptr %object, ptr %slot, ptr %at, ptr %expected) nounwind {{
entry:
  %number = call double @PyFloat_AsDouble(ptr %object)
  store double %number, ptr %slot
  %suspect = fcmp oeq double %number, -1.0
  br i1 %suspect, label %look, label %read
look:
  %error = call ptr @PyErr_Occurred()
  %none = icmp eq ptr %error, null
  br i1 %none, label %read, label %wrong
wrong:
  call void @.refuse_number(ptr %object, ptr %at, ptr %expected)
  ret i1 false
read:
  ret i1 true
}}

define internal i1 @.read_int(ptr %object, ptr %slot, ptr %at, ptr %expected, i64 %low, i64 %high) nounwind {{
entry:
  %number = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %number, ptr %slot
  %suspect = icmp eq i64 %number, -1
  br i1 %suspect, label %look, label %range
look:
  %error = call ptr @PyErr_Occurred()
  %none = icmp eq ptr %error, null
  br i1 %none, label %range, label %wrong
wrong:
  call void @.refuse_number(ptr %object, ptr %at, ptr %expected)
  ret i1 false
range:
  %above = icmp sge i64 %number, %low
  %below = icmp sle i64 %number, %high
  %fits = and i1 %above, %below
  br i1 %fits, label %read, label %large
large:
  %overflow = load ptr, ptr @PyExc_OverflowError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %overflow, ptr @.too_large, ptr %at, ptr %expected)
  ret i1 false
read:
  ret i1 true
}}

; An argument that was fixed when the module was built: the same type and value, for None, bools, ints and strings.
define internal i1 @.read_fixed(ptr %object, ptr %value, ptr %at, ptr %expected) nounwind {{
entry:
  %same = icmp eq ptr %object, %value
  br i1 %same, label %yes, label %types
types:
  %place = getelementptr i8, ptr %object, i64 {TYPE}
  %its = load ptr, ptr %place
  %wanted_place = getelementptr i8, ptr %value, i64 {TYPE}
  %wanted = load ptr, ptr %wanted_place
  %alike = icmp eq ptr %its, %wanted
  br i1 %alike, label %compare, label %no
compare:
  %equal = call i32 @PyObject_RichCompareBool(ptr %object, ptr %value, i32 2)
  %is_equal = icmp eq i32 %equal, 1
  br i1 %is_equal, label %yes, label %no
no:
  %kind = load ptr, ptr @PyExc_ValueError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @.wrong_value, ptr %at, ptr %object, ptr %expected)
  ret i1 false
yes:
  ret i1 true
}}

; A container of this type with this many items.
define internal i1 @.read_container(ptr %object, ptr %type, i64 %count, ptr %at, ptr %expected) nounwind {{
entry:
  %right = call i1 @.is_a(ptr %object, ptr %type)
  br i1 %right, label %kinds, label %wrong
wrong:
  call void @.refuse(ptr %object, ptr %at, ptr %expected)
  ret i1 false
kinds:
  %is_dict = icmp eq ptr %type, @PyDict_Type
  br i1 %is_dict, label %dict, label %row
row:
  %is_list = icmp eq ptr %type, @PyList_Type
  br i1 %is_list, label %list, label %tuple
dict:
  %keys = call i64 @PyDict_Size(ptr %object)
  br label %counted
list:
  %items = call i64 @PyList_Size(ptr %object)
  br label %counted
tuple:
  %places = call i64 @PyTuple_Size(ptr %object)
  br label %counted
counted:
  %its = phi i64 [ %keys, %dict ], [ %items, %list ], [ %places, %tuple ]
  %message = phi ptr [ @.wrong_keys, %dict ], [ @.wrong_length, %list ], [ @.wrong_length, %tuple ]
  %fits = icmp eq i64 %its, %count
  br i1 %fits, label %yes, label %no
no:
  %kind = load ptr, ptr @PyExc_ValueError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr %message, ptr %at, i64 %its, ptr %expected)
  ret i1 false
yes:
  ret i1 true
}}

; The value of a key, as a reference of our own.
define internal ptr @.dict_item(ptr %dict, ptr %key, ptr %at, ptr %expected) nounwind {{
entry:
  %value = call ptr @PyDict_GetItemWithError(ptr %dict, ptr %key)
  %found = icmp ne ptr %value, null
  br i1 %found, label %take, label %look
take:
  call void @Py_IncRef(ptr %value)
  ret ptr %value
look:
  %error = call ptr @PyErr_Occurred()
  %absent = icmp eq ptr %error, null
  br i1 %absent, label %say, label %leave
say:
  %kind = load ptr, ptr @PyExc_ValueError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @.missing_key, ptr %at, ptr %key, ptr %expected)
  br label %leave
leave:
  ret ptr null
}}

; An item of a list or tuple, as a reference of our own.
define internal ptr @.row_item(ptr %row, ptr %type, i64 %index) nounwind {{
entry:
  %is_list = icmp eq ptr %type, @PyList_Type
  br i1 %is_list, label %list, label %tuple
list:
  %item = call ptr @PyList_GetItem(ptr %row, i64 %index)
  br label %have
tuple:
  %place = call ptr @PyTuple_GetItem(ptr %row, i64 %index)
  br label %have
have:
  %value = phi ptr [ %item, %list ], [ %place, %tuple ]
  call void @Py_IncRef(ptr %value)
  ret ptr %value
}}

; The end of a call: give back buffers and references.
define internal void @.give_back(ptr %views, i64 %buffers, ptr %held, i64 %depth) nounwind {{
entry:
  br label %next
next:
  %left = phi i64 [ %buffers, %entry ], [ %lower, %released ]
  %no_buffers = icmp eq i64 %left, 0
  br i1 %no_buffers, label %drop, label %release
release:
  %lower = sub i64 %left, 1
  %view = getelementptr [{VIEW_SIZE} x i8], ptr %views, i64 %lower
  %owner_place = getelementptr i8, ptr %view, i64 {VIEW_OBJECT}
  %owner = load ptr, ptr %owner_place
  %unused = icmp eq ptr %owner, null
  br i1 %unused, label %released, label %used
used:
  call void @PyBuffer_Release(ptr %view)
  br label %released
released:
  br label %next
drop:
  %above = phi i64 [ %depth, %next ], [ %below, %dropped ]
  %none = icmp eq i64 %above, 0
  br i1 %none, label %leave, label %dropped
dropped:
  %below = sub i64 %above, 1
  %place = getelementptr ptr, ptr %held, i64 %below
  %reference = load ptr, ptr %place
  call void @Py_DecRef(ptr %reference)
  br label %drop
leave:
  ret void
}}
"""
