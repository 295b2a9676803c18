"""Loops as regions: which places are carried, and as what, is found by walking the body until nothing changes.

The first pass starts from the state at hand. Every place that looks different afterwards becomes a carry that fits
both; the body is walked again from such a state, until a pass changes nothing: that one is the proof, and the region.

    s = 0                         pass 1: s is 0, then 0.0 + x[i]     s: the int 0 and f64 -> f64
    for i in range(n):            pass 2: s is a traced f64 before and after: done
        s = s + x[i]              %2: f64[] = scan %n, %1, %x {carries=1}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.graph import Value
from ...ops import control
from ...ops.elementwise import lt
from ...ops.memory import INDEX
from ...settings import settings
from ..array import Array
from ..errors import Uncaptured
from ..tracing import Tracing
from .containers.growing import after_loop, with_room
from .edges import boxes_in, keep_boxes, leaves, overlaps, pair_up, rebuild, types_of, zeros
from .frames import Place, Raised, places
from .machine import Machine
from .regions import branch, close, emit_region
from .schema import Bad, Growing, Items, Leaf, Schema, join, schema
from .values import Grown, Maybe, Poison, same

PASSES = 40
"""How often a body is walked before its carries are said not to settle."""

SMALL, FAR = 2**40, 2**62
"""A counter that starts below SMALL and moves by less than that a pass stays below FAR for ages."""


class Impure(Exception):
    """The condition of a loop changes something."""


class Roll:
    """A loop that becomes `scan`, if `trip` says how many passes there are, or `loop`, if `test` says whether to go on.

    step       walks the body, with the index of the pass (None in a `loop`)
    sure       whether it is certain that there is a first pass
    limit      the most passes there can be, where a number is known
    elsewhere  the names that are read outside of the body: others need not leave it, if it binds them first
    """

    def __init__(
        self,
        m: Machine,
        trip: Any,
        test: Callable[[], Any] | None,
        step: Callable[[Any], None],
        sure: bool,
        limit: int | None,
        elsewhere: frozenset[str] | None = None,
        loop: Any = None,
    ) -> None:
        self.m, self.trip, self.test, self.step, self.sure, self.limit = m, trip, test, step, sure, limit
        self.elsewhere, self.loop = elsewhere, loop
        self.entry, self.stack, self.line = m.snapshot(), list(m.frames), m.frame.line
        self.before = places(self.entry)
        self.schemas: dict[Place, Schema] = {}
        self.paired: set[Any] = set()
        self.counters: dict[Place, bool] = {}
        self.heads: dict[Place, Any] = {}
        self.seeded = loop in m.rolled and self._seed(m.rolled[loop])

    def run(self) -> None:
        for attempt in range(PASSES):
            tested = self._walk_test() if self.test else None
            body = self._head("body", True)
            try:
                with self.m.within(body):
                    self._limit_steps(body)
                    self.step(self._index(body))
            except (Raised, Uncaptured) as error:
                if self.seeded:
                    return self._unseeded()
                if isinstance(error, Uncaptured):
                    raise
                self._raises(error, attempt)
                return
            end = self.m.snapshot()
            self.m.frame.line = self.line
            if self._settled(end):
                found = dict(self.schemas)
                self._finish(body, tested, end)
                dead = {p: Bad(f"{p[2]!r} is read after a loop that binds it") for p in found if p not in self.schemas}
                self.m.rolled[self.loop] = {**found, **dead}, self.counters, self.paired
                return
        self.m.restore(self.entry)
        fix = "give them their final types before the loop"
        self.m.refuse("the types of what this loop changes do not settle", fix)

    def _seed(self, found: tuple[Any, Any, Any]) -> bool:
        """Start from the carries that were found when the same loop was walked before: inner loops settle at once."""
        for place, s in found[0].items():
            if isinstance(s, Bad) and place[0] == "name" and place[1] in self.entry[0]:
                self.schemas[place] = s
            elif not self._is_new(place) and not isinstance(s, (Growing, Bad)):
                joined = join(self.m, s, schema(self.m, self.m.before(place, self.before)), place)
                if not isinstance(joined, Bad):
                    old = keep_boxes(joined, lambda b: self.m.older(b, self.entry))
                    self.schemas[place] = old
                    start = self.before.get(place)
                    counts = found[1].get(place, False) and start is not None
                    self.counters[place] = counts and self._may_count(old, start)
        self.paired = {pair for pair in found[2] if pair[0][0] in self.schemas and pair[1][0] in self.schemas}
        return bool(self.schemas)

    def _unseeded(self) -> None:
        """A pass from such a start raises: the first pass must be exact."""
        self.m.frames[:] = self.stack
        self.m.restore(self.entry)
        self.m.rolled.pop(self.loop)
        again = Roll(self.m, self.trip, self.test, self.step, self.sure, self.limit, self.elsewhere)
        again.run()

    # ---- one walk

    def _head(self, name: str, lead: bool) -> Tracing:
        """A region, and the state at the head of a pass."""
        m = self.m
        m.restore(self.entry)
        now = m.region(name)
        if lead:
            now.builder.param(INDEX, "i" if self.trip is not None else "k")
        made: dict[Any, Any] = {}
        with m.within(now):
            for place, s in self.schemas.items():
                hint = place[2] if place[0] == "name" and not place[2].startswith("#") else ""
                v = rebuild(m, s, iter([now.builder.param(t, hint) for t in types_of(s)]))
                m.put(place, v)
                self.heads[place] = v
                made.update(boxes_in(m, place, s, v))
                if self.counters.get(place) and isinstance(v, Array):
                    m.ranges.note(v, -FAR, FAR)
        pair_up(made, self.paired)
        return now

    def _index(self, body: Tracing) -> Array | None:
        if self.trip is None:
            return None
        index = Array(body, body.builder.params[0], weak=True)
        if isinstance(self.trip, int):
            self.m.ranges.passes.add(index.value)
        return self.m.ranges.counts(index, self.trip)

    def _limit_steps(self, body: Tracing) -> None:
        """The optional limit of passes of a loop whose end depends on values."""
        if self.test is not None and self.limit is None and settings.max_steps:
            count = Array(body, body.builder.params[0], weak=True)
            text = f"the loop at {self.m.where()} has taken more than {settings.max_steps} steps (PULLBACK_MAX_STEPS)"
            self.m.require(self.m.emit(lt, count, settings.max_steps), RuntimeError, text)

    def _walk_test(self) -> tuple[Tracing, Value]:
        m = self.m
        now = self._head("test", False)
        start = places(m.snapshot())
        assert self.test is not None
        outside, m.testing = m.testing, True
        with m.within(now):
            go = m.value(self.test())
        m.testing = outside
        for place, v in places(m.snapshot()).items():
            old = m.before(place, start)
            if not same(old, v) and not self._is_new(place):
                raise Impure
        return now, go

    def _raises(self, error: Raised, attempt: int) -> None:
        """A pass raises whatever the values are: so does the loop, if it runs at all."""
        m = self.m
        m.frames[:] = self.stack
        m.restore(self.entry)
        if attempt:
            m.refuse(f"only later passes of this loop raise: {error}", "check for it within the loop")
        go = self.test() if self.test else m.emit(lt, 0, self.trip) if isinstance(self.trip, Array) else self.trip > 0
        first = None if self.trip is None else 0
        branch(m, go, lambda: self.step(first if first is None else Array(m.now, m.value(0), weak=True)), lambda: None)

    # ---- the fixpoint

    def _settled(self, end: Any) -> bool:
        """Whether the pass changed nothing; else the schemas of the next one."""
        m, after = self.m, places(end)
        new = dict(self.schemas)
        for place, v1 in after.items():
            if self._is_new(place):
                continue
            v0 = m.before(place, self.before)
            if place not in new and same(v0, v1):
                continue
            s1 = schema(m, v1)
            if place in new:
                new[place] = join(m, new[place], s1, place)
            else:
                m.restore(self.entry)
                s0 = schema(m, v0)
                m.restore(end)  # aliases of the entry only; the next pass adds its own
                new[place] = join(m, s0, keep_boxes(s1, lambda b: False), place)
                self.counters[place] = self._may_count(new[place], v0)
            new[place] = with_room(new[place], v0, v1, self.limit, place in self.schemas)
            new[place] = keep_boxes(new[place], lambda b: m.older(b, self.entry))
        m.restore(self.entry)
        first = {k: b for p, s in new.items() for k, b in boxes_in(m, p, s, m.before(p, self.before)).items()}
        m.restore(end)
        last = {k: b for p, s in self.schemas.items() for k, b in boxes_in(m, p, s, m.before(p, after)).items()}
        pairs = overlaps(first) | overlaps(last)
        counted = self._counted(after)
        settled = new == self.schemas and pairs <= self.paired and counted
        self.schemas, self.paired = new, self.paired | pairs
        return settled

    def _is_new(self, place: Place) -> bool:
        """Whether a place was made in the pass: it is of no concern to others."""
        if place[0] == "box":
            return not self.m.older(place[1], self.entry)
        return place[1] not in self.entry[0]

    def _may_count(self, s: Schema, start: Any) -> bool:
        """Whether a carry may be a counter: a Python int that starts small."""
        if not (isinstance(s, Leaf) and s.weak and s.type.dtype == "i64"):
            return False
        low, high = self.m.ranges.of(start)
        return low > -SMALL and high < SMALL

    def _counted(self, after: dict[Place, Any]) -> bool:
        """Whether those taken for counters move by small steps; if not, they are no longer taken for it."""
        wrong = []
        for place, counts in self.counters.items():
            if counts and place in self.schemas:
                head = self.heads[place]
                base, low, high = self.m.ranges.from_base(after[place])
                moves = isinstance(head, Array) and base is not None and base.value is head.value
                if not moves or low < -SMALL or high > SMALL:
                    wrong.append(place)
        self.counters.update(dict.fromkeys(wrong, False))
        return not wrong

    # ---- the region

    def _finish(self, body: Tracing, tested: tuple[Tracing, Value] | None, end: Any) -> None:
        m, after = self.m, places(end)
        with m.within(body):
            results = {p: leaves(m, s, m.before(p, after)) for p, s in self.schemas.items()}
        old = lambda b: m.older(b, self.entry)  # noqa: E731
        lasting = {p: keep_boxes(schema(m, after[p]), old) for p in self.schemas if p in after}
        m.restore(self.entry)
        unread = self._drop_dead(body, tested, results)
        inits = [v for p, s in self.schemas.items() for v in self._start(p, s, p in unread)]
        out = self._emit(body, [v for p in self.schemas for v in results[p]], tested, inits)
        made: dict[Any, Any] = {}
        values = iter(out)
        for place, s in self.schemas.items():
            s = self._without_entry(s, lasting.get(place))
            v = rebuild(m, s, values)
            if isinstance(v, Maybe) and self.sure and not isinstance(after[place], Maybe):
                v = v.inner
            if isinstance(v, Grown):
                v = after_loop(m, v, after[place], m.before(place, self.before), self.limit, self.trip is not None)
            if self.counters.get(place) and isinstance(v, Array):
                m.ranges.note(v, -FAR, FAR)
            m.put(place, v)
            made.update(boxes_in(m, place, s, v))
        pair_up(made, self.paired)

    def _start(self, place: Place, s: Schema, unread: bool) -> list[Value]:
        """The values of a carry before the first pass; of no concern if that binds it first."""
        if unread and self.sure:
            return [zeros(self.m, t) for t in types_of(s)]
        return leaves(self.m, s, self.m.before(place, self.before))

    def _drop_dead(self, body: Tracing, tested: Any, results: dict[Place, list[Value]]) -> set[Place]:
        """Forget carries that no pass reads at its head and nobody reads after the loop; which others no pass reads."""
        regions = [(body, 1), *([(tested[0], 0)] if tested else [])]
        heads: dict[Place, set[Value]] = {}
        for now, lead in regions:
            params = iter(now.builder.params[lead:])
            for place, s in self.schemas.items():
                heads.setdefault(place, set()).update(next(params) for _ in types_of(s))
        read = {a for now, _ in regions for op in now.builder.body for a in op.args}
        unread = {p for p, values in heads.items() if not values & (read | ({tested[1]} if tested else set()))}
        passed = {p: {q for q, vs in results.items() if q != p and heads[p].intersection(vs)} for p in unread}
        unread = {p for p in unread if not passed[p] and not heads[p].intersection(results[p])}
        dead = {p for p in unread if self._is_temporary(p)}
        gone = {v for p in dead for v in heads[p]}
        for now, _ in regions:
            now.builder.params = tuple([p for p in now.builder.params if p not in gone])
        for place in dead:
            self.schemas.pop(place)
            why = f"{place[2]!r} is read after a loop that binds it"
            self.m.put(place, Poison(why, "bind it before the loop"))
        return unread - dead

    def _is_temporary(self, place: Place) -> bool:
        own = place[0] == "name" and place[1] is self.m.frame and not place[2].startswith("#")
        return own and self.elsewhere is not None and place[2] not in self.elsewhere

    def _emit(self, body: Tracing, results: list[Value], tested: Any, inits: list[Value]) -> list[Value]:
        m = self.m
        if tested is None:
            graphs, outside = close(m, [body], [results], [1 + len(results)])
            args = [m.value(self.trip), *inits, *outside]
            return list(emit_region(m, control.scan, args, graphs, carries=len(inits)))
        test, go = tested
        graphs, outside = close(m, [body, test], [results, [go]], [1 + len(results), len(results)])
        return list(emit_region(m, control.loop, [*inits, *outside], graphs, carries=len(inits)))

    def _without_entry(self, s: Schema, last: Schema | None) -> Schema:
        """After a loop that surely ran, a name is what the body's end bound: aliases of the entry are gone."""
        if not self.sure or last is None or type(last) is not type(s) or not hasattr(s, "boxes"):
            return s
        kept = last.boxes  # type: ignore[attr-defined]
        return keep_boxes(s, lambda b: b in kept) if not isinstance(s, Items) else s


__all__ = ["Roll"]
