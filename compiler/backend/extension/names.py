"""What extension modules use of Python's stable interface, the texts of their errors, and both as LLVM text.

Objects' types are read where the header files of the stable interface read them. Everything here is in that interface
since 3.11. What the text itself defines begins with a dot, or has one: no C function of the user's can be called so.
"""

from __future__ import annotations

FUNCTIONS = {
    "PyBool_FromLong": "ptr (i64)",
    "PyBuffer_Release": "void (ptr)",
    "PyBuffer_ToContiguous": "i32 (ptr, ptr, i64, i8)",
    "PyByteArray_AsString": "ptr (ptr)",
    "PyByteArray_FromStringAndSize": "ptr (ptr, i64)",
    "PyBytes_AsString": "ptr (ptr)",
    "PyBytes_FromStringAndSize": "ptr (ptr, i64)",
    "PyCapsule_GetPointer": "ptr (ptr, ptr)",
    "PyDict_GetItemString": "ptr (ptr, ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyDict_New": "ptr ()",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyDict_Size": "i64 (ptr)",
    "PyErr_Clear": "void ()",
    "PyErr_ExceptionMatches": "i32 (ptr)",
    "PyErr_Format": "ptr (ptr, ptr, ...)",
    "PyErr_NoMemory": "ptr ()",
    "PyErr_Occurred": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyEval_SaveThread": "ptr ()",
    "PyFloat_AsDouble": "double (ptr)",
    "PyFloat_FromDouble": "ptr (double)",
    "PyImport_GetModuleDict": "ptr ()",
    "PyImport_ImportModule": "ptr (ptr)",
    "PyList_GetItem": "ptr (ptr, i64)",
    "PyList_New": "ptr (i64)",
    "PyList_SetItem": "i32 (ptr, i64, ptr)",
    "PyList_Size": "i64 (ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyLong_FromString": "ptr (ptr, ptr, i32)",
    "PyMemoryView_FromObject": "ptr (ptr)",
    "PyModule_AddStringConstant": "i32 (ptr, ptr, ptr)",
    "PyModuleDef_Init": "ptr (ptr)",
    "PyModule_GetState": "ptr (ptr)",
    "PyObject_CallMethod": "ptr (ptr, ptr, ptr, ...)",
    "PyObject_GetAttrString": "ptr (ptr, ptr)",
    "PyObject_GetBuffer": "i32 (ptr, ptr, i32)",
    "PyObject_RichCompareBool": "i32 (ptr, ptr, i32)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyTuple_Size": "i64 (ptr)",
    "PyType_GetName": "ptr (ptr)",
    "PyType_IsSubtype": "i32 (ptr, ptr)",
    "PyUnicode_Compare": "i32 (ptr, ptr)",
    "PyUnicode_FromStringAndSize": "ptr (ptr, i64)",
    "PyUnicode_InternInPlace": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}
EXCEPTIONS = ("ImportError", "IndexError", "MemoryError", "OverflowError", "TypeError", "ValueError")
VARIABLES = ("Py_Version", "PyDict_Type", "PyFloat_Type", "PyList_Type", "PyTuple_Type", "_Py_NoneStruct",
             "_Py_TrueStruct", "_Py_FalseStruct", *(f"PyExc_{name}" for name in EXCEPTIONS))

MESSAGES = {
    "wrong_type": "%s is of type %S, expected %s",
    "wrong_format": "%s is a buffer of format '%s', expected %s",
    "wrong_shape": "%s has shape %S, expected %s",
    "wrong_length": "%s has %lld items, expected %s",
    "wrong_value": "%s is %R, expected %s: it was fixed when the module was built",
    "wrong_keys": "%s has %lld keys, expected %s",
    "missing_key": "%s has no key %R, expected %s",
    "too_large": "%s is too large, expected %s",
    "too_many": "%s takes the arguments %s, got %lld",
    "no_argument": "%s takes the arguments %s, and has none named %R",
    "twice": "%s takes the arguments %s, and got %R twice",
    "lacking": "%s takes the arguments %s, and %R is not given",
    "no_feature": "%s was built for the processor level %s, and this machine lacks %s: build it with a lower cpu=...",
    "new_numpy": "numpy._core._multiarray_umath",
    "old_numpy": "numpy.core._multiarray_umath",
    "table_name": "_ARRAY_API",
    "cast": "cast",
    "cast_flat": "s",
    "cast_shape": "sO",
}


def text_constant(name: str, text: str) -> str:
    """A variable that holds a text as C does."""
    return bytes_constant(name, text.encode() + b"\0")


def bytes_constant(name: str, data: bytes, align: int = 1) -> str:
    """A variable that holds these bytes."""
    spelled = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
    return f'@{name} = private constant [{len(data)} x i8] c"{spelled}", align {align}'


def declarations() -> str:
    """The stable interface as far as it is used, and the variables of this text."""
    variables = [f"@{name} = external global ptr" for name in VARIABLES]
    typed = [(name, *kind.split(" ", 1)) for name, kind in FUNCTIONS.items()]
    functions = [f"declare {result} @{name}{arguments}" for name, result, arguments in typed]
    return "\n".join([*variables, *functions, *(text_constant(f".{name}", text) for name, text in MESSAGES.items())])
