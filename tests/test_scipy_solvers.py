"""scipy.optimize with traced parameters: roots and minima, their derivatives to second order, and refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from pullback import hessian, jacrev, jvp
from pullback.compiler.settings import settings
from pullback.runtime.transforms import grad, jit
from pullback.runtime.vmap import vmap

opt: Any = scipy.optimize
A = np.array([0.7, 1.3])


def differences(f: Callable[..., Any], a: np.ndarray, h: float) -> np.ndarray:
    """The derivative for each number in a, by central differences of fourth order."""
    steps = np.eye(a.size).reshape(a.size, *a.shape) * h
    made = [(8 * (f(a + e) - f(a - e)) - (f(a + 2 * e) - f(a - 2 * e))) / (12 * h) for e in steps]
    return np.stack(made, axis=-1)


def near(f: Callable[..., Any], a: np.ndarray = A, rtol: float = 1e-6, value: float = 1e-9) -> None:
    """The value is SciPy's, and the first and second derivatives are those of differences."""
    np.testing.assert_allclose(jit(f)(a), f(a), rtol=value, atol=value)
    np.testing.assert_allclose(grad(f)(a), differences(f, a, 1e-3), rtol=rtol, atol=rtol)
    slopes = differences(grad(f), a, 1e-3)
    np.testing.assert_allclose(hessian(f)(a), slopes, rtol=10 * rtol, atol=10 * rtol)
    np.testing.assert_allclose(jvp(f, (a,), (np.ones(2),))[1], np.sum(grad(f)(a)), rtol=1e-9, atol=1e-12)
    batch = np.stack([a, a * 1.1])
    np.testing.assert_allclose(vmap(f)(batch), [f(each) for each in batch], rtol=value, atol=value)


def crossing(x: Any, a: Any) -> Any:
    return np.cos(x) - a[0] * x - 0.1 * a[1]


def system(x: Any, a: Any) -> list[Any]:
    return [a[0] * x[0] + np.sin(x[1]) - 1.0, x[0] * x[1] ** 2 + a[1] * x[1] - 0.5]


SCALAR: dict[str, Callable[..., Any]] = {
    "fsolve": lambda a: opt.fsolve(lambda x: crossing(x, a), 1.0, xtol=1e-12)[0],
    "fsolve args": lambda a: opt.fsolve(crossing, 1.0, args=(a,), xtol=1e-12)[0],
    "root": lambda a: opt.root(lambda x: crossing(x, a), 1.0, tol=1e-12).x[0],
    "root krylov": lambda a: opt.root(lambda x: crossing(x, a), 1.0, method="krylov", tol=1e-12).x[()],
    "brentq": lambda a: opt.brentq(lambda x: crossing(x, a), 0.0, 2.0),
    "brentq args": lambda a: opt.brentq(crossing, a[0] - 0.7, 2 * a[1], (a,)),
    "brenth": lambda a: opt.brenth(lambda x: crossing(x, a), 0.0, 2.0),
    "bisect": lambda a: opt.bisect(lambda x: crossing(x, a), 0.0, 2.0),
    "ridder": lambda a: opt.ridder(lambda x: crossing(x, a), 0.0, 2.0),
    "toms748": lambda a: opt.toms748(lambda x: crossing(x, a), 0.0, 2.0, k=2),
    "newton": lambda a: opt.newton(lambda x: crossing(x, a), 1.0, tol=1e-13),
    "newton secant": lambda a: opt.newton(crossing, 1.0, args=(a,), x1=0.8, tol=1e-13),
    "newton fprime": lambda a: opt.newton(crossing, 1.0, lambda x, a: -np.sin(x) - a[0], (a,)),
    "halley": lambda a: opt.newton(
        crossing, 1.0, lambda x, a: -np.sin(x) - a[0], (a,), fprime2=lambda x, a: -np.cos(x)
    ),
    "newton of many": lambda a: np.sum(opt.newton(lambda x: np.cos(x) - a * x, np.ones(2), tol=1e-13) ** 2),
    "root_scalar": lambda a: opt.root_scalar(lambda x: crossing(x, a), bracket=(0.0, 2.0)).root,
    "root_scalar fprime": lambda a: opt.root_scalar(
        lambda x: (crossing(x, a), -np.sin(x) - a[0]), fprime=True, x0=1.0, method="newton", xtol=1e-13
    ).root,
    "root_scalar secant": lambda a: opt.root_scalar(crossing, (a,), x0=1.0, x1=0.9, xtol=1e-13).root,
    "fixed_point": lambda a: opt.fixed_point(lambda x: np.exp(-a[0] * x) * a[1] / 2, 0.5, xtol=1e-13),
}
SYSTEMS: dict[str, Callable[..., Any]] = {
    "fsolve": lambda a: np.sum(opt.fsolve(system, [1.0, 0.3], (a,), xtol=1e-13) ** 3),
    "root": lambda a: np.prod(opt.root(system, np.array([1.0, 0.3]), a_tuple(a), tol=1e-13).x),
    "root jac": lambda a: np.sum(
        opt.root(
            lambda x: (x**3 + a * x - 1.0, np.diag(3 * x**2 + a)), np.ones(2), jac=True, method="lm", tol=1e-13
        ).x ** 2
    ),
    "root of a start": lambda a: np.sum(opt.root(system, [a[0], a[1] / 4], args=(a,), tol=1e-13)["x"]),
}  # fmt: skip


def a_tuple(a: Any) -> tuple[Any, ...]:
    return (a,)


@pytest.mark.parametrize("name", SCALAR)
def test_a_root_of_one_number(name: str) -> None:
    near(SCALAR[name])


@pytest.mark.parametrize("name", SYSTEMS)
def test_roots_of_systems(name: str) -> None:
    near(SYSTEMS[name])


def test_what_is_told_of_a_root() -> None:
    def f(a: Any) -> Any:
        made = opt.root(system, [1.0, 0.3], (a,))
        one, told = opt.brentq(lambda x: crossing(x, a), 0.0, 2.0, full_output=True)
        return made.success, made.nfev, made.fun, told.converged, told.iterations, one - told.root

    want, got = f(A), jit(f)(A)
    assert bool(got[0]) and got[1] == want[1] and bool(got[3]) and got[4] == want[4] and got[5] == 0.0
    np.testing.assert_allclose(got[2], want[2], atol=1e-11)


def test_in_loops_and_branches() -> None:
    def f(a: Any) -> Any:
        total = 0.0
        for k in range(3):
            x = opt.brentq(lambda x, k=k: crossing(x, a) - 0.01 * k, 0.0, 2.0)
            total = total + x if x > 0.5 else total - x
        return total

    near(f)


def test_a_function_that_branches() -> None:
    def kinked(x: Any, a: Any) -> Any:
        if x > 0.3:
            return a[0] * x - 0.6
        return a[1] * x - 5.0

    near(lambda a: opt.brentq(kinked, 0.0, 2.0, args=(a,)))


def test_in_a_wider_function_and_by_jacobian() -> None:
    f = lambda a: opt.fsolve(system, [1.0, 0.3], (a,), xtol=1e-13)  # noqa: E731
    np.testing.assert_allclose(jacrev(f)(A), differences(f, A, 1e-3), rtol=1e-7)
    with settings.override(reference=True):
        np.testing.assert_allclose(jacrev(f)(A), differences(f, A, 1e-3), rtol=1e-7)


def test_numbers_are_solved_by_scipy_itself() -> None:
    def f(a: Any) -> Any:
        return a * opt.brentq(lambda x: float(str(x)) - 0.25, 0.0, 1.0)  # which could not be traced

    assert grad(f)(2.0) == pytest.approx(0.25)


REFUSALS: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "brackets": (lambda a: opt.brentq(lambda x: x + a[0], 0.0, 1.0), ValueError, "different signs"),
    "shapes": (lambda a: opt.fsolve(lambda x: x[0] * a, 1.0)[0], TypeError, "one number for each unknown"),
    "messages": (lambda a: len(opt.root(system, [1.0, 0.3], (a,)).message) * a[0], TypeError, "no 'message'"),
    "tolerances": (lambda a: opt.brentq(lambda x: crossing(x, a), 0.0, 2.0, xtol=a[0]), TypeError, "traced xtol"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    f, kind, said = REFUSALS[name]
    with pytest.raises(kind, match=said):
        grad(f)(A)


# ---- minima


def valley(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 2) + 0.1 * a[0] * np.sum(x**4) + 0.3 * x[0] * x[1]


def downhill(x: Any, a: Any) -> Any:
    return 2 * (x - a) + 0.4 * a[0] * x**3 + 0.3 * x[::-1]


METHODS = {
    "BFGS": {"gtol": 1e-10}, "L-BFGS-B": {"ftol": 1e-15, "gtol": 1e-10}, "CG": {"gtol": 1e-10},
    "Newton-CG": {"xtol": 1e-12}, "TNC": {"ftol": 1e-16, "gtol": 1e-10}, "SLSQP": {"ftol": 1e-16},
    "Nelder-Mead": {"xatol": 1e-10, "fatol": 1e-14}, "Powell": {"xtol": 1e-12, "ftol": 1e-14},
    "trust-krylov": {"gtol": 1e-10}, "trust-constr": {"gtol": 1e-11},
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_minima_by_every_method(method: str) -> None:
    def least(a: Any) -> Any:
        made = opt.minimize(valley, np.ones(2), (a,), method, downhill, options=METHODS[method])
        return np.sum(made.x**3) + made.fun

    polished = lambda a: opt.minimize(valley, np.ones(2), (a,), "BFGS", options=METHODS["BFGS"])  # noqa: E731
    want = lambda a: np.sum(polished(a).x ** 3) + polished(a).fun  # noqa: E731
    np.testing.assert_allclose(jit(least)(A), want(A), rtol=1e-6)
    np.testing.assert_allclose(grad(least)(A), grad(want)(A), rtol=1e-5)
    np.testing.assert_allclose(grad(want)(A), differences(want, A, 1e-2), rtol=2e-5)
    np.testing.assert_allclose(hessian(least)(A), differences(grad(want), A, 1e-2), rtol=1e-4)


MINIMA: dict[str, Callable[..., Any]] = {
    "jac": lambda a: np.sum(
        opt.minimize(lambda x: (valley(x, a), downhill(x, a)), np.ones(2), jac=True, options={"gtol": 1e-11}).x
    ),
    "no jac": lambda a: np.sum(opt.minimize(lambda x: valley(x, a), np.ones(2), tol=1e-11).x),
    "bounds": lambda a: np.prod(
        opt.minimize(lambda x: valley(x, a), np.ones(2), bounds=[(None, 0.3 * a[1]), (0.0, None)], tol=1e-13).x
    ),
    "a number": lambda a: opt.minimize_scalar(lambda x: (x - a[0]) ** 2 + np.exp(a[1] * x), tol=1e-9).x,
    "a bounded number": lambda a: opt.minimize_scalar(
        lambda x: (x - a[0]) ** 2 + np.exp(a[1] * x), bounds=(-3.0, 3.0), method="bounded", options={"xatol": 1e-10}
    ).x,
    **{
        loss: lambda a, loss=loss: np.sum(
            opt.least_squares(
                lambda x: np.exp(-x[0] * np.arange(6)) * x[1] - a[0] - a[1] * np.arange(6) ** 2 / 9, np.ones(2),
                loss=loss, f_scale=0.7, gtol=1e-14, xtol=1e-14, ftol=1e-14,
            ).x
        )
        for loss in ("soft_l1", "huber", "cauchy", "arctan")
    },
    "products of the Hessian": lambda a: np.sum(
        opt.fmin_ncg(valley, np.ones(2), downhill, args=(a,), disp=0, avextol=1e-12)
    ),
    "truncated": lambda a: np.sum(opt.fmin_tnc(valley, np.ones(2), downhill, (a,), disp=0, ftol=1e-16, pgtol=1e-12)[0]),
    "squares": lambda a: np.sum(
        opt.least_squares(lambda x: np.exp(-x[0] * np.arange(4)) * x[1] - a[0] - a[1] * np.arange(4) ** 2 / 9,
                          np.ones(2), gtol=1e-14, xtol=1e-14, ftol=1e-14).x
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MINIMA)
def test_minima(name: str) -> None:
    near(MINIMA[name], rtol=2e-5, value=1e-6)


def test_a_banded_system_takes_memory_of_its_bands():
    n = 50_000  # as a full matrix 20 GB
    rng = np.random.default_rng(0)
    ab = rng.normal(size=(4, n)) + np.array([[0], [0], [9], [0]])
    b, w = rng.normal(size=n), rng.normal(size=n)

    def along(ab, b):
        return np.sum(w * scipy.linalg.solve_banded((1, 2), ab, b))

    of_bands, of_right = grad(along, argnums=(0, 1))(ab, b)
    h = 1e-6
    for got, change in (
        (of_right[777], lambda t: along(ab, b + t * (np.arange(n) == 777))),
        (of_bands[1, 4321], lambda t: along(ab + t * np.outer(np.arange(4) == 1, np.arange(n) == 4321), b)),
    ):
        np.testing.assert_allclose(got, (change(h) - change(-h)) / (2 * h), rtol=1e-5)
    assert of_bands[0, 0] == of_bands[0, 1] == of_bands[3, -1] == 0, "elements that lie outside of the matrix"
