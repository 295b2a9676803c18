"""Abstract values: what a name, a list item or an array can hold while a function is walked.

Concrete Python values are themselves, traced numbers are frontend Arrays without axes. Everything that can change is
a `Ref` to a `Box`, whose content the heap holds:

    x = 2.0            2.0
    y = x * a[i]       Array(f64[])
    b = a[1:]          Ref(box of a, path = (a span from 1,))      written through, since it is a view
    out = []           Ref(box of a list)                          the heap holds its items, or `Grown`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from ..array import Array
from ..errors import Uncaptured, message
from ..tracing import user_line
from .containers.tables import Table
from .selections.selected import Selection


class Undefined:
    """A name that is not bound."""

    def __repr__(self) -> str:
        return "unbound"


UNDEF = Undefined()

@dataclass(frozen=True, eq=False)
class Maybe:
    """A value that is bound only where the traced bool `defined` holds."""

    inner: Any
    defined: Array


@dataclass(frozen=True, eq=False)
class Poison:
    """What differs so much between paths that it has no one meaning: refused when read."""

    why: str
    fix: str = ""


@dataclass(eq=False)
class Box:
    """One object that can change: an array, a list or a dict.

    origin   "" for what captured code made, else whose it is: "argument" or "outer array", which must not be written
    held     whether it belongs to an object that was made in the walk: writing it is left to a plain run
    maybe    boxes that may share memory with this one, which is among theirs
    kept     who else keeps it, out of sight: it must not be written any more
    rows     whether its elements surely follow each other in memory, the last axis first
    """

    kind: str
    origin: str = ""
    kept: str = ""
    held: bool = False
    rows: bool = False
    maybe: set[Box] = field(default_factory=set)

    def relate(self, others: Iterable[Box]) -> None:
        """Remember that others may share memory with this one."""
        for other in {*others} - {self}:
            self.maybe.add(other)
            other.maybe.add(self)


@dataclass(frozen=True, eq=False)
class At:
    """One element along an axis, which is dropped."""

    index: Any


@dataclass(frozen=True, eq=False)
class Span:
    """`count` elements along an axis, `step` apart."""

    start: Any
    step: int
    count: int

    def whole(self, size: int) -> bool:
        """Whether it is all of an axis."""
        same = type(self.count) is type(size) and self.count == size
        return type(self.start) is int and (self.start, self.step) == (0, 1) and same


@dataclass(frozen=True, eq=False)
class Part:
    """A basic index into an array of shape `sizes`: an entry for every axis.

    `order` is that of the axes left, which may be moved, with None for a new one.
    """

    entries: tuple[At | Span, ...]
    order: tuple[int | None, ...]
    sizes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        counts = [e.count for e in self.entries if isinstance(e, Span)]
        return tuple([1 if k is None else counts[k] for k in self.order])

    @property
    def moved(self) -> tuple[int, ...]:
        """The order of the axes left, without new ones."""
        return tuple([k for k in self.order if k is not None])

    @property
    def plain(self) -> bool:
        """Whether the axes left stand in their order, without new ones."""
        return self.order == tuple(range(len(self.order)))


@dataclass(frozen=True, eq=False)
class Reshaped:
    """All elements of an array of shape `sizes`, in another shape: where no element has to move for that."""

    sizes: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ref:
    """A reference to a box; of an array, to a part of it."""

    box: Box
    path: tuple[Part | Reshaped, ...] = ()


@dataclass(frozen=True, eq=False)
class Grown:
    """The content of a list that grows in a loop: the first `count` rows of a buffer.

    By how much it has grown since the head of the loop is between `low` and `high`. It is `managed` in the body of a
    loop, which has made the buffer large enough for what is appended in it.
    """

    buffer: Array
    count: Any
    weak: bool
    low: int = 0
    high: int = 0
    managed: bool = False

    def copied(self) -> Grown:
        """The same in another list, for which nobody has made room."""
        return replace(self, low=0, high=0, managed=False)

    @property
    def room(self) -> int:
        return self.buffer.shape[0]


@dataclass(frozen=True, eq=False)
class Method:
    """A method of a modelled object, about to be called."""

    name: str
    owner: Any


@dataclass(frozen=True, eq=False)
class Steps:
    """range() with traced bounds."""

    start: Any
    stop: Any
    step: int


@dataclass(frozen=True, eq=False)
class Iter:
    """Something iterated over: how many items, and which is the k-th; `rolled` if k may be traced.

    check    after the loop: what was iterated over must not have grown
    """

    trip: Any
    item: Callable[[Any], Any]
    rolled: bool
    check: Callable[[], None] = lambda: None


class Text:
    """Text made of traced values, as it is written: only exceptions and warnings can have it."""

    def __init__(self, written: str) -> None:
        self.written = written

    def _refuse(self, *_: Any) -> Any:
        fix = "leave it to the message of an exception or a warning, or make it outside of the function"
        raise Uncaptured(message("text made of traced values is read", user_line(), fix))

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __str__ = __format__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self._refuse()
        raise AttributeError(name)


class Picked(Text):
    """One of many texts, the one at a traced index: the keys of a dict in a loop, `f"w{k}"`. It selects items of dicts.

    `said` is how it is written, if it is: messages can have that.
    """

    def __init__(self, make: Callable[[], tuple[str, ...]], index: Array, said: str | None = None) -> None:
        self._make, self.index, self.said = make, index, said

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return self._make()

    @property
    def written(self) -> str:  # type: ignore[override]
        return self._refuse() if self.said is None else self.said


MODELLED = (Array, Ref, Grown, Maybe, Poison, Method, Steps, Iter, Text, Selection)


def traced(x: Any) -> bool:
    """Whether x is, or holds, something that is not a plain Python value."""
    return isinstance(x, MODELLED) or (isinstance(x, tuple) and any(map(traced, x)))


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.bool_, np.number))


def is_scalar(x: Any) -> TypeGuard[Array]:
    """Whether x is a traced number."""
    return isinstance(x, Array) and not x.type.shape


def is_array(x: Any) -> TypeGuard[Ref]:
    return isinstance(x, Ref) and x.box.kind == "array"


def is_list(x: Any) -> TypeGuard[Ref]:
    return isinstance(x, Ref) and x.box.kind == "list"


def is_dict(x: Any) -> TypeGuard[Ref]:
    return isinstance(x, Ref) and x.box.kind == "dict"


def like(model: tuple[Any, ...], items: Any) -> Any:
    """A tuple, or a namedtuple as `model` is one, of these items; with what a result of SciPy's has beside them."""
    made = tuple.__new__(type(model), items)
    if beside := getattr(model, "__dict__", None):
        made.__dict__.update(beside)
    return made


def same(a: Any, b: Any) -> bool:
    """Whether two abstract values are one and the same; floats by bits, numbers by type."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Array):
        return a.value is b.value and a.weak == b.weak
    if isinstance(a, Ref):
        return a.box is b.box and len(a.path) == len(b.path) and all(map(_same_part, a.path, b.path))
    if isinstance(a, Maybe):
        return same(a.inner, b.inner) and same(a.defined, b.defined)
    if isinstance(a, Grown):
        grown = (a.low, a.high, a.managed) == (b.low, b.high, b.managed)
        return grown and same(a.buffer, b.buffer) and same(a.count, b.count)
    if isinstance(a, Table):
        return a.keys == b.keys and same(a.values, b.values)
    if isinstance(a, Poison):
        return a.why == b.why
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, np.floating)):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    if isinstance(a, (bool, int, str, bytes, complex, slice, range, np.integer, np.bool_)):
        return bool(a == b)
    return False


def _same_part(a: Part | Reshaped, b: Part | Reshaped) -> bool:
    if isinstance(a, Reshaped) or isinstance(b, Reshaped):
        return isinstance(a, Reshaped) and isinstance(b, Reshaped) and (a.sizes, a.shape) == (b.sizes, b.shape)
    if a.order != b.order or len(a.entries) != len(b.entries):
        return False
    for x, y in zip(a.entries, b.entries, strict=True):
        if isinstance(x, At) and isinstance(y, At):
            if not same(x.index, y.index):
                return False
        elif isinstance(x, Span) and isinstance(y, Span):
            if (x.step, x.count) != (y.step, y.count) or not same(x.start, y.start):
                return False
        else:
            return False
    return True


def related(a: Box, b: Box) -> bool:
    """Whether two boxes may share memory."""
    return a is b or a in b.maybe
