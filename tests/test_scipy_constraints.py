"""Minima within constraints and vertices of linear programs: values are SciPy's, derivatives those of differences."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.optimize import linear_sum_assignment

from pullback import grad, hessian, jacobian, jit, vmap

opt: Any = scipy.optimize
A = np.array([1.2, 0.7])
METHODS = ("trust-constr", "COBYLA", "COBYQA")


def differences(f: Callable[..., Any], a: np.ndarray, h: float = 1e-4) -> np.ndarray:
    return np.array([(np.asarray(f(a + h * e)) - np.asarray(f(a - h * e))) / (2 * h) for e in np.eye(len(a))])


def valley(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 2) + 0.1 * a[0] * np.sum(x**4) + 0.3 * x[0] * x[1]


def least(a: Any, method: str | None, constraints: Any, fun: Any = valley, **more: Any) -> Any:
    return opt.minimize(fun, np.ones(2), (a,), method, constraints=constraints, tol=1e-13, **more)


def within(x: Any, s: Any) -> Any:
    return s - np.sum(x**2)


def turning(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 2) + 1.5 * np.sum(np.abs(x - 0.3 * a[1] ** 2))


MINIMA: dict[str, Callable[..., Any]] = {
    "equality": lambda a, m: least(a, m, {"type": "eq", "fun": lambda x: np.sum(x) - a[1]}),
    "inequalities": lambda a, m: least(
        a, m, [{"type": "ineq", "fun": within, "args": (0.3 * a[1],)}, {"type": "ineq", "fun": lambda x: x + a[0]}]
    ),
    "one that follows from another": lambda a, m: least(
        a, m, [{"type": "ineq", "fun": lambda x: 0.9 * a[1] - x[0]}, {"type": "ineq", "fun": lambda x: a[1] - x[0]}]
    ),
    "between sides": lambda a, m: least(
        a, m, opt.NonlinearConstraint(lambda x: [x[0] * x[1], x[0] - x[1]], [-1.0, -1.0], [0.1 * a[0], 5 * a[1]])
    ),
    "rows and bounds": lambda a, m: least(
        a, m, opt.LinearConstraint([[1, 2 * a[0]], [1.0, 1.0]], -np.inf, [a[1], 10.0]),
        bounds=[(0.1 * a[0], None), (None, 5.0)],
    ),
    "a free one and one at its bound": lambda a, m: least(
        a, m, opt.LinearConstraint([[1.0, 2.0]], a[1], a[1]), bounds=opt.Bounds([-np.inf, 0.3 * a[0]], [3.0, 3.0])
    ),
    "a kink": lambda a, m: least(a, m, opt.LinearConstraint([[1.0, 2.0]], 1.1 * a[1], 1.1 * a[1]), turning),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
@pytest.mark.parametrize(
    "name, method",
    [*((name, None) for name in MINIMA), *((name, m) for name in ("between sides", "a kink") for m in METHODS)],
)
def test_minima(name: str, method: str | None) -> None:
    of, (slope, curvature) = told(name, method), sure(name)
    np.testing.assert_allclose(jit(of)(A), of(A), atol=5e-6)
    np.testing.assert_allclose(grad(of)(A), slope, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(hessian(of)(A), curvature, rtol=1e-4, atol=1e-4)


def told(name: str, method: str | None) -> Callable[[Any], Any]:
    """A number that depends on where a minimum is and on what it is."""

    def of(a: Any) -> Any:
        found = MINIMA[name](a, method)
        return np.sum(found.x**3) + 2 * found.fun

    return of


@functools.cache
def sure(name: str) -> tuple[Any, Any]:
    """Its slope and curvature by differences, of what SLSQP finds: the same for each method that is tested."""
    of = told(name, "SLSQP")
    return differences(of, A), differences(grad(of), A)


def test_a_constraint_that_is_not_met_moves_nothing() -> None:
    of = lambda a: least(a, None, {"type": "ineq", "fun": lambda x: x + 9 * a[1]}).x  # noqa: E731
    free = lambda a: opt.minimize(valley, np.ones(2), (a,), tol=1e-13).x  # noqa: E731
    np.testing.assert_allclose(jacobian(of)(A), jacobian(free)(A), rtol=1e-6)


def test_many_unknowns_of_a_portfolio() -> None:
    n = 60  # equations beyond those that are solved by elimination
    rng = np.random.default_rng(3)
    mixed = rng.normal(size=(n, n))
    spread, mean = mixed @ mixed.T / n + 0.1 * np.eye(n), 0.02 * rng.normal(size=n)

    def weights(mean: Any) -> Any:
        return opt.minimize(
            lambda w: 0.5 * w @ spread @ w - mean @ w, np.full(n, 1 / n), bounds=[(0, 0.1)] * n,
            constraints={"type": "eq", "fun": lambda w: np.sum(w) - 1}, options={"ftol": 1e-14, "maxiter": 500},
        ).x  # fmt: skip

    found = jit(weights)(mean)
    free = np.flatnonzero((found > 1e-7) & (found < 0.1 - 1e-7))
    one = np.ones((len(free), 1))
    system = np.block([[spread[np.ix_(free, free)], one], [one.T, np.zeros((1, 1))]])
    want = np.zeros((n, n))
    want[np.ix_(free, free)] = np.linalg.inv(system)[:-1, :-1]
    assert 0 < len(free) < n
    along = np.arange(n) / n
    np.testing.assert_allclose(grad(lambda m: along @ weights(m))(mean), along @ want, atol=1e-9 * np.abs(want).max())


# ---- linear programs

PROGRAMS: dict[str, Callable[..., Any]] = {
    "rows": lambda a: opt.linprog([-3 * a[0], -2.0], A_ub=[[1.0, a[1]], [2, 1], [0, 1]], b_ub=[4 * a[0], 7.0, 9.0]),
    "equations": lambda a: opt.linprog(
        np.array([1, 2.0, 3 * a[0]]), A_eq=[[1, a[0], 1.0]], b_eq=a[1], A_ub=[[-1, 1.0, 0]], b_ub=[0.2]
    ),
    "bounds": lambda a: opt.linprog([-1.0, -a[0]], [[1, 1.0]], [5.0], bounds=[(-9.0, a[1]), (0, 2 * a[0])]),
    "one pair": lambda a: opt.linprog([-1.0, -a[0]], [[1, 1.0]], [5.0], bounds=(0, 2 * a[0])),
    "sparse rows": lambda a: opt.linprog(
        [-1.0, -a[0]], scipy.sparse.csr_array([[1, 1.0]]), [5 * a[0]], bounds=[[0, 1], [0, None]]
    ),
    "more rows than unknowns at a vertex": lambda a: opt.linprog([a[0], 1.0], [[-1, -1], [-1, -2]], [0.0, 0.0]),
    "sides alone": lambda a: opt.linprog([1.0, a[0]], bounds=np.array([[1.0, 2.0], [-1.0, 2.0]])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_linear_programs(name: str) -> None:
    f = PROGRAMS[name]

    def all_of(a: Any) -> Any:
        made = f(a)
        prices = made.eqlin.marginals, made.lower.marginals + made.upper.marginals
        return np.concatenate([made.x, np.stack([made.fun]), made.slack, made.con, *prices])

    of = lambda a: np.sum(f(a).x ** 3) + f(a).fun  # noqa: E731
    np.testing.assert_allclose(jit(all_of)(A)[:3], all_of(A)[:3], atol=1e-12)
    if name != "more rows than unknowns at a vertex":  # prices are not unique there
        np.testing.assert_allclose(jit(all_of)(A), all_of(A), atol=1e-12)
        np.testing.assert_allclose(jacobian(all_of)(A).T, differences(all_of, A, 1e-5), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(grad(of)(A), differences(of, A, 1e-5), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(hessian(of)(A), differences(grad(of), A, 1e-5), rtol=1e-5, atol=1e-6)


def test_prices_of_rows() -> None:
    price = lambda a: opt.linprog([-3 * a[0], -2.0], [[1.0, a[1]], [2, 1]], [4.0, 7.0]).ineqlin.marginals  # noqa: E731
    np.testing.assert_allclose(jit(price)(A), price(A), atol=1e-12)
    np.testing.assert_allclose(jacobian(price)(A).T, differences(price, A, 1e-5), atol=1e-8)


def test_a_program_without_a_solution_has_none() -> None:
    none = lambda a: opt.linprog([1.0, a[0]], [[1, 1.0]], [-1.0])  # noqa: E731
    assert np.isnan(grad(lambda a: np.sum(none(a).x))(A)[0])
    assert not jit(lambda a: none(a).success)(A) and jit(lambda a: none(a).status)(A) == none(A).status


def test_programs_side_by_side() -> None:
    of = lambda b: opt.linprog([-1.0, -2.0], [[1.0, 1.0]], [b], bounds=[(0, 1), (0, 2)]).fun  # noqa: E731
    sides = np.array([0.5, 2.5, 9.0])
    np.testing.assert_allclose(vmap(of)(sides), [of(b) for b in sides])
    np.testing.assert_allclose(vmap(grad(of))(sides), [-2.0, -1.0, 0.0], atol=1e-12)


REFUSALS: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "a method without": (
        lambda a: least(a, "BFGS", {"type": "eq", "fun": np.sum}).fun, TypeError, "SLSQP|slsqp, trust-constr"
    ),
    "a kind": (lambda a: least(a, None, {"type": "le", "fun": np.sum}).fun, ValueError, "expected 'eq' or 'ineq'"),
    "no function": (lambda a: least(a, None, {"type": "eq"}).fun, KeyError, "has no 'fun'"),
    "no constraint": (lambda a: least(a, None, [np.sum]).fun, TypeError, "expected a dict with 'type'"),
    "sides": (
        lambda a: least(a, None, opt.NonlinearConstraint(lambda x: x, [a[0]] * 3, np.inf)).fun, ValueError,
        "constraint of 2 rows has a side of the shape",
    ),
    "whole numbers": (lambda a: opt.linprog([a[0]], integrality=1).fun, TypeError, "solve for whole numbers outside"),
    "shapes": (lambda a: opt.linprog([a[0]], [[1.0, 2.0]], [1.0]).fun, ValueError, r"A_ub has the shape \(1, 2\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    f, kind, said = REFUSALS[name]
    with pytest.raises(kind, match=said):
        grad(f)(A)


# ---- choices

COSTS = np.random.default_rng(5).normal(size=(4, 3))
DATA = np.array([0.3, 1.2, -0.7, 2.1, 0.9, -1.4, 0.5])


def by_loop(a: Any) -> Any:
    costs = COSTS * a[0] + COSTS**2 * a[1]
    rows, columns = opt.linear_sum_assignment(costs)
    total = 0.0
    for k in range(3):
        if costs[rows[k], columns[k]] < 9:
            total = total + costs[rows[k], columns[k]] ** 2
    return total


CHOICES: dict[str, Callable[..., Any]] = {
    "assigned": lambda a: np.sum((COSTS * a[0] + COSTS**2 * a[1])[opt.linear_sum_assignment(COSTS * a[0])]),
    "assigned by name": lambda a: np.sum((COSTS**2 * a[1])[linear_sum_assignment(COSTS * a[0], maximize=True)]),
    "assigned and looked at": by_loop,
    "rising": lambda a: np.sum(opt.isotonic_regression(DATA * a[0] + DATA**2 * a[1]).x ** 3),
    "falling, with weights": lambda a: np.sum(
        opt.isotonic_regression(DATA * a[0], weights=np.abs(DATA) + a[1], increasing=False).x ** 3
    ),
    "by an older name": lambda a: np.sum(
        opt.fmin_slsqp(valley, np.ones(2), [lambda x, a: x[0] + x[1] - a[1]], bounds=[(0, 3)] * 2, args=(a,),
                       acc=1e-14, disp=0) ** 3
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name: str) -> None:
    f = CHOICES[name]
    np.testing.assert_allclose(jit(f)(A), f(A), rtol=1e-6)
    np.testing.assert_allclose(grad(f)(A), differences(f, A), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(hessian(f)(A), differences(grad(f), A), rtol=1e-4, atol=1e-4)


def test_an_older_name_of_cobyla() -> None:
    def of(a: Any) -> Any:
        return np.sum(opt.fmin_cobyla(valley, np.ones(2), [lambda x: a[1] - x[0] - x[1]], (a,), (), rhoend=1e-10) ** 3)

    sure = lambda a: np.sum(least(a, None, {"type": "ineq", "fun": lambda x: a[1] - x[0] - x[1]}).x ** 3)  # noqa: E731
    np.testing.assert_allclose(jit(of)(A), of(A), rtol=1e-6)
    np.testing.assert_allclose(grad(of)(A), grad(sure)(A), rtol=1e-3)


def test_choices_of_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="expected a matrix"):
        jit(lambda a: opt.linear_sum_assignment(a)[0])(A)
    with pytest.raises(ValueError, match="equal length"):
        jit(lambda a: opt.isotonic_regression(a, weights=np.ones(3)).x)(A)


# ---- solvers within solvers


def roots_in_roots(a: Any) -> Any:
    inner = lambda t: opt.brentq(lambda x: (x - t) + 0.1 * x**3 + a[1] * x, -5, 5, xtol=1e-15)  # noqa: E731
    middle = lambda t: opt.brentq(lambda x: inner(x) - 0.5 * x - 0.05 * t * a[0], -3, 3, xtol=1e-15)  # noqa: E731
    return opt.brentq(lambda x: x - middle(x) - a[0], -3, 3, xtol=1e-15)


def vertex_in_root(a: Any) -> Any:
    inner = lambda t: opt.linprog([1.0, 2.0], A_eq=[[1.0, 1.0]], b_eq=[t * a[1]]).x  # noqa: E731
    return opt.brentq(lambda t: inner(t)[0] - 0.5 * t**2 - 0.05 * a[0], 0.4, 3, xtol=1e-15)


@pytest.mark.parametrize("f", [roots_in_roots, vertex_in_root])
def test_second_derivatives_of_solvers_within_solvers(f: Callable[..., Any]) -> None:
    a = np.array([0.7, 0.4])
    np.testing.assert_allclose(jit(f)(a), f(a), rtol=1e-10)
    np.testing.assert_allclose(grad(f)(a), differences(f, a, 1e-5), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(hessian(f)(a), differences(grad(f), a, 1e-5), rtol=1e-6, atol=1e-6)
