"""Arrays filled with traced values: by np.full and its kin in rules and lanes, and by loops under jvp and jacfwd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import custom_jvp, custom_vjp, grad, hessian, jacfwd, jit, jvp, vmap

X = np.array([1.0, 2.0, 3.0])


def full(n, c):
    return np.full(n, c)


def full_by_name(n, c):
    return np.full(shape=(n,), fill_value=c, dtype=np.float64)


def full_like(n, c):
    return np.full_like(np.ones(n), c)


def copied(n, c):
    z = np.empty(n)
    np.copyto(z, c)
    return z


def looped(n, c):
    z = np.zeros(n)
    for i in range(n):
        z[i] = c
    return z


@pytest.mark.parametrize("fill", [full, full_by_name, full_like, copied, looped])
def test_filling_with_a_traced_value_in_rules(fill: Callable[..., Any]) -> None:
    @custom_vjp
    def total(x):
        return np.sum(x)

    total.defvjp(lambda x: (total(x), x), lambda x, ct: (fill(x.shape[0], ct),))

    @custom_jvp
    def pushed(x):
        return np.sum(x)

    pushed.defjvp(lambda p, t: (pushed(p[0]), np.sum(fill(p[0].shape[0], 1.0) * t[0])))

    def branched(x):
        y = 0.0
        for _ in range(3):
            if x[0] > 0.0:
                y = y + total(x * x)
        return y

    for f in (total, pushed):
        for x in (X, np.ones(40), np.ones(50)):
            assert np.array_equal(grad(lambda x, f=f: f(x * x))(x), 2 * x)
        assert np.array_equal(jit(grad(lambda x, f=f: f(x * x)))(X), 2 * X)
        np.testing.assert_allclose(hessian(lambda x, f=f: f(x**3))(X), np.diag(6 * X), rtol=1e-14)
        assert np.array_equal(vmap(grad(lambda x, f=f: f(x * x)))(np.ones((2, 3))), np.full((2, 3), 2.0))
    assert np.array_equal(grad(branched)(X), 6 * X)


@pytest.mark.parametrize("fill", [full, full_by_name, full_like, copied, looped])
def test_filling_with_a_traced_value(fill: Callable[..., Any]) -> None:
    assert np.array_equal(jit(lambda x: fill(3, x[1]))(X), np.full(3, 2.0))
    assert np.array_equal(grad(lambda x: np.sum(fill(3, x[0]) * x))(X), [7.0, 1.0, 1.0])
    assert np.array_equal(vmap(lambda c: fill(2, c))(X), np.repeat(X, 2).reshape(3, 2))


def running(x):
    z = np.zeros(len(x))
    for i in range(len(x)):
        z[i] = x[i] ** 2 + (z[i - 1] if i > 0 else 0.0)
    return z


def test_derivatives_of_a_helper_that_fills_an_array() -> None:
    x = np.linspace(1.0, 2.0, 40)
    wanted = np.tril(np.ones((40, 40))) * 2 * x

    def closed(x):
        def inner(y):
            z = np.zeros(len(y))
            for i in range(len(y)):
                z[i] = y[i] ** 2 + (z[i - 1] if i > 0 else 0.0)
            return z

        return jacfwd(inner)(x)

    def repeated(x):
        s = 0.0
        for _ in range(3):
            s = s + np.sum(jvp(running, (x,), (x,))[1])
        return s

    np.testing.assert_allclose(jit(lambda x: jacfwd(running)(x))(x), wanted, rtol=1e-14)
    np.testing.assert_allclose(jit(closed)(x), wanted, rtol=1e-14)
    np.testing.assert_allclose(jit(lambda x: jvp(lambda y: 2 * running(y), (x,), (x,))[1])(x), 2 * wanted @ x)
    np.testing.assert_allclose(jit(repeated)(x), 3 * np.sum(wanted @ x))
    np.testing.assert_allclose(grad(repeated)(x), 12 * (40.0 - np.arange(40)) * x)
