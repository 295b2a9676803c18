"""Results in place of arguments: the same bits as fresh ones, whichever of them are, and at what cost."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, set_num_threads, value_and_grad
from pullback.compiler.backend import threads
from pullback.compiler.backend.emit import program as emit
from pullback.compiler.backend.kernel import Kernel, compile_graph
from pullback.compiler.ir.types import Type
from pullback.compiler.loops import Affine, Apply, Axis, Buffer, Element, Load
from pullback.compiler.lowering.access import Access
from pullback.compiler.lowering.nests import chunks
from pullback.compiler.lowering.program import Nest, Store
from pullback.compiler.lowering.regions import touched
from pullback.compiler.settings import settings
from tests.corpus import CASES, Written
from tests.random_graphs import Case, cases
from tests.test_random_graphs import run
from tests.test_same_bits import traced

RATE = np.float32(0.5)


def bits(results: Any) -> list[bytes]:
    """The bits of results; one NaN is as good as another."""
    return [np.where(r != r, np.nan, r).astype(r.dtype).tobytes() for r in map(np.asarray, results)]


def kernel_of(f: Any) -> Kernel:
    return f._latest.kernel


def assert_in_place(kernel: Kernel, args: list[np.ndarray], of: str = "") -> None:
    """The kernel gives the same bits whichever of its results lie where arguments may."""
    fresh = kernel.run(args)
    pairs = list(kernel.aliases.items())
    for some in [*itertools.combinations(pairs, 1), tuple(pairs)]:
        given = [a.copy() for a in args]
        made = kernel.run(given, {k: given[j] for k, j in some})
        assert all(made[k] is given[j] for k, j in some)
        same = [a == b for a, b in zip(bits(made), bits(fresh), strict=True)]
        assert all(same), f"{of}: {same} with {some} of {pairs}\n{kernel.text('loops')}"


@pytest.fixture
def pool() -> Iterator[None]:
    before = threads.get_num_threads()
    yield
    set_num_threads(before)


# What is read before it is written

X, Y = (Buffer(name, Type("f64", (64,))) for name in "xy")
ROW, COLUMN = Axis("i", 8), Axis("j", 8)


def nest(to: Affine, *read: Affine, axes: tuple[Axis, ...] = (ROW, COLUMN)) -> Nest:
    """y[to] = the sum of x[read]."""
    value: Element = Load(X, read[0])
    for each in read[1:]:
        value = Apply("add", (value, Load(X, each)), "f64")
    return Nest(axes, 0, (Store(Y, to, value),))


def read_first(statements: list[Nest], out: Buffer, given: Buffer) -> bool:
    return Access().read_first(statements, out, given)


def test_nests_that_read_first() -> None:
    here, turned, low = (Affine(((ROW, r), (COLUMN, c))) for r, c in ((8, 1), (1, 8), (1, 1)))
    assert read_first([nest(here, here)], Y, X) and read_first([nest(turned, turned)], Y, X)
    assert not read_first([nest(here, turned)], Y, X) and not read_first([nest(here, here + 1)], Y, X)
    assert not read_first([nest(here, here, turned)], Y, X)
    assert not read_first([nest(low, low)], Y, X), "the second turn at a place would read what the first has written"
    assert not read_first([nest(Affine(((COLUMN, 1),)), Affine(((COLUMN, 1),)))], Y, X)


def test_nests_that_read_what_others_have_left() -> None:
    half = Axis("i", 4)
    low = Affine(((half, 8), (COLUMN, 1)))
    first, second = (nest(low + by, low + by, axes=(half, COLUMN)) for by in (0, 32))
    assert read_first([first, second], Y, X) and read_first([second, first], Y, X)
    assert not read_first([first, nest(low + 24, low + 24, axes=(half, COLUMN))], Y, X)
    assert not read_first([first, first], Y, X)
    only = nest(low + 32, low, axes=(half, COLUMN))
    assert not read_first([first, only], Y, X) and not read_first([only], Y, X)


# Which results may


def mlp(w, b, v, x, y):
    hidden = np.tanh(x @ w + b)
    return np.mean((hidden @ v - y) ** 2)


def mlp_step(w, b, v, x, y):
    value, slopes = value_and_grad(mlp, argnums=(0, 1, 2))(w, b, v, x, y)
    return value, *(p - 0.1 * g for p, g in zip((w, b, v), slopes, strict=True))


@pytest.mark.parametrize("sizes", [(3, 4, 5), (32, 64, 64), (33, 17, 40)])
def test_a_step_of_a_network_is_made_in_place(sizes: tuple[int, int, int]) -> None:
    rng: Any = np.random.default_rng(0)
    n, inner, outer = sizes
    w, b, v = rng.normal(size=(inner, outer)), rng.normal(size=outer), rng.normal(size=(outer, 7))
    x, y = rng.normal(size=(n, inner)), rng.normal(size=(n, 7))
    step: Any = jit(mlp_step)
    fresh: Any = (w, b, v)
    again: Any = jit(mlp_step)
    for _ in range(4):
        want = again(*fresh, x, y)
        made = step(w, b, v, x, y, out=(None, w, b, v))
        assert kernel_of(step).aliases == {1: 0, 2: 1, 3: 2}
        assert made[1] is w and made[3] is v and bits(made) == bits(want)
        fresh = want[1:]


def adam(p, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 0.1 * m / (np.sqrt(v) + 1e-8), m, v


def test_each_result_takes_the_argument_it_is_made_of() -> None:
    rng = np.random.default_rng(0)
    args = [rng.normal(size=100) for _ in range(3)]
    state, g = [args[0], args[1], args[2] ** 2], rng.normal(size=100)
    step: Any = jit(adam)
    want = step(*state, g)
    assert kernel_of(step).aliases == {0: 0, 1: 1, 2: 2}
    made = step(*state, g, out=tuple(state))
    assert made[2] is state[2] and bits(made) == bits(want)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.flip(x) + 1.0,
        lambda x: x + np.sum(x),
        lambda x: x - np.roll(x, 1),
        lambda x: np.cumsum(x),
        lambda x: x / np.max(x),
        lambda x: np.where(x < 0.5, x, np.flip(x)),
        lambda x: np.concatenate([x[20:], x[:20]]) + x,
        lambda x: np.pad(x[1:], (0, 1)) + np.pad(x, (0, 1))[:-1],
        lambda x: np.outer(x, x) @ x,
    ],
)
def test_elements_are_read_before_they_are_written(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).normal(size=40)
    compiled = jit(f)
    want = compiled(x)
    assert_in_place(kernel_of(compiled), [x])
    for _ in range(3):
        y = x.copy()
        assert compiled(y, out=y) is y and bits([y]) == bits([want])


def test_a_whole_argument_is_read_before_a_result_lies_there() -> None:
    f = jit(lambda x: (x / np.sum(x), np.sum(x)))
    x = np.arange(1.0, 100.0)
    want = f(x)
    assert kernel_of(f).aliases == {0: 0}
    assert bits(f(x, out=(x, None))) == bits(want)


def test_results_swap_their_arguments() -> None:
    f = jit(lambda x, y: (y + 0.5 * x, x - y))
    x, y = np.arange(300.0), np.ones(300)
    want = f(x, y)
    assert_in_place(kernel_of(f), [x, y])
    for out in ((0, 1), (1, 0)):
        given = [x.copy(), y.copy()]
        assert bits(f(*given, out=(given[out[0]], given[out[1]]))) == bits(want)


def test_arguments_that_are_the_same_array() -> None:
    f = jit(lambda x, y: x - 0.5 * y[::-1])
    x = np.arange(10.0)
    want = f(x, x)
    for _ in range(3):
        y = x.copy()
        assert bits([f(y, y, out=y)]) == bits([want])


def test_kernels_of_many_sizes_are_in_place() -> None:
    f = jit(lambda w, x: w - 0.1 * (x @ w))
    for n in (5, 40, 90, 91, 130, 200, 333):
        rng = np.random.default_rng(n)
        w, x = rng.normal(size=(n, 3)), rng.normal(size=(n, n))
        want = jit(lambda w, x: w - 0.1 * (x @ w))(w, x)
        f(w, x)
        assert_in_place(kernel_of(f), [w, x])
        assert bits([f(w, x, out=w)]) == bits([want])


def step_of(function: Callable[..., Any], which: list[int]) -> Callable[..., Any]:
    """A step down the slope of all that a function gives, in some of its arguments."""

    def loss(*args):
        made = function(*args)
        return sum(np.sum(r) for r in (made if isinstance(made, (tuple, list)) else [made]))

    def step(*args):
        slopes = grad(loss, argnums=tuple(which))(*args)
        return [args[k] - 0.1 * g for k, g in zip(which, slopes, strict=True)]

    return step


STEPS = [
    name
    for name, written in list(CASES.items())[::3]
    if written.orders and all(isinstance(a, np.ndarray) for a in written.args) and written.args[0].dtype.kind == "f"
]


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_the_corpus(name: str) -> None:
    function, args, _ = CASES[name]
    which = [k for k, a in enumerate(args) if a.dtype.kind == "f"]
    graph, given = traced(Written(step_of(function, which), args))
    kernel = compile_graph(graph)
    assert_in_place(kernel, given, name)


def test_random_graphs() -> None:
    def check(case: Case) -> None:
        kernel = compile_graph(case.graph)
        if kernel.aliases:
            assert_in_place(kernel, [np.array(a) for a in case.args])

    run(check, cases(), 150)


def test_long_folds_share_the_nests_of_results() -> None:
    def f(x, y):
        return x * y + 1.0, np.sum(x * y), y - x

    x, y = np.random.default_rng(0).normal(size=(2, 200_001))
    compiled = jit(f)
    want = compiled(x, y)
    kernel = kernel_of(compiled)
    assert kernel.aliases == {0: 0, 2: 1}
    assert_in_place(kernel, [x, y])
    assert bits(compiled(x, y, out=(x, None, y))) == bits(want)


def chain(x):
    for _ in range(3):
        y = np.tanh(x)
        z = np.exp(y - 1e-9 * np.sum(y))
        x = z / np.sum(z)
    return x


@pytest.mark.parametrize("n", [5000, 200_001])
@pytest.mark.parametrize("count", [1, 2])
def test_scratch_memory_is_taken_over_element_by_element(n: int, count: int, pool: None) -> None:
    set_num_threads(count)
    f, x = jit(chain), np.random.default_rng(0).normal(size=n)
    made = f(x)
    assert np.allclose(made, chain(x), rtol=1e-12)
    (form,) = f.memory().forms
    assert sum(s.bytes >= 8 * n for s in form.scratch) > 1 and form.arena < 1.1 * 8 * n + 4096


def test_scratch_memory_is_not_taken_over_by_what_is_read_elsewhere() -> None:
    def f(x):
        y = np.tanh(x)
        z = np.exp(y[::-1] - 1e-9 * np.sum(y))
        w = np.cos(z - np.sum(z)) + np.roll(z, 1)
        return w / np.sum(w)

    for n in (5000, 200_001):
        x = np.random.default_rng(0).normal(size=n)
        assert np.allclose(jit(f)(x), f(x), rtol=1e-10)


def test_a_copy_of_what_is_there_is_not_made() -> None:
    f = jit(lambda x, y: (x, y + 1.0))
    x, y = np.arange(10.0), np.arange(20.0)
    want = f(x, y)
    assert "unless out0 is x" in kernel_of(f).text("loops")
    assert_in_place(kernel_of(f), [x, y])
    assert bits(f(x, y, out=(x, y))) == bits(want)


# Steps on tables


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are taken for large ones."""
    monkeypatch.setattr(touched, "FEWER", 0)


def table_of(rows: int, width: int = 8, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(rows, width)).astype(dtype)


def square(table, words):
    return np.sum(np.tanh(table[words]) ** 2)


def plain(table, words):
    return table - RATE * grad(square)(table, words)


def whole(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose steps on tables make every row."""

    def run(*args):
        with pytest.MonkeyPatch.context() as patch, settings.override(cache=False):
            patch.setattr(touched, "FEWER", 10**9)
            compiled: Any = jit(f)
            made = compiled(*args)
            assert "unless" not in kernel_of(compiled).text("loops")
            return made

    return run


def assert_step(f: Any, table: np.ndarray, *args: Any, rows: bool = True) -> None:
    """Steps, fresh or in place, give the bits of one that makes every row; and whether they touch few, as told."""
    want = whole(f)(table, *args)
    step = jit(f)
    assert bits([step(table, *args)]) == bits([want])
    for _ in range(3):
        mine = table.copy()
        assert step(mine, *args, out=mine) is mine and bits([mine]) == bits([want])
    assert ("unless out0 is" in kernel_of(step).text("loops")) == rows


def test_only_rows_that_are_touched_are_written() -> None:
    table, words = table_of(5000), np.array([7, 4999, 7, 0, -1, -5000])
    assert_step(plain, table, words)
    step = jit(plain)
    step(table, words)
    held = np.full_like(table, np.nan)
    held[words] = table[words]
    want = step(table, words)
    kernel = kernel_of(step)
    kernel.run([held, words], {0: held})
    assert np.array_equal(held[words], want[words])
    assert np.isnan(held).sum() == (5000 - 3) * 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 8, 33, 100])
@pytest.mark.parametrize("many", [1, 2, 9, 64])
def test_duplicates_count_as_often_as_they_come(dtype: type, width: int, many: int, always: None) -> None:
    table, rng = table_of(12, width, dtype), np.random.default_rng(many)
    words = rng.integers(-12, 12, many)
    assert_step(plain, table, words)
    want = table.astype(float)
    np.subtract.at(want, words, 0.5 * grad(lambda r: np.sum(np.tanh(r) ** 2))(want[words]))
    assert np.allclose(jit(plain)(table, words), want, rtol=1e-5, atol=1e-5)


def test_tables_of_other_ranks(always: None) -> None:
    def loss(t, i, j):
        return np.sum(np.sin(t[i, j]) * np.cos(t[j, i]))

    def step(t, i, j):
        return t - 0.25 * grad(loss)(t, i, j)

    i, j = np.array([[0, 3], [3, 3]]), np.array([[2, 2], [2, 0]])
    assert_step(step, np.random.default_rng(0).normal(size=(4, 4, 5)), i, j)
    assert_step(step, np.random.default_rng(0).normal(size=(4, 4)), i, j)
    assert_step(plain, np.random.default_rng(0).normal(size=50), np.array([[1, 2], [2, 1]]))
    assert_step(plain, np.random.default_rng(0).normal(size=50), np.array(7))
    assert_step(plain, np.zeros((5, 0)), np.array([1, 2]), rows=False)


def test_a_failing_index_leaves_the_table_as_it_was() -> None:
    step, table = jit(plain), table_of(1000)
    before, words = table.copy(), np.array([1, 2, 3])
    for bad in (1000, -1001):
        step(before.copy(), words, out=table.copy())
        for _ in range(3):
            with pytest.raises(IndexError, match=str(bad)):
                step(table, np.array([1, bad, 3]), out=table)
            assert np.array_equal(table, before)


CHANGES: list[tuple[Callable[..., Any], bool]] = [
    (lambda t, g: t - 0.5 * g, True),
    (lambda t, g: t - g, True),
    (lambda t, g: t - g / 3.0, True),
    (lambda t, g: t + -0.5 * g, True),
    (lambda t, g: -0.5 * g + t, True),
    (lambda t, g: t - 0.1 * np.tanh(g), True),
    (lambda t, g: t - 0.1 * np.clip(g, -0.5, 0.5), True),
    (lambda t, g: t - 0.1 * g / (np.abs(g) + 0.1), True),
    (lambda t, g: t + 0.5 * g, False),
    (lambda t, g: t - -0.5 * g, False),
    (lambda t, g: t - 0.1 * (g + 0.01 * t), False),
    (lambda t, g: 0.9 * t - g, False),
    (lambda t, g: t - 0.1 * g * np.arange(8.0), False),
    (lambda t, g: t - np.float64(np.inf) * g, False),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_left_alone_only_where_that_is_what_is_meant(number: int, dtype: type) -> None:
    change, rows = CHANGES[number]
    table, words = table_of(400, 8, dtype), np.array([5, 399, 5])
    table[:8, 0] = [-0.0, 0.0, np.inf, -np.inf, np.nan, -0.0, 1e-40, -1e-40]
    table = np.where(np.arange(400)[:, None] % 3 == 0, table, -np.zeros_like(table))

    def step(t, words):
        return change(t, grad(lambda t: np.sum(t[words] ** 3))(t)).astype(dtype)

    assert_step(step, table, words, rows=rows)


@pytest.mark.parametrize("rate", [0.5, 0.0, -0.0, -0.5, np.inf, -np.inf, np.nan, 1e300])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_factor_that_is_told_at_run_time(rate: float, sign: int) -> None:
    def loss(t, words):
        return np.sum(t[words] ** 3)

    def down(t, words, rate):
        return t - rate * grad(loss)(t, words)

    def up(t, words, rate):
        return t + rate * grad(loss)(t, words)

    table = np.where(np.arange(4000).reshape(500, 8) % 5 < 2, -0.0, table_of(500, 8, np.float64))
    with np.errstate(all="ignore"):
        assert_step(down if sign > 0 else up, table, np.array([1, 2, 499, 2]), rate)


def test_several_lookups_in_one_table() -> None:
    def loss(t, a, b):
        return np.sum(t[a] * t[b]) + np.sum(np.sin(t[b][:2]))

    def step(t, a, b, rate):
        return t - rate * grad(loss)(t, a, b)

    a, b = np.array([3, 5, 5, 9]), np.array([5, 3, 9, 400])
    assert_step(step, table_of(2000), a, b, RATE)


def test_two_tables_and_a_value() -> None:
    def loss(s, t, a, b):
        return np.sum(np.tanh(s[a] * t[b]))

    def step(s, t, a, b):
        value, (to_s, to_t) = value_and_grad(loss, argnums=(0, 1))(s, t, a, b)
        return value, s - RATE * to_s, t - RATE * to_t

    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 900, 30), rng.integers(-900, 900, 30)
    for shapes in ((900, 900), (900, 1200)):
        s, t = (table_of(n) for n in shapes)
        f = jit(step)
        want = whole(step)(s, t, a, b)
        assert bits(f(s, t, a, b)) == bits(want) and kernel_of(f).aliases == {1: 0, 2: 1}
        assert_in_place(kernel_of(f), [s, t, a, b])
        for _ in range(3):
            mine = [s.copy(), t.copy()]
            assert bits(f(*mine, a, b, out=(None, *mine))) == bits(want)
        assert bits(f(s.copy(), t, a, b, out=(None, np.zeros_like(s), None))) == bits(want)


def test_a_table_that_is_stepped_and_read_again() -> None:
    def step(t, words):
        return t - RATE * grad(square)(t, words), np.sum(t), t[words[::-1]]

    f, table, words = jit(step), table_of(700), np.array([1, 2, 1])
    want = whole(step)(table, words)
    assert bits(f(table, words)) == bits(want) and kernel_of(f).aliases == {0: 0}
    assert_in_place(kernel_of(f), [table, words])
    assert bits(f(table, words, out=(table, None, None))) == bits(want)


def test_a_gradient_that_is_wanted_itself_is_dense() -> None:
    def step(t, words):
        g = grad(square)(t, words)
        return t - RATE * g, g

    f, table, words = jit(step), table_of(700), np.array([1, 2, 1])
    value, g = f(table, words)
    assert g.shape == table.shape and np.count_nonzero(g.any(axis=1)) == 2
    assert bits(f(table, words, out=(table, None))) == bits([value, g])


def test_momentum_moves_every_row() -> None:
    def step(t, m, words):
        m = np.float32(0.9) * m + grad(square)(t, words)
        return t - RATE * m, m

    f, table, words = jit(step), table_of(700), np.array([1, 2, 1])
    m = table_of(700)
    want = f(table, m, words)
    assert kernel_of(f).aliases == {0: 0, 1: 1}
    assert_in_place(kernel_of(f), [table, m, words])
    assert bits(f(table, m, words, out=(table, m))) == bits(want)


def test_tables_of_many_sizes() -> None:
    step = jit(plain)
    for rows in (1000, 1500, 1777, 2000, 5000):
        table, words = table_of(rows), np.array([1, rows - 1, 1])
        want = whole(plain)(table, words)
        for _ in range(3):
            mine = table.copy()
            assert bits([step(mine, words, out=mine)]) == bits([want])
        assert "unless out0 is" in kernel_of(step).text("loops")


@pytest.fixture
def pooled(monkeypatch: pytest.MonkeyPatch, pool: None) -> None:
    """Every statement takes long enough to be shared by two threads, and every one is a function."""
    real = chunks.nanoseconds
    monkeypatch.setattr(chunks, "nanoseconds", lambda statement: real(statement) * 10**7)
    monkeypatch.setattr(emit, "APART", 0)
    set_num_threads(2)


def test_threads(pooled: None) -> None:
    table, words = table_of(3000), np.random.default_rng(0).integers(0, 3000, 40)
    assert_step(plain, table, words)
    test_two_tables_and_a_value()
    test_a_factor_that_is_told_at_run_time(0.5, 1)
    test_a_factor_that_is_told_at_run_time(-0.5, 1)
    test_a_step_of_a_network_is_made_in_place((33, 17, 40))
    test_each_result_takes_the_argument_it_is_made_of()


@pytest.mark.parametrize("width", [128, 512])
@pytest.mark.parametrize("level", [0, 2])
def test_vectors_and_levels(width: int, level: int) -> None:
    with settings.override(vector_bits=width, level=level):
        test_two_tables_and_a_value()
        test_several_lookups_in_one_table()
        test_only_rows_that_are_touched_are_written()
        test_a_step_of_a_network_is_made_in_place((33, 17, 40))


def test_statements_that_are_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit, "APART", 0)
    test_two_tables_and_a_value()
    test_several_lookups_in_one_table()
