"""Loops whose rounds do not need one another become array work; what is left stays a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from pullback.compiler.ir.graph import Builder, Graph, Value, evaluate
from pullback.compiler.ir.primitive import REGISTRY as P
from pullback.compiler.ir.types import Type, type_of
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.control import scan
from pullback.compiler.ops.source import number
from pullback.compiler.passes import dead
from pullback.compiler.passes.loops.distribute import distribute

N = 16
RNG = np.random.default_rng(5)
INDEX, F64 = Type("i64"), Type("f64")
Body = Callable[[Builder, Value, Sequence[Value], Sequence[Value]], Sequence[Value]]


def at(b: Builder, x: Value, *starts: Value) -> Value:
    """x[start, ...]"""
    return P["read"](b, x, *starts, axes=tuple(range(len(starts))), widths=(-1,) * len(starts))


def put(b: Builder, x: Value, v: Value, *starts: Value) -> Value:
    """x with x[start, ...] = v"""
    return P["update"](b, x, v, *starts, axes=tuple(range(len(starts))), widths=(-1,) * len(starts))


def plus(b: Builder, i: Value, k: int) -> Value:
    return P["add"](b, i, number(b, k, INDEX))


def region(carries: Sequence[Type], rest: Sequence[Type], body: Body) -> Graph:
    b = Builder("body", [INDEX, *carries, *rest])
    i, *others = b.params
    return b.finish(body(b, i, others[: len(carries)], others[len(carries) :]))


def looped(carries: Sequence[Any], rest: Sequence[Any], body: Body, rounds: int = N) -> tuple[Graph, list[np.ndarray]]:
    """for i in range(rounds): carries = body(i, carries, rest), and arguments for it."""
    given = [np.asarray(a) for a in (*carries, *rest)]
    types = [type_of(a) for a in given]
    b = Builder("f", types)
    inner = region(types[: len(carries)], types[len(carries) :], body)
    count = number(b, rounds, INDEX)
    made = b.emit(scan, count, *b.params, regions=[inner], carries=len(carries))
    return verify(b.finish(made)), given


def distributed(graph: Graph, given: list[np.ndarray]) -> Graph:
    """The distributed graph, which must mean the same, bit for bit."""
    made = verify(dead(distribute(graph)))
    for want, got in zip(evaluate(graph, given), evaluate(made, given), strict=True):
        np.testing.assert_array_equal(got, want)
    return made


def names(graph: Graph) -> list[str]:
    return [op.prim.name for op in graph.body]


X = np.random.default_rng(0).normal(size=N)
ROWS = np.random.default_rng(1).normal(size=(N, 3))


def test_every_round_its_own_place() -> None:
    def body(b, i, carries, rest):
        return [put(b, carries[0], P["exp"](b, at(b, rest[0], i)), i)]

    made = distributed(*looped([np.zeros(N)], [X], body))
    assert "scan" not in names(made)
    assert "exp" in names(made)


@pytest.mark.parametrize(("first", "step"), [(0, 1), (N - 1, -1), (3, 1)])
def test_a_counter_is_the_number_of_the_round(first: int, step: int) -> None:
    """A list that grows: out[n] = x[i] * x[i]; n += 1."""

    def body(b: Builder, i: Value, carries: Sequence[Value], rest: Sequence[Value]) -> Sequence[Value]:
        v = at(b, rest[0], i)
        return put(b, carries[0], P["mul"](b, v, v), carries[1]), plus(b, carries[1], step)

    out, x = Type("f64", (N + 4,)), Type("f64", (N,))
    b = Builder("f", [out, x])
    count, begin = number(b, N, INDEX), number(b, first, INDEX)
    inner = region([out, INDEX], [x], body)
    made = b.emit(scan, count, b.params[0], begin, b.params[1], regions=[inner], carries=2)
    given = [RNG.normal(size=N + 4), RNG.normal(size=N)]
    assert "scan" not in names(distributed(verify(b.finish(made)), given))


def test_a_counter_of_a_loop_that_goes_back_and_stays() -> None:
    def body(b: Builder, i: Value, carries: Sequence[Value], rest: Sequence[Value]) -> Sequence[Value]:
        v = P["mul"](b, carries[0], at(b, rest[0], carries[1]))
        return P["sin"](b, v), plus(b, carries[1], 2)

    x = Type("f64", (3 * N,))
    b = Builder("f", [F64, x])
    count, begin = number(b, N, INDEX), number(b, 1, INDEX)
    inner = region([F64, INDEX], [x], body)
    made = b.emit(scan, count, b.params[0], begin, b.params[1], regions=[inner], carries=2, backwards=True)
    given = [np.asarray(RNG.normal()), RNG.normal(size=3 * N)]
    (loop,) = [op for op in distributed(verify(b.finish(made)), given).body if op.prim is scan]
    assert loop.attrs["carries"] == 1


def test_a_place_is_read_before_it_is_written() -> None:
    def body(b, i, carries, rest):
        (a,) = carries
        return [put(b, a, P["mul"](b, at(b, a, i), at(b, rest[0], i)), i)]

    assert "scan" not in names(distributed(*looped([X + 1], [X], body)))


def test_a_neighbour_that_is_written_keeps_the_loop() -> None:
    def body(b, i, carries, rest):
        (a,) = carries
        return [put(b, a, P["sin"](b, at(b, a, i)), plus(b, i, 1))]

    assert "scan" in names(distributed(*looped([np.append(X, 0.0)], [], body)))


def test_the_recurrence_stays_in_order() -> None:
    """total += exp(x[i]): the exponentials at once, the additions one after the other."""

    def body(b, i, carries, rest):
        return [P["add"](b, carries[0], P["exp"](b, at(b, rest[0], i)))]

    made = distributed(*looped([0.5], [X], body))
    assert names(made).count("exp") == 1
    (loop,) = [op for op in made.body if op.prim is scan]
    assert "exp" not in names(loop.regions[0])


def test_light_work_is_left_in_the_loop() -> None:
    def body(b, i, carries, rest):
        return [P["add"](b, carries[0], P["mul"](b, at(b, rest[0], i), at(b, rest[0], i)))]

    graph, given = looped([0.5], [X], body)
    assert names(distributed(graph, given)) == names(graph)


def test_backwards_places_and_rows() -> None:
    """out[n - 1 - i, 1] = sin(x[i]) next to a recurrence."""

    def body(b, i, carries, rest):
        out, s = carries
        there = P["sub"](b, number(b, N - 1, INDEX), i)
        value = P["sin"](b, at(b, rest[0], i))
        return [put(b, out, value, there, number(b, 1, INDEX)), P["mul"](b, s, at(b, rest[0], i))]

    made = distributed(*looped([ROWS, 1.0], [X], body))
    (loop,) = [op for op in made.body if op.prim is scan]
    assert loop.attrs["carries"] == 1


def test_columns() -> None:
    def body(b, i, carries, rest):
        (out,) = carries
        row = P["cos"](b, at(b, rest[0], i))
        return [P["update"](b, out, row, i, axes=(1,), widths=(-1,))]

    assert "scan" not in names(distributed(*looped([ROWS.T.copy()], [ROWS], body)))


def test_two_updates_of_one_round() -> None:
    def body(b, i, carries, rest):
        (out,) = carries
        x = at(b, rest[0], i)
        out = put(b, out, P["sin"](b, x), i, number(b, 0, INDEX))
        return [put(b, out, P["cos"](b, x), i, number(b, 2, INDEX))]

    assert "scan" not in names(distributed(*looped([ROWS], [X], body)))


def test_overlapping_updates_keep_the_loop() -> None:
    """out[i] = x; out[i + 1] = 2 x: the order of rounds matters."""

    def body(b, i, carries, rest):
        x = at(b, rest[0], i)
        return [put(b, put(b, carries[0], x, i), P["add"](b, x, x), plus(b, i, 1))]

    assert "scan" in names(distributed(*looped([np.zeros(N + 1)], [X], body)))


def test_branches_become_choices() -> None:
    def body(b, i, carries, rest):
        x = at(b, rest[0], i)
        arms = []
        for name in ("sin", "exp"):
            arm = Builder(name, [F64])
            arms.append(arm.finish([P[name](arm, arm.params[0])]))
        positive = P["gt"](b, x, number(b, 0, F64))
        return [put(b, carries[0], b.emit(P["cond"], positive, x, regions=arms)[0], i)]

    made = distributed(*looped([np.zeros(N)], [X], body))
    assert "scan" not in names(made)
    assert "select" in names(made)


def nest(b: Builder, i: Value, carries: Sequence[Value], rest: Sequence[Value]) -> Sequence[Value]:
    """for j in range(3): out[i, j] = exp(x[i] * y[j])"""
    out, (x, y) = carries[0], rest

    def inner(b, j, carries, rest):
        i, x, y = rest
        return [put(b, carries[0], P["exp"](b, P["mul"](b, at(b, x, i), at(b, y, j))), i, j)]

    body = region([out.type], [INDEX, x.type, y.type], inner)
    return b.emit(scan, number(b, N, INDEX), out, i, x, y, regions=[body], carries=1)


def test_nested() -> None:
    made = distributed(*looped([np.zeros((N, N))], [X, X[::-1].copy()], nest))
    assert "scan" not in names(made)


def test_checked_indices_fail_as_before() -> None:
    def body(b, i, carries, rest):
        x, k = rest
        j = P["check_indices"](b, at(b, k, i), axis=0, size=N)
        return [put(b, carries[0], P["exp"](b, at(b, x, j)), i)]

    graph, given = looped([np.zeros(N)], [X, np.arange(N)[::-1].copy()], body)
    made = distributed(graph, given)
    assert "scan" not in names(made)
    given[2][5], given[2][9] = 77, 99
    for each in (graph, made):
        with pytest.raises(IndexError, match="index 77 is out of bounds for axis 0 with size 16"):
            evaluate(each, given)


def test_few_rounds_are_left_alone() -> None:
    def body(b, i, carries, rest):
        return [put(b, carries[0], P["exp"](b, at(b, rest[0], i)), i)]

    assert "scan" in names(distributed(*looped([np.zeros(N)], [X], body, rounds=4)))


def test_a_swap_keeps_the_loop() -> None:
    def body(b, i, carries, rest):
        u, v = carries
        return [v, put(b, u, P["exp"](b, at(b, rest[0], i)), i)]

    assert "scan" in names(distributed(*looped([np.zeros(N), np.ones(N)], [X], body)))
