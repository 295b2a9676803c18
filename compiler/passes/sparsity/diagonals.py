"""The entries of a Jacobian along its diagonals: from a graph, the values of them all and where they are.

    y = u[2:] - 2 * u[1:-1]     row i has an entry of 1 in column i + 2 and one of -2 in column i + 1

Elements of arrays that were sliced, shifted, turned and combined depend on elements of the parameters that lie as the
elements of a strided view do: element i of a value on number `start + steps . i`. A diagonal is such a view with the
derivative for each of its elements. What moves elements moves views, as it does in NumPy; an elementwise operation
multiplies by its partial, once for each diagonal. So an entry is computed once, where a product with groups of columns
computes lanes for all columns of a group in every operation. (Forward accumulation as in Griewank and Walther,
"Evaluating Derivatives", 2008, section 3.2, with the nonzeros of a row kept as in their section 7.3.)

Other operations, and those after which there would be many diagonals, are refused as Irregular.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...ir.graph import Builder, Graph, Op, Value, replay
from ...ops import elementwise as E
from ...ops.control import call
from ...ops.source import const, number
from ..packing import unpacked
from .diagonal import Diagonal, Diagonals, Irregular
from .moves import MOVES


def diagonals(b: Builder, graph: Graph, args: Sequence[Value], wrt: Sequence[int]) -> list[list[Diagonal]]:
    """Emit the graph on `args`, and the diagonals of each of its results for the parameters numbered `wrt`.

    Irregular where there is no such thing.
    """
    graph = unpacked(graph)
    walk, at = _Walk(b), 0
    for k in wrt:
        t = graph.params[k].type
        shape = t.static_shape()
        if 0 not in shape:
            walk.known[args[k]] = [Diagonal(at, _row_major(shape), (0,) * len(shape), None, shape)]
        at += t.static_size()
    return [walk.known.get(r, []) for r in walk.graph(graph, args)]


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])


class _Walk(Diagonals):
    """The diagonals of values, from operation to operation."""

    def __init__(self, b: Builder) -> None:
        super().__init__(b)
        self._partials: dict[tuple[Value, int, tuple[int, ...], tuple[int, ...]], Value | None] = {}

    def graph(self, graph: Graph, args: Sequence[Value]) -> list[Value]:
        """Emit a graph; its results."""
        env = replay(graph, self.b, args, self._visit)
        return [env[r] for r in graph.results]

    def _visit(self, b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value]:
        active = any(self.known.get(a) for a in args)
        if active and op.prim is call:
            return self.graph(op.regions[0], args)
        made = Op(op.prim, args, op.attrs, op.regions, tuple([Value(r.type, r.hint) for r in op.results]), b.where)
        b.append(made)
        if op.prim is const:
            self.numbers[made.results[0]] = op.attrs["value"]
        if active and any(r.type.is_float for r in made.results):
            if op.regions or len(made.results) != 1:
                raise Irregular
            self.known[made.results[0]] = self.merged(made.results[0], self._diagonals(made))
        return made.results

    def _diagonals(self, op: Op) -> Iterable[Diagonal]:
        if op.prim.elementwise or op.prim in (E.select, E.cast):
            return self._elementwise(op)
        if op.prim not in MOVES:
            raise Irregular
        return MOVES[op.prim](self, op)

    def _elementwise(self, op: Op) -> Iterable[Diagonal]:
        given = [self.known.get(a, []) for a in op.args]
        several = max(map(len, given)) > 1
        for k, found in enumerate(given):
            for d in found:
                yield from self._through(op, k, d, several)

    def _through(self, op: Op, k: int, d: Diagonal, several: bool) -> Iterable[Diagonal]:
        """A diagonal of argument k of an elementwise operation, after it."""
        copies = op.prim in (E.add, E.sub, E.neg, E.cast)
        if d.masked and not (copies or op.prim.bounded or self._scales(op, k)):
            raise Irregular  # a pullback would keep from it what the mask hides
        masked = d.masked or (op.prim.bounded and not copies)
        if several and not (copies or masked or op.prim is E.mul):
            made = self._partial(op, k, d)
            if made is not None and d.entries is not None:
                made = E.mul(self.b, d.entries, made)
        else:
            made = self._pushed(op, k, d, self.entries(op.args[k], d))
        if made is not None:
            yield d._replace(entries=made, masked=masked)

    def _scales(self, op: Op, k: int) -> bool:
        """Whether an operation multiplies argument k by a finite number, or divides it by one."""
        if op.prim is E.mul or (op.prim is E.div and k == 0):
            factor = self.numbers.get(op.args[1 - k], math.inf)
            return math.isfinite(factor) and factor != 0
        return False

    def _partial(self, op: Op, k: int, d: Diagonal) -> Value | None:
        key = (op.results[0], k, d.low, d.shape)
        if key not in self._partials:
            one = number(self.b, 1, op.args[k].type.with_shape(d.shape))
            self._partials[key] = self._pushed(op, k, d, one)
        return self._partials[key]

    def _pushed(self, op: Op, k: int, d: Diagonal, tangent: Value) -> Value | None:
        """The derivative along a tangent: that of an elementwise operation is its own transpose, so a pullback."""
        box = (d.low, d.shape)
        args = tuple([self.part(a, *box) for a in op.args])
        result = self.part(op.results[0], *box)
        if op.args[k].type.dtype != result.type.dtype:
            assert op.prim is E.cast, "other operations keep dtypes of floats"
            return E.cast(self.b, tangent, dtype=result.type.dtype)
        return op.prim.pull(self.b, Op(op.prim, args, op.attrs, (), (result,), op.where), [tangent])[k]


__all__ = ["diagonals"]
