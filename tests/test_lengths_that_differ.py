"""Unrolled loops over arrays of many lengths: known arrays, stores, sums, products; numbers and slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, hessian, value_and_grad
from pullback.compiler.ops.control import scan
from pullback.compiler.passes.loops import known

NODES = np.linspace(0.0, 1.0, 61)
SYSTEM = np.tril(np.random.default_rng(5).standard_normal((50, 50)) * 0.1) + 2 * np.eye(50)


def _model(x: Any, n: int) -> Any:
    dt = 1 / n
    u = np.exp(x[1] * np.sqrt(dt))
    return u, (np.exp(x[2] * dt) - 1 / u) / (u - 1 / u), np.exp(-x[2] * dt)


def american(x: Any, n: int = 100) -> Any:
    u, p, disc = _model(x, n)
    v = np.maximum(95.3 - x[0] * u ** np.arange(n, -n - 1, -2), 0)
    for k in range(n - 1, -1, -1):
        v = np.maximum(95.3 - x[0] * u ** np.arange(k, -k - 1, -2), disc * (p * v[:-1] + (1 - p) * v[1:]))
    return v[0]


def two_powers(x: Any, n: int = 100) -> Any:
    u, p, disc = _model(x, n)
    d = 1 / u
    v = np.maximum(95.3 - x[0] * u ** np.arange(n, -1, -1) * d ** np.arange(0, n + 1), 0)
    for k in range(n - 1, -1, -1):
        s = x[0] * u ** np.arange(k, -1, -1) * d ** np.arange(0, k + 1)
        v = np.maximum(95.3 - s, disc * (p * v[:-1] + (1 - p) * v[1:]))
    return v[0]


def dividend(x: Any, n: int = 100) -> Any:
    u, p, disc = _model(x, n)
    v = np.maximum(95.3 - x[0] * u ** np.arange(n, -n - 1, -2), 0)
    for k in range(n - 1, -1, -1):
        paid = 2 * np.exp(-x[2] * (0.5 - k / n)) if k / n < 0.5 else 0.0
        s = x[0] * u ** np.arange(k, -k - 1, -2) + paid
        v = np.maximum(95.3 - s, disc * (p * v[:-1] + (1 - p) * v[1:]))
    return v[0]


def stored(x: Any, n: int = 100) -> Any:
    u, p, disc = _model(x, n)
    v = np.maximum(95.3 - x[0] * u ** np.arange(n, -n - 1, -2), 0)
    for k in range(n - 1, -1, -1):
        v[: k + 1] = disc * (p * v[: k + 1] + (1 - p) * v[1 : k + 2])
        v[: k + 1] = np.maximum(v[: k + 1], 95.3 - x[0] * u ** np.arange(k, -k - 1, -2))
    return v[0]


def trinomial(x: Any, n: int = 100) -> Any:
    dt = 1 / n
    dx, nu = x[1] * np.sqrt(3 * dt), x[2] - 0.5 * x[1] ** 2
    a, b = (x[1] ** 2 * dt + nu**2 * dt**2) / dx**2, nu * dt / dx
    s = x[0] * np.exp(dx * np.arange(n, -n - 1, -1))
    v = np.maximum(95.3 - s, 0)
    for _ in range(n):
        v = np.exp(-x[2] * dt) * ((a + b) / 2 * v[:-2] + (1 - a) * v[1:-1] + (a - b) / 2 * v[2:])
        s = s[1:-1]
        v = np.maximum(v, 95.3 - s)
    return v[0]


def summed(x: Any) -> Any:
    v, total = x * np.cos(np.arange(130.0).reshape(-1, 1) * 0.1), 0.0
    v = v.sum(axis=1)
    while len(v) > 1:
        v = np.sin(v[1:]) * v[:-1]
        total = total + v.sum()
    return total


def substituted(x: Any) -> Any:
    b = np.outer(np.cos(np.arange(50.0)), x).sum(axis=1)
    found = np.zeros(50)
    for k in range(50):
        found[k] = (b[k] - np.dot(SYSTEM[k, :k], found[:k])) / SYSTEM[k, k]
    return np.sum(found**2)


def differences(x: Any) -> Any:
    v, total = x[0] * np.cos(x[1] * np.arange(60.0)) + x[2], 0.0
    for k in range(50):
        v = np.diff(v)
        total = total + v[0] * 0.3**k
    return total


def interpolated(x: Any) -> Any:
    p = np.sin(x[0] * NODES) + x[1] * NODES + x[2]
    for k in range(1, 61):
        p = ((0.431 - NODES[k:]) * p[:-1] + (NODES[:-k] - 0.431) * p[1:]) / (NODES[:-k] - NODES[k:])
    return p[0]


POINTS = {
    american: (100.0, 0.2, 0.03), two_powers: (100.0, 0.2, 0.03), dividend: (100.0, 0.2, 0.03),
    stored: (100.0, 0.2, 0.03), trinomial: (100.0, 0.2, 0.03), summed: (0.9, 0.2, 0.3),
    substituted: (0.9, 0.2, 0.3), differences: (1.1, 0.4, 0.3), interpolated: (2.0, 0.4, 0.3),
}  # fmt: skip


@pytest.mark.parametrize("function", POINTS, ids=lambda f: f.__name__)
def test_values_and_slopes(function: Callable[..., Any]) -> None:
    x = np.array(POINTS[function])
    made = value_and_grad(function)
    value, slope = made(x)
    assert value == pytest.approx(function(x), rel=1e-12)
    for k, h in enumerate(np.abs(x) * 1e-6):
        step = np.eye(3)[k] * h
        assert slope[k] == pytest.approx((function(x + step) - function(x - step)) / (2 * h), rel=2e-6, abs=1e-7)


@pytest.mark.parametrize("function", [american, stored, trinomial, summed, substituted], ids=lambda f: f.__name__)
def test_it_is_a_loop(function: Callable[..., Any]) -> None:
    made: Any = grad(function)
    made(np.array(POINTS[function]))
    assert any(op.prim is scan for op in made._latest.traced.graph.body)
    assert len(made._latest.traced.graph.body) < 250


@pytest.mark.parametrize("function", [american, stored, substituted], ids=lambda f: f.__name__)
def test_second_derivatives(function: Callable[..., Any]) -> None:
    x, size = np.array(POINTS[function]), () if function is substituted else (12,)
    first, second = grad(lambda x: function(x, *size)), hessian(lambda x: function(x, *size))(x)
    for k, h in enumerate(np.abs(x) * 1e-6):
        step = np.eye(3)[k] * h
        assert second[k] == pytest.approx((first(x + step) - first(x - step)) / (2 * h), rel=2e-4, abs=1e-4)


def test_a_long_chain_is_no_deep_recursion() -> None:
    def chain(x: Any) -> Any:
        v = np.cos(x[0] * np.arange(8.0))
        for k in range(400):
            v = np.sin(v) + (x[1] if k % 3 else x[2]) * v**2 / (k + 2)
        return v.sum()

    x = np.array([0.3, 0.1, 0.2])
    first, second = grad(chain), hessian(chain)(x)
    for k in range(3):
        step = np.eye(3)[k] * 1e-6
        assert second[k] == pytest.approx((first(x + step) - first(x - step)) / 2e-6, rel=1e-5, abs=1e-6)


def test_known_arrays_of_one_use_meet_nothing_else() -> None:
    """A vector has no elements at which what is done to it would be infinite."""
    bases = [np.linspace(0.0, 1.0, k) for k in range(110, 2, -1)]

    def roots(x: Any) -> Any:
        v, total = np.sin(x * np.arange(111.0)), 0.0
        for k, base in enumerate(bases):
            v = np.tanh(v[1:] * v[:-1]) if k % 2 else v[1:] - np.exp(x * base) / (1 + x * base)
            total = total + v.sum()
        return total + sum(np.log(x * (1 + base)).sum() for base in bases)

    slope = grad(roots)(0.7)
    assert slope == pytest.approx((roots(0.7 + 1e-6) - roots(0.7 - 1e-6)) / 2e-6, rel=1e-7)


def test_what_a_captured_array_becomes_is_seen() -> None:
    weights = [np.full(k, 0.5) for k in range(110, 0, -1)]

    def folded(x: Any) -> Any:
        v = x * np.ones(111)
        for w in weights:
            v = np.tanh(w * v[1:] + v[:-1])
        return v[0]

    made = value_and_grad(folded)
    for factor in (1.0, 0.9):
        for w in weights:
            w[:] = 0.5 * factor
        value, slope = made(0.3)
        assert value == pytest.approx(folded(0.3), rel=1e-12)
        assert slope == pytest.approx((folded(0.3 + 1e-6) - folded(0.3 - 1e-6)) / 2e-6, rel=1e-6)


def test_few_known_arrays_stay() -> None:
    def little(x: Any) -> Any:
        return np.sum(x * np.arange(3.0)) + np.sum(x * np.arange(5.0))

    made: Any = grad(little)
    made(1.0)
    traced = made._latest.traced
    assert known.put_together(traced.graph, traced.extras) is None


def _random_program(seed: int) -> Callable[..., Any]:
    """Rounds over arrays that shorten by one or two, and meet what is known, made, summed, stored or reversed."""
    rng = np.random.default_rng(seed)
    n, rounds, step = int(rng.integers(98, 125)), int(rng.integers(20, 60)), int(rng.integers(1, 3))
    kinds, c, stores = rng.integers(0, 6, size=4), rng.normal(size=3) * 0.4, rng.integers(0, 3)
    base, known_ones, signs = rng.normal(size=(3, n + 1))

    def program(x: Any) -> Any:
        v, s, total = np.tanh(x[0] * base) + x[1], np.exp(-x[2] * base * 0.2), 0.0
        w = np.sin(base * x[1])
        for k in range(rounds):
            m = len(v) - step
            t = c[0] * v[step:] + c[1] * v[:-step]
            for kind in kinds:
                if kind == 0:
                    t = np.maximum(t, c[2] * s[:m])
                elif kind == 1:
                    t = t + 0.1 * np.log(1.5 + np.abs(known_ones[:m]) * x[2] ** 2)
                elif kind == 2:
                    total = total + 0.1 * t.sum()
                elif kind == 3:
                    total = total + 0.05 * np.dot(t, w[k : k + m] if k + m <= n + 1 else w[:m])
                elif kind == 4 and k % 5 + m <= n + 1:
                    t = t * np.where(signs[k % 5 : k % 5 + m] > 0, 1.0, 0.7)
                elif kind == 5:
                    t = t / (1.2 + s[-m:] ** 2) - 0.1 * x[0] * known_ones[:m][::-1]
            if stores == 1:
                v = v.copy()
                v[:m] = t
                v = v[:m]
            elif stores == 2:
                t[: m - 1] = t[: m - 1] * 0.9
            v = t
        return total + v.sum() + v[0] * x[0]

    return program


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    function, x = _random_program(seed), np.array([0.6, 0.3, 0.8])
    value, slope = value_and_grad(function)(x)
    assert value == pytest.approx(function(x), rel=1e-10)
    for k in range(3):
        step = np.eye(3)[k] * 1e-6
        assert slope[k] == pytest.approx((function(x + step) - function(x - step)) / 2e-6, rel=2e-5, abs=1e-6)
