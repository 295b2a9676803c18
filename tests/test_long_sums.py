"""Long sums in f32: accumulators take some thousand terms, so equal values do not lose digits to their own sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import grad, jit
from pullback.compiler.backend.emit import folds
from pullback.compiler.settings import settings

MANY = 10**7
SUMS: dict[str, Callable[[Any], Any]] = {
    "sum": np.sum,
    "mean": lambda x: np.mean(x) * x.size,
    "dot": lambda x: x @ (x * 0 + 1),
    "over two axes": lambda x: np.sum(x.reshape(10, -1)),
    "of rows": lambda x: np.sum(x.reshape(10, -1), axis=1).sum(),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_of_equal_values_keeps_its_digits(name: str) -> None:
    x = np.full(MANY, 0.1, np.float32)
    exact = float(x[0]) * MANY
    assert abs(float(jit(SUMS[name])(x)) - exact) <= 4e-6 * exact


def test_of_tensors_too() -> None:
    x = pullback.full((MANY,), 0.1)
    exact = float(np.float32(0.1)) * MANY
    for made in (x.sum(), x.mean() * MANY, x.dot(pullback.ones_like(x))):
        assert abs(made.item() - exact) <= 4e-6 * exact


@pytest.mark.parametrize("count", [4095, 4096, 4097, 5000, 8191, 8192, 12_345, 140_000])
def test_bits_do_not_depend_on_vectors_or_on_known_sizes(count: int) -> None:
    x = np.random.default_rng(count).random(count).astype(np.float32)
    made = []
    for bits in (128, 256, 512):
        with settings.override(vector_bits=bits, cache=""):
            made += [jit(np.sum)(x), jit(lambda a: np.sum(a * 1))(x), jit(lambda a: np.sum(a))(x.reshape(1, -1))]
    assert len({np.asarray(m).tobytes() for m in made}) == 1
    assert abs(float(made[0]) - x.astype(np.float64).sum()) <= 1e-6 * count


def test_gradients_of_long_sums_are_those_of_short_ones() -> None:
    x = np.linspace(0, 1, 3 * folds.PART + 5, dtype=np.float32)
    assert np.array_equal(grad(lambda a: np.sum(a * a))(x), 2 * x)
