"""Primitives that hold graphs.  A region is closed: what it needs is an argument.

    scan n, carries..., rest...   region(i, carries, rest) -> carries, for each i below n
    loop carries..., rest...      body(k, carries, rest) -> carries, while test(carries, rest)
    cond p, args...               the first region where p holds, else the second
    call args...                  a function kept apart, with its own name in dumps

A loop has carries and rest, nothing else: a slice of an array is `read` of the rest, a stacked output is a carry that
is updated.  The adjoint pass differentiates them, because it cuts regions in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.graph import Builder, Graph, evaluate, inline
from ..ir.primitive import Primitive
from ..ir.types import Type
from .elementwise import add, cast, lt, mul
from .reduce import spread
from .source import number

INDEX, TRUTH = Type("i64"), Type("bool")


class Region(Primitive):
    """A primitive that holds graphs."""

    def pull(self, b, op, cotangents):
        raise NotImplementedError("the adjoint pass differentiates regions")

    def sample_regions(self) -> tuple[Graph, ...]:
        """Regions that fit the samples."""
        raise NotImplementedError(f"{self.name}.sample_regions")


class Call(Region):
    """region(*args): a function kept apart, with its own name in dumps."""

    holds = 1

    def infer(self, types, attrs, regions):
        _takes("call", regions[0], types)
        return _results(regions[0])

    def evaluate(self, args, attrs, regions):
        return evaluate(regions[0], args)

    def expand(self, b, op, args):
        """The results of the region's operations, copied into `b`."""
        return inline(op.regions[0], b, args)

    def samples(self, rng):
        return [([rng.normal(size=(3,)), rng.normal(size=(3,))], {})]

    def sample_regions(self):
        t = Type("f64", (3,))
        b = Builder("product", [t, t], ["x", "y"])
        return (b.finish([mul(b, *b.params)]),)


class Carrying(Region):
    """What scan and loop have in common: the arguments from `first` on are `carries` carries and then the rest."""

    first: ClassVar[int]

    def carries(self, op: Any) -> tuple[Any, ...]:
        """The arguments that are carries."""
        return op.args[self.first : self.first + op.attrs["carries"]]

    def rest(self, op: Any) -> tuple[Any, ...]:
        """The arguments that every iteration shares."""
        return op.args[self.first + op.attrs["carries"] :]

    def _infer(self, types: Sequence[Type], attrs: Any, body: Graph) -> tuple[Type, ...]:
        """The types of the carries, if `body` keeps them."""
        count = attrs["carries"]
        if not 0 <= count <= len(types) - self.first:
            raise TypeError(f"{self.name}: {count} carries among {len(types) - self.first} arguments")
        _takes(self.name, body, [INDEX, *types[self.first :]])
        carried = tuple(types[self.first : self.first + count])
        if _results(body) != carried:
            raise TypeError(f"{self.name}: carries of {_said(carried)} become {_said(_results(body))}")
        return carried


class Scan(Carrying):
    """The carries after `n` rounds of the region, none where n < 1; i counts 0, 1, ... or `backwards` from n-1 to 0."""

    holds, first = 1, 1
    attributes: ClassVar = {"carries": "axis", "backwards": "number?"}

    def infer(self, types, attrs, regions):
        if not types or types[0] != INDEX:
            raise TypeError(f"scan wants its number of rounds, an i64[], first; got {_said(types)}")
        return self._infer(types, attrs, regions[0])

    def evaluate(self, args, attrs, regions):
        count, rounds = attrs["carries"], int(args[0])
        carried, rest = list(args[1 : 1 + count]), list(args[1 + count :])
        for i in reversed(range(rounds)) if attrs.get("backwards") else range(rounds):
            carried = evaluate(regions[0], [np.int64(i), *carried, *rest])
        return carried

    def samples(self, rng):
        x, c = rng.normal(size=(3,)), rng.normal(size=(3,))
        return [
            ([np.int64(n), x, c], {"carries": 1, **more})
            for n in (0, 1, 5)
            for more in ({}, {"backwards": True})
        ]

    def sample_regions(self):
        """x -> x * c + i."""
        t = Type("f64", (3,))
        b = Builder("body", [INDEX, t, t], ["i", "x", "c"])
        i, x, c = b.params
        return (b.finish([add(b, mul(b, x, c), _as_float(b, i, t))]),)


class Loop(Carrying):
    """carries after as many rounds of the first region as the second one says, and their number."""

    holds, first = 2, 0
    attributes: ClassVar = {"carries": "axis"}

    def infer(self, types, attrs, regions):
        carried = self._infer(types, attrs, regions[0])
        _takes("loop", regions[1], types)
        if _results(regions[1]) != (TRUTH,):
            raise TypeError(f"loop: the test gives {_said(_results(regions[1]))}, not bool[]")
        return (*carried, INDEX)

    def evaluate(self, args, attrs, regions):
        count, rounds = attrs["carries"], 0
        carried, rest = list(args[:count]), list(args[count:])
        while bool(evaluate(regions[1], [*carried, *rest])[0]):
            carried = evaluate(regions[0], [np.int64(rounds), *carried, *rest])
            rounds += 1
        return [*carried, np.int64(rounds)]

    def samples(self, rng):
        return [([np.float64(x), np.float64(1.5)], {"carries": 1}) for x in (0.3, 2.25, 100.0)]

    def sample_regions(self):
        """while x < 8: x = x * c."""
        t = Type("f64")
        b = Builder("body", [INDEX, t, t], ["k", "x", "c"])
        body = b.finish([mul(b, b.params[1], b.params[2])])
        b = Builder("test", [t, t], ["x", "c"])
        return body, b.finish([lt(b, b.params[0], number(b, 8.0, t))])


class Cond(Region):
    """The results of the first region where the first argument holds, else of the second; only that one runs."""

    holds = 2

    def infer(self, types, attrs, regions):
        if not types or types[0] != TRUTH:
            raise TypeError(f"cond wants a bool[] first, got {_said(types)}")
        for region in regions:
            _takes("cond", region, types[1:])
        yes, no = map(_results, regions)
        if yes != no:
            raise TypeError(f"cond: one region gives {_said(yes)}, the other {_said(no)}")
        return yes

    def evaluate(self, args, attrs, regions):
        return evaluate(regions[0 if bool(args[0]) else 1], args[1:])

    def samples(self, rng):
        return [([np.bool_(p), rng.normal(size=(3,)), rng.normal(size=(3,))], {}) for p in (True, False)]

    def sample_regions(self):
        t = Type("f64", (3,))
        made = []
        for name, prim in (("yes", mul), ("no", add)):
            b = Builder(name, [t, t], ["x", "y"])
            made.append(b.finish([prim(b, *b.params)]))
        return tuple(made)


def _as_float(b, i, t):
    """The integer `i` in every element of `t`."""
    return spread(b, cast(b, i, dtype=t.dtype), shape=t.shape, axes=())


def _takes(name: str, region: Graph, types: Sequence[Type]) -> None:
    have = [p.type for p in region.params]
    if have != list(types):
        raise TypeError(f"{name}: the region's parameters are {_said(have)}; given are {_said(types)}")


def _results(region: Graph) -> tuple[Type, ...]:
    return tuple([r.type for r in region.results])


def _said(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types)) or "nothing"


call, scan, loop, cond = Call("call"), Scan("scan"), Loop("loop"), Cond("cond")

__all__ = ["Call", "Carrying", "Cond", "Loop", "Region", "Scan", "call", "cond", "loop", "scan"]
