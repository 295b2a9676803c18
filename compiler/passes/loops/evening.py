"""From arrays whose lengths differ round by round in an unrolled loop to arrays of one length: rounds are then alike.

    %a: f64[200] = slice %v {start=(1,), ...}      %a: f64[201] = where(k < 200, v[k + 1], 0)
    %b: f64[200] = mul %p, %a                  =>  %b: f64[201] = mul %p, %a
    %c: f64[199] = slice %b {start=(1,), ...}      %c: f64[201] = where(k < 199, b[k + 1], 0)

The elements that are there have the same bits. What stands behind them is zero where a slice begins, and goes through
operations that make nothing infinite of it, nor have an infinite slope; other operations are handed ones in its place.
So no derivative sees it. Sums and products of vectors are handed zeros behind the end, and what is not known here the
array in its own length. What meets such an array, and is made of parts of others, gets its length too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...ir.graph import Builder, Graph, Op, Value
from ...ir.types import Type
from ...ops import elementary as F
from ...ops import elementwise as E
from ...ops.contract import contract
from ...ops.memory import update
from ...ops.reduce import spread, sum_
from ...ops.shape import reshape, slice_
from ...ops.source import const, iota, number
from .repeats import ROUNDS
from .windows import Windows, axis_of

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

ELEMENTS = PLAIN | CAREFUL

LONG = 16
"""From how many elements on what meets an array, or is stored, is given its length."""

HALF = 96
"""From how many elements on an array that has become half of the one length begins a loop of a shorter one."""

WASTE = 4
"""How many times the work of the arrays' own lengths that of one length may be."""


class Wide(NamedTuple):
    """An array of one length, the axis along which another one is its beginning, and whether zeros are behind that."""

    value: Value
    axis: int
    zeros: bool = False


def evened(graph: Graph) -> Graph | None:
    """The graph with arrays of one length; None where no lengths differ again and again, or the work would be much."""
    if sum([op.prim is slice_ for op in graph.body]) < ROUNDS:
        return None
    depth = _depth(graph)
    if max(depth.values(), default=0) < ROUNDS:
        return None
    made = _Evening(graph, _deepest(graph, depth))
    result = made.graph()
    return result if made.work <= WASTE * made.own else None


def _depth(graph: Graph) -> dict[Value, int]:
    """How often what each value is made of, element by element, was shortened."""
    depth: dict[Value, int] = {}
    for op in graph.body:
        if op.prim in ELEMENTS or op.prim in _JOINS:
            depth[op.results[0]] = max([depth.get(a, 0) for a in op.args], default=0)
        elif axis_of(op) is not None:
            depth[op.results[0]] = depth.get(op.args[0], 0) + 1
    return depth


def _deepest(graph: Graph, depth: Mapping[Value, int]) -> dict[Value, int]:
    """How often what is made of each value, element by element, is shortened, from the beginning to the end."""
    found = dict(depth)
    for op in reversed(graph.body):
        reached = found.get(op.results[0], 0) if op.results else 0
        for a in op.args if reached else ():
            if a in found:
                found[a] = max(found[a], reached)
    return found


_JOINS = {contract, sum_, spread, reshape, update}


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
        self.windows = Windows(self.b, graph)
        self.own = self.work = 0

    def graph(self) -> Graph:
        """The graph that is made."""
        for op in self.given.body:
            self.b.where = op.where
            if op.prim in ELEMENTS:
                made = self._elements(op, self._found(op.args))
            else:
                made = self._slice(op) if op.prim is slice_ else None
            if made is not None:
                self._keep(op.results[0], made)
            elif not self._summed(op) and not self._updated(op):
                self._same(op, [self._read(op, a) for a in op.args])
        return self.b.finish(list(map(self._narrow, self.given.results)))

    def _same(self, op: Op, args: Sequence[Value]) -> None:
        made = tuple(args)
        self.b.append(op if made == op.args else Op(op.prim, made, op.attrs, op.regions, op.results, op.where))

    def _read(self, op: Op, x: Value) -> Value:
        """An operand of an operation that stays; what a slice is of can as well be the one length."""
        return self.wide[x].value if op.prim is slice_ and x in self.wide else self._narrow(x)

    def _keep(self, x: Value, made: Wide) -> Wide:
        self.wide[x] = made
        self.own += math.prod(x.type.static_shape())
        self.work += math.prod(made.value.type.static_shape())
        return made

    def _found(self, args: Sequence[Value]) -> Wide | None:
        """The first of these values that has another length already."""
        return next((self.wide[a] for a in args if a in self.wide), None)

    def _slice(self, op: Op) -> Wide | None:
        """A slice that begins a row of them, or goes on with one, in the length of what it is of."""
        (x,), axis = op.args, axis_of(op)
        if axis is None or self.deepest[op.results[0]] < ROUNDS:
            return None
        before, after = x.type.static_shape(), op.results[0].type.static_shape()
        if after[axis] == 1 or any(n != m for k, (n, m) in enumerate(zip(before, after, strict=True)) if k != axis):
            return None
        if x in self.wide:
            wide, along, _ = self.wide[x]
            if along != axis:
                return None
            own, length = before[axis], wide.type.static_shape()[axis]
            return self._windowed(op, axis, self._narrow(x) if HALF <= own <= length // 2 else wide)
        return self._windowed(op, axis, x) if self.windows.most(x, axis) else None

    def _windowed(self, op: Op, axis: int, x: Value, length: int = 0) -> Wide:
        """A slice of x in this length, or in that of x, with zeros behind it."""
        value = self.windows.window(op, axis, x, length or x.type.static_shape()[axis])
        return Wide(self._behind(value, axis, op.results[0].type.static_shape()[axis], 0), axis, True)

    def _elements(self, op: Op, like: Wide | None) -> Wide | None:
        """An operation element by element on arrays of the one length."""
        if like is None:
            return None
        axis, shape = like.axis, like.value.type.static_shape()
        args = []
        for a in op.args:
            value = self._widened(a, axis, shape)
            if value is None:
                return None
            if op.prim in CAREFUL and a in self.wide:
                value = self._behind(value, axis, a.type.static_shape()[axis], 1)
            args.append(value)
        return Wide(self.b.emit(op.prim, *args, **op.attrs)[0], axis)

    def _summed(self, op: Op) -> bool:
        """A sum, or a product of vectors, with zeros behind the end."""
        like = self._found(op.args)
        if like is None or op.prim not in (sum_, contract):
            return False
        axis, shape = like.axis, like.value.type.static_shape()
        if op.prim is contract and any(a.type.rank != 1 for a in op.args):
            return False
        if op.prim is sum_ and axis not in op.attrs["axes"]:
            return False
        args = []
        for a in op.args:
            value = self._widened(a, axis, shape, short=True)
            if value is None:
                return False
            known = self.wide.get(a)
            zeros = known is not None and known.zeros
            args.append(value if zeros else self._behind(value, axis, a.type.static_shape()[axis], 0))
        self._same(op, args)
        return True

    def _updated(self, op: Op) -> bool:
        """Some elements of a vector that has the one length, put into it."""
        if op.prim is not update or op.args[0].type.rank != 1 or op.attrs.get("steps", (1,)) != (1,):
            return False
        root, part, start = op.args
        maker = self.makers.get(start)
        count, length = op.attrs["widths"][0], root.type.static_shape()[0]
        if maker is None or maker.prim is not const or part.type.shape != (count,) or not 1 < count < length:
            return False
        at = maker.attrs["value"]
        if length < LONG or not 0 <= at <= length - count or self.deepest.get(op.results[0], 0) < ROUNDS:
            return False
        value = self._widened(part, 0, (length,))
        if value is None:
            return False
        inside = self._before(value, 0, at + count)
        if at:
            value = self.windows.moved(value, at)
            inside = E.and_(self.b, inside, E.not_(self.b, self._before(value, 0, at)))
        self.b.append(Op(E.select, (inside, value, self._narrow(root)), {}, (), op.results, op.where))
        return True

    def _widened(self, x: Value, axis: int, shape: tuple[int, ...], short: bool = False) -> Value | None:
        """An operand in the one length, if that can be made of it; with `short` also where there are few elements."""
        made: Wide | None = self.wide.get(x)
        if made is not None:
            return made.value if made.axis == axis and made.value.type.shape == shape else None
        if x.type.rank != len(shape) or any(n != m for k, (n, m) in enumerate(zip(x.type.shape, shape, strict=True))
                                            if k != axis):
            return None
        op = self.makers.get(x)
        if op is None:
            return None
        if op.prim is const:
            return number(self.b, op.attrs["value"], x.type.with_shape(shape))
        if op.prim is spread and axis not in op.attrs["axes"]:
            return spread(self.b, self._narrow(op.args[0]), shape=shape, axes=op.attrs["axes"])
        if op.prim is iota:
            more = self.b.emit(iota, type=x.type.with_shape(shape), axis=op.attrs["axis"])[0]
            made = Wide(more, axis) if short or shape[axis] >= LONG else None
        else:
            made = self._afterwards(op, Wide(x, axis), shape) if short or shape[axis] >= LONG else None
        if made is None:
            return None
        self.own_length[x] = x  # it is there in its own length
        return self._keep(x, made).value

    def _afterwards(self, op: Op, like: Wide, shape: tuple[int, ...]) -> Wide | None:
        """What has its own length so far, made in the one length for what it meets there."""
        axis, whole = like.axis, Value(like.value.type.with_shape(shape))
        if op.prim in ELEMENTS:
            return self._elements(op, Wide(whole, axis))
        cut = self.makers.get(op.args[0]) if op.prim is reshape else op
        found = None if cut is None else axis_of(cut)
        if cut is None or found is None or cut.args[0] in self.wide:
            return None
        part = cut.results[0].type.static_shape()
        fits = found == axis if op is cut else len(shape) == 1 and math.prod(part) == part[found]
        if not fits:
            return None
        made = self._windowed(cut, found, cut.args[0], shape[axis])
        return made if op is cut else Wide(reshape(self.b, made.value, shape=shape), axis, True)

    def _behind(self, value: Value, axis: int, length: int, fill: int) -> Value:
        """A value with another number behind the elements that are there."""
        if length == value.type.static_shape()[axis]:
            return value
        return E.select(self.b, self._before(value, axis, length), value, number(self.b, fill, value.type))

    def _before(self, value: Value, axis: int, length: int) -> Value:
        """Where elements stand before the one of this number."""
        shape = value.type.static_shape()
        key = shape, axis, length
        if key not in self.masks:
            at = self.b.emit(iota, type=INDEX.with_shape(shape), axis=axis)[0]
            end = spread(self.b, number(self.b, length, INDEX), shape=shape, axes=())
            self.masks[key] = E.lt(self.b, at, end)
        return self.masks[key]

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
