"""Locks that a child of a fork finds free, whoever held them in its parent; and a cached property that needs no lock.

A child has one thread, the one that forked. A lock that another thread of its parent held would never be released
there, so each lock of this package is made here and made anew in children. What it protects may have been half changed
at that moment: all of it are tables that are looked up again, or gradients of threads that the child has not.
"""

import os
from collections.abc import Callable
from threading import Lock, RLock
from typing import Any, Generic, TypeVar, overload
from weakref import WeakSet

T = TypeVar("T")

_locks: WeakSet[Any] = WeakSet()


def lock() -> Lock:
    """A lock that is not reentrant."""
    made = Lock()
    _locks.add(made)
    return made


def reentrant_lock() -> RLock:
    """A lock that its holder may take again."""
    made = RLock()
    _locks.add(made)
    return made


def _after_fork() -> None:
    """Free all locks in a child but those that the thread which forked holds itself."""
    for each in list(_locks):
        if not getattr(each, "_is_owned", bool)():
            each._at_fork_reinit()  # as the standard library does for its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class cached_property(Generic[T]):
    """An attribute that is computed when it is first asked for.

    Python's own had one lock for all instances until 3.12, which is held while one is computed: threads that compile
    waited for each other, and a child of a fork for ever. Here two threads may both compute, and both get what the
    first has stored.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: Any) -> "cached_property[T]": ...

    @overload
    def __get__(self, instance: object, owner: Any) -> T: ...

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.function(instance))


__all__ = ["cached_property", "lock", "reentrant_lock"]
