"""Long loops in bounded memory: the same gradients from less that is saved, with and without a known count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.elementwise import cast
from pullback.compiler.passes import value_and_grad
from pullback.compiler.passes.loops.checkpoints import TooLittleMemory, lengths
from pullback.compiler.passes.pipeline import optimize
from pullback.compiler.passes.report import saved
from tests.nests import Nest, nest
from tests.test_adjoint_regions import PROGRAMS


@nest("iterated", (5,), ())
def iterated(m, x, c):
    def step(m, i, c, r):
        t = m(cast(m.b, i.value, dtype="f64"))
        return [m.sin(c[0] * c[0]), m.sin(c[1] + 0.01 * t) * r[0]]

    x, y = m.scan(300, step, [x, c], [c])
    return m.total(x) * c + y


@nest("backward", (300,), ())
def backward(m, x, c):
    def step(m, i, c, r):
        return [m.sin(c[0] * m.at(r[0], i)) + c[0] * c[0]]

    return m.scan(300, step, [c], [x], backwards=True)[0]


@nest("counted", (), ())
def counted(m, x, c):
    """A loop that decides for itself when it ends, and counts."""

    def step(m, k, c, r):
        t = m(cast(m.b, k.value, dtype="f64"))
        return [m.sin(c[0] * c[0]) * (1 + 0.001 * t) + 0.5, c[1] + r[0]]

    x, _, count = m.loop(lambda m, c, r: m.lt(c[1], 250.0), step, [x, c], [c])
    return x * c * m(cast(m.b, count.value, dtype="f64"))


@nest("unknown", (), ())
def unknown(m, x, c):
    """A scan whose number of rounds is computed."""
    n = m(cast(m.b, (200 * c).value, dtype="i64"))
    return m.scan(n, lambda m, i, c, r: [m.sin(c[0] * c[0]) + r[0]], [x], [c])[0]


def _points(graph: Graph) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.uniform(0.8, 1.1, p.type.static_shape()) for p in graph.params]


def _kept(graph: Graph) -> int:
    """The bytes in records of loops whose number of rounds is known, or one of each other."""
    return sum(s.bytes * (s.rounds or 1) for s in saved(graph))


def _assert_same(graph: Graph, args: list[np.ndarray], limit: int) -> Graph:
    wrt = range(len(args))
    whole, less = value_and_grad(graph, wrt), verify(value_and_grad(graph, wrt, max_memory=limit))
    want = evaluate(whole, args)
    for each in (less, verify(optimize(less))):
        for got, w in zip(evaluate(each, args), want, strict=True):
            np.testing.assert_allclose(got, w, rtol=1e-11, atol=1e-14)
    return optimize(less)


@pytest.mark.parametrize("graph", [iterated, backward, counted, unknown], ids=lambda g: g.name)
@pytest.mark.parametrize("limit", [4000, 2500])
def test_the_same_gradient(graph: Graph, limit: int) -> None:
    made = _assert_same(graph, _points(graph), limit)
    assert len(saved(made)) > 1
    assert _kept(made) <= limit


@pytest.mark.parametrize(
    ("name", "limit"), [("lotka_volterra", 200), ("newton", 100), ("newton_in_scan", 700), ("branches", 1000)]
)
def test_programs_in_less(name: str, limit: int) -> None:
    graph, args = PROGRAMS[name]
    _assert_same(graph, args, limit)


def test_what_fits_is_left_as_it_is() -> None:
    whole, wrt = value_and_grad(iterated, [0]), [0]
    assert [s[:1] + s[3:] for s in saved(value_and_grad(iterated, wrt, max_memory=10**6))] == [
        s[:1] + s[3:] for s in saved(whole)
    ]


def test_second_order() -> None:
    def twice(graph: Graph, limit: Any) -> list[np.ndarray]:
        slope = value_and_grad(graph, [0, 1], max_memory=limit)
        b = Builder("twice")
        b.params, b.body = slope.params, list(slope.body)
        m = Nest(b)
        total = m.f64(0.0)
        for r in slope.results[1:]:
            total = total + m.total(m.sin(m(r)) * m(r))
        return evaluate(value_and_grad(b.finish([total.value]), [0, 1], max_memory=limit), _points(graph))

    for graph in (iterated, counted):
        for got, want in zip(twice(graph, 5000), twice(graph, None), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_the_least_levels_that_fit() -> None:
    assert lengths(1000, 8, 8, 8000) == []
    one = lengths(100_000, 3200, 800, 50_000_000)
    assert one is not None and len(one) == 1
    two = lengths(100_000, 3200, 800, 500_000)
    assert two is not None and len(two) == 2
    for n, record, state in ((100_000, 3200, 800), (977, 8, 4000), (10, 1, 1)):
        for limit in (10**4, 10**5, 10**6):
            made = lengths(n, record, state, limit)
            if made:
                spans = [n, *made]
                assert sum(-(-a // b) for a, b in zip(spans, made, strict=False)) * state + made[-1] * record <= limit


def test_too_little_memory_is_said() -> None:
    with pytest.raises(TooLittleMemory, match="300 rounds that carry 48 bytes"):
        value_and_grad(iterated, [0, 1], max_memory=200)
