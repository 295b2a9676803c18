"""A class of annotated fields goes in, a dataclass comes out; its methods are written when its first object is made.

    @late_dataclass(frozen=True)
    class Place:
        line: int

Python writes the text of up to six methods for a dataclass and compiles it: half a millisecond for each class that is
imported, and a process makes objects of a quarter of them. What stands here before are methods that have the class
finished and then call what has taken their place. Everything else is `dataclasses`' own. With slots the class is made
anew, as `dataclasses` does, with its fields for slots; what they are by default is put aside until it is finished.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from .locks import reentrant_lock

C = TypeVar("C", bound=type)


class _Waiting(NamedTuple):
    """What is known of a class that is not finished: how `dataclass` is to be called, what stands in place of its
    attributes, and the defaults of fields that have slots."""

    how: dict[str, bool]
    before: list[str]
    defaults: dict[str, Any]


_waiting: dict[type, _Waiting] = {}

_lock = reentrant_lock()


@dataclass_transform(field_specifiers=(dataclasses.field,))
def late_dataclass(*, frozen: bool = False, eq: bool = True, slots: bool = False) -> Callable[[C], C]:
    """What `dataclasses.dataclass` does with the same arguments, later."""
    methods = ["__init__", "__repr__", *["__eq__", "__hash__"] * eq, *["__setattr__", "__delattr__"] * frozen]

    def begin(cls: C) -> C:
        cls, defaults = _slotted(cls, frozen) if slots else (cls, {})
        first: dict[str, Any] = {name: _method(cls, name) for name in methods}
        first |= {name: _Attribute(cls, name) for name in ("__dataclass_fields__", "__match_args__")}
        before = [name for name in first if name not in cls.__dict__]
        for name in before:
            setattr(cls, name, first[name])
        _waiting[cls] = _Waiting({"frozen": frozen, "eq": eq}, before, defaults)
        return cls

    return begin


def _method(cls: type, name: str) -> Callable[..., Any]:
    """The method of the first object: it finishes the class, and then is the method of that name."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        _finish(cls)
        found = getattr(cls, name)
        if found is None:  # objects that are compared and can be changed have no hash
            raise TypeError(f"unhashable type: {cls.__name__!r}")
        return found(self, *args, **kwargs)

    return method


class _Attribute:
    """What is asked of the class itself: by `is_dataclass`, by patterns, and for dataclasses derived from it."""

    def __init__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, instance: Any, owner: type) -> Any:
        _finish(self.cls)
        return getattr(owner, self.name)


def _slotted(cls: C, frozen: bool) -> tuple[C, dict[str, Any]]:
    """The same class with slots for its fields, and what these are by default."""
    inherited = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
    fields = inspect.get_annotations(cls)
    body = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    defaults = {name: body.pop(name) for name in fields if name in body}
    if frozen:  # what is copied is not set attribute by attribute
        body |= {"__getstate__": _state, "__setstate__": _set_state}
    body["__slots__"] = tuple([name for name in fields if name not in inherited])
    made: Any = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made, defaults


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


def _finish(cls: type) -> None:
    """Make dataclasses of a class and of those that it inherits from, these first; other threads wait for it."""
    with _lock:
        for each in reversed(cls.__mro__):
            if each not in _waiting:
                continue
            how, before, defaults = _waiting.pop(each)
            for name in before:
                delattr(each, name)
            places = {name: each.__dict__[name] for name in defaults if name in each.__dict__}
            for name, value in defaults.items():
                setattr(each, name, value)
            dataclasses.dataclass(**how)(each)
            for name in defaults:  # the slot is found again, by way of the class that has it
                if name in places:
                    setattr(each, name, places[name])
                elif name in each.__dict__:
                    delattr(each, name)


__all__ = ["late_dataclass"]
