"""What an attribute of an operation can be: a value goes in, and whether it is of a kind comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .symint import SymInt
from .types import Size, Type

_WHOLE = (int, SymInt)


def _is_axis(x: Any) -> bool:
    return type(x) in _WHOLE


def _is_dim(x: Any) -> bool:
    return type(x) in _WHOLE or isinstance(x, Size)


def _are(each: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, tuple) and all(map(each, x))


KINDS: dict[str, Callable[[Any], bool]] = {
    "axis": _is_axis,
    "axes": _are(_is_axis),
    "pairs": _are(lambda x: _are(_is_axis)(x) and len(x) == 2),
    "dimension": _is_dim,
    "dimensions": _are(_is_dim),
    "number": lambda x: isinstance(x, (bool, int, float, complex)),
    "type": lambda x: isinstance(x, Type),
    "types": _are(lambda x: isinstance(x, Type)),
    "word": lambda x: isinstance(x, str),
}
"""What an attribute can be."""
