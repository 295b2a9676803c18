"""What is known of integers, through loops and branches, and what need not be asked then.

    scan 10, ...
      | @body(%i: i64[], ...)           %i is in 0 .. 9
          %neg = lt %i, 0               false
          %at = select %neg, %up, %i    %i
          check_indices %at {size=10}   cannot fail

The index of a scan is below its count; a number carried is what came in and what a round makes of it, and where a round
adds no more than so much, no more than that in all rounds; where a loop goes on, or a branch is taken, its test holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir.graph import Builder, Graph, Op, Value, rewrite
from ..ops import elementwise as E
from ..ops.control import Carrying, cond, scan
from ..ops.guard import guard
from ..ops.index import check_indices
from ..ops.require import require
from ..ops.source import number
from .cleanup import inside
from .intervals import ANY, TRUTH, Interval, at_most, join, meet, negative, plus, times, transfer, widened
from .narrow import renamed

ASKING = {
    check_indices, guard, require, E.lt, E.le, E.gt, E.ge, E.eq, E.ne, E.select, E.maximum, E.minimum, E.mod, E.and_,
    E.or_, E.not_,
}
ROUNDS = 2**56
"""No loop runs more often: that would take years."""



def ranges(graph: Graph) -> Graph:
    """The graph without comparisons, checks and choices whose outcome is known."""
    if not _asks(graph):
        return graph
    known = intervals(graph)

    def of(value: Value) -> Interval:
        return known.get(value, ANY)

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        if op.regions:
            made = inside(b, op, args, change)
            return _single(b, made or _emitted(b, op, args), known)
        if op.prim not in ASKING or not op.args:
            return None
        if op.prim is check_indices:
            fits = at_most(0, of(op.args[0]).low) and at_most(of(op.args[0]).high, op.attrs["size"] - 1)
            return args if fits else None
        if op.prim in (guard, require):
            return args[:1] if of(op.args[0]).low == 1 else None
        return _chosen(b, op, args, [of(a) for a in op.args], of(op.results[0]))

    def change(region: Graph) -> Graph:
        return rewrite(_spelled(region, known), visit)

    return change(graph)


def _emitted(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value]:
    return b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, b.where))


def _single(b: Builder, values: Sequence[Value], known: dict[Value, Interval]) -> Sequence[Value]:
    """The values, with constants for those that can be one number only."""
    return [v if (n := _number(v, known)) is None else number(b, n, v.type) for v in values]


def _number(value: Value, known: dict[Value, Interval]) -> int | None:
    low, high = known.get(value, ANY)
    return low if isinstance(low, int) and low == high and not value.type.shape else None


def _spelled(region: Graph, known: dict[Value, Interval]) -> Graph:
    """The region with constants for parameters that can be one number only."""
    if all(_number(p, known) is None for p in region.params):
        return region
    b = Builder(region.name)
    b.params = region.params
    became = {p: v for p, v in zip(region.params, _single(b, region.params, known), strict=True) if p is not v}
    moved = renamed(region, became)
    return Graph(region.name, region.params, (*b.body, *moved.body), moved.results)


def _asks(graph: Graph) -> bool:
    """Whether something may be known: there are loops or branches, or positions found when the program runs."""
    return any(op.regions or op.prim is check_indices for op in graph.body)


def _chosen(
    b: Builder, op: Op, args: tuple[Value, ...], given: Sequence[Interval], made: Interval
) -> Sequence[Value] | None:
    if op.results[0].type.dtype == "bool":
        if (made.low == 1 or made.high == 0) and op.prim is not E.select:
            return [number(b, made.low == 1, op.results[0].type)]
        for k, each in enumerate(given if op.prim in (E.and_, E.or_) else ()):
            if each.low == each.high == int(op.prim is E.and_):
                return args[1 - k :][:1]
    if op.prim is E.select:
        return args[1:2] if given[0].low == 1 else args[2:] if given[0].high == 0 else None
    if op.results[0].type.dtype != "i64" or op.prim not in (E.mod, E.minimum, E.maximum):
        return None
    x, y = given
    if op.prim is E.mod:
        inside_it = at_most(0, x.low) and y.low is not None and at_most(x.high, y.low - 1)
        return args[:1] if inside_it else None
    less, more = at_most(x.high, y.low), at_most(y.high, x.low)
    if op.prim is E.minimum:
        return args[:1] if less else args[1:] if more else None
    return args[1:] if less else args[:1] if more else None


# ---- what is known


def intervals(graph: Graph) -> dict[Value, Interval]:
    """What is known of the integers and truth values of a graph and its regions."""
    walk = _Walk()
    walk.graph(graph, [ANY] * len(graph.params), True)
    return walk.found


class _Walk:
    """A walk through a graph and its regions, which keeps what it finds when nothing changes any more."""

    def __init__(self) -> None:
        self.found: dict[Value, Interval] = {}

    def graph(self, graph: Graph, given: Iterable[Interval], keep: bool) -> list[Interval]:
        """The intervals of the results, from those of the parameters."""
        env = {p: _held(p, i) for p, i in zip(graph.params, given, strict=True) if _counts(p)}
        maker: dict[Value, Op] = {}
        for op in graph.body:
            if op.regions:
                made = self.op(op, env, maker, keep)
                env.update((r, _held(r, i)) for r, i in zip(op.results, made, strict=True) if _counts(r))
            elif len(op.results) == 1 and _counts(op.results[0]):
                env[op.results[0]] = transfer(op, [env.get(a, ANY) for a in op.args])
                maker[op.results[0]] = op
        if keep:
            for v, i in env.items():
                self.found[v] = join(self.found[v], i) if v in self.found else i
        return [env.get(r, ANY) for r in graph.results]

    def op(self, op: Op, env: dict[Value, Interval], maker: dict[Value, Op], keep: bool) -> list[Interval]:
        given = [env.get(a, ANY) for a in op.args]
        if isinstance(op.prim, Carrying):
            return self.loop(op, op.prim, given, keep)
        if op.prim is cond:
            sides = []
            for region, holds in zip(op.regions, (True, False), strict=True):
                narrowed = dict(refined(op.args[0], holds, maker, env))
                inner = [meet(i, narrowed.get(a, ANY)) for a, i in zip(op.args[1:], given[1:], strict=True)]
                sides.append(self.graph(region, inner, keep))
            return [join(a, b) for a, b in zip(*sides, strict=True)]
        for region in op.regions:
            if len(region.params) == len(given):
                self.graph(region, given, keep)
        return [ANY] * len(op.results)

    def loop(self, op: Op, prim: Carrying, given: list[Interval], keep: bool) -> list[Interval]:
        c, body = op.attrs["carries"], op.regions[0]
        start, rest = given[prim.first : prim.first + c], given[prim.first + c :]
        rounds = meet(given[0] if prim is scan else ANY, Interval(None, ROUNDS))
        index = Interval(0, None if rounds.high is None else rounds.high - 1)
        if op.attrs.get("backwards") and given[0].high is None:
            index = Interval(0, None)
        carried = self.carried(op, start, rest, index, rounds)
        made = self.graph(body, [index, *self.going(op, carried, rest), *rest], keep)
        for test in op.regions[1:]:
            self.graph(test, [*(join(a, b) for a, b in zip(start, carried, strict=True)), *rest], keep)
        runs = at_most(1, rounds.low)
        after = [b if runs else join(a, b) for a, b in zip(start, made, strict=True)]
        return [*after, *([Interval(0, ROUNDS)] * (len(op.results) - c))]

    def carried(
        self, op: Op, start: list[Interval], rest: list[Interval], index: Interval, rounds: Interval
    ) -> list[Interval]:
        """What the carries are before a round."""
        body, c = op.regions[0], op.attrs["carries"]
        steps = _steps(body, c, rest)
        held = [plus(s, _total(steps[k], rounds)) if k in steps else s for k, s in enumerate(start)]
        now = held
        settled = all(k in steps or not _counts(p) for k, p in enumerate(body.params[1 : 1 + c]))
        for _ in range(0 if settled else 3):
            made = self.graph(body, [index, *self.going(op, now, rest), *rest], False)
            wider = [now[k] if k in steps else widened(now[k], made[k]) for k in range(c)]
            if wider == now:
                return now
            now = wider
        return [h if k in steps or settled else ANY for k, h in enumerate(held)]

    def going(self, op: Op, carried: list[Interval], rest: list[Interval]) -> list[Interval]:
        """What the carries are where a loop goes on: its test holds."""
        if op.prim is scan:
            return carried
        test, known = op.regions[1], dict(zip(op.regions[1].params, [*carried, *rest], strict=True))
        narrowed = dict(refined(test.results[0], True, {op.results[0]: op for op in test.body}, known))
        return [meet(i, narrowed.get(p, ANY)) for p, i in zip(test.params, carried, strict=False)]


def _counts(value: Value) -> bool:
    return value.type.dtype in ("i64", "bool")


def _held(value: Value, within: Interval) -> Interval:
    """The interval of a value of its dtype."""
    return meet(within, TRUTH) if value.type.dtype == "bool" else within


def _steps(body: Graph, c: int, rest: Sequence[Interval]) -> dict[int, Interval]:
    """The carries to which each round adds a number, and the numbers."""
    maker = {op.results[0]: op for op in body.body if len(op.results) == 1}
    known = dict(zip(body.params[1 + c :], rest, strict=True))
    found = {}
    for k, (p, r) in enumerate(zip(body.params[1 : 1 + c], body.results, strict=True)):
        op = maker.get(r)
        if op is None or p.type.dtype != "i64" or op.prim not in (E.add, E.sub) or p not in op.args:
            continue
        by = op.args[1] if op.args[0] is p else op.args[0]
        source = maker.get(by)
        step = known.get(by, ANY) if source is None else transfer(source, []) if not source.args else ANY
        if by is not p and step != ANY and not (op.prim is E.sub and op.args[1] is p):
            found[k] = step if op.prim is E.add else negative(step)
    return found


def _total(step: Interval, rounds: Interval) -> Interval:
    """What steps add up to before the last round, from none of them on."""
    return times(join(step, Interval(0, 0)), Interval(0, None if rounds.high is None else rounds.high - 1))


def refined(
    test: Value, holds: bool, maker: dict[Value, Op], known: dict[Value, Interval]
) -> Iterable[tuple[Value, Interval]]:
    """What integers are where a test holds, or does not."""
    found: dict[Value, Interval] = {}
    pending = [(test, holds)]
    while pending:
        value, holds = pending.pop()
        op = maker.get(value)
        if op is None:
            continue
        if op.prim is E.not_:
            pending.append((op.args[0], not holds))
        elif (op.prim is E.and_ and holds) or (op.prim is E.or_ and not holds):
            pending += [(a, holds) for a in op.args]
        elif op.prim in _OPPOSITE and op.args[0].type.dtype == "i64":
            a, b = op.args
            prim: object = op.prim if holds else _OPPOSITE[op.prim]
            for value, within in zip((a, b), _within(prim, known.get(a, ANY), known.get(b, ANY)), strict=True):
                found[value] = meet(found.get(value, ANY), within)
    return found.items()


_OPPOSITE: dict[object, object] = {E.lt: E.ge, E.ge: E.lt, E.gt: E.le, E.le: E.gt, E.eq: E.ne, E.ne: E.eq}


def _within(prim: object, a: Interval, b: Interval) -> tuple[Interval, Interval]:
    """What both sides of a comparison that holds must lie in."""
    if prim in (E.gt, E.ge):
        right, left = _within(E.lt if prim is E.gt else E.le, b, a)
        return left, right
    if prim in (E.lt, E.le):
        less = int(prim is E.lt)
        left = Interval(None, None if b.high is None else b.high - less)
        return left, Interval(None if a.low is None else a.low + less, None)
    return (b, a) if prim is E.eq else (ANY, ANY)


__all__ = ["intervals", "ranges"]
