"""Taylor mode: from the coefficients of a graph's parameters, as power series in one variable, those of its results.

    x(t) = x0 + x1 t + x2 t^2 + ...      goes in, f(x(t)) = y0 + y1 t + y2 t^2 + ... comes out

A linear operation is applied to every coefficient, a bilinear one makes a convolution of them. For all others
y' = J(x) x', where the right-hand side is a graph, that of the operation's pushforward: so coefficient k of y is
coefficient k - 1 of that graph divided by k, and the rules are those of first derivatives. As the graph may hold the
operation itself again, coefficients are made when they are asked for, lowest first (Griewank and Walther, "Evaluating
Derivatives", 2008, chapter 13; there with a recurrence for each function).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.graph import Builder, Graph, Op, Value, inline
from ..ir.primitive import Primitive
from ..ops import elementwise as E
from ..ops import memory
from ..ops import shape as S
from ..ops.contract import contract
from ..ops.control import call
from ..ops.convolve import correlate
from ..ops.index import scatter_add, take
from ..ops.reduce import spread, sum_
from ..ops.source import number
from .adjoint import adjoint
from .cleanup import dead
from .packing import unpacked

LINEAR: frozenset[Primitive] = frozenset((
    E.add, E.sub, E.neg, E.select, E.cast, S.reshape, S.transpose, S.slice_, S.pad, S.concatenate, sum_, spread, take,
    scatter_add, memory.read, memory.update, memory.bump,
))
"""Linear in all their arguments of floats together."""

BILINEAR: frozenset[Primitive] = frozenset((E.mul, contract, correlate))

Coefficient = Value | None
"""None is zero."""


def taylor(b: Builder, graph: Graph, inputs: Sequence[Sequence[Coefficient]], order: int) -> list[list[Coefficient]]:
    """Emit the coefficients of the results, up to `order`, from those of the parameters, lowest first."""
    walk = _Walk(b)
    results = walk.graph(unpacked(graph), [Given(each) for each in inputs])
    return [[y.at(k) for k in range(order + 1)] for y in results]


class Series:
    """The coefficients of a value; `is_constant` where all but the first are zero."""

    is_constant = False

    def at(self, k: int) -> Coefficient:
        raise NotImplementedError

    def first(self) -> Value:
        """The value itself."""
        found = self.at(0)
        assert found is not None, "a value is there"
        return found


class Given(Series):
    """Coefficients that are known."""

    def __init__(self, known: Sequence[Coefficient]) -> None:
        self.known = known
        self.is_constant = all(each is None for each in known[1:])

    def at(self, k: int) -> Coefficient:
        return self.known[k] if k < len(self.known) else None


class Slope(Series):
    """The derivative of a series."""

    def __init__(self, b: Builder, of: Series) -> None:
        self.b, self.of = b, of
        self._made: dict[int, Coefficient] = {}

    def at(self, k: int) -> Coefficient:
        if k not in self._made:
            x = self.of.at(k + 1)
            self._made[k] = _scaled(self.b, x, k + 1)
        made = self._made[k]
        return number(self.b, 0, self.of.first().type) if made is None and k == 0 else made


class _Node:
    """An operation on series."""

    def __init__(self, walk: _Walk, op: Op, args: Sequence[Series]) -> None:
        self.walk, self.op, self.args = walk, op, args
        self.is_constant = all(each.is_constant for each in args)
        self._values: Sequence[Value] | None = None
        self._slopes: list[Series] | None = None

    def values(self) -> Sequence[Value]:
        """The results of the operation itself."""
        if self._values is None:
            b, op = self.walk.b, self.op
            given = [each.first() for each in self.args]
            b.where = op.where
            self._values = b.emit(op.prim, *given, regions=op.regions, **op.attrs)
        return self._values

    def coefficient(self, which: int, k: int) -> Coefficient:
        op, b = self.op, self.walk.b
        if op.prim in LINEAR:
            return self._linear(k)
        if op.prim in BILINEAR:
            x, y = self.args
            terms = [(x.at(i), y.at(k - i)) for i in range(k + 1)]
            products = [b.emit(op.prim, u, v, **op.attrs)[0] for u, v in terms if u is not None and v is not None]
            return _total(b, products)
        return _scaled(b, self.slopes()[which].at(k - 1), 1.0 / k)

    def _linear(self, k: int) -> Coefficient:
        op, b = self.op, self.walk.b
        given = [each.at(k) if a.type.is_float else each.first() for each, a in zip(self.args, op.args, strict=True)]
        floats = [x for x, a in zip(given, op.args, strict=True) if a.type.is_float]
        if all(x is None for x in floats):
            return None
        if op.prim is E.add and None in given:
            return next(x for x in given if x is not None)
        whole = [number(b, 0, each.first().type) if x is None else x for x, each in zip(given, self.args, strict=True)]
        return b.emit(op.prim, *whole, **op.attrs)[0]

    def slopes(self) -> list[Series]:
        """The derivatives of the results, as series: the pushforward, of the arguments and their derivatives."""
        if self._slopes is None:
            self._slopes = self.walk.pushed(self)
        return self._slopes


class Made(Series):
    """A result of an operation."""

    def __init__(self, node: _Node, which: int) -> None:
        self.node, self.which = node, which
        self.is_constant = node.is_constant or not node.op.results[which].type.is_float
        self._made: dict[int, Coefficient] = {}

    def at(self, k: int) -> Coefficient:
        if k == 0:
            return self.node.values()[self.which]
        if self.is_constant:
            return None
        if k not in self._made:
            self._made[k] = self.node.coefficient(self.which, k)
        return self._made[k]


class _Walk:
    """Series by what they are made of: an operation that a pushforward repeats is the one that is there."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self._known: dict[Any, tuple[_Node, list[Series]]] = {}
        self._pushed: dict[Any, Graph] = {}

    def graph(self, graph: Graph, given: Sequence[Series]) -> list[Series]:
        """The results' series. What a tape leads from one operation to another has none: such a graph stays whole."""
        if any(v.type.is_tape for op in graph.body for v in op.results):
            results = tuple([Value(r.type, r.hint) for r in graph.results])
            return self._made(Op(call, graph.params, {}, (graph,), results, None), list(given))
        env: dict[Value, Series] = dict(zip(graph.params, given, strict=True))
        for op in graph.body:
            env.update(zip(op.results, self._made(op, [env[a] for a in op.args]), strict=True))
        return [env[r] for r in graph.results]

    def _made(self, op: Op, args: list[Series]) -> list[Series]:
        key = (op.prim, tuple(map(id, args)), tuple(sorted(op.attrs.items())), tuple(map(id, op.regions)))
        if key not in self._known:
            node = _Node(self, op, args)
            self._known[key] = node, [Made(node, k) for k in range(len(op.results))]
        return self._known[key][1]

    def pushed(self, node: _Node) -> list[Series]:
        op = node.op
        pairs = enumerate(zip(op.args, node.args, strict=True))
        moving = [k for k, (a, x) in pairs if a.type.is_float and not x.is_constant]
        key = (op.prim, tuple([a.type for a in op.args]), tuple(sorted(op.attrs.items())), op.regions, tuple(moving))
        if key not in self._pushed:
            self._pushed[key] = _pushforward(op, moving)
        graph = self._pushed[key]
        floats = [Given([number(self.b, 0, r.type)]) for r in op.results if r.type.is_float]
        made = iter(self.graph(graph, [*node.args, *floats, *[Slope(self.b, node.args[k]) for k in moving]]))
        return [next(made) if r.type.is_float else Given([None]) for r in op.results]


def _pushforward(op: Op, moving: Sequence[int]) -> Graph:
    """The graph of an operation's derivative: of its arguments, cotangents that do not matter, and tangents."""
    b = Builder("push", [a.type for a in op.args])
    if op.prim is call:
        results: Sequence[Value] = inline(op.regions[0], b, b.params)
    else:
        results = b.emit(op.prim, *b.params, regions=op.regions, **op.attrs)
    alone = b.finish(results)
    back = adjoint(alone, moving)
    back = Graph(back.name, back.params, back.body, back.results[len(results) :])
    cts = range(len(op.args), len(back.params))
    forth = adjoint(dead(back), list(cts))
    return dead(Graph(forth.name, forth.params, forth.body, forth.results[len(moving) :]))


def _scaled(b: Builder, x: Coefficient, factor: float) -> Coefficient:
    return x if x is None or factor == 1 else E.mul(b, x, number(b, factor, x.type))


def _total(b: Builder, terms: Sequence[Value]) -> Coefficient:
    total: Coefficient = None
    for each in terms:
        total = each if total is None else E.add(b, total, each)
    return total


__all__ = ["taylor"]
