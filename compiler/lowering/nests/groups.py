"""Nests while their roots are found: which root joins which nest, and how many nests must have run before."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...loops import Affine, Apply, Buffer, Element, Load, Number
from ...ops.elementwise import COSTS, LIGHT
from ..program import Accumulate, Assert, Multiply, Store
from .inside import children, reachable


@dataclass(eq=False)
class Group:
    """A nest while its roots are found."""

    extents: tuple[int, ...]
    folded: tuple[int, ...] | None
    depth: int
    stores: list[Store] = field(default_factory=list)
    folds: list[Accumulate] = field(default_factory=list)
    after: list[Store] = field(default_factory=list)
    asserts: list[Assert] = field(default_factory=list)
    call: Multiply | None = None
    #: what the stores have made, and where
    places: set[tuple[Buffer, Affine]] = field(default_factory=set)
    #: what is there once the folds are complete, and where
    complete: set[tuple[Buffer, Affine]] = field(default_factory=set)
    chain: bool | None = None

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that no fold folds."""
        return tuple(k for k in range(len(self.extents)) if k not in (self.folded or ()))


class Groups:
    """The nests so far; the depth of one is the number of those that must have run before it.

    made_in   the nest that completes a buffer
    changing  the buffers that are written over, and the depth from which on nothing reads what they hold now
    """

    def __init__(self) -> None:
        self.all: list[Group] = []
        #: by extents, those that others may join, and the greatest depth up to each
        self.by_extents: dict[tuple[int, ...], tuple[list[Group], list[int]]] = {}
        self.made_in: dict[Buffer, Group] = {}
        self.changing: dict[Buffer, int] = {}
        #: the nests that make an element that is costly
        self.makers: dict[Element, list[Group]] = {}

    def add(self, group: Group) -> Group:
        """Add a nest that others do not join."""
        self.all.append(group)
        return group

    def after(self, buffer: Buffer) -> int:
        """The depth at which a buffer is complete."""
        return self.made_in[buffer].depth + 1 if buffer in self.made_in else 0

    def reads(self, group: Group, buffers: Iterable[Buffer]) -> None:
        """Remember when buffers that will change are read: they change after that."""
        for buffer in buffers if self.changing else ():
            if buffer in self.changing:
                self.changing[buffer] = max(self.changing[buffer], group.depth + 1)

    def depth(self, made: Sequence[Element]) -> int:
        """The depth at which all that elements are made from is there."""
        loads = [e for e in reachable(made) if isinstance(e, Load)]
        return max((self.after(e.buffer) for e in loads), default=0)

    def find(
        self,
        extents: tuple[int, ...],
        folded: tuple[int, ...] | None,
        made: list[Element],
        chain: bool | None = None,
        early: bool = False,
    ) -> Group:
        """The nest for a new root: one that is there, if all it reads is there when it runs.

        That which makes most of what is costly in it anyway; else the latest, or `early`.
        """
        every = reachable(made)
        loads = [e for e in every if isinstance(e, Load) and e.buffer in self.made_in]
        costly = [e for e in every if isinstance(e, Apply) and COSTS.get(e.spelling, 1) > LIGHT]
        group = self._sharing(costly, extents, folded, loads, chain)
        group = group or self._joinable(extents, folded, loads, chain, early)
        if group is None:
            group = self._opened(extents, folded, loads)
        elif folded is not None:
            group.folded = folded
        for e in costly:
            makers = self.makers.setdefault(e, [])
            if group not in makers:
                makers.append(group)
        return group

    def _opened(self, extents: tuple[int, ...], folded: tuple[int, ...] | None, loads: list[Load]) -> Group:
        """A nest of its own, which others may join."""
        group = self.add(Group(extents, folded, max((self.after(e.buffer) for e in loads), default=0)))
        there, deepest = self.by_extents.setdefault(extents, ([], []))
        there.append(group)
        deepest.append(max(group.depth, deepest[-1] if deepest else 0))
        return group

    def _sharing(
        self,
        costly: list[Apply],
        extents: tuple[int, ...],
        folded: tuple[int, ...] | None,
        loads: list[Load],
        chain: bool | None,
    ) -> Group | None:
        """The nest that makes most of what is costly already, the latest of several; None if none makes any of it."""
        shared: Counter[Group] = Counter()
        for e in costly:
            for group in self.makers.get(e, ()):
                if group.extents == extents:
                    shared[group] += COSTS[e.spelling]
        for group in sorted(shared, key=lambda g: (shared[g], g.depth), reverse=True):
            if _fits(group, folded, chain) and all(self._ready(e, group) for e in loads):
                return group
        return None

    def _joinable(
        self,
        extents: tuple[int, ...],
        folded: tuple[int, ...] | None,
        loads: list[Load],
        chain: bool | None,
        early: bool,
    ) -> Group | None:
        there, deepest = self.by_extents.get(extents, ([], []))
        least = max((self.made_in[e.buffer].depth for e in loads), default=-1)
        start = bisect_left(deepest, least)  # those before run too early
        for k in range(start, len(there)) if early else range(len(there) - 1, start - 1, -1):
            group = there[k]
            if _fits(group, folded, chain) and all(self._ready(e, group) for e in loads):
                return group
        return None

    def _ready(self, load: Load, group: Group) -> bool:
        """Whether what is loaded is complete before `group`, or made by it at the same place."""
        maker = self.made_in[load.buffer]
        if maker is not group:
            return maker.depth < group.depth
        if load.gathered:
            return False
        return (load.buffer, load.offset) in group.places


def _fits(group: Group, folded: tuple[int, ...] | None, chain: bool | None) -> bool:
    """Whether what a root folds, and in which order, is what a nest folds."""
    return (folded is None or group.folded in (None, folded)) and (chain is None or group.chain in (None, chain))


def read_outside(groups: list[Group]) -> set[Buffer]:
    """The buffers that some nest reads without having just stored the element itself."""
    read: set[Buffer] = set()
    for g in groups:
        if g.call:
            read |= {g.call.left.buffer, g.call.right.buffer}
        tops = [s.value for s in g.stores] + [f.value for f in g.folds]
        tops += [e for s in g.stores for e, _ in s.gathered]
        tops += [e for a in g.asserts for e in (a.fails, a.report)]
        for made, there in ((tops, g.places), ([s.value for s in g.after], g.complete)):
            for e in reachable(made):
                if isinstance(e, Load) and (e.gathered or (e.buffer, e.offset) not in there):
                    read.add(e.buffer)
        read |= {s.buffer for s in g.stores if s.fold or s.over}
    return read


def loaded(made: Sequence[Element]) -> set[Buffer]:
    """The buffers that elements are made from."""
    return {e.buffer for e in reachable(made) if isinstance(e, Load)}


def loads_of(buffer: Buffer, made: Sequence[Element]) -> list[Load]:
    """The loads from a buffer that elements are made from."""
    return [e for e in reachable(made) if isinstance(e, Load) and e.buffer is buffer]


Gathered = Sequence[tuple[Element, int]]


def same_gathered(a: Gathered, b: Gathered) -> bool:
    """Whether what is added to two offsets at run time is surely the same."""
    if [stride for _, stride in a] != [stride for _, stride in b]:
        return False
    pending = [(x, y) for (x, _), (y, _) in zip(a, b, strict=True)]
    while pending:
        x, y = pending.pop()
        if x is y:
            continue
        if type(x) is not type(y) or _own(x) != _own(y) or _own(x) is None:
            return False
        pending += zip(children(x), children(y), strict=True)
    return True


def _own(e: Element) -> Any:
    """What an element is besides those that it is made of; None where that is not compared."""
    if isinstance(e, Load):
        return e.buffer, e.offset, [stride for _, stride in e.gathered]
    if isinstance(e, Apply):
        return e.spelling, e.dtype, len(e.args)
    return (e.value, e.dtype) if isinstance(e, Number) else None


__all__ = ["Group", "Groups", "loaded", "loads_of", "read_outside", "same_gathered"]
