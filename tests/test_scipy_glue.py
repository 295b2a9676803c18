"""SciPy's solvers with derivatives of ours: the answers, in the containers that the unknowns came in."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import integrate, optimize

import pullback as pb
import pullback.scipy as solvers

START = np.full(4, 0.5)
T = np.linspace(0.0, 1.0, 20)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@dataclasses.dataclass
class Fit:
    scale: Any
    rate: Any
    name: str = "fit"


METHODS = [None, "CG", "BFGS", "L-BFGS-B", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr",
           "SLSQP", "TNC"]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_minima(method: str | None) -> None:
    found = solvers.minimize(rosenbrock, START, method=method)
    assert found.success and found.x.shape == (4,)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-2)
    value, slope = pb.value_and_grad(rosenbrock)(START)
    theirs = optimize.minimize(
        lambda x: (value, slope) if np.array_equal(x, START) else pb.value_and_grad(rosenbrock)(x), START,
        jac=True, method=method or "BFGS", **({"hess": pb.hessian(rosenbrock)} if method == "trust-exact" else {}),
        **({"hessp": pb.hvp(rosenbrock)} if method in ("trust-ncg", "trust-krylov", "Newton-CG") else {}),
    )  # fmt: skip
    np.testing.assert_allclose(found.x, theirs.x, atol=1e-3)


def test_unknowns_and_arguments_in_containers() -> None:
    y = 2.0 * np.exp(0.5 * T)

    def loss(p: Fit, t: Any, y: Any) -> Any:
        return np.sum((p.scale * np.exp(p.rate["k"] * t) - y) ** 2)

    start = Fit(1.0, {"k": 0.0, "n": 3})
    for method in ("BFGS", "trust-ncg", "trust-constr"):
        found = solvers.minimize(loss, start, args=(T, y), method=method, tol=1e-12)
        assert type(found.x) is Fit and found.x.name == "fit" and found.x.rate["n"] == 3
        np.testing.assert_allclose([found.x.scale, found.x.rate["k"]], [2.0, 0.5], rtol=1e-4)
    found = solvers.least_squares(lambda p, t, y: p.scale * np.exp(p.rate["k"] * t) - y, start, args=(T, y))
    np.testing.assert_allclose([found.x.scale, found.x.rate["k"]], [2.0, 0.5], rtol=1e-6)
    assert type(found.grad) is Fit
    found = solvers.root(lambda p: {"r": p[0] ** 2 - 2.0, "s": [p[0] * p[1] - 1.0]}, (1.0, 1.0))
    np.testing.assert_allclose(found.x, (2**0.5, 2**-0.5))
    assert solvers.root(np.cos, 1.0).x == pytest.approx(np.pi / 2)
    assert solvers.root(lambda x: x**2 - 4.0, [1.0, 3.0], method="lm").x == pytest.approx([2.0, 2.0])


def test_constraints() -> None:
    def loss(p: Any) -> Any:
        return p["a"] ** 2 + p["b"] @ p["b"]

    start = {"a": 3.0, "b": np.ones(2)}
    equal = {"type": "eq", "fun": lambda p: p["a"] + p["b"][0] - 1.0}
    found = solvers.minimize(loss, start, constraints=equal)
    np.testing.assert_allclose([found.x["a"], *found.x["b"]], [0.5, 0.5, 0.0], atol=1e-6)
    product = optimize.NonlinearConstraint(lambda p: p["a"] * p["b"][0], 1.0, 2.0)
    for sparse in (False, True):
        found = solvers.minimize(loss, start, method="trust-constr", constraints=[product], sparse=sparse)
        np.testing.assert_allclose([found.x["a"], found.x["b"][0]], [1.0, 1.0], atol=1e-3)
    given = {"type": "eq", "fun": lambda x: x[0] - 1.0, "jac": lambda x: np.array([1.0, 0.0])}
    assert solvers.minimize(lambda x: x @ x, np.ones(2), constraints=[given]).x == pytest.approx([1.0, 0.0])


def test_sparse_problems() -> None:
    found = solvers.minimize(rosenbrock, np.full(60, 0.5), method="trust-constr", sparse=True)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    fit = solvers.least_squares(lambda x: np.concatenate([x[1:] - x[:-1] ** 2, x - 1.0]), np.full(50, 0.3), sparse=True)
    np.testing.assert_allclose(fit.x, 1.0, atol=1e-6)
    assert sp.issparse(fit.jac)

    def heat(t: Any, u: Any, k: Any) -> Any:
        return k * np.concatenate([u[1:2] - u[:1], u[2:] - 2 * u[1:-1] + u[:-2], u[-2:-1] - u[-1:]])

    made = solvers.solve_ivp(heat, (0.0, 1.0), np.eye(50)[25], "BDF", args=(3.0,), sparse=True)
    assert made.y[:, -1].sum() == pytest.approx(1.0)
    theirs = integrate.solve_ivp(heat, (0.0, 1.0), np.eye(50)[25], "BDF", args=(3.0,))
    np.testing.assert_allclose(made.y[:, -1], theirs.y[:, -1], atol=1e-3)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_paths(method: str) -> None:
    made = solvers.solve_ivp(
        lambda t, s, k: {"x": s["v"], "v": -k * s["x"]}, (0.0, 1.0), {"x": 1.0, "v": np.zeros(1)}, method,
        args=(4.0,), rtol=1e-8, atol=1e-9,
    )  # fmt: skip
    assert made.y["v"].shape == (1, len(made.t))
    np.testing.assert_allclose(made.y["x"], np.cos(2 * made.t), atol=1e-6)


def test_products_of_gauss_and_newton() -> None:
    x, v = np.array([0.4, -1.1, 0.3]), np.array([1.0, 2.0, -0.5])

    def residuals(p: Any) -> Any:
        return {"a": np.sin(p["x"]) * p["x"][0], "b": p["x"] ** 2}

    j = pb.jacrev(residuals)({"x": x})
    whole = np.concatenate([j["a"]["x"], j["b"]["x"]])
    np.testing.assert_allclose(pb.gnvp(residuals)({"x": x}, {"x": v})["x"], whole.T @ whole @ v)
    sparse = pb.jacobian(lambda x: np.sin(x) * x[0], sparse=True)(x)
    np.testing.assert_allclose((sparse.T @ sparse) @ v, pb.gnvp(lambda x: np.sin(x) * x[0])(x, v))


def test_errors() -> None:
    with pytest.raises(ValueError, match="minimize: x0 has no elements"):
        solvers.minimize(rosenbrock, np.zeros(0))
    with pytest.raises(ValueError, match="Unknown solver"):
        solvers.minimize(rosenbrock, START, method="none")
    with pytest.raises(TypeError, match="a gradient needs a float scalar"):
        solvers.minimize(lambda x: x, START)
    with pytest.raises(TypeError, match="ravel needs floats"):
        solvers.root(lambda p: p, {"a": 1})


def test_meanings_are_loaded_once_scipy_is_there() -> None:
    """By the first trace that finds SciPy's module; also for functions named before, and whichever comes first."""
    program = """
import sys
import threading
import numpy as np
import pullback

def ours():
    loaded = {".".join(name.split(".")[-2:]) for name in sys.modules if name.startswith("pullback")}
    return loaded & {"optimize.roots", "interpolate.splines", "stats.methods"}

assert pullback.grad(lambda x: np.sum(x * x))(np.ones(2)).tolist() == [2.0, 2.0] and not ours()
from scipy.optimize import brentq
assert not ours()
def slope():
    found.append(pullback.grad(lambda a: brentq(lambda x: x * x - a, 0.0, 9.0))(4.0))
found = []
threads = [threading.Thread(target=slope) for _ in range(3)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert len(found) == 3 and all(abs(each - 0.25) < 1e-9 for each in found), found
assert ours() == {"optimize.roots"}

from scipy import stats
def outer(a):
    from scipy.interpolate import CubicSpline
    inner = pullback.grad(lambda y: CubicSpline(np.arange(4.0), np.array([0.0, 1.0, 4.0, 9.0]) * y)(1.5))
    return inner(2.0 * a) + stats.norm.logpdf(a)
assert abs(pullback.jit(outer)(0.5) - 2.25 - stats.norm.logpdf(0.5)) < 1e-9
assert ours() == {"optimize.roots", "interpolate.splines", "stats.methods"}
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
