"""The functions that native entries and their type need, and those that list graphs, in memory once for the process."""

from __future__ import annotations

from ..disk.cache import enabled, kept_object
from ..linking.module import Linked, link
from ..listing import listing_text
from ..once import once
from ..python_abi import symbol
from . import help_text, type_text

_VARIABLES = ("PyArray_Type", "PyDict_Type", "PyExc_RuntimeError", "PyFloat_Type", "PyTuple_Type", "_Py_NoneStruct")
_FUNCTIONS = {
    "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)",
    "PyErr_SetString": "void (ptr, ptr)",
    "PyList_Append": "i32 (ptr, ptr)",
    "PyList_New": "ptr (i64)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyMethod_New": "ptr (ptr, ptr)",
    "PyObject_GC_UnTrack": "void (ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyType_GenericNew": "ptr (ptr, ptr, ptr)",
    "PyType_GetSlot": "ptr (ptr, i32)",
    "PyUnicode_InternFromString": "ptr (ptr)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}

_TEXTS = {
    "slow_name": "__slow__",
    "failed_name": "__failed__",
    "silent_message": "a kernel failed, and __failed__ returned instead of raising",
}


def _declarations() -> str:
    variables = [f"@{name} = external global i8" for name in _VARIABLES]
    typed = [(name, *kind.split(" ", 1)) for name, kind in _FUNCTIONS.items()]
    functions = [f"declare {result} @{name}{arguments}" for name, result, arguments in typed]
    texts = [f'@{name} = private constant [{len(text) + 1} x i8] c"{text}\\00"'
             for name, text in _TEXTS.items()]
    return "\n".join([*variables, *functions, *texts])


@once
def _module() -> Linked:
    listing = listing_text.text()
    text = _declarations() + type_text.TEXT + help_text.TEXT + listing
    symbols = {name: symbol(name) for name in (*_VARIABLES, *_FUNCTIONS)} | listing_text.symbols()
    exports = type_text.EXPORTED + help_text.EXPORTED + (listing_text.EXPORTED if listing else ())
    return link(kept_object(text, 2 if enabled() else 0), symbols, exports)  # once, if it is kept


def address(name: str) -> int:
    """The address of one of the functions."""
    return _module().address(name)
