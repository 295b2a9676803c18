"""A region cut in two: a forward part that ends with one push, and a backward part that begins with one pop.

First the joint graph of the region is made, its operations and then their pullbacks, inner regions already split; it is
cleaned, so that nothing dead is saved; then it is cut where the fewest bytes cross.

    body(i, x, c) = sin(x) * c        with a carry x and a rest c that no derivative passes through
    forward(i, x, tape, c) = sin(x) * c, push(tape, cos(x))
    backward(i, tape, ct, c) = pop(tape): tape, cos(x);  tape, ct * c * cos(x)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..ir.graph import Builder, Graph, Op, Value, Where, inline
from ..ir.primitive import Effect
from ..ir.types import TAPE, Type
from ..ops.tape import pop, push
from .algebra import algebra
from .cleanup import common, dead
from .cut import TRANSPARENT, smallest_cut
from .loops.chains import last
from .narrow import narrow
from .sweep import Cotangent, Sweep


@dataclass(frozen=True)
class Wish:
    """What is asked of a split, by numbers of parameters and results.

    index    how many parameters come before the carries
    rest     the first parameter that every iteration shares
    seeded   results that bring a cotangent in
    out      parameters whose cotangents come out
    sums     parameters to whose running cotangents the region adds
    free     parameters that the backward part can read without their having been saved
    masked   the results and the parameters whose cotangents have masks, which come and go after all cotangents
    """

    index: int
    rest: int
    seeded: Sequence[int]
    out: Sequence[int]
    sums: Sequence[int]
    free: Sequence[int]
    masked: tuple[Sequence[int], Sequence[int]] = ((), ())


@dataclass(frozen=True)
class Parts:
    """The two parts.

    forward    (index, carries, [tape], rest) -> (results, [tape])
    backward   (index, [tape], cotangents of seeded, sums, rest) -> ([tape], cotangents of out, sums)
    tape       whether there is a tape between them
    """

    forward: Graph
    backward: Graph
    tape: bool


@dataclass(frozen=True)
class Joint:
    """The graph of a region and its pullbacks, before it is cut.

    Its parameters are those of the region, the two tapes and the cotangents that come in; its results those of the
    region, the two tapes and the cotangents that go out.
    """

    graph: Graph
    params: int
    results: int


def split(outer: Sweep, region: Graph, wish: Wish) -> Parts:
    """The parts of a region of an operation that `outer` meets."""
    return partition(_joint(outer, region, wish), wish)


def _joint(outer: Sweep, region: Graph, wish: Wish) -> Joint:
    b = Builder(region.name)
    t = Sweep(b, outer.flow, outer.split, outer.sharp)
    t.above, t.below = above, below = Value(TAPE, "above"), Value(TAPE, "below")
    t.free = {region.params[k] for k in wish.free}
    sources = [region.params[k] for k in {*wish.out, *wish.sums}]
    targets = [region.results[k] for k in wish.seeded]
    t.forward(region.body, sources, targets, [region.results[k] for k in wish.masked[0]])
    seeds = [_incoming(region.results[k], "ct", k in wish.masked[0]) for k in wish.seeded]
    sums = [_incoming(region.params[k], "sum", k in wish.masked[1]) for k in wish.sums]
    t.running.update(zip([region.params[k] for k in wish.sums], sums, strict=True))
    for r, ct in zip(targets, seeds, strict=True):
        t.give(r, ct.value, ct.mask)
    t.backward()
    made = [t.taking(region.params[k]) for k in [*wish.out, *wish.sums]]
    given = [ct.mask for ct in (*seeds, *sums) if ct.mask is not None]
    params = (*region.params, above, below, *(ct.value for ct in (*seeds, *sums)), *given)
    told = [ct for k, ct in zip([*wish.out, *wish.sums], made, strict=True) if k in wish.masked[1]]
    results = (*region.results, t.above, t.below, *(ct.value for ct in made), *t.masks(told))
    graph = clean(Graph(region.name, params, tuple(b.body), results))
    if wish.index:
        graph = clean(last(graph, graph.params[len(region.params) + 1 :]))
    return Joint(graph, len(region.params), len(region.results))


def _incoming(value: Value, hint: str, masked: bool) -> Cotangent:
    """A parameter for the cotangent of `value`, and one for its mask."""
    mask = Value(Type("bool", value.type.shape), "mask") if masked else None
    return Cotangent(Value(value.type, hint), mask)


def clean(graph: Graph) -> Graph:
    """What is dead must not be saved, and what is equal not twice."""
    return narrow(common(algebra(common(narrow(graph)))))


def partition(joint: Joint, wish: Wish) -> Parts:
    """Cut the joint graph where the fewest bytes cross, and make the two parts."""
    graph, n = joint.graph, joint.params
    late, early = set(graph.params[n + 1 :]), set(graph.results[: joint.results + 1])
    for op in reversed(graph.body):
        early.update(() if early.isdisjoint(op.results) else op.args)
    for op in graph.body:
        begins = early.isdisjoint(op.results) and any(r.type.is_tape for r in op.results)
        if begins or not late.isdisjoint(op.args):
            late.update(op.results)
    fixed = (*range(wish.index), *wish.free)
    saved = smallest_cut(graph, [graph.params[k] for k in fixed], late, graph.results[joint.results + 1 :])
    tape = bool(saved) or graph.results[joint.results] is not graph.params[n]
    return Parts(_forward(joint, wish, late, saved, tape), _backward(joint, wish, late, saved, tape), tape)


def _forward(joint: Joint, wish: Wish, late: set[Value], saved: Sequence[Value], tape: bool) -> Graph:
    graph, n = joint.graph, joint.params
    body = [op for op in graph.body if late.isdisjoint(op.results)]
    above, results = graph.results[joint.results], list(graph.results[: joint.results])
    if saved:
        b = Builder(graph.name)
        b.where = _place(graph)
        above = push(b, above, *saved)
        body += b.body
    params = list(graph.params[:n])
    if tape:
        params.insert(wish.rest, graph.params[n])
        results.append(above)
    return dead(Graph(graph.name, tuple(params), tuple(body), tuple(results)))


def _backward(joint: Joint, wish: Wish, late: set[Value], saved: Sequence[Value], tape: bool) -> Graph:
    graph, n = joint.graph, joint.params
    below, results = graph.params[n + 1], graph.results[joint.results + (1 if tape else 2) :]
    lead = [*graph.params[: wish.index], *([below] if tape else [])]
    lead += [*graph.params[n + 2 :], *graph.params[wish.rest : n]]
    env: dict[Value, Value] = {}
    body: list[Op] = []
    if saved:
        under = Value(TAPE, "tape")
        body.append(Op(pop, (below,), {"types": tuple([v.type for v in saved])}, (), (under, *saved), _place(graph)))
        env[below] = under
    given = {*lead, *saved}
    want = _needed(graph, results, given, late)
    for op in graph.body:
        if op not in want:
            continue
        args = tuple([env.get(a, a) for a in op.args])
        if op.prim in TRANSPARENT and late.isdisjoint(op.results):
            env[op.results[0]] = args[0]
        else:
            body.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
    made = Graph(f"{graph.name}_back", tuple(lead), tuple(body), tuple([env.get(r, r) for r in results]))
    return dead(fresh(made))


def _place(graph: Graph) -> Where | None:
    return next((op.where for op in reversed(graph.body) if op.where), None)


def _needed(graph: Graph, values: Iterable[Value], given: set[Value], late: set[Value]) -> set[Op]:
    """The operations that it takes to compute `values`, or that may fail late, from what is given."""
    live, ops = set(values) - given, set()
    for op in reversed(graph.body):
        fails = op.effect is not Effect.PURE and not late.isdisjoint(op.results)
        if fails or not live.isdisjoint(op.results):
            ops.add(op)
            live.update(a for a in op.args if a not in given)
    return ops


def fresh(graph: Graph) -> Graph:
    """The graph with values of its own, so that the two parts share none."""
    b = Builder(graph.name, [p.type for p in graph.params], [p.hint for p in graph.params])
    return b.finish(inline(graph, b, b.params))


def passing(graph: Graph, first: bool) -> Graph:
    """A branch that hands a tape on untouched, as the first result or the last."""
    tape = Value(TAPE, "tape")
    results = (tape, *graph.results) if first else (*graph.results, tape)
    return Graph(graph.name, (tape, *graph.params), graph.body, results)


def prune(regions: Sequence[Graph], start: int) -> tuple[list[Graph], list[int]]:
    """The regions without those parameters from `start` on that none of them reads, and the numbers of those kept."""
    keep: set[int] = set()
    for g in regions:
        read = {a for op in g.body for a in op.args}
        read.update(g.results)
        keep.update(k for k, p in enumerate(g.params[start:]) if p in read)
    kept = sorted(keep)
    params = [(*g.params[:start], *(g.params[start + k] for k in kept)) for g in regions]
    return [Graph(g.name, p, g.body, g.results) for g, p in zip(regions, params, strict=True)], kept


__all__ = ["Parts", "Wish", "clean", "passing", "prune", "split"]
