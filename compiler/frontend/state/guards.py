"""Hidden inputs that native code can watch: the objects at places, and what some that may change hold."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...backend.entries.hidden import Guard
from ...ir.types import HELD, TRACED
from ..operators import is_array_like
from ..tracing import is_foreign
from ..tree import MADE_OF
from .contents import MISSING, PLAIN, Unreadable, opened
from .reading import Hidden, Source

BYTES, ITEMS = 1 << 20, 256
"""What native code compares at each call at most, bytes of arrays and items of containers: beyond, to ask Python is
soon no dearer."""


class _Unseen(Exception):
    """Something may change in a way that no guard would see."""


def native_guards(hidden: Hidden, contents: bool = False) -> tuple[Guard, ...] | None:
    """Guards that hold as long as `hidden.read()` gives the same; None if objects could tell no change.

    Numbers, strings, functions with their code, modules and tuples of these are known by identity. With `contents`, so
    are attributes, and arrays, lists and dicts by what they hold. For others every call reads the hidden inputs in
    Python.
    """
    watch = _Watch(contents)
    try:
        guards = [each for source in hidden.sources for each in watch.source(source)]
    except (_Unseen, Unreadable):
        return None
    return tuple(guards)


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


class _Watch:
    """The guards of one function's hidden inputs."""

    def __init__(self, contents: bool) -> None:
        self.contents = contents
        self.bytes = self.items = 0
        self.seen: dict[int, Any] = {}

    def source(self, source: Source) -> Iterable[Guard]:
        """The guards of a place, and of what stands there."""
        if source.kind == "defaults":
            function = source.holder
            if function.__kwdefaults__:
                raise _Unseen
            yield Guard("defaults", function, "", function.__defaults__)
            yield Guard("keyword defaults", function, "", function.__kwdefaults__)
            yield from self.inside(function.__defaults__)
            return
        value = source.read()
        if source.kind == "global" and value is MISSING:
            yield Guard("no global", source.holder, source.name, None)
            return
        if value is MISSING:
            raise _Unseen
        if source.kind in ("global", "cell"):
            yield Guard(source.kind, source.holder, source.name, value)
        elif source.kind == "attribute":
            yield from self._attribute(source.holder, source.name)
        elif source.kind != "argument":  # which the entry knows by identity
            raise _Unseen
        yield from self.inside(value)

    def _attribute(self, holder: Any, name: str) -> Iterable[Guard]:
        """The guards of an attribute that stands in the dict of a module or object, or of its class."""
        if not self.contents:
            raise _Unseen
        if type(holder) is types.ModuleType:
            yield Guard("global", vars(holder), name, vars(holder)[name])
            return
        if type(holder) is type:
            yield from self._of_class(holder, name)
            return
        kind, own = type(holder), getattr(holder, "__dict__", None)
        if isinstance(holder, type) or type(own) is not dict or kind.__getattribute__ not in _PLAINLY:
            raise _Unseen
        yield Guard("class", holder, "", kind)
        if name in own:
            yield from self._of_class(kind, name, there=False)
            yield Guard("attribute", holder, name, own[name])
        else:
            yield Guard("no attribute", holder, name, None)
            yield from self._of_class(kind, name)

    def _of_class(self, kind: type, name: str, there: bool = True) -> Iterable[Guard]:
        """The guards of what stands under a name in a class or those that it inherits from; or of nothing there."""
        for base in kind.__mro__:
            if not base.__flags__ & HEAP:  # a class of C's, which nobody changes
                if name in vars(base):
                    raise _Unseen
                continue
            (space,) = gc.get_referents(vars(base))
            if name not in space:
                yield Guard("no global", space, name, None)
                continue
            if not there or (hasattr(type(space[name]), "__get__") and not isinstance(space[name], types.FunctionType)):
                raise _Unseen
            yield Guard("global", space, name, space[name])
            return
        if there:
            raise _Unseen

    def inside(self, value: Any) -> Iterable[Guard]:
        """Guards on what can change within an object that is known by identity."""
        if isinstance(value, (*PLAIN, types.ModuleType, type, np.ufunc, _OF_NUMPY)):
            return
        if isinstance(value, types.FunctionType):
            if not is_foreign(value.__code__.co_filename):
                yield Guard("code", value, "", value.__code__)
        elif isinstance(value, types.MethodType):
            yield from self.inside(value.__func__)
            yield from self.inside(value.__self__)
        elif isinstance(value, types.BuiltinFunctionType):
            if opened(value) is not None:
                raise _Unseen
        elif type(value) is tuple:
            for each in value:
                yield from self.inside(each)
        elif not self.contents:
            raise _Unseen
        elif id(value) not in self.seen:
            self.seen[id(value)] = value
            yield from self._contents_of(value)

    def _contents_of(self, value: Any) -> Iterable[Guard]:
        kind = type(value)
        if kind is np.ndarray:
            yield self._bits(value)
        elif kind in (list, dict):
            held = tuple(value) if kind is list else tuple([each for pair in value.items() for each in pair])
            self.items += len(held)
            if self.items > ITEMS:
                raise _Unseen
            yield Guard("list" if kind is list else "dict", value, "", held)
            for each in held:
                yield from self.inside(each)
        elif kind in MADE_OF or is_array_like(value) or isinstance(value, np.ndarray) or opened(value) is not None:
            raise _Unseen

    def _bits(self, array: np.ndarray) -> Guard:
        """The guard on the bits of an array, if they lie one after the other."""
        dtype = TRACED.get(array.dtype, "")
        self.bytes += array.nbytes
        if array.dtype is not HELD.get(dtype) or self.bytes > BYTES or not array.flags.forc:
            raise _Unseen
        return Guard("array", array, dtype, array.tobytes("A"))


HEAP = 1 << 9
"""Of the flags of a class: it was made at run time. See Py_TPFLAGS_HEAPTYPE in CPython's documentation."""

_PLAINLY = (object.__getattribute__, types.SimpleNamespace.__getattribute__)
"""How attributes are found where nothing else is asked than dicts and classes."""

_OF_NUMPY = type(np.sum)
"""The type of NumPy's functions that ask their arguments."""

__all__ = ["holds", "native_guards"]
