"""Long loops that fill arrays, and second derivatives of long loops, read out and evaluated: against native code, exact
steps in complex numbers and 30 digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.tensor.array import ArrayComprehension

from pullback import grad, hessian, hvp, jacobian, jit, lambdify
from pullback.runtime.symbolic.readout.writing import NoExpression
from pullback.runtime.symbolic.shared.iterated import in_one_loop, iterated

a, b = sp.symbols("a b", real=True)
STEP = 1e-20


def appended(a: Any) -> Any:
    xs, x = [], a
    for _ in range(100):
        x = 0.9 * x + 0.1 * np.cos(x)
        xs.append(x)
    return np.sum(np.array(xs) ** 2)


def weighted(a: Any) -> Any:
    xs, x = [], a
    for k in range(70):
        x = 0.9 * x + 0.1 * np.cos(x)
        xs.append(k * x)
    return sum(xs)


def independent(a: Any) -> Any:
    xs = []
    for k in range(80):
        xs.append(np.sin(a * k))
    return np.sum(np.stack(xs))


def delayed(a: Any) -> Any:
    x = np.zeros(100) + 0 * a
    x[0], x[1] = a, 1.0
    for k in range(2, 100):
        x[k] = np.sin(x[k - 1]) + 0.5 * x[k - 2]
    return np.sum(x)


def backwards(a: Any) -> Any:
    x = np.zeros(90) + 0 * a
    x[89] = a
    for k in range(88, -1, -1):
        x[k] = np.cos(x[k + 1]) * a
    return np.sum(x * x)


def rows(a: Any) -> Any:
    u = np.zeros((50, 4)) + 0 * a
    for i in range(50):
        for j in range(4):
            u[i, j] = np.sin(a * i + j)
    return np.sum(u * u)


def added(a: Any) -> Any:
    x, s = np.ones(60) * a, a
    for k in range(60):
        s = 0.5 * s + np.sin(s)
        x[k] += s
    return np.sum(x**2)


def every_other(a: Any) -> Any:
    x, s = np.ones(120) * a, a
    for k in range(60):
        s = np.sin(s)
        x[2 * k + 1] = s
    return np.sum(x**2)


def grid(a: Any) -> Any:
    u = np.zeros((40, 50)) + 0 * a
    for i in range(40):
        for j in range(50):
            u[i, j] = np.sin(a * i) * j
    return np.sum(u * u)


SUMS = [appended, weighted, independent, delayed, backwards, rows, added, every_other, grid]


@pytest.mark.parametrize("function", SUMS)
def test_a_sum_over_what_a_loop_filled(function: Any) -> None:
    at = 0.3
    want = [function(at), function(complex(at, STEP)).imag / STEP]
    made, slope = jit(function).sympy(at), grad(function).sympy(at)  # type: ignore[attr-defined]
    assert made.has(sp.Sum) and made.free_symbols == {a}
    assert lambdify(a, made)(at) == pytest.approx(want[0], rel=1e-13)
    assert lambdify(a, slope)(at) == pytest.approx(want[1], rel=1e-12)
    bent = hessian(function)
    read = bent.sympy(at)  # type: ignore[attr-defined]
    h = 1e-6
    exact = (function(complex(at + h, STEP)).imag - function(complex(at - h, STEP)).imag) / (2 * h * STEP)
    assert lambdify(a, read)(at) == pytest.approx(exact, rel=1e-6, abs=1e-7)
    assert bent(at) == pytest.approx(exact, rel=1e-6, abs=1e-7)
    assert r"\sum" in jit(function).latex(at)  # type: ignore[attr-defined]


def path(a: Any) -> Any:
    xs, x = [], a
    for _ in range(100):
        x = 0.9 * x + 0.1 * np.cos(x)
        xs.append(x)
    return np.array(xs)


def test_an_array_of_a_recurrence() -> None:
    made = jit(path).sympy(0.3)  # type: ignore[attr-defined]
    assert isinstance(made, ArrayComprehension) and made.function.has(iterated())
    np.testing.assert_allclose(lambdify(a, made)(0.3), path(0.3), rtol=1e-14)
    slope = jacobian(path).sympy(0.3)  # type: ignore[attr-defined]
    np.testing.assert_allclose(lambdify(a, slope)(0.3), path(complex(0.3, STEP)).imag / STEP, rtol=1e-13)
    (i,) = made.function.free_symbols - {a}
    tenth: Any = made.function.subs({i: 9, a: sp.Float("0.3", 40)})
    tenth = tenth.evalf(30)
    assert float(tenth) == pytest.approx(path(0.3)[9], rel=1e-15)
    some = lambdify([a], made)
    np.testing.assert_allclose(some(np.array([0.1, 0.2, 0.3]))[..., -1], path(0.3), rtol=1e-14)


def settled(a: Any, b: Any) -> Any:
    x = a
    for _ in range(100):
        x = x + 0.01 * np.sin(b * x) + 0.001 * x * x
    return x


def test_the_hessian_of_a_long_recurrence() -> None:
    at = (0.3, 0.4)
    read = hessian(settled, (0, 1)).sympy(*at)  # type: ignore[attr-defined]
    numbers = {a: sp.Float("0.3", 40), b: sp.Float("0.4", 40)}
    want = hessian(settled, (0, 1))(*at)
    found = lambdify([a, b], read)(*at)
    for i in range(2):
        for j in range(2):
            assert found[i][j] == pytest.approx(want[i][j], rel=1e-12)
            assert float(read[i][j].subs(numbers).evalf(30)) == pytest.approx(want[i][j], rel=1e-12)
    product = hvp(settled, (0, 1)).sympy(*at, (1.0, 2.0))  # type: ignore[attr-defined]
    assert len(product) == 2 and product[0].has(iterated())
    twice = grad(grad(settled)).sympy(*at)  # type: ignore[attr-defined]
    assert lambdify([a, b], twice)(*at) == pytest.approx(want[0][0], rel=1e-12)
    assert lambdify([a, b], jit(hessian(settled)).sympy(*at))(*at) == pytest.approx(want[0][0], rel=1e-12)  # type: ignore[attr-defined]


def test_a_state_and_its_twin_are_carried_once() -> None:
    """By one variable the first derivative is carried once, and a derivative that stays 0 not at all."""
    x, k = sp.Symbol("x", real=True), sp.Symbol("k", integer=True)
    y = sp.Symbol("y", real=True)
    made = iterated()(sp.Lambda((k, x, y), (sp.sin(x) * y, y / 2)), (a, b), 5, 0)
    assert len(made.diff(a).args[0].variables) == 4  # k, x, y, dx
    assert len(made.diff(a, 2).args[0].variables) == 5
    number = sp.Float("0.3", 30)
    left, right = made.diff(a, 2).subs({a: number, b: 2}), made.doit().diff(a, 2).subs({a: number, b: 2})
    assert float((left.doit() - right).evalf(25)) == pytest.approx(0, abs=1e-20)
    assert iterated()(sp.Lambda((k, x), (x / 2,)), (b,), 5, 0).diff(a) == 0


@pytest.mark.parametrize("low", [-2, 0, 3])
def test_a_sum_of_recurrences_in_one_loop(low: int) -> None:
    x, k = sp.Symbol("x", real=True), sp.Symbol("k", integer=True)
    inner = iterated()(sp.Lambda((k, x), (sp.sin(x) + k,)), (a,), k + 1, 0)
    other = iterated()(sp.Lambda((k, x), (x / 2,)), (b,), k, 0)
    total = sp.Sum(inner * k + sp.Piecewise((other, k >= 0), (0, True)), (k, low, 50))
    made = in_one_loop(total)
    assert made.func is iterated()
    want = sum([
        float((inner.subs(k, n) if n >= 0 else a).subs(a, 0.3).evalf()) * n + (0.7 / 2**n if n >= 0 else 0)
        for n in range(low, 51)
    ])  # fmt: skip
    assert lambdify([a, b], total)(0.3, 0.7) == pytest.approx(want, rel=1e-13)
    assert in_one_loop(sp.Sum(sp.sin(k * a), (k, 0, 9))) is None


def binned(a: Any, where: Any) -> Any:
    """A weighted histogram: places are elements of an argument, negative ones among them."""
    total = np.zeros(90)
    for k in range(40):
        total[where[k]] += np.sin(a * k)
    return total[2] + total[5] ** 2 + total[89]


def last_seen(a: Any, where: Any) -> Any:
    s, seen = a, np.ones((70, 3)) * a
    for k in range(40):
        s = np.cos(s) + 0.1
        seen[where[k], k % 3] = s * seen[where[k], k % 3] + k
    return np.sum(seen[:6])


def shuffled(a: Any, where: Any) -> Any:
    x = np.zeros(100) + a
    for k in range(100):
        x[(7 * k) % 100] = np.sin(a * k)
    return x[3] - x[14] * np.sum(x)


@pytest.mark.parametrize("function", [binned, last_seen, shuffled])
def test_an_array_that_is_filled_at_computed_places(function: Any) -> None:
    where = np.random.default_rng(0).integers(-3, 6, 40)
    names = [a, sp.IndexedBase("where", (40,), integer=True)]
    read = jit(function).sympy(0.3, where)  # type: ignore[attr-defined]
    assert read.has(iterated())
    assert lambdify(names, read)(0.3, where) == pytest.approx(function(0.3, where), rel=1e-13)
    slope = grad(function).sympy(0.3, where)  # type: ignore[attr-defined]
    assert lambdify(names, slope)(0.3, where) == pytest.approx(grad(function)(0.3, where), rel=1e-12)


def test_an_array_of_few_elements_at_computed_places_and_a_long_stencil() -> None:
    """Of few elements each has its recurrence; what a recurrence needs is found once for all of them."""

    def few(a: Any, where: Any) -> Any:
        x = np.zeros(12)
        for k in range(40):
            x[where[k]] = x[where[k]] * a + k
        return x

    def waves(u: Any) -> Any:
        before, now = u, 0.9 * u
        for _ in range(40):
            after = now.copy()
            after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
            before, now = now, after
        return now

    where, u = np.random.default_rng(0).integers(0, 12, 40), np.sin(np.arange(24.0))
    names = [a, sp.IndexedBase("where", (40,), integer=True)]
    made = lambdify(names, jit(few).sympy(0.3, where))(0.3, where)  # type: ignore[attr-defined]
    np.testing.assert_allclose(made, few(0.3, where), rtol=1e-13)
    base = sp.IndexedBase("u", (24,), real=True)
    np.testing.assert_allclose(lambdify([base], jit(waves).sympy(u))(u), waves(u), rtol=1e-10)  # type: ignore[attr-defined]


def test_what_cannot_be_told() -> None:
    def moved(a: Any) -> Any:
        x = np.zeros(100) + a
        for k in range(100):
            x[(7 * k) % 100] = np.sin(x[(3 * k) % 100])
        return np.sum(x)

    def far(a: Any) -> Any:
        x = np.zeros(100) + a
        for k in range(50, 100):
            x[k] = np.sin(x[k - 50])
        return np.sum(x)

    for function in (moved, far):
        with pytest.raises(NoExpression, match=r"sympy\(\) cannot"):
            jit(function).sympy(0.3)  # type: ignore[attr-defined]


def halved(a: Any) -> Any:
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        if middle * middle * middle > a:
            high = middle
        else:
            low = middle
    return middle * a


def counted(x: Any) -> Any:
    k = 0
    while k < 40:
        x = x / 2 if x > 1 else 3 * x + 0.1
        k += 1
    return x


@pytest.mark.parametrize("function", [halved, counted])
def test_rounds_with_branches_are_no_tree_of_cases(function: Any) -> None:
    made = jit(function).sympy(2.3)
    assert made.has(iterated())
    (x,) = made.free_symbols
    assert lambdify(x, made)(2.3) == pytest.approx(function(2.3), rel=1e-14)


def test_elements_that_are_told_one_by_one_are_written_out() -> None:
    steps = np.random.default_rng(1).normal(size=40)

    def walk(a: Any, b: Any) -> Any:
        return np.mean(np.exp(np.cumsum(a + b * steps)))

    made = jit(walk).sympy(0.01, 0.1)  # type: ignore[attr-defined]
    assert not made.has(sp.Sum, sp.Piecewise)
    assert lambdify([a, b], made)(0.01, 0.1) == pytest.approx(walk(0.01, 0.1), rel=1e-14)


OBSERVED = np.random.default_rng(2).normal(size=80)
POINTS = np.random.default_rng(3).normal(size=(100, 2))


def kalman(a: Any, b: Any) -> Any:
    """The log likelihood of a random walk with noise, of observations that are no argument."""
    x, p, total = 0.0, 1.0, 0.0
    for k in range(len(OBSERVED)):
        p = p + a
        s, e = p + b, OBSERVED[k] - x
        total = total - 0.5 * (np.log(s) + e * e / s)
        x, p = x + p / s * e, (1 - p / s) * p
    return total


def test_numbers_that_are_no_argument_are_known() -> None:
    at = (0.1, 0.2)
    made = jit(kalman).sympy(*at)  # type: ignore[attr-defined]
    assert lambdify([a, b], made)(*at) == pytest.approx(kalman(*at), rel=1e-13)
    exact = made.subs({a: sp.Float("0.1", 40), b: sp.Float("0.2", 40)}).evalf(30)
    assert float(exact) == pytest.approx(kalman(*at), rel=1e-14)
    bent = hessian(kalman, (0, 1))
    read = lambdify([a, b], bent.sympy(*at))(*at)  # type: ignore[attr-defined]
    np.testing.assert_allclose(read, bent(*at), rtol=1e-11)

    w: Any = sp.IndexedBase("w", (2,), real=True)
    squares = jit(lambda w: np.sum((POINTS @ w - 1) ** 2)).sympy(np.ones(2))  # type: ignore[attr-defined]
    assert isinstance(squares, sp.Sum)
    assert lambdify([w], squares)(np.array([0.3, 0.4])) == pytest.approx(np.sum((POINTS @ [0.3, 0.4] - 1) ** 2))
    found: Any = {x.base for x in squares.atoms(sp.Indexed)} - {w}
    (name,) = found
    assert name[3, 1] == sp.Float(POINTS[3, 1]) and str(name[sp.Symbol("k"), 0]) == f"{name}[k, 0]"


def test_a_sum_alone_is_written_as_one() -> None:
    text = jit(lambda a: np.sum(np.exp(a * np.arange(100.0)))).latex(0.3)  # type: ignore[attr-defined]
    assert r"\sum_{k_{1}=0}^{99} e^{" in text


def test_names_of_parts_are_of_what_is_known_outside() -> None:
    text = jit(settled).latex(0.3, 0.4)  # type: ignore[attr-defined]
    assert "t_{0}" not in text  # b x is used twice, but x is the state

    def used_twice(a: Any, b: Any) -> Any:
        x = settled(a, b)
        return x * np.sin(x)

    twice = jit(used_twice).latex(0.3, 0.4)  # type: ignore[attr-defined]
    assert "t_{0} &= \\left." in twice
