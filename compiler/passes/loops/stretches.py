"""A loop as a loop of stretches, each a checkpoint: `nested` where the number of rounds is known, else `growing`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ...ir.graph import Builder, Graph, Op, Value, inline
from ...ir.types import Type
from ...ops.control import loop, scan
from ...ops.custom import checkpoint
from ...ops.elementwise import add, and_, floordiv, lt, minimum, mul, sub
from ...ops.source import number

INDEX = Type("i64")


class Part(Builder):
    """A region under construction, whose parameters come in groups."""

    def __init__(self, name: str, *groups: Sequence[Value] | str) -> None:
        flat = list(chain.from_iterable([g] if isinstance(g, str) else g for g in groups))
        super().__init__(name, [INDEX if isinstance(v, str) else v.type for v in flat],
                         [v if isinstance(v, str) else v.hint for v in flat])
        rest = iter(self.params)
        self.groups: list[Any] = [next(rest) if isinstance(g, str) else [next(rest) for _ in g] for g in groups]

    def i64(self, value: int) -> Value:
        return number(self, value, INDEX)


def backwards(b: Builder, op: Op, args: Sequence[Value], body: Graph) -> tuple[Graph, tuple[Value, ...]]:
    """The body and arguments of a scan that goes backwards, as one that goes forward."""
    c = op.attrs["carries"]
    carries, rest = body.params[1 : 1 + c], body.params[1 + c :]
    p = Part(body.name, "t", carries, "last", rest)
    t, xs, last, others = p.groups
    turned = p.finish(inline(body, p, [sub(p, last, t), *xs, *others]))
    return turned, (*args[: 1 + c], sub(b, args[0], number(b, 1, INDEX)), *args[1 + c :])


def nested(b: Builder, args: Sequence[Value], body: Graph, c: int, lengths: Sequence[int]) -> list[Value]:
    """Emit a scan over stretches so long, and so long in these, or one over the body itself."""
    return inline(_rounds(body, c, lengths), b, [number(b, 0, INDEX), *args])


def _rounds(body: Graph, c: int, lengths: Sequence[int]) -> Graph:
    """The rounds from `start` on and below `stop`."""
    carries, rest = body.params[1 : 1 + c], body.params[1 + c :]
    p = Part(body.name, "start", "stop", carries, rest)
    start, stop, xs, others = p.groups
    many = sub(p, stop, start)
    if not lengths:
        return p.finish(p.emit(scan, many, *xs, start, *others, regions=(_shifted(body, c),), carries=c))
    long = p.i64(lengths[0])
    count = floordiv(p, add(p, many, p.i64(lengths[0] - 1)), long)
    q = Part(body.name, "k", carries, "start", "stop", rest)
    k, ys, low, high, shared = q.groups
    at = add(q, low, mul(q, k, q.i64(lengths[0])))
    end = minimum(q, add(q, at, q.i64(lengths[0])), high)
    stretch = q.finish(q.emit(checkpoint, at, end, *ys, *shared, regions=(_rounds(body, c, lengths[1:]),)))
    return p.finish(p.emit(scan, count, *xs, start, stop, *others, regions=(stretch,), carries=c))


def _shifted(body: Graph, c: int) -> Graph:
    """The body at an index that counts from `start`, the first parameter after the carries."""
    p = Part(body.name, "j", body.params[1 : 1 + c], "start", body.params[1 + c :])
    j, xs, start, others = p.groups
    return p.finish(inline(body, p, [add(p, start, j), *xs, *others]))


def growing(b: Builder, op: Op, args: Sequence[Value], body: Graph, step: int, most: int) -> Sequence[Value]:
    """Emit a loop over stretches of `step`, 2 `step`, ... rounds, but `most` at most."""
    c = op.attrs["carries"]
    carries, rest = body.params[1 : 1 + c], body.params[1 + c :]
    counted = ["n"] if op.prim is scan else []
    p = Part("stretch", "k", carries, "done", *counted, rest)
    k, xs, done, *total, others = p.groups
    long = minimum(p, mul(p, add(p, k, p.i64(1)), p.i64(step)), p.i64(most))
    if total:
        long = minimum(p, long, sub(p, total[0], done))
    inner = _first(body, c) if total else _until(body, op.regions[1], c)
    *made, ran = p.emit(checkpoint, done, long, *xs, *others, regions=(inner,))
    region = p.finish([*made, add(p, done, ran)])
    q = Part("test", carries, "done", *counted, rest)
    ys, done, *total, shared = q.groups
    goes = [lt(q, done, total[0])] if total else inline(op.regions[1], q, [*ys, *shared])
    first = len(counted)
    given = [*args[first : first + c], number(b, 0, INDEX), *args[:first], *args[first + c :]]
    out = b.emit(loop, *given, regions=(region, q.finish(goes)), carries=c + 1)
    return out[:c] if total else out[: c + 1]


def _first(body: Graph, c: int) -> Graph:
    """So many rounds, `long`, of a scan of which some are done; and their number."""
    p = Part("rounds", "done", "long", body.params[1 : 1 + c], body.params[1 + c :])
    done, long, xs, others = p.groups
    return p.finish([*p.emit(scan, long, *xs, done, *others, regions=(_shifted(body, c),), carries=c), long])


def _until(body: Graph, test: Graph, c: int) -> Graph:
    """At most `long` rounds of a loop of which some are done; and their number."""
    carries, rest = body.params[1 : 1 + c], body.params[1 + c :]
    p = Part("rounds", "done", "long", carries, rest)
    done, long, xs, others = p.groups
    q = Part(body.name, "k", carries, "j", "done", "long", rest)
    _, ys, j, before, _, shared = q.groups
    region = q.finish([*inline(body, q, [add(q, before, j), *ys, *shared]), add(q, j, q.i64(1))])
    r = Part(test.name, carries, "j", "done", "long", rest)
    zs, j, _, most, shared = r.groups
    goes = and_(r, lt(r, j, most), inline(test, r, [*zs, *shared])[0])
    out = p.emit(loop, *xs, p.i64(0), done, long, *others, regions=(region, r.finish([goes])), carries=c + 1)
    return p.finish(out[: c + 1])


__all__ = ["backwards", "growing", "nested"]
