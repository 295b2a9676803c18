"""Paths of equations that jump or turn at traced times and states: first and second derivatives in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

from pullback import grad, jit, vmap

I: Any = scipy.integrate  # noqa: E741
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
AT = 0.7


def last(f: Callable[..., Any], y0: Any, times: Any = (2.0,), span: Any = (0.0, 2.0), **options: Any) -> Any:
    return I.solve_ivp(f, span, np.array(y0), t_eval=times, **{**TIGHT, **options}).y[0, -1]


def infusion(t: Any, y: Any, s: Any) -> Any:
    """y(2) = s exp(s - 2), from 0."""
    return np.where(t < s, 1.0, -y)


def with_if(t: Any, y: Any, s: Any) -> Any:
    if t <= s:
        return np.array([1.0])
    return -y


def by_odeint(s: Any) -> Any:
    return I.odeint(infusion, [0.0], [0.0, 1.0, 2.0], args=(s,), tfirst=True, **TIGHT)[-1, 0]


def of_infusion(s: float) -> tuple[float, float]:
    return np.exp(s - 2) * (1 + s), np.exp(s - 2) * (2 + s)


def doses(s: float) -> tuple[float, float]:
    """An input for 0 <= t % s < 0.2 s, from 0: each edge at c s changes y(2) by the size of exp(c s - 2)."""
    edges = np.array([0.2, 1.0, 1.2, 2.0, 2.2])
    signs = np.array([1.0, -1, 1, -1, 1]) * np.exp(edges * s - 2)
    return np.sum(signs * edges), np.sum(signs * edges**2)


KINK = np.exp((2 - AT) ** 2 / 2)
CASES: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "where": (lambda s: last(infusion, [0.0], args=(s,)), of_infusion(AT)),
    "if": (lambda s: last(with_if, [0.0], args=(s,)), of_infusion(AT)),
    "odeint": (by_odeint, of_infusion(AT)),
    "heaviside": (lambda s: last(lambda t, y: 1 - np.heaviside(t - s, 0.5) * (1 + y), [0.0]), of_infusion(AT)),
    "a time of the path is the jump": (lambda s: last(infusion, [0.0], [AT, 2.0], args=(s,)), of_infusion(AT)),
    "a traced time of the path is the jump": (lambda s: last(infusion, [0.0], [s, 2.0], args=(s,)), of_infusion(AT)),
    "at the jump itself": (lambda s: last(infusion, [0.0], [s], args=(s,)), (1.0, 0.0)),
    "backwards": (
        lambda s: last(infusion, [0.1], [0.0], (2.0, 0.0), args=(s,)),
        (-0.1 * np.exp(2 - AT) - 1, 0.1 * np.exp(2 - AT)),
    ),
    "a state": (lambda s: last(lambda t, y: np.where(y < s, 1.0, 2.0), [0.0]), (-1.0, 0.0)),
    "one after the other": (lambda s: last(lambda t, y: 1.0 * (t > s) + 2.0 * (y > 1.0) + 0 * y, [0.0]), (-3.0, 0.0)),
    "a kink": (
        lambda s: last(lambda t, y: np.maximum(t - s, 0) * y, [1.0]), (-(2 - AT) * KINK, KINK * (1 + (2 - AT) ** 2)),
    ),
    "a start": (lambda s: last(lambda t, y: np.where(t < 1, 1.0, -y), [0.0], span=(s, 2.0)), (-np.exp(-1), 0.0)),
    "an end": (
        lambda s: last(lambda t, y: np.where(t < 0.4, 1.0, -y), [0.0], [s], (0.0, s)),
        (-0.4 * np.exp(0.4 - AT), 0.4 * np.exp(0.4 - AT)),
    ),
    "remainders": (lambda s: last(lambda t, y: np.where(t % s < 0.2 * s, 1.0, 0.0) - y, [0.0]), doses(AT)),
    "a pulse that is shorter than a step": (
        lambda s: last(lambda t, y: np.where((t >= s) & (t < 1.001 * s), 1e3, 0.0) - y, [0.0]),
        tuple(1e3 * np.exp(-2) * (1.001**k * np.exp(1.001 * AT) - np.exp(AT)) for k in (1, 2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_time_of_a_change_has_slopes(name: str) -> None:
    f, (first, second) = CASES[name]
    np.testing.assert_allclose(grad(f)(AT), first, rtol=1e-7)
    np.testing.assert_allclose(grad(grad(f))(AT), second, rtol=1e-6, atol=1e-7)


def test_many_paths_at_once_and_the_values() -> None:
    f = lambda s: last(infusion, [0.0], args=(s,))  # noqa: E731
    each = np.array([0.3, 0.7, 1.9])
    np.testing.assert_allclose(vmap(f)(each), each * np.exp(each - 2), rtol=1e-9)
    np.testing.assert_allclose(vmap(grad(f))(each), [of_infusion(s)[0] for s in each], rtol=1e-7)


def test_a_friction_that_turns_and_a_spring_that_is_met() -> None:
    def friction(s: Any) -> Any:
        return last(lambda t, y: np.array([y[1], -y[0] - 0.3 * np.sign(y[1])]), np.stack([s, 1.0]), method="DOP853")

    def ground(s: Any) -> Any:
        spring = lambda y: np.where(y[0] < 0, 1e3 * y[0] + 5 * y[1], 0.0)  # noqa: E731
        return last(lambda t, y: np.array([y[1], -9.81 - spring(y)]), np.stack([s, 0.0]))

    for f, at in ((friction, 0.4), (ground, 1.0)):
        value, slope, h = jit(f), grad(f), 1e-4
        assert slope(at) == pytest.approx((value(at + h) - value(at - h)) / (2 * h), rel=1e-5)
        assert grad(slope)(at) == pytest.approx((slope(at + h) - slope(at - h)) / (2 * h), rel=1e-5)


def test_what_changes_too_often_has_no_derivative_rather_than_a_wrong_one() -> None:
    f = lambda s: last(lambda t, y: np.where(np.sin(500 * s * t) > 0, 1.0, -1.0), [0.0], (1.0, 9.0), (0.0, 9.0))  # noqa: E731
    assert np.isfinite(jit(f)(AT)) and np.isnan(grad(f)(AT))
