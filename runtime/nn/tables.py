"""The tables of a module, whose entries are its attributes as well.

An attribute that stands in the instance is found without a search, and a forward reads many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref


class Table(dict[str, Any]):
    """A dict of a module; whatever changes it changes the module's attributes of these names."""

    __slots__ = ("owner",)

    def __init__(self, module: Any, entries: dict[str, Any] | None = None) -> None:
        self.owner: Callable[[], Any] = ref(module)
        if entries:
            self.update(entries)

    def _attributes(self) -> dict[str, Any]:
        module = self.owner()
        return {} if module is None else module.__dict__

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._attributes()[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._attributes().pop(name, None)

    def update(self, *others: Any, **named: Any) -> None:
        for name, value in dict(*others, **named).items():
            self[name] = value

    def __ior__(self, other: Any) -> Any:  # type: ignore[override]
        self.update(other)
        return self

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            self._attributes().pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        self._attributes().pop(name, None)
        return name, value

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)  # the module that it is unpickled in makes its own table of it

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


__all__ = ["Table"]
