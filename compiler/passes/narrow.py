"""Operations with regions made as narrow as they can be.

Results that nobody reads go, with the carries that only feed themselves and the parameters that no region reads. What
every round hands on unchanged is no carry, and what both branches hand on is no result. Equal arguments come in once,
and constants are made inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir.graph import Graph, Op, Value
from ..ir.primitive import Effect
from ..ops.control import Carrying, cond
from ..ops.source import const
from .activity import Flow
from .cleanup import dead


def narrow(graph: Graph) -> Graph:
    """The graph without what is dead, in regions too."""
    return _Narrow(graph).made()


class _Narrow:
    """A walk from the results up.

    live      what is read by the operations met so far
    became    results that turned out to be other values
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.live: set[Value] = set(graph.results)
        self.became: dict[Value, Value] = {}
        self.constants = {op.results[0]: op for op in graph.body if op.prim is const and not op.results[0].type.shape}

    def made(self) -> Graph:
        graph, body, changed, live, pure = self.graph, [], False, self.live, Effect.PURE
        for op in reversed(graph.body):
            if not op.regions:
                if not live.isdisjoint(op.results) or op.prim.effect is not pure:
                    body.append(op)
                    live.update(op.args)
                else:
                    changed = True
                continue
            new = self.op(op)
            if new.effect is not pure or not live.isdisjoint(new.results):
                body.append(new)
                live.update(new.args)
                changed = changed or new is not op
            else:
                changed = True
            live.update(self.became[r] for r in op.results if r in self.became and r in live)
        if not changed:
            return graph
        body.reverse()
        return renamed(Graph(graph.name, graph.params, tuple(body), graph.results), self.became)

    def op(self, op: Op) -> Op:
        """A narrower operation with regions, or itself."""
        if isinstance(op.prim, Carrying):
            return self.loop(op, op.prim)
        if op.prim is cond:
            return self.cond(op)
        return _holding(op, op.args, tuple(map(narrow, op.regions)), op.results)

    def loop(self, op: Op, prim: Carrying) -> Op:
        c, first = op.attrs["carries"], prim.first
        regions = list(map(narrow, op.regions))
        inner, results = regions[0].params[1:], regions[0].results
        still = {k for k in range(c) if results[k] is inner[k]}
        self.became.update((op.results[k], op.args[first + k]) for k in still)
        keep = self.fed(op, regions, still)
        rest = [k for k in range(len(inner)) if k in still or k >= c]
        if len(keep) < c:
            body = regions[0]
            slim = narrow(Graph(body.name, body.params, body.body, tuple([results[k] for k in keep])))
            params = (slim.params[0], *(inner[k] for k in (*keep, *rest)))
            regions[0] = Graph(slim.name, params, slim.body, slim.results)
            for n, g in enumerate(regions[1:], 1):
                regions[n] = Graph(g.name, tuple([g.params[k] for k in (*keep, *rest)]), g.body, g.results)
        leads = [1 + len(keep), *(len(keep) for _ in regions[1:])]
        args, regions = self.shared([op.args[first + k] for k in rest], regions, leads)
        lead = [*op.args[:first], *(op.args[first + k] for k in keep)]
        kept = (*(op.results[k] for k in keep), *op.results[c:])
        return _holding(op, (*lead, *args), tuple(regions), kept, carries=len(keep))

    def fed(self, op: Op, regions: Sequence[Graph], still: set[int]) -> list[int]:
        """The carries that are read outside or by a test, and those that feed them."""
        c, body = op.attrs["carries"], regions[0]
        tested = {k for g in regions[1:] for k, p in enumerate(g.params[:c]) if p in _reads([g])}
        wanted = {k for k in range(c) if op.results[k] in self.live or k in tested} - still
        place = {p: k for k, p in enumerate(body.params[1 : 1 + c]) if k not in still}
        while len(wanted) < len(place):
            slim = dead(Graph(body.name, body.params, body.body, tuple([body.results[k] for k in sorted(wanted)])))
            more = {place[v] for v in _reads([slim]) if v in place} - wanted
            if not more:
                break
            wanted |= more
        return sorted(wanted)

    def cond(self, op: Op) -> Op:
        regions = _drained(op.regions, list(map(narrow, op.regions)))
        keep = []
        for k, (a, b) in enumerate(zip(*(g.results for g in regions), strict=True)):
            at = {g.params.index(r) if r in g.params else -1 for g, r in zip(regions, (a, b), strict=True)}
            if len(at) == 1 and at != {-1}:
                self.became[op.results[k]] = op.args[1 + at.pop()]
            elif op.results[k] in self.live:
                keep.append(k)
        if len(keep) < len(op.results):
            regions = [Graph(g.name, g.params, g.body, tuple([g.results[k] for k in keep])) for g in regions]
            regions = _drained(regions, list(map(narrow, regions)))
        args, regions = self.shared(list(op.args[1:]), regions, [0, 0])
        return _holding(op, (op.args[0], *args), tuple(regions), tuple([op.results[k] for k in keep]))

    def shared(self, args: list[Value], regions: list[Graph], leads: list[int]) -> tuple[list[Value], list[Graph]]:
        """Arguments without those that no region reads, that come twice or are constants; and the regions.

        The parameters for these arguments begin at leads[k] in region k.
        """
        reads, firsts = _reads(regions), {}
        drop: dict[int, Value | Op | None] = {}
        for k, a in enumerate(args):
            if not any(g.params[at + k] in reads for g, at in zip(regions, leads, strict=True)):
                drop[k] = None
            elif a in self.constants:
                drop[k] = self.constants[a]
            elif firsts.setdefault(a, k) != k:
                drop[k] = a
        if not drop:
            return args, regions
        made = []
        for g, at in zip(regions, leads, strict=True):
            became, constants = {}, []
            for k, instead in drop.items():
                p = g.params[at + k]
                if isinstance(instead, Op):
                    constants.append(Op(const, (), instead.attrs, (), (Value(p.type, p.hint),), instead.where))
                    became[p] = constants[-1].results[0]
                elif instead is not None:
                    became[p] = g.params[at + firsts[instead]]
            params = tuple([p for k, p in enumerate(g.params) if k - at not in drop])
            moved = renamed(g, became)
            made.append(Graph(g.name, params, (*constants, *moved.body), moved.results))
        return [a for k, a in enumerate(args) if k not in drop], made


def _drained(before: Sequence[Graph], after: list[Graph]) -> list[Graph]:
    """The branches made narrower, but for pops from a tape that another branch still pops from.

    The derivative of a pop is a push: the tape of cotangents must have as many records as the tape was pushed.
    """
    flow = Flow()
    ends = [flow.ends(g) for g in before]
    pops = {k for g in after for k, (_, popped) in flow.ends(g).items() if popped}
    made = []
    for g, narrower, last in zip(before, after, ends, strict=True):
        left = flow.ends(narrower)
        kept = tuple([v for k, (v, popped) in last.items() if k in pops and popped and not left[k][1]])
        if kept:
            whole = narrow(Graph(g.name, g.params, g.body, (*g.results, *kept)))
            narrower = Graph(whole.name, whole.params, whole.body, whole.results[: len(g.results)])
        made.append(narrower)
    return made


def _holding(
    op: Op, args: tuple[Value, ...], regions: tuple[Graph, ...], results: tuple[Value, ...], **attrs: int
) -> Op:
    """`op` on fewer arguments with other regions, or itself if they are its own."""
    same = all(a is b for a, b in zip(regions, op.regions, strict=True))
    if same and len(args) == len(op.args) and results == op.results:
        return op
    return Op(op.prim, args, {**op.attrs, **attrs}, regions, results, op.where)


def _reads(regions: Iterable[Graph]) -> set[Value]:
    """The values that the operations and results of regions read."""
    found: set[Value] = set()
    for g in regions:
        found.update(a for op in g.body for a in op.args)
        found.update(g.results)
    return found


def renamed(graph: Graph, became: dict[Value, Value]) -> Graph:
    """The graph with some values replaced by others."""
    if not became:
        return graph

    def of(value: Value) -> Value:
        while value in became:
            value = became[value]
        return value

    body = []
    for op in graph.body:
        args = tuple([of(a) for a in op.args])
        body.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
    return Graph(graph.name, graph.params, tuple(body), tuple([of(r) for r in graph.results]))


__all__ = ["narrow", "renamed"]
