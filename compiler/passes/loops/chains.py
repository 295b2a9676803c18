"""Multiply by the cotangent last: a chain through a backward loop made one multiplication long.

    (ct * a) * b + ct * c        a and b are known before, ct comes from the round before
    ct * (a * b + c)             one multiplication waits for ct, and what it waits for can be computed ahead, or saved

Numbers that depend on what comes into a backward region are kept as such a base and a factor that does not, until
something else reads them. Products are then associated in another way than written: last bits differ, and where the
factors alone leave the range of floats while the whole product does not, so does the result. What a mask hides has the
factor zero: it stays zero for every cotangent that is finite. A factor that may have overflowed is met by `strong_mul`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...ir.graph import Builder, Graph, Op, Value
from ...ops.elementwise import add, div, mul, neg, select, sub
from ...ops.scipy.inverses import strong_mul
from ...ops.source import const, number

PRODUCTS = {mul, strong_mul}
RULES = {add, sub, div, neg, select, *PRODUCTS}


class Promise(NamedTuple):
    """base * factor, not yet computed; a factor that is None is one. `strong` if zero times infinity is zero."""

    base: Value
    factor: Value | None
    strong: bool = False


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
            made = op.prim(self.b, self.factor(left), self.factor(right))
            return Promise(left.base, made, left.strong or right.strong)
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
        return Promise(part.base, made, part.strong or op.prim is strong_mul)

    def chosen(self, op: Op, parts: list[Promise | None]) -> Promise | None:
        """A choice between two on one base, or one and zero: a masked factor is zero."""
        test, left, right = parts
        base = left or right
        if test is not None or base is None or (left and right and left.base is not right.base):
            return None
        factors = []
        for part, value in ((left, op.args[1]), (right, op.args[2])):
            if part is None and value not in self.zeros:
                return None
            factors.append(value if part is None else self.factor(part))
        return Promise(base.base, select(self.b, op.args[0], *factors), any(p is not None and p.strong for p in parts))

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
            self.kept[value] = made
            self.late.add(made)
        return self.kept[value]


__all__ = ["last"]
