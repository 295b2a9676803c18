"""Slices that end or begin at the number of a round, x[:i] and A[i, i + 1:]: rows under a mask, so loops stay loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit

RNG = np.random.default_rng(4)


def back_substitution(A, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def forward_substitution(A, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        x[i] = (b[i] - np.dot(A[i, :i], x[:i])) / A[i, i]
    return x


def cholesky(A, b):
    n = len(b)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j] - np.sum(L[i, :j] * L[j, :j])
            L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
    return L @ b


def means_so_far(A, b):
    x = np.ones(len(b))
    for i in range(1, len(b)):
        x[i] = 0.5 * np.mean(x[:i]) + np.max(b[:i]) - 0.01 * len(x[:i])
    return x


@pytest.mark.parametrize("function", [back_substitution, forward_substitution, cholesky, means_so_far])
def test_loops_over_rows_stay_loops(function: Callable[..., Any]) -> None:
    n = 40
    A = RNG.standard_normal((n, n))
    A, b, E, e = A @ A.T + n * np.eye(n), RNG.standard_normal(n), RNG.standard_normal((n, n)), RNG.standard_normal(n)

    def loss(A, b):
        return np.sum(function(A, b) ** 2)

    compiled: Any = jit(loss)
    np.testing.assert_allclose(compiled(A, b), loss(A, b), rtol=1e-12)
    assert len(compiled.ir("graph", A, b).splitlines()) < 200
    of_matrix, of_vector = grad(loss, argnums=(0, 1))(A, b)
    h = 1e-6
    want = (loss(A + h * E, b + h * e) - loss(A - h * E, b - h * e)) / (2 * h)
    assert np.sum(of_matrix * E) + of_vector @ e == pytest.approx(want, rel=1e-6)


def kept(x, n):
    y = np.zeros(n)
    y[0] = x
    for i in range(1, n):
        before = y[:i]
        y[0] = y[0] * 1.01
        y[i] = np.sum(before) * 0.05 + x
    return np.sum(y)


def kept_turned(x, n):
    y = np.zeros((n, 2))
    y[0] = x
    for i in range(1, n):
        before = y[:i].T
        y[0, 0] = y[0, 0] * 1.01
        y[i] = np.sum(before) * 0.05 + x
    return np.sum(y)


def in_a_list(x, n):
    y = np.zeros(n)
    y[0] = x
    for i in range(1, n):
        parts = [y[:i]]
        y[0] = y[0] * 1.01
        y[i] = np.sum(parts[0]) * 0.05 + x
    return np.sum(y)


def from_the_end(x, n):
    y = np.zeros(n)
    y[0] = x
    for i in range(n):
        y[i] = 0.1 * np.sum(y[: i - 2]) + np.sum(y[-i:]) + x  # counts from the end in the first rounds
    return np.sum(y)


@pytest.mark.parametrize("function", [kept, kept_turned, in_a_list, from_the_end])
def test_views_see_stores_and_negative_ends_count_from_the_end(function: Callable[..., Any]) -> None:
    n = 30
    np.testing.assert_allclose(jit(lambda x: function(x, n))(0.3), function(0.3, n), rtol=1e-12)
    want = (function(0.3 + 1e-6, n) - function(0.3 - 1e-6, n)) / 2e-6
    np.testing.assert_allclose(grad(lambda x: function(x, n))(0.3), want, rtol=1e-6)
