"""Long loops over many lanes, block by block, so that what they save stays in the cache.

    s, tape = scan 252 {s: f64[4096] ...}           for each block of 256 lanes:
    y = sum(exp(s))                          ->         s, tape = scan 252 {s: f64[256] ...}
    ct = ... scan 252 backwards {pop tape ...}          y += sum(exp(s));  ct = ... scan 252 backwards

A loop that carries arrays whose elements along one axis never meet, and its backward sweep, pass over megabytes.
Lanes are independent, so the sweeps of one block can follow one another before the next block begins. What joins lanes
is a sum: each block gives its part. Which axis the lanes are, and that nothing else joins them, is found by following
them through the operations (`Follow`); then the operations are emitted again on blocks (`Emit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.graph import Builder, Graph, Op, Renamed, Value
from ...ir.primitive import Effect
from ...ir.types import Dim, Type
from ...ops.control import scan
from ...ops.elementwise import mul
from ...ops.memory import read, update
from ...ops.reduce import spread
from ...ops.source import basis, const, iota, number
from ...ops.tape import pop, push
from ..narrow import narrow
from .lanes import Follow, Refused

CACHE = 1 << 19
"""Bytes that the tape of one block takes: half of what a core keeps near itself."""

LEAST = 64
"""Lanes that a block has at least."""

MOST = 1 << 14
"""Lanes that a block has at most."""

ROUNDS = 8
"""Rounds from which a loop is looked at."""

INDEX = Type("i64")


def blocks(graph: Graph) -> Graph:
    """The graph with its largest loop over lanes in blocks, if that has a tape that is larger than the cache."""
    known = [op for op in graph.body if op.prim is const and not op.results[0].type.shape]
    rounds = {op.results[0]: op.attrs["value"] for op in known}
    for op in graph.body:
        if op.prim is scan and rounds.get(op.args[0], 0) >= ROUNDS and any(r.type.is_tape for r in op.results):
            saved = rounds[op.args[0]] * _pushed(op.regions[0])
            for carry in op.args[1 : 1 + op.attrs["carries"]]:
                for axis, size in enumerate(carry.type.shape):
                    lanes = _block(size, saved)
                    if lanes is None:
                        continue
                    try:
                        return narrow(_Plan(graph, op, carry, axis, lanes).graph())
                    except Refused:
                        continue
    return graph


def _pushed(body: Graph) -> int:
    """Bytes that one round saves, where that is known."""
    values = [v for op in body.body if op.prim is push for v in op.args[1:]]
    return sum(n * v.type.numpy.itemsize for v in values if isinstance(n := v.type.size, int))


def _block(size: Dim, saved: int) -> int | None:
    """How many of so many lanes a block has; None if they are too few, or save too little."""
    if not isinstance(size, int) or saved <= 2 * CACHE or size < 2 * LEAST:
        return None
    most = min(CACHE * size // saved, size // 2, MOST)
    fitting = [k for k in range(LEAST, most + 1) if size % k == 0]
    return fitting[-1] if fitting else None


# ---- emitting blocks


class _Plan:
    """One graph, whose loop `seed` carries `carry`, with lanes along `axis`, to be done `block` lanes at a time."""

    def __init__(self, graph: Graph, seed: Op, carry: Value, axis: int, block: int) -> None:
        self.source, self.block, self.lanes = graph, block, carry.type.static_shape()[axis]
        self.follow = Follow.of(graph.body, self.lanes)
        self.follow.want(carry, axis)
        self._spread_out(seed)
        self.ops = [op for op in graph.body if op in self.follow.ops]
        self._check(seed)

    def _spread_out(self, seed: Op) -> None:
        """Follow the lanes as far as they can be followed; the loop itself must be."""
        f = self.follow
        for op in self.source.body:
            if any(f.axis.get(a) is not None for a in op.args):
                before = (dict(f.axis), dict(f.sums), dict(f.ops), dict(f.inner))
                try:
                    f.through(op)
                except Refused:
                    if op is seed or any(a.type.is_tape and f.axis.get(a) is not None for a in op.args):
                        raise
                    f.axis, f.sums, f.ops, f.inner = before
        if seed not in f.ops:
            raise Refused

    def _check(self, seed: Op) -> None:
        """Nothing in the blocks may wait for what all blocks give."""
        f, late = self.follow, set()
        for op in self.source.body:
            if op in f.ops:
                if any(a in late for a in op.args) or any(a in f.sums for a in op.args):
                    raise Refused
            elif any(a in late or a in f.sums or (a in f.makers and f.makers[a] in f.ops) for a in op.args):
                late.update(op.results)
        tapes = [op for op in self.ops if op.prim is scan and any(a.type.is_tape for a in op.args)]
        if len(tapes) < 2:
            raise Refused

    def graph(self) -> Graph:
        """The graph with the operations on lanes in one loop over blocks."""
        f, source = self.follow, self.source
        made = list(dict.fromkeys(r for op in self.ops for r in op.results))
        others = [op for op in source.body if op not in f.ops]
        used = {a for op in others for a in op.args} | set(source.results)
        out = [v for v in made if v in used and not v.type.is_tape]
        given = list(dict.fromkeys(a for op in self.ops for a in op.args if a not in set(made)))
        late = set(out)
        for op in others:
            if not late.isdisjoint(op.args):
                late.update(op.results)
        before = [op for op in others if late.isdisjoint(op.results)]
        after = [op for op in others if not late.isdisjoint(op.results)]
        if any(op.effect is not Effect.PURE for op in after):
            raise Refused
        b = Builder(source.name)
        b.params, b.body, b.where = source.params, before, self.ops[0].where
        starts = [number(b, 0, v.type) for v in out]
        count = number(b, self.lanes // self.block, INDEX)
        results = b.emit(scan, count, *starts, *given, regions=[self._body(given, out)], carries=len(out))
        env = Renamed()
        for v, r in zip(out, results, strict=True):
            begin = self._begin(v)
            env[v] = r if begin is None else b.emit(f.sums[v], begin, r)[0]
        for op in after:
            args = tuple([env[a] for a in op.args])
            b.append(Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
        return b.finish([env[r] for r in source.results])

    def _begin(self, v: Value) -> Value | None:
        """What a carry that adds up sums began with."""
        op = self.follow.makers[v]
        return op.args[1 + op.results.index(v)] if v in self.follow.sums and op.prim is scan else None

    def _body(self, given: Sequence[Value], out: Sequence[Value]) -> Graph:
        """The region of one block: its results are the sums so far, and the arrays with the block's part."""
        f = self.follow
        b = Builder("block", [INDEX, *(v.type for v in out), *(v.type for v in given)], ["i"])
        i, *others = b.params
        start = mul(b, i, number(b, self.block, INDEX))
        env: dict[Value, Value] = {}
        emit = Emit(b, self.block, start)
        for v, p in zip(given, others[len(out) :], strict=True):
            env[v] = p
            if f.axis.get(v) is not None and not emit.stays_whole(f, v):
                env[v] = read(b, p, start, axes=(f.axis[v],), widths=(self.block,))
        emit.run(f, self.ops, env)
        results = []
        for v, so_far in zip(out, others, strict=False):
            if v in f.sums:
                results += b.emit(f.sums[v], so_far, env[v])
            else:
                results.append(update(b, so_far, env[v], start, axes=(f.axis[v],), widths=(self.block,)))
        return b.finish(results)


class Emit:
    """Operations on lanes, emitted for a block of them that begins at `start`."""

    def __init__(self, b: Builder, block: int, start: Value) -> None:
        self.b, self.block, self.start = b, block, start

    def stays_whole(self, f: Follow, v: Value) -> bool:
        """Whether a value is handed on whole: an array of which rows are read, each of which becomes a part."""
        return bool(f.readers.get(v)) and all(self._reads_rows(f, op, v) for op in f.readers[v] if op in f.ops)

    def _reads_rows(self, f: Follow, op: Op, v: Value) -> bool:
        if op.prim is read:
            return v not in op.args[1:]
        if op.prim is scan and v not in op.args[: 1 + op.attrs["carries"]]:
            (inner,), (body,) = f.inner[op], op.regions
            own = [p for p, a in zip(body.params[1:], op.args[1:], strict=True) if a is v]
            return all(self.stays_whole(inner, p) for p in own)
        return False

    def run(self, f: Follow, ops: Iterable[Op], env: dict[Value, Value]) -> None:
        """Emit the operations; `env` has what their values become."""
        outer = self.b.where
        for op in ops:
            self.b.where = op.where or outer
            args = [env[a] for a in op.args]
            if op.prim is scan and op in f.ops:
                made = self._scan(f, op, args)
            elif op.prim is read and (axis := f.axis.get(op.args[0])) is not None and args[0].type == op.args[0].type:
                made = self._part(op, args, axis)
            else:
                made = self.b.emit(op.prim, *args, regions=op.regions, **self._attrs(f, op))
            env.update(zip(op.results, made, strict=True))
        self.b.where = outer

    def _attrs(self, f: Follow, op: Op) -> dict:
        """The attributes on a block."""
        attrs = dict(op.attrs)
        axis = f.axis.get(op.results[0]) if op.results else None
        if op.prim is pop:
            attrs["types"] = tuple([self._type(f, v) for v in op.results[1:]])
        elif axis is not None and op.prim in (const, iota, basis):
            attrs["type"] = self._type(f, op.results[0])
        elif axis is not None and op.prim is spread:
            attrs["shape"] = self._type(f, op.results[0]).shape
        return attrs

    def _type(self, f: Follow, v: Value) -> Type:
        axis = f.axis.get(v)
        if axis is None or v.type.is_tape:
            return v.type
        return v.type.with_shape(self.block if k == axis else n for k, n in enumerate(v.type.shape))

    def _part(self, op: Op, args: list[Value], axis: int) -> Sequence[Value]:
        """A read of the block's part of a row."""
        attrs = op.attrs
        steps = attrs.get("steps") or (1,) * len(attrs["axes"])
        places = [*zip(attrs["axes"], attrs["widths"], steps, args[1:], strict=True), (axis, self.block, 1, self.start)]
        places.sort(key=lambda each: each[0])
        axes, widths, steps, starts = zip(*places, strict=True)
        return self.b.emit(read, args[0], *starts, axes=axes, widths=widths, steps=steps)

    def _scan(self, f: Follow, op: Op, args: list[Value]) -> Sequence[Value]:
        """A loop on a block; its region is told where the block begins, and adds up sums from zero."""
        (inner,), (body,), count = f.inner[op], op.regions, op.attrs["carries"]
        given = [
            number(self.b, 0, a.type) if k < count and op.results[k] in f.sums else a for k, a in enumerate(args[1:])
        ]
        b = Builder(body.name, [INDEX, *(a.type for a in given), INDEX], [p.hint for p in body.params])
        env = dict(zip(body.params, b.params, strict=False))
        Emit(b, self.block, b.params[-1]).run(inner, body.body, env)
        region = b.finish([env[r] for r in body.results])
        return self.b.emit(scan, args[0], *given, self.start, regions=[region], **op.attrs)


__all__ = ["blocks"]
