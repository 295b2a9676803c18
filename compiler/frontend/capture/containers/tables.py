"""What a dict holds while a function is walked: its keys and values, in order, and where a key is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any


class Table:
    """The content of a dict, which never changes: `keys` and `values`.

    One that has a key more shares its lists, of which each table is a beginning, and so does where the keys are: a key
    stands there once, and what lies beyond the end of a table, or is another key there, it does not have.
    """

    def __init__(self, keys: Iterable[Any], values: Iterable[Any]) -> None:
        self._keys, self._values, self._places = list(keys), list(values), {}
        self._count = len(self._keys)

    @cached_property
    def keys(self) -> tuple[Any, ...]:
        return tuple(self._keys[: self._count])

    @cached_property
    def values(self) -> tuple[Any, ...]:
        return tuple(self._values[: self._count])

    def _known(self) -> dict[Any, int]:
        if not self._places:
            self._places.update({k: n for n, k in enumerate(self._keys)})
        return self._places

    def place(self, key: Any) -> int | None:
        """Where a key is; TypeError if it is none."""
        at = self._known().get(key)
        if at is None or at >= self._count:
            return None
        return at if self._keys[at] is key or self._keys[at] == key else None

    def extended(self, key: Any, value: Any) -> Table:
        """With a key that it does not have."""
        if len(self._keys) > self._count or key in self._known():
            return Table((*self.keys, key), (*self.values, value))
        made = Table((), ())
        self._places[key] = self._count
        self._keys.append(key)
        self._values.append(value)
        made._keys, made._values, made._places, made._count = self._keys, self._values, self._places, self._count + 1
        return made

    @property
    def count(self) -> int:
        return self._count

    def value(self, at: int) -> Any:
        return self._values[at]

    def copied(self) -> Table:
        """One that shares nothing, which `put` may change."""
        return Table(self._keys[: self._count], self._values[: self._count])

    def put(self, at: int | None, key: Any, value: Any) -> None:
        """Change a copy that nobody has looked at: the value at a place, or a key more."""
        if at is not None:
            self._values[at] = value
            return
        self._known()[key] = self._count
        self._keys.append(key)
        self._values.append(value)
        self._count += 1

    def without(self, at: int) -> Table:
        return Table(self.keys[:at] + self.keys[at + 1 :], self.values[:at] + self.values[at + 1 :])


__all__ = ["Table"]
