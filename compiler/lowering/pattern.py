"""What the loop programs of one graph at different sizes have in common.

    pattern = opened(program)       a program of SymInts with extents in their place
    pattern.match(another)          the numbers of those extents, if the other is of the same pattern

Lowering decides by numbers: which axis is the vector axis, what is stored, in what order. Two sizes for which it
decides alike give programs that differ in numbers alone, and one piece of machine code serves both, with the bits
that each would have. A program that was lowered with SymInts (`ir.symint`) tells which numbers these are, and `match`
gives them as formulas of the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import index
from typing import Any, NamedTuple

from ..ir.graph import Where
from ..ir.measure import UNKNOWN, Extent, Sizes
from ..ir.symint import SymFloat, SymInt
from ..ir.types import Size, Type
from ..loops import Affine, Axis, Buffer, ToldFloat
from .nests.chunks import Pause, cut, pause
from .program import Nest, Program, Rows
from .storage import plan

SHAPE = frozenset(("reduced", "width", "unroll", "rows", "partials", "site", "aliases"))
"""Fields whose numbers decide what code is written."""


class Differs(Exception):
    """Two programs that differ in more than numbers."""


class ToldCut(NamedTuple):
    """A `Cut` whose numbers are told."""

    whole: Any
    step: Any
    work: Any
    chunks: Any


@dataclass(frozen=True)
class Told:
    """The numbers that a kernel is told: their names in order, and what the writer would otherwise decide by them.

    arena   where the scratch buffers lie, and how much memory they take
    cuts    how each statement is cut into chunks
    pauses  where each statement looks for signals
    """

    names: tuple[str, ...]
    sizes: Sizes
    arena: tuple[dict[Buffer, Any], Any]
    cuts: tuple[ToldCut | None, ...]
    pauses: tuple[Pause | None, ...]


@dataclass(frozen=True)
class Pattern:
    """A program with extents for numbers, and its plan with them."""

    program: Program
    told: Told

    def match(self, program: Program) -> tuple[Any, ...] | None:
        """The numbers of the extents that make this pattern into `program`, if the guards hold for them."""
        found: dict[str, Any] = {}

        def number(mine: Any, theirs: Any) -> Any:
            told = mine.bits if type(mine) is ToldFloat else mine
            if isinstance(told, Extent):
                (((name,), _),) = told.size.terms
                mine = found.setdefault(name, theirs)
            elif type(theirs) in (SymInt, SymFloat):
                raise Differs  # it could be told no other
            if mine != theirs:
                raise Differs
            return mine

        program = _in_turns_of(self.program, program)
        try:
            walk = _Walk(number)
            walk.pair(self.program, program)
            walk.pair(_plain(self.told), _plan(program))
        except (Differs, RecursionError):
            return None
        return tuple([found[name] for name in self.told.names]) if self.told.sizes.hold(found) else None


def _in_turns_of(like: Program, program: Program) -> Program:
    """The program with turns as long as those of another: that changes its speed, and no bit of what it computes."""
    body = [_statement(s, t) for s, t in zip(like.body, program.body, strict=False)]
    return replace(program, body=(*body, *program.body[len(body) :]))


def _statement(like: Any, statement: Any) -> Any:
    if isinstance(like, Rows) and isinstance(statement, Rows):
        return replace(statement, body=tuple(map(_statement, like.body, statement.body)))
    if not isinstance(like, Nest) or not isinstance(statement, Nest):
        return statement
    return replace(statement, rows=like.rows, unroll=like.unroll)


def _plan(program: Program) -> tuple[Any, ...]:
    """What the writer decides by numbers: where buffers lie, how statements are cut, where they look for signals."""
    loops = [s if isinstance(s, Nest | Rows) else None for s in program.body]
    cuts = [s and cut(s) for s in loops]
    pauses = [s and pause(s, c) for s, c in zip(loops, cuts, strict=True)]
    told = tuple([c and (c.whole, c.step, c.work, c.chunks) for c in cuts])
    return plan(program.scratch, program.body), told, tuple([p and tuple(p) for p in pauses])


def _plain(told: Told) -> tuple[Any, ...]:
    return told.arena, tuple([c and tuple(c) for c in told.cuts]), tuple([p and tuple(p) for p in told.pauses])


def opened(program: Program) -> Pattern:
    """The pattern of a program of SymInts."""
    sizes = Sizes({})
    slots: dict[int, Extent] = {}

    def number(mine: Any, _: Any) -> Any:
        if type(mine) not in (SymInt, SymFloat):
            return mine
        found = slots.get(mine.node)
        if found is None:
            name = f"s{len(slots)}"
            sizes.numbers[name], sizes.least[name] = (mine.number if type(mine) is SymInt else 0), UNKNOWN
            found = slots[mine.node] = Extent(Size.named(name), sizes)
        return found if type(mine) is SymInt else ToldFloat(found)

    whole = program, _plan(program)
    made, (arena, cuts, pauses) = _Walk(number).pair(whole, whole)
    chunks, looks = tuple([c and ToldCut(*c) for c in cuts]), tuple([p and Pause(*p) for p in pauses])
    return Pattern(made, Told(tuple(sizes.numbers), sizes, arena, chunks, looks))


class _Walk:
    """Walks two structures side by side and rebuilds the first with what `number` makes of pairs of numbers."""

    def __init__(self, number: Callable[[Any, Any], Any]) -> None:
        self.number = number
        self.made: dict[tuple[int, int], Any] = {}
        self.partner: dict[int, Any] = {}

    def pair(self, a: Any, b: Any) -> Any:
        kind = type(a)
        if kind is int or kind is Extent or kind is SymInt:
            if type(b) is not int and type(b) is not SymInt:
                raise Differs
            return self.number(a, b)
        if kind is ToldFloat or kind is SymFloat:
            if type(b) is not float and type(b) is not SymFloat:
                raise Differs
            return self.number(a, b)
        if kind is not type(b):
            raise Differs
        if kind is str or a is None or kind is bool or kind is Where:
            if a != b:
                raise Differs
            return a
        if kind is float:
            if (a != b and not (math.isnan(a) and math.isnan(b))) or math.copysign(1, a) != math.copysign(1, b):
                raise Differs
            return a
        key = (id(a), id(b))
        made = self.made.get(key)
        if made is None:
            made = self.made[key] = self._inside(kind, a, b)
        return made

    def _inside(self, kind: Any, a: Any, b: Any) -> Any:
        if issubclass(kind, (tuple, list)):
            if len(a) != len(b):
                raise Differs
            made = [self.pair(x, y) for x, y in zip(a, b, strict=True)]
            if all(x is y for x, y in zip(made, a, strict=True)):
                return a
            return kind(*made) if hasattr(kind, "_fields") else kind(made)
        if kind is dict:
            pairs = self.pair(tuple(a.items()), tuple(b.items()))
            return dict(pairs)
        if kind in (set, frozenset):
            if a or b:
                raise Differs
            return a
        if kind is Type:
            shape = self.pair(a.shape, b.shape)
            if a.dtype != b.dtype:
                raise Differs
            return a if shape is a.shape else Type(a.dtype, shape)
        if kind is Affine:
            terms, constant = self.pair(a.terms, b.terms), self.pair(a.constant, b.constant)
            return a if terms is a.terms and constant is a.constant else Affine(terms, constant)
        if kind in (Axis, Buffer) and self.partner.setdefault(id(a), b) is not b:
            raise Differs
        if kind is Axis:  # what it is called in dumps makes no difference
            extent = self.pair(a.extent, b.extent)
            return a if extent is a.extent else Axis(a.name, extent)
        return self._fields(kind, a, b)

    def _fields(self, kind: Any, a: Any, b: Any) -> Any:
        names = _fields_of(kind)
        pairs = [(getattr(a, name), getattr(b, name)) for name in names]
        made = [_shape(*pair) if name in SHAPE else self.pair(*pair) for name, pair in zip(names, pairs, strict=True)]
        if all(x is getattr(a, name) for x, name in zip(made, names, strict=True)):
            return a
        new = object.__new__(kind)
        for name, x in zip(names, made, strict=True):
            object.__setattr__(new, name, x)
        return new


def _shape(a: Any, b: Any) -> Any:
    """What decides what code is written, as plain numbers, if it is the same."""
    if type(a) is tuple:
        if type(b) is not tuple or len(a) != len(b):
            raise Differs
        return tuple(map(_shape, a, b))
    if (a is None) != (b is None) or a != b:
        raise Differs
    return a if a is None else index(a)


_known: dict[type, tuple[str, ...]] = {}


def _fields_of(kind: type) -> tuple[str, ...]:
    """The fields of the language's own classes; other objects make programs differ."""
    names = _known.get(kind)
    if names is None:
        slots = [s for each in reversed(kind.__mro__) for s in (each.__dict__.get("__slots__") or ())]
        if not slots or not kind.__module__.rpartition(".")[0].endswith(("compiler", "compiler.lowering")):
            raise Differs
        names = _known[kind] = tuple(dict.fromkeys(slots))
    return names


__all__ = ["Pattern", "Told", "ToldCut", "opened"]
