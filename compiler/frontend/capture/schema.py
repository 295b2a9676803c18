"""What a place looks like at the edge of a region, and how two such looks are joined.

    x is 2.0 on one path and a traced int on the other     Leaf(f64, weak)        a number; Python's bool < int < float
    a is another array of one shape on each                Held(f64[4], boxes)    the content chosen, aliases noted
    y is bound on one path only                            Opt(Leaf(f64))         the value, and whether it is bound
    out has 3 items on one path and 4 on the other         Growing(f64, room=4)   a buffer, and how much of it is used
    m is f64[2] on one path and f64[3] on the other        Bad("...")             refused when it is read
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.types import TRACED, Type
from ..array import Array
from ..sizes import greatest
from ..state.kept import holds_traced
from .arrays.access import array_type
from .containers.tables import Table
from .frames import Place, label
from .machine import Machine
from .selections.selected import FIX, Selection
from .values import UNDEF, Box, Grown, Maybe, Poison, Ref, is_array, is_number, same, traced

INDEX, TRUTH = Type("i64"), Type("bool")


@dataclass(frozen=True, eq=False)
class Same:
    """One and the same value on all paths."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and same(self.value, other.value)


@dataclass(frozen=True)
class Leaf:
    """A number; `weak` if it is Python's."""

    type: Type
    weak: bool


@dataclass(frozen=True)
class Raw:
    """The content of an array."""

    type: Type


@dataclass(frozen=True)
class Held:
    """A reference to one of several arrays."""

    type: Type
    boxes: frozenset[Box] = frozenset()


@dataclass(frozen=True)
class Container:
    """A reference to one of several lists or dicts, and how their content looks."""

    kind: str
    content: Schema
    boxes: frozenset[Box] = frozenset()


@dataclass(frozen=True)
class Items:
    """A tuple, or a namedtuple of type `kind`."""

    kind: type
    items: tuple[Schema, ...]


@dataclass(frozen=True)
class Pairs:
    """The content of a dict."""

    keys: tuple[Any, ...]
    items: Items


@dataclass(frozen=True)
class Opt:
    """What is bound on some paths only."""

    inner: Schema


@dataclass(frozen=True)
class Growing:
    """The content of a list of numbers or arrays of one type, of which there may be `room`."""

    type: Type
    weak: bool
    room: int
    managed: bool = False


@dataclass(frozen=True)
class Bad:
    why: str
    fix: str = ""


Schema = Same | Leaf | Raw | Held | Container | Items | Pairs | Opt | Growing | Bad


def schema(m: Machine, x: Any) -> Schema:
    """How x looks."""
    if isinstance(x, Array):
        return Raw(x.type) if x.type.shape else Leaf(x.type, x.weak)
    if isinstance(x, np.ndarray):
        return Raw(Type(TRACED[x.dtype], x.shape)) if x.dtype in TRACED else Same(x)
    if is_number(x):
        dtype = TRACED.get(np.asarray(x).dtype)
        return Leaf(Type(dtype), not isinstance(x, np.generic)) if dtype else Same(x)
    if is_array(x):
        held = m.heap[x.box]
        if isinstance(held, Poison):
            return Bad(held.why, held.fix)
        kind = array_type(m, x)
        return Held(kind, frozenset(m.relatives(x.box))) if kind else Same(x)
    if isinstance(x, Ref):
        held = m.look(x.box)
        if isinstance(held, Poison):
            return Bad(held.why, held.fix)
        content = schema(m, held.copied() if isinstance(held, Grown) else held)
        return Container(x.box.kind, content, frozenset(m.relatives(x.box)))
    if isinstance(x, tuple):
        return Items(type(x), tuple([schema(m, i) for i in x]))
    if isinstance(x, Table):
        return Pairs(x.keys, Items(tuple, tuple([schema(m, i) for i in x.values])))
    if isinstance(x, Maybe):
        return Opt(schema(m, x.inner))
    if isinstance(x, Poison):
        return Bad(x.why, x.fix)
    if isinstance(x, Grown):
        return Growing(x.buffer.type.with_shape(x.buffer.type.shape[1:]), x.weak, x.room, x.managed)
    if isinstance(x, Selection):
        return Bad("what a mask selects differs between the ways to this line", FIX)
    return Same(x)


def join_types(a: Type, b: Type, weak: tuple[bool, bool] = (False, False)) -> Type | None:
    """The type that holds both, if there is one: f32 and f64 are computed with differently, so they have none."""
    if a.shape != b.shape:
        return None
    if a.dtype == b.dtype:
        return a
    if weak[0] != weak[1]:
        python, strong = (a, b) if weak[0] else (b, a)
        example = {"bool": False, "i64": 0}.get(python.dtype, 0.0)
        made = np.result_type(strong.numpy, example)
    else:
        made = np.promote_types(a.numpy, b.numpy)
    if {a.dtype, b.dtype} == {"f32", "f64"} and not (weak[0] or weak[1]):
        return None
    return Type(TRACED[made], a.shape) if made in TRACED else None


def join(m: Machine, a: Schema, b: Schema, what: Place) -> Schema:
    """The schema of a place that looks like `a` on one path and like `b` on another."""
    if a == b:
        return a
    if isinstance(a, Bad) or isinstance(b, Bad):
        return a if isinstance(a, Bad) else b
    unbound = [isinstance(s, Same) and s.value is UNDEF for s in (a, b)]
    if any(unbound) or isinstance(a, Opt) or isinstance(b, Opt):
        if what[2] == "#value" and any(unbound):
            return b if unbound[0] else a
        x, y = (s.inner if isinstance(s, Opt) else s for s in (a, b))
        inner = y if unbound[0] else x if unbound[1] else join(m, x, y, what)
        return inner if isinstance(inner, Bad) else Opt(inner)
    made = _join_bound(m, a, b, what)
    return made or _differs(m, a, b, what)


def _join_bound(m: Machine, a: Schema, b: Schema, what: Place) -> Schema | None:
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        type = join_types(a.type, b.type, (a.weak, b.weak))
        return type and Leaf(type, a.weak and b.weak)
    if isinstance(a, Raw) and isinstance(b, Raw):
        type = join_types(a.type, b.type)
        return type and Raw(type)
    if isinstance(a, Held) and isinstance(b, Held):
        type = join_types(a.type, b.type)
        return type and Held(type, a.boxes | b.boxes)
    if isinstance(a, Container) and isinstance(b, Container) and a.kind == b.kind:
        content = _join_content(m, a.content, b.content, what, a.kind == "list")
        return content and Container(a.kind, content, a.boxes | b.boxes)
    return _join_content(m, a, b, what, what[0] == "box" and what[1].kind == "list")


def _join_content(m: Machine, a: Schema, b: Schema, what: Place, lists: bool) -> Schema | None:
    """Tuples and dicts item by item; lists too, or as growing ones."""
    if a == b:
        return a
    if isinstance(a, Bad) or isinstance(b, Bad):
        return a if isinstance(a, Bad) else b
    if isinstance(a, Items) and isinstance(b, Items) and a.kind is b.kind and len(a.items) == len(b.items):
        return Items(a.kind, tuple([join(m, x, y, what) for x, y in zip(a.items, b.items, strict=True)]))
    if isinstance(a, Pairs) and isinstance(b, Pairs) and a.keys == b.keys:
        items = join(m, a.items, b.items, what)
        return Pairs(a.keys, items) if isinstance(items, Items) else items
    if lists and isinstance(a, (Items, Growing)) and isinstance(b, (Items, Growing)):
        return _join_lists(a, b)
    return None


def _join_lists(a: Items | Growing, b: Items | Growing) -> Growing | None:
    """Lists of different lengths: their items must be numbers, or arrays of one shape."""
    rooms = [len(s.items) if isinstance(s, Items) else s.room for s in (a, b)]
    kinds: list[tuple[Type, bool]] = []
    for s in (a, b):
        if isinstance(s, Growing):
            kinds.append((s.type, s.weak))
            continue
        for i in s.items:
            if not isinstance(i, (Leaf, Held)):
                return None
            kinds.append((i.type, isinstance(i, Leaf) and i.weak))
    type, weak = kinds[0]
    for t, w in kinds[1:]:
        joined = join_types(type, t, (weak, w))
        if joined is None:
            return None
        type, weak = joined, weak and w
    return Growing(type, weak, greatest(rooms), all(isinstance(s, Growing) and s.managed for s in (a, b)))


def _differs(m: Machine, a: Schema, b: Schema, what: Place) -> Bad:
    name = label(what)
    if (isinstance(a, Items) and isinstance(b, Items)) or isinstance(a, Growing) or isinstance(b, Growing):
        fix = "let it have one length: use an array and a count"
    else:
        fix = "give it one type and shape on all paths"
    return Bad(f"{name} is {describe(a)} on one path and {describe(b)} on another (line {m.frame.line})", fix)


def describe(s: Schema) -> str:
    """A schema in the user's words."""
    if isinstance(s, Same):
        if s.value is UNDEF:
            return "unbound"
        kind = type(s.value).__name__
        if traced(s.value) or (s.value is not None and holds_traced(s.value)):  # whose repr() may ask for numbers
            return f"a {kind}"
        return "None" if s.value is None else f"the {kind} {s.value!r:.40}"
    if isinstance(s, Leaf):
        return f"a Python {({'bool': 'bool', 'i64': 'int'}).get(s.type.dtype, 'float')}" if s.weak else str(s.type)
    if isinstance(s, (Raw, Held)):
        return str(s.type)
    if isinstance(s, Items):
        return f"{len(s.items)} items"
    if isinstance(s, Pairs):
        return f"a dict with the keys {', '.join(map(repr, s.keys)):.60}"
    if isinstance(s, Container):
        return f"a {s.kind} of {describe(s.content)}"
    if isinstance(s, Opt):
        return f"possibly unbound {describe(s.inner)}"
    return s.why if isinstance(s, Bad) else f"a list of up to {s.room} {s.type}"
