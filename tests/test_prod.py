"""Products of elements: np.prod and np.cumprod over axes, with zeros among the factors, to second order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from pullback import grad, hessian, jacfwd, jacrev, vmap

SHAPES = [(2, 2), (2, 3), (4, 1), (5, 2), (2, 2, 2), (3, 1, 2), (7,)]


def drawn(shape: tuple[int, ...], zeros: int) -> np.ndarray:
    """Numbers of which so many are 0."""
    x = np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape)
    x.reshape(-1)[:zeros] = 0.0
    return x


def slopes(x: np.ndarray, without: tuple[int, ...] = ()) -> np.ndarray:
    """The product of all others for each element."""
    flat = x.reshape(-1)
    skip = [[*without, k] for k in range(flat.size)]
    return np.array([np.prod(np.delete(flat, s)) for s in skip]).reshape(x.shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("zeros", [0, 2])
def test_products_of_all_elements(shape: tuple[int, ...], zeros: int) -> None:
    x = drawn(shape, zeros)
    np.testing.assert_allclose(grad(np.prod)(x), slopes(x), rtol=1e-14)
    np.testing.assert_allclose(grad(lambda x: np.prod(np.exp(x)))(x), np.full(shape, np.prod(np.exp(x))), rtol=1e-13)
    full, size = hessian(np.prod)(x).reshape(x.size, x.size), x.size
    wanted = np.array([0.0 if i == j else np.prod(np.delete(x.reshape(-1), [i, j]))
                       for i, j in product(range(size), repeat=2)])
    np.testing.assert_allclose(full, wanted.reshape(size, size), rtol=1e-13)
    lanes = vmap(grad(np.prod))(np.stack([x, x + 1]))
    np.testing.assert_allclose(lanes, np.stack([slopes(x), slopes(x + 1)]), rtol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, (0, 2), (1, 2), -1])
@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 3)])
def test_products_over_axes(shape: tuple[int, ...], axis: Any) -> None:
    x = drawn(shape, 1)
    for keepdims in (False, True):
        def f(x: Any, keepdims: bool = keepdims) -> Any:
            return np.sum(np.prod(x, axis=axis, keepdims=keepdims) ** 2)

        made, h = grad(f)(x), 1e-20
        for at in np.ndindex(shape):
            shifted = x.astype(complex)
            shifted[at] += h * 1j
            assert np.isclose(made[at], f(shifted).imag / h, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_running_products(jacobian: Callable[..., Any]) -> None:
    for zeros in (0, 1, 2):
        x = drawn((5,), zeros)
        wanted = np.array([[np.prod(np.delete(x[: i + 1], j)) if j <= i else 0.0 for j in range(5)] for i in range(5)])
        np.testing.assert_allclose(jacobian(np.cumprod)(x), wanted, rtol=1e-14)
    x = drawn((3, 4), 2)
    rows = jacobian(lambda x: np.cumprod(x, axis=0))(x)
    for i, j in product(range(3), range(4)):
        np.testing.assert_allclose(rows[i, j, : i + 1, j], slopes(x[: i + 1, j]), rtol=1e-14)
        assert np.count_nonzero(rows[i, j]) <= i + 1
