"""Products and logarithms of sums of all rows up to each: PyTorch's values and slopes, in order and by doubling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback
from pullback.runtime.tensor.ops.folds.running import LONG, WIDE

torch = pytest.importorskip("torch")

SHAPES = [((7,), 0), ((3, 5), 1), ((3, 5, 4), 1), ((LONG + 6, WIDE - 5), 0)]


def derivatives(t: Any, name: str, x: np.ndarray, dim: int) -> list[np.ndarray]:
    """The value, and what a weighted sum of it gives to first and to second order."""
    given = t.tensor(x, requires_grad=True)
    made = getattr(t, name)(given, dim)
    weights = t.tensor(np.cos(np.arange(x.size)).reshape(x.shape))
    (first,) = t.autograd.grad((made * weights).sum(), given, create_graph=True)
    (second,) = t.autograd.grad((first * first).sum(), given)
    return [np.asarray(each.detach().numpy()) for each in (made, first, second)]


@pytest.mark.parametrize("name", ["cumprod", "logcumsumexp"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_rows_up_to_each(name: str, shape: tuple[int, ...], dim: int) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    x = x * 20 if name == "logcumsumexp" else 1 + x / 30
    for got, want in zip(derivatives(pullback, name, x, dim), derivatives(torch, name, x, dim), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-11)


def test_a_factor_that_is_zero() -> None:
    x = np.array([2.0, 0.0, 3.0, 0.5])
    for got, want in zip(derivatives(pullback, "cumprod", x, 0), derivatives(torch, "cumprod", x, 0), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", ["cumprod", "logcumsumexp"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (4, 1), (4, 0)])
def test_a_row_or_none(name: str, shape: tuple[int, ...]) -> None:
    x = pullback.ones(shape, requires_grad=True)
    made = getattr(x, name)(-1)
    made.sum().backward()
    assert made.tolist() == x.tolist() == x.grad.tolist()
