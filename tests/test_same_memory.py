"""Functions of NumPy that give their argument, or a view of it: a write to one is seen in the other, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import grad, jacobian, jit

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

VIEWS: list[Any] = [
    np.flip,
    np.fliplr,
    lambda y: np.flipud(y.T)[1:],
    lambda y: np.rot90(y, 3),
    lambda y: np.split(y, 2)[1],
    lambda y: np.split(y, [1, 3], axis=1)[1],
    lambda y: np.hsplit(y[:, ::-1], 2)[0],
    lambda y: np.vsplit(y, 2)[0],
    lambda y: np.array_split(y, 3)[-1],
    lambda y: np.expand_dims(y, (0, 2))[0],
    lambda y: np.flip(np.expand_dims(y, -1), 1)[::2],
]
"""Cut or turned: spans of the same memory."""

SHAPED: list[Any] = [
    lambda y: y.reshape(-1),
    lambda y: y.reshape(2, 8),
    lambda y: np.reshape(y, (2, 2, 4))[1],
    np.ravel,
    lambda y: y[1:3].ravel(),
    lambda y: y.reshape(2, -1).T[2:],
    lambda y: np.flip(y.reshape(8, 2), 0),
    lambda y: y[:, :2].reshape(2, 2, 2),
    lambda y: y.T.reshape(2, 2, 4).transpose(2, 0, 1),
]
"""In another shape: views of memory that is surely in order."""

FRESH: list[Any] = [
    lambda x: np.zeros(x.shape),
    lambda x: np.empty((4, 4)),
    lambda x: np.full((4, 4), 2.0),
    lambda x: np.full((4, 4), x[0, 0]),
    lambda x: x.copy(),
    lambda x: np.array([x[0], x[1], x[2], x[3]]),
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


@pytest.mark.parametrize("of", [*ITSELF, *VIEWS, *NEW])
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


@pytest.mark.parametrize("of", SHAPED)
@pytest.mark.parametrize("fresh", FRESH)
@pytest.mark.parametrize("program", [_first, _second])
def test_another_shape_of_a_new_array_is_the_same_memory(program: Any, fresh: Any, of: Any) -> None:
    def function(x: Any) -> Any:
        y = fresh(x)
        y[...] = x * 1.5
        return program(of, y)

    np.testing.assert_allclose(jit(function)(X), function(X), rtol=1e-12)
    np.testing.assert_allclose(jit(function)(np.asfortranarray(X)), function(np.asfortranarray(X)), rtol=1e-12)


@pytest.mark.parametrize("of", SHAPED)
def test_slopes_through_another_shape(of: Any) -> None:
    def function(x: Any) -> Any:
        y = np.zeros((4, 4))
        z = of(y)
        for k in range(4):
            y[k] = x[k] * x[0]
            z[0] = z[0] * z[-1] + 1.0
        return np.sum(np.sin(y) * WEIGHTS) + np.sum(z)

    h = 1e-6
    direction = np.cos(WEIGHTS)
    want = (function(X + h * direction) - function(X - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(grad(function)(X) * direction), want, rtol=1e-6)


def test_pieces_are_written_to_in_loops() -> None:
    """The right-hand side of an equation of motion, put together from pieces of what it returns."""

    def motion(y: Any) -> Any:
        made = np.zeros(8)
        place, speed = np.split(made, 2)
        place[:] = y[4:]
        for k in range(4):
            speed[k] = -y[k] * np.exp(y[k])
            np.flip(speed)[k] += 0.1 * y[k + 4]
        return made

    y = np.linspace(-1.0, 1.0, 8)
    np.testing.assert_allclose(jit(motion)(y), motion(y), rtol=1e-14)
    h = 1e-6
    slopes = jacobian(motion)(y)
    for k in range(8):
        step = h * np.eye(8)[k]
        np.testing.assert_allclose(slopes[:, k], (motion(y + step) - motion(y - step)) / (2 * h), atol=1e-8)
