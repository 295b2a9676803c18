"""What a function returned beside plain dicts, lists and tuples: whether another one like it can be made, and how."""

from __future__ import annotations

import array
import copy
import enum
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...ir.containers import apart, state_of
from .contents import is_foreign_class
from .kept import holds_traced


class Remade(NamedTuple):
    """How a container is made of its parts."""

    make: Callable[..., Any]
    parts: Sequence[Any]


def remade(x: Any) -> Remade | None:
    """How an object like x is made of parts; None if that is not known."""
    if isinstance(x, (set, bytearray, array.array)) and not holds_traced(x):
        return Remade(copier(x), ())
    found = None if isinstance(x, enum.Enum) else apart(x)
    return found and Remade(*found)


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
