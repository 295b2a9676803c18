"""Who writes in place where arrays go through loops and branches, and what is copied."""

from __future__ import annotations

import math

import numpy as np

from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ops import elementwise as e
from pullback.compiler.ops.control import cond
from pullback.compiler.ops.memory import bump, read, update
from pullback.compiler.ops.source import number
from tests.region_graphs import B, F, M, N, V, X, Y, at, copies, put, region, run, scanned, twice


def test_a_carried_array_is_copied_once_and_then_written_in_place() -> None:
    def body(b, i, a):
        return [put(b, a, twice(b, at(b, a, i)), i)]

    graph = region([V], lambda b, a: scanned(b, 4, body, [a]))
    run(graph, X)
    assert copies(graph) == (1, 0)


def test_an_array_that_is_read_later_is_copied() -> None:
    def body(b, i, a, s):
        new = put(b, a, s, i)
        return [new, e.add(b, s, at(b, a, i))]

    graph = region([V, F], lambda b, a, s: scanned(b, 4, body, [a, s]))
    run(graph, X, 7.0)
    assert copies(graph)[1] >= 1


def test_the_argument_itself_is_never_written() -> None:
    graph = region([V], lambda b, a: [put(b, a, number(b, 9.0, F), 1), at(b, a, 1)])
    graph = region([V, B], lambda b, a, p: [*b.emit(cond, p, a, regions=(
        region([V], lambda b, a: [put(b, a, number(b, 9.0, F), 1)]), region([V], lambda b, a: [a]))), at(b, a, 1)])
    given = X.copy()
    for p in (True, False):
        compile_graph(graph).run([given, np.array(p)])
        run(graph, X, p)
    assert np.array_equal(given, X)


def test_a_view_beside_the_array_it_is_a_view_of() -> None:
    """Without care the loop would overwrite the row that it reads."""
    def body(b, i, m, row):
        value = e.add(b, at(b, row, i), at(b, m, 0, i))
        return [put(b, m, value, number(b, 0, N), e.sub(b, number(b, 3, N), i))]

    def main(b, m):
        m = put(b, m, number(b, 5.0, F), 1, 1)
        return scanned(b, 4, body, [m], at(b, m, 0))

    run(region([M], main), Y)


def test_a_view_read_after_its_array_is_written() -> None:
    def body(b, i, m, s):
        row = at(b, m, i)
        m = put(b, m, s, i, i)
        return [m, e.add(b, s, at(b, row, i))]

    graph = region([M, F], lambda b, m, s: scanned(b, 3, body, [m, s]))
    run(graph, Y, 100.0)


def test_carries_that_are_swapped_and_handed_on() -> None:
    def body(b, i, x, y, z):
        return [y, z, put(b, x, twice(b, at(b, y, i)), i)]

    graph = region([V, V, V], lambda b, x, y, z: scanned(b, 5, body, [x, y, z]))
    run(graph, X, X + 10, X - 10)
    assert copies(graph)[1] == 0


def test_one_array_as_two_carries() -> None:
    def body(b, i, x, y):
        return [put(b, x, at(b, y, i), 0), put(b, y, twice(b, at(b, x, i)), i)]

    def main(b, x):
        x = put(b, x, number(b, 9.0, F), 2)
        return scanned(b, 4, body, [x, x])

    run(region([V], main), X)


def test_one_value_becomes_two_carries() -> None:
    def body(b, i, x, y):
        new = put(b, x, at(b, y, 3), i)
        new = put(b, new, twice(b, at(b, y, i)), e.sub(b, number(b, 3, N), i))
        return [new, new]

    run(region([V, V], lambda b, x, y: scanned(b, 2, body, [x, y])), X, X + 1)


def test_a_carry_that_becomes_an_argument() -> None:
    def body(b, i, x, y):
        return [y]

    for n in (0, 1, 2):
        run(region([V, V], lambda b, x, y, n=n: [*scanned(b, n, body, [x], y), x]), X, X + 1)


def test_rounds_that_make_a_new_array_take_turns_with_two() -> None:
    """A stencil reads what its neighbours would have overwritten: no copy is made in the loop."""
    def body(b, i, x):
        shifted = read(b, x, number(b, 1, N), axes=(0,), widths=(3,))
        grown = update(b, x, e.add(b, shifted, read(b, x, number(b, 0, N), axes=(0,), widths=(3,))), number(b, 0, N),
                       axes=(0,), widths=(3,))
        return [e.add(b, grown, e.mul(b, x, x))]

    for n in (0, 1, 2, 3):
        run(region([V], lambda b, x, n=n: scanned(b, n, body, [x])), X / 8)


def test_branches_that_leave_an_array_in_different_places() -> None:
    def main(b, p, x, y):
        yes = region([V, V], lambda b, x, y: [put(b, x, at(b, y, 1), 0), y])
        no = region([V, V], lambda b, x, y: [y, put(b, x, at(b, y, 2), 0)])
        x = put(b, x, number(b, 2.0, F), 3)
        y = put(b, y, number(b, 3.0, F), 3)
        return b.emit(cond, p, x, y, regions=(yes, no))

    for p in (True, False):
        run(region([B, V, V], main), p, X, X + 5)


def test_branches_that_give_numbers_of_every_kind() -> None:
    """Infinities and NaN among them, which are no bounds of an index; cheap ones are made both."""
    def yes(b, x, i):
        return [number(b, math.inf, F), number(b, 3, N), e.lt(b, x, number(b, 0.0, F)), e.add(b, i, number(b, 1, N))]

    def no(b, x, i):
        return [number(b, math.nan, F), number(b, 0, N), number(b, True, B), e.mod(b, i, number(b, 3, N))]

    def main(b, p, x, i, a):
        s, j, q, k = b.emit(cond, p, x, i, regions=(region([F, N], yes), region([F, N], no)))
        return [s, q, k, at(b, a, j), at(b, a, k)]

    for p in (True, False):
        run(region([B, F, N, V], main), p, -1.0, 2, X)


def test_a_branch_in_a_loop_copies_nothing() -> None:
    def body(b, i, x):
        yes = region([V, N], lambda b, x, i: [put(b, x, number(b, 1.0, F), i, prim=bump)])
        no = region([V, N], lambda b, x, i: [x])
        even = e.eq(b, e.mod(b, i, number(b, 2, N)), number(b, 0, N))
        return b.emit(cond, even, x, i, regions=(yes, no))

    graph = region([V], lambda b, x: scanned(b, 4, body, [x]))
    run(graph, X)
    assert copies(graph) == (1, 0)
