"""LLVM text that runs a known trace: its inputs are gathered, the kernel is called, its results are handed out.

A descriptor says where an input comes from (`layout.Source`), or what becomes of a result:

    tag = number of an input or -1, a = number of the value, b = address of its kind, c = address of a layout

The result may be made in the memory of the input with that number, if nobody refers to it any more.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import ARRAY_DATA, BYTES_DATA, SIZE
from ..layout import DESCRIPTOR, Tape
from ..snippets import get
from .results_text import REPORT

EXPORTED = ("tape_replay",)

TEXT = f"""
; replay(runner, kernel, long, sources, results) -> list of the tensors with late nodes that got a value, or
; NotImplemented if an input is not as it should be, or a list of numbers that say how the kernel failed, in a tuple
define ptr @tape_replay(ptr %tape, ptr %args, i64 %nargs) nounwind {{
entry:
  %made = call ptr @replay(ptr %tape, ptr %args, i64 %nargs, ptr null)
  ret ptr %made
}}

; The same; but those tensors get a record, if one is given, and what is returned is True.
define internal ptr @replay(ptr %tape, ptr %args, i64 %nargs, ptr %record) nounwind {{
entry:
  %report = alloca [{REPORT} x i64]
  %five = icmp eq i64 %nargs, 5
  br i1 %five, label %convert, label %wrong
convert:
  %runner_object = load ptr, ptr %args
{get("kernel_object", "%args", 8)}
{get("long_object", "%args", 16)}
{get("sources", "%args", 24)}
{get("results", "%args", 32)}
  %runner = call ptr @PyLong_AsVoidPtr(ptr %runner_object)
  %kernel = call ptr @PyLong_AsVoidPtr(ptr %kernel_object)
  %no_runner = icmp eq ptr %runner, null
  %no_kernel = icmp eq ptr %kernel, null
  %missing = or i1 %no_runner, %no_kernel
  %bytes_in = call i1 @is_bytes(ptr %sources)
  %bytes_out = call i1 @is_bytes(ptr %results)
  %bytes = and i1 %bytes_in, %bytes_out
  %present = xor i1 %missing, true
  %good = and i1 %bytes, %present
  br i1 %good, label %places, label %wrong
places:
  %is_long = icmp eq ptr %long_object, @_Py_TrueStruct
{get("size_in", "%sources", SIZE, "i64")}
{get("size_out", "%results", SIZE, "i64")}
  %ins = udiv i64 %size_in, {DESCRIPTOR}
  %outs = udiv i64 %size_out, {DESCRIPTOR}
  %all = add i64 %ins, %outs
  %words_in = getelementptr i8, ptr %sources, i64 {BYTES_DATA}
  %words_out = getelementptr i8, ptr %results, i64 {BYTES_DATA}
  %room = add i64 %all, %outs
  %held = alloca ptr, i64 %room
  %olds = getelementptr ptr, ptr %held, i64 %all
  %pointers = alloca ptr, i64 %all
  %spares = alloca ptr, i64 %outs
  %memory = alloca i64, i64 %ins
{get("serial", "%tape", Tape.SERIAL, "i64")}
{get("count", "%tape", Tape.COUNT, "i64")}
  %unnoted = icmp eq ptr %record, null
  br i1 %unnoted, label %list, label %empty
list:
  %new_list = call ptr @PyList_New(i64 0)
  %no_list = icmp eq ptr %new_list, null
  br i1 %no_list, label %error, label %empty
empty:
  %e = phi i64 [ 0, %places ], [ 0, %list ], [ %e_next, %empty_one ]
  %late = phi ptr [ null, %places ], [ %new_list, %list ], [ %late, %empty_one ]
  %e_end = icmp eq i64 %e, %room
  br i1 %e_end, label %prepare, label %empty_one
empty_one:
  %e_at = getelementptr ptr, ptr %held, i64 %e
  store ptr null, ptr %e_at
  %e_next = add i64 %e, 1
  br label %empty
prepare:
  %prepared = call i32 @prepare_cells(i64 %outs)
  %unprepared = icmp ne i32 %prepared, 0
  br i1 %unprepared, label %drop_list, label %unchanged
unchanged:
{get("serial_now", "%tape", Tape.SERIAL, "i64")}
{get("count_now", "%tape", Tape.COUNT, "i64")}
  %same_serial = icmp eq i64 %serial_now, %serial
  %same_count = icmp eq i64 %count_now, %count
  %same_trace = and i1 %same_serial, %same_count
  br i1 %same_trace, label %cells, label %undo
cells:
  %c = phi i64 [ 0, %unchanged ], [ %c_next, %cell_set ]
  %c_end = icmp eq i64 %c, %outs
  br i1 %c_end, label %gather, label %cell_one
cell_one:
  %c_next = add i64 %c, 1
  %c_offset = mul i64 %c, {DESCRIPTOR}
  %c_words = getelementptr i8, ptr %words_out, i64 %c_offset
  %c_known = call i1 @has_cell(ptr %tape, ptr %c_words)
  br i1 %c_known, label %cell_set, label %cell_new
cell_new:
{get("c_kind", "%c_words", 16, "i64")}
  %new_cell = call ptr @fresh_cell(i64 %c_kind)
  br label %cell_set
cell_set:
  %spare = phi ptr [ null, %cell_one ], [ %new_cell, %cell_new ]
  %spare_at = getelementptr ptr, ptr %spares, i64 %c
  store ptr %spare, ptr %spare_at
  br label %cells
gather:
  %k = phi i64 [ 0, %cells ], [ %k_next, %gathered ]
  %k_end = icmp eq i64 %k, %ins
  br i1 %k_end, label %make, label %gather_one
gather_one:
  %in_offset = mul i64 %k, {DESCRIPTOR}
  %in_words = getelementptr i8, ptr %words_in, i64 %in_offset
  %in_held = getelementptr ptr, ptr %held, i64 %k
  %in_memory = getelementptr i64, ptr %memory, i64 %k
  %data = call ptr @source(ptr %tape, ptr %in_words, ptr %in_held, ptr %in_memory)
  %in_pointer = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %data, ptr %in_pointer
  %k_next = add i64 %k, 1
  %no_data = icmp eq ptr %data, null
  br i1 %no_data, label %undo, label %gathered
gathered:
  br label %gather
make:
  %m = phi i64 [ 0, %gather ], [ %m_next, %made ]
  %m_end = icmp eq i64 %m, %outs
  br i1 %m_end, label %run, label %make_one
make_one:
  %m_next = add i64 %m, 1
  %out_offset = mul i64 %m, {DESCRIPTOR}
  %out_words = getelementptr i8, ptr %words_out, i64 %out_offset
  %place = add i64 %ins, %m
  %out_held = getelementptr ptr, ptr %held, i64 %place
  %out_pointer = getelementptr ptr, ptr %pointers, i64 %place
  %alias = load i64, ptr %out_words
{get("layout", "%out_words", 24)}
  %may_share = icmp sge i64 %alias, 0
  br i1 %may_share, label %consider, label %fresh
consider:
  %other_offset = mul i64 %alias, {DESCRIPTOR}
  %other_words = getelementptr i8, ptr %words_in, i64 %other_offset
  %other_at = getelementptr ptr, ptr %held, i64 %alias
  %other = load ptr, ptr %other_at
  %free = call i1 @is_free(ptr %tape, ptr %other_words, ptr %other)
  br i1 %free, label %share, label %fresh
share:
  call void @Py_IncRef(ptr %other)
  br label %made
fresh:
  %new = call ptr @new_result(ptr %layout)
  %no_new = icmp eq ptr %new, null
  br i1 %no_new, label %undo, label %made
made:
  %array = phi ptr [ %other, %share ], [ %new, %fresh ]
  store ptr %array, ptr %out_held
{get("out_data", "%array", ARRAY_DATA)}
  store ptr %out_data, ptr %out_pointer
  br label %make
run:
  store <{REPORT} x i64> zeroinitializer, ptr %report, align 8
  br i1 %is_long, label %run_apart, label %run_here
run_here:
  %status_here = call i64 %runner(ptr %kernel, ptr %pointers, ptr %report)
  br label %ran
run_apart:
{get("depth", "%tape", Tape.DEPTH, "i64")}
  %deeper = add i64 %depth, 1
  store i64 %deeper, ptr %depth.at
  %thread = call ptr @PyEval_SaveThread()
  %status_apart = call i64 %runner(ptr %kernel, ptr %pointers, ptr %report)
  call void @PyEval_RestoreThread(ptr %thread)
{get("depth_now", "%tape", Tape.DEPTH, "i64")}
  %out = sub i64 %depth_now, 1
  store i64 %out, ptr %depth.at
  br label %ran
ran:
  %status = phi i64 [ %status_here, %run_here ], [ %status_apart, %run_apart ]
  %failed = icmp ne i64 %status, 0
  br i1 %failed, label %report_failure, label %give
give:
  %g = phi i64 [ 0, %ran ], [ %g_next, %given ]
  %bad = phi i32 [ 0, %ran ], [ %worse, %given ]
  %g_end = icmp eq i64 %g, %outs
  br i1 %g_end, label %finish, label %give_one
give_one:
  %g_place = add i64 %ins, %g
  %g_at = getelementptr ptr, ptr %held, i64 %g_place
  %g_array = load ptr, ptr %g_at
  store ptr null, ptr %g_at
  %g_spare_at = getelementptr ptr, ptr %spares, i64 %g
  %g_spare = load ptr, ptr %g_spare_at
  %g_offset = mul i64 %g, {DESCRIPTOR}
  %g_words = getelementptr i8, ptr %words_out, i64 %g_offset
  %g_old_at = getelementptr ptr, ptr %olds, i64 %g
  %told = call i32 @hand_out(
    ptr %tape, ptr %g_words, ptr %g_array, ptr %g_spare, ptr %late, ptr %record, ptr %g_old_at)
  %worse = or i32 %bad, %told
  %g_next = add i64 %g, 1
  br label %given
given:
  br label %give
finish:
  call void @drop_all(ptr %held, i64 %room)
  %incomplete = icmp ne i32 %bad, 0
  br i1 %incomplete, label %drop_list, label %answer
answer:
  %result = select i1 %unnoted, ptr %late, ptr @_Py_TrueStruct
  br i1 %unnoted, label %return, label %count_true
count_true:
  call void @Py_IncRef(ptr @_Py_TrueStruct)
  br label %return
return:
  ret ptr %result
report_failure:
  %told_failure = call ptr @failure(i64 %status, ptr %report)
  call void @drop_all(ptr %held, i64 %room)
  call void @drop_all(ptr %spares, i64 %outs)
  call void @Py_DecRef(ptr %late)
  ret ptr %told_failure
undo:
  %spares_made = phi i64 [ 0, %unchanged ], [ %outs, %gather_one ], [ %outs, %fresh ]
  call void @drop_all(ptr %held, i64 %room)
  call void @drop_all(ptr %spares, i64 %spares_made)
  call void @Py_DecRef(ptr %late)
  %raised = call ptr @PyErr_Occurred()
  %quiet = icmp eq ptr %raised, null
  br i1 %quiet, label %other_way, label %error
other_way:
  %not_so = call ptr @not_implemented()
  ret ptr %not_so
drop_list:
  call void @Py_DecRef(ptr %late)
  br label %error
wrong:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @replay_wrong)
  br label %error
error:
  ret ptr null
}}
"""

STRINGS = {"replay_wrong": "replay(runner, kernel, long, sources, results) expected"}
