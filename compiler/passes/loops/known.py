"""From a graph with many known arrays to one that reads them as parts of a few vectors.

    %0: i64[200], %1: i64[199], ...        becomes     %0: i64[20100]
    %a = pow (spread %u), (cast %0)                    %p = pow (spread %u), (cast %0)
    %b = mul %x, %a                                    %b = mul %x, (slice %p {start=(0,), ...})
    %c = pow (spread %u), (cast %1)
    %d = mul %y, %c                                    %d = mul %y, (slice %p {start=(200,), ...})

A loop that was unrolled meets another array in each round, which are then other parts of the same in each round. What
is done to all of them in the same way is done to the vector, before the loop; so each vector is of arrays to which the
same is done, and no element meets an operation that it did not meet.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.graph import Builder, Graph, Op, Value
from ...ir.types import Type
from ...ops.reduce import spread
from ...ops.shape import reshape, slice_
from ...ops.source import const, number
from ..cleanup import attrs_key
from .evening import ELEMENTS
from .repeats import ROUNDS

PART = 1 << 14
"""Elements up to which an array is copied into a vector."""

Path = tuple[Any, ...]


def put_together(graph: Graph, given: Sequence[Any]) -> tuple[Graph, tuple[Any, ...]] | None:
    """The graph and what is given for its last parameters; None where few of them are alike."""
    if sum(map(_is_known, given)) < ROUNDS:
        return None
    made = _Together(graph, given)
    return (made.graph(), tuple(made.left)) if made.groups else None


def _is_known(x: Any) -> bool:
    """Whether what is given for a parameter is an array that is worth copying into a vector."""
    return isinstance(x, np.ndarray) and bool(x.ndim) and 0 < x.size <= PART


class _Together:
    """A graph while its known arrays become vectors.

    steps    by known array: the operations that are done to it first, and what they have in common with others
    groups   known arrays by what is done to them
    left     what is given for the last parameters of the graph that is made
    parts    what stands for values that are parts of vectors
    first    operations before which the vectors are made: the parameter, the known arrays, how many steps
    """

    def __init__(self, graph: Graph, given: Sequence[Any]) -> None:
        self.given, self.b = graph, Builder(graph.name)
        count = len(graph.params) - len(given)
        self.known = dict(zip(graph.params[count:], given, strict=True))
        self.arrays = {p: x for p, x in self.known.items() if _is_known(x)}
        self.makers = {r: op for op in graph.body for r in op.results}
        self.order = {op: k for k, op in enumerate(graph.body)}
        self.steps = self._steps()
        self.groups = self._groups()
        self.parts: dict[Value, Value] = {}
        self.first: dict[Op, tuple[Value, list[Value], int]] = {}
        gone = {p for members in self.groups.values() for p in members}
        kept = [p for p in self.known if p not in gone]
        self.left = [self.known[p] for p in kept]
        self.b.params = (*graph.params[:count], *kept, *[self._vector(*each) for each in self.groups.items()])

    def _vector(self, path: Path, members: list[Value]) -> Value:
        """The parameter for some known arrays."""
        self.left.append(np.concatenate([np.ravel(self.arrays[p]) for p in members]))
        vector, count = Value(Type(path[0], (self.left[-1].size,))), len(path) - 1
        if count:
            last = [self.steps[p][count - 1][0] for p in members]
            self.first[min(last, key=self.order.__getitem__)] = vector, members, count
        else:
            self._cut(vector, members)
        return vector

    def _steps(self) -> dict[Value, list[tuple[Op, Any]]]:
        users: dict[Value, list[Op]] = {}
        for op in self.given.body:
            for a in op.args:
                users.setdefault(a, []).append(op)
        results = set(self.given.results)
        found: dict[Value, list[tuple[Op, Any]]] = {}
        for param in self.arrays:
            value, steps = param, found.setdefault(param, [])
            while value not in results and len(users.get(value, ())) == 1:
                (op,) = users[value]
                what = self._what(op, value)
                if what is None:
                    break
                steps.append((op, what))
                value = op.results[0]
        return found

    def _what(self, op: Op, value: Value) -> Any:
        """What an operation does to each element of a value; None where it has other operands with elements."""
        if op.prim not in ELEMENTS:
            return None
        others = [None if a is value else self._same(a) for a in op.args]
        known = all(each is not None or a is value for each, a in zip(others, op.args, strict=True))
        return (op.prim, attrs_key(op.attrs), tuple(others)) if known else None

    def _same(self, x: Value) -> Any:
        """What an operand is that has the same number everywhere."""
        op = self.makers.get(x)
        if op is not None and op.prim is const:
            return const, attrs_key({"value": op.attrs["value"], "dtype": x.type.dtype})
        return (spread, op.args[0]) if op is not None and op.prim is spread and not op.args[0].type.shape else None

    def _groups(self) -> dict[Path, list[Value]]:
        paths = {p: (p.type.dtype, *(what for _, what in self.steps[p])) for p in self.arrays}
        count = Counter(path[:k] for path in paths.values() for k in range(1, len(path) + 1))
        groups: dict[Path, list[Value]] = {}
        for param, path in paths.items():
            while len(path) > 1 and count[path] < ROUNDS:
                path = path[:-1]
            groups.setdefault(path, []).append(param)
        return {path: members for path, members in groups.items() if len(members) >= ROUNDS}

    def graph(self) -> Graph:
        """The graph that is made."""
        gone: set[Op] = set()
        for path, members in self.groups.items():
            gone.update(op for p in members for op, _ in self.steps[p][: len(path) - 1])
        for op in self.given.body:
            self.b.where = op.where
            if op in self.first:
                vector, members, count = self.first[op]
                value = members[0]
                for step, _ in self.steps[value][:count]:
                    vector, value = self._whole(step, vector, value), step.results[0]
                self._cut(vector, [self.steps[p][count - 1][0].results[0] for p in members])
            if op not in gone:
                args = tuple([self.parts.get(a, a) for a in op.args])
                self.b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
        return self.b.finish([self.parts.get(r, r) for r in self.given.results])

    def _whole(self, op: Op, vector: Value, of: Value) -> Value:
        """What an operation does to all elements of a vector."""
        args = []
        for a in op.args:
            maker = self.makers.get(a)
            if a is of:
                args.append(vector)
            elif maker is not None and maker.prim is const:
                args.append(number(self.b, maker.attrs["value"], a.type.with_shape(vector.type.shape)))
            else:
                assert maker is not None
                args.append(spread(self.b, maker.args[0], shape=vector.type.shape, axes=()))
        return self.b.emit(op.prim, *args, **op.attrs)[0]

    def _cut(self, vector: Value, values: Sequence[Value]) -> None:
        """These values as consecutive parts of a vector."""
        start = 0
        for value in values:
            size = math.prod(value.type.static_shape())
            part = slice_(self.b, vector, start=(start,), step=(1,), shape=(size,))
            self.parts[value] = part if value.type.rank == 1 else reshape(self.b, part, shape=value.type.shape)
            start += size


__all__ = ["put_together"]
