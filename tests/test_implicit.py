"""implicit: derivatives of solutions by the implicit function theorem, to second order, whatever found them."""

import doctest
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

import pullback
from pullback import hessian, hvp, jvp
from pullback.compiler.settings import settings
from pullback.runtime import implicit as module
from pullback.runtime import linear
from pullback.runtime.control import fori_loop, scan, while_loop
from pullback.runtime.external import external
from pullback.runtime.implicit import implicit
from pullback.runtime.transforms import grad, jit
from tests.compare import assert_close


@pytest.fixture(params=["native", "reference"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compiled code, and the reference executor."""
    with settings.override(reference=request.param == "reference"):
        yield request.param


def near(got: Any, want: Any, relative: float = 1e-12, floor: float = 1e-13) -> None:
    assert_close(np.asarray(got, float), np.asarray(want, float), relative=relative, floor=floor)


def newton(a, start):
    better = lambda x: x + (np.cos(x) - a * x) / (np.sin(x) + a)  # noqa: E731
    return while_loop(lambda x: abs(np.cos(x) - a * x) > 1e-14, better, start)


def crossing(a: Any) -> Any:
    """x with cos(x) = a x, to 40 digits."""
    return mpmath.findroot(lambda x: mpmath.cos(x) - a * x, 0.5)


def test_a_root_to_third_order(way: str) -> None:
    root = implicit(lambda x, a: np.cos(x) - a * x)(newton)
    with mpmath.workdps(40):
        want = [float(mpmath.diff(crossing, mpmath.mpf(2), n)) for n in range(4)]
    near(jit(root)(2.0, 0.7), want[0])
    assert root(2.0, 0.7) == newton(2.0, 0.7)
    near(grad(root)(2.0, 0.7), want[1])
    near(grad(grad(root))(2.0, 0.7), want[2])
    near(grad(grad(grad(root)))(2.0, 0.7), want[3], 1e-11)
    assert grad(root, argnums=1)(2.0, 0.7) == 0.0  # where to start does not matter
    near(jvp(lambda a: root(a, 0.7), (2.0,), (3.0,))[1], 3 * want[1])


def test_a_fixed_point(way: str) -> None:
    @implicit(fixed_point=lambda x, a: np.exp(-a * x))
    def omega(a):
        x, _ = scan(lambda x, _: (np.exp(-a * x), None), 0.5, None, length=200)
        return x

    with mpmath.workdps(40):
        solution = lambda a: mpmath.lambertw(a).real / a  # noqa: E731
        want = [float(mpmath.diff(solution, mpmath.mpf("0.8"), n)) for n in range(3)]
    near(jit(omega)(0.8), want[0])
    near(grad(omega)(0.8), want[1])
    near(grad(grad(omega))(0.8), want[2])


def test_the_solver_leaves_nothing_behind() -> None:
    root = implicit(lambda x, a: np.cos(x) - a * x)(newton)
    slope = grad(root)
    slope(2.0, 0.7)
    assert "push" not in slope.ir("optimized") and slope.ir("optimized").count("= loop") == 1


# ---- several unknowns


def mixture(n: int, rng: np.random.Generator) -> tuple[np.ndarray, Any, Any]:
    """x + x^3/10 + A x = b: the solver by iteration, and the solution with its Jacobian by NumPy."""
    a = rng.normal(size=(n, n)) * 0.3 / np.sqrt(n)

    @implicit(lambda x, a, b: x + 0.1 * x**3 + a @ x - b)
    def solve(a, b):
        return fori_loop(0, 200, lambda i, x: x - 0.6 * (x + 0.1 * x**3 + a @ x - b), b)

    def exact(a, b):
        x = b.copy()
        for _ in range(30):
            x = x - np.linalg.solve(np.eye(n) + np.diag(0.3 * x**2) + a, x + 0.1 * x**3 + a @ x - b)
        return x, np.eye(n) + np.diag(0.3 * x**2) + a

    return a, solve, exact


@pytest.mark.parametrize("n", [2, 5, linear.DENSE + 9])
def test_systems_by_elimination_and_by_gmres(way: str, n: int, rng: np.random.Generator) -> None:
    a, solve, exact = mixture(n, rng)
    b, c, v = (rng.normal(size=n) for _ in range(3))
    x, jacobian = exact(a, b)
    w = np.linalg.solve(jacobian.T, c)
    loss = lambda a, b: c @ solve(a, b)  # noqa: E731
    near(jit(solve)(a, b), x)
    slopes = grad(loss, argnums=(0, 1))(a, b)
    near(slopes[0], -np.outer(w, x), 1e-10, 1e-11)
    near(slopes[1], w, 1e-10, 1e-11)
    # along v: x moves by u = J^-1 v, and w by -J^-T (dJ w) with dJ = diag(0.6 x u)
    u = np.linalg.solve(jacobian, v)
    near(hvp(lambda b: loss(a, b))(b, v), -np.linalg.solve(jacobian.T, 0.6 * x * u * w), 1e-9, 1e-10)


def test_pivots_are_needed(way: str) -> None:
    @implicit(lambda x, b: np.stack([x[1] + 0 * x[0], 2 * x[0] + 1e-9 * x[1], x[2] * x[2]]) - b)
    def solve(b):
        return np.stack([(b[1] - 1e-9 * b[0]) / 2, b[0], np.sqrt(b[2])])

    b = np.array([3.0, 5.0, 4.0])
    want = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.25]])
    for k in range(3):
        near(grad(lambda b: solve(b)[k])(b), want.T[k] if k != 0 else [-5e-10, 0.5, 0.0])  # noqa: B023


def test_trees_of_unknowns_and_arguments(way: str) -> None:
    @implicit(lambda s, p: {"x": s["x"] ** 2 - p["a"], "y": s["y"] * s["x"] - p["b"]})
    def solve(p):
        x = np.sqrt(p["a"])
        return {"x": x, "y": p["b"] / x}

    p = {"a": 4.0, "b": np.array([1.0, 6.0])}
    plain = lambda p: np.sum(p["b"] / np.sqrt(p["a"]) * np.array([1.0, 2.0])) + np.sqrt(p["a"])  # noqa: E731
    loss = lambda p: np.sum(solve(p)["y"] * np.array([1.0, 2.0])) + solve(p)["x"]  # noqa: E731
    got, want = grad(loss)(p), grad(plain)(p)
    near(got["a"], want["a"])
    near(got["b"], want["b"])


def test_unknowns_beside_integers(way: str) -> None:
    @implicit(lambda s, a: s[0] ** 2 - a)
    def solve(a):
        return while_loop(lambda s: abs(s[0] ** 2 - a) > 1e-13, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0))

    near(grad(lambda a: solve(a)[0])(9.0), 1 / 6)
    assert jit(solve)(9.0)[1] == solve(9.0)[1]


def test_what_the_equation_takes_from_outside_is_an_argument(way: str) -> None:
    def loss(a, scale):
        b = a * scale

        @implicit(lambda x: x * x - b)
        def root(start):
            return while_loop(lambda x: abs(x * x - b) > 1e-13, lambda x: 0.5 * (x + b / x), start)

        return root(1.0) * scale

    near(grad(loss)(2.0, 3.0), 1.5 * 3.0 / np.sqrt(6.0))
    near(grad(loss, argnums=1)(2.0, 3.0), np.sqrt(6.0) + 1.5 * 2.0 / np.sqrt(6.0))
    near(grad(grad(loss))(2.0, 3.0), -0.75 * 9.0 / 6.0**1.5)


def test_a_solution_within_a_loop(way: str) -> None:
    @implicit(lambda x, a: x**3 - a)
    def root(a, start):
        return fori_loop(0, 40, lambda i, x: x - (x**3 - a) / (3 * x * x), start)

    f = lambda a: scan(lambda c, r: (root(c + r, 1.0), None), a, np.array([1.0, 2.0]))[0]  # noqa: E731
    plain = lambda a: np.cbrt(np.cbrt(a + 1.0) + 2.0)  # noqa: E731
    with mpmath.workdps(40):
        exact = lambda a: mpmath.cbrt(mpmath.cbrt(a + 1) + 2)  # noqa: E731
        want = [float(mpmath.diff(exact, mpmath.mpf("0.5"), n)) for n in (1, 2)]
    near(jit(f)(0.5), plain(0.5))
    near(grad(f)(0.5), want[0])
    near(grad(grad(f))(0.5), want[1])


def test_a_solver_that_is_opaque(way: str) -> None:
    opaque = external(lambda a: float(mpmath.findroot(lambda x: x**5 + x - a, 1.0)), float)
    root = implicit(lambda x, a: x**5 + x - a)(lambda a: opaque(a))
    x = opaque(3.0)
    near(grad(root)(3.0), 1 / (5 * x**4 + 1))
    near(grad(grad(root))(3.0), -20 * x**3 / (5 * x**4 + 1) ** 3)


def test_single_precision() -> None:
    root = implicit(lambda x, a: x * x - a)(lambda a: np.sqrt(a))
    slope = grad(root)(np.float32(4.0))
    assert slope.dtype == np.float32 and slope == 0.25


# ---- what is wrong


def test_equations_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="takes a residual, or else a fixed_point"):
        implicit()
    with pytest.raises(TypeError, match="takes a residual, or else a fixed_point"):
        implicit(abs, fixed_point=abs)
    with pytest.raises(TypeError, match="residual is of class int, expected a function"):
        implicit(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tolerance is 2"):
        implicit(abs, tolerance=2)
    with pytest.raises(TypeError, match=r"the equation takes c, which is no argument of solve\(a, b\)"):

        @implicit(lambda x, c: x - c)
        def solve(a, b):
            return a

    with pytest.raises(TypeError, match="the equation takes no solution"):
        implicit(lambda: 0.0)(lambda a: a)


def test_residuals_that_are_not_like_the_solution() -> None:
    root = implicit(lambda x, a: (x * x - a) * np.ones(2))(lambda a: np.sqrt(a))
    with pytest.raises(TypeError) as error:
        grad(root)(2.0)
    text = str(error.value)
    assert "is not like its solution" in text and "solution: f64[]" in text and "equation: f64[2]" in text
    assert "test_implicit.py:" in text


def test_a_singular_system_of_many_unknowns_is_told(rng: np.random.Generator) -> None:
    n = linear.DENSE + 6
    a = rng.normal(size=(n, n))
    a[3] = a[7]
    solve = implicit(lambda x, b: a @ x - b)(lambda b: b * 1.0)
    with pytest.raises(RuntimeError, match=f"more than {linear.RESTARTS} steps"):
        grad(lambda b: np.sum(solve(b) * b))(rng.normal(size=n))


def test_tensors_would_not_see_the_rule() -> None:
    root = implicit(lambda x, a: x * x - a)(lambda a: np.sqrt(a))
    with pytest.raises(TypeError, match="does not know the rule"):
        root(pullback.tensor([2.0], requires_grad=True))


def test_examples_of_the_documentation() -> None:
    names = {"np": np, "grad": grad, "while_loop": while_loop}
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder().find(module, extraglobs=names):
        runner.run(test)
    assert runner.tries and not runner.failures


def test_hessians_through_solutions(way: str) -> None:
    root = implicit(lambda x, p: x**3 + p[0] * x - p[1])(
        lambda p: fori_loop(0, 60, lambda i, x: x - (x**3 + p[0] * x - p[1]) / (3 * x * x + p[0]), 1.0))
    p = np.array([2.0, 3.0])
    with mpmath.workdps(40):
        exact = lambda a, b: mpmath.findroot(lambda x: x**3 + a * x - b, 1.0)  # noqa: E731
        at = (mpmath.mpf(2), mpmath.mpf(3))
        want = [[float(mpmath.diff(exact, at, order)) for order in row] for row in (((2, 0), (1, 1)), ((1, 1), (0, 2)))]
    near(hessian(root)(p), want, 1e-11)
