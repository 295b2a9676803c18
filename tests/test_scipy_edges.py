"""Roots where a function jumps and minima where it turns: they move with the jump and the turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from pullback import grad, jit, vmap

O: Any = scipy.optimize  # noqa: E741
AT = 0.7
FIT = np.random.default_rng(0).normal(size=(20, 3))
SEEN = FIT @ np.array([1.0, 0.02, -2.0]) + 0.1 * np.random.default_rng(1).normal(size=20)
WEIGHTS = np.array([1.0, 2.0, 3.0])


def least(f: Callable[..., Any], n: int = 1, **more: Any) -> Any:
    options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000}
    return O.minimize(f, np.array([0.5, 0.1, -1.0])[:n], method="Nelder-Mead", options=options, **more).x


def lasso(s: Any) -> Any:
    return least(lambda x: np.sum((FIT @ x - SEEN) ** 2) / 20 + s * np.sum(np.abs(x)), 3) @ WEIGHTS


def of_lasso() -> float:
    """The second unknown is zero, the others have fixed signs."""
    part = FIT[:, [0, 2]]
    return float(np.linalg.solve(part.T @ part / 10, -np.array([1.0, -1.0])) @ WEIGHTS[[0, 2]])


def fused(s: Any) -> Any:
    """The first two unknowns are one: their mean, moved a quarter up; the third is half of the penalty lower."""
    far = lambda x: np.sum((x - np.array([1.0, 1.2, 3.0]) * s) ** 2) + 0.5 * np.sum(np.abs(np.diff(x)))  # noqa: E731
    return least(far, 3) @ WEIGHTS


def scalar(f: Callable[..., Any], **more: Any) -> Any:
    return O.minimize_scalar(f, **more).x


CASES: dict[str, tuple[Callable[..., Any], float, float]] = {
    "brentq": (lambda s: O.brentq(lambda x: np.where(x < s, x - 2, x + 1), 0.0, 3.0), 1.0, 0.0),
    "a step": (lambda s: O.brentq(lambda x: np.floor(x * s) - 1.5, 0.0, 5.0), -2 / AT**2, 4 / AT**3),
    "root_scalar": (
        lambda s: O.root_scalar(lambda x: np.where(x * x < s, -1.0, 2.0), bracket=[0.0, 3.0]).root,
        0.5 * AT**-0.5, -0.25 * AT**-1.5,
    ),
    "a kink at the root is none": (lambda s: O.brentq(lambda x: np.maximum(x, s) + x - 2 * s, 0.0, 3.0), 1.0, 0.0),
    "brent": (lambda s: scalar(lambda x: np.abs(x - s * s) + 0.1 * x * x), 2 * AT, 2.0),
    "bounded": (lambda s: scalar(lambda x: np.abs(x - s) + 0.1 * x * x, bounds=(0, 2), method="bounded"), 1.0, 0.0),
    "a median": (lambda s: scalar(lambda m: np.sum(np.abs(s * np.array([3.0, 1, 2, 5, 4]) - m))), 3.0, 0.0),
    "at a bound": (lambda s: scalar(lambda x: (x - 2 * s) ** 2, bounds=(0, s), method="bounded"), 1.0, 0.0),
    "within bounds": (lambda s: scalar(lambda x: (x - s / 2) ** 2, bounds=(0, s), method="bounded"), 0.5, 0.0),
    "lasso": (lasso, of_lasso(), 0.0),
    "fused": (fused, 1.1 * 3 + 3.0 * 3, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_solutions_at_edges_move_with_them(name: str) -> None:
    f, first, second = CASES[name]
    at = 0.2 if name == "lasso" else AT
    np.testing.assert_allclose(grad(f)(at), first, rtol=1e-5)
    np.testing.assert_allclose(grad(grad(f))(at), second, rtol=1e-5, atol=1e-6)


def test_a_curved_edge() -> None:
    def f(s: Any) -> Any:
        outside = lambda x: np.maximum(s - x[0] - x[1] ** 2, 0)  # noqa: E731
        return least(lambda x: x[0] ** 2 + 3 * outside(x) + 2 * (x[1] - 1) ** 2, 2) @ WEIGHTS[:2]

    h = 1e-4
    assert grad(f)(2.0) == pytest.approx((f(2 + h) - f(2 - h)) / (2 * h), rel=1e-4)


def bowl(s: Any) -> Callable[..., Any]:
    return lambda x: (x[0] - s) ** 2 + (x[1] - s**2) ** 4 + x[1] ** 2


BOX = [(-2, 2), (-2, 2)]
OLDER: dict[str, tuple[Callable[..., Any], float]] = {
    "fmin": (lambda s: O.fmin(bowl(s), [0.0, 0.0], disp=0)[0], 1.0),
    "fmin_powell": (lambda s: O.fmin_powell(bowl(s), [0.0, 0.0], disp=0)[0], 1.0),
    "fmin_bfgs": (lambda s: O.fmin_bfgs(bowl(s), [0.0, 0.0], disp=0)[0], 1.0),
    "fmin_cg": (lambda s: O.fmin_cg(bowl(s), [0.0, 0.0], disp=0)[0], 1.0),
    "fmin_l_bfgs_b": (lambda s: O.fmin_l_bfgs_b(bowl(s), [0.0, 0.0], approx_grad=True)[0][0], 1.0),
    "golden": (lambda s: O.golden(lambda x: (x - s) ** 2), 1.0),
    "brent": (lambda s: O.brent(lambda x: np.abs(x - s) + x * x / 9), 1.0),
    "fminbound": (lambda s: O.fminbound(lambda x: (x - 2 * s) ** 2, 0, s), 1.0),
    "basinhopping": (lambda s: O.basinhopping(bowl(s), [0.0, 0.0], niter=3, seed=1).x[0], 1.0),
    "differential_evolution": (lambda s: O.differential_evolution(bowl(s), BOX, seed=1).x[0], 1.0),
    "at the edge of the box": (
        lambda s: O.differential_evolution(bowl(s), [(-2, s - 0.1), (-2, 2)], seed=1).fun, 0.0,
    ),
    "dual_annealing": (lambda s: O.dual_annealing(bowl(s), BOX, seed=1, maxiter=20).x[0], 1.0),
    "shgo": (lambda s: O.shgo(bowl(s), BOX).x[0], 1.0),
    "direct": (lambda s: O.direct(bowl(s), BOX).x[0], 1.0),
    "brute": (lambda s: O.brute(bowl(s), BOX)[0], 1.0),
    "broyden1": (lambda s: O.broyden1(lambda x: x**3 - s, [1.0], f_tol=1e-12)[0], AT ** (-2 / 3) / 3),
    "newton_krylov": (lambda s: O.newton_krylov(lambda x: x**3 - s, [1.0], f_tol=1e-12)[0], AT ** (-2 / 3) / 3),
}  # fmt: skip


@pytest.mark.parametrize("name", OLDER)
def test_other_names(name: str) -> None:
    f, want = OLDER[name]
    np.testing.assert_allclose(jit(f)(AT), f(AT), rtol=1e-3)
    if name == "at the edge of the box":
        inner = O.minimize_scalar(lambda y: (y - AT**2) ** 4 + y * y).x
        want = -4 * (inner - AT**2) ** 3 * 2 * AT
    np.testing.assert_allclose(grad(f)(AT), want, rtol=1e-4)
    with pytest.raises(TypeError, match="full_output"):
        grad(lambda s: O.fmin(bowl(s), [0.0, 0.0], full_output=1)[0][0])(AT)


def test_edges_in_batches_and_points_of_quad() -> None:
    each = np.array([0.5, 0.7, 1.9])
    np.testing.assert_allclose(vmap(grad(CASES["a step"][0]))(each), -2 / each**2)
    f = lambda s: scipy.integrate.quad(lambda x: np.where(x < s, x, 2 * x), 0.0, 2.0, points=[s])[0]  # noqa: E731
    np.testing.assert_allclose([grad(f)(AT), grad(grad(f))(AT)], [-AT, -1.0], rtol=1e-9)
