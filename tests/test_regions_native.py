"""Loops and branches as machine code, against the reference executor; what fails in them, and their dumps."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, Graph, Where, evaluate
from pullback.compiler.ir.types import Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.nests.roots import inside
from pullback.compiler.lowering.program import Fail, Let, Loop
from pullback.compiler.ops import elementwise as e
from pullback.compiler.ops.control import cond, loop
from pullback.compiler.ops.index import check_indices
from pullback.compiler.ops.memory import bump, update
from pullback.compiler.ops.require import require
from pullback.compiler.ops.source import number
from tests.random_regions import Regions, arguments
from tests.region_graphs import B, F, M, N, V, X, Y, at, put, region, run, scanned, twice

# ---- random graphs


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_regions_are_their_numpy_meaning(first: int) -> None:
    for seed in range(first, first + 10):
        graph, args = verify(Regions(seed).graph()), arguments(seed)
        for got, want in zip(compile_graph(graph).run(args), evaluate(graph, args), strict=True):
            assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), seed


# ---- loops


@pytest.mark.parametrize("dtype", ["f32", "i32", "i64", "bool", "f64"])
def test_carries_of_every_kind(dtype: str) -> None:
    t = Type(dtype)
    a = t.with_shape((5,))

    def body(b, i, x, s):
        return [put(b, x, s, i), at(b, x, e.sub(b, number(b, 4, N), i))]

    graph = region([a, t], lambda b, x, s: [*scanned(b, 5, body, [x, s]), *scanned(b, 3, body, [x, s], backwards=True)])
    run(graph, np.array([3, 0, 2, 0, 5]), 1)


@pytest.mark.parametrize("n", [-(2**63), -1, 0, 1, 6])
def test_numbers_of_rounds_known_and_unknown(n: int) -> None:
    def body(b, i, s, x):
        return [e.add(b, e.mul(b, s, number(b, 3, N)), i), put(b, x, e.cast(b, s, dtype="f64"), i)]

    for backwards in (False, True):
        run(region([N, N, V], lambda b, n, s, x, w=backwards: scanned(b, n, body, [s, x], backwards=w)), n, 2, X)
        run(region([N, V], lambda b, s, x, w=backwards: scanned(b, n, body, [s, x], backwards=w)), 2, X)


def test_a_loop_counts_its_rounds() -> None:
    def halves(b, x):
        body = region([N, F], lambda b, k, x: [e.mul(b, x, number(b, 0.5, F))])
        test = region([F], lambda b, x: [e.gt(b, x, number(b, 1.0, F))])
        return b.emit(loop, x, regions=(body, test), carries=1)

    for x in (0.5, 1.0, 1000.0, math.nan, 1e300):
        run(region([F], halves), x)


def test_three_loops_deep_with_arrays_of_arrays() -> None:
    def innermost(b, k, m, i, j):
        return [put(b, m, e.add(b, at(b, m, j, k), at(b, m, i, j)), i, k)]

    def middle(b, j, m, i):
        return scanned(b, 4, innermost, [m], i, j)

    def outer(b, i, m):
        return scanned(b, i, middle, [m], i)

    run(region([M], lambda b, m: scanned(b, 3, outer, [m])), Y)


def test_an_index_that_a_loop_bounds_is_not_checked_again() -> None:
    def body(b, i, x):
        i = check_indices(b, i, axis=0, size=4)
        return [put(b, x, at(b, x, i), e.sub(b, number(b, 3, N), i), prim=bump)]

    graph = region([V], lambda b, x: scanned(b, 4, body, [x]))
    run(graph, X)
    assert not any(isinstance(s, Fail) for s in inside(lower(graph).body))
    assert "smax" not in compile_graph(graph).text("llvm")


def recurrence(seed: int) -> Graph:
    """a[i + c] = f(a[i + d], ...) for some c and d, in an array or its rows, as often as the last argument says."""
    r, n = random.Random(seed), 6
    shape = (n + 4,) if r.random() < 0.5 else (3, n + 4)
    factor = r.choice([1, 1, 1, 2]) if len(shape) == 1 else 1
    steps = [(r.randint(0, 3), r.choice([0, 0, 1, 2]), r.randint(0, 3)) for _ in range(r.randint(2, 7))]
    backwards, known, rounds = r.random() < 0.5, r.random() < 0.5, n // factor

    def body(b, i, a, s, *outer):
        for kind, row, c in steps:
            rows = [e.mod(b, e.add(b, outer[0], number(b, row, N)), number(b, 3, N))] if outer else []
            place = [*rows, e.add(b, e.mul(b, i, number(b, factor, N)), number(b, c, N))]
            if kind < 2:
                s = e.sub(b, at(b, a, *place), e.mul(b, s, number(b, 0.5, F)))
            else:
                a = put(b, a, s, *place, prim=bump if kind == 2 else update)
        return [a, s]

    def main(b, a, s, count):
        most = number(b, rounds, N)
        n = most if known else e.minimum(b, e.maximum(b, count, number(b, 0, N)), most)
        if len(shape) == 1:
            return scanned(b, n, body, [a, s], backwards=backwards)
        rows = lambda b, j, a, s, n: scanned(b, n, body, [a, s], j, backwards=backwards)  # noqa: E731
        return scanned(b, 3, rows, [a, s], n)

    return region([F.with_shape(shape), F, N], main)


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_elements_handed_on_from_round_to_round(first: int) -> None:
    """A round may write what the next one reads, or read it twice, or there may be none."""
    for seed in range(first, first + 10):
        graph = recurrence(seed)
        a = np.random.default_rng(seed).normal(size=graph.params[0].type.static_shape())
        for count in (0, 5):
            run(graph, a, 0.3, count)


def test_a_recurrence_waits_for_no_memory() -> None:
    def body(b, i, a):
        left, here = at(b, a, i), at(b, a, e.add(b, i, number(b, 1, N)))
        return [put(b, a, e.add(b, left, here), e.add(b, i, number(b, 1, N)))]

    graph = region([V], lambda b, a: scanned(b, 3, body, [a]))
    run(graph, X)
    (inner,) = [s for s in inside(lower(graph).body) if isinstance(s, Loop)]
    assert len(inner.carries) == 1 and sum(isinstance(s, Let) for s in inner.body) == 2


# ---- failures


def failing(b, i, s, x, n):
    """s + x[i * n], checked, with a tape that has grown."""
    b.where = Where("user.py", 12)
    k = check_indices(b, e.mul(b, i, n), axis=0, size=4)
    return [e.add(b, s, at(b, x, k))]


def test_an_index_out_of_bounds_in_nested_loops() -> None:
    def outer(b, j, s, x, n):
        return scanned(b, 3, failing, [s], x, n)

    graph = region([F, V, N], lambda b, s, x, n: scanned(b, 2, outer, [s], x, n))
    run(graph, 1.0, X, 1)
    for n, index in ((2, 4), (-1, -1), (5, 5)):
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0 with size 4") as raised:
            compile_graph(graph).run([np.array(1.0), X, np.array(n)])
        assert "user.py, line 12" in "".join(raised.value.__notes__)


def test_what_a_loop_requires() -> None:
    def body(b, i, s, most):
        b.where = Where("user.py", 3)
        require(b, e.lt(b, s, most), error="ValueError", text="too large")
        return [twice(b, s)]

    graph = region([F, F], lambda b, s, most: scanned(b, 5, body, [s], most))
    run(graph, 1.0, 100.0)
    with pytest.raises(ValueError, match="too large"):
        compile_graph(graph).run([np.array(1.0), np.array(8.0)])


def test_a_failing_branch_fails_only_where_it_is_taken() -> None:
    yes = region([V, N], lambda b, x, i: [at(b, x, check_indices(b, i, axis=0, size=4))])
    no = region([V, N], lambda b, x, i: [number(b, -1.0, F)])
    graph = region([B, V, N], lambda b, p, x, i: b.emit(cond, p, x, i, regions=(yes, no)))
    run(graph, True, X, 2)
    run(graph, False, X, 9)
    with pytest.raises(IndexError):
        compile_graph(graph).run([np.array(True), X, np.array(9)])


# ---- dumps


def test_a_dump_reads_like_the_program() -> None:
    def body(b, i, d, c):
        left = at(b, d, e.sub(b, i, number(b, 1, N)))
        return [put(b, d, e.add(b, left, at(b, c, i)), i)]

    b = Builder("sums", [V, V], ["d", "c"])
    graph = b.finish(scanned(b, 4, body, [b.params[0]], b.params[1]))
    assert compile_graph(graph).text("loops").splitlines() == [
        "kernel sums(d: f64[4], c: f64[4]) -> (out0: f64[4])",
        "  t: f64[4] is out0",
        "  copy d to t",
        "  c_1: f64[4] is t",
        "  for i below 4",
        "    x = c_1[maximum((i - 1), 0)]",
        "    x_1 = c[i]",
        "    c_1[i] = (x + x_1)",
    ]


def test_an_array_of_many_numbers_is_written_element_by_element_and_each_is_made_once() -> None:
    def solved(x: Any) -> Any:
        a = np.stack([np.cos(x[i] * x[j]) + 6.0 * (i == j) for i in range(6) for j in range(6)]).reshape(6, 6)
        b = np.stack([np.sin(x[i]) * x[0] for i in range(6)])
        return np.linalg.solve(a, b), np.linalg.solve(a.T, np.cos(x[1] * x[2]) * b)

    at = np.linspace(0.3, 1.1, 6)
    compiled = pullback.jit(solved)
    for got, want in zip(compiled(at), solved(at), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    loops = str(compiled.ir("loops", at))
    assert loops.count(" in 0..1 ") <= 6, "no element of the matrix looks for the place it stands at"
    assert loops.count("cos((x") <= 21, "at most one for each pair, also where several nests read it"

    def total(x: Any) -> Any:
        first, second = solved(x)
        return (first * second).sum()

    slopes, curvature = pullback.grad(total)(at), pullback.hessian(total)(at)
    step = 1e-5 * np.eye(6)
    differences = [(total(at + s) - total(at - s)) / 2e-5 for s in step]
    np.testing.assert_allclose(slopes, differences, rtol=1e-8, atol=1e-9)
    second = [(pullback.grad(total)(at + s) - pullback.grad(total)(at - s)) / 2e-5 for s in step]
    np.testing.assert_allclose(curvature, second, rtol=1e-7, atol=1e-8)
