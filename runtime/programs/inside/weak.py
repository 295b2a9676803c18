"""Dicts whose keys are told apart by what they are and not by what they equal, and are not kept alive by it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any
from weakref import ref


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dict by the identity of its keys; what is gone from the program is gone from it."""

    def __init__(self, dict: Any = None, ref_type: Any = ref) -> None:
        self._held: dict_of = {}
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        found = self._held.get(id(key))
        if found is None or found[0]() is not key:
            raise KeyError(key)
        return found[1]

    def __setitem__(self, key: Any, value: Any) -> None:
        number, held = id(key), self._held
        held[number] = (ref(key, lambda _: held.pop(number, None)), value)

    def __delitem__(self, key: Any) -> None:
        self[key]
        del self._held[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return (key for known, _ in list(self._held.values()) if (key := known()) is not None)

    def __len__(self) -> int:
        return sum(known() is not None for known, _ in list(self._held.values()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}>"


dict_of = dict[int, tuple[Any, Any]]
WeakTensorKeyDictionary = WeakIdKeyDictionary

__all__ = ["WeakIdKeyDictionary", "WeakTensorKeyDictionary"]
