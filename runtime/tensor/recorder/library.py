"""The recorder's functions in memory, once for the process."""

from __future__ import annotations

from ....compiler.backend.disk.cache import kept_object
from ....compiler.backend.linking.module import Linked, link
from ....compiler.backend.once import once
from ....compiler.backend.process import write_word
from ....compiler.backend.python_abi import symbol
from .calls import (
    any_text,
    call_text,
    class_text,
    compare_text,
    give_text,
    match_text,
    operator_text,
    pattern_text,
    place_text,
    reclaim_text,
    renew_text,
)
from .objects import (
    arrays_text,
    cell_text,
    collect_text,
    late_text,
    notes_text,
    tape_methods_text,
    tape_text,
    tensor_text,
)
from .runs import (
    forward_text,
    gradients_text,
    inputs_text,
    item_text,
    launch_text,
    replay_text,
    rerun_text,
    results_text,
)

_PARTS = (
    collect_text, tensor_text, cell_text, arrays_text, late_text, tape_text, tape_methods_text, notes_text,
    compare_text, class_text, reclaim_text, any_text, match_text, give_text, renew_text, place_text, pattern_text,
    call_text, operator_text, inputs_text, results_text, replay_text, rerun_text, launch_text, gradients_text,
    item_text, forward_text,
)  # fmt: skip

_VARIABLES = (
    "PyArray_Type", "PyBytes_Type", "PyExc_AttributeError", "PyExc_IndexError", "PyExc_TypeError", "PyFloat_Type",
    "PyList_Type", "PyLong_Type", "PySlice_Type", "PyTuple_Type", "PyUnicode_Type", "_Py_FalseStruct",
    "_Py_NoneStruct", "_Py_NotImplementedStruct", "_Py_TrueStruct",
)  # fmt: skip

_FUNCTIONS = {
    "PyArray_New": "ptr (ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
    "PyBytes_FromStringAndSize": "ptr (ptr, i64)",
    "PyErr_NoMemory": "ptr ()",
    "PyErr_Occurred": "ptr ()",
    "PyErr_SetString": "void (ptr, ptr)",
    "PyEval_GetFrame": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyEval_SaveThread": "ptr ()",
    "PyFloat_AsDouble": "double (ptr)",
    "PyFloat_FromDouble": "ptr (double)",
    "PyFrame_GetBack": "ptr (ptr)",
    "PyFrame_GetCode": "ptr (ptr)",
    "PyFrame_GetLasti": "i32 (ptr)",
    "PyList_Append": "i32 (ptr, ptr)",
    "PyList_AsTuple": "ptr (ptr)",
    "PyList_New": "ptr (i64)",
    "PyList_SetItem": "i32 (ptr, i64, ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
    "PyLong_AsSsize_t": "i64 (ptr)",
    "PyLong_AsVoidPtr": "ptr (ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyMem_Free": "void (ptr)",
    "PyMem_Realloc": "ptr (ptr, i64)",
    "PyNumber_Add": "ptr (ptr, ptr)",
    "PyObject_Call": "ptr (ptr, ptr, ptr)",
    "PyObject_CallFinalizerFromDealloc": "i32 (ptr)",
    "PyObject_CallNoArgs": "ptr (ptr)",
    "PyObject_CallOneArg": "ptr (ptr, ptr)",
    "PyObject_ClearWeakRefs": "void (ptr)",
    "PyObject_GC_Del": "void (ptr)",
    "PyObject_GC_IsFinalized": "i32 (ptr)",
    "PyObject_GC_Track": "void (ptr)",
    "PyObject_GC_UnTrack": "void (ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_IsTrue": "i32 (ptr)",
    "PyObject_RichCompareBool": "i32 (ptr, ptr, i32)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyObject_VectorcallMethod": "ptr (ptr, ptr, i64, ptr)",
    "PyThread_get_thread_ident": "i64 ()",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyType_GenericAlloc": "ptr (ptr, i64)",
    "PyType_GenericNew": "ptr (ptr, ptr, ptr)",
    "PyType_IsSubtype": "i32 (ptr, ptr)",
    "PyUnicode_InternFromString": "ptr (ptr)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}

_INTRINSICS = """
declare double @llvm.fabs.f64(double)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.vector.reduce.or.v4i64(<4 x i64>)
"""


def _declarations() -> str:
    variables = [f"@{name} = external global i8" for name in _VARIABLES]
    typed = [(name, *kind.split(" ", 1)) for name, kind in _FUNCTIONS.items()]
    functions = [f"declare {result} @{name}{arguments}" for name, result, arguments in typed]
    strings = [(name, text) for part in _PARTS for name, text in getattr(part, "STRINGS", {}).items()]
    texts = [f'@{name} = private constant [{len(text) + 1} x i8] c"{text}\\00"' for name, text in strings]
    return "\n".join([*variables, *functions, _INTRINSICS, *texts])


@once
def _module() -> Linked:
    text = _declarations() + "".join([part.TEXT for part in _PARTS])
    exports = [name for part in _PARTS for name in getattr(part, "EXPORTED", ())]
    symbols = {name: symbol(name) for name in (*_VARIABLES, *_FUNCTIONS)}
    return link(kept_object(text, level=2), symbols, exports)


def address(name: str) -> int:
    """The address of one of the functions or variables."""
    return _module().address(name)


def assign(name: str, value: int, place: int = 0) -> None:
    """Store an address in one of the variables, or in one of its words."""
    write_word(address(name) + 8 * place, value)
