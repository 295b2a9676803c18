"""What is known of integers: intervals hold what the reference executor finds, and no check goes that would fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.text import show
from pullback.compiler.ir.types import Size, Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.index import check_indices
from pullback.compiler.passes.intervals import ANY, at_most
from pullback.compiler.passes.pipeline import algebra, narrow, ranges
from pullback.compiler.passes.ranges import intervals
from tests.nests import I64, Nest, region_of, run


class Draft:
    """Random programs over integers: arithmetic, choices, checks, branches and loops that count."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below

    def body(self, m: Nest, values: list[Any], depth: int) -> list[Any]:
        for _ in range(2 + self.below(5)):
            self.step(m, values, depth)
        return values

    def pick(self, values: list[Any]) -> Any:
        return values[-1 - min(self.below(len(values)), self.below(len(values)))]

    def step(self, m: Nest, values: list[Any], depth: int) -> None:
        a, b, k = self.pick(values), self.pick(values), self.below(9) - 3
        kind = self.below(14 if depth else 10)
        plain = ["add", "sub", "mul", "minimum", "maximum", "mod", "floordiv"]
        if kind < 7:
            by = m.i64(k if kind < 5 else abs(k) + 1)
            values.append(getattr(m, plain[kind])(a, b if kind in (3, 4) and self.below(2) else by))
        elif kind < 9:
            test = getattr(m, ["lt", "le", "gt", "ge", "eq", "ne"][self.below(6)])(a, k)
            values.append(m.select(m.and_(test, m.ge(b, 0)) if self.below(2) else test, a + 3, b))
        elif kind == 9:
            values.append(m(check_indices(m.b, m.mod(a, 9).value, axis=0, size=9)))
        elif kind == 10:
            values += m.cond(m.lt(a, k), self.side(depth), self.side(depth), [a, b])
        elif kind == 11:
            limit = self.below(7)
            values += m.loop(
                lambda m, c, r: m.lt(c[0], limit),
                lambda m, i, c, r: [c[0] + 1, self.body(m, [c[1], i], depth - 1)[-1]],
                [m.i64(0), a],
            )
        else:
            some = [a, b]
            values += m.scan(1 + self.below(4), lambda m, i, c, r: self.carried(m, i, c, r, depth), some, [b],
                             backwards=kind == 12)

    def carried(self, m: Nest, i: Any, c: Any, r: Any, depth: int) -> list[Any]:
        made = self.body(m, [*r, *c, i], depth - 1)
        counted = c[0] + (self.below(5) - 2) if self.below(2) else self.pick(made)
        return [counted, m.mod(self.pick(made), 100) if self.below(2) else c[1]]

    def side(self, depth: int) -> Any:
        return lambda m, *xs: [m.mod(self.body(m, list(xs), depth - 1)[-1], 50)]


def _program(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    draft = Draft(lambda n: int(rng.integers(n)))

    def f(m, x, y):
        values = [m.minimum(m.maximum(x, -3), 12), m.mod(y, 7)]
        return draft.body(m, values, 2)

    return verify(region_of("counts", [I64, I64], f))


@pytest.mark.parametrize("seed", range(80))
def test_what_is_left_out_never_mattered(seed: int) -> None:
    graph = _program(seed)
    less = verify(narrow(algebra(ranges(graph))))
    known = intervals(graph)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        args = [np.int64(v) for v in rng.integers(-20, 20, 2)]
        want = evaluate(graph, args)
        assert [int(v) for v in evaluate(less, args)] == [int(v) for v in want], show(graph)
        for op in graph.body:
            for r in op.results:
                found = int(run(Graph("", graph.params, graph.body, (r,)), args)[0])
                low, high = known.get(r, ANY)
                fits = (low is None or at_most(low, found)) and (high is None or at_most(found, high))
                assert fits, (show(graph), r, found)


def _checks(graph: Graph) -> int:
    return show(graph).count("check_indices")


def _read_at(index: Callable[..., Any], size: Any = 10, rounds: Any = 10) -> Graph:
    """A loop that checks index(m, i, n) against a size."""

    def f(m, n):
        def step(m, i, c, r):
            at = index(m, i, r[0])
            return [c[0] + m(check_indices(m.b, at.value, axis=0, size=size))]

        return m.scan(rounds if rounds is not None else n, step, [m.i64(0)], [n])

    return ranges(region_of("f", [I64], f))


def test_checks_go_where_they_cannot_fail_and_only_there() -> None:
    assert _checks(_read_at(lambda m, i, n: i)) == 0
    assert _checks(_read_at(lambda m, i, n: i + 1)) == 1
    assert _checks(_read_at(lambda m, i, n: i - 1)) == 1
    assert _checks(_read_at(lambda m, i, n: 9 - i)) == 0
    assert _checks(_read_at(lambda m, i, n: i * 2, size=19)) == 0
    assert _checks(_read_at(lambda m, i, n: i * 2, size=18)) == 1
    assert _checks(_read_at(lambda m, i, n: n)) == 1
    assert _checks(_read_at(lambda m, i, n: m.mod(n, 10))) == 0
    assert _checks(_read_at(lambda m, i, n: i, rounds=None)) == 1
    assert _checks(_read_at(lambda m, i, n: m.minimum(m.maximum(n, 0), 9))) == 0
    assert _checks(_read_at(lambda m, i, n: m.minimum(m.maximum(n, 0) + 1, 9))) == 1, "the sum may wrap"


def test_sizes_known_by_name() -> None:
    n = Size.named("n")
    assert at_most(n - 1, n) and at_most(0, n) and at_most(n, n * 2) and not at_most(n * 2, n) and not at_most(n, 5)

    def f(m, x):
        count = m(m.dimension_of(n))
        return m.scan(count, lambda m, i, c, r: [c[0] + m(check_indices(m.b, i.value, axis=0, size=n))], [m.i64(0)])

    class Sized(Nest):
        def dimension_of(self, size: Size) -> Any:
            return self.b.emit(REGISTRY["dimension"], size=size)[0]

    b = Builder("f", [Type("f64", (n,))])
    (total,) = f(Sized(b), b.params[0])
    assert _checks(ranges(b.finish([total.value]))) == 0
