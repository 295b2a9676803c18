"""What is saved is as little as can be, and what a backward loop waits for is one multiplication."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pullback.compiler.ir.graph import Builder, Graph, Value, evaluate
from pullback.compiler.ir.text import show
from pullback.compiler.ir.types import Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.elementwise import mul
from pullback.compiler.ops.reduce import sum_
from pullback.compiler.ops.term import Terms
from pullback.compiler.passes.cut import bytes_of, recomputable, smallest_cut
from pullback.compiler.passes.loops.chains import last

F64 = Type("f64")


def _joint(seed: int) -> tuple[Graph, list[Value]]:
    """A random joint graph of a body with parameters x, free and ct; and the values that depend on ct."""
    rng = np.random.default_rng(seed)
    b = Builder("joint", [F64, Type("f64", (3,)), F64, F64], ["x", "a", "free", "ct"])
    m = Terms(b)
    x, a, free, ct = (m(p) for p in b.params)
    early = [x, free, m(sum_(b, a.value, axes=(0,)))]
    for _ in range(int(rng.integers(4, 9))):
        p, q = (early[-1 - int(rng.integers(min(5, len(early))))] for _ in "pq")
        kind = rng.integers(5)
        early.append([m.sin(p), p * q, p + q, m.exp(q), p - q][kind])
    late = [ct]
    for _ in range(int(rng.integers(2, 5))):
        late.append(late[-1 - int(rng.integers(min(2, len(late))))] * early[-1 - int(rng.integers(len(early)))])
    return b.finish([early[-1].value, late[-1].value, late[-2].value]), [v.value for v in late]


def _suffice(graph: Graph, have: set[Value], wanted: set[Value], late: set[Value]) -> bool:
    known = set(have)
    for op in graph.body:
        if late.isdisjoint(op.results) and recomputable(op) and all(a in known for a in op.args):
            known.update(op.results)
    return wanted <= known


@pytest.mark.parametrize("seed", range(60))
def test_no_fewer_bytes_suffice(seed: int) -> None:
    graph, made_late = _joint(seed)
    late, free = set(made_late), {graph.params[2]}
    results = [r for r in graph.results[1:] if r not in graph.params]
    saved = smallest_cut(graph, free, late, results)
    wanted = {a for op in graph.body if not late.isdisjoint(op.results) for a in op.args} - late
    assert _suffice(graph, free | set(saved), wanted, late)
    early = [*graph.params[:2], *(r for op in graph.body for r in op.results if r not in late)]
    least = sum(bytes_of(v.type) for v in saved)
    for many in range(len(saved) + 1):
        for some in combinations(early, many):
            if sum(bytes_of(v.type) for v in some) < least:
                assert not _suffice(graph, free | set(some), wanted, late), show(graph)


def test_what_is_at_hand_is_not_saved() -> None:
    b = Builder("joint", [F64, F64], ["free", "ct"])
    m = Terms(b)
    free, ct = (m(p) for p in b.params)
    late = ct * (free * free + 1)
    assert smallest_cut(b.finish([late.value]), [free.value], {ct.value, late.value}, [late.value]) == []


def _chain(f, late: int = 1) -> tuple[Graph, Graph]:
    b = Builder("back", [F64] * 5, ["ct", "a", "b", "c", "d"])
    m = Terms(b)
    made = f(m, *(m(p) for p in b.params))
    graph = b.finish([t.value for t in made])
    return graph, verify(last(graph, graph.params[:late]))


def _depth(graph: Graph, late: Value) -> int:
    """The most operations in a row that wait for `late`."""
    depth = {late: 0}
    for op in graph.body:
        waits = [depth[a] for a in op.args if a in depth]
        depth.update((r, 1 + max(waits)) for r in op.results if waits)
    return max(depth.get(r, 0) for r in graph.results)


@pytest.mark.parametrize(
    ("f", "before", "after"),
    [
        (lambda m, t, a, b, c, d: [((t * a) * b) * c], 3, 1),
        (lambda m, t, a, b, c, d: [(t * a) * b + -(d * t) / c], 4, 1),
        (lambda m, t, a, b, c, d: [(t * a) * b, (t * a) * c - t], 3, 1),
        (lambda m, t, a, b, c, d: [m.sin(t * a * b) * c * d], 5, 3),
        (lambda m, t, a, b, c, d: [m.select(m.gt(a, b), t * c, 0) * d - t], 4, 1),
        (lambda m, t, a, b, c, d: [m.select(m.gt(a, b), t * c, -t) + t], 3, 1),
        (lambda m, t, a, b, c, d: [m.select(m.gt(a, b), t * c, d)], 2, 2),
        (lambda m, t, a, b, c, d: [m.select(m.gt(t, b), t * c, 0)], 2, 2),
        (lambda m, t, a, b, c, d: [a / (t * b)], 2, 2),
        (lambda m, t, a, b, c, d: [t * a + b], 2, 2),
    ],
)
def test_cotangents_are_multiplied_last(f, before: int, after: int) -> None:
    graph, made = _chain(f)
    assert (_depth(graph, graph.params[0]), _depth(made, made.params[0])) == (before, after)
    rng = np.random.default_rng(1)
    for _ in range(5):
        args = [np.float64(v) for v in rng.uniform(0.5, 1.5, 5)]
        for got, want in zip(evaluate(made, args), evaluate(graph, args), strict=True):
            assert got == pytest.approx(want, rel=1e-14)


def test_late_numbers_of_several_kinds_stay_apart() -> None:
    graph, made = _chain(lambda m, t, a, b, c, d: [t * b + a * b, t * a], late=2)
    args = [np.float64(v) for v in (1.5, 2.5, 0.5, 1, 1)]
    assert evaluate(made, args) == evaluate(graph, args)
    assert sum(op.prim is mul for op in made.body) == 3
