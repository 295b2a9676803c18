"""What objects hold, for those that are compared by their contents and not by what they are.

    opened(deque([1.0, w], 5))     (deque, 5), [1.0, w]
    opened(os.environ)             (os._Environ, ("encodekey", ...)), [...]
    opened(iter([1.0]))            Unreadable: nobody can tell what it holds without changing it
    opened(model)                  None, for an object of a class of the user's: its attributes are read one by one
"""

from __future__ import annotations

import collections
import contextvars
import functools
import hashlib
import inspect
import io
import logging
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...ir.containers import state_of
from ..static_keys import ById, static_key
from ..tracing import is_foreign
from .frozen import is_generator

MISSING = ById("no value")
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)

Opened = tuple[tuple[Any, ...], Sequence[Any]]
"""What can be compared at once, and the parts that are opened in their turn."""


class Unreadable(Exception):
    """An object whose contents cannot be compared; with the way out."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def is_foreign_class(kind: type) -> bool:
    """Whether a class is a library's; those that only hold attributes are like the user's own."""
    if kind is types.SimpleNamespace or (kind.__module__, kind.__qualname__) == ("argparse", "Namespace"):
        return False
    return is_foreign_module(kind.__module__ or "")  # of a class made at run time it may be None


def is_foreign_module(name: str) -> bool:
    """Whether a module of this name is Python's, or one of a library."""
    if name.partition(".")[0] in sys.stdlib_module_names and name != "__main__":
        return True
    return is_foreign(getattr(sys.modules.get(name), "__file__", None) or "")


def opened(x: Any) -> Opened | None:
    """The contents of an object; None for what is known by identity: functions, modules, objects of the user's."""
    if callable(x) and is_method(x):
        return (type(x), getattr(x, "__name__", "")), (x.__self__,)
    for kinds, opener in _OPENERS:
        if isinstance(x, kinds):
            return opener(x)
    kind = type(x)
    if kind in weakref.ProxyTypes or isinstance(x, (*_BY_IDENTITY, type)) or is_generator(x):
        return None
    if not is_foreign_class(kind) or (kind.__module__ or "").partition(".")[0] == "pullback":
        return None
    if hasattr(kind, "__next__"):
        raise Unreadable(f"an iterator ({kind.__name__}), which gives another item at each call", _OUTSIDE)
    state = state_of(x)
    if state:
        return (kind, tuple(state)), list(state.values())
    return _of_c(x, kind)


_OUTSIDE = "take what it gives outside of the function, and pass that as an argument"
_WAYS = {"SuperLU": "call scipy.sparse.linalg.splu in the function: what it gives there solves for traced values"}
_BY_IDENTITY = (
    types.FunctionType, types.ModuleType, types.CodeType, property, classmethod, staticmethod, np.ufunc, np.dtype,
    functools.cached_property, logging.Logger, logging.Handler, logging.LoggerAdapter, types.GenericAlias,
)
"""What does not change, or whose changes are nothing that a function computes with."""


def _of_c(x: Any, kind: Any) -> Opened | None:
    """An object without attributes: compared by ==, as bytes, or by what would be pickled."""
    try:
        return _of_buffer(x)
    except (TypeError, ValueError, BufferError):
        pass
    if kind.__hash__ not in (None, object.__hash__) or callable(x) or kind is object:
        return None
    if kind.__module__ in ("_thread", "threading", "_contextvars", "contextvars"):
        return None
    try:
        made = x.__reduce_ex__(4)
    except Exception:
        verdict = f"a {kind.__module__}.{kind.__qualname__}, whose contents cannot be compared from call to call"
        raise Unreadable(verdict, _WAYS.get(kind.__qualname__, _OUTSIDE)) from None
    return (kind,), [list(p) if isinstance(p, Iterator) else p for p in made] if isinstance(made, tuple) else [made]


def _own(x: Any, tag: tuple[Any, ...], items: Iterable[Any], *builtin: type) -> Opened:
    """The items of a container, and the attributes that a subclass may have beside them."""
    if type(x) in builtin:
        return tag, items if isinstance(items, Sequence) else list(items)
    state = state_of(x)
    return (*tag, tuple(state)), [*items, *state.values()]


def _of_dict(x: Any) -> Opened:
    ordered = isinstance(x, collections.OrderedDict)
    keys = list(collections.OrderedDict.__iter__(x) if ordered else dict.__iter__(x))
    tag = (type(x), *map(static_key, keys))
    if isinstance(x, collections.defaultdict):
        tag = (*tag, ById(x.default_factory))
    return _own(x, tag, [dict.__getitem__(x, k) for k in keys], dict, collections.OrderedDict, collections.defaultdict)


def _of_set(x: Any) -> Opened:
    return _own(x, (type(x), *map(static_key, x)), (), set, frozenset)


def _of_buffer(x: Any) -> Opened:
    with memoryview(x) as view:
        data = view.tobytes()
        kept = data if len(data) < 64 else hashlib.blake2b(data).digest()
        return (type(x), view.format, tuple(view.shape or ()), kept), ()


def is_method(x: Any) -> bool:
    """Whether x is a method of an object of C, such as hist.append or rng.normal."""
    if isinstance(x, (type, types.FunctionType, types.MethodType)) or not is_foreign_class(type(x)):
        return False
    owner = inspect.getattr_static(type(x), "__self__", None) and x.__self__
    return owner is not None and not isinstance(owner, (types.ModuleType, type))


def _of_array(x: Any) -> Opened | None:
    """Arrays of objects, and masked ones; others are compared by those who open."""
    if isinstance(x, np.ma.MaskedArray):
        return (type(x),), (x.data, np.ma.getmaskarray(x))
    return ((type(x), x.shape), list(x.flat)) if x.dtype.hasobject else None


def _of_file(x: Any) -> Opened | None:
    try:
        if not x.closed and not x.readable():
            return None
    except ValueError:
        return None
    raise Unreadable(f"a file ({type(x).__name__}), which gives other data at each call", _OUTSIDE)


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()),
          *[type(getattr(collections.OrderedDict(), n)()) for n in ("keys", "values", "items")])
_OPENERS: list[tuple[Any, Callable[[Any], Opened | None]]] = [
    (PLAIN, lambda x: None),
    (np.ndarray, _of_array),
    (list, lambda x: _own(x, (type(x),), list.__iter__(x), list)),
    (tuple, lambda x: _own(x, (type(x),), tuple.__iter__(x), tuple)),
    (dict, _of_dict),
    ((set, frozenset), _of_set),
    (collections.deque, lambda x: _own(x, (type(x), x.maxlen), collections.deque.__iter__(x), collections.deque)),
    ((bytearray, memoryview), _of_buffer),
    (_VIEWS, lambda x: ((type(x),), list(x))),
    (types.MappingProxyType, lambda x: ((type(x),), [dict(x)])),
    (types.MethodType, lambda x: ((type(x), ById(x.__func__), ById(getattr(x.__func__, "__code__", None)),
                                   ById(x.__self__)), (x.__self__,))),
    (functools.partial, lambda x: ((type(x),), (x.func, x.args, x.keywords))),
    (contextvars.ContextVar, lambda x: ((type(x), ById(x)), (x.get(MISSING),))),
    (weakref.ReferenceType, lambda x: ((type(x), ById(x)), (x(),))),
    (slice, lambda x: ((slice,), (x.start, x.stop, x.step))),
    (io.IOBase, _of_file),
]

__all__ = [
    "MISSING", "PLAIN", "Opened", "Unreadable", "is_foreign_class", "is_foreign_module", "is_method",
    "opened",
]
