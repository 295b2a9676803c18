"""Functions of NumPy that give their argument, or a view of it: a write to one is seen in the other, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import grad, jit

X = np.random.default_rng(0).normal(size=(4, 4))
WEIGHTS = np.arange(1.0, 17.0).reshape(4, 4)

ITSELF: list[Any] = [
    lambda y: y.astype(float, copy=False),
    lambda y: np.astype(y, np.float64, copy=False),
    lambda y: np.array(y, copy=None),
    lambda y: np.nan_to_num(y, copy=False),
    lambda y: np.nan_to_num(y[1:], False, 1.0),
    np.real_if_close,
    lambda y: np.diff(y, n=0),
    lambda y: np.linalg.matrix_power(y, 1),
]

MAYBE: list[Any] = [
    lambda y: np.einsum("ij->ji", y),
    lambda y: np.einsum("ii->i", y),
    lambda y: np.einsum(y, [0, 1], [0, 1]),
    np.ascontiguousarray,
    np.asfortranarray,
    lambda y: np.asarray(y, order="F"),
    lambda y: np.require(y, requirements="C"),
]
"""A new array or not, as memory lies, or a view that has no place of its own in the array."""

NEW: list[Any] = [
    lambda y: np.astype(y, np.float64),
    lambda y: y.astype(float),
    lambda y: np.einsum("ij,->ij", y, 1.0),
    np.nan_to_num,
]


def _first(of: Any, y: Any) -> Any:
    """Writes to the result, and what both hold then."""
    z = of(y)
    z[...] = z * 2.0 + 1.0
    z[0] *= 3.0
    return np.sum(np.sin(y) * WEIGHTS) + np.sum(z)


def _second(of: Any, y: Any) -> Any:
    """Writes to the array that it is of."""
    z = of(y)
    y[1] = y[2] * 2.0
    y[:, 0] += 1.0
    return np.sum(np.sin(z)) + np.sum(y * WEIGHTS)


@pytest.mark.parametrize("of", [*ITSELF, *NEW])
@pytest.mark.parametrize("program", [_first, _second])
def test_what_is_written_is_seen_where_numpy_shows_it(program: Any, of: Any) -> None:
    def function(x: Any) -> Any:
        return program(of, x * 1.0)

    np.testing.assert_allclose(jit(function)(X), function(X), rtol=1e-12)
    h = 1e-6
    direction = np.cos(WEIGHTS)
    want = (function(X + h * direction) - function(X - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(grad(function)(X) * direction), want, rtol=1e-7)


@pytest.mark.parametrize("of", MAYBE)
def test_what_may_be_the_same_memory_is_refused_after_a_write_and_read_before(of: Any) -> None:
    with pytest.raises(Exception, match="may or may not be the same as one that was changed"):
        jit(lambda x: _first(of, x * 1.0))(X)
    with pytest.raises(Exception, match="may or may not be the same as one that was changed"):
        jit(lambda x: _second(of, x * 1.0))(X)

    def written(x: Any) -> Any:
        y = x * 1.0
        y = of(y).copy() if np.sum(x) > 100 else of(y)
        y[0] = 2.0
        return np.sum(y * y)

    np.testing.assert_allclose(jit(written)(X), written(X), rtol=1e-12)
