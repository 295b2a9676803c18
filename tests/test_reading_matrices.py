"""Compiled functions as matrix expressions: what is read out is compiled again, and compared with what they return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

from pullback import grad, hessian, jit, lambdify
from pullback.runtime.symbolic.readout.writing import NoExpression

rng = np.random.default_rng(0)
A, B, b = rng.normal(size=(12, 12)) + 4 * np.eye(12), rng.normal(size=(12, 5)), rng.normal(size=12)

FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "a quadratic form": (lambda x, A: x @ A @ x, (b, A)),
    "a solution": (lambda A, x: np.linalg.solve(A, x) @ x, (A, b)),
    "an inverse": (lambda A: np.sum(np.linalg.inv(A) ** 2), (A,)),
    "a trace": (lambda A: np.trace(A @ A), (A,)),
    "determinants": (lambda A: np.linalg.slogdet(A)[1] + np.linalg.det(A), (A,)),
    "ridge regression": (lambda x, A: np.sum((A @ x - 1) ** 2) + 0.5 * np.sum(x**2), (b, A)),
    "a layer": (lambda A, x: np.sum(np.tanh(A @ x)), (A, b)),
    "broadcasting": (lambda x, A: np.sum(A * x / 3 + x[:, None] * 2), (b, A)),
    "a product of two": (lambda B, A: np.sum((A @ B) * (A @ B)), (B, A)),
    "a norm": (lambda A: np.sqrt(np.sum(A * A)), (A,)),
    "a norm of a vector": (lambda x: np.sqrt(np.sum(x * x)) * np.mean(x), (b,)),
    "a Gaussian process": (lambda A, x: 0.5 * x @ np.linalg.solve(A, x) + 0.5 * np.linalg.slogdet(A)[1], (A, b)),
    "a column": (lambda x, A: A.T @ np.exp(x) / 3 + x, (b, A)),
    "means": (lambda A: np.mean(A, axis=0) - np.sum(A, axis=1), (A,)),
    "an outer product": (lambda x: np.outer(x, x) @ x, (b,)),
    "a block": (lambda A: A[1:3, 2:4] * 2, (A,)),
    "quotients": (lambda A, x: 1 / (A * A + 1) + np.outer(x, x) / (1 + A * A), (A, b)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_round_trip(name: str) -> None:
    function, given = FUNCTIONS[name]
    compiled = jit(function)
    names = compiled.argument_names(len(given))  # type: ignore[attr-defined]
    sizes = [x.shape if x.ndim == 2 else (x.shape[0], 1) for x in given]
    symbols = [sp.MatrixSymbol(n, *size) for n, size in zip(names, sizes, strict=True)]
    for each in (compiled, *([grad(function)] if not np.ndim(function(*given)) else [])):
        made = each.sympy(*given, matrices=True)  # type: ignore[attr-defined]
        assert made.free_symbols <= set(symbols)
        want = np.asarray(each(*given))
        got = np.reshape(lambdify(symbols, made)(*given), want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


def test_it_is_legible() -> None:
    S, x = sp.MatrixSymbol("A", 12, 12), sp.MatrixSymbol("x", 12, 1)
    assert grad(FUNCTIONS["a quadratic form"][0]).sympy(b, A, matrices=True) == S * x + S.T * x  # type: ignore[attr-defined]
    assert jit(lambda A: np.trace(A @ A)).sympy(A, matrices=True) == sp.Trace(S * S)  # type: ignore[attr-defined]
    made = jit(lambda A, x: np.linalg.solve(A, x)).sympy(A, b, matrices=True)  # type: ignore[attr-defined]
    assert made == S.I * x
    said = grad(lambda A: np.linalg.slogdet(A)[1]).latex(A, matrices=True)  # type: ignore[attr-defined]
    assert r"\left(A^{T}\right)^{-1}" in said


def test_what_is_no_matrix_expression_is_refused_where_it_stands() -> None:
    for function in (lambda x: np.cumsum(x), lambda x: np.where(x > 0, x, 2.0)[::-1], lambda x: np.sort(x)):
        with pytest.raises(NoExpression, match=r"matrices=True.* at .*test_reading_matrices"):
            jit(function).sympy(b, matrices=True)  # type: ignore[attr-defined]
    with pytest.raises(NoExpression, match="numbers, vectors and matrices"):
        jit(lambda x: np.sum(x)).sympy(np.ones((2, 2, 2)), matrices=True)  # type: ignore[attr-defined]


M, weights = A[:3, :3], np.array([1.0, -2.0, 0.5])

BATCHES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "the Hessian of a solution": (hessian(lambda A, x: np.linalg.solve(A, x) @ weights), (M, weights + 1)),
    "the Hessian of an inverse": (hessian(lambda A: (np.linalg.inv(A) @ weights)[1]), (M,)),
    "the Hessian of a determinant": (hessian(lambda A: np.linalg.det(A)), (M,)),
    "inverses of many": (jit(lambda A: np.linalg.inv(A)), (np.stack([M + k * np.eye(3) for k in range(20)]),)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_matrices_of_a_batch_are_read_by_their_number(name: str) -> None:
    function, given = BATCHES[name]
    again = lambdify(["A", "x"][: len(given)], function.sympy(*given))
    np.testing.assert_allclose(again(*given), function(*given), rtol=1e-12, atol=1e-14)
