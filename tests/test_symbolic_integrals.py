"""Integrals in formulas by quadrature: values and derivatives to second order against mpmath."""

from __future__ import annotations

import sys
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from sympy.integrals import manualintegrate

from pullback import grad, lambdify
from pullback.runtime.symbolic.formulas import calculus
from pullback.runtime.symbolic.shared.bounded import solved, within

x, t = sp.symbols("x t")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, x), (x, 2), (0, sp.oo), (-sp.oo, sp.oo)])
def test_integrals_that_have_no_form_are_sums_with_derivatives(low: Any, high: Any) -> None:
    e = sp.Integral(sp.Function("g")(t, x) * sp.exp(-(t**2)), (t, low, high))
    made = lambdify(x, e, {"g": lambda t, x: np.exp(np.sin(t * x))}, quadrature=True)

    def exact(at: Any) -> Any:
        ends = [sp.lambdify(x, end, "mpmath")(at) for end in (low, high)]
        return mpmath.quad(lambda t: mpmath.exp(mpmath.sin(t * at) - t**2), ends)

    first, second = grad(made), grad(grad(made))
    for order, got in enumerate((made(0.7), first(0.7), second(0.7))):
        assert got == pytest.approx(float(mpmath.diff(exact, 0.7, order)), rel=1e-9)


def test_a_form_that_is_not_computed_is_no_hindrance_to_quadrature() -> None:
    e = sp.Integral(sp.appellf1(1, 1, 1, 3, t, x), (t, 0, 1))
    with pytest.raises(TypeError, match="appellf1"):
        lambdify(x, e, quadrature=True)
    found = sp.hyper((1, 1, 1), (2, 2), x)  # of the integral below; no function that is computed
    known = sp.Integral(-sp.log(1 - x * t) / (x * t), (t, 0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(known), "doit", lambda self, **hints: found)
        made = lambdify(x, known, quadrature=True)
        assert made(0.5) == pytest.approx(float(sp.polylog(2, 0.5).evalf(20)) / 0.5, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_exponential_integrals_do_not_warn_of_orders_that_nobody_gave(order: int) -> None:
    second = grad(grad(lambdify(x, sp.expint(order, x))))
    want = mpmath.diff(lambda at: mpmath.expint(order, at), 0.3, 2)
    assert second(0.3) == pytest.approx(float(want), rel=1e-12)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HASTY", "PATIENT"):
        monkeypatch.setattr(calculus, name, 100_000)


LONG = sp.Integral(sp.exp(x * sp.cos(t - x)), (t, 0, x))
"""SymPy looks for a form of it for minutes."""


@pytest.mark.usefixtures("hasty")
def test_a_search_that_takes_too_long_is_an_error_or_a_quadrature() -> None:
    solved.cache_clear()
    with pytest.raises(TypeError, match=r"no closed form of Integral\(.* within 100,000 calls: .*quadrature=True"):
        lambdify(x, LONG)
    assert sys.gettrace() is None
    f = lambdify(x, LONG, quadrature=True)

    def exact(at: Any) -> Any:
        return mpmath.quad(lambda t: mpmath.exp(at * mpmath.cos(t - at)), [0, at])

    for order, got in enumerate((f(0.7), grad(f)(0.7), grad(grad(f))(0.7))):
        assert got == pytest.approx(float(mpmath.diff(exact, 0.7, order)), rel=1e-9)


def test_what_sympy_had_begun_is_forgotten_when_it_is_stopped() -> None:
    e = sp.Integral(x * sp.exp(x) * sp.sin(3 * x), x)
    assert within(20_000, e.doit) is None
    assert not any(rule is None for rule in manualintegrate._integral_cache.values())
    assert sp.simplify(e.doit().diff(x) - e.function) == 0


def test_a_debugger_keeps_its_trace_function_and_the_search_goes_to_its_end() -> None:
    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: None)
    try:
        assert within(10, sp.Integral(x, x).doit) == x**2 / 2
        assert sys.gettrace() is not None
    finally:
        sys.settrace(before)
