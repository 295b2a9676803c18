"""A graph into one that asks for costly functions of masked operands by those of the operands themselves.

    %1 = select %p, 1.0, %x                       %2 = select %p, 0.0, %3
    %2 = log %1                     becomes       where 0.0 is the logarithm of 1.0
    %3 = log %x

A pullback masks what a function is asked for where its result is hidden, so second derivatives ask for the same
logarithms and powers again, of operands that differ in the mask. It is done only where the function is asked for
without the mask as well: the mask may keep from it what is slow. No bit changes: what is chosen between is the same.
After this nothing is differentiated any more, which would want the mask before the function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..ir.graph import Builder, Graph, Op, Value
from ..ops.elementwise import Elementwise, select
from ..ops.reduce import spread
from ..ops.source import const, number
from .cleanup import common, inside

DEEP = 4
"""Masks are looked for behind so many light operations, one after the other: a pullback puts them right at operands, or
within a quotient or a product of them."""


class _Applied(NamedTuple):
    """What a light operation makes of terms, if it is made again without the mask of its arguments."""

    op: Op
    args: tuple[Value | _Applied, ...]


_Term = Value | _Applied


class _Mask(NamedTuple):
    """Where a number stands for an operand: where `where` holds, or where it does not."""

    where: Value
    holds: bool


class _Level(NamedTuple):
    """Operands without one mask, and the numbers that stand for them under it."""

    mask: _Mask
    terms: tuple[_Term, ...]
    numbers: tuple[float, ...]


def unmask(graph: Graph) -> Graph:
    """The graph with masks behind those costly functions of them that are also asked for without: both are one then."""
    made = _Unmasking(graph).run()
    return graph if made is graph else common(made)


class _Unmasking:
    """A graph and what made its values; `asked` counts what costly functions are asked for, at each place."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.b = graph, Builder(graph.name)
        self.made = {r: op for op in graph.body for r in op.results}
        self.asked = Counter((op.prim, k, a) for op in graph.body if _is_costly(op) for k, a in enumerate(op.args))

    def run(self) -> Graph:
        b, changed = self.b, False
        b.params = self.graph.params
        for op in self.graph.body:
            b.where = op.where
            if op.regions and inside(b, op, op.args, unmask) is not None:
                changed = True
                continue
            levels = self._levels(op) if _is_costly(op) and op.results[0].type.shape else []
            changed = changed or bool(levels)
            self._emit(op, levels)
        b.where = None
        return b.finish(self.graph.results) if changed else self.graph

    def _levels(self, op: Op) -> list[_Level]:
        """The masks that are taken off the operands, the outermost first: down to where the function is asked for."""
        terms: tuple[_Term, ...] = op.args
        levels: list[_Level] = []
        known = 0
        while (level := self._peeled(terms)) is not None:
            levels.append(level)
            terms = level.terms
            if any(isinstance(t, Value) and self.asked[op.prim, k, t] for k, t in enumerate(terms) if self._varies(t)):
                known = len(levels)
        return levels[:known]

    def _varies(self, term: _Term) -> bool:
        """Whether it is no constant, as an exponent may be."""
        return not isinstance(term, Value) or term not in self.made or self.made[term].prim is not const

    def _peeled(self, terms: Sequence[_Term]) -> _Level | None:
        """The operands without a mask that all of them have, if they are no constants."""
        for mask in self._masks(terms):
            parts = [self._under(t, mask) for t in terms]
            if all(part is not None for part in parts):
                inner, numbers = zip(*[part for part in parts if part is not None], strict=True)
                return _Level(mask, inner, numbers)
        return None

    def _masks(self, terms: Sequence[_Term]) -> list[_Mask]:
        """The masks of the operands, as they stand or within light operations."""
        found: list[_Mask] = []
        pending = [(term, 0) for term in terms]
        while pending:
            term, depth = pending.pop()
            op, args = self._maker(term)
            if op is not None and op.prim is select:
                p, a, b = op.args
                found += [_Mask(p, holds) for holds, arm in ((True, a), (False, b)) if not self._varies(arm)]
            elif op is not None and depth < DEEP and _is_seen_through(op):
                pending += [(a, depth + 1) for a in args]
        return found

    def _maker(self, term: _Term) -> tuple[Op | None, tuple[_Term, ...]]:
        """The operation that made a term, and of what."""
        if isinstance(term, _Applied):
            return term.op, term.args
        op = self.made.get(term)
        return op, () if op is None else op.args

    def _under(self, term: _Term, mask: _Mask, depth: int = 0) -> tuple[_Term, float] | None:
        """An operand without a mask, and the number that stands for it under it; None if none does."""
        op, args = self._maker(term)
        if op is None:
            return None
        if op.prim is const:
            return term, op.attrs["value"]
        if op.prim is select:
            hidden, other = op.args[1:] if mask.holds else op.args[:0:-1]
            fits = op.args[0] is mask.where and not self._varies(hidden)
            return (other, self.made[hidden].attrs["value"]) if fits else None
        seen = depth < DEEP and _is_seen_through(op)
        parts = [self._under(a, mask, depth + 1) for a in args] if seen else [None]
        if any(part is None for part in parts):
            return None
        inner, numbers = zip(*[part for part in parts if part is not None], strict=True)
        given = [np.array(n, a.type.numpy) for n, a in zip(numbers, op.args, strict=True)]
        with np.errstate(all="ignore"):
            (folded,) = op.prim.evaluate(given, op.attrs, ())
        return _Applied(op, inner), np.asarray(folded).item()

    def _emit(self, op: Op, levels: Sequence[_Level]) -> None:
        """The operation, or the function without masks and a choice for each of them, the innermost first."""
        if not levels:
            self.b.append(op)
            return
        b, type = self.b, op.results[0].type
        made = op.prim(b, *[self._value(t) for t in levels[-1].terms])
        for k, (mask, _, numbers) in reversed([*enumerate(levels)]):
            alone = op.prim(b, *[number(b, n, a.type.with_shape(())) for n, a in zip(numbers, op.args, strict=True)])
            every = spread(b, alone, shape=type.shape, axes=())
            args = (mask.where, every, made) if mask.holds else (mask.where, made, every)
            if k:
                made = select(b, *args)
            else:
                b.append(Op(select, args, {}, (), op.results, op.where))

    def _value(self, term: _Term) -> Value:
        if isinstance(term, Value):
            return term
        return term.op.prim(self.b, *map(self._value, term.args))


def _is_costly(op: Op) -> bool:
    return isinstance(op.prim, Elementwise) and not op.prim.light and op.results[0].type.is_float


def _is_seen_through(op: Op) -> bool:
    """Whether an operation may be made again, and tells what it makes of numbers."""
    return isinstance(op.prim, Elementwise) and op.prim.light and op.prim.folds and op.results[0].type.is_float


__all__ = ["unmask"]
