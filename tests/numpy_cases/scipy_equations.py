"""Cases of scipy.linalg's matrix equations and powers: Riccati's, signs, fractional powers, and batches of them."""

from typing import Any

import numpy as np
from scipy import linalg

from tests.numpy_cases import Case, spread
from tests.numpy_cases.scipy_linalg import BLOCK

L: Any = linalg
MANY = np.stack([BLOCK, 2 * BLOCK.T])
PLANT = BLOCK[:3, :3] / 3, spread(3, 2, seed=1), spread(3, 3, seed=2), spread(2, 2, seed=3)
"""What moves, what drives it, and roots of two costs."""


def _cost(z: Any) -> Any:
    return z @ np.conjugate(np.swapaxes(z, -1, -2)) + np.eye(z.shape[-1])


def _turned(z: Any) -> Any:
    """Made complex."""
    return z + 0.3j * z[::-1]


def _riccati(kind: str) -> list[Case]:
    name = f"solve_{kind}_are"
    solve, near = getattr(L, name), {"rtol": 1e-9, "f32": False}
    return [
        Case(f"scipy.linalg.{name}", lambda a, b, q, r: solve(a, b, _cost(q), _cost(r)), PLANT, **near),
        Case(f"scipy.linalg.{name} with e and s", lambda a, b, q, r, s:
             solve(a, b, _cost(q) + 5 * np.eye(3), _cost(r), np.diag([1.0, 1.2, 0.9]) + a / 9, s / 9),
             (*PLANT, spread(3, 2, seed=4)), **near),
        Case(f"scipy.linalg.{name} complex", lambda a, b, q, r:
             solve(_turned(a), _turned(b), _cost(_turned(q)), _cost(_turned(r))), PLANT, **near),
        Case(f"scipy.linalg.{name} batch", lambda a, b, q, r: solve(a, b, _cost(q), _cost(r)),
             (np.stack([PLANT[0], PLANT[0].T]), *PLANT[1:]), order=1, **near),
    ]  # fmt: skip


def _case(name: str, function: Any, *args: Any, order: int = 2) -> Case:
    return Case(f"scipy.linalg.{name}", function, args, order, False, 1e-9)


CASES = [
    *_riccati("continuous"),
    *_riccati("discrete"),
    _case("signm", L.signm, spread(4, 4, seed=6)),
    _case("signm complex", lambda a: L.signm(_turned(a)), spread(4, 4, seed=6)),
    *(_case(f"fractional_matrix_power {t}", lambda a, t=t: L.fractional_matrix_power(a, t).real, BLOCK)
      for t in (0.3, -1.7, 2.0)),
    _case("fractional_matrix_power given", lambda a, t: L.fractional_matrix_power(a, t).real, BLOCK, np.float64(0.6)),
    _case("fractional_matrix_power complex", lambda a: L.fractional_matrix_power(_turned(a), 0.6), BLOCK),
    _case("fractional_matrix_power batch", lambda a: L.fractional_matrix_power(a, 0.6).real, MANY, order=1),
    *(_case(f"qr pivoting {name}", lambda a: L.qr(a, mode="economic", pivoting=True), x)
      for name, x in (("square", BLOCK), ("tall", spread(5, 3, seed=3)))),
    _case("qr pivoting equal columns", lambda a: L.qr(a, pivoting=True), 2.0 * np.eye(3), order=0),
    _case("qr pivoting wide", lambda a: L.qr(a, mode="r", pivoting=True), spread(3, 4, seed=3)),
    _case("polar of a rotation", L.polar, np.array([[0.6, -0.8], [0.8, 0.6]])),
    _case("polar tall", lambda a: L.polar(np.eye(4, 2) + a), np.zeros((4, 2))),
    _case("polar wide", lambda a: [*L.polar(a), L.polar(a, "left")[1]], spread(2, 3)),
    _case("polar batch", lambda a: tuple(L.polar(a)), MANY),
    _case("polar complex", lambda a: L.polar(_turned(a)), BLOCK[:, :2].copy()),
    _case("expm_frechet batch", lambda a, e: tuple(L.expm_frechet(a / 5, e)), MANY, spread(2, 4, 4)),
    _case("circulant batch", L.circulant, spread(2, 3)),
    _case("companion batch", lambda a: L.companion(a + 3), spread(2, 4)),
    _case("logm batch", L.logm, MANY, order=1),
    _case("logm batch of complex", lambda a: L.logm(a + 0.3j * a[:, ::-1]), MANY, order=1),
    _case("sqrtm batch", L.sqrtm, MANY),
    _case("solve_sylvester batch", lambda a, q: L.solve_sylvester(a, a[0], q), MANY, spread(2, 4, 4)),
    _case("solve_continuous_lyapunov batch", L.solve_continuous_lyapunov, MANY, spread(2, 4, 4)),
    _case("solve_discrete_lyapunov batch", lambda a, q: L.solve_discrete_lyapunov(a / 9, q), MANY, spread(2, 4, 4)),
]  # fmt: skip
