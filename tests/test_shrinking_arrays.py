"""Loops that are unrolled because their arrays grow shorter: rolled up again, with the numbers and slopes they had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, value_and_grad
from pullback.compiler.backend.start import written_for
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.nests import assemble, straight
from pullback.compiler.lowering.program import Rows
from pullback.compiler.ops.control import scan
from pullback.compiler.passes.loops import evening, reroll
from pullback.compiler.passes.pipeline import optimize

LEVELS = 40
RNG = np.random.default_rng(11)


def european(S, K, r, sigma, T, n):
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    p = (np.exp(r * dt) - 1 / u) / (u - 1 / u)
    v = np.maximum(S * u ** (2 * np.arange(n + 1) - n) - K, 0.0)
    for _ in range(n, 0, -1):
        v = np.exp(-r * dt) * (p * v[1:] + (1 - p) * v[:-1])
    return v[0]


def american(S, K, r, sigma, T, n):
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    p = (np.exp(r * dt) - 1 / u) / (u - 1 / u)
    s = S * u ** (2 * np.arange(n + 1) - n)
    v = np.maximum(K - s, 0.0)
    for _ in range(n, 0, -1):
        s = s[1:] / u
        v = np.maximum(np.exp(-r * dt) * (p * v[1:] + (1 - p) * v[:-1]), K - s)
    return v[0]


MARKET = (100.0, 95.3, 0.03, 0.2, 1.0)


def rolled(function: Any) -> bool:
    """Whether the latest form has a loop."""
    return any(op.prim is scan for op in function._latest.traced.graph.body)


@pytest.mark.parametrize("option", [european, american])
@pytest.mark.parametrize("levels", [3, 39, 40, 120])
def test_a_tree_is_a_loop(option: Callable[..., Any], levels: int) -> None:
    price = value_and_grad(option, argnums=(0, 1, 2, 3, 4), static_argnums=5)
    value, slopes = price(*MARKET, levels)
    assert value == pytest.approx(option(*MARKET, levels), rel=1e-13)
    assert rolled(price) == (levels > 3)
    for k, slope in enumerate(slopes):
        up, down = list(MARKET), list(MARKET)
        h = 1e-6 * MARKET[k]
        up[k] += h
        down[k] -= h
        assert slope == pytest.approx((option(*up, levels) - option(*down, levels)) / (2 * h), rel=1e-5, abs=1e-5)


def nodes(S, K, sigma, n):
    """A put whose prices are made anew at each level, from the last to the first."""
    u = np.exp(sigma / np.sqrt(n))
    p = (1.0 - 1 / u) / (u - 1 / u)
    v = np.maximum(K - S * u ** (2 * np.arange(n + 1) - n), 0.0)
    for i in range(n - 1, -1, -1):
        v = np.maximum(K - S * u ** (2 * np.arange(i + 1) - i), 0.999 * (p * v[1:] + (1 - p) * v[:-1]))
    return v[0]


def in_place(S, K, sigma, n):
    u = np.exp(sigma / np.sqrt(n))
    p = (1.0 - 1 / u) / (u - 1 / u)
    v = np.maximum(K - S * u ** (2 * np.arange(n + 1) - n), 0.0)
    for k in range(n - 1, -1, -1):
        v[: k + 1] = np.maximum(
            K - S * u ** (2 * np.arange(k + 1) - k), 0.999 * (p * v[1 : k + 2] + (1 - p) * v[: k + 1])
        )
    return v[0]


@pytest.mark.parametrize("option", [nodes, in_place])
@pytest.mark.parametrize("levels", [30, 60, 90])
def test_a_tree_of_few_levels_is_a_loop_of_vectors(option: Callable[..., Any], levels: int) -> None:
    price = value_and_grad(option, argnums=(0, 2), static_argnums=3)
    value, slopes = price(100.0, 103.0, 0.3, levels)
    assert value == pytest.approx(option(100.0, 103.0, 0.3, levels), rel=1e-13)
    assert rolled(price)
    for slope, (da, ds) in zip(slopes, [(1e-5, 0), (0, 1e-6)], strict=True):
        up, down = (option(100.0 + k * da, 103.0, 0.3 + k * ds, levels) for k in (1, -1))
        assert slope == pytest.approx((up - down) / (2 * (da + ds)), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("option", [european, american])
def test_second_derivatives_of_a_tree(option: Callable[..., Any]) -> None:
    vega = grad(option, argnums=3, static_argnums=5)
    twice = grad(lambda *args: vega(*args, LEVELS), argnums=(1, 3))
    h = 1e-6
    for k, slope in zip((1, 3), twice(*MARKET), strict=True):
        up, down = list(MARKET), list(MARKET)
        up[k] += h
        down[k] -= h
        assert slope == pytest.approx((vega(*up, LEVELS) - vega(*down, LEVELS)) / (2 * h), rel=1e-4, abs=1e-5)


def listed(S, K, r, sigma, T, n):
    """The American put of lists that are made anew at each level."""
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    p = (np.exp(r * dt) - 1 / u) / (u - 1 / u)
    values = [max(K - S * u ** (2 * j - n), 0.0) for j in range(n + 1)]
    for i in range(n - 1, -1, -1):
        held = [np.exp(-r * dt) * (p * values[j + 1] + (1 - p) * values[j]) for j in range(i + 1)]
        values = [max(held[j], K - S * u ** (2 * j - i)) for j in range(i + 1)]
    return values[0]


@pytest.mark.parametrize("levels", [30, 60])
def test_a_tree_of_lists_is_a_loop_of_vectors(levels: int) -> None:
    price: Any = value_and_grad(listed, argnums=(0, 1, 2, 3, 4), static_argnums=5)
    value, slopes = price(*MARKET, levels)
    assert value == pytest.approx(listed(*MARKET, levels), rel=1e-13)
    loops = [op for op in price._latest.traced.graph.body if op.prim is scan]
    assert any(op.results[0].type.shape[0] >= levels for op in loops) and len(loops) < 8
    other = value_and_grad(american, argnums=(0, 1, 2, 3, 4), static_argnums=5)(*MARKET, levels)[1]
    np.testing.assert_allclose(slopes, other, rtol=1e-10)


def test_a_tree_of_500_levels_is_few_operations() -> None:
    price = value_and_grad(american, argnums=(0, 1, 2, 3, 4), static_argnums=5)
    price(*MARKET, 500)
    (form,) = price.report().forms
    assert form.operations < 500


# ---- what rounds do


def loop(step: Callable[..., Any], rounds: int = LEVELS) -> Callable[..., Any]:
    def f(x, a):
        for _ in range(rounds):
            x = step(x, a)
        return np.sum(x * np.arange(1.0, len(x) + 1)) + 0.5 * a

    return f


STEPS: dict[str, Callable[..., Any]] = {
    "sums": lambda x, a: 0.5 * x[1:] + a * x[:-1],
    "one end": lambda x, a: np.sin(x[1:]) * a,
    "the other end": lambda x, a: np.cos(x[:-1]) * a,
    "both ends": lambda x, a: 0.4 * (x[2:] + x[:-2]) + 0.1 * a * x[1:-1],
    "differences": lambda x, a: a * (x[1:] - x[:-1]),
    "quotients": lambda x, a: x[1:] / (a + x[:-1] ** 2),
    "shares": lambda x, a: x[1:] / x[:-1] + a,
    "roots": lambda x, a: np.sqrt(x[1:] * x[:-1]) + 0.01 * a,
    "logarithms": lambda x, a: 1.0 + np.log(x[1:]) * 0.5 + a * np.log(x[:-1]) ** 2,
    "powers": lambda x, a: 1.0 + 0.1 * x[1:] ** a + 0.1 * x[:-1] ** 1.5,
    "exponentials": lambda x, a: np.exp(-x[1:] * a) + np.expm1(0.1 * x[:-1]),
    "choices": lambda x, a: np.where(x[1:] > x[:-1], x[1:] * a, np.sqrt(x[:-1])),
    "masks": lambda x, a: np.where((x > 1.0)[1:] & (x < 2.0)[:-1], x[1:], a * x[:-1]),
    "extremes": lambda x, a: np.maximum(np.minimum(x[1:], 1.5), a * x[:-1]),
    "absolute": lambda x, a: np.abs(x[1:] - 1.2) + np.tanh(x[:-1]) * a,
    "whole": lambda x, a: np.floor(x[1:]) * a + x[:-1] * 0.5,
    "a mean": lambda x, a: x[1:] * a + 0.3 * np.mean(x[:-1]),
    "turned": lambda x, a: x[1:][::-1] * a + 0.3 * x[:-1],
    "uneven": lambda x, a: (x[1:] * a if len(x) % 3 else x[:-1] * 0.9),
}


@pytest.mark.parametrize("name", STEPS)
def test_rounds_give_what_python_gives(name: str) -> None:
    f = loop(STEPS[name])
    x, a = RNG.uniform(1.0, 2.0, 2 * LEVELS + 5), 0.7
    slopes = grad(f, argnums=(0, 1))
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        np.testing.assert_allclose(jit(f)(x, a), f(x, a), rtol=1e-12, atol=1e-290)
    made, slope = slopes(x, a)
    scale = np.abs(made).max() + abs(slope)
    for k in (0, 1, 40, len(x) - 2, len(x) - 1):
        h = np.eye(len(x))[k] * 1e-6
        assert made[k] == pytest.approx((f(x + h, a) - f(x - h, a)) / 2e-6, rel=1e-4, abs=1e-5 * scale)
    assert slope == pytest.approx((f(x, a + 1e-6) - f(x, a - 1e-6)) / 2e-6, rel=1e-5, abs=1e-6 * scale)


@pytest.mark.parametrize("name", [k for k in STEPS if k not in ("a mean", "turned", "uneven")])
def test_such_rounds_are_one(name: str) -> None:
    f: Any = jit(loop(STEPS[name], 80))
    f(RNG.uniform(1.0, 2.0, 165), 0.7)
    assert rolled(f)


@pytest.mark.parametrize("name", ["sums", "shares", "roots", "choices"])
def test_second_derivatives_of_rounds(name: str) -> None:
    f = loop(STEPS[name])
    x = RNG.uniform(1.0, 2.0, LEVELS + 4)
    slope = grad(f, argnums=1)
    twice = grad(slope, argnums=1)(x, 0.7)
    assert twice == pytest.approx((slope(x, 0.7 + 1e-6) - slope(x, 0.7 - 1e-6)) / 2e-6, rel=1e-5, abs=1e-9)


def test_what_grows_behind_the_end_is_never_seen() -> None:
    """Alternating sums of zeros and of what is there would be infinite after some 1,100 rounds."""
    f = loop(lambda x, a: (x[1:] - x[:-1]) * a + x[1:], 1200)
    x = 1e-3 + np.zeros(1210)
    value = jit(f)
    assert value(x, 2.0) == pytest.approx(f(x, 2.0)) and rolled(value)


def test_many_trees_at_once() -> None:
    def f(strikes, a):
        v = np.maximum(np.arange(61.0) - strikes[:, None], 0.0)
        for _ in range(60):
            v = a * v[:, 1:] + (1 - a) * v[:, :-1]
        return np.sum(v[:, 0] ** 2)

    slope = grad(f, argnums=(0, 1))
    strikes = np.array([20.5, 30.5, 40.5])
    by_strike, by_a = slope(strikes, 0.45)
    assert rolled(slope)
    wanted = [(f(strikes + h, 0.45) - f(strikes - h, 0.45)) / 2e-6 for h in np.eye(3) * 1e-6]
    np.testing.assert_allclose(by_strike, wanted, rtol=1e-6, atol=1e-8)
    assert by_a == pytest.approx((f(strikes, 0.45 + 1e-7) - f(strikes, 0.45 - 1e-7)) / 2e-7, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_kinds_of_numbers(dtype: type) -> None:
    def f(x):
        for _ in range(80):
            x = x[1:] - x[:-1] + x[1:] * dtype(2)
        return x

    x = np.asarray(RNG.integers(-3, 3, 85), dtype)
    made = jit(f)(x)
    assert made.dtype == dtype
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(made, f(x), rtol=1e-4)


def test_what_is_not_finite_stays_where_it_was() -> None:
    f = jit(loop(STEPS["sums"]))
    x = np.ones(LEVELS + 5)
    x[-1] = np.inf
    plain = loop(STEPS["sums"])
    assert np.isinf(f(x, 0.3)) and np.isinf(plain(x, 0.3))
    x[0] = np.nan
    assert np.isnan(f(x, 0.3))


# ---- where it is not done


def test_windows_of_a_long_array_are_no_shrinking_array() -> None:
    x = np.arange(10_000.0)

    def f(a):
        total = 0.0 * a
        for k in (5, 17, 1, 900, 4, 3, 77, 2, 8, 6, 1000, 12):
            total = total + np.sum(np.sin(a * x[k : k + 3]))
        return total

    total: Any = jit(f)
    total(0.1)
    assert evening.evened(total._latest.traced.graph) is None


def test_much_more_work_is_not_done() -> None:
    x = RNG.uniform(1.0, 2.0, 2000)

    def f(x, a):
        x = x[1:] * a
        x = x[1980:] * a
        for _ in range(15):
            x = a * x[1:] + x[:-1]
        return x[0]

    value: Any = jit(f)
    assert value(x, 0.3) == pytest.approx(f(x, 0.3))
    graph, _ = reroll.reroll(value._latest.traced.graph, 8)
    assert not any(2000 in v.type.shape for op in graph.body for v in op.results)


@pytest.mark.parametrize(("length", "short"), [(4, True), (15, True), (16, False), (60, False)])
def test_only_short_vectors_of_rounds_are_written_out(
    length: int, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Rows | None] = []

    def noted(*args: Any) -> Rows | None:
        made.append(straight.written_out(*args))
        return made[-1]

    monkeypatch.setattr(assemble, "written_out", noted)

    def f(x):
        for _ in range(100):
            x = x / np.sum(x) + 0.1 * x * x
        return x

    stepped: Any = jit(f)
    x = RNG.uniform(1.0, 2.0, length)
    np.testing.assert_allclose(stepped(x), f(x), rtol=1e-12)
    lower(optimize(stepped._latest.traced.graph), *written_for())
    assert any(made) == short
