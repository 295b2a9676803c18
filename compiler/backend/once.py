"""What is made once for the process, and whose address native code knows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def once(make: Callable[P, T]) -> Callable[P, T]:
    """`functools.cache` for what native code refers to: of two threads that make the same, both get the one that is
    kept. With `functools.cache` the other one's would be unloaded while its address is in use."""
    known: dict[Any, T] = {}

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        key = (*args, *kwargs.items()) if kwargs else args
        found = known.get(key)
        return known.setdefault(key, make(*args, **kwargs)) if found is None else found

    return made
