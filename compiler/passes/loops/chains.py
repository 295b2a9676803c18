"""Multiply by the cotangent last: a chain through a backward loop made one multiplication long.

    (ct * a) * b + ct * c        a and b are known before, ct comes from the round before
    ct * (a * b + c)             one multiplication waits for ct, and what it waits for can be computed ahead, or saved

Numbers that depend on what comes into a backward region are kept as such a base and a factor that does not, until
something else reads them. Products are then associated in another way than written: last bits differ, and where the
factors alone leave the range of floats while the whole product does not, so does the result. A factor that may have
overflowed is met by `strong_mul`.

What a choice hides is zero whatever comes in, though that be infinite or NaN: sqrt at 0 hands an infinity to the max
that has made the 0. So a choice stays behind the product, never in its factor, of which zero times infinity would be
NaN; only in sums it is among the factors, where another one is not hidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...ir.graph import Builder, Graph, Op, Value
from ...ir.types import Type
from ...ops.elementwise import add, and_, div, mul, neg, not_, or_, select, sub
from ...ops.scipy.inverses import strong_mul
from ...ops.source import const, number

PRODUCTS = {mul, strong_mul}
RULES = {add, sub, div, neg, select, *PRODUCTS}


class Promise(NamedTuple):
    """base * factor, not yet computed; a factor that is None is one.

    strong   zero times infinity is zero
    live     where it is that product, and zero elsewhere; None is everywhere
    """

    base: Value
    factor: Value | None
    strong: bool = False
    live: Value | None = None


def last(graph: Graph, late: Iterable[Value]) -> Graph:
    """The graph with what depends on the parameters `late` multiplied once by everything else."""
    return _Last(graph, late).made()


class _Last:
    def __init__(self, graph: Graph, late: Iterable[Value]) -> None:
        self.graph, self.late = graph, set(late)
        self.b = Builder(graph.name)
        self.b.params = graph.params
        self.promised: dict[Value, Promise] = {}
        self.zeros = {op.results[0] for op in graph.body if op.prim is const and op.attrs["value"] == 0}
        self.kept: dict[Value, Value] = {}

    def made(self) -> Graph:
        for op in self.graph.body:
            self.b.where = op.where
            promise = self.promise(op)
            if promise is None:
                args = tuple([self.keep(a) for a in op.args])
                self.b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
                if any(a in self.late for a in args):
                    self.late.update(op.results)
            else:
                self.promised[op.results[0]] = promise
        return self.b.finish([self.keep(r) for r in self.graph.results])

    def promise(self, op: Op) -> Promise | None:
        """The result of `op` as a promise: a late number by an early one, or two on the same base."""
        if op.prim not in RULES or op.results[0].type.shape or not op.results[0].type.is_float:
            return None
        parts = [self.part(a) for a in op.args]
        if op.prim is select:
            return self.chosen(op, parts)
        early = [self.kept.get(a, a) for a in op.args]
        if op.prim in (add, sub):
            left, right = parts
            if left is None or right is None or left.base is not right.base:
                return None
            return self.joined(op, left, right)
        first, *others = parts
        if op.prim is neg:
            return first and first._replace(factor=neg(self.b, self.factor(first)))
        if op.prim is div:
            return first and (None if others[0] else first._replace(factor=div(self.b, self.factor(first), early[1])))
        if (first is None) == (others[0] is None):
            return None
        part, by = (first, early[1]) if first else (others[0], early[0])
        assert part is not None
        made = by if part.factor is None else op.prim(self.b, part.factor, by)
        return part._replace(factor=made, strong=part.strong or op.prim is strong_mul)

    def joined(self, op: Op, left: Promise, right: Promise) -> Promise:
        """The sum or difference of two on one base; what one of them hides, the other may show."""
        live = left.live
        if live is right.live:
            factors = [self.factor(left), self.factor(right)]
        else:
            factors = [self.factor(p) if p.live is None else self.masked(p.live, self.factor(p)) for p in (left, right)]
            live = None if left.live is None or right.live is None else or_(self.b, left.live, right.live)
        return Promise(left.base, op.prim(self.b, *factors), left.strong or right.strong, live)

    def chosen(self, op: Op, parts: list[Promise | None]) -> Promise | None:
        """A choice between two on one base, or one and zero."""
        test, left, right = parts
        base, where = left or right, op.args[0]
        if test is not None or base is None or (left and right and left.base is not right.base):
            return None
        if left and right:
            factor = select(self.b, where, self.factor(left), self.factor(right))
            live = left.live
            if live is not right.live:
                live = select(self.b, where, *[self.always() if p.live is None else p.live for p in (left, right)])
            return Promise(base.base, factor, left.strong or right.strong, live)
        if op.args[2 if left else 1] not in self.zeros:
            return None
        where = where if left else not_(self.b, where)
        return base._replace(live=where if base.live is None else and_(self.b, where, base.live))

    def always(self) -> Value:
        return number(self.b, True, Type("bool"))

    def masked(self, live: Value, value: Value) -> Value:
        return select(self.b, live, value, number(self.b, 0.0, value.type))

    def part(self, value: Value) -> Promise | None:
        """A late number as base and factor; None for early ones."""
        if value in self.promised:
            return self.promised[value]
        return Promise(value, None) if value in self.late else None

    def factor(self, part: Promise) -> Value:
        return number(self.b, 1.0, part.base.type) if part.factor is None else part.factor

    def keep(self, value: Value) -> Value:
        """The value itself: a promise is kept once, and stays one for those who can use it."""
        part = self.promised.get(value)
        if part is None:
            return value
        if value not in self.kept:
            product = strong_mul if part.strong else mul
            made = part.base if part.factor is None else product(self.b, part.base, part.factor)
            made = made if part.live is None else self.masked(part.live, made)
            self.kept[value] = made
            self.late.add(made)
        return self.kept[value]


__all__ = ["last"]
