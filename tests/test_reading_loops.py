"""Loops that end by what they compute, read out: values and two derivatives against native code and 40 digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

from pullback import grad, jit, lambdify, while_loop
from pullback.compiler.settings import settings
from pullback.runtime.symbolic.shared import iterated as recurrence
from pullback.runtime.symbolic.shared.iterated import iterated

a, b = sp.symbols("a b", real=True)


def root(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


def means(a: Any, b: Any) -> Any:
    """The mean of arithmetic and geometric means, and how many rounds it took."""
    x, y, rounds = a, b, 0
    while abs(x - y) > 1e-9 * a:
        x, y = 0.5 * (x + y), np.sqrt(x * y)
        rounds += 1
    return x + rounds * b


def series(a: Any, b: Any) -> Any:
    """A sum that ends with its small terms, of which the number of the round is a part."""
    def body(state: Any) -> Any:
        k, term, total = state
        return k + 1, term * a * b / (k + 1.0), total + term

    return while_loop(lambda state: state[1] > 1e-16, body, (0, a, 0.0))[2]


def doubled(a: Any) -> Any:
    return while_loop(lambda c: c < 100.0, lambda c: c * 2, a)


LOOPS: list[tuple[Any, tuple[float, ...]]] = [
    (root, (3.0,)), (means, (2.0, 1.0)), (series, (0.7, 0.9)), (doubled, (2.0,)), (doubled, (200.0,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "given"), LOOPS)
def test_a_loop_that_ends_by_a_test(function: Any, given: tuple[float, ...]) -> None:
    compiled = jit(function)
    made = compiled.sympy(*given)  # type: ignore[attr-defined]
    symbols = (a, b)[: len(given)]
    at = dict(zip(symbols, [sp.Float(x, 40) for x in given], strict=True))
    assert made.has(iterated())
    assert float(made.subs(at).evalf(40)) == pytest.approx(function(*given), rel=1e-13)
    again = lambdify(symbols, made)
    assert again(*given) == pytest.approx(function(*given), rel=1e-14)
    many = [np.array([x, 1.3 * x, 4 * x]) for x in given]
    np.testing.assert_allclose(again(*many), [function(*each) for each in zip(*many, strict=True)], rtol=1e-14)
    slope = grad(function)
    read, want = slope.sympy(*given), slope(*given)  # type: ignore[attr-defined]
    assert lambdify(symbols, read)(*given) == pytest.approx(want, rel=1e-12)
    for each in (made.diff(a), read):
        assert float(each.subs(at).evalf(40)) == pytest.approx(want, rel=1e-12)
    twice = made.diff(a, 2)
    assert float(twice.subs(at).evalf(40)) == pytest.approx(grad(slope)(*given), rel=1e-11, abs=1e-14)


def test_a_recurrence_of_a_number_of_rounds_is_differentiated() -> None:
    x, y = sp.symbols("x y", real=True)
    k, n = sp.symbols("k n", integer=True)
    step = sp.Lambda((k, x, y), (x * y + a * k, sp.sin(x) + a))
    made = iterated()(step, (a, a**2), n, 0)
    slope = made.diff(a).subs(n, 4)
    want = made.subs(n, 4).doit().diff(a)
    assert slope.has(iterated())
    assert float((slope.doit() - want).subs(a, sp.Float(0.3, 30)).evalf(30)) == pytest.approx(0, abs=1e-25)
    with pytest.raises(NotImplementedError, match="number of its rounds"):
        made.diff(n)


def test_names_are_told_apart() -> None:
    """A state whose derivative would have the name of an argument."""
    s, ds, k = sp.Symbol("s", real=True), sp.Symbol("ds", real=True), sp.Symbol("k", integer=True)
    made = iterated()(sp.Lambda((k, s), (s * ds,)), (a * ds,), 3, 0)
    assert sp.expand(made.diff(ds).doit()) == 4 * a * ds**3
    assert sp.expand(made.diff(ds, 2).doit()) == 12 * a * ds**2


def test_the_gradient_of_a_long_recurrence() -> None:
    def newton(a: Any) -> Any:
        s = a
        for _ in range(60):
            s = 0.5 * (s + a / s)
        return s

    made = grad(newton).sympy(2.0)  # type: ignore[attr-defined]
    assert float(made.subs(a, sp.Float(2, 30)).evalf(30)) == pytest.approx(0.5 / 2**0.5, rel=1e-15)
    assert lambdify(a, made)(2.0) == pytest.approx(0.5 / 2**0.5, rel=1e-14)


def test_arrays_and_latex() -> None:
    def settled(v: Any) -> Any:
        while np.sum(v * v) > 0.01:
            v = v * 0.5 + 0.1 * np.sin(v[::-1]) * v
        return np.sum(v) + v[0]

    v: Any = sp.IndexedBase("v", (2,), real=True)
    at = np.array([1.0, 2.0])
    slope = grad(settled)
    made = slope.sympy(at)  # type: ignore[attr-defined]
    found = [float(e.subs({v[0]: sp.Float(1, 30), v[1]: sp.Float(2, 30)}).evalf(30)) for e in made]
    np.testing.assert_allclose(found, slope(at), rtol=1e-13)
    text = jit(root).latex(3.0)  # type: ignore[attr-defined]
    assert r"\text{while } \left|{a - s_{2}^{2}}\right| >" in text
    assert "{s_{2}}_{0} = a" in text


def test_one_without_an_end_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    x, k = sp.Symbol("x", real=True), sp.Symbol("k", integer=True)
    made = iterated()(sp.Lambda((k, x), (x + 1,)), (sp.Float(0),), sp.Lambda((k, x), x > -1), 0)
    monkeypatch.setattr(recurrence, "MOST", 50)
    assert made.evalf() == made
    with settings.override(max_steps=50), pytest.raises(RuntimeError, match="more than 50 steps"):
        lambdify(a, made + a)(1.0)


def ended(a: Any) -> Any:
    x = a
    while True:
        y = 0.5 * (x + a / x)
        if abs(y - x) < 1e-10:
            break
        x = y
    return x


def tried(a: Any) -> Any:
    x = a
    for _ in range(100):
        x = 0.5 * (x + a / x)
        if abs(x * x - a) < 1e-12:
            break
    return x


def summed(a: Any) -> Any:
    total, term, k = 0.0, 1.0, 1
    while True:
        total = total + term
        term = term * a / k
        k = k + 1
        if term < 1e-17:
            return total


@pytest.mark.parametrize(("function", "closed"), [(ended, sp.sqrt(a)), (tried, sp.sqrt(a)), (summed, sp.exp(a))])
def test_loops_that_are_left_from_within(function: Any, closed: Any) -> None:
    for taken, meant in ((jit(function), closed), (grad(function), closed.diff(a))):
        made = taken.sympy(2.0)
        assert lambdify([a], made)(2.0) == pytest.approx(taken(2.0), rel=1e-14)
        assert float(made.subs(a, 2).evalf(30)) == pytest.approx(float(meant.subs(a, 2)), rel=1e-9)
        assert r"\text{while }" in taken.latex(2.0)
    assert grad(lambdify([a], jit(function).sympy(2.0)))(2.0) == pytest.approx(grad(function)(2.0), rel=1e-12)


def filled_and_read(a: Any) -> Any:
    """A loop that fills an array, and one that reads it."""
    waves = np.zeros(300)
    for k in range(300):
        waves[k] = np.sin(a * k)
    total = 0.0
    for k in range(300):
        total = total + waves[k] * a
    return total


TWICE = """
def twice(a):
    s = a
    for k in range(300):
        s = 0.99 * s + 0.01 * np.sin(s)
    t = s
    for k in range(350):
        t = 0.5 * t + 0.25 * np.cos(t * s)
    return t
"""


def _without_source(text: str, name: str) -> Any:
    """A function whose loops are written out, as nobody knows where it is written down."""
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    return names[name]


def _slope(a: float) -> float:
    """The derivative of `filled_and_read`."""
    k = np.arange(300)
    return float(np.sum(np.sin(a * k) + a * k * np.cos(a * k)))


twice = _without_source(TWICE, "twice")


@pytest.mark.parametrize(("function", "form", "derivative"), [
    (filled_and_read, sp.Sum, _slope), (twice, iterated(), lambda a: twice(complex(a, 1e-20)).imag / 1e-20),
])  # fmt: skip
def test_two_long_loops_one_after_the_other(function: Any, form: Any, derivative: Any) -> None:
    at = 0.3
    made, slope = jit(function).sympy(at), grad(function).sympy(at)  # type: ignore[attr-defined]
    assert made.has(form) and made.free_symbols <= {a}
    assert lambdify(a, made)(at) == pytest.approx(function(at), rel=1e-13)
    assert grad(function)(at) == pytest.approx(derivative(at), rel=1e-12)
    assert lambdify(a, slope)(at) == pytest.approx(derivative(at), rel=1e-12)
    step = 1e-6
    curvature = (derivative(at + step) - derivative(at - step)) / (2 * step)
    assert lambdify(a, sp.diff(made, a, 2))(at) == pytest.approx(curvature, rel=1e-6)
