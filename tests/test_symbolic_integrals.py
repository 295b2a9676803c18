"""Integrals in formulas by quadrature: values and derivatives to second order against mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

from pullback import grad, lambdify

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
