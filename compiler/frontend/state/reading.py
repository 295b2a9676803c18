"""The places that a function reads beside its arguments, and keys of what stands there."""

from __future__ import annotations

import hashlib
import types
from typing import Any, NamedTuple

import numpy as np

from ..errors import TraceError, message
from ..operators import is_array_like
from ..static_keys import ById, static_key
from ..tree import MADE_OF
from .contents import MISSING, PLAIN, Unreadable, opened
from .mentions import mention

MOST = 20_000
"""How many parts of objects of libraries are compared at most."""


class Source(NamedTuple):
    """A place that a function reads: a global, a closure cell, an attribute, defaults, or an argument that is static.

    label   what the user calls it
    """

    kind: str
    holder: Any
    name: str
    label: str = ""

    def read(self) -> Any:
        if self.kind == "global":
            return self.holder.get(self.name, MISSING)
        if self.kind == "cell":
            try:
                return self.holder.cell_contents
            except ValueError:
                return MISSING
        if self.kind == "defaults":
            return (self.holder.__defaults__, self.holder.__kwdefaults__)
        if self.kind == "argument":
            return self.holder
        return getattr(self.holder, self.name, MISSING)

    def __str__(self) -> str:
        if self.kind == "attribute":
            if isinstance(self.holder, (type, types.ModuleType)):
                return f"{self.holder.__name__}.{self.name}"
            return f"the attribute {self.name} of a {type(self.holder).__name__}"
        if self.kind == "defaults":
            return self.label
        if self.kind == "cell":
            return f"{self.label}, a variable of an enclosing function,"
        return f"{self.kind} {self.label or self.name}".strip()


class Hidden(NamedTuple):
    """The places that a function reads.

    reads     the functions of the user's whose code has been read
    stored    the names of attributes that they store to; None if names are made, as by setattr
    """

    sources: tuple[Source, ...]
    reads: tuple[types.FunctionType, ...] = ()
    stored: frozenset[str] | None = frozenset()

    @property
    def places(self) -> tuple[Any, ...]:
        """The same places compare equal, whatever they hold."""
        return tuple([(s.kind, id(s.holder), s.name) for s in self.sources])

    def read(self) -> tuple[tuple[Any, ...], list[np.ndarray]]:
        """A key that is the same as long as no number, function or structure changes; and the arrays."""
        reader = _Reader()
        made = []
        for each in self.sources:
            try:
                made.append(reader.key(each.read()))
            except Unreadable as error:
                verdict = f"{each} is {error.what}: a compiled function would take the same at every call"
                where = mention(self.reads, [each.name or each.label])
                raise TraceError(message(verdict, where, error.fix)) from None
        return tuple(made), reader.arrays


class _Reader:
    """One reading of places: what has been opened already is not opened again."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.seen: dict[int, tuple[int, Any]] = {}

    def key(self, x: Any) -> Any:
        """What is equal as long as an object holds the same."""
        kind = type(x)
        if kind is np.ndarray and not x.dtype.hasobject:
            self.arrays.append(x)
            return ("array", x.dtype, x.shape)
        if isinstance(x, PLAIN):
            return static_key(x)
        if kind is types.FunctionType:
            return (ById(x), ById(x.__code__))
        if isinstance(x, (type, types.ModuleType)):
            return ById(x)
        known = self.seen.get(id(x))
        if known is not None:
            return ("seen", known[0])
        if len(self.seen) > MOST:
            raise Unreadable(f"an object with more than {MOST} parts", "pass what the function needs as arguments")
        self.seen[id(x)] = (len(self.seen), x)
        if kind is list or kind is tuple:
            return (kind, *map(self.key, x))
        if kind is dict:
            return (dict, *[(static_key(k), self.key(v)) for k, v in x.items()])
        return self._rarer(x)

    def _rarer(self, x: Any) -> Any:
        if type(x) in MADE_OF:
            array = np.ascontiguousarray(MADE_OF[type(x)][0](x))
            return (ById(x), array.dtype, array.shape, hashlib.blake2b(array.tobytes()).digest())
        if is_array_like(x):
            labels = [Labels(each) for each in getattr(x, "axes", ()) if hasattr(each, "equals")]
            columns = [x] if getattr(x, "ndim", 1) < 2 or not hasattr(x, "items") else [each for _, each in x.items()]
            return (ById(x), *labels, *map(self._column, columns))
        held = opened(x)
        if held is not None:
            return (*held[0], *map(self.key, held[1]))
        if isinstance(x, np.ndarray):
            self.arrays.append(x)
            return ("array", type(x), x.dtype, x.shape)
        return ById(x)


    def _column(self, x: Any) -> Any:
        """What is equal as long as a column, or an array of one dtype, holds the same."""
        array = np.ascontiguousarray(np.asarray(x))
        if not array.dtype.hasobject:
            return (array.dtype, array.shape, hashlib.blake2b(array.tobytes()).digest())
        values = tuple(array.ravel().tolist())
        try:
            hash(values)
        except TypeError:  # lists and the like, which change
            return (array.shape, *map(self.key, values))
        return (array.shape, values, tuple(map(type, values)))


class Labels:
    """The names of the rows or columns of a table as a key: equal to those that are the same."""

    __slots__ = ("index",)

    def __init__(self, index: Any) -> None:
        self.index = index

    def __hash__(self) -> int:
        return len(self.index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return False
        return self.index is other.index or (type(self.index) is type(other.index) and self.index.equals(other.index))


__all__ = ["Hidden", "Source"]
