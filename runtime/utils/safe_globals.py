"""`torch.serialization`'s list of classes that a file may name: kept and given back, and never called.

`load` makes tensors, numbers, strings and containers of them, with a reader that looks nothing up. So a class that is
declared safe makes no further file readable, and the error of `load` says what does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import IO, Any

from ..tensor.value.dtypes import device

FILE_LIKE = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None

_safe: list[Any] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Add classes and functions, or pairs of one and its name, to the list; on `load` it has no effect."""
    _safe.extend(each for each in safe_globals if each not in _safe)


def get_safe_globals() -> list[Any]:
    """What was added."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what was added."""
    _safe.clear()


class safe_globals:
    """Have more on the list within a block; on `load` it has no effect."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self._added = list(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        _safe[:] = self._before


__all__ = [
    "FILE_LIKE", "MAP_LOCATION", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals",
]  # fmt: skip
