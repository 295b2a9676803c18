"""Products with the vectors of a basis go in; their factors, each computed once for all vectors, come out.

    %s: f64[5,100] = spread %seeds            %c = mul %a, %b            of f64[100]
    %1 = mul %s, spread %a         becomes    %2 = mul %s, spread %c
    %2 = mul %1, spread %b

A Jacobian is products with all vectors of a basis, an axis of lanes in front of what a product computes. What is
linear in the lanes and elementwise costs every operation once for each lane. Here a connected part of such operations
is replaced by its own small Jacobian: for each value that enters (a leaf) and each that leaves, one coefficient, which
has no lanes. Where a leaf is zero but in some lanes, as vectors of a basis are, there is nothing to multiply: the
coefficient itself is what these lanes hold. Done where it is fewer operations, counted.

This is preaccumulation of local Jacobians: Griewank and Walther, Evaluating Derivatives, 2nd edition, section 10.2.
Only what depends on a `basis` is changed, never the user's own arithmetic: factors are multiplied in another order,
which changes last digits, and a lane that is zero stays so whatever its factors are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..ir.graph import Builder, Graph, Op, Value
from ..ir.primitive import Primitive
from ..ir.types import Type
from ..ops import elementwise as E
from ..ops import shape as S
from ..ops.reduce import spread
from ..ops.scipy.inverses import strong_mul
from ..ops.source import basis, const, number
from .algebra import algebra
from .cleanup import common, inside
from .loops.hoist import VIEWS
from .nonzero import Nonzero, Occupied

GAIN = 0.8
"""What the new operations may cost of the old ones, in additions: below it the change is made."""

MANY = 8
"""Coefficients that an operation has on average, up to which they are tried: each is an operation to be compiled."""

REGISTER = 4
"""Elements that cost as one: a few lanes of scalars are one operation on vectors, and their coefficients several."""

COSTS = {strong_mul: 6, S.pad: 1}
"""What costs other than its primitive says: comparisons in a guarded product, and a choice that its reader makes."""

LINEAR: dict[Primitive, set[tuple[int, ...]]] = {
    E.neg: {(0,)}, E.add: {(0, 1)}, E.sub: {(0, 1)}, E.div: {(0,)}, E.select: {(1,), (2,), (1, 2)},
    E.mul: {(0,), (1,)}, strong_mul: {(0,), (1,)},
}  # fmt: skip
"""In which operands together an operation is linear."""


def preaccumulate(graph: Graph) -> Graph:
    """The graph with coefficients in place of what is linear in the lanes of a basis, where that is less work."""
    if any(op.prim is basis for op in graph.body):
        return _Rewriting(common(algebra(graph))).run()
    return _Rewriting(graph).run() if any(op.regions for op in graph.body) else graph


@dataclass(frozen=True)
class _Lanes:
    """A shape and its axis of lanes; `rest` is the shape of a coefficient, which has none."""

    shape: tuple[int, ...]
    axis: int

    @property
    def count(self) -> int:
        return self.shape[self.axis]

    @property
    def rest(self) -> tuple[int, ...]:
        return (*self.shape[: self.axis], *self.shape[self.axis + 1 :])

    def rows(self, count: int) -> tuple[int, ...]:
        """The shape of so many lanes."""
        return (*self.shape[: self.axis], count, *self.shape[self.axis + 1 :])

    def within(self, axes: Iterable[int]) -> tuple[int, ...]:
        """Axes of the shape, which are not the lanes', as axes of `rest`."""
        return tuple([a - (a > self.axis) for a in axes])

    @property
    def others(self) -> tuple[int, ...]:
        """The axes that are not the lanes'."""
        return tuple([a for a in range(len(self.shape)) if a != self.axis])


class _Linear(NamedTuple):
    """An operation as a linear function: of these operands, by numbers, and what the others are."""

    of: tuple[int, ...]
    lanes: _Lanes


#: a value as a linear function of leaves: the coefficient of each, which has no lanes
_Form = dict[Value, Value]


class _Rewriting:
    """A graph, what in it depends on a basis, and which of its operations are replaced by which."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made = {r: op for op in graph.body for r in op.results}
        self.uses: Counter[Value] = Counter()
        self.seeded: set[Value] = set()
        for op in graph.body:
            self.uses.update(op.args)
            if op.prim is basis or not self.seeded.isdisjoint(op.args):
                self.seeded.update(op.results)
        self.lanes = self._lanes()
        self.linear = {op: as_ for op in graph.body if (as_ := self._linear(op)) is not None}
        self.uses.update(graph.results)
        self.became: dict[Value, Value] = {}
        self.nonzero = Nonzero(self.made, self.became)
        self.instead: dict[Op, list[Op]] = {}

    def run(self) -> Graph:
        for ops in self._clusters():
            self._try(ops)
        b, changed = Builder(self.graph.name), bool(self.instead)
        b.params = self.graph.params
        for op in self.graph.body:
            b.where = op.where
            for each in self.instead.get(op, (op,)):
                args = tuple([self.became.get(a, a) for a in each.args])
                if each.regions and inside(b, each, args, preaccumulate) is not None:
                    changed = True
                else:
                    b.append(each if args == each.args else Op(
                        each.prim, args, each.attrs, each.regions, each.results, each.where))  # fmt: skip
        return b.finish([self.became.get(r, r) for r in self.graph.results]) if changed else self.graph

    # ---- what is linear in the lanes

    def _lanes(self) -> dict[tuple[Any, ...], _Lanes]:
        """The axis of lanes of each shape: the one along which most of what depends on no basis is repeated."""
        votes: dict[tuple[Any, ...], Counter[int]] = {}
        for op in self.graph.body:
            if op.prim is spread and self.seeded and op.results[0] not in self.seeded:
                shape = op.attrs["shape"]
                if all(isinstance(n, int) for n in shape):
                    missing = [a for a in range(len(shape)) if a not in op.attrs["axes"] and shape[a] > 1]
                    votes.setdefault(shape, Counter()).update(missing)
        return {shape: _Lanes(shape, count.most_common(1)[0][0]) for shape, count in votes.items() if count}

    def _linear(self, op: Op) -> _Linear | None:
        """An elementwise operation that is linear in what depends on a basis, with factors that have no lanes."""
        if len(op.results) != 1 or op.results[0] not in self.seeded or not op.results[0].type.is_float:
            return None
        lanes = self.lanes.get(op.results[0].type.shape)
        if lanes is None:
            return None
        of = tuple([k for k, a in enumerate(op.args) if a in self.seeded])
        if of not in LINEAR.get(op.prim, ()):
            return None
        others = [a for k, a in enumerate(op.args) if k not in of]
        if op.prim is E.select and len(of) == 1 and not self._is_zero(others.pop()):
            return None
        return _Linear(of, lanes) if all(self._is_repeated(a, lanes) for a in others) else None

    def _is_zero(self, value: Value) -> bool:
        op = self.made.get(value)
        while op is not None and op.prim is spread:
            op = self.made.get(op.args[0])
        return op is not None and op.prim is const and op.attrs["value"] == 0

    def _is_repeated(self, value: Value, lanes: _Lanes) -> bool:
        op = self.made.get(value)
        return op is not None and (op.prim is const or (op.prim is spread and lanes.axis not in op.attrs["axes"]))

    def _clusters(self) -> Iterator[list[Op]]:
        """The linear operations that are connected by values, each with its operations in their order."""
        root: dict[Op, Op] = {}

        def find(op: Op) -> Op:
            while root[op] is not op:
                root[op] = root[root[op]]
                op = root[op]
            return op

        for op, linear in self.linear.items():
            root[op] = op
            for k in linear.of:
                maker = self.made.get(op.args[k])
                if maker is not None and maker in self.linear:
                    root[find(op)] = find(maker)
        found: dict[Op, list[Op]] = {}
        for op in self.linear:
            found.setdefault(find(op), []).append(op)
        yield from found.values()

    # ---- what replaces it

    def _try(self, ops: list[Op]) -> None:
        """Write the operations as coefficients of their leaves, and keep that if it is less work."""
        lanes = self.linear[ops[0]].lanes
        new = _Coefficients(self, lanes)
        inner = Counter(op.args[k] for op in ops for k in self.linear[op].of)
        for k, op in enumerate(ops):
            new.step(op, self.linear[op].of)
            if len(new.seen) > MANY * (k + MANY):
                return
            if inner[op.results[0]] < self.uses[op.results[0]]:
                new.leave(op)
        if new.cost() < GAIN * sum(map(_cost, ops)):
            self.instead.update(new.fragments)
            self.became.update(new.left)
            for fragment in new.fragments.values():
                self.made.update({r: each for each in fragment for r in each.results})


class _Coefficients:
    """Operations that compute coefficients of leaves, made beside those of a cluster, in fragments for each of them."""

    def __init__(self, owner: _Rewriting, lanes: _Lanes) -> None:
        self.owner, self.lanes, self.b = owner, lanes, Builder("")
        self.forms: dict[Value, _Form] = {}
        self.fragments: dict[Op, list[Op]] = {}
        self.left: dict[Value, Value] = {}
        self.seen: dict[Any, Value] = {}
        self.parts: dict[Value, list[Occupied]] = {}

    def emit(self, prim: Primitive, *args: Value, **attrs: Any) -> Value:
        """One operation; the value that is there if it was made before."""
        key = prim, args, tuple([(k, repr(v)) for k, v in attrs.items()])
        if key not in self.seen:
            self.seen[key] = self.b.emit(prim, *args, **attrs)[0]
        return self.seen[key]

    def step(self, op: Op, of: tuple[int, ...]) -> None:
        """The form of what an operation makes, of those of its operands."""
        b, (result,) = self.b, op.results
        b.body, b.where = [], op.where
        self.fragments[op] = b.body
        forms = {k: self.forms.get(op.args[k]) or {op.args[k]: self._one(result.type)} for k in of}
        self.forms[result] = {
            leaf: self._applied(op, {k: form.get(leaf) for k, form in forms.items()})
            for leaf in dict.fromkeys([leaf for form in forms.values() for leaf in form])
        }

    def _one(self, type: Type) -> Value:
        return self.emit(const, type=type.with_shape(self.lanes.rest), value=1.0)

    def _applied(self, op: Op, given: dict[int, Value | None]) -> Value:
        """The operation with coefficients in place of what is linear, and factors without lanes."""
        there = [c for c in given.values() if c is not None]
        if op.prim in (E.add, E.sub) and len(there) == 1:
            return there[0] if op.prim is E.add or given[0] is not None else self.emit(E.neg, there[0])
        args: list[Value] = []
        for k, a in enumerate(op.args):
            made = given.get(k)
            if made is None:
                zero = k in given or (op.prim is E.select and k > 0)
                rest = a.type.with_shape(self.lanes.rest)
                made = self.emit(const, type=rest, value=0.0) if zero else self._without_lanes(a)
            args.append(made)
        if op.prim in (E.mul, strong_mul) and (one := self._one(there[0].type)) in args:
            return args[1 - args.index(one)]
        return self.emit(op.prim, *args)

    def _without_lanes(self, value: Value) -> Value:
        """A value that is repeated along the lanes, once."""
        op, rest = self.owner.made[value], value.type.with_shape(self.lanes.rest)
        if op.prim is const:
            return self.emit(const, type=rest, value=op.attrs["value"])
        axes = self.lanes.within(op.attrs["axes"])
        return op.args[0] if len(axes) == rest.rank else self.emit(spread, op.args[0], shape=rest.shape, axes=axes)

    def leave(self, op: Op) -> None:
        """A value that is used outside, of the coefficients and leaves."""
        places: dict[tuple[int, int], Value] = {}
        (result,) = op.results
        for leaf, coefficient in self.forms[result].items():
            if leaf not in self.parts:
                self.parts[leaf] = self.owner.nonzero.parts(leaf, self.lanes.axis, self.b)
            for part in self.parts[leaf]:
                made, place = self._product(coefficient, part), part[:2]
                places[place] = self.emit(E.add, places[place], made) if place in places else made
        total: Value | None = None
        for (start, _), rows in places.items():
            made = self._among_zeros(rows, start)
            total = made if total is None else self.emit(E.add, total, made)
        self.left[result] = number(self.b, 0.0, result.type) if total is None else total

    def _product(self, coefficient: Value, part: Occupied) -> Value:
        """The lanes of a part, of what a coefficient makes of a leaf."""
        rows = self.lanes.rows(part.count)
        if part.inner is None:
            return self.emit(S.reshape, coefficient, shape=rows)
        if part.count == 1:
            inner = self.emit(S.reshape, part.inner, shape=self.lanes.rest)
            return self.emit(S.reshape, self.emit(strong_mul, inner, coefficient), shape=rows)
        return self.emit(strong_mul, part.inner, self.emit(spread, coefficient, shape=rows, axes=self.lanes.others))

    def _among_zeros(self, rows: Value, start: int) -> Value:
        """Lanes at their place, and zero in all others."""
        shape, axis = self.lanes.shape, self.lanes.axis
        if rows.type.shape == shape:
            return rows
        starts = tuple([start if a == axis else 0 for a in range(len(shape))])
        return self.emit(S.pad, rows, shape=shape, start=starts, step=(1,) * len(shape))

    def cost(self) -> float:
        """What the new operations cost that are needed, in additions."""
        live, total = set(self.left.values()), 0.0
        for op in reversed([each for fragment in self.fragments.values() for each in fragment]):
            if op.results[0] in live:
                live.update(op.args)
                total += _cost(op)
        return total


def _cost(op: Op) -> float:
    """An operation in additions; moving elements is free, and putting them among zeros a choice."""
    if op.prim in VIEWS:
        return 0.0
    return COSTS.get(op.prim, op.prim.cost) * -(-op.results[0].type.static_size() // REGISTER)


__all__ = ["preaccumulate"]
