"""What a loop's rounds do without one another is done for all rounds at once, as array work.

    for i in range(n):                       y = exp(-x) * w              (all i at once: vectors, threads, fusion)
        y = exp(-x[i]) * w[i]        ->      out = update(out, y)
        out[i] = y                           scan: total = total + y[i]   (one addition a round, in Python's order)
        total = total + y

The operations that depend on the loop's index and on what all rounds share, and on no carry, are batched. An array that
each round writes at its own place is written at once. What is left, the recurrence, stays a loop, and reads what it
needs of the batch; if nothing is left the loop is gone. Sums stay in the order in which they were written, so the bits
do too. A loop whose rounds do nothing dear but its recurrence is left alone: storing costs more than it saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import trunc

from ...ir.graph import Builder, Graph, Op, Value, rewrite
from ...ir.primitive import Effect, NotBatchable
from ...ir.types import Type
from ...ops.control import scan
from ...ops.elementwise import Elementwise, add, mul, sub
from ...ops.index import check_indices
from ...ops.memory import DROPPED, read, update
from ...ops.shape import slice_, transpose
from ...ops.source import const, iota, number
from ..batch import batched, widened
from .counters import uncounted

ROUNDS = 8
"""Rounds from which a loop is looked at."""

BYTES = 1 << 26
"""Memory up to which what the recurrence reads of the batch is stored."""


def distribute(graph: Graph) -> Graph:
    """The graph with its loops distributed, inner ones first."""
    if not any(op.regions for op in graph.body):
        return graph
    known = [op for op in graph.body if op.prim is const and not op.results[0].type.shape]
    rounds = {op.results[0]: op.attrs["value"] for op in known}

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        if not op.regions:
            return None
        regions = tuple(map(distribute, op.regions))
        if op.prim is scan and rounds.get(args[0], 0) >= ROUNDS:
            made = _distributed(b, op, args, regions[0], rounds)
            if made is not None:
                return made
        same = all(new is old for new, old in zip(regions, op.regions, strict=True))
        return None if same else b.emit(op.prim, *args, regions=regions, **op.attrs)

    return rewrite(graph, visit)


def _distributed(
    b: Builder, op: Op, args: Sequence[Value], body: Graph, known: Mapping[Value, int]
) -> Sequence[Value] | None:
    """The results of a scan that was distributed, or went without its counters; None if it is left as it is."""
    bare = uncounted(op, args, body, known)
    if bare is None:
        return _Loop(b, op, args, body, known[args[0]]).distributed()
    (region,) = bare.op.regions
    made: Sequence[Value] | None = _Loop(b, bare.op, bare.op.args, region, known[args[0]]).distributed()
    if made is None:
        made = b.emit(scan, *bare.op.args, regions=[region], **bare.op.attrs)
    return bare.results(b, made)


@dataclass(eq=False)
class _Stacked:
    """An array carry that each round changes at its own place, by these updates."""

    number: int
    updates: list[Op] = field(default_factory=list)
    axis: int = 0
    factor: int = 1
    first: int = 0


class _Loop:
    """One scan, to be distributed in the builder that it stands in."""

    def __init__(self, b: Builder, op: Op, args: Sequence[Value], body: Graph, rounds: int) -> None:
        self.b, self.op, self.args, self.body, self.rounds = b, op, tuple(args), body, rounds
        self.count = op.attrs["carries"]
        self.index, self.carries = body.params[0], body.params[1 : 1 + self.count]
        self.given = dict(zip(body.params[1:], self.args[1:], strict=True))
        self.maker = {r: each for each in body.body for r in each.results}
        self.readers: dict[Value, list[Op]] = {}
        for each in body.body:
            for a in set(each.args):
                self.readers.setdefault(a, []).append(each)
        self.kept = {p for p, r in zip(self.carries, body.results, strict=False) if p is r}
        self.places = {self.index: (1, 0)}
        self._find_places()
        self.shared = {*body.params[1 + self.count :], *self.kept}
        self.stacked = self._find_stacked()

    def distributed(self) -> list[Value] | None:
        """What becomes of the loop's results; None if it is left as it is."""
        free = self._free()
        if not free:
            return None
        stacked = {s for s in self.stacked.values() if self._all_free(s, free)}
        gone = {u for s in stacked for u in s.updates}
        left = self._needed(gone, stacked)
        crossing = self._crossing(left, free)
        if crossing is None:
            return None
        wanted = [*crossing, *(u.args[1] for s in stacked for u in s.updates)]
        if not wanted:
            return None
        checked = {op for op in self._cone(wanted) if op.effect is not Effect.PURE}
        left = self._needed(gone, stacked, set(crossing), checked)
        mark = len(self.b.body)
        try:
            return self._emit(wanted, crossing, left, stacked)
        except NotBatchable:
            del self.b.body[mark:]
            return None

    # ---- what rounds do without one another

    def _find_places(self) -> None:
        """Values that are factor * index + constant."""
        for op in self.body.body:
            prim = op.prim
            if prim is const and op.results[0].type == Type("i64"):
                self.places[op.results[0]] = (0, trunc(op.attrs["value"]))
            elif prim is check_indices and op.args[0] in self.places:
                self.places[op.results[0]] = self.places[op.args[0]]
            elif prim in (add, sub, mul) and all(a in self.places for a in op.args):
                (f, c), (g, d) = (self.places[a] for a in op.args)
                if prim is mul and not (f and g):
                    self.places[op.results[0]] = (f * d + g * c, c * d)
                elif prim is not mul:
                    sign = 1 if prim is add else -1
                    self.places[op.results[0]] = (f + sign * g, c + sign * d)

    def _find_stacked(self) -> dict[Value, _Stacked]:
        """Carries whose only use is that each round reads and then writes its own place."""
        found = {}
        for k, p in enumerate(self.carries):
            chain = self._chain(p, self.body.results[k])
            made = chain and self._stack(k, p, chain)
            if made:
                found[p] = made
        return found

    def _chain(self, p: Value, result: Value) -> list[Op] | None:
        """The updates that lead from a carry to its result, each of which is read by the next one only."""
        chain: list[Op] = []
        now = result
        while now is not p:
            op = self.maker.get(now)
            if op is None or op.prim is not update or (now is not result and self.readers[now] != [chain[-1]]):
                return None
            if self.body.results.count(now) != (now is result) or (now is result and self.readers.get(now)):
                return None
            chain.append(op)
            now = op.args[0]
        return chain[::-1]

    def _stack(self, k: int, p: Value, chain: list[Op]) -> _Stacked | None:
        place = self._own_place(chain[0])
        if place is None or p in self.body.results or any(self._own_place(u) != place for u in chain):
            return None
        first = chain[0]
        for op in self.readers.get(p, ()):
            mine = op is first or (op.prim is read and op.args[1:] == first.args[2:] and op.attrs == first.attrs)
            if not mine or (op is first and p in op.args[1:]):
                return None
        axis, factor, start = place
        last, size = start + factor * (self.rounds - 1), p.type.shape[axis]
        if not isinstance(size, int) or not 0 <= min(start, last) <= max(start, last) < size:
            return None
        return _Stacked(k, chain, axis, factor, start)

    def _own_place(self, op: Op) -> tuple[int, int, int] | None:
        """(axis, factor, start) if an update is at a place of its own in each round, along one axis."""
        found = None
        for axis, width, start in zip(op.attrs["axes"], op.attrs["widths"], op.args[2:], strict=True):
            factor, first = self.places.get(start, (None, None))
            if factor == 0 or start in self.shared:
                continue
            if factor not in (1, -1) or width != DROPPED or found is not None:
                return None
            found = (axis, factor, first)
        return found  # type: ignore[return-value]

    def _free(self) -> dict[Value, Op]:
        """What depends on the index and on what all rounds share, with what makes it."""
        failing = [op for op in self.body.body if op.effect is not Effect.PURE]
        known = {self.index, *self.shared}
        mine = [op for p in self.stacked for op in self.readers.get(p, ())]
        own = {op for op in mine if op.prim is read}
        free: dict[Value, Op] = {}
        for op in self.body.body:
            if op.effect is not Effect.PURE and (len(failing) > 1 or op.regions):
                continue
            args = op.args[1:] if op in own else op.args
            if all(a in known for a in args) and not any(r.type.is_tape for r in op.results):
                known.update(op.results)
                free.update((r, op) for r in op.results)
        return free

    def _all_free(self, s: _Stacked, free: dict[Value, Op]) -> bool:
        known = {self.index, *self.shared}
        return all(a in known or a in free for u in s.updates for a in u.args[1:])

    # ---- what is left

    def _needed(
        self, gone: set[Op], stacked: Iterable[_Stacked], given: Iterable[Value] = (), checked: Iterable[Op] = ()
    ) -> list[Op]:
        """The operations that the rest of the loop takes, if `given` are at hand and `checked` did not fail."""
        away = {s.number for s in stacked}
        live = {r for k, r in enumerate(self.body.results) if k not in away and r not in self.kept} - set(given)
        left = []
        for op in reversed(self.body.body):
            if op in gone or all(r in given for r in op.results):
                continue
            if not live.isdisjoint(op.results) or (op.effect is not Effect.PURE and op not in checked):
                left.append(op)
                live.update(a for a in op.args if a not in given)
        return left[::-1]

    def _crossing(self, left: list[Op], free: dict[Value, Op]) -> list[Value] | None:
        """What the rest of the loop is to read of the batch: what is dear to make; None if it would take too much."""
        bound = [op for op in left if not all(r in free for r in op.results)]
        read_by = {a: None for op in bound for a in op.args if a in free}
        read_by |= {r: None for r in self.body.results if r in free}
        dear = {v for v in read_by if self._is_dear(v, free)}
        sizes = [v.type.size for v in dear]
        if any(not isinstance(n, int) or self.rounds * n * 8 > BYTES for n in sizes):
            return None
        return [v for v in read_by if v in dear]

    def _is_dear(self, value: Value, free: dict[Value, Op]) -> bool:
        """Whether anything dear is done to make a value."""
        stack, seen = [value], set()
        while stack:
            op = free.get(stack.pop())
            if op is None or op in seen:
                continue
            seen.add(op)
            if op.regions or (isinstance(op.prim, Elementwise) and not op.prim.light):
                return True
            stack += op.args
        return False

    # ---- the new loop

    def _emit(self, wanted: list[Value], crossing: list[Value], left: list[Op], stacked: set[_Stacked]) -> list[Value]:
        made = dict(zip(wanted, self._batch(wanted), strict=True))
        outs: dict[int, Value] = {k: self.given[p] for k, p in enumerate(self.carries) if p in self.kept}
        for s in stacked:
            outs[s.number] = self._stack_up(s, made)
        rest = [k for k in range(self.count) if k not in outs]
        if rest or any(op.effect is not Effect.PURE for op in left):
            outs.update(zip(rest, self._rest(rest, crossing, [made[v] for v in crossing], left), strict=True))
        return [outs[k] for k in range(self.count)]

    def _batch(self, wanted: list[Value]) -> list[Value]:
        """The values for all rounds, with the axis of the rounds in front."""
        part = Graph(self.body.name, self.body.params, tuple(self._cone(wanted)), tuple(wanted))
        (every,) = self.b.emit(iota, type=Type("i64", (self.rounds,)), axis=0)
        given = [every, *(self.given[p] for p in part.params[1:])]
        flags = [True, *[False] * (len(given) - 1)]
        values, wide = batched(self.b, part, given, flags, self.rounds)
        return [v if w else widened(self.b, v, self.rounds) for v, w in zip(values, wide, strict=True)]

    def _cone(self, wanted: Iterable[Value]) -> list[Op]:
        """The operations that make values."""
        live, ops = set(wanted), []
        for op in reversed(self.body.body):
            if not live.isdisjoint(op.results):
                live.update(op.args)
                ops.append(op)
        return ops[::-1]

    def _stack_up(self, s: _Stacked, made: dict[Value, Value]) -> Value:
        """The array with what all rounds write."""
        b, array = self.b, self.given[self.carries[s.number]]
        start = s.first if s.factor == 1 else s.first - (self.rounds - 1)
        for u in s.updates:
            part = made[u.args[1]]
            axes, widths = u.attrs["axes"], u.attrs["widths"]
            if s.factor == -1:
                rest = part.type.shape[1:]
                turned = {"start": (self.rounds - 1, *[0] * len(rest)), "step": (-1, *[1] * len(rest))}
                part = slice_(b, part, shape=part.type.shape, **turned)
            dropped = {a for a, w in zip(axes, widths, strict=True) if w == DROPPED}
            at = sum(a not in dropped for a in range(s.axis))
            order = [*range(1, at + 1), 0, *range(at + 1, part.type.rank)]
            part = transpose(b, part, axes=tuple(order)) if at else part
            starts = [
                number(b, start, Type("i64")) if a == s.axis else self._outside(v)
                for a, v in zip(axes, u.args[2:], strict=True)
            ]
            if part.type == array.type and len(axes) == 1:
                array = part
                continue
            steps = u.attrs.get("steps") or (1,) * len(axes)
            wide = tuple(self.rounds if a == s.axis else w for a, w in zip(axes, widths, strict=True))
            array = update(b, array, part, *starts, axes=axes, widths=wide, steps=steps)
        return array

    def _outside(self, start: Value) -> Value:
        """A start that all rounds share, outside of the loop."""
        if start in self.given:
            return self.given[start]
        return number(self.b, self.places[start][1], Type("i64"))

    def _rest(self, rest: list[int], crossing: list[Value], arrays: list[Value], left: list[Op]) -> Sequence[Value]:
        """What is left of the loop."""
        read_by = {a for op in left for a in op.args} | {self.body.results[k] for k in rest}
        carried = [self.carries[k] for k in rest]
        shared = [p for p in self.body.params[1:] if p not in carried and p in read_by]
        params = [self.index, *carried, *shared]
        b = Builder(self.body.name, [p.type for p in params], [p.hint for p in params])
        env = dict(zip(params, b.params, strict=True))
        for v, a in zip(crossing, arrays, strict=True):
            whole = b.param(a.type, v.hint)
            env[v] = read(b, whole, b.params[0], axes=(0,), widths=(DROPPED,))
        for op in left:
            b.where = op.where
            made = b.emit(op.prim, *map(env.__getitem__, op.args), regions=op.regions, **op.attrs)
            env.update(zip(op.results, made, strict=True))
        region = b.finish([env[self.body.results[k]] for k in rest])
        given = [*(self.given[p] for p in (*carried, *shared)), *arrays]
        attrs = {**self.op.attrs, "carries": len(rest)}
        return self.b.emit(scan, self.args[0], *given, regions=[region], **attrs)


__all__ = ["distribute"]
