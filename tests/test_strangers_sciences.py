"""Short programs of quants, statisticians, roboticists and scientists: gradients and Hessians by differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.special
import scipy.stats

from pullback import grad, hessian, jit

S: Any = scipy
PROGRAMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {}


def program(*at: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = function, np.array(at)
        return function

    return keep


@program(100.0, 0.2, 0.03, 0.5)
def american_put_by_regression(p):
    spot, sigma, rate, end = p
    dt = end / 10
    draws = np.random.default_rng(0).standard_normal((64, 10))
    paths = spot * np.exp(np.cumsum((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * draws, axis=1))
    value = np.maximum(105 - paths[:, -1], 0.0)
    for t in range(8, -1, -1):
        value = value * np.exp(-rate * dt)
        inside = paths[:, t] < 105
        later = np.polyval(np.polyfit(paths[inside, t], value[inside], 2), paths[:, t])
        value = np.where(inside & (105 - paths[:, t] > later), 105 - paths[:, t], value)
    return np.mean(value) * np.exp(-rate * dt)


@program(0.04, 1.5, 0.04, 0.3, -0.7)
def heston_by_its_characteristic_function(p):
    v0, kappa, theta, sigma, rho = p
    u = np.linspace(1e-4, 60, 400)
    w = u - 0.5j
    b = kappa - rho * sigma * 1j * w
    d = np.sqrt(b**2 + sigma**2 * (1j * w + w**2))
    g = (b - d) / (b + d)
    c = kappa * theta / sigma**2 * (b - d - 2 * np.log((1 - g * np.exp(-d)) / (1 - g)))
    made = np.exp(c + (b - d) / sigma**2 * (1 - np.exp(-d)) / (1 - g * np.exp(-d)) * v0)
    return 1 - np.trapezoid(np.real(made) / (u**2 + 0.25), u) / np.pi


@program(0.01, 0.02, 0.025, 0.03)
def par_rate_of_a_spline_of_zero_rates(z):
    curve = S.interpolate.CubicSpline(np.array([1.0, 2, 3, 5]), z, bc_type="natural")
    discount = lambda t: np.exp(-curve(t) * t)  # noqa: E731
    return (1 - discount(5.0)) / sum(discount(float(t)) for t in range(1, 6))


@program(0.02, 0.3, 0.5)
def spread_of_a_credit_default_swap(p):
    hazard, recovery, rate = p
    t = np.linspace(0, 5, 21)
    alive, discount = np.exp(-hazard * t), np.exp(-0.1 * rate * t)
    fee = 0.25 * np.sum(alive[1:] * discount[1:])
    loss = (1 - recovery) * np.sum((alive[:-1] - alive[1:]) * discount[1:])
    return S.optimize.brentq(lambda s: s * fee - loss, 0, 1)


@program(1.0, 0.2, 0.4)
def down_and_out_payoff_by_quad(p):
    spot, sigma, barrier = p
    payoff = lambda x: np.maximum(spot * np.exp(sigma * x) - 1, 0) * (x < 3 * barrier) * np.exp(-x * x / 2)  # noqa: E731
    return S.integrate.quad(payoff, -6, 6)[0]


@program(0.5, 0.3)
def expected_shortfall(w):
    losses = np.sort(-(np.random.default_rng(3).normal(size=(50, 2)) @ w))
    return losses[-5:].mean()


@program(1.0, 0.5)
def partial_likelihood_of_cox(b):
    x = np.random.default_rng(2).normal(size=(12, 2))
    order = np.argsort(np.random.default_rng(4).permutation(12))[::-1]
    eta = (x @ b)[order]
    return np.sum((eta - np.logaddexp.accumulate(eta))[np.arange(12) % 3 > 0])


@program(0.2, 0.4, 0.1, 0.9)
def density_of_a_sample(x):
    density = S.stats.gaussian_kde(np.r_[x, 1.2, 0.7])
    return density.logpdf(np.array([0.3, 0.5])).sum() + density.integrate_box_1d(0, 1)


@program(0.1, 0.5, -0.2, 0.3)
def robust_line_by_reweighting(noise):
    x, y, w = np.linspace(-1, 1, 4), np.array([0.0, 1, 5, 2]) + noise, np.ones(4)
    for _ in range(5):
        line = np.polyfit(x, y, 1, w=np.sqrt(w))
        away = np.abs(y - np.polyval(line, x))
        w = np.where(away < 1.0, 1.0, 1.0 / away)
    return line[0] ** 2 + line[1]


@program(0.3, -0.2, 0.4)
def probability_of_a_quadrant(p):
    rho = np.tanh(p[2])
    return S.stats.multivariate_normal.cdf(p[:2], cov=np.array([[1.0, 0.0], [0.0, 2.0]]) + rho * (1 - np.eye(2)))


@program(0.1, 0.2, 0.3, 1.0, 2.0)
def range_only_filter(p):
    x, cov, mark = p[:2], np.eye(2) * np.exp(p[2]), p[3:]
    for _ in range(6):
        x, cov = x + np.array([0.1, 0.05]), cov + 0.01 * np.eye(2)
        away = x - mark
        h = away[None] / np.hypot(*away)
        gain = cov @ h.T / (h @ cov @ h.T + 0.1)
        x, cov = x + (gain * (1.5 - np.hypot(*away)))[:, 0], (np.eye(2) - gain @ h) @ cov
    return x @ x + np.trace(cov)


@program(0.2, 0.9, 0.4)
def tuning_of_a_controller(p):
    t = np.linspace(0, 5, 100)
    loop = [p[2], p[0], p[1]], np.polyadd([1, 1, 0, 0], [p[2], p[0], p[1]])
    return np.trapezoid((1 - S.signal.step(loop, T=t)[1]) ** 2, t)


@program(0.4, -0.2, 0.7)
def orientation_of_corners(v):
    a, b, c = np.array([v[0], 0.1]), np.array([1.0, v[1]]), np.array([0.3, 1.0 + v[2]])
    return np.cross(b - a, c - a) ** 2 + np.cross(a, b)


@program(1.2, 0.3, 0.8)
def heat_conduction_in_a_rod(p):
    n = 20
    k, h = p[0] + p[1] * np.linspace(0, 1, n + 1) ** 2, 1.0 / (n + 1)
    bands = [-k[1:-1] / h**2, (k[:-1] + k[1:]) / h**2, -k[1:-1] / h**2]
    u = S.sparse.linalg.spsolve(S.sparse.diags(bands, [-1, 0, 1], format="csc"), p[2] * np.ones(n))
    return u.max() + u.sum() * h


@program(0.8, 1.1)
def energy_of_an_ionic_crystal(p):
    places, charge, energy = np.array([[0, 0, 0], [0.5, 0.5, 0.5]]) * p[1], np.array([1.0, -1]), 0.0
    for cell in itertools.product(range(-1, 2), repeat=3):
        for i, j in itertools.product(range(2), repeat=2):
            if cell != (0, 0, 0) or i != j:
                d = np.linalg.norm(places[i] - places[j] + np.array(cell) * p[1])
                energy += 0.5 * charge[i] * charge[j] * S.special.erfc(p[0] * d) / d
    return energy


@program(0.5, 1.0)
def levels_of_an_oscillator(p):
    n = 40
    x = np.linspace(-5, 5, n)
    hop = np.full(n - 1, 0.5 / (x[1] - x[0]) ** 2)
    matrix = np.diag(2 * hop[0] + 0.5 * p[1] * x**2 + 0.1 * p[0] * x**4) - np.diag(hop, 1) - np.diag(hop, -1)
    w, v = S.linalg.eigh(matrix)
    return w[0] + w[1] ** 2 + np.sum(v[:, 0] ** 4)


@program(0.5, 0.2, 0.9)
def shift_between_pictures(p):
    y, x = np.arange(12)[:, None], np.arange(12)
    picture = np.exp(-((y - 5) ** 2 + (x - 6) ** 2) / 6.0)
    moved = S.ndimage.shift(picture, p[:2], order=3, mode="nearest")
    return np.sum((S.ndimage.gaussian_filter(moved, 1.0) * p[2] - picture) ** 2)


@program(1.0, 2.0, 0.5)
def kepler(p):
    mean, axis, e = p
    anomaly = mean
    for _ in range(20):
        change = (anomaly - e * math.sin(anomaly) - mean) / (1 - e * math.cos(anomaly))
        anomaly -= change
        if abs(change) < 1e-14:
            break
    return axis * (1 - e * math.cos(anomaly))


@program(0.2, 0.1)
def period_of_a_star(p):
    t = np.sort(np.random.default_rng(8).uniform(0, 20, 40))
    light = np.sin(2 * np.pi * (0.3 + p[0]) * t) + p[1]
    return np.log(np.sum(np.exp(S.signal.lombscargle(t, light - light.mean(), np.linspace(0.5, 6, 50)))))


@program(0.6, 1.3, 0.7)
def elimination_with_pivots(p):
    n = 5
    i = np.arange(n)
    a, b = p[0] ** np.abs(i[:, None] - i) + p[1] * np.eye(n)[::-1], np.cos(i * p[2])
    for k in range(n):
        m = k + np.argmax(np.abs(a[k:, k]))
        if m != k:
            a[[k, m]] = a[[m, k]]
            b[[k, m]] = b[[m, k]]
        for r in range(k + 1, n):
            f = a[r, k] / a[k, k]
            a[r, k:] -= f * a[k, k:]
            b[r] -= f * b[k]
    x = np.zeros(n)
    for k in reversed(range(n)):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return np.sum(x * np.arange(1.0, n + 1))


@program(0.02, 0.025, 0.027)
def rates_of_swaps(p):
    ends = np.array([1.0, 2.0, 4.0])

    def gap(z):
        curve = S.interpolate.CubicSpline(np.r_[0.0, ends], np.r_[0.02, z], bc_type="natural")
        gaps = []
        for i, end in enumerate(ends):
            times = np.arange(1, int(end) + 1)  # a size that each round knows alone
            discount = np.exp(-curve(times) * times)
            gaps.append(p[i] * discount.sum() + discount[-1] - 1)
        return np.array(gaps)

    z = S.optimize.fsolve(gap, np.full(3, 0.02), xtol=1e-13)
    return S.interpolate.PchipInterpolator(ends, z)(2.7) + z.sum()


@program(1.5, 0.3)
def swing_until_it_hangs(p):
    def level(t, y):
        return y[0]

    level.terminal = True
    path = S.integrate.solve_ivp(
        lambda t, y: (y[1], -p[0] * y[0] - p[1] * y[1]), (0, 5), [1, 0], events=level, rtol=1e-10, atol=1e-12
    )
    return path.t_events[0][0] + path.y[1, -1] + sum(p)  # which lets the function be walked


def _differences(f: Callable[..., Any], x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    return np.array([(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_sciences(name: str) -> None:
    f, x = PROGRAMS[name]
    assert jit(f)(x) == pytest.approx(f(x), rel=1e-8)
    slope, turn = _differences(jit(f), x), _differences(grad(f), x)
    np.testing.assert_allclose(grad(f)(x), slope, rtol=2e-5, atol=1e-6 * (1 + np.abs(slope).max()))
    np.testing.assert_allclose(hessian(f)(x), turn, rtol=2e-4, atol=1e-5 * (1 + np.abs(turn).max()))
