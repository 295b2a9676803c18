"""What `fn.profile` counts and measures: flops and bytes that can be told by hand, and shares that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from pullback.runtime.inspect.profile import Profile, Sweep


def dense(w, x):
    y = x @ w
    z = np.tanh(y)
    return np.sum(z * z)


def loops(x, n):
    k = 0
    while k < n:
        x = x * 0.5
        k = k + 1
    return x


def branches(x):
    if x > 1.0:
        return x * x * x
    return x + 1.0


def at(sweep: Sweep, function: Any, offset: int) -> Any:
    number = function.__code__.co_firstlineno + offset
    (found,) = [each for each in sweep.lines if each.where is not None and each.where.line == number]
    return found


@pytest.fixture(scope="module")
def profile() -> Profile:
    rng = np.random.default_rng(0)
    return grad(dense).profile(rng.normal(size=(20, 30)), rng.normal(size=(10, 20)))


def test_flops_and_bytes_are_those_of_the_operations(profile: Profile) -> None:
    value, gradient = profile.sweeps
    assert (value.name, gradient.name) == ("value", "gradient") and value.whole and gradient.whole
    product = at(value, dense, 1)
    assert (product.operations, product.flops) == (1, 2 * 10 * 20 * 30)
    assert product.bytes == 8 * (10 * 20 + 20 * 30 + 10 * 30)
    assert at(gradient, dense, 1).flops == 2 * product.flops, "the gradient has one more product"
    assert at(value, dense, 3).flops == 2 * 300, "a product and a sum of 300 numbers"
    assert value.flops == sum(each.flops for each in value.lines) and value.bytes > product.bytes


def test_times_are_measured_and_shared(profile: Profile) -> None:
    for sweep in profile.sweeps:
        assert sweep.seconds > 0 and sweep.level == 2
        assert sum(each.seconds for each in sweep.lines) == pytest.approx(sweep.seconds)
        assert [each.seconds for each in sweep.lines] == sorted((each.seconds for each in sweep.lines), reverse=True)
    assert profile.call > 0


def test_it_prints_lines_with_their_source(profile: Profile) -> None:
    text = str(profile)
    assert "profile of dense: a call takes" in text and "y = x @ w" in text and "are measured" in text
    assert f"test_profile.py:{dense.__code__.co_firstlineno + 1}" in text


def test_a_function_without_a_gradient_has_one_sweep() -> None:
    made = jit(dense).profile(np.ones((2, 3)), np.ones(2))
    assert [each.name for each in made.sweeps] == ["value"]


@pytest.mark.parametrize("rounds", [1, 7, 100])
def test_rounds_are_counted(rounds: int) -> None:
    (sweep,) = jit(loops).profile(1.0, rounds).sweeps
    assert at(sweep, loops, 3).flops == rounds and sweep.whole


def test_only_the_branch_that_runs_is_counted() -> None:
    (yes,) = jit(branches).profile(2.0).sweeps
    (no,) = jit(branches).profile(0.5).sweeps
    assert at(yes, branches, 2).flops == 2 and all(each.where.line != 0 for each in yes.lines if each.where)
    assert at(no, branches, 3).flops == 1


def test_what_nobody_counts_is_named() -> None:
    made = jit(lambda a, b: np.sum(np.linalg.solve(a, b))).profile(np.eye(8) * 2, np.ones(8))
    assert any("are not counted" in note for note in made.notes) and "are not counted" in str(made)
