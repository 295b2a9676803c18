"""What objects that can change held at some time, whether they still hold it, and how it is put back.

Two contents are the same if the same objects stand in the same places; arrays and buffers if their bytes are the same.
"""

from __future__ import annotations

import array
import collections
import contextlib
import contextvars
import io
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...ir.containers import state_of
from ..array import Array
from ..tree import MADE_OF
from . import frozen
from .contents import MISSING, PLAIN, is_foreign_class, is_foreign_module

SMALL = 1 << 22
"""Bytes up to which an array can be put back."""

LIMIT = 50_000
"""How many objects are looked at."""

Content = tuple[Any, dict[str, Any]]
"""The items of a container, and attributes."""


def content(x: Any) -> Content | None:
    """What an object holds; None if it cannot change, or that is nobody's business."""
    if isinstance(x, type):
        return None if is_foreign_class(x) else (None, dict(vars(x)))
    if isinstance(x, types.ModuleType):
        return None if is_foreign_module(x.__name__) else (None, dict(vars(x)))
    if isinstance(x, types.FunctionType):
        return None, dict(x.__dict__)
    kind = type(x)
    if frozen.is_generator(x):
        return frozen.state(x), {}
    items = next((take(x) for kinds, take, _ in _CONTAINERS if isinstance(x, kinds)), None)
    if kind in _EXACT:
        return items, {}
    if (kind.__module__ or "").partition(".")[0] in ("pullback", "logging", "numpy") and items is None:
        return (_bytes(MADE_OF[kind][0](x)), {}) if kind in MADE_OF else None
    state = state_of(x)
    return (items, state) if items is not None or _has_attributes(x) else None


def _has_attributes(x: Any) -> bool:
    """Whether an object can be given attributes, also if it has none yet."""
    return hasattr(x, "__dict__") or any(vars(base).get("__slots__") for base in type(x).__mro__)


def differences(x: Any, before: Content) -> Iterator[tuple[str, Any]]:
    """What has changed: the names of attributes, or none for items; and what is there now."""
    now = content(x)
    if now is None:
        return
    if not _same(now[0], before[0]):
        yield "", x
    for name in {**before[1], **now[1]}:
        value = now[1].get(name, MISSING)
        if value is not before[1].get(name, MISSING):
            yield name, value


def put_back(x: Any, before: Content, name: str) -> None:
    """Let an object hold what it held: an attribute, or its items."""
    items, state = before
    if name:
        _set(x, name, state.get(name, MISSING))
    elif frozen.is_generator(x):
        frozen.set_state(x, items)
    else:
        put = next((put for kinds, _, put in _CONTAINERS if isinstance(x, kinds)), None)
        if put is not None:
            put(x, items)


def _set(x: Any, name: str, value: Any) -> None:
    if isinstance(x, type):
        type.__delattr__(x, name) if value is MISSING else type.__setattr__(x, name, value)
    elif value is MISSING:
        object.__delattr__(x, name)
    else:
        object.__setattr__(x, name, value)


def _same(a: Any, b: Any) -> bool:
    """Whether two contents are the same."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_is, a, b))
    if isinstance(a, dict):
        return frozen.same_state(a, b)
    return a is b or bool(a == b)


def _is(a: Any, b: Any) -> bool:
    return a is b


def _bytes(x: Any) -> Any:
    """The bytes of an array or buffer; of a long one, sums that tell it from others."""
    data = np.ascontiguousarray(x) if isinstance(x, np.ndarray) else np.frombuffer(bytes(x), np.uint8)
    if data.nbytes <= SMALL:
        return data.tobytes()
    flat = data.reshape(-1).view(np.uint8)
    words = flat[: flat.size // 8 * 8].view(np.uint64)
    return "long", int(np.add.reduce(words)), int(np.bitwise_xor.reduce(words)), flat[words.nbytes :].tobytes()


def _pairs(x: Any) -> list[Any]:
    base: Any = collections.OrderedDict if isinstance(x, collections.OrderedDict) else dict
    return [each for pair in base.items(x) for each in pair]


def _put_pairs(x: Any, flat: list[Any]) -> None:
    base: Any = collections.OrderedDict if isinstance(x, collections.OrderedDict) else dict
    base.clear(x)
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        base.__setitem__(x, key, value)


def _put_array(x: Any, before: Any) -> None:
    if isinstance(before, list):
        x[...] = np.array(before, object).reshape(x.shape)
    elif isinstance(before, bytes) and x.flags.writeable:
        x[...] = np.frombuffer(before, x.dtype).reshape(x.shape)


def _put_set(x: Any, before: list[Any]) -> None:
    set.clear(x)
    set.update(x, before)


def _put_queue(x: Any, before: list[Any]) -> None:
    collections.deque.clear(x)
    collections.deque.extend(x, before)


def _put_buffer(x: Any, before: Any) -> None:
    if isinstance(before, bytes):
        x[:] = before if isinstance(x, bytearray) else type(x)(x.typecode, before)


def _position(x: Any) -> Any:
    """How far a file has been written."""
    try:
        return x.tell() if x.seekable() else 0
    except (ValueError, OSError):  # closed, or not there any more
        return 0


def _put_variable(x: Any, before: list[Any]) -> None:
    if before[0] is not MISSING:
        x.set(before[0])
    else:
        with contextlib.suppress(LookupError):  # where it has no default it cannot be unset
            x.set(contextvars.Context().run(x.get))


_CONTAINERS: list[tuple[Any, Callable[[Any], Any], Callable[[Any, Any], None]]] = [
    (list, lambda x: list(list.__iter__(x)), lambda x, old: list.__setitem__(x, slice(None), old)),
    (dict, _pairs, _put_pairs),
    (set, lambda x: list(set.__iter__(x)), _put_set),
    (collections.deque, lambda x: list(collections.deque.__iter__(x)), _put_queue),
    ((bytearray, array.array), _bytes, _put_buffer),
    (np.ndarray, lambda x: list(x.flat) if x.dtype.hasobject else _bytes(x), _put_array),
    (io.IOBase, _position, lambda x, old: None),
    (contextvars.ContextVar, lambda x: [x.get(MISSING)], _put_variable),
]
_EXACT = {list, dict, set, bytearray, array.array, np.ndarray, contextvars.ContextVar, collections.deque,
          collections.OrderedDict, collections.defaultdict}


# ---- traced values within


def holds_traced(x: Any) -> bool:
    """Whether an object is a traced value or holds one, as deep as we look."""
    pending, seen = [x], set()
    while pending and len(seen) < LIMIT:
        each = pending.pop()
        if isinstance(each, Array):
            return True
        if isinstance(each, PLAIN) or id(each) in seen or isinstance(each, (type, types.ModuleType)):
            continue
        seen.add(id(each))
        pending += parts(each)
    return False


def parts(x: Any) -> list[Any]:
    """What an object holds, whatever it is; of a function, what it closes over."""
    if isinstance(x, types.FunctionType):
        cells = [c.cell_contents for c in x.__closure__ or () if _is_bound(c)]
        return [*cells, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values(), *x.__dict__.values()]
    if isinstance(x, types.MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, types.GeneratorType):
        return [] if x.gi_frame is None else list(x.gi_frame.f_locals.values())
    if isinstance(x, (tuple, set, frozenset)):
        return [*(tuple.__iter__(x) if isinstance(x, tuple) else x), *state_of(x).values()]
    if isinstance(x, BaseException):
        return [*x.args, *vars(x).values()]
    if isinstance(x, np.ndarray):
        return list(x.flat) if x.dtype.hasobject else []
    if isinstance(x, types.MappingProxyType) or type(x) in VIEWS:
        return list(x.items()) if isinstance(x, types.MappingProxyType) else list(x)
    if isinstance(x, types.CellType):
        return [x.cell_contents] if _is_bound(x) else []
    if hasattr(x, "closes_over"):  # a function that was made in a walk
        return x.closes_over()
    if hasattr(x, "func") and hasattr(x, "keywords"):
        return [x.func, *x.args, *x.keywords.values()]
    held = content(x)
    if held is None:
        return []
    return [*(held[0] if isinstance(held[0], list) else ()), *held[1].values()]


VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
"""What dicts show of themselves."""


def _is_bound(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


__all__ = ["VIEWS", "Content", "content", "differences", "holds_traced", "put_back"]
