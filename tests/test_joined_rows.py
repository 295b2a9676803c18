"""np.stack and its kin of the rows of one array, and of lists that loops have filled: NumPy's values, and slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit

JOINS: dict[str, Callable[[Any], Any]] = {
    "stack": np.stack, "stack_1": lambda rows: np.stack(rows, axis=-1), "concatenate": np.concatenate,
    "flat": lambda rows: np.concatenate(rows, axis=None), "last": lambda rows: np.concatenate(rows, axis=-1),
    "vstack": np.vstack, "hstack": np.hstack, "column_stack": np.column_stack, "dstack": np.dstack,
    "typed": lambda rows: np.stack(rows, dtype=np.float32),
}  # fmt: skip
SHAPES = ((4,), (4, 3), (1, 3), (4, 3, 2), (2, 1, 3, 2), (0,), (0, 2))


def outcome(function: Callable[[Any], Any], x: Any) -> Any:
    try:
        return function(x)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", JOINS)
def test_rows_of_an_array(name: str, shape: tuple[int, ...]) -> None:
    join, x = JOINS[name], np.random.default_rng(0).normal(size=shape)
    wanted, made = outcome(join, x), outcome(jit(join), x)
    if isinstance(wanted, type):
        assert isinstance(made, type) and issubclass(made, wanted), made
        return
    assert made.dtype == wanted.dtype
    np.testing.assert_array_equal(made, wanted)
    weights = np.arange(wanted.size, dtype=wanted.dtype).reshape(wanted.shape)
    slope = grad(lambda x: np.sum(join(x) * weights))(x)
    step = np.random.default_rng(1).normal(size=shape)
    np.testing.assert_allclose(np.sum(slope * step), np.sum(join(step) * weights), 1e-5)


ROWS = np.array([[1.0, 2.0], [0.5, -1.0]])
LISTS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda v: np.sin(v), "rows": lambda v: np.sin(v) * ROWS[0], "matrices": lambda v: np.sin(v) * ROWS,
}  # fmt: skip


@pytest.mark.parametrize("count", [5, 200])
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("name", JOINS)
def test_lists_that_a_loop_fills(name: str, kind: str, count: int) -> None:
    """They are one array: 300 items were a RecursionError, 1,000 took half a minute."""
    join, item = JOINS[name], LISTS[kind]

    def total(x):
        made = join([item(v) for v in x])
        return np.sum(made * np.arange(made.shape[0], dtype=made.dtype).reshape(-1, *(1,) * (made.ndim - 1)) ** 0.5)

    x = np.random.default_rng(count).normal(size=count)
    wanted = outcome(total, x)
    if isinstance(wanted, type):
        assert issubclass(outcome(jit(total), x), wanted)
        return
    tolerance = 1e-4 if name == "typed" else 1e-10
    np.testing.assert_allclose(jit(total)(x), wanted, tolerance)
    if name != "typed":
        step = 1e-6 * (np.arange(count) == 3)
        np.testing.assert_allclose(grad(total)(x)[3], (total(x + step) - total(x - step)) / 2e-6, 1e-4, 1e-4)


def test_what_is_joined_is_a_copy() -> None:
    def changed(x):
        rows = np.stack(x)
        rows[0] = 7.0
        return np.sum(rows) + np.sum(x)

    x = np.arange(6.0).reshape(3, 2)
    assert jit(changed)(x) == changed(x.copy())
