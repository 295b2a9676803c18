"""Containers that are not dict, list or tuple, made anew of their parts: subclasses of these, deques, dataclasses."""

from __future__ import annotations

import array
import collections
import copy
import dataclasses
import enum
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..tree import state_of
from .contents import is_foreign_class
from .kept import holds_traced


class Remade(NamedTuple):
    """How a container is made of its parts."""

    make: Callable[..., Any]
    parts: Sequence[Any]


def remade(x: Any) -> Remade | None:
    """How an object like x is made of parts; None if that is not known."""
    kind = type(x)
    if isinstance(x, dict):
        return _dict(x)
    if isinstance(x, list):
        return _sequence(x, list, list.__iter__(x), lambda made, items: list.extend(made, items))
    if isinstance(x, collections.deque):
        return _deque(x)
    if isinstance(x, tuple):
        count, state = tuple.__len__(x), state_of(x)
        return Remade(lambda *parts: _with(tuple.__new__(kind, parts[:count]), state, parts[count:]),
                      [*tuple.__iter__(x), *state.values()])
    if isinstance(x, (set, bytearray, array.array)) and not holds_traced(x):
        return Remade(copier(x), ())
    if isinstance(x, type) or not (_is_record(x) or kind is types.SimpleNamespace):
        return None
    state = state_of(x)
    return Remade(lambda *parts: _with(kind.__new__(kind) if kind is types.SimpleNamespace else object.__new__(kind),
                                       state, parts), list(state.values()))


def _is_record(x: Any) -> bool:
    """Whether an object is one of a dataclass, or of attrs."""
    return dataclasses.is_dataclass(x) or hasattr(type(x), "__attrs_attrs__")


def _with(made: Any, names: Sequence[str] | dict[str, Any], values: Sequence[Any]) -> Any:
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _sequence(x: Any, base: Any, items: Any, fill: Callable[[Any, Any], None]) -> Remade:
    kind, state, held = type(x), state_of(x), list(items)
    count = len(held)

    def make(*parts: Any) -> Any:
        made = base.__new__(kind)
        fill(made, parts[:count])
        return _with(made, state, parts[count:])

    return Remade(make, [*held, *state.values()])


def _deque(x: Any) -> Remade:
    most = x.maxlen

    def fill(made: Any, items: Any) -> None:
        collections.deque.__init__(made, items, most)

    return _sequence(x, collections.deque, collections.deque.__iter__(x), fill)


def _dict(x: Any) -> Remade:
    base: Any = next(b for b in (collections.OrderedDict, collections.defaultdict, dict) if isinstance(x, b))
    keys, factory = list(base.__iter__(x)), getattr(x, "default_factory", None)

    def fill(made: Any, values: Any) -> None:
        for key, value in zip(keys, values, strict=True):
            base.__setitem__(made, key, value)
        if base is collections.defaultdict:
            made.default_factory = factory

    return _sequence(x, base, [base.__getitem__(x, k) for k in keys], fill)


# ---- what has nothing traced in it


def is_lasting(x: Any) -> bool:
    """Whether it does not matter that all calls return one and the same object."""
    if isinstance(x, (type, types.FunctionType, types.ModuleType, enum.Enum)) or is_foreign_class(type(x)):
        return True
    return not state_of(x)


def copier(x: Any) -> Callable[[], Any]:
    """What makes another one like it at each call."""
    kept = _copied(x)
    return lambda: _copied(kept)


def _copied(x: Any) -> Any:
    try:
        return copy.deepcopy(x)
    except Exception:  # what cannot be copied is what it is
        return x


__all__ = ["Remade", "copier", "is_lasting", "remade"]
