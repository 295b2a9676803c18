"""Reverse mode through regions: gradients of loops, branches and arrays changed in place, and what is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.text import show
from pullback.compiler.ir.types import Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.control import scan
from pullback.compiler.ops.elementary import exp
from pullback.compiler.ops.elementwise import cast, lt, mul, select
from pullback.compiler.ops.index import check_indices
from pullback.compiler.ops.source import number
from pullback.compiler.ops.tape import new_tape, pop, push
from pullback.compiler.passes import value_and_grad
from pullback.compiler.passes.pipeline import optimize
from pullback.compiler.passes.report import saved
from tests.nests import Nest, nest, slope

Program = Callable[[], Graph]
PROGRAMS: dict[str, tuple[Graph, list[np.ndarray]]] = {}


def program(*args: Any) -> Callable[[Callable[..., Any]], None]:
    """Keep a graph made of a function, with arguments to differentiate it at."""
    given = [np.asarray(a, float) for a in args]

    def keep(f: Callable[..., Any]) -> None:
        PROGRAMS[f.__name__] = nest(f.__name__, *(a.shape for a in given))(f), given

    return keep


def _drawn(seed: int, low: float, high: float, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape)


@program(1.1, 0.4, 0.1, 0.4, 10.0, 5.0)
def lotka_volterra(m, *given, h=0.01, n=20):
    def rate(state, p):
        x, y = state
        return p[0] * x - p[1] * x * y, p[2] * x * y - p[3] * y

    def step(m, i, c, p):
        k1 = rate(c, p)
        k2 = rate([u + h / 2 * k for u, k in zip(c, k1, strict=True)], p)
        k3 = rate([u + h / 2 * k for u, k in zip(c, k2, strict=True)], p)
        k4 = rate([u + h * k for u, k in zip(c, k3, strict=True)], p)
        return [u + h / 6 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j]) for j, u in enumerate(c)]

    x, y = m.scan(n, step, given[4:], given[:4])
    return x * x + y


@program(_drawn(1, 0, 1, 5, 6))
def soft_dtw(m, cost, gamma=0.5):
    rows, columns = cost.value.type.shape
    table = m.put(m.f64(1e10, rows + 1, columns + 1), 0.0, 0, 0)

    def cell(m, j, c, r):
        (d,), (cost, i) = c, r
        x, y, z = m.at(d, i, j), m.at(d, i, j + 1), m.at(d, i + 1, j)
        low = m.minimum(m.minimum(x, y), z)
        total = m.exp((low - x) / gamma) + m.exp((low - y) / gamma) + m.exp((low - z) / gamma)
        return [m.put(d, m.at(cost, i, j) + low - gamma * m.log(total), i + 1, j + 1)]

    (d,) = m.scan(rows, lambda m, i, c, r: m.scan(columns, cell, c, [*r, i]), [table], [cost])
    return m.at(d, rows, columns)


@program(2.0, 7.0, 5.0)
def newton(m, p, q, x):
    def residual(x, p, q):
        return x * x * x + p * x - q

    def off(m, c, r):
        return m.gt(m.abs(residual(c[0], *r)), 1e-12)

    def step(m, k, c, r):
        return [c[0] - residual(c[0], *r) / (3.0 * c[0] * c[0] + r[0])]

    x, _ = m.loop(off, step, [x], [p, q])
    return x * x


@program(1.3, 0.9)
def newton_in_scan(m, p, u):
    def residual(x, u, p):
        return x - u + 0.1 * p * x * x * x

    def step(m, i, c, r):
        x, _ = m.loop(
            lambda m, c, r: m.gt(m.abs(residual(c[0], *r)), 1e-12),
            lambda m, k, c, r: [c[0] - residual(c[0], *r) / (1.0 + 0.3 * r[1] * c[0] * c[0])],
            c, [c[0], r[0]],
        )
        return [m.sin(x) + 0.5 * x]

    (u,) = m.scan(8, step, [u], [p])
    return u * u


@program(_drawn(2, 0.8, 1.2, 9), _drawn(3, 0.5, 1.5, 3))
def overwritten(m, x, a):
    """a[i % 3] *= x[i]: every element is overwritten many times, and the old values matter."""

    def step(m, i, c, r):
        at = m.mod(i, 3)
        return [m.put(c[0], m.at(c[0], at) * m.at(r[0], i), at)]

    (a,) = m.scan(9, step, [a], [x])
    return m.at(a, 0) * m.at(a, 1) + m.at(a, 1) * m.at(a, 2) + m.sin(m.at(a, 2))


@program(_drawn(4, 0, 1, 8), 0.3)
def gauss_seidel(m, a, k):
    def inner(m, j, c, r):
        (a,), (k,) = c, r
        new = m.at(a, j + 1) + k * (m.at(a, j) - m.at(a, j + 1)) * m.at(a, j + 2)
        return [m.put(a, new, j + 1)]

    (a,) = m.scan(3, lambda m, t, c, r: m.scan(6, inner, c, r), [a], [k])
    (s,) = m.scan(8, lambda m, j, c, r: [c[0] + m.at(r[0], j) * m.at(r[0], j)], [m.f64(0.0)], [a])
    return s


@program(_drawn(5, 0.5, 1.5, 4), _drawn(6, 0.5, 1.5, 4))
def swapped(m, a, b):
    """The old and the new array are read after an update, and two carries are swapped."""

    def step(m, i, c, r):
        (a, b), at = c, m.mod(i, 4)
        new = m.put(a, m.at(a, m.mod(i + 1, 4)) * m.at(b, at), at)
        return [m.put(b, m.at(a, at) * m.at(new, at), at), new]

    a, b = m.scan(6, step, [a, b])
    return m.at(a, 0) * m.at(b, 1) + m.at(a, 2) * m.at(b, 3) + m.at(a, 1)


@program(_drawn(7, 0.5, 1.5, 4, 3), _drawn(8, 0.5, 1.5, 3))
def rows(m, a, w):
    """Whole-array arithmetic on rows of a matrix that is carried."""

    def step(m, i, c, r):
        row = m.at(c[0], i)
        return [m.put(c[0], row * r[0] + m.sin(row), i + 1)]

    (a,) = m.scan(3, step, [a], [w])
    return m.total(a * a) + m.at(a, 3, 1)


@program(_drawn(9, 0.3, 1.2, 12), _drawn(10, 0.5, 1.5, 3))
def branches(m, x, a):
    """One side of a branch in a loop runs a loop of its own, the other overwrites the array."""

    def halve(m, v, s, a, x, i):
        w, _ = m.loop(lambda m, c, r: m.gt(c[0], 0.3), lambda m, k, c, r: [c[0] * c[0] * 0.6], [v])
        return [s + w * m.at(a, m.mod(i, 3)), a]

    def write(m, v, s, a, x, i):
        at = m.mod(i, 3)
        return [s * 0.9 + m.at(x, i) * v, m.put(a, v * m.sin(m.at(a, at)), at)]

    def step(m, i, c, r):
        v = m.at(r[0], i) + 0.1 * c[0]
        return m.cond(m.gt(v, 0.7), halve, write, [v, *c, *r, i])

    s, a = m.scan(12, step, [m.at(x, 0), a], [x])
    return s * s + m.at(a, 0) * m.at(a, 1) + m.at(a, 2)


@program(_drawn(11, 0.5, 1.5, 2, 4))
def viewed(m, x):
    """A row handed to a loop that overwrites the matrix it is part of."""
    x = m.put(x, m.at(x, 0) * m.at(x, 1), 0)

    def step(m, i, c, r):
        at = m.mod(i + 1, 4)
        return [m.put(c[0], m.at(r[0], m.mod(i, 4)) * m.sin(m.at(c[0], 0, at)), 0, at)]

    (x,) = m.scan(3, step, [x], [m.at(x, 0)])
    return m.at(x, 0, 0) * m.at(x, 1, 1) + m.at(x, 0, 2) * m.at(x, 0, 1)


@program(_drawn(12, 0.5, 1.5, 3), 0.7)
def unused(m, x, c):
    """A carry that only feeds itself, an unread result, rounds that never come, and a constant carry."""

    def step(m, i, c, r):
        x, y, z, w = c
        return [m.sin(x) * x, y * m.sin(y * r[0]), z * m.total(x), w]

    x, _, z, w = m.scan(2, step, [x, c, c, m.f64(2.0)], [c])
    (never,) = m.scan(0, lambda m, i, c, r: [c[0] * c[0]], [z])
    return never * w + m.at(x, 1) * c


@program(1.5, 0.3)
def both_sides(m, x, y):
    """A branch at the top, one side of which is constant."""
    (z,) = m.cond(m.gt(x, y), lambda m, x, y: [m.sin(x) * m.exp(y)], lambda m, x, y: [m.f64(1.0)], [x, y])
    (w,) = m.cond(m.gt(y, x), lambda m, x, y: [x / (y - y)], lambda m, x, y: [x * y * y], [x, y])
    return z * w


def _hessian_product(graph: Graph, wrt: Sequence[int], seed: int) -> Graph:
    """A scalar made of the gradient, nonlinear in it, so that its own gradient tests the second order."""
    b = Builder(f"{graph.name}_of")
    gradient = value_and_grad(graph, wrt)
    b.params, b.body = gradient.params, list(gradient.body)
    m, rng = Nest(b), np.random.default_rng(seed)
    total = m.f64(0.0)
    for r in gradient.results[len(graph.results) :]:
        total = total + float(rng.uniform(0.5, 1)) * m.total(m.sin(m(r)) * m(r))
    return b.finish([total.value])


def _assert_gradient(graph: Graph, args: list[np.ndarray], wrt: Sequence[int]) -> None:
    rng = np.random.default_rng(3)
    made = verify(value_and_grad(verify(graph), wrt))
    clean = verify(optimize(made))
    value = evaluate(graph, args)[0]
    for each in (made, clean):
        got = evaluate(each, args)
        assert got[0] == pytest.approx(value, rel=1e-13, abs=1e-13)
        for k, d in zip(wrt, got[1:], strict=True):
            for _ in range(2):
                v = rng.standard_normal(args[k].shape)
                want = slope(graph, args, k, v)
                assert abs(np.sum(v * d) - want) <= 1e-10 * (np.sum(np.abs(v * d)) + 1e-3), (k, np.sum(v * d), want)


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_and_second_order(name: str) -> None:
    graph, args = PROGRAMS[name]
    wrt = range(len(args))
    _assert_gradient(graph, args, wrt)
    _assert_gradient(_hessian_product(graph, wrt, 1), args, wrt)


@pytest.mark.parametrize("name", ["newton", "newton_in_scan", "branches", "overwritten"])
def test_third_order(name: str) -> None:
    graph, args = PROGRAMS[name]
    wrt = range(len(args))
    _assert_gradient(_hessian_product(_hessian_product(graph, wrt, 1), wrt, 2), args, wrt)


# ---- random nests


class Nests:
    """Random nests over scalars, vectors and matrices that are read, overwritten, aliased and swapped."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below

    def pick(self, values: list[Any]) -> Any:
        return values[-1 - self.below(len(values))]

    def place(self, m: Nest, i: Any, size: int) -> Any:
        """An index: one that changes, or a constant."""
        by = self.below(size)
        return by if self.below(3) == 2 else m.mod(i + by, size)

    def body(self, m: Nest, i: Any, scalars: Sequence[Any], vectors: Sequence[Any], tables: Sequence[Any], depth: int):
        s, v, t = list(scalars), list(vectors), list(tables)
        for _ in range(2 + self.below(5)):
            self.step(m, i, s, v, t, depth)
        return [m.sin(self.late(s)), self.late(v), self.late(v), self.late(t)]

    def late(self, values: list[Any]) -> Any:
        return values[-1] if self.below(2) else self.pick(values)

    def step(self, m: Nest, i: Any, s: list[Any], v: list[Any], t: list[Any], depth: int) -> None:
        kind = self.below(13 if depth else 8)
        if kind == 0:
            s.append(m.at(self.pick(v), self.place(m, i, 4)))
        elif kind == 1:
            s.append(m.at(self.pick(t), self.place(m, i, 3), self.place(m, i, 4)))
        elif kind == 2:
            s.append(self.pick(s) * self.pick(s) * 0.7 + m.sin(self.pick(s)))
        elif kind in (3, 4):
            v.append(m.put(self.pick(v), m.sin(self.pick(s)), self.place(m, i, 4), adds=kind == 4))
        elif kind == 5:
            v.append(m.at(self.pick(t), self.place(m, i, 3)))
        elif kind == 6:
            t.append(m.put(self.pick(t), self.pick(v), self.place(m, i, 3)))
        elif kind == 7:
            v.append(m.sin(self.pick(v) * self.pick(v) + self.pick(v)))
        else:
            made = self.nested(m, i, s, v, t, depth - 1)
            s.append(made[0])
            v += made[1:3]
            t.append(made[3])

    def nested(self, m: Nest, i: Any, s: list[Any], v: list[Any], t: list[Any], depth: int) -> list[Any]:
        carries = [self.pick(s), self.pick(v), self.pick(v), self.pick(t)]
        rest = [self.pick(s), self.pick(v), self.pick(t), i]
        rounds, kind = self.below(4), self.below(4)

        def inner(m, j, c, r):
            return self.body(m, j + r[3], [r[0], c[0]], [r[1], c[2], c[1]], [r[2], c[3]], depth)

        def side(m, *xs):
            return self.body(m, xs[7], [xs[4], xs[0]], [xs[5], *xs[1:3]], [xs[6], xs[3]], depth)

        if kind == 0:
            return m.cond(m.gt(carries[0], 0.6), side, side, [*carries, *rest])
        if kind == 1:
            limit, one = float(rounds), m.f64(0.0)
            return m.loop(
                lambda m, c, r: m.lt(c[4], limit),
                lambda m, k, c, r: [*inner(m, k, c, r), c[4] + 1.0],
                [*carries, one], rest,
            )
        return m.scan(rounds, inner, carries, rest, backwards=kind == 2)


def random_nest(below: Callable[[int], int]) -> Graph:
    """A scan over a random body, and a sum of what it leaves."""
    made = Nests(below)

    def f(m, s, a, b, t):
        def step(m, i, c, r):
            return made.body(m, i, [r[0], c[0]], [r[1], c[2], c[1]], [r[2], c[3]], 2)

        s, a, b, t = m.scan(2, step, [s, a, b, t], [s, a, t])
        a = m.select(m.gt(a, 0.3), m.sin(a) * 0.8, a * a)
        return 0.7 * m.maximum(s, 0.5 * s) + m.total(a) + m.total(b * b * 0.3) + m.at(t, 1, 2) + m.total(m.sin(t) * 0.2)

    return nest("random", (), (4,), (4,), (3, 4))(f)


SHAPES = [(), (4,), (4,), (3, 4)]
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET)
@given(st.data())
def test_random_nests(data: st.DataObject) -> None:
    graph = random_nest(lambda n: data.draw(st.integers(0, n - 1)))
    args = [_drawn(k, 0.5, 1.5, *shape) for k, shape in enumerate(SHAPES)]
    note(show(graph))
    _assert_gradient(graph, args, range(4))


@pytest.mark.parametrize("seed", range(8))
def test_random_nests_to_second_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_nest(lambda n: int(rng.integers(n)))
    args = [_drawn(k + seed, 0.5, 1.5, *shape) for k, shape in enumerate(SHAPES)]
    _assert_gradient(_hessian_product(graph, range(4), seed), args, range(4))


# ---- what is saved

#: bytes of a record, rounds of its loop, loops around that
SAVED: dict[str, list[tuple[int, int | None, int]]] = {
    "lotka_volterra": [(16, 20, 0)],  # the two populations, of 27 values read
    "soft_dtw": [(24, 6, 1)],  # the three weights, but neither the table, nor an index, nor which was the least
    "newton": [(24, None, 0)],  # the iterate and two quotients
    "newton_in_scan": [(24, None, 1), (16, 8, 0)],  # the count of the inner loop, too
    "overwritten": [(8, 9, 0)],  # what was read of the array; x is read again
    "gauss_seidel": [(16, 6, 1)],
    "swapped": [(32, 6, 0)],
    "rows": [(48, 3, 0)],
}


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved(name: str) -> None:
    graph, args = PROGRAMS[name]
    made = optimize(value_and_grad(graph, range(len(args))))
    assert [(s.bytes, s.rounds, s.within) for s in saved(made)] == SAVED[name]


def test_nothing_is_saved_of_what_is_linear() -> None:
    @nest("diffusion", (16,))
    def graph(m, u):
        def step(m, t, c, r):
            def cell(m, i, c, r):
                mean = 0.25 * m.at(r[0], i) + 0.5 * m.at(r[0], i + 1) + 0.25 * m.at(r[0], i + 2)
                return [m.put(c[0], mean, i + 1)]

            return m.scan(14, cell, [c[0]], [c[0]])

        (u,) = m.scan(5, step, [u])
        return m.total(u)

    made = optimize(value_and_grad(graph, [0]))
    assert not saved(made) and "tape" not in show(made)
    _assert_gradient(graph, [_drawn(1, 0, 1, 16)], [0])


def test_what_does_not_change_in_a_loop_is_not_saved_in_it() -> None:
    @nest("decay", (), ())
    def graph(m, x, k):
        (x,) = m.scan(9, lambda m, i, c, r: [m.exp(-0.1 * r[0]) * c[0]], [x], [k])
        return x

    assert [(s.bytes, s.rounds) for s in saved(optimize(value_and_grad(graph, [0])))] == []
    assert [(s.bytes, s.rounds) for s in saved(optimize(value_and_grad(graph, [0, 1])))] == [(8, 9)]


def test_what_is_not_taken_contributes_nothing() -> None:
    """The square root's slope is infinite at 0, where the other branch is taken."""

    @nest("roots", (3,))
    def graph(m, x):
        def step(m, i, c, r):
            v = m.at(r[0], i)
            return [c[0] + m.cond(m.gt(v, 0), lambda m, v: [m.sqrt(v)], lambda m, v: [2.0 * v], [v])[0]]

        return m.scan(3, step, [m.f64(0.0)], [x])[0]

    got = evaluate(value_and_grad(graph, [0]), [np.array([4.0, 0.0, 1.0])])[1]
    assert got.tolist() == [0.25, 2.0, 0.5]


def test_checks_are_not_repeated_on_the_way_back() -> None:
    @nest("checked", (5,), (5,))
    def graph(m, x, at):
        def step(m, i, c, r):
            k = m(check_indices(m.b, cast(m.b, m.at(r[1], i).value, dtype="i64"), axis=0, size=5))
            return [c[0] * m.sin(m.at(r[0], k))]

        return m.scan(5, step, [m.f64(1.0)], [x, at])[0]

    made = optimize(value_and_grad(graph, [0]))
    assert show(made).count("check_indices") == 1
    x, at = np.linspace(0.2, 1, 5), np.array([0.0, 3, 3, 1, 4])
    _assert_gradient(graph, [x, at], [0])
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 5"):
        evaluate(made, [x, at + 3])


def _root(m, i, c, r):
    return [m.sqrt(c[0]) * r[0]]


def _below_two(m, c, r):
    return m.lt(c[1], 2.0)


ROOTS: dict[str, Callable[..., Any]] = {
    "scan": lambda m, x, y: m.scan(2, _root, [x], [y])[0],
    "loop": lambda m, x, y: m.loop(
        _below_two, lambda m, k, c, r: [*_root(m, k, c, r), c[1] + 1.0], [x, m.f64(0.0)], [y]
    )[0],
    "cond": lambda m, x, y: m.cond(
        m.gt(m.at(x, 1), 0), lambda m, x, y: [m.sqrt(x) * y], lambda m, x, y: [x], [x, y]
    )[0],
    "scan in scan": lambda m, x, y: m.scan(2, lambda m, i, c, r: m.scan(1 + i, _root, c, r), [x], [y])[0],
    "rest": lambda m, x, y: m.scan(3, lambda m, i, c, r: [c[0] * m.sqrt(r[0])], [y], [x])[0],
}


@pytest.mark.parametrize("inner", ROOTS)
def test_what_is_hidden_after_a_loop_contributes_nothing(inner: str) -> None:
    """select(x > 0, roots of x, 3 x) where x is 0: the roots' slopes are infinite there, and not wanted."""

    @nest("hidden", (2,), (2,))
    def graph(m, x, y):
        return m.total(m.select(m.gt(x, 0), 2.0 * ROOTS[inner](m, x, y), 3 * x))

    y = np.array([1.25, 0.5])
    made = value_and_grad(graph, [0])
    for good in (4.0, 0.25):
        hides, clean = np.array([0.0, good]), np.array([1.0, good])
        got = evaluate(made, [hides, y])[1]
        assert got[0] == 3 and got[1] == evaluate(made, [clean, y])[1][1]


def test_a_table_has_no_mask_of_its_own() -> None:
    """Parts of an array that are read and written say nothing about the others: their masks would only cost."""

    @nest("table", (5,), (5,))
    def graph(m, x, a):
        (a,) = m.scan(4, lambda m, i, c, r: [m.put(c[0], m.at(c[0], i) * m.at(r[0], i), i + 1)], [a], [x])
        return m.total(m.select(m.gt(a, 0.5), a * a, a))

    assert "bool[5]" not in "".join(show(g) for op in value_and_grad(graph, [0, 1]).body for g in op.regions)


def _records(length: int, loops: bool) -> Graph:
    """A loop or plain pushes leave what the derivative is of, over what is only compared; those pop both."""
    b = Builder("records", [Type("f64", ())] * 2)
    x, y = b.params
    whole = Type("i64", ())
    (tape,) = b.emit(new_tape)
    if not loops:
        for value in (exp(b, x), mul(b, x, y)):
            (tape,) = b.emit(push, tape, value)
        tape, product = b.emit(pop, tape, types=(x.type,))
        _, power = b.emit(pop, tape, types=(x.type,))
        return b.finish([select(b, lt(b, power, y), product, x)])

    fore = Builder("fore", [whole, tape.type, x.type, x.type])
    ahead = fore.finish([*fore.emit(push, *fore.params[1:3]), mul(fore, *fore.params[2:])])
    tape, _ = b.emit(scan, number(b, 2 * length, whole), tape, x, y, regions=(ahead,), carries=2)

    multiply = Builder("multiply", [whole, tape.type, x.type])
    below, value = multiply.emit(pop, multiply.params[1], types=(x.type,))
    above = multiply.finish([below, mul(multiply, multiply.params[2], value)])
    tape, product = b.emit(
        scan, number(b, length, whole), tape, y, regions=(above,), carries=2, backwards=True)

    compare = Builder("compare", [whole, tape.type, Type("bool", ()), x.type])
    below, value = compare.emit(pop, compare.params[1], types=(x.type,))
    under = compare.finish([below, lt(compare, value, compare.params[3])])
    _, less = b.emit(
        scan, number(b, length, whole), tape, lt(b, x, x), y, regions=(under,), carries=2, backwards=True)
    return b.finish([select(b, less, product, x)])


@pytest.mark.parametrize("loops", [False, True])
def test_records_that_no_derivative_passes_through(loops: bool) -> None:
    """A push pops a cotangent for each record, and must find its own."""
    _assert_gradient(_records(2, loops), [np.array(0.7), np.array(1.3)], [0, 1])
