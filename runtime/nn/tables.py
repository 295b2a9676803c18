"""The tables of a module, whose entries are its attributes as well.

An attribute that stands in the instance is found without a search, and a forward reads many.  That is right as long as
only the module's own tables can change what it holds.  Where others come into play, such as a table of another module
or whoever asks for `__dict__`, the entries stand in the tables alone, and are searched for there at each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from .hooks import attributes_of

TABLES = ("_parameters", "_buffers", "_modules")

def _nobody() -> None:
    """The owner of a table whose entries stand nowhere else."""


class Table(dict[str, Any]):
    """A dict of a module; whatever changes it changes the module's attributes of these names, if it has an `owner`."""

    __slots__ = ("owner",)

    def __init__(self, module: Any, entries: dict[str, Any] | None = None) -> None:
        self.owner: Callable[[], Any] = _nobody if module is None else ref(module)
        if entries:
            self.update(entries)

    def _attributes(self) -> dict[str, Any]:
        module = self.owner()
        return {} if module is None else attributes_of(module)

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


def is_whole(module: Any) -> bool:
    """Whether what a module's tables hold stands in it as well."""
    table = attributes_of(module).get("_parameters")
    return type(table) is Table and table.owner() is module


def part(module: Any) -> None:
    """Let what a module's tables hold stand in the tables alone."""
    held = attributes_of(module)
    for table in map(held.get, TABLES):
        if type(table) is Table and table.owner() is module:
            table.owner = _nobody
            for name in table:
                held.pop(name, None)


__all__ = ["TABLES", "Table", "is_whole", "part"]
