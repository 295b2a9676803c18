"""What is static in a call, as keys: equal for values that mean the same to a traced function.

    static_key(1.0) != static_key(1)        types count, and bits: 0.0 and -0.0 differ
    static_value(static_key("fast")) == "fast"
"""

from __future__ import annotations

import struct
import sys
from typing import Any

import numpy as np

from ..ir.containers import state_of


class ById:
    """An object as a key: equal only to itself, and kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and other.value is self.value

    def __repr__(self) -> str:
        return f"<{type(self.value).__name__} by identity>"


class ByState:
    """An object of a class with its own == as a key: equal to those whose attributes are the same, by type and bits."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any, state: dict[str, Any]) -> None:
        self.value = value
        self.key = (type(value), *((name, static_key(each)) for name, each in state.items()))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByState) and other.key == self.key


class Still:
    """A whole number in a container that is differentiated: static, and without a slope."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


def static_key(x: Any) -> Any:
    """Equal for values that mean the same to a traced function: type and bits, not Python's equality."""
    if type(x) is Still:
        return (Still, int(x.value))
    if type(x) is float:
        return (float, struct.pack("<d", x))
    if type(x) is complex:
        return (complex, struct.pack("<dd", x.real, x.imag))
    if isinstance(x, np.generic):
        return (type(x), x.tobytes())
    if type(x) in (tuple, list, frozenset):
        return (type(x), *map(static_key, x))
    if type(x) is dict:
        return (dict, *((static_key(k), static_key(v)) for k, v in x.items()))
    try:
        hash(x)
    except TypeError:
        return ById(x)
    kind: Any = type(x)
    if kind.__eq__ is not object.__eq__ and (kind.__module__ or "").partition(".")[0] not in sys.stdlib_module_names:
        state = {} if isinstance(x, type) else state_of(x)
        if state:
            return ByState(x, state)
    return (kind, x)


def is_still(key: Any) -> bool:
    """Whether a key is that of a number of something that is differentiated, which has no slope there."""
    return isinstance(key, tuple) and key[0] is Still


def static_value(key: Any) -> Any:
    """The value that a static key was made of."""
    if isinstance(key, (ById, ByState)):
        return key.value
    kind = key[0]
    if kind is Still:
        return key[1]
    if kind in (float, complex):
        numbers = struct.unpack("<d" if kind is float else "<dd", key[1])
        return kind(*numbers)
    if isinstance(kind, type) and issubclass(kind, np.generic):
        return np.frombuffer(key[1], kind)[0]
    if kind in (tuple, list, frozenset):
        return kind(map(static_value, key[1:]))
    if kind is dict:
        return {static_value(k): static_value(v) for k, v in key[1:]}
    return key[1]


__all__ = ["ById", "ByState", "Still", "is_still", "static_key", "static_value"]
