"""Containers: of what parts they are, and how another one like them is made of other parts.

    structure, parts = apart(OrderedDict(a=1.0, b=2.0))      parts == [1.0, 2.0]
    structure.paths == ("['a']", "['b']")
    structure(3.0, 4.0) == OrderedDict(a=3.0, b=4.0)

Dicts, lists, tuples, deques and their subclasses, named tuples, dataclasses, classes of attrs and SimpleNamespaces are
taken apart; so are objects of classes that are registered, or that have `__pullback_flatten__`. Structures are keys:
equal for containers of the same class, with the same keys in the same order, and the same rest.
"""

from __future__ import annotations

import collections
import dataclasses
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

FLATTEN, UNFLATTEN = "__pullback_flatten__", "__pullback_unflatten__"
"""Methods by which a class says what its objects are made of: see `register`."""

SEQUENCES = (list, tuple, collections.deque)
"""What NumPy makes arrays of, item by item."""

DICTS: tuple[Any, ...] = (collections.OrderedDict, collections.defaultdict, dict)
"""Of the subclasses of several of these, the first that fits tells how items are put into one."""


class Structure:
    """A container without its parts; called with parts, it makes one like it.

    kind     its class
    paths    how each part is reached from it, such as `['w']` or `.w`
    """

    __slots__ = ("_key", "_make", "kind", "paths")

    def __init__(self, kind: type, paths: Sequence[str], key: Hashable, make: Callable[[Sequence[Any]], Any]) -> None:
        self.kind, self.paths, self._make = kind, tuple(paths), make
        self._key = (kind, self.paths, key)

    def __call__(self, *parts: Any) -> Any:
        return self._make(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<{self.__name__} of {', '.join(self.paths) or 'nothing'}>"

    @property
    def __name__(self) -> str:
        return self.kind.__name__


_registered: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


def register(
    kind: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, tuple[Any, ...]], Any]
) -> type:
    """Let objects of a class be containers for all transforms; the class comes back.

    kind        the class; its subclasses are registered for themselves
    flatten     takes such an object and gives `(parts, rest)`: what numbers, arrays and containers it holds, in order,
                and whatever else another one like it needs, which must be hashable
    unflatten   takes `(rest, parts)` and makes one. It is also given parts that are no numbers, such as arrays that
                stand for others while a function is traced, and should not check them

    A class may say the same itself: by the method `__pullback_flatten__(self)` and the class method
    `__pullback_unflatten__(cls, rest, parts)`. Gradients for such an argument are objects of the class. TypeError for
    what is no class, or one that is a container or number anyway.

    >>> class Line:
    ...     def __init__(self, slope, start): self.slope, self.start = slope, start
    >>> register(Line, lambda line: ((line.slope, line.start), None), lambda _, parts: Line(*parts)).__name__
    'Line'
    >>> grad(lambda line: line.slope * 3.0 + line.start)(Line(2.0, 1.0)).slope
    3.0
    """
    if not isinstance(kind, type):
        raise TypeError(f"register takes a class, got {kind!r:.60}; for one object, pass type(...) of it")
    if kind in (dict, list, tuple, str, bytes, bool, int, float, complex, object, type(None)):
        raise TypeError(f"register: {kind.__name__} has a meaning already; register a class of your own")
    for name, given in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(given):
            raise TypeError(f"register of {kind.__name__}: {name} is {given!r:.60}, expected a function")
    _registered[kind] = (flatten, unflatten)
    return kind


def is_declared(kind: Any) -> bool:
    """Whether a class has said, or has been told, of what parts its objects are."""
    return kind in _registered or (hasattr(kind, FLATTEN) and hasattr(kind, UNFLATTEN))


def is_record(x: Any) -> bool:
    """Whether an object is one of a dataclass or of attrs, a SimpleNamespace or a Mapping that is no dict.

    They are containers where they are differentiated, and objects like others where they are not.
    """
    kind: Any = type(x)
    if kind is types.SimpleNamespace or hasattr(kind, "__attrs_attrs__"):
        return True
    return not isinstance(x, (type, dict)) and (dataclasses.is_dataclass(kind) or isinstance(x, Mapping))


def apart(x: Any) -> tuple[Structure, list[Any]] | None:
    """The structure and the parts of a container; None for what is none."""
    kind = type(x)
    if is_declared(kind):
        return _declared(x)
    if isinstance(x, dict):
        return _dict(x)
    if isinstance(x, (list, collections.deque)):
        base: Any = list if isinstance(x, list) else collections.deque
        return _sequence(x, base, list(base.__iter__(x)))
    if isinstance(x, tuple):
        return _tuple(x)
    if isinstance(x, type) or not is_record(x):
        return None
    if isinstance(x, Mapping):
        items = dict(x)
        keys = tuple(items)
        paths, make = [f"[{key!r}]" for key in keys], (lambda parts: kind(dict(zip(keys, parts, strict=True))))
        return Structure(kind, paths, _typed(keys), make), list(items.values())
    state = state_of(x)
    new: Any = kind.__new__ if kind is types.SimpleNamespace else object.__new__
    names = tuple(state)
    paths = [f".{name}" for name in names]
    return Structure(kind, paths, (), lambda parts: _with(new(kind), names, parts)), list(state.values())


def _declared(x: Any) -> tuple[Structure, list[Any]]:
    kind = type(x)
    known = _registered.get(kind)
    made = known[0](x) if known else getattr(x, FLATTEN)()
    if not (isinstance(made, tuple) and len(made) == 2):
        raise TypeError(f"flattening a {kind.__name__} gave {made!r:.60}, expected (parts, rest)")
    parts, rest = list(made[0]), made[1]
    try:
        hash(rest)
    except TypeError:
        said = f"flattening a {kind.__name__} gave {rest!r:.60} as the rest beside its parts"
        raise TypeError(f"{said}, which must be hashable: give it as a tuple") from None
    make = known[1] if known else getattr(kind, UNFLATTEN)
    paths = [f"[{k}]" for k in range(len(parts))]
    return Structure(kind, paths, (type(rest), rest), lambda given: make(rest, tuple(given))), parts


def _dict(x: Any) -> tuple[Structure, list[Any]]:
    base = next(b for b in DICTS if isinstance(x, b))
    keys = tuple(base.__iter__(x))
    factory = x.default_factory if base is collections.defaultdict else None

    def fill(made: Any, values: Any) -> None:
        for key, value in zip(keys, values, strict=True):
            base.__setitem__(made, key, value)
        if base is collections.defaultdict:
            made.default_factory = factory

    items = [base.__getitem__(x, key) for key in keys]
    paths = [f"[{key!r}]" for key in keys]
    return _filled(x, base, items, paths, (_typed(keys), factory), fill)


def _typed(keys: Sequence[Hashable]) -> Hashable:
    """Keys of a dict that are told apart by their types, too: 1 and True are the same to a dict."""
    return tuple([(type(key), key) for key in keys])


def _sequence(x: Any, base: Any, items: list[Any]) -> tuple[Structure, list[Any]]:
    most = x.maxlen if base is collections.deque else None

    def fill(made: Any, given: Any) -> None:
        if base is list:
            list.extend(made, given)
        else:
            collections.deque.__init__(made, given, most)

    return _filled(x, base, items, [f"[{k}]" for k in range(len(items))], most, fill)


def _filled(
    x: Any, base: Any, items: list[Any], paths: list[str], key: Hashable, fill: Callable[[Any, Any], None]
) -> tuple[Structure, list[Any]]:
    """A container that is made empty and then filled; its own attributes are parts, too."""
    kind, state, count = type(x), state_of(x), len(items)
    names = tuple(state)

    def make(parts: Sequence[Any]) -> Any:
        made = base.__new__(kind)
        fill(made, parts[:count])
        return _with(made, names, parts[count:])

    paths = [*paths, *[f".{name}" for name in names]]
    return Structure(kind, paths, (key, count), make), [*items, *state.values()]


def _tuple(x: Any) -> tuple[Structure, list[Any]]:
    kind: Any = type(x)
    items, state = list(tuple.__iter__(x)), state_of(x)
    count, names = len(items), tuple(state)
    fields = getattr(kind, "_fields", None)
    known = isinstance(fields, tuple) and len(fields) == count
    paths = [f".{name}" for name in fields] if known and fields else [f"[{k}]" for k in range(count)]

    def make(parts: Sequence[Any]) -> Any:
        return _with(tuple.__new__(kind, parts[:count]), names, parts[count:])

    return Structure(kind, [*paths, *[f".{name}" for name in names]], count, make), [*items, *state.values()]


def _with(made: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def is_unknown(x: Any) -> bool:
    """Whether an object has floats in attributes of its own, and nobody has said that it is a container."""
    if callable(x) or isinstance(x, types.ModuleType) or apart(x) is not None:
        return False
    return any(isinstance(v, (float, np.ndarray)) and np.asarray(v).dtype.kind in "fc" for v in state_of(x).values())


def state_of(x: Any) -> dict[str, Any]:
    """The attributes that an object has of its own, in its dict and its slots."""
    found = dict(getattr(x, "__dict__", None) or {})
    for base in type(x).__mro__:
        names = vars(base).get("__slots__") or ()
        for name in (names,) if isinstance(names, str) else names:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{base.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__"):
                try:
                    found[name] = object.__getattribute__(x, name)
                except AttributeError:
                    continue
    return found


__all__ = ["Structure", "apart", "is_declared", "is_record", "is_unknown", "register", "state_of"]
