"""More short programs of scientists and quants, in plain NumPy and SciPy: gradients and Hessians by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.spatial
import scipy.special
import scipy.stats
from scipy.spatial.transform import Rotation

from pullback import grad, hessian, jit

S: Any = scipy
PROGRAMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {}
SEEN = np.random.default_rng(1).normal(size=12)


def program(*at: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = function, np.array(at)
        return function

    return keep


@program(0.04, 1.5, 0.04, 0.3, -0.7)
def heston_by_quad(p):
    v, kappa, theta, sigma, rho = p

    def phi(u):
        b = kappa - rho * sigma * 1j * u
        d = np.sqrt(b**2 + sigma**2 * (1j * u + u * u))
        g = (b - d) / (b + d)
        c = kappa * theta / sigma**2 * ((b - d) - 2 * np.log((1 - g * np.exp(-d)) / (1 - g)))
        return np.exp(c + v / sigma**2 * (b - d) * (1 - np.exp(-d)) / (1 - g * np.exp(-d)))

    return 1 - S.integrate.quad(lambda u: np.real(phi(u - 0.5j)) / (u * u + 0.25), 0, np.inf)[0] / np.pi


@program(0.3, 0.5)
def a_complex_number_from_outside_of_an_integrand(p):
    z = p[0] + 1j * p[1]
    return S.integrate.quad(lambda u: np.abs(np.exp(z * u) + u * (u < p[0])), 0, 2)[0]


@program(0.0, 1.0, 0.5, -0.2, 0.3)
def slopes_and_integrals_of_a_spline(p):
    s = S.interpolate.make_interp_spline(np.linspace(0, 1, 5), p, k=3)
    near = S.interpolate.BSpline(s.t, s.c, 3, extrapolate=False).integrate(-1, 0.6)
    return s.derivative()(0.4) ** 2 + s.integrate(0.1, 0.7) + s.antiderivative(2)(0.3) * 5 + s.derivative(2)(0.2) + near


@program(0.3, 0.5)
def splines_near_points(p):
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(12) * 5)
    y = np.sin(x) * p[0] + p[1] * x**2
    knots = np.concatenate([[x[0]] * 4, [1.5, 3.0], [x[-1]] * 4])
    least = S.interpolate.make_lsq_spline(x, np.stack([y, y**2]), knots, w=np.arange(1.0, 13), axis=1)
    known = S.interpolate.make_smoothing_spline(x, y, lam=0.1)
    traced = S.interpolate.make_smoothing_spline(x, y, w=np.arange(1.0, 13), lam=p[1])
    return least(2.2).prod() + known(2.2) ** 2 + traced.derivative()(2.2) ** 2 + traced(np.array([0.3, 4])).sum()


@program(0.3, 0.5)
def records(p):
    rows = np.array([(1.0, 2), (3.0, 4)], dtype=[("x", float), ("k", int)])
    total = 0.0
    for row in rows:
        total = total + row["x"] * p[0] ** 2
    if p[0] > 0.1:
        total = total + np.sum(rows["x"] * p * rows["k"]) ** 2
    return total


@program(0.4, 1.1)
def harmonics_on_a_sphere(p):
    theta, phi = p
    y = S.special.sph_harm_y(np.arange(4)[:, None], np.arange(-1, 2), theta, phi)
    legendre = S.special.assoc_legendre_p(3, np.array([-2, 0, 1]), p[0]).sum() + S.special.legendre_p(4, p[0])[0]
    return np.sum(np.abs(y[1:]) ** 2 * np.arange(3.0)) + np.real(y[2, 2]) + legendre


@program(1.0, 0.3)
def spectra_without_negative_parts(p):
    basis = np.random.default_rng(0).normal(size=(8, 4))
    parts, rest = S.optimize.nnls(basis * p[0] + np.outer(np.sin(np.arange(8.0)), np.arange(4)) * p[1], np.ones(8))
    return parts @ np.arange(1.0, 5) + rest


@program(1.0, 1.3)
def linear_rows_within_traced_bounds(p):
    rows = np.random.default_rng(0).normal(size=(8, 4))
    made = S.optimize.lsq_linear(rows * p[0], SEEN[:8], bounds=(-0.1 * p[0], np.full(4, 0.2) * p[1]), method="bvls")
    return made.x @ np.arange(1.0, 5) + made.cost


@program(0.3, 0.5)
def ignition_between_two_walls(p):
    x = np.linspace(0, 1, 11)
    walls = lambda a, b: np.array([a[0], b[0] - p[1]])  # noqa: E731
    rates = lambda x, y: np.vstack([y[1], -p[0] * np.exp(y[0])])  # noqa: E731
    made = S.integrate.solve_bvp(rates, walls, x, np.zeros((2, 11)), tol=1e-8)
    return made.sol(0.5)[0] + made.y[1, -1] + made.sol(np.array([0.3, 0.1]))[0] @ p


@program(1.1)
def an_eigenvalue_between_two_walls(s):
    rates = lambda x, y, k: [y[1], -(k[0] ** 2) * s[0] * y[0]]  # noqa: E731
    ends = lambda a, b, k: [a[0], b[0], a[1] - k[0]]  # noqa: E731
    guess = np.array([[0.0, 1, 0, -1, 0], [0.0, 0, 0, 0, 0]])
    return S.integrate.solve_bvp(rates, ends, np.linspace(0, 1, 5), guess, p=[6.0], tol=1e-8).p[0]


@program(0.3, 0.2, -0.1, 0.4)
def a_particle_filter(p):
    rng, count, total = np.random.default_rng(0), 50, 0.0
    x = rng.normal(size=count)
    for t in range(5):
        x = p[0] * x + np.exp(p[1]) * rng.normal(size=count)
        logs = S.stats.norm.logpdf(SEEN[t], x * p[2], np.exp(p[3]))
        w = np.exp(logs - logs.max())
        total += logs.max() + np.log(w.mean())
        x = x[np.minimum(np.searchsorted(np.cumsum(w / w.sum()), (np.arange(count) + 0.5) / count), count - 1)]
    return total


@program(0.1, 0.2, -0.3, 0.05, 0.1, 0.2)
def closest_points(p):
    source = np.random.default_rng(3).normal(size=(12, 3))
    moved = Rotation.from_rotvec(p[:3]).apply(source) + p[3:]
    near = source[np.argmin(S.spatial.distance.cdist(moved, source), axis=1)]
    u, _, vt = np.linalg.svd((moved - moved.mean(0)).T @ (near - near.mean(0)))
    turn = vt.T @ np.diag([1, 1, np.sign(np.linalg.det(vt.T @ u.T))]) @ u.T
    return np.sum((moved @ turn.T - near) ** 2)


@program(0.3, 0.5)
def fluxes_with_a_limiter(p):
    x = np.linspace(0, 1, 20)
    u = np.exp(-50 * (x - 0.3 - 0.1 * p[1]) ** 2)
    for _ in range(8):
        d = np.diff(u, append=u[:1])
        before = np.roll(d, 1)
        s = np.where(d * before > 0, np.where(np.abs(d) < np.abs(before), d, before), 0.0)
        flux = u + 0.5 * (1 - p[0]) * s
        u = u - p[0] * (flux - np.roll(flux, 1))
    return np.sum(u**3)


def differences(f: Callable[..., Any], x: np.ndarray, h: float = 1e-4) -> np.ndarray:
    steps = h * np.eye(x.size)
    return np.array([(8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h) for e in steps])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    f, at = PROGRAMS[name]
    slope = grad(f)
    np.testing.assert_allclose(jit(f)(at), f(at), rtol=1e-7)
    np.testing.assert_allclose(slope(at), differences(jit(f), at), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(hessian(f)(at), differences(slope, at), rtol=1e-5, atol=1e-6)


def test_shapes_and_poles_of_harmonics() -> None:
    n, m = np.meshgrid(np.arange(6), np.arange(-5, 6), indexing="ij")
    theta = np.linspace(0, np.pi, 5)[:, None, None]
    for f in (
        lambda t: S.special.sph_harm_y(n, m, t, 0.3), lambda t: S.special.sph_legendre_p(n, m, t),
        lambda t: S.special.assoc_legendre_p(n, m, np.cos(t)),
        lambda t: S.special.assoc_legendre_p(n, m, np.cos(t), norm=True), lambda t: S.special.legendre_p(n, np.cos(t)),
    ):  # fmt: skip
        inner = theta[1:-1]  # at the poles SciPy's norm=True is not normalised
        np.testing.assert_allclose(jit(f)(inner), f(inner), rtol=1e-12, atol=1e-11)
    poles = lambda t: np.real(S.special.sph_harm_y(n, m, t, 0.3)).sum()  # noqa: E731
    assert np.all(np.isfinite(hessian(poles)(theta)))
    even = lambda z: S.special.assoc_legendre_p(3, 2, z)[0]  # noqa: E731
    assert grad(even)(1.0) == pytest.approx(-30.0)
    with pytest.raises(TypeError, match="diff_n=1"):
        grad(lambda t: S.special.legendre_p(2, t, diff_n=1)[1])(0.3)


def test_boundary_values_that_are_not_met() -> None:
    def f(s: Any) -> Any:
        rates = lambda x, y: np.vstack([y[1], 900 * s * y[0]])  # noqa: E731
        ends = lambda a, b: np.array([a[0] - 1, b[0]])  # noqa: E731
        return S.integrate.solve_bvp(rates, ends, np.linspace(0, 10, 50), np.ones((2, 50))).sol(1.0)[0]

    with pytest.raises(RuntimeError, match="make the range shorter"):
        grad(f)(1.0)
