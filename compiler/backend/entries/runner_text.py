"""The text of the function that runs any kernel on a list of arrays; see `runner`.

    %words: caller, kernel, number of arguments, number of results, whether others may run meanwhile;
            dtype, rank and place of the shape of each argument;
            donor or -1, rank, place of the shape, number of the dtype and whether it is large, of each result; shapes
"""

from __future__ import annotations

from ..python_abi import (
    ALIGNED,
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_SHAPE,
    C_CONTIGUOUS,
    LIST_ITEMS,
    SIZE,
    TUPLE_ITEMS,
    TYPE,
    WRITEABLE,
)

HEAD, INPUT, OUTPUT = 5, 3, 5  # words of a kernel, of each argument and of each result

FUNCTIONS = {
    "PyArray_New": "ptr (ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
    "PyEval_RestoreThread": "void (ptr)",
    "PyEval_SaveThread": "ptr ()",
    "PyList_New": "ptr (i64)",
    "Py_BuildValue": "ptr (ptr, ...)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}


def _declaration(name: str) -> str:
    result, arguments = FUNCTIONS[name].split(" ", 1)
    return f"declare {result} @{name}{arguments}"


def _field(name: str, kind: str, base: str, offset: int) -> str:
    return f"  {name}.at = getelementptr i8, ptr {base}, i64 {offset}\n  {name} = load {kind}, ptr {name}.at"


def _word(name: str, index: str) -> str:
    return f"  {name}.at = getelementptr i64, ptr %w, i64 {index}\n  {name} = load i64, ptr {name}.at"


_DECLARED = "\n".join(map(_declaration, FUNCTIONS))
_REPORT = "\n".join(
    f"  %r{k}.at = getelementptr i64, ptr %report, i64 {k}\n  %r{k} = load i64, ptr %r{k}.at" for k in range(4)
)

TEXT = f"""
@PyList_Type = external global i8
@PyArray_Type = external global i8
@_Py_NoneStruct = external global i8
@format = private constant [10 x i8] c"(L(LLLL))\\00"
declare ptr @new_array(ptr, i32, ptr, i32)
{_DECLARED}

define ptr @run(ptr %self, ptr %list) nounwind {{
entry:
{_field("%words", "ptr", "%self", TUPLE_ITEMS)}
{_field("%w", "ptr", "%words", ARRAY_DATA)}
{_field("%type", "ptr", "%list", TYPE)}
  %is.list = icmp eq ptr %type, @PyList_Type
  br i1 %is.list, label %count, label %other
count:
{_field("%n", "i64", "%list", SIZE)}
{_word("%ins", "2")}
{_word("%outs", "3")}
  %fits = icmp eq i64 %n, %ins
  br i1 %fits, label %begin, label %other
begin:
{_field("%items", "ptr", "%list", LIST_ITEMS)}
  %total = add i64 %ins, %outs
  %room = add i64 %total, 1
  %pointers = alloca ptr, i64 %room, align 16
  %report = alloca [4 x i64], align 16
  store [4 x i64] zeroinitializer, ptr %report
  %any = icmp sgt i64 %ins, 0
  br i1 %any, label %in, label %made
in:
  %i = phi i64 [0, %begin], [%i.next, %in.fine]
  %x.at = getelementptr ptr, ptr %items, i64 %i
  %x = load ptr, ptr %x.at
{_field("%x.type", "ptr", "%x", TYPE)}
  %x.array = icmp eq ptr %x.type, @PyArray_Type
  br i1 %x.array, label %in.array, label %other
in.array:
  %in.scaled = mul i64 %i, {INPUT}
  %in.dtype = add i64 %in.scaled, {HEAD}
  %in.rank = add i64 %in.scaled, {HEAD + 1}
  %in.shape = add i64 %in.scaled, {HEAD + 2}
{_word("%want.dtype", "%in.dtype")}
{_word("%want.rank", "%in.rank")}
{_word("%want.shape", "%in.shape")}
{_field("%x.dtype", "i64", "%x", ARRAY_DTYPE)}
{_field("%x.rank", "i32", "%x", ARRAY_RANK)}
{_field("%x.flags", "i32", "%x", ARRAY_FLAGS)}
  %same.dtype = icmp eq i64 %x.dtype, %want.dtype
  %x.rank.wide = sext i32 %x.rank to i64
  %same.rank = icmp eq i64 %x.rank.wide, %want.rank
  %x.flags.layout = and i32 %x.flags, {C_CONTIGUOUS | ALIGNED}
  %same.layout = icmp eq i32 %x.flags.layout, {C_CONTIGUOUS | ALIGNED}
  %same.two = and i1 %same.dtype, %same.rank
  %same = and i1 %same.two, %same.layout
{_field("%x.shape", "ptr", "%x", ARRAY_SHAPE)}
  %want.first = getelementptr i64, ptr %w, i64 %want.shape
  br i1 %same, label %axis, label %other
axis:
  %d = phi i64 [0, %in.array], [%d.next, %axis.one]
  %more.axes = icmp slt i64 %d, %want.rank
  br i1 %more.axes, label %axis.one, label %in.fine
axis.one:
  %have.at = getelementptr i64, ptr %x.shape, i64 %d
  %have = load i64, ptr %have.at
  %want.at = getelementptr i64, ptr %want.first, i64 %d
  %want = load i64, ptr %want.at
  %d.next = add i64 %d, 1
  %same.extent = icmp eq i64 %have, %want
  br i1 %same.extent, label %axis, label %other
in.fine:
{_field("%x.data", "ptr", "%x", ARRAY_DATA)}
  %x.place = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %x.data, ptr %x.place
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %ins
  br i1 %more, label %in, label %made
made:
  %results = call ptr @PyList_New(i64 %outs)
  %none = icmp eq ptr %results, null
  br i1 %none, label %error, label %out.items
out.items:
{_field("%slots", "ptr", "%results", LIST_ITEMS)}
  %out.first = mul i64 %ins, {INPUT}
  br label %out
out:
  %k = phi i64 [0, %out.items], [%k.next, %out.made]
  %more.outs = icmp slt i64 %k, %outs
  br i1 %more.outs, label %out.one, label %ready
out.one:
  %out.scaled = mul i64 %k, {OUTPUT}
  %out.base = add i64 %out.first, %out.scaled
  %out.donor = add i64 %out.base, {HEAD}
  %out.rank = add i64 %out.base, {HEAD + 1}
  %out.shape = add i64 %out.base, {HEAD + 2}
  %out.number = add i64 %out.base, {HEAD + 3}
  %out.large = add i64 %out.base, {HEAD + 4}
{_word("%donor", "%out.donor")}
  %given = icmp sge i64 %donor, 0
  br i1 %given, label %out.given, label %out.new
out.given:
  %donor.item = getelementptr ptr, ptr %items, i64 %donor
  %donor.array = load ptr, ptr %donor.item
{_field("%donor.flags", "i32", "%donor.array", ARRAY_FLAGS)}
  %donor.writeable = and i32 %donor.flags, {WRITEABLE}
  %writeable = icmp ne i32 %donor.writeable, 0
  br i1 %writeable, label %out.taken, label %refused
out.taken:
  call void @Py_IncRef(ptr %donor.array)
  br label %out.made
out.new:
{_word("%rank", "%out.rank")}
{_word("%shape", "%out.shape")}
{_word("%number", "%out.number")}
{_word("%large", "%out.large")}
  %rank.short = trunc i64 %rank to i32
  %number.short = trunc i64 %number to i32
  %shape.first = getelementptr i64, ptr %w, i64 %shape
  %is.large = icmp ne i64 %large, 0
  br i1 %is.large, label %out.large.new, label %out.small.new
out.large.new:
  %from.pool = call ptr @new_array(ptr @PyArray_Type, i32 %rank.short, ptr %shape.first, i32 %number.short)
  br label %out.checked
out.small.new:
  %from.numpy = call ptr @PyArray_New(ptr @PyArray_Type, i32 %rank.short, ptr %shape.first, i32 %number.short,
    ptr null, ptr null, i32 0, i32 0, ptr null)
  br label %out.checked
out.checked:
  %fresh = phi ptr [%from.pool, %out.large.new], [%from.numpy, %out.small.new]
  %failed.new = icmp eq ptr %fresh, null
  br i1 %failed.new, label %error.results, label %out.made
out.made:
  %y = phi ptr [%donor.array, %out.taken], [%fresh, %out.checked]
  %slot = getelementptr ptr, ptr %slots, i64 %k
  store ptr %y, ptr %slot
{_field("%y.data", "ptr", "%y", ARRAY_DATA)}
  %y.number = add i64 %ins, %k
  %y.place = getelementptr ptr, ptr %pointers, i64 %y.number
  store ptr %y.data, ptr %y.place
  %k.next = add i64 %k, 1
  br label %out
ready:
  %last = getelementptr ptr, ptr %pointers, i64 %total
  store ptr %report, ptr %last
{_word("%caller", "0")}
{_word("%kernel", "1")}
{_word("%long", "4")}
  %caller.function = inttoptr i64 %caller to ptr
  %kernel.function = inttoptr i64 %kernel to ptr
  %is.long = icmp ne i64 %long, 0
  br i1 %is.long, label %apart, label %here
apart:
  %thread = call ptr @PyEval_SaveThread()
  %status.apart = call i64 %caller.function(ptr %kernel.function, ptr %pointers)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
here:
  %status.here = call i64 %caller.function(ptr %kernel.function, ptr %pointers)
  br label %done
done:
  %status = phi i64 [%status.apart, %apart], [%status.here, %here]
  %good = icmp eq i64 %status, 0
  br i1 %good, label %return, label %failed
return:
  ret ptr %results
failed:
  call void @Py_DecRef(ptr %results)
{_REPORT}
  %told = call ptr (ptr, ...) @Py_BuildValue(ptr @format, i64 %status, i64 %r0, i64 %r1, i64 %r2, i64 %r3)
  ret ptr %told
refused:
  call void @Py_DecRef(ptr %results)
  br label %other
other:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
error.results:
  call void @Py_DecRef(ptr %results)
  br label %error
error:
  ret ptr null
}}
"""

__all__ = ["FUNCTIONS", "HEAD", "INPUT", "OUTPUT", "TEXT"]
