"""LLVM text that compares a call with one that was recorded, argument by argument.

Nothing here runs code of the program. A tensor or number that the trace reads for the first time is entered into it
on the way; `@withdraw` (of `tape_text`) takes it out when a later argument differs. A special tensor must be looked
at by Python first: the comparison fails, and the search (its words are those of `layout.Search`) notes the tensor.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import BYTES_DATA, FLOAT_VALUE, SIZE, TYPE
from ..layout import HOOKED, LEAF, OPEN, Cell, Give, Need, State, Tape, Tensor
from ..snippets import DESCRIPTOR_FIELDS, get, put

_TENSORS = f"""
; A tensor against VALUE, INPUT or ALIAS.
define internal i1 @match_tensor(ptr %search, ptr %tensor, i64 %tag, i64 %a, i64 %b, i64 %c) nounwind alwaysinline {{
entry:
  %is = call i1 @is_tensor(ptr %tensor)
  br i1 %is, label %look, label %no
look:
  %settled = call i1 @is_settled(ptr %search, ptr %tensor)
  br i1 %settled, label %flags, label %no
flags:
  %class = call i64 @class_of(ptr %tensor)
  %same_class = icmp eq i64 %class, %c
  br i1 %same_class, label %tables, label %no
tables:
  %tape = load ptr, ptr %search
  %told = call i1 @reclaim(ptr %tape, ptr %tensor)
  br i1 %told, label %place, label %no
place:
{get("serial", "%tape", Tape.SERIAL, "i64")}
{get("its_serial", "%tensor", Tensor.SERIAL, "i64")}
  %here = icmp eq i64 %its_serial, %serial
  %value = icmp eq i64 %tag, {Need.VALUE}
  %agrees = icmp eq i1 %here, %value
  br i1 %agrees, label %which, label %no
which:
  br i1 %here, label %on_trace, label %off_trace
on_trace:
  %there = call ptr @tensor_at(ptr %tape, i64 %a)
  %same = icmp eq ptr %there, %tensor
  ret i1 %same
off_trace:
{get("cell", "%tensor", Tensor.CELL)}
  %late = icmp eq ptr %cell, null
  br i1 %late, label %no, label %cells
cells:
{get("cell_serial", "%cell", Cell.SERIAL, "i64")}
{get("cell_number", "%cell", Cell.NUMBER, "i64")}
  %shared = icmp eq i64 %cell_serial, %serial
  %alias = icmp eq i64 %tag, {Need.ALIAS}
  %fits = icmp eq i1 %shared, %alias
  br i1 %fits, label %kind_of_entry, label %no
kind_of_entry:
  br i1 %alias, label %second, label %first
second:
  %that_cell = icmp eq i64 %cell_number, %b
  br i1 %that_cell, label %enter, label %no
first:
{get("array", "%cell", Cell.ARRAY)}
  %null = icmp eq ptr %array, null
  %none = icmp eq ptr %array, @_Py_NoneStruct
  %pending = or i1 %null, %none
  %ready = xor i1 %pending, true
{get("kind", "%cell", Cell.KIND)}
  %kind_word = ptrtoint ptr %kind to i64
  %that_kind = icmp eq i64 %kind_word, %b
  %good = and i1 %that_kind, %ready
  br i1 %good, label %number_cell, label %no
number_cell:
{put("cell_serial", "%cell", Cell.SERIAL, "i64 %serial")}
{put("cell_number", "%cell", Cell.NUMBER, "i64 %a")}
  br label %enter
enter:
{put("tensor_serial", "%tensor", Tensor.SERIAL, "i64 %serial")}
{put("tensor_number", "%tensor", Tensor.NUMBER, "i64 %a")}
  call void @keep(ptr %tape, i64 %a, ptr %tensor, ptr %cell)
  ret i1 true
no:
  ret i1 false
}}
"""

_MATCH = f"""
; An object against the descriptors at %words; what follows them, or null if it differs.
define internal ptr @match(ptr %search, ptr %object, ptr %words, ptr %end) nounwind {{
entry:
  %nothing = icmp uge ptr %words, %end
  br i1 %nothing, label %no, label %some
some:
{DESCRIPTOR_FIELDS}
  switch i64 %tag, label %no [
    i64 {Need.STATIC}, label %static   i64 {Need.VALUE}, label %tensor   i64 {Need.INPUT}, label %tensor
    i64 {Need.ALIAS}, label %tensor    i64 {Need.NUMBER}, label %number  i64 {Need.SEQUENCE}, label %sequence
    i64 {Need.ANY}, label %any         i64 {Need.SAME}, label %same      i64 {Need.SOME}, label %number ]
any:
  %found = call i1 @match_any(ptr %search, ptr %object, i64 %a, i64 %b, i64 %c)
  br i1 %found, label %yes, label %no
same:
  %other = call ptr @argument_at(ptr %search, i64 %a)
  %once_more = icmp eq ptr %other, %object
  br i1 %once_more, label %yes, label %no
static:
  %known = inttoptr i64 %a to ptr
  %equal = call i1 @equal(ptr %object, ptr %known)
  br i1 %equal, label %yes, label %no
tensor:
  %agrees = call i1 @match_tensor(ptr %search, ptr %object, i64 %tag, i64 %a, i64 %b, i64 %c)
  br i1 %agrees, label %yes, label %no
number:
{get("number_type", "%object", TYPE)}
  %wanted = inttoptr i64 %b to ptr
  %its = icmp eq ptr %number_type, %wanted
  br i1 %its, label %range, label %no
range:
  %fits = call i1 @fits(ptr %object, i64 %c)
  %some_place = icmp eq i64 %tag, {Need.SOME}
  br i1 %fits, label %where, label %no
where:
  br i1 %some_place, label %hold, label %enter
hold:
  call void @note_number(ptr %search, ptr %object, i64 %a)
  br label %yes
enter:
  %tape = load ptr, ptr %search
  call void @keep(ptr %tape, i64 %a, ptr %object, ptr null)
  br label %yes
sequence:
{get("type", "%object", TYPE)}
  %class = inttoptr i64 %a to ptr
  %same_class = icmp eq ptr %type, %class
  br i1 %same_class, label %sized, label %no
sized:
  %length = call i64 @length_of(ptr %object)
  %as_long = icmp eq i64 %length, %b
  br i1 %as_long, label %items, label %no
items:
  %first = call ptr @items_of(ptr %object)
  br label %each
each:
  %n = phi i64 [ 0, %items ], [ %next, %one ]
  %at = phi ptr [ %more, %items ], [ %rest, %one ]
  %last = icmp eq i64 %n, %length
  br i1 %last, label %done, label %one
one:
  %item_at = getelementptr ptr, ptr %first, i64 %n
  %item = load ptr, ptr %item_at
  %rest = call ptr @match(ptr %search, ptr %item, ptr %at, ptr %end)
  %next = add i64 %n, 1
  %differs = icmp eq ptr %rest, null
  br i1 %differs, label %no, label %each
done:
  ret ptr %at
yes:
  ret ptr %more
no:
  ret ptr null
}}
"""

_ACCEPTS = f"""
; Whether the call that led to %child is this one: all arguments, then gradients that it found and what was checked.
define internal i1 @accepts(ptr %search, ptr %child, ptr %args, i64 %count) nounwind alwaysinline {{
entry:
  %tape = load ptr, ptr %search
{get("needs", "%child", State.NEEDS)}
  %known = call i1 @is_bytes(ptr %needs)
  br i1 %known, label %start, label %no
start:
  %begin = getelementptr i8, ptr %needs, i64 {BYTES_DATA}
{get("size", "%needs", SIZE, "i64")}
  %end = getelementptr i8, ptr %begin, i64 %size
  br label %each
each:
  %n = phi i64 [ 0, %start ], [ %next, %one ]
  %at = phi ptr [ %begin, %start ], [ %rest, %one ]
  %enough = icmp eq i64 %n, %count
  br i1 %enough, label %implicit, label %one
one:
  %arg_at = getelementptr ptr, ptr %args, i64 %n
  %arg = load ptr, ptr %arg_at
  %rest = call ptr @match(ptr %search, ptr %arg, ptr %at, ptr %end)
  %next = add i64 %n, 1
  %differs = icmp eq ptr %rest, null
  br i1 %differs, label %no, label %each
implicit:
  %words = phi ptr [ %at, %each ], [ %after, %gradient ], [ %more, %check ], [ %more, %between ],
    [ %more, %memory ], [ %more, %numpy ]
  %last = icmp eq ptr %words, %end
  br i1 %last, label %effects, label %leaf
leaf:
{DESCRIPTOR_FIELDS}
  switch i64 %tag, label %no [
    i64 {Need.GRAD}, label %owner   i64 {Need.CHECK}, label %check   i64 {Need.BETWEEN}, label %between
    i64 {Need.APART}, label %between   i64 {Need.STILL}, label %still ]
still:
  %read = call ptr @tensor_at(ptr %tape, i64 %a)
  %stands = icmp ne ptr %read, null
  br i1 %stands, label %memory, label %no
memory:
{get("its_flags", "%read", Tensor.FLAGS, "i64")}
  %numpys = and i64 %its_flags, {OPEN}
  %own = icmp eq i64 %numpys, 0
  br i1 %own, label %implicit, label %numpy
numpy:
  %looked_at = call i1 @is_settled(ptr %search, ptr %read)
  br i1 %looked_at, label %implicit, label %no
between:
{get("values", "%tape", Tape.VALUES)}
  %number_at = getelementptr ptr, ptr %values, i64 %a
  %number = load ptr, ptr %number_at
  %inside = call i1 @is_in_region(ptr %number, i64 %tag, i64 %b, i64 %c)
  br i1 %inside, label %implicit, label %no
check:
  %has = call i1 @has_been_checked(ptr %tape, i64 %a, i64 %b)
  br i1 %has, label %implicit, label %no
owner:
  %tensor = call ptr @tensor_at(ptr %tape, i64 %a)
  %there = icmp ne ptr %tensor, null
  br i1 %there, label %hooks, label %no
hooks:
{get("flags", "%tensor", Tensor.FLAGS, "i64")}
  %said = and i64 %flags, {LEAF | HOOKED}
  %as_said = icmp eq i64 %said, %b
  br i1 %as_said, label %gradient, label %no
gradient:
{get("set", "%tensor", Tensor.GRAD)}
  %unset = icmp eq ptr %set, null
  %grad = select i1 %unset, ptr @_Py_NoneStruct, ptr %set
  %after = call ptr @match(ptr %search, ptr %grad, ptr %more, ptr %end)
  %other = icmp eq ptr %after, null
  br i1 %other, label %no, label %implicit
effects:
  %may = call i1 @may_happen(ptr %tape, ptr %child)
  ret i1 %may
no:
  ret i1 false
}}

; Whether a float, which a descriptor before said it is, lies between two others, given by their bits; or does not.
define internal i1 @is_in_region(ptr %number, i64 %tag, i64 %b, i64 %c) nounwind alwaysinline {{
entry:
{get("x", "%number", FLOAT_VALUE, "double")}
  %low = bitcast i64 %b to double
  %high = bitcast i64 %c to double
  %above = fcmp oge double %x, %low
  %below = fcmp ole double %x, %high
  %inside = and i1 %above, %below
  %wanted = icmp eq i64 %tag, {Need.BETWEEN}
  %is = icmp eq i1 %inside, %wanted
  ret i1 %is
}}

define internal i1 @has_been_checked(ptr %tape, i64 %n, i64 %what) nounwind {{
entry:
{get("room", "%tape", Tape.ROOM, "i64")}
  %inside = icmp ult i64 %n, %room
  br i1 %inside, label %look, label %no
look:
{get("cells", "%tape", Tape.CELLS)}
  %cell_at = getelementptr ptr, ptr %cells, i64 %n
  %cell = load ptr, ptr %cell_at
  %absent = icmp eq ptr %cell, null
  br i1 %absent, label %no, label %compare
compare:
{get("checked", "%cell", Cell.CHECKED, "i64")}
  %same = icmp eq i64 %checked, %what
  ret i1 %same
no:
  ret i1 false
}}

; Whether what a call does to tensors is simple now: they share no memory, and no old gradient would die in the middle.
define internal i1 @may_happen(ptr %tape, ptr %child) nounwind alwaysinline {{
entry:
{get("gives", "%child", State.GIVES)}
  %known = call i1 @is_bytes(ptr %gives)
  br i1 %known, label %start, label %no
start:
  %begin = getelementptr i8, ptr %gives, i64 {BYTES_DATA}
{get("size", "%gives", SIZE, "i64")}
  %end = getelementptr i8, ptr %begin, i64 %size
  %silent = icmp eq i64 %size, 0
  br i1 %silent, label %no, label %each
each:
  %words = phi ptr [ %begin, %start ], [ %more, %read ], [ %more, %target ], [ %more, %gradient ], [ %more, %old ]
  %last = icmp uge ptr %words, %end
  br i1 %last, label %yes, label %read
read:
{DESCRIPTOR_FIELDS}
  switch i64 %tag, label %each [
    i64 {Give.ASSIGN}, label %target   i64 {Give.RENEW}, label %target   i64 {Give.PUT_GRAD}, label %leaf ]
target:
  %may_write = call i1 @may_write(ptr %tape, i64 %a, i64 %tag)
  br i1 %may_write, label %each, label %no
leaf:
  %owner = call ptr @tensor_at(ptr %tape, i64 %a)
  %lost = icmp eq ptr %owner, null
  br i1 %lost, label %no, label %gradient
gradient:
{get("held", "%owner", Tensor.GRAD)}
  %free = icmp eq ptr %held, null
  br i1 %free, label %each, label %old
old:
  %references = load i32, ptr %held
  %elsewhere = icmp ne i32 %references, 1
  br i1 %elsewhere, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

TEXT = _TENSORS + _MATCH + _ACCEPTS
