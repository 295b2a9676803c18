"""scipy.integrate's solve_ivp and odeint with traced parameters: values as SciPy's, derivatives to second order."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

from pullback import hessian, jvp
from pullback.compiler.settings import settings
from pullback.runtime.transforms import grad, jit
from pullback.runtime.vmap import vmap

I: Any = scipy.integrate  # noqa: E741
TIMES = np.linspace(0.0, 2.0, 9)
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def decay(t: Any, y: Any, a: Any) -> list[Any]:
    """y = (exp(-a t) y0, and y1 + y0 (1 - exp(-a t)) / a)."""
    return [-a * y[0], y[0]]


def known(a: Any, y0: Any, t: Any) -> Any:
    return np.sum(np.exp(-a * t) * y0 + (0.5 + y0 * (1 - np.exp(-a * t)) / a) ** 2)


def solved(method: str) -> Callable[..., Any]:
    def f(a: Any, y0: Any, t: Any) -> Any:
        start = np.stack([y0, 0.5 + 0.0 * y0])
        made = I.solve_ivp(lambda t, y: decay(t, y, a), (0.0, 2.5), start, method, t, **TIGHT)
        return np.sum(made.y[0] + made.y[1] ** 2)

    return f


def by_odeint(a: Any, y0: Any, t: Any) -> Any:
    whole = np.concatenate([np.zeros(1), t])
    made = I.odeint(lambda y, t, a: decay(t, y, a), [y0, 0.5 + 0.0 * y0], whole, args=(a,), **TIGHT)[1:]
    return np.sum(made[:, 0] + made[:, 1] ** 2)


WAYS = {"RK45": solved("RK45"), "RK23": solved("RK23"), "DOP853": solved("DOP853"), "odeint": by_odeint}


@pytest.mark.parametrize("name", WAYS)
def test_derivatives_for_parameters_starts_and_times(name: str) -> None:
    f, given = WAYS[name], (0.7, 1.3, TIMES[1:])
    np.testing.assert_allclose(jit(f)(*given), f(*given), rtol=1e-7)
    for k in range(3):
        np.testing.assert_allclose(grad(f, k)(*given), grad(known, k)(*given), rtol=1e-6, atol=1e-9)
        own = lambda g: lambda x: g(*given[:k], x, *given[k + 1 :])  # noqa: B023, E731
        want, got = (hessian(own(g))(given[k]) for g in (known, f))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)  # RK23 is of second order
    mixed = grad(lambda t: grad(f)(0.7, 1.3, t))(TIMES[1:])
    np.testing.assert_allclose(mixed, grad(lambda t: grad(known)(0.7, 1.3, t))(TIMES[1:]), rtol=1e-5, atol=1e-5)


def test_directions_and_batches() -> None:
    f = lambda a: WAYS["DOP853"](a, 1.3, TIMES)  # noqa: E731
    want = grad(lambda a: known(a, 1.3, TIMES))(0.7)
    np.testing.assert_allclose(jvp(f, (0.7,), (1.0,))[1], want, rtol=1e-6)
    each = np.array([0.3, 0.7, 2.0])
    np.testing.assert_allclose(vmap(f)(each), [f(a) for a in each], rtol=1e-7)
    np.testing.assert_allclose(vmap(grad(f))(each)[1], want, rtol=1e-6)
    with settings.override(reference=True):
        np.testing.assert_allclose(grad(f)(0.7), want, rtol=1e-6)


def test_a_process_that_begins_with_vmap_knows_the_solvers() -> None:
    text = """
import numpy as np, scipy.integrate
from pullback import vmap
f = lambda s: scipy.integrate.solve_ivp(lambda t, y: -s * y, (0.0, 2.0), np.ones(1), t_eval=(2.0,)).y[0, -1]
print(vmap(f)(np.array([0.3, 0.7])).shape)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.stdout == "(2,)\n", done.stderr


def test_spans_that_are_traced_and_go_back() -> None:
    def f(span: Any) -> Any:
        made = I.solve_ivp(decay, span, [1.0, 0.5], t_eval=[span[1]], args=(0.7,), **TIGHT)
        return made.y[0, -1] + made.y[1, -1] ** 2

    want = lambda s: known(0.7, 1.0, np.reshape(s[1] - s[0], (1,)))  # noqa: E731
    for span in (np.array([0.3, 1.5]), np.array([1.5, 0.3])):
        np.testing.assert_allclose(jit(f)(span), want(span), rtol=1e-8)
        np.testing.assert_allclose(grad(f)(span), grad(want)(span), rtol=1e-7)
        np.testing.assert_allclose(hessian(f)(span), hessian(want)(span), rtol=1e-6)


def test_the_attributes_of_a_result_and_the_default_tolerance() -> None:
    def f(a: Any, **options: Any) -> Any:
        made = I.solve_ivp(decay, (0, 2), np.array([1, 2]), t_eval=TIMES, args=(a,), **options)
        return made.t, made.y, made.success, made.status, made["nfev"]

    for options in ({}, {"first_step": 0.1, "max_step": 0.2}, {"vectorized": True}, {"method": "LSODA"}):
        (t, y, success, status, nfev), want = jit(lambda a, o=options: f(a, **o))(0.7), f(0.7, **options)
        np.testing.assert_array_equal(t, want[0])
        np.testing.assert_allclose(y, want[1], rtol=3e-3)
        assert bool(success) and status == 0 and nfev > 10


def test_equations_that_branch_in_functions_that_loop() -> None:
    def f(a: Any) -> Any:
        def fall(t: Any, y: Any) -> Any:
            if y[0] > 0.5:
                return np.array([-a])
            return np.array([-2.0 * a])

        total = 0.0
        for k in range(2):
            total = total + I.solve_ivp(fall, (0.0, 1.0), [1.0 + k], t_eval=[1.0], max_step=0.01).y[0, 0]
        return total

    assert jit(f)(0.7) == pytest.approx(f(0.7), rel=2e-2)
    assert grad(f)(0.1) == pytest.approx(-2.0, rel=1e-9)


def test_paths_that_end() -> None:
    f = lambda a: I.solve_ivp(lambda t, y: a * y**2, (0, 2), [1.0], t_eval=[0.5, 1.5])  # noqa: E731
    y, status, success = jit(lambda a: (f(a).y, f(a).status, f(a).success))(1.0)
    assert status == f(1.0).status == -1 and not success
    assert y[0, 0] == pytest.approx(2.0, rel=1e-2) and np.isnan(y[0, 1])


@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
def test_paths_at_any_time(span: tuple[float, float]) -> None:
    def f(a: Any) -> Any:
        made = I.solve_ivp(lambda t, y: [-a * y[0], y[0]], span, [1.0, 0.3], dense_output=True, rtol=1e-10, atol=1e-12)
        return np.sum(made.sol(np.array([1.5, 0.5, 1.9, 0.5 * a])) * np.arange(1.0, 5.0)) + made.sol(a)[1]

    assert jit(f)(0.8) == pytest.approx(f(0.8), rel=1e-7)
    h, slope = 1e-4, grad(f)
    assert slope(0.8) == pytest.approx((f(0.8 + h) - f(0.8 - h)) / (2 * h), rel=1e-6)
    assert grad(slope)(0.8) == pytest.approx((slope(0.8 + h) - slope(0.8 - h)) / (2 * h), rel=1e-6)


def half(t: Any, y: Any, a: Any) -> Any:
    return y[0] - 0.5


half.terminal, half.direction = True, -1  # type: ignore[attr-defined]


def second(slope: Callable[..., Any], a: float, h: float = 1e-4) -> float:
    return float((slope(a + h) - slope(a - h)) / (2 * h))


def test_events_have_times_and_states_that_move() -> None:
    def times(a: Any) -> Any:
        made = I.solve_ivp(decay, (0, 9), [1.0, 0.0], events=[half, lambda t, y, a: y[1] - 0.2], args=(a,), **TIGHT)
        assert len(made.t_events) == 2
        return made.t_events[0][0], made.t[-1], made.t_events[1][-1], made.y[1, -1], made.y_events[0][0, 1], made.status

    a = 0.7
    want = [np.log(2) / a, np.log(2) / a, -np.log(1 - 0.2 * a) / a, 0.5 / a, 0.5 / a, 1]
    np.testing.assert_allclose(jit(times)(a), want, rtol=1e-8)
    np.testing.assert_allclose(times(a)[:5], want[:5], rtol=1e-8)
    got = [grad(lambda a, k=k: times(a)[k])(a) for k in range(5)]
    third = 0.2 / (a - 0.2 * a**2) + np.log(1 - 0.2 * a) / a**2
    np.testing.assert_allclose(got, [-np.log(2) / a**2] * 2 + [third] + [-0.5 / a**2] * 2, rtol=1e-7)
    assert grad(grad(lambda a: times(a)[0]))(a) == pytest.approx(2 * np.log(2) / a**3, rel=1e-6)


def test_an_event_that_jumps_has_a_time_that_moves() -> None:
    def f(a: Any) -> Any:
        made = I.solve_ivp(decay, (0, 9), [1.0, 0.0], events=lambda t, y, a: np.sign(y[0] - 0.5), args=(a,), **TIGHT)
        return made.t_events[0][0]

    assert jit(f)(0.7) == pytest.approx(np.log(2) / 0.7, rel=1e-8)
    assert grad(f)(0.7) == pytest.approx(-np.log(2) / 0.7**2, rel=1e-7)


def test_a_ball_that_bounces_and_the_period_of_an_oscillation() -> None:
    def ground(t: Any, y: Any) -> Any:
        return y[0]

    ground.terminal, ground.direction = True, -1  # type: ignore[attr-defined]

    def third(e: Any) -> Any:
        t, y = 0.0, np.array([1.0, 0.0])
        for _ in range(3):
            made = I.solve_ivp(lambda t, y: [y[1], -9.81], (t, 10), y, events=ground, **TIGHT)
            t, y = made.t[-1], made.y[:, -1] * np.array([0.0, -e])
        return t

    begin = np.sqrt(2 / 9.81)
    assert third(0.8) == pytest.approx(begin * (1 + 1.6 + 1.28), rel=1e-8)
    assert grad(third)(0.8) == pytest.approx(begin * (2 + 3.2), rel=1e-7)
    assert grad(grad(third))(0.8) == pytest.approx(begin * 4, rel=1e-6)

    def upwards(t: Any, y: Any) -> Any:
        return y[0]

    upwards.direction = 1  # type: ignore[attr-defined]

    def periods(w: Any) -> Any:
        made = I.solve_ivp(lambda t, y: [y[1], -w * w * y[0]], (0, 20), [1.0, 0.0], events=upwards, **TIGHT)
        return made.t_events[0][-1] - made.t_events[0][0]

    assert jit(periods)(1.1) == pytest.approx(periods(1.1), rel=1e-7)
    assert grad(periods)(1.1) == pytest.approx(-periods(1.1) / 1.1, rel=1e-6)


@pytest.mark.parametrize("method", ["Radau", "BDF", I.Radau])
def test_stiff_equations(method: Any) -> None:
    def rates(t: Any, y: Any, k: Any) -> Any:
        first, back, last = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
        return np.array([back - first, first - back - last, last])

    def f(s: Any) -> Any:
        k = s * np.array([0.04, 1e4, 3e7])
        made = I.solve_ivp(rates, (0, 1e3), [1.0, 0, 0], method, args=(k,), rtol=1e-8, atol=1e-12)
        return made.y[0, -1] + 1e5 * made.y[1, -1]

    assert jit(f)(1.1) == pytest.approx(f(1.1), rel=1e-6)
    slope, h = grad(f), 1e-3
    assert slope(1.1) == pytest.approx((f(1.1 + h) - f(1.1 - h)) / (2 * h), rel=1e-4)
    assert grad(slope)(1.1) == pytest.approx(second(slope, 1.1), rel=1e-4)


REFUSALS: dict[str, tuple[Callable[..., Any], str]] = {
    "a step": (lambda a: I.solve_ivp(decay, (0, 1), [1, a], args=(a,)).y[0, 2], "how many steps sol.y has"),
    "steps returned": (
        lambda a: I.solve_ivp(decay, (0, 1), [1, a], args=(a,)).y,
        r"'<?lambda>?' returned what has no size: .*sol.y has is not known[^$]*t_eval=",
    ),
    "all steps": (lambda a: np.sum(I.solve_ivp(decay, (0, 1), [1, a], args=(a,)).t), "how many steps sol.t has"),
    "methods": (lambda a: I.solve_ivp(decay, (0, 1), [1.0, a], "RK4", [1.0]).y[0, 0], "RK45, RK23, DOP853, Radau"),
    "times and an end": (
        lambda a: I.solve_ivp(decay, (0, 1), [1.0, a], t_eval=[1.0], events=half, args=(a,)).y[0, 0],
        "leave t_eval out",
    ),
    "messages": (lambda a: len(I.solve_ivp(decay, (0, 1), [1, a], t_eval=[1.0], args=(a,)).message), "no 'message'"),
    "shapes": (lambda a: I.solve_ivp(lambda t, y: y[0], (0, 1), [1.0, a], t_eval=[1.0]).y[0, 0], "2 numbers"),
    "tolerances": (lambda a: I.odeint(lambda y, t: -y, 1.0, TIMES, rtol=a)[-1, 0], "traced rtol"),
    "more output": (lambda a: I.odeint(lambda y, t: -a * y, 1.0, TIMES, full_output=1)[0][0, 0], "use solve_ivp"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    f, said = REFUSALS[name]
    with pytest.raises(TypeError, match=said):
        grad(f)(0.7)
