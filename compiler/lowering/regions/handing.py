"""Elements that a loop writes in one round and reads in the next: it hands them on in a register.

    for i below 998                                carry h = a[0]
      x = a[i]                                     for i below 998
      y = a[1 + i]                    becomes        y = a[1 + i]
      a[1 + i] = f(x, y)                             a[1 + i] = f(h, y)
                                                     h = f(h, y)

A load that waits for the store before it takes longer than the arithmetic of most rounds. It is seen where all places
of an array differ by known numbers; what is stored and read in the same round is not loaded either, and of two stores
to one place the first is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...bounds import clipped, whole
from ...ir.measure import OpenExtent
from ...loops import COMBINED, Affine, Apply, Buffer, Element, Load, Number, Variable, scaled
from ..nests.inside import reachable
from ..nests.roots import inside, loads, named
from ..program import Branch, Carry, Let, Lines, Loop, Multiply, Nest, Pop, Rows, Statement, Store
from ..storage import touched


class Place(NamedTuple):
    """constant + factor * index + what does not change in the loop."""

    constant: int
    factor: int
    fixed: frozenset[tuple[Element, int]]


def split(gathered: Sequence[tuple[Element, int]]) -> tuple[list[tuple[Element, int]], int]:
    """Products of elements and strides, with sums taken apart; and a constant."""
    total: dict[Element, int] = {}
    constant, pending = 0, list(reversed(gathered))
    while pending:
        e, stride = pending.pop()
        if isinstance(e, Number):
            constant += whole(e) * stride
        elif isinstance(e, Apply) and e.spelling == "add":
            pending += [(a, stride) for a in e.args]
        elif isinstance(e, Apply) and e.spelling == "sub":
            pending += [(e.args[0], stride), (e.args[1], -stride)]
        elif isinstance(e, Apply) and e.spelling == "mul" and isinstance(e.args[1], Number):
            pending.append((e.args[0], stride * whole(e.args[1])))
        else:
            total[e] = total.get(e, 0) + stride
    return [(e, stride) for e, stride in total.items() if stride], constant


class Handing:
    """What a loop over `index`, which is `first` in the first round and then moves by `step`, may hand on.

    root  the memory that a buffer is a part of
    """

    def __init__(
        self, index: Variable, first: Element, step: int, body: Sequence[Statement], root: Callable[[Buffer], Buffer]
    ) -> None:
        self.index, self.first, self.step, self.root = index, first, step, root
        self.body = list(body)
        self.bound = set(_bound(body)) | {index}
        self.carries: list[Carry] = []
        self.clear: set[Element] = set()

    def hand_on(
        self, name: Callable[[str], str], carried: set[Variable], barred: set[Buffer], outer: list[Statement]
    ) -> None:
        """Change the body, but not for `barred` memory; what is to be made before the loop is appended to `outer`."""
        self.bound |= carried
        for buffer in dict.fromkeys(s.buffer for s in self.body if isinstance(s, Store)):
            places = self._places(buffer) if self.root(buffer) not in barred else None
            if places is not None:
                self._one(buffer, places, name, outer)

    # ---- where

    def _places(self, buffer: Buffer) -> dict[Statement, Place] | None:
        """Where each statement that touches a buffer does; None if that is not known, or another thing does."""
        root, found = self.root(buffer), {}
        for s in self.body:
            if not any(self.root(b) is root for b in self._used(s)):
                continue
            access = s if isinstance(s, Store) else s.value if isinstance(s, Let) else None
            if not isinstance(access, Store | Load) or access.buffer is not buffer:
                return None
            if isinstance(s, Store) and any(self.root(e.buffer) is root for e in self._loads(s)):
                return None
            if loads([g for g, _ in access.gathered], self.clear):
                return None
            place = self._place(access)
            if place is None:
                return None
            found[s] = place
        same = {(p.factor, p.fixed) for p in found.values()}
        if any(isinstance(p.constant - q.constant, OpenExtent) for p in found.values() for q in found.values()):
            return None
        return found if len(same) == 1 and next(iter(same))[0] else None

    def _place(self, access: Store | Load) -> Place | None:
        if access.offset.terms:
            return None
        terms, constant = split(access.gathered)
        fixed = [(e, n) for e, n in terms if e is not self.index]
        if any(v in self.bound for e, _ in fixed for v in reachable([e])):
            return None
        factor = sum(n for e, n in terms if e is self.index)
        return Place(access.offset.constant + constant, factor, frozenset(fixed))

    def _used(self, s: Statement) -> set[Buffer]:
        """All buffers that a statement touches, or names, or that are touched in it."""
        found: set[Buffer] = set()
        for each in inside([s]):
            found |= touched(each) if isinstance(each, Nest | Rows | Multiply | Lines) else named(each, self.clear)
        return found

    def _loads(self, s: Store) -> list[Load]:
        return loads([s.value, *(g for g, _ in s.gathered)], self.clear)

    # ---- what

    def _one(
        self, buffer: Buffer, places: dict[Statement, Place], name: Callable[[str], str], outer: list[Statement]
    ) -> None:
        """Hand on the elements of one buffer."""
        shift = self.step * next(iter(places.values())).factor
        stored = {p.constant for s, p in places.items() if isinstance(s, Store)}
        early: dict[int, Place] = {}
        written: set[int] = set()
        for s, p in places.items():
            if p.constant not in written and (isinstance(s, Let) or (isinstance(s, Store) and s.fold)):
                early.setdefault(p.constant, p)
            if isinstance(s, Store):
                written.add(p.constant)
        content: dict[int, Element] = {}
        handed: dict[int, Variable] = {}
        for c, p in early.items():
            if c + shift in stored:
                content[c] = handed[c] = Variable(name("handed"), buffer.type.dtype)
                self._start(buffer, p, handed[c], outer, name)
        self.body = self._rewritten(buffer, places, content, name)
        for (c, inner), k in zip(handed.items(), range(-len(handed), 0), strict=True):
            start = outer[k]
            assert isinstance(start, Let)
            after = Variable(name("handed"), inner.dtype)
            self.carries.append(Carry(inner, start.name, content[c + shift], after))

    def _start(
        self, buffer: Buffer, p: Place, inner: Variable, outer: list[Statement], name: Callable[[str], str]
    ) -> None:
        """Load what the first round reads, where that is inside the array."""
        terms, constant = split([(self.first, p.factor), *p.fixed])
        at: Element = Number(constant + p.constant, "i64")
        for e, n in terms:
            at = Apply("add", (scaled(e, n), at), "i64")  # type: ignore[arg-type]
        size: Any = buffer.type.size
        start = Variable(name(inner.name), inner.dtype)
        outer.append(Let(start, Load(buffer, Affine(), ((clipped(at, size), 1),))))

    def _rewritten(
        self, buffer: Buffer, places: dict[Statement, Place], content: dict[int, Element], name: Callable[[str], str]
    ) -> list[Statement]:
        """The body without loads of what is known; `content` becomes what is known after it."""
        last = {p.constant: s for s, p in places.items() if isinstance(s, Store)}
        made: list[Statement] = []
        for s in self.body:
            if s not in places:
                made.append(s)
                continue
            c = places[s].constant
            if isinstance(s, Let):
                made.append(Let(s.name, content[c]) if c in content else s)
                content.setdefault(c, s.name)
                continue
            assert isinstance(s, Store)
            value = s.value
            if s.fold:
                if c not in content:
                    content[c] = Variable(name("x"), buffer.type.dtype)
                    made.append(Let(content[c], Load(buffer, s.offset, s.gathered)))  # type: ignore[arg-type]
                value = Apply(COMBINED[s.fold], (content[c], value), buffer.type.dtype)
            content[c] = value
            if last[c] is s:
                made.append(Store(buffer, s.offset, value, s.gathered))
        return made


def _bound(body: Sequence[Statement]) -> list[Variable]:
    """The variables that statements make."""
    found: list[Variable] = []
    for s in inside(body):
        if isinstance(s, Let):
            found.append(s.name)
        elif isinstance(s, Pop):
            found += [v for v, _ in s.record if isinstance(v, Variable)]
        elif isinstance(s, Branch):
            found += [v for v, _, _ in s.results]
        elif isinstance(s, Loop):
            found += [s.index, *(v for c in s.carries for v in (c.inside, c.after))]
            found += [s.rounds] if s.rounds is not None else []
    return found


__all__ = ["Handing", "split"]
