"""From arrays that grow shorter round by round in an unrolled loop to arrays of one length: then all rounds are alike.

    %a: f64[200] = slice %v {start=(1,), ...}      %a: f64[201] = where(k < 200, v[k + 1], 0)
    %b: f64[200] = mul %p, %a                  =>  %b: f64[201] = mul %p, %a
    %c: f64[199] = slice %b {start=(1,), ...}      %c: f64[201] = where(k < 199, b[k + 1], 0)

The elements that are there have the same bits. What stands behind them is zero where a slice begins, and goes through
operations that make nothing infinite of it, nor have an infinite slope; other operations are handed ones in its place.
So no derivative sees it. Reductions, and all that is not known here, are handed the array in its own length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...ir.graph import Builder, Graph, Op, Value
from ...ir.types import Type
from ...ops import elementary as F
from ...ops import elementwise as E
from ...ops.reduce import spread
from ...ops.shape import pad, slice_
from ...ops.source import const, iota, number
from .repeats import ROUNDS

INDEX = Type("i64")

PLAIN = {
    E.add, E.sub, E.mul, E.neg, E.abs_, E.sign, E.maximum, E.minimum, E.select, E.cast, E.eq, E.ne, E.lt, E.le, E.gt,
    E.ge, E.and_, E.or_, E.not_,
}
"""Primitives that are finite, with finite slopes, for all that is finite."""

CAREFUL = {
    E.div, E.pow_, E.sqrt, E.floor, E.ceil, E.rint, E.trunc, F.exp, F.log, F.log1p, F.expm1, F.exp2, F.log2, F.log10,
    F.cbrt, F.sin, F.cos, F.tan, F.arctan, F.sinh, F.cosh, F.tanh, F.sech2, F.sigmoid, F.softplus, F.erf, F.gauss,
}
"""Primitives that are so for ones."""

WASTE = 4
"""How many times the work of the arrays' own lengths that of one length may be."""


class Wide(NamedTuple):
    """An array of one length, and the axis along which another one is its beginning."""

    value: Value
    axis: int


def evened(graph: Graph) -> Graph | None:
    """The graph with arrays of one length; None where no arrays shorten again and again, or the work would be much."""
    deepest = _deepest(graph)
    if max(deepest.values(), default=0) < ROUNDS:
        return None
    made = _Evening(graph, deepest)
    result = made.graph()
    return result if made.work <= WASTE * made.own else None


def _deepest(graph: Graph) -> dict[Value, int]:
    """How often what is made of each value, element by element, is shortened, from the beginning to the end."""
    depth: dict[Value, int] = {}
    for op in graph.body:
        shorter = _shortened(op) is not None
        if shorter or op.prim in PLAIN or op.prim in CAREFUL:
            depth[op.results[0]] = max([depth.get(a, 0) for a in op.args], default=0) + shorter
    found = dict(depth)
    for op in reversed(graph.body):
        reached = found.get(op.results[0], 0) if op.results else 0
        for a in op.args if reached else ():
            if a in found:
                found[a] = max(found[a], reached)
    return found


def _shortened(op: Op) -> int | None:
    """The axis along which a slice takes neighbours and leaves some out, if it is one axis."""
    if op.prim is not slice_ or any(step != 1 for step in op.attrs["step"]):
        return None
    before, after = op.args[0].type.shape, op.results[0].type.shape
    axes = [k for k, (n, m) in enumerate(zip(before, after, strict=True)) if n != m]
    return axes[0] if len(axes) == 1 and after[axes[0]] else None


class _Evening:
    """A graph while its arrays get one length.

    own, work   elements that are made: of the arrays' own lengths, and of the one length
    """

    def __init__(self, graph: Graph, deepest: dict[Value, int]) -> None:
        self.given, self.deepest = graph, deepest
        self.b = Builder(graph.name)
        self.b.params = graph.params
        self.wide: dict[Value, Wide] = {}
        self.own_length: dict[Value, Value] = {}
        self.makers = {r: op for op in graph.body for r in op.results}
        self.masks: dict[tuple[tuple[int, ...], int, int], Value] = {}
        self.own = self.work = 0

    def graph(self) -> Graph:
        """The graph that is made."""
        for op in self.given.body:
            self.b.where = op.where
            made = self._made(op)
            if made is None:
                args = tuple(map(self._narrow, op.args))
                self.b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
                continue
            self.wide[op.results[0]] = made
            self.own += math.prod(op.results[0].type.static_shape())
            self.work += math.prod(made.value.type.static_shape())
        return self.b.finish(list(map(self._narrow, self.given.results)))

    def _made(self, op: Op) -> Wide | None:
        if self._axis(op) is not None:
            return self._slice(op)
        if op.prim in PLAIN or op.prim in CAREFUL:
            return self._elements(op)
        return None

    def _axis(self, op: Op) -> int | None:
        axis = _shortened(op)
        return axis if axis is not None and self.deepest[op.results[0]] >= ROUNDS else None

    def _slice(self, op: Op) -> Wide | None:
        """The elements moved to the beginning, with zeros behind them."""
        axis, (x,) = _shortened(op), op.args
        assert axis is not None
        value, along = self.wide.get(x) or Wide(x, axis)
        if along != axis:
            return None
        shape, start = value.type.static_shape(), op.attrs["start"]
        if start[axis]:
            rest = (*shape[:axis], shape[axis] - start[axis], *shape[axis + 1 :])
            ones, zeros = (1,) * len(shape), (0,) * len(shape)
            value = pad(self.b, slice_(self.b, value, start=start, step=ones, shape=rest), start=zeros, step=ones,
                        shape=shape)
        return Wide(self._behind(value, axis, op.results[0], 0), axis)

    def _elements(self, op: Op) -> Wide | None:
        """An operation element by element on arrays of the one length."""
        found = [self.wide[a] for a in op.args if a in self.wide]
        if not found or any(w.axis != found[0].axis or w.value.type.shape != found[0].value.type.shape for w in found):
            return None
        axis, shape = found[0].axis, found[0].value.type.static_shape()
        args = [v for a in op.args if (v := self._widened(a, axis, shape)) is not None]
        if len(args) < len(op.args):
            return None
        if op.prim in CAREFUL:
            args = [self._behind(v, axis, a, 1) if a in self.wide else v for v, a in zip(args, op.args, strict=True)]
        return Wide(self.b.emit(op.prim, *args, **op.attrs)[0], axis)

    def _widened(self, x: Value, axis: int, shape: tuple[int, ...]) -> Value | None:
        """An operand in the one length: what is the same along the axis is so in any."""
        if x in self.wide:
            return self.wide[x].value
        op = self.makers.get(x)
        if op is not None and op.prim is const:
            return number(self.b, op.attrs["value"], x.type.with_shape(shape))
        if op is not None and op.prim is spread and axis not in op.attrs["axes"]:
            return spread(self.b, self._narrow(op.args[0]), shape=shape, axes=op.attrs["axes"])
        return None

    def _behind(self, value: Value, axis: int, x: Value, fill: int) -> Value:
        """What stands for x, with another number behind the elements that are there."""
        shape, length = value.type.static_shape(), x.type.static_shape()[axis]
        if length == shape[axis]:
            return value
        key = shape, axis, length
        if key not in self.masks:
            at = self.b.emit(iota, type=INDEX.with_shape(shape), axis=axis)[0]
            end = spread(self.b, number(self.b, length, INDEX), shape=shape, axes=())
            self.masks[key] = E.lt(self.b, at, end)
        return E.select(self.b, self.masks[key], value, number(self.b, fill, value.type))

    def _narrow(self, x: Value) -> Value:
        """A value in its own length."""
        if x not in self.wide:
            return x
        if x not in self.own_length:
            shape = x.type.static_shape()
            zeros: Sequence[int] = (0,) * len(shape)
            self.own_length[x] = slice_(self.b, self.wide[x].value, start=zeros, step=(1,) * len(shape), shape=shape)
        return self.own_length[x]


__all__ = ["evened"]
