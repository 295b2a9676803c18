"""A scan into one without the carries that only count: a counter is a number by the number of the round.

    scan 20, 0, out       (i, n, out) { out[n] = f(i); n + 1 }       ->      (i, out) { out[i] = f(i) }

A list that grows by one item in each round is stored at such a place, which makes a recurrence of what is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...ir.graph import Builder, Graph, Op, Value, inline
from ...ir.types import Type
from ...ops.control import scan
from ...ops.elementwise import add, mul
from ...ops.source import const, number

INDEX = Type("i64")


class Counter(NamedTuple):
    """A carry that begins with a number and gets another one added in each round."""

    first: int
    step: int


class Uncounted(NamedTuple):
    """A scan without counters, the carries that it still has, and what the counters end with."""

    op: Op
    kept: Sequence[int]
    ends: Mapping[int, int]

    def results(self, b: Builder, made: Sequence[Value]) -> list[Value]:
        """The results of the scan as it was."""
        given = dict(zip(self.kept, made, strict=True))
        every = range(len(self.kept) + len(self.ends))
        return [given[k] if k in given else number(b, self.ends[k], INDEX) for k in every]


def uncounted(op: Op, args: Sequence[Value], body: Graph, known: Mapping[Value, Any]) -> Uncounted | None:
    """A scan on `args` with its counters taken off; None if it has none.

    `known` are the numbers among values outside, its count of rounds among them.
    """
    carries, rounds = op.attrs["carries"], known[args[0]]
    counters = _counters(args[1 : 1 + carries], body, known)
    if not counters:
        return None
    rest = [k for k in range(len(args) - 1) if k not in counters]
    params = [body.params[0], *(body.params[1 + k] for k in rest)]
    b = Builder(body.name, [p.type for p in params], [p.hint for p in params])
    env = dict(zip(params, b.params, strict=True))
    for k, (first, step) in counters.items():
        backwards = op.attrs.get("backwards", False)
        by, start = (-step, first + step * (rounds - 1)) if backwards else (step, first)
        env[body.params[1 + k]] = _affine(b, b.params[0], by, start)
    results = inline(body, b, [env[p] for p in body.params])
    kept = [k for k in range(carries) if k not in counters]
    region, given = b.finish([results[k] for k in kept]), (args[0], *(args[1 + k] for k in rest))
    outer = tuple([Value(args[1 + k].type) for k in kept])
    made = Op(scan, given, {**op.attrs, "carries": len(kept)}, (region,), outer, op.where)
    return Uncounted(made, kept, {k: c.first + c.step * rounds for k, c in counters.items()})


def _counters(given: Sequence[Value], body: Graph, known: Mapping[Value, Any]) -> dict[int, Counter]:
    makers = {r: each for each in body.body for r in each.results}
    steps = {r: each.attrs["value"] for r, each in makers.items() if each.prim is const and r.type == INDEX}
    found = {}
    for k, first in enumerate(given):
        p, maker = body.params[1 + k], makers.get(body.results[k])
        if p.type != INDEX or first not in known or maker is None or maker.prim is not add or p not in maker.args:
            continue
        by = maker.args[1] if maker.args[0] is p else maker.args[0]
        if by in steps:
            found[k] = Counter(int(known[first]), int(steps[by]))
    return found


def _affine(b: Builder, i: Value, step: int, first: int) -> Value:
    value = i if step == 1 else mul(b, i, number(b, step, INDEX))
    return value if first == 0 else add(b, value, number(b, first, INDEX))


__all__ = ["uncounted"]
