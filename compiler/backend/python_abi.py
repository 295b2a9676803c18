"""The layout of CPython's and NumPy's objects, as far as native entries read them.

Every offset is compared with live objects when this module is imported. `SUPPORTED` is true where
all of them agree; elsewhere (free-threaded builds, PyPy, builds with extra headers, versions not
seen yet) kernels are called through ctypes and nothing here is used.

Sources: CPython's Include/cpython/*.h and Include/internal/pycore_dict.h (3.11 to 3.14); NumPy's
ndarraytypes.h and the table in numpy/_core/code_generators/numpy_api.py (2.x).
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from ..ir.types import STORED
from .process import interpreter_symbol, python_callable, read_bytes, read_word

# Offsets in bytes from the start of an object.
REFERENCES = 0  # the low 32 bits count, also where immortal objects have marks in the high ones
TYPE = 8
SIZE = 16  # of lists and tuples; the number of items of a dict
FLOAT_VALUE = 16
TUPLE_ITEMS = 24
LIST_ITEMS = 24  # a pointer to the items
SLICE_ITEMS = 16  # start, stop and step
BYTES_DATA = 32
DICT_KEYS = 32  # a pointer to the table of keys
KEYS_KIND = 10  # in that table: 0 where some key is not a plain string
ARRAY_DATA = 16
ARRAY_RANK = 24
ARRAY_SHAPE = 32
ARRAY_STRIDES = 40
ARRAY_BASE = 48
ARRAY_DTYPE = 56
ARRAY_FLAGS = 64
ARRAY_WEAK = 72
TYPE_DEALLOC = 48
TYPE_GETATTR = 144
TYPE_FLAGS = 168
CELL_CONTENTS = 16
FUNCTION_CODE = 48
FUNCTION_DEFAULTS = 56
FUNCTION_KEYWORD_DEFAULTS = 64

# Bits of an array's flags.
C_CONTIGUOUS = 0x1
F_CONTIGUOUS = 0x2
OWNS_DATA = 0x4
ALIGNED = 0x100
WRITEABLE = 0x400

# Bits of a type's flags, and the numbers of slots and member kinds given to PyType_FromSpec.
IMMUTABLE_TYPE = 1 << 8
BASE_TYPE = 1 << 10
HAVE_VECTORCALL = 1 << 11
HAVE_GC = 1 << 14
METHOD_DESCRIPTOR = 1 << 17
SLOT_CALL, SLOT_CLEAR, SLOT_DEALLOC, SLOT_DESCR_GET = 50, 51, 52, 54
SLOT_DOC, SLOT_NEW, SLOT_TRAVERSE, SLOT_MEMBERS, SLOT_FREE = 56, 65, 71, 72, 74
SLOT_HASH, SLOT_INIT, SLOT_METHODS, SLOT_COMPARE, SLOT_GETSET = 59, 60, 64, 67, 73
MEMBER_OR_NONE, MEMBER_OBJECT, MEMBER_SIZE, MEMBER_READONLY = 6, 16, 19, 1
FASTCALL = 0x80
ARGUMENT_COUNT_MASK = (1 << 63) - 1

_NUMPY_TABLE = {"PyArray_GetNDArrayCVersion": 0, "PyArray_Type": 2, "PyArray_Scalar": 60,
                "PyArray_New": 93, "PyDataMem_SetHandler": 304}

def symbol(name: str) -> int:
    """The address of an entry of the interpreter's or NumPy's C interface, or of a type object."""
    if name in _NUMPY_TABLE:
        return read_word(_numpy_table() + 8 * _NUMPY_TABLE[name])
    return interpreter_symbol(name)


def _numpy_table() -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(_multiarray_umath._ARRAY_API, None)


def _field(kind: str, value: object, offset: int) -> Any:
    """A field of an object, in the notation of `struct`."""
    return struct.unpack(kind, read_bytes(id(value) + offset, struct.calcsize(kind)))[0]


def _known_interpreter() -> bool:
    return (sys.implementation.name == "cpython" and (3, 11) <= sys.version_info[:2] <= (3, 14)
            and not sysconfig.get_config_var("Py_GIL_DISABLED")
            and not hasattr(sys, "getobjects")  # builds that trace references have a longer header
            and sys.byteorder == "little" and struct.calcsize("P") == 8
            and np.lib.NumpyVersion(np.__version__).major == 2)


def _header_agrees() -> bool:
    class Plain:
        pass

    class Asked:
        def __getattr__(self, name: str) -> None: ...

    fresh = Plain()
    ways = [_field("<Q", cls, TYPE_GETATTR) for cls in (object, Plain, Asked)]
    before = _field("<I", fresh, REFERENCES)
    more = [fresh] * 5
    return (_field("<I", fresh, REFERENCES) == before + len(more)
            and _field("<Q", fresh, TYPE) == id(Plain)
            and ways[0] == ways[1] != ways[2]
            and _field("<Q", Plain, TYPE_FLAGS) == Plain.__flags__
            and _field("<Q", int, TYPE_FLAGS) == int.__flags__)


def _numbers_and_sequences_agree() -> bool:
    first, second = object(), object()
    pair, items = (first, second), [first, second]
    addresses = struct.pack("<QQ", id(first), id(second))
    return (all(_field("<d", value, FLOAT_VALUE) == value for value in (1234.5, -2.0**-1000))
            and _field("<q", pair, SIZE) == _field("<q", items, SIZE) == 2
            and read_bytes(id(pair) + TUPLE_ITEMS, 16) == addresses
            and read_bytes(read_word(id(items) + LIST_ITEMS), 16) == addresses
            and read_bytes(id(slice(first, second, pair)) + SLICE_ITEMS, 16) == addresses
            and read_bytes(id(addresses) + BYTES_DATA, 16) == addresses)


def _dicts_agree() -> bool:
    def kind(table: dict) -> int:
        return read_bytes(read_word(id(table) + DICT_KEYS) + KEYS_KIND, 1)[0]

    class Text(str):
        pass

    words, mixed, derived = {"a": 1, "b": 2, "c": 3}, {"a": 1, 2: 3}, {Text("a"): 1}
    return (_field("<q", words, SIZE) == 3 and _field("<q", {}, SIZE) == 0
            and kind(words) == 1 and kind(mixed) == 0 and kind(derived) == 0)


def _arrays_agree() -> bool:
    whole = np.zeros((4, 10), np.float32)
    array = whole[::2, 1::2]
    watched = weakref.ref(whole)
    if watched() is not whole or _field("<Q", array, ARRAY_DATA) != array.__array_interface__["data"][0]:
        return False
    shape = read_bytes(read_word(id(array) + ARRAY_SHAPE), 16)
    strides = read_bytes(read_word(id(array) + ARRAY_STRIDES), 16)
    return bool(_field("<i", array, ARRAY_RANK) == 2
            and struct.unpack("<qq", shape) == array.shape
            and struct.unpack("<qq", strides) == array.strides
            and _field("<Q", array, ARRAY_BASE) == id(whole) and _field("<Q", whole, ARRAY_BASE) == 0
            and whole.flags.num & OWNS_DATA and not array.flags.num & OWNS_DATA
            and _field("<Q", array, ARRAY_WEAK) == 0 != _field("<Q", whole, ARRAY_WEAK)
            and _field("<Q", array, ARRAY_DTYPE) == id(array.dtype) == id(STORED["f32"])
            and all(_field("<i", x, ARRAY_FLAGS) == x.flags.num for x in (array, array.copy()))
            and np.zeros(3).flags.num & (C_CONTIGUOUS | ALIGNED) == C_CONTIGUOUS | ALIGNED
            and not array.flags.num & C_CONTIGUOUS
            and array.flags.num & WRITEABLE and not np.broadcast_to(array, (2, 2, 5)).flags.num & WRITEABLE)


def _functions_agree() -> bool:
    inside = object()

    def plain(x: int = 3, *, y: int = 4) -> object:
        return inside, x, y

    def bare() -> None:
        return None

    cell = plain.__closure__[0] if plain.__closure__ else None
    return (_field("<Q", cell, CELL_CONTENTS) == id(inside)
            and _field("<Q", plain, FUNCTION_CODE) == id(plain.__code__)
            and _field("<Q", plain, FUNCTION_DEFAULTS) == id(plain.__defaults__)
            and _field("<Q", plain, FUNCTION_KEYWORD_DEFAULTS) == id(plain.__kwdefaults__)
            and _field("<Q", bare, FUNCTION_DEFAULTS) == _field("<Q", bare, FUNCTION_KEYWORD_DEFAULTS) == 0)


def _numpy_interface_agrees() -> bool:
    version = python_callable(symbol("PyArray_GetNDArrayCVersion"), ctypes.c_uint)
    if symbol("PyArray_Type") != id(np.ndarray) or version() >> 24 != 2:
        return False
    pointer, number, value = ctypes.c_void_p, ctypes.c_int, ctypes.py_object
    new = python_callable(symbol("PyArray_New"), value, value, number, pointer, number, pointer,
                          pointer, number, number, pointer)
    made = new(np.ndarray, 2, (ctypes.c_int64 * 2)(2, 3), STORED["i32"].num, None, None, 0, 0, None)
    scalar = python_callable(symbol("PyArray_Scalar"), value, pointer, value, pointer)
    half = scalar(ctypes.byref(ctypes.c_double(0.5)), STORED["f64"], None)
    return (type(made) is np.ndarray and made.shape == (2, 3) and made.dtype is STORED["i32"]
            and made.flags.c_contiguous and type(half) is np.float64 and half == 0.5
            and _field("<d", np.float64(0.5), FLOAT_VALUE) == 0.5 and _field("<f", np.float32(0.5), FLOAT_VALUE) == 0.5
            and _field("<q", np.int64(-7), FLOAT_VALUE) == -7 and _field("<i", np.int32(-7), FLOAT_VALUE) == -7)


_CHECKS: tuple[Callable[[], bool], ...] = (
    _known_interpreter, _header_agrees, _numbers_and_sequences_agree, _dicts_agree, _arrays_agree,
    _functions_agree, _numpy_interface_agrees)

SUPPORTED: bool = all(check() for check in _CHECKS)  # stops at the first that fails
