"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .module import Module


class _Row(Module):
    """Modules numbered from 0."""

    def _rows(self) -> list[Module]:
        return [m for m in self._modules.values() if m is not None]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._rows())

    def __getitem__(self, index: int | slice) -> Any:
        rows = self._rows()
        if isinstance(index, slice):
            return type(self)(*self._arguments(rows[index]))
        if not -len(rows) <= index < len(rows):
            raise IndexError(f"index {index} is out of range")
        return rows[index]

    def __setitem__(self, index: int, module: Module) -> None:
        name = list(self._modules)[index]
        setattr(self, name, module)

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    @staticmethod
    def _arguments(rows: list[Module]) -> list[Any]:
        return list(rows)


class Sequential(_Row):
    """Modules applied one after the other."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], dict) else None
        for name, module in named or enumerate(modules):
            if not isinstance(module, Module):
                raise TypeError(f"{type(module).__name__} is not a Module subclass")
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._rows():
            input = module(input)
        return input


class ModuleList(_Row):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        for module in modules:
            self.append(module)
        return self

    @staticmethod
    def _arguments(rows: list[Module]) -> list[Any]:
        return [rows]
