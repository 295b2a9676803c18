"""Slices that end or begin at the number of a round, x[:i], A[i, i:] += y: rows under a mask, so loops stay loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, hessian, jit

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


def elimination_by_rows(A, b):
    A, b = A.copy(), b.copy()
    for k in range(len(b) - 1):
        for r in range(k + 1, len(b)):
            f = A[r, k] / A[k, k]
            A[r, k:] -= f * A[k, k:]
            b[r] -= f * b[k]
    return back_substitution(A, b)


def cholesky_by_columns(A, b):
    L = np.tril(A)
    for k in range(len(b)):
        L[k, k] = np.sqrt(L[k, k])
        L[k + 1 :, k] /= L[k, k]
        for j in range(k + 1, len(b)):
            L[j:, j] -= L[j:, k] * L[j, k]
    return L @ b


def stores_of_all_kinds(A, b):
    y, M = b.copy(), A.copy()
    for i in range(1, len(b) - 1):
        y[:i] *= 0.99
        y[i:] = 0.5 * y[i:] + b[i:]
        M[i, :i] = y[i]
        M[:, i + 1 :] += 0.01 * M[0, i + 1 :]
        M[i + 1 :] -= 0.001 * M[i]
        row = M[i - 1]
        row[i:] = np.sin(row[i:])
        y[i : 2 * i % 7 + i] = 0.1
    return M @ y + M[0]


def quotients_below(A, b):
    y = np.abs(b)
    for i in range(len(b)):
        y[i:] = np.sqrt(y[i:] / y[i])
        y[:i] = y[:i] ** 2 + b[0]
    return y


def elimination_by_products(A, b):
    A = A.copy()
    for k in range(len(b)):
        A[k + 1 :, k:] -= np.outer(A[k + 1 :, k] / A[k, k], A[k, k:])
    return A @ b


def elimination_by_columns(A, b):
    A, n = A.copy(), len(b)
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k][:, None] * A[k, k + 1 :]
    return A @ b


def products_of_blocks(A, b):
    A = A.copy()
    for k in range(1, len(b)):
        A[k:, k:] = np.sin(A[k:, k:] - 0.1 / len(b) * (A[k:, :k] @ A[:k, k:]) + np.sum(A[k:, :k]) * 1e-3)
        A[:k, k:] *= b[k:]
        A[k:, :k] = np.float32(0.5)
    return A @ b


def sums_of_blocks(A, b):
    B = np.zeros_like(A)
    for k in range(1, len(b)):
        B[k] = np.sum(A[:k, k:])
        B[k, :k] += np.sum(A[:k, :k], axis=1) + A[:k, :k] @ b[:k]
        B[:k, k] += np.sum(np.sin(A[:k, k:]), axis=-1)
    return B @ b


LOOPS = [
    back_substitution, forward_substitution, cholesky, means_so_far, elimination_by_rows, cholesky_by_columns,
    quotients_below, elimination_by_products, elimination_by_columns, products_of_blocks, sums_of_blocks,
]  # fmt: skip


@pytest.mark.parametrize("function", LOOPS)
def test_loops_over_rows_stay_loops(function: Callable[..., Any]) -> None:
    n = 40
    A = RNG.standard_normal((n, n))
    A, b, E, e = A @ A.T + n * np.eye(n), RNG.standard_normal(n), RNG.standard_normal((n, n)), RNG.standard_normal(n)

    def loss(A, b):
        return np.sum(function(A, b) ** 2)

    compiled: Any = jit(loss)
    np.testing.assert_allclose(compiled(A, b), loss(A, b), rtol=1e-12)
    assert len(compiled.ir("graph", A, b).splitlines()) < 300
    of_matrix, of_vector = grad(loss, argnums=(0, 1))(A, b)
    h = 1e-6
    want = (loss(A + h * E, b + h * e) - loss(A - h * E, b - h * e)) / (2 * h)
    assert np.sum(of_matrix * E) + of_vector @ e == pytest.approx(want, rel=1e-6)


def test_stores_of_all_kinds() -> None:
    n = 20
    A, b, e = RNG.standard_normal((n, n)), RNG.standard_normal(n), RNG.standard_normal(n)
    loss = lambda b: np.sum(stores_of_all_kinds(A, b) ** 2)  # noqa: E731
    np.testing.assert_allclose(jit(loss)(b), loss(b), rtol=1e-12)
    h = 1e-6
    assert grad(loss)(b) @ e == pytest.approx((loss(b + h * e) - loss(b - h * e)) / (2 * h), rel=1e-6)
    for f, given in ((loss, grad(loss)), (grad(loss), lambda b: hessian(loss)(b) @ e)):
        want = (np.asarray(f(b + 1e-5 * e)) - np.asarray(f(b - 1e-5 * e))) / 2e-5
        made = given(b) @ e if f is loss else given(b)
        np.testing.assert_allclose(made, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("function", [elimination_by_products, products_of_blocks, sums_of_blocks])
def test_blocks_are_right_to_second_order(function: Callable[..., Any]) -> None:
    n = 7
    A, b, e = RNG.standard_normal((n, n)) + 4 * np.eye(n), RNG.standard_normal(n), RNG.standard_normal((n, n))
    loss = lambda A: np.sum(np.sin(function(A, b)))  # noqa: E731
    made = np.tensordot(hessian(loss)(A), e, 2)
    want = (grad(loss)(A + 1e-5 * e) - grad(loss)(A - 1e-5 * e)) / 2e-5
    np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-6)


def test_what_lies_beside_blocks_is_no_zero_to_divide_by() -> None:
    def f(A: Any) -> Any:
        y = np.zeros(len(A))
        for k in range(1, len(A)):
            y[:k] = 0.5 * y[:k] + 1.0 / (A[:k, :k] @ A[0, :k]) + 1.0 / np.sum(A[:k, k:], axis=1)
        return np.sum(np.sqrt(y))

    A, e = 1 + RNG.random((20, 20)), RNG.standard_normal((20, 20))
    want = (f(A + 1e-6 * e) - f(A - 1e-6 * e)) / 2e-6
    assert np.sum(grad(f)(A) * e) == pytest.approx(want, rel=1e-6)
    assert len(jit(f).ir("graph", A).splitlines()) < 300  # type: ignore[attr-defined]


def test_masks_of_two_axes_cross() -> None:
    def f(x: Any) -> Any:
        both = np.outer(x[x > 0], np.exp(x[x < 1]))
        return np.sum(both / (1 + both))

    for x in (np.array([-1.0, 0.5, 2.0, 0.3]), np.array([-1.0, -2.0]), np.array([2.0, 3.0])):
        np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-14)
        want = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))]
        np.testing.assert_allclose(grad(f)(x), want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
def test_stores_keep_the_dtype(dtype: Any) -> None:
    def f(x: Any) -> Any:
        y = (np.arange(40) * x).astype(dtype)
        for i in range(40):
            y[i:] = y[i:] + i
            y[:i] += 1
        return y

    made = jit(f)(1.5)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, f(1.5))


def test_what_numpy_refuses_to_store() -> None:
    def cast(x: Any) -> Any:
        y = np.arange(40) * int(x)
        for i in range(1, 40):
            y[:i] += 0.5
        return y

    def broadcast(x: Any) -> Any:
        y = np.arange(40.0) * x
        for i in range(1, 40):
            y[:i] = np.ones(2) * x
        return y

    for f, error in ((cast, TypeError), (broadcast, ValueError)):
        for each in (f, jit(f)):
            with pytest.raises(error):
                each(2.0)


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


def changed_in_place(x, n):
    y = np.zeros(n) + x
    for i in range(n):
        part = y[:i]
        part *= 1.01
    return np.sum(y)


def block_kept(x, n):
    y = np.zeros((n, n)) + x
    for i in range(1, n):
        before = y[:i, i:]
        y[0] = y[0] * 1.01
        y[i] = np.sum(before) * 0.01 + x
    return np.sum(y)


def stored_into(x, n):
    y = np.zeros((n, 2)) + x
    for i in range(n):
        before, y[:i] = y[i:], 0.9 * y[:i]
        y[0] += 0.1 * np.sum(before)
    return np.sum(y)


def from_the_end(x, n):
    y = np.zeros(n)
    y[0] = x
    for i in range(n):
        y[i] = 0.1 * np.sum(y[: i - 2]) + np.sum(y[-i:]) + x  # counts from the end in the first rounds
    return np.sum(y)


@pytest.mark.parametrize(
    "function", [kept, kept_turned, block_kept, in_a_list, changed_in_place, stored_into, from_the_end]
)
def test_views_see_stores_and_negative_ends_count_from_the_end(function: Callable[..., Any]) -> None:
    n = 30
    np.testing.assert_allclose(jit(lambda x: function(x, n))(0.3), function(0.3, n), rtol=1e-12)
    want = (function(0.3 + 1e-6, n) - function(0.3 - 1e-6, n)) / 2e-6
    np.testing.assert_allclose(grad(lambda x: function(x, n))(0.3), want, rtol=1e-6)
