"""Arrays that a list holds and that change afterwards, in short loops and in those that would become regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit


def changed_after_it_was_appended(x):
    h, out = np.zeros(3), []
    for v in x:
        h = np.tanh(h + v)
        out.append(h)
        h[0] = 0.5
    return np.sum(np.array(out) ** 2)


def one_array_many_times(x):
    h, out = np.zeros(3), []
    for v in x:
        h[0] = h[0] + v
        out.append(h)
    return np.sum(np.array(out) ** 2)


def an_item_is_changed(x):
    h, out = np.zeros(3), []
    for v in x:
        h = h + v
        out.append(h)
    out[2][1] = 5.0
    return np.sum(np.array(out) ** 2) + np.sum(h)


def the_last_one_is_changed(x):
    h, out = np.zeros(3), []
    for v in x:
        h = h + v
        out.append(h)
    h[1] = 9.0
    return np.sum(np.array(out) ** 2)


def an_item_is_replaced(x):
    h, out = np.zeros(3), []
    for v in x:
        h = h + v
        out.append(h)
    out.append(h * 2)
    out[0] = h
    return np.sum(np.array(out) ** 2) + np.sum(h)


def changed_in_some_rounds(x):
    h = np.zeros(3)
    g, out = h, []
    for v in x:
        out.append(g)
        h = h + v
        g = h
        if v > 0:
            h[1] = 2.0
    return np.sum(np.array(out) ** 2)


def changed_through_the_list(x):
    h, out = np.zeros(3), []
    for v in x:
        h = h + v
        out.append(h)
        out[-1][0] = v * 3
    return np.sum(np.array(out) ** 2) + np.sum(h)


PROGRAMS: tuple[Callable[[Any], Any], ...] = (
    changed_after_it_was_appended, one_array_many_times, an_item_is_changed, the_last_one_is_changed,
    an_item_is_replaced, changed_in_some_rounds, changed_through_the_list,
)  # fmt: skip


@pytest.mark.parametrize("rounds", [5, 40])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_list_holds_the_array_itself(program: Callable[[Any], Any], rounds: int) -> None:
    x = np.random.default_rng(rounds).normal(size=rounds)
    np.testing.assert_allclose(jit(program)(x), program(x), 1e-12)
    for k, slope in enumerate(grad(program)(x)[:6]):
        step = 1e-6 * (np.arange(rounds) == k)
        np.testing.assert_allclose(slope, (program(x + step) - program(x - step)) / 2e-6, 1e-4, 1e-4)


def test_an_outer_list_is_asked_for_places_and_numbers_in_a_loop() -> None:
    order, x = [2, 0, 2], np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        return np.sum(np.stack([x[order.index(k)] * order.count(k) for k in (0, 2)]))

    np.testing.assert_array_equal(grad(f)(x), [2.0, 1.0, 0.0])
