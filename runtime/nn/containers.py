"""Modules made of modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import index
from typing import Any, Self

from .module import Module


def place_of(given: Any, size: int) -> int:
    """An index from the start."""
    at = index(given)
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of range")
    return at % size


class _Row(Module):
    """Modules numbered from 0."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [n for n in super().__dir__() if not n.isdigit()]

    def _name(self, at: Any) -> str:
        return list(self._modules)[place_of(at, len(self))]

    def _renumbered(self, rows: Iterable[Module | None]) -> None:
        rows = list(rows)
        self._modules.clear()
        self._modules.update({str(k): m for k, m in enumerate(rows)})

    def __setitem__(self, at: int, module: Module) -> None:
        setattr(self, self._name(at), module)

    def __delitem__(self, at: int | slice) -> None:
        rows = list(self._modules.values())
        del rows[at if isinstance(at, slice) else place_of(at, len(rows))]
        self._renumbered(rows)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but got"
                            f" {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Take a module out."""
        found = self[key]
        del self[key]
        return found

    def __getitem__(self, at: Any) -> Any:
        raise NotImplementedError


class Sequential(_Row):
    """Modules applied one after the other."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict | dict) else None
        for name, module in enumerate(args) if named is None else named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return type(self)(OrderedDict(list(self._modules.items())[at]))
        return self._modules[self._name(at)]

    def __delitem__(self, at: int | slice) -> None:
        names = list(self._modules)
        for name in names[at] if isinstance(at, slice) else [self._name(at)]:
            delattr(self, name)
        self._renumbered(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        _check_times(other)
        return Sequential(*chain.from_iterable([list(self)] * other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        _check_times(other)
        rows = list(self)
        for _ in range(other - 1):
            self.extend(rows)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one with this number."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        rows = list(self._modules.values())
        rows.insert(index + size if index < 0 else index, module)
        self._renumbered(rows)
        return self


def _check_times(times: Any) -> None:
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {Sequential}")


class ModuleList(_Row):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return type(self)(list(self._modules.values())[at])  # type: ignore[arg-type]
        return self._modules[self._name(at)]

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one with this number."""
        rows = list(self._modules.values())
        rows.insert(index, module)
        self._renumbered(rows)

    def __repr__(self) -> str:
        """Equal neighbours on one line."""
        rows = [repr(m) for m in self]
        if not rows:
            return f"{self._get_name()}()"
        groups: list[list[Any]] = []
        for k, text in enumerate(rows):
            if groups and groups[-1][2] == text:
                groups[-1][1] = k
            else:
                groups.append([k, k, text])
        lines = []
        for first, last, text in groups:
            said = f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(said.replace("\n", "\n  "))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take a module out."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules, from a dictionary or from pairs."""
        for key, module in pairs_of(self, modules):
            self[key] = module


def pairs_of(container: Any, given: Any) -> list[tuple[Any, Any]]:
    name = type(container).__name__
    if not isinstance(given, Iterable):
        raise TypeError(f"{name}.update should be called with an iterable of key/value pairs, but got"
                        f" {type(given).__name__}")
    if isinstance(given, Mapping) or hasattr(given, "items"):
        return list(given.items())  # type: ignore[attr-defined]
    made = []
    for k, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{k} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{k} has length {len(pair)}; 2 is required")
        made.append(pair)
    return made
