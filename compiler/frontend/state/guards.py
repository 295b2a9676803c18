"""Hidden inputs that native code can watch: places whose objects cannot change without being replaced."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ...backend.entries.hidden import Guard
from ...ir.types import NAMES, STORED
from ..tracing import is_foreign
from .contents import MISSING, PLAIN, opened
from .reading import Hidden, Source


def native_guards(hidden: Hidden, arrays: bool = False) -> tuple[Guard, ...] | None:
    """Guards that hold as long as `hidden.read()` gives the same; None if objects could tell no change.

    Numbers, strings, functions with their code, modules and tuples of these are known by identity; with `arrays`, arrays
    of `MOST` bytes together by their bits. Lists, dicts and attributes are not known: for them every call reads the
    hidden inputs in Python.
    """
    guards: list[Guard] = []
    for source in hidden.sources:
        made = _of_source(source, arrays)
        if made is None:
            return None
        guards += made
    bits = [len(each.expected) for each in guards if each.kind == "array"]
    return None if sum(bits) > MOST else tuple(guards)


def holds(guard: Guard) -> bool:
    """Whether the same object stands there: what native entries ask, in Python."""
    kind, holder, name, expected = guard
    if kind == "global":
        return holder.get(name, MISSING) is expected
    if kind == "no global":
        return name not in holder
    if kind == "cell":
        return any(content is expected for content in _contents(holder))
    return getattr(holder, _ATTRIBUTES[kind]) is expected


_ATTRIBUTES = {"code": "__code__", "defaults": "__defaults__", "keyword defaults": "__kwdefaults__"}


def _contents(cell: types.CellType) -> tuple[Any, ...]:
    """What a closure's cell holds, if anything."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _of_source(source: Source, arrays: bool) -> list[Guard] | None:
    if source.kind == "defaults":
        function = source.holder
        if function.__kwdefaults__:
            return None
        inside = _inside(function.__defaults__, arrays)
        here = [
            Guard("defaults", function, "", function.__defaults__),
            Guard("keyword defaults", function, "", function.__kwdefaults__),
        ]
        return None if inside is None else here + inside
    value = source.read()
    if source.kind == "global" and value is MISSING:
        return [Guard("no global", source.holder, source.name, None)]
    if source.kind == "argument":  # which the entry knows by identity
        inside = _inside(value, arrays)
        return [] if inside is None and opened(value) is None else inside
    if value is MISSING or source.kind not in ("global", "cell"):
        return None
    inside = _inside(value, arrays)
    return None if inside is None else [Guard(source.kind, source.holder, source.name, value), *inside]


def _inside(value: Any, arrays: bool) -> list[Guard] | None:
    """Guards on what can change within an object that is known by identity."""
    if isinstance(value, types.FunctionType):
        if is_foreign(value.__code__.co_filename):
            return []
        return [Guard("code", value, "", value.__code__)]
    if type(value) is tuple:
        parts = [_inside(each, arrays) for each in value]
        return None if any(p is None for p in parts) else [g for p in parts if p for g in p]
    if isinstance(value, types.BuiltinFunctionType):
        return [] if opened(value) is None else None
    if isinstance(value, (*PLAIN, types.ModuleType, type, np.ufunc, _OF_NUMPY)):
        return []
    return _bits(value) if arrays and type(value) is np.ndarray else None


def _bits(array: np.ndarray) -> list[Guard] | None:
    """The guard on the bits of an array, if it lies as native code reads arrays and is not too large."""
    dtype, flags = NAMES.get(array.dtype, ""), array.flags
    if array.dtype is not STORED.get(dtype) or array.nbytes > MOST or not (flags.c_contiguous and flags.aligned):
        return None
    return [Guard("array", array, dtype, array.tobytes())]


MOST = 1 << 20
"""Bytes of arrays that native code compares at each call: to ask Python is soon no dearer, and the bits are kept."""


_OF_NUMPY = type(np.sum)
"""The type of NumPy's functions that ask their arguments."""
