"""A class of annotated fields goes in, a dataclass comes out; its methods are written when its first object is made.

    @late_dataclass(frozen=True)
    class Place:
        line: int

Python writes the text of up to six methods for a dataclass and compiles it: half a millisecond for each class that is
imported, and a process makes objects of a quarter of them. What stands here before are methods that have the class
finished and then call what has taken their place. Everything else is `dataclasses`' own; a class with slots is another
object than the one that was decorated, so such classes are made at once, by `dataclass`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from .locks import reentrant_lock

C = TypeVar("C", bound=type)

_waiting: dict[type, tuple[dict[str, bool], list[str]]] = {}
"""Classes that are not finished: how `dataclass` is to be called, and the methods that stand in their place."""

_lock = reentrant_lock()


@dataclass_transform(field_specifiers=(dataclasses.field,))
def late_dataclass(*, frozen: bool = False, eq: bool = True) -> Callable[[C], C]:
    """What `dataclasses.dataclass` does with the same arguments, later."""
    methods = ["__init__", "__repr__", *["__eq__", "__hash__"] * eq, *["__setattr__", "__delattr__"] * frozen]

    def begin(cls: C) -> C:
        first: dict[str, Any] = {name: _method(cls, name) for name in methods}
        first |= {name: _Attribute(cls, name) for name in ("__dataclass_fields__", "__match_args__")}
        before = [name for name in first if name not in cls.__dict__]
        for name in before:
            setattr(cls, name, first[name])
        _waiting[cls] = {"frozen": frozen, "eq": eq}, before
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


def _finish(cls: type) -> None:
    """Make dataclasses of a class and of those that it inherits from, these first; other threads wait for it."""
    with _lock:
        for each in reversed(cls.__mro__):
            if each in _waiting:
                how, before = _waiting.pop(each)
                for name in before:
                    delattr(each, name)
                dataclasses.dataclass(**how)(each)


__all__ = ["late_dataclass"]
