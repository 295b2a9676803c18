"""Factors L D L' are torch's, pivots and all, and solve; what has no Cholesky factor says so."""

from typing import Any

import numpy as np
import pytest
import torch

import pullback

SIZES = [0, 1, 2, 3, 7, 40]


def matrices(n: int, dtype: str, hermitian: bool) -> np.ndarray:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(2, n, n)) + (1j * rng.normal(size=(2, n, n)) if dtype == "complex128" else 0)
    a = a + (a.conj() if hermitian else a).swapaxes(-1, -2)
    a[:, np.arange(1, n, 3), np.arange(1, n, 3)] = 0  # so that blocks of two rows are needed
    return a.astype(dtype)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("n", SIZES)
def test_factors(n: int, dtype: str, hermitian: bool) -> None:
    a, right = matrices(n, dtype, hermitian), np.ones((2, n, 3), dtype)
    mine = pullback.linalg.ldl_factor(pullback.tensor(a), hermitian=hermitian)
    yours = torch.linalg.ldl_factor(torch.tensor(a), hermitian=hermitian)
    tolerance = {"float32": 2e-3}.get(dtype, 1e-10)
    assert mine.pivots.tolist() == yours.pivots.tolist() and str(mine.pivots.dtype) == str(yours.pivots.dtype)
    np.testing.assert_allclose(mine.LD.numpy(), yours.LD.numpy(), rtol=tolerance, atol=tolerance)
    x = pullback.linalg.ldl_solve(*mine, pullback.tensor(right), hermitian=hermitian)
    np.testing.assert_allclose(a @ x.numpy(), right, rtol=tolerance, atol=tolerance)
    made = pullback.linalg.ldl_factor_ex(pullback.tensor(a), hermitian=hermitian)
    assert made.info.tolist() == [0, 0] and type(made).__name__ == "linalg_ldl_factor_ex"


def test_solutions_have_the_slope_of_the_right_side() -> None:
    a = pullback.tensor(matrices(4, "float64", False)[0])
    b = pullback.rand(4, 1, dtype=pullback.float64, requires_grad=True)
    made = [pullback.linalg.ldl_solve(*pullback.linalg.ldl_factor(a), b), pullback.linalg.solve(a, b)]
    slopes = [pullback.autograd.grad(x.pow(2).sum(), b)[0].numpy() for x in made]
    np.testing.assert_allclose(*slopes, rtol=1e-12)


def refused(t: Any) -> list[Any]:
    eye = t.eye(2)
    factors = t.linalg.ldl_factor(eye)
    return [
        lambda: t.linalg.ldl_factor(t.zeros(2, 2)), lambda: t.linalg.ldl_factor(t.ones(2, 3)),
        lambda: t.linalg.ldl_factor_ex(t.zeros(2, 2), check_errors=True),
        lambda: t.linalg.ldl_factor(t.ones(2, 2, dtype=t.int64)), lambda: t.linalg.ldl_solve(*factors, t.ones(3, 1)),
        lambda: t.linalg.ldl_solve(*factors, t.ones(2, 1, dtype=t.float64)),
        lambda: t.linalg.ldl_solve(factors[0], factors[1][:1], t.ones(2, 1)),
        lambda: t.linalg.ldl_factor(t.eye(2, requires_grad=True))[0].sum().backward(),
        lambda: t.linalg.cholesky(eye * float("nan")),
    ]  # fmt: skip


@pytest.mark.parametrize("n", range(len(refused(pullback))))
def test_errors(n: int) -> None:
    for t in (pullback, torch):
        with pytest.raises(RuntimeError):
            refused(t)[n]()


def test_what_is_no_number_has_no_factor() -> None:
    a = [[1.0, 0.0], [0.0, float("nan")]]
    assert [int(t.linalg.cholesky_ex(t.tensor(a)).info) for t in (pullback, torch)] == [2, 2]
