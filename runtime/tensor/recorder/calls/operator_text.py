"""LLVM text of Python's operators on tensors.

`@operators` has a pair of functions for each operator: the one that is called where the tensor is the left operand,
and the one for a tensor on the right, which takes the tensor first. Null where there is none: then Python asks the
other operand, or raises its TypeError.
"""

from __future__ import annotations

from .....compiler.backend.python_abi import SLOT_COMPARE, TYPE
from ..snippets import get

BINARY = {  # the numbers of slots, as Include/typeslots.h has them
    "add": 7, "and": 8, "floordiv": 12, "lshift": 28, "mul": 29, "or": 31, "mod": 34, "rshift": 35, "sub": 36,
    "truediv": 37, "xor": 38, "matmul": 75}
IN_PLACE = {
    "iadd": 14, "iand": 15, "ifloordiv": 16, "ilshift": 17, "imul": 18, "ior": 19, "imod": 21, "irshift": 22,
    "isub": 23, "itruediv": 24, "ixor": 25, "imatmul": 76}
POWER = {"pow": 33, "ipow": 20}
UNARY = {"abs": 6, "invert": 27, "neg": 30, "pos": 32}
ITEMS = {"setitem": 3, "getitem": 5}
COMPARE = ("lt", "le", "eq", "ne", "gt", "ge")  # in the order of their numbers

NAMES = (*COMPARE, *BINARY, *IN_PLACE, *POWER, *UNARY, *ITEMS)
"""The operators in the order of their pairs; comparisons first, so that their numbers are their places."""

REFLECTED = (*BINARY, "pow")
"""Those that may have the tensor on the right."""

PAIR = 16
"""Bytes of a pair."""

SLOTS = {f"operator_{name}": slot for table in (BINARY, IN_PLACE, POWER, UNARY, ITEMS) for name, slot in table.items()}
SLOTS["operator_compare"] = SLOT_COMPARE
"""The slot of each function here."""

EXPORTED = ("operators", "tensor_base", *SLOTS)

_SHARED = f"""
@operators = global [{2 * len(NAMES)} x ptr] zeroinitializer
@tensor_base = global ptr null

define internal i1 @is_any_tensor(ptr %object) nounwind alwaysinline {{
entry:
  %plain = call i1 @is_tensor(ptr %object)
  br i1 %plain, label %yes, label %derived
derived:
{get("type", "%object", TYPE)}
  %base = load ptr, ptr @tensor_base
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %base)
  %some = icmp ne i32 %is, 0
  ret i1 %some
yes:
  ret i1 true
}}

define internal ptr @not_implemented() nounwind {{
entry:
  call void @Py_IncRef(ptr @_Py_NotImplementedStruct)
  ret ptr @_Py_NotImplementedStruct
}}

define internal ptr @call_pair(ptr %function, ptr %first, ptr %second) nounwind alwaysinline {{
entry:
  %args = alloca [2 x ptr]
  %unset = icmp eq ptr %function, null
  br i1 %unset, label %none, label %run
run:
  store ptr %first, ptr %args
  %second_at = getelementptr ptr, ptr %args, i64 1
  store ptr %second, ptr %second_at
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 2, ptr null)
  ret ptr %result
none:
  %nothing = call ptr @not_implemented()
  ret ptr %nothing
}}

define internal ptr @binary(ptr %left, ptr %right, ptr %pair) nounwind alwaysinline {{
entry:
  %first = call i1 @is_any_tensor(ptr %left)
  br i1 %first, label %forward, label %reflected
forward:
  %function = load ptr, ptr %pair
  %result = call ptr @call_pair(ptr %function, ptr %left, ptr %right)
  ret ptr %result
reflected:
  %other_at = getelementptr ptr, ptr %pair, i64 1
  %other = load ptr, ptr %other_at
  %reverse = call ptr @call_pair(ptr %other, ptr %right, ptr %left)
  ret ptr %reverse
}}

define internal ptr @unsupported() nounwind {{
entry:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @operator_missing)
  ret ptr null
}}

define ptr @operator_compare(ptr %left, ptr %right, i32 %which) nounwind {{
entry:
  %offset = mul i32 %which, {PAIR}
  %pair = getelementptr i8, ptr @operators, i32 %offset
  %function = load ptr, ptr %pair
  %result = call ptr @call_pair(ptr %function, ptr %left, ptr %right)
  ret ptr %result
}}

define ptr @operator_getitem(ptr %self, ptr %key) nounwind {{
entry:
  %pair = getelementptr i8, ptr @operators, i64 {PAIR * NAMES.index("getitem")}
  %function = load ptr, ptr %pair
  %unset = icmp eq ptr %function, null
  br i1 %unset, label %none, label %run
run:
  %result = call ptr @call_pair(ptr %function, ptr %self, ptr %key)
  ret ptr %result
none:
  %nothing = call ptr @unsupported()
  ret ptr %nothing
}}

; x[key] = value; deleting is not supported.
define i32 @operator_setitem(ptr %self, ptr %key, ptr %value) nounwind {{
entry:
  %args = alloca [3 x ptr]
  %pair = getelementptr i8, ptr @operators, i64 {PAIR * NAMES.index("setitem")}
  %function = load ptr, ptr %pair
  %unset = icmp eq ptr %function, null
  %deletes = icmp eq ptr %value, null
  %no = or i1 %unset, %deletes
  br i1 %no, label %none, label %run
run:
  store ptr %self, ptr %args
  %key_at = getelementptr ptr, ptr %args, i64 1
  store ptr %key, ptr %key_at
  %value_at = getelementptr ptr, ptr %args, i64 2
  store ptr %value, ptr %value_at
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 3, ptr null)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %error, label %done
done:
  call void @Py_DecRef(ptr %result)
  ret i32 0
none:
  %nothing = call ptr @unsupported()
  br label %error
error:
  ret i32 -1
}}
"""

_BINARY = """
define ptr @operator_NAME(ptr %left, ptr %right) nounwind {
entry:
  %pair = getelementptr i8, ptr @operators, i64 OFFSET
  %result = call ptr @binary(ptr %left, ptr %right, ptr %pair)
  ret ptr %result
}
"""

_POWER = """
define ptr @operator_NAME(ptr %left, ptr %right, ptr %modulus) nounwind {
entry:
  %two = icmp eq ptr %modulus, @_Py_NoneStruct
  br i1 %two, label %run, label %three
run:
  %pair = getelementptr i8, ptr @operators, i64 OFFSET
  %result = call ptr @binary(ptr %left, ptr %right, ptr %pair)
  ret ptr %result
three:
  %nothing = call ptr @not_implemented()
  ret ptr %nothing
}
"""

_UNARY = """
define ptr @operator_NAME(ptr %self) nounwind {
entry:
  %args = alloca ptr
  %pair = getelementptr i8, ptr @operators, i64 OFFSET
  %function = load ptr, ptr %pair
  %unset = icmp eq ptr %function, null
  br i1 %unset, label %none, label %run
run:
  store ptr %self, ptr %args
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 1, ptr null)
  ret ptr %result
none:
  %nothing = call ptr @unsupported()
  ret ptr %nothing
}
"""

# CPython also puts a subclass's `__iadd__` where sequences have theirs (sq_inplace_concat), whose NotImplemented it
# would hand out as the sum. So the other operand is asked here.
_ADD_IN_PLACE = """
define ptr @operator_iadd(ptr %left, ptr %right) nounwind {
entry:
  %pair = getelementptr i8, ptr @operators, i64 OFFSET
  %result = call ptr @binary(ptr %left, ptr %right, ptr %pair)
  %no = icmp eq ptr %result, @_Py_NotImplementedStruct
  br i1 %no, label %ask, label %done
ask:
  call void @Py_DecRef(ptr %result)
  %sum = call ptr @PyNumber_Add(ptr %left, ptr %right)
  ret ptr %sum
done:
  ret ptr %result
}
"""


def _each(text: str, names: dict[str, int]) -> str:
    return "".join([text.replace("NAME", name).replace("OFFSET", str(PAIR * NAMES.index(name))) for name in names])


_PLAIN = {name: slot for name, slot in (BINARY | IN_PLACE).items() if name != "iadd"}

TEXT = (
    _SHARED + _each(_BINARY, _PLAIN) + _each(_ADD_IN_PLACE, {"iadd": IN_PLACE["iadd"]}) + _each(_POWER, POWER)
    + _each(_UNARY, UNARY)
)

STRINGS = {"operator_missing": "a tensor does not support this operator"}
